#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Upstreams from a file that somebody else writes: it shrinks and grows, is emptied, says everything twice, points
# at prism itself, holds nonsense, and disappears. Clients notice nothing. prism is killed while it is
# gone, and goes on with what it had written down.
. "$(dirname "$0")/lib-prism.sh"

PRISM_UPSTREAMS=
PRISM_SOURCES="file: $T/endpoints"
PRISM_HEALTH="interval: 1s
suspectInterval: 200ms"
PRISM_MORE="drain:
  idle: 300ms
  spread: 1s"

write_file() { # LINE...
	printf '%s\n' "$@" >"$T/endpoints.new"
	mv "$T/endpoints.new" "$T/endpoints"
}

upstreams_are() { # NAMES
	[[ $(prism_all cl '[.[1:][].upstream] | join(" ")') == "$1" ]]
}

nobody_at() { # NODE
	[[ -z $(inside "$1" ss -Htn state established 'sport = :6443') ]]
}

N1=10.86.0.11:6443 N2=10.86.0.12:6443 N3=10.86.0.13:6443

lan_with_servers
api_up
write_file "# of this cluster" $N1 $N2 10.86.0.13
prism_start
wait_until 5 all_ready
# It writes a second after something was new, and then once a minute at most.
wait_until 60 grep -q "$N3" "$T/state-cl/upstreams"

say "one is left"
write_file $N1
wait_until 5 upstreams_are $N1
client_start open open --rate 50 $ASK_VERSION
client_start kept kept --connections 10 --every 200 $ASK_VERSION

say "two more are written"
write_file $N1 $N2 10.86.0.13
wait_until 3 all_ready

say "it is emptied"
: >"$T/endpoints"
for_seconds 1 upstreams_are "$N1 $N2 $N3"

say "it says everything twice, and points at prism itself"
write_file $N3 $N2 $N3 $N1 127.0.0.1:7445 '[::1]:7445' $N2
for_seconds 1 upstreams_are "$N1 $N2 $N3"

say "it holds nonsense"
write_file $N1 "what is this" $N2 $N3
for_seconds 1 upstreams_are "$N1 $N2 $N3"
expect "the status says so" prism_all cl '.[0].sources[] | select(.source == "file") | .error'

say "the file is gone"
rm "$T/endpoints"
for_seconds 1 upstreams_are "$N1 $N2 $N3"
client_stop open
client_stop kept
expect_all_well open 200
expect_all_well kept 100

say "prism is killed, and starts while the file is gone"
kill_hard prism-cl
prism_run
wait_until 2 upstreams_are "$N1 $N2 $N3"
client_start again kept --connections 12 --every 1300 $ASK_VERSION

say "the file is back, and names one of them: the others' connections end while they are silent"
write_file $N3
wait_until 5 upstreams_are "$N3"
client_run new open --rate 50 --seconds 1 $ASK_VERSION
client_stop again
expect_all_well new 50
expect_all_well again 24
expect_at_least "connections that were closed while silent" "$(client_figure again .closed_idle)" 4
expect_at_most "questions that met a closing connection" "$(client_figure again .stale)" 1
wait_until 5 nobody_at n1
