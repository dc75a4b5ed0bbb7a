# SPDX-License-Identifier: Apache-2.0
# What n1's watchdog has found, and how long that took. A story says `begins` when it breaks something,
# and then waits until that is `found`, and `cleared` after it was mended.

health() { # FILTER
	fairlead n1 -o json etcd health | jq -rs "$1"
}

# SUBJECT any: whoever it is about.
n_findings() { # RULE SUBJECT
	health "[.[1:][] | select(.id == \"$1\" and (.subject == \"$2\" or \"$2\" == \"any\"))] | length"
}

finds() { # RULE SUBJECT
	[[ $(n_findings "$@") -gt 0 ]]
}

finds_not() { # RULE SUBJECT
	[[ $(n_findings "$@") -eq 0 ]]
}

found() { # RULE SUBJECT: waits, and tells how long after `began` that was
	wait_until 60 finds "$1" "$2"
	say "found: $1 of '$2' after $(($(date +%s%3N) - began)) ms"
}

cleared() { # RULE SUBJECT
	wait_until 60 finds_not "$1" "$2"
	log_says etcdwatch-n1 "event=finding_cleared finding=$1 " || fail "$1 is not in the log"
}

begins() { # WHAT
	say "$1"
	began=$(date +%s%3N)
}

health_shown() {
	fairlead n1 metrics etcdwatch | grep -E "^fairlead_etcdwatch_compar"
	fairlead n1 etcd health
}
ON_FAILURE+=(health_shown)
