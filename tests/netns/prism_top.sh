#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# waits: for what a terminal shows
# `fairlead top` in a terminal of its own (tmux): a real prism behind it that dies and comes back,
# other windows' sizes, its keys; and whatever ends it, the terminal is as it was.
. "$(dirname "$0")/lib-prism.sh"

PRISM_HEALTH="interval: 1s
suspectInterval: 200ms"
TMUX_SOCKET=$T/tmux

terminal() { # TMUX-ARGUMENT...
	tmux -S "$TMUX_SOCKET" -f /dev/null "$@"
}

shows() { # GREP-ARGUMENT...: of what is on the screen
	terminal capture-pane -p -t top >"$T/screen"
	grep -q "$@" "$T/screen"
}

lacks() { # GREP-ARGUMENT...
	! shows "$@"
}

type_keys() { # KEY...
	terminal send-keys -t top "$@"
}

# The shell says when it has ended and how, and whether the terminal is what it was.
top_start() { # TERM OPTION...
	local term=$1
	shift
	type_keys "clear; stty -g >$T/before; TERM=$term $FAIRLEAD -r $T/run-cl $* top; echo ended \$?; stty -g | cmp - $T/before && echo restored" Enter
	wait_until 20 shows 'q quit'
}

top_pid() {
	pgrep -n -f "^$FAIRLEAD -r $T/run-cl.* top\$"
}

has_ended() { # CODE
	shows "^ended $1\$" && shows '^restored$' && lacks 'q quit'
}

prism_before_servers
export LC_ALL=C.UTF-8
spawn tmux cl tmux -S "$TMUX_SOCKET" -f /dev/null -D
wait_until 10 test -S "$TMUX_SOCKET"
terminal new-session -d -s top -x 80 -y 24 'env -u ENV sh'

say "80x24: the upstreams, and daemons that do not run here"
top_start screen-256color
wait_until 20 shows '10.86.0.11:6443  *ready'
expect "it shows who does not run here" shows 'etcdwatch does not run here'
expect "it draws lines" shows '─ prism ─'
expect_equal "rows" "$(wc -l <"$T/screen")" 24

say "an API server stops, which is an event"
api_stop n2
wait_until 30 shows 'prism 10.86.0.12:6443: state: ready ->'

say "keys and sizes"
type_keys '?'
wait_until 10 shows 'the next panel'
type_keys '?'
type_keys Tab Enter
wait_until 10 shows 'max_connections: '
type_keys Escape
wait_until 10 shows 'q quit   tab panel'
terminal resize-window -t top -x 120 -y 40
wait_until 10 shows '─ prism ─.* ─ etcd ─\|─ VIPs ─.* ─ etcd ─'
terminal resize-window -t top -x 50 -y 12
wait_until 10 shows 'too small'
terminal resize-window -t top -x 80 -y 24
wait_until 10 shows 'q quit   tab panel'

say "prism dies: its panel stays with its age, and it comes back"
kill_hard prism-cl
wait_until 20 shows 'prism does not run any more; this is'
expect "what it said last is still there" shows '10.86.0.11:6443  *ready'
prism_spawn
wait_until 30 lacks 'this is .* old'
expect "both are events" shows 'prism: answers again'

say "q, SIGTERM and SIGINT give the terminal back"
type_keys q
wait_until 10 has_ended 0
top_start vt100
expect "a vt100 gets ASCII" shows '^- *prism -\|^- prism -'
kill -TERM "$(top_pid)"
wait_until 10 has_ended 143
top_start linux --color never
type_keys C-c
wait_until 10 has_ended 0
terminal kill-server
