# SPDX-License-Identifier: Apache-2.0
# Sourced by what runs many jobs: several at a time, told in the order in which they were given. A job
# is a program with its arguments, because a shell function could not be ended with what it started.
# One that is "timed" depends on when it gets a processor: it goes before what else runs, and never
# beside another of these. One that "waits" nearly all the time goes beside the others, one after the
# other, and is not one of the several. One that goes "aside" waits as well, but for minutes: it begins at
# once, none of these waits for it, and it is told when it ends.
# What the caller defines:
#   pool_told TITLE CODE SECONDS OUTPUT RUN   tells how a job went; OUTPUT is a file, gone afterwards.
#                  RUN is "only", or, by pool_run_again, "again": it comes once more, and "last": it had
#                  come before
# The caller's traps call pool_stop.

POOL_DIR=$(mktemp -d)
POOL_TITLES=()         # by the number of the job
POOL_KINDS=()          # timed, waits, aside, or nothing
POOL_COMMANDS=()       # quoted for the shell
POOL_WAITING=()        # numbers of jobs, in order
declare -A POOL_PID=() # process id -> number of a job that runs
POOL_TIMED=            # the process id of the timed one
POOL_WAITER=           # the process id of the one that waits
declare -A POOL_ASIDE=() # process ids of those that go aside
POOL_BEGAN=()          # by number
POOL_ENDED=()          # by number, of those that have ended: "CODE SECONDS"
POOL_N_TOLD=0          # all before this one have been told, but for those aside
POOL_RUN=              # first, second, last; nothing: there is one only
POOL_AGAIN=()          # numbers of jobs that come again

seconds_since() { # EPOCHREALTIME
	local us=$((${EPOCHREALTIME/./} - ${1/./}))
	printf '%d.%d' $((us / 1000000)) $((us / 100000 % 10))
}

pool_add() { # TITLE timed|waits|aside|'' PROGRAM...
	local job=${#POOL_TITLES[@]}
	POOL_TITLES+=("$1")
	POOL_KINDS+=("$2")
	shift 2
	POOL_COMMANDS+=("${*@Q}")
	POOL_WAITING[job]=$job
}

# Runs all that were added, at most MOST at a time.
pool_run() { # MOST
	while [[ ${#POOL_WAITING[@]} -gt 0 || ${#POOL_PID[@]} -gt 0 ]]; do
		while pool_start "$1"; do :; done
		pool_reap
	done
}

# The same, but does not wait for those aside: another run takes them over. What fails of all of them
# comes again with pool_run_again.
pool_run_beside() { # MOST
	POOL_RUN=first
	while [[ ${#POOL_WAITING[@]} -gt 0 || ${#POOL_PID[@]} -gt ${#POOL_ASIDE[@]} ]]; do
		while pool_start "$1"; do :; done
		pool_reap
	done
}

# As pool_run. What failed as it may on a machine that was too slow for it, a check that does not hold or a
# time that is up, is run once more when all is done, with nothing beside it, and so is what proved nothing
# (4: it was disturbed too much); what must never happen on any machine ends otherwise (3: safety was
# broken; a sanitizer's report, a crash) and stays failed.
# And once more if it still fails: a machine may be short of processors for minutes. Whoever runs the jobs
# names those that needed it.
pool_run_again() { # MOST
	POOL_RUN=first
	pool_run "$1"
	POOL_RUN=second
	pool_run_alone
	POOL_RUN=last
	pool_run_alone
	POOL_RUN=
}

# Those that failed, one after the other.
pool_run_alone() {
	local job again=("${POOL_AGAIN[@]}")
	POOL_AGAIN=()
	for job in "${again[@]}"; do
		POOL_WAITING[${#POOL_TITLES[@]}]=${#POOL_TITLES[@]}
		POOL_COMMANDS+=("${POOL_COMMANDS[job]}")
		POOL_TITLES+=("${POOL_TITLES[job]}")
		POOL_KINDS+=(timed)
	done
	pool_run 1
}

# Whether the job that has ended with CODE comes again.
pool_comes_again() { # CODE
	# A check, the time, the time of one that hung, and nothing proved.
	[[ $1 -eq 1 || $1 -eq 124 || $1 -eq 137 || $1 -eq 4 ]] || return 1
	[[ $POOL_RUN == first || $POOL_RUN == second ]]
}

# Sets POOL_NEXT to the next one that may start now, or to nothing.
pool_next() { # MOST
	local job first= next= n=$((${#POOL_PID[@]} - ${#POOL_ASIDE[@]}))
	[[ -z $POOL_WAITER ]] || n=$((n - 1))
	for job in "${POOL_WAITING[@]}"; do
		case ${POOL_KINDS[job]} in
		aside) first=$job ;;
		waits) [[ -n $POOL_WAITER ]] || first=$job ;;
		timed) [[ $n -ge $1 || -n $POOL_TIMED ]] || first=$job ;;
		*) [[ $n -ge $1 ]] || next=${next:-$job} ;;
		esac
		[[ -z $first ]] || break
	done
	POOL_NEXT=${first:-$next}
}

pool_start() { # MOST; 1: none may start now
	local next
	pool_next "$1"
	next=$POOL_NEXT
	[[ -n $next ]] || return 1
	unset "POOL_WAITING[$next]"
	POOL_BEGAN[next]=$EPOCHREALTIME
	local command=("exec")
	[[ ${POOL_KINDS[next]} != timed ]] || command+=(nice -n -10)
	(eval "${command[*]} ${POOL_COMMANDS[next]}") >"$POOL_DIR/$next" 2>&1 </dev/null &
	POOL_PID[$!]=$next
	case ${POOL_KINDS[next]} in
	timed) POOL_TIMED=$! ;;
	waits) POOL_WAITER=$! ;;
	aside) POOL_ASIDE[$!]=$next ;;
	esac
}

# Waits for the end of one.
pool_reap() {
	local pid code=0 job
	wait -n -p pid "${!POOL_PID[@]}" || code=$?
	job=${POOL_PID[$pid]}
	unset "POOL_PID[$pid]" "POOL_ASIDE[$pid]"
	[[ $pid != "$POOL_TIMED" ]] || POOL_TIMED=
	[[ $pid != "$POOL_WAITER" ]] || POOL_WAITER=
	POOL_ENDED[job]="$code $(seconds_since "${POOL_BEGAN[job]}")"
	[[ ${POOL_KINDS[job]} != aside ]] || pool_tell "$job"
	while [[ $POOL_N_TOLD -lt ${#POOL_TITLES[@]} ]]; do
		job=$POOL_N_TOLD
		if [[ ${POOL_KINDS[job]} != aside ]]; then
			[[ -n ${POOL_ENDED[job]:-} ]] || break
			pool_tell "$job"
		fi
		POOL_N_TOLD=$((job + 1))
	done
}

pool_tell() { # JOB
	local job=$1 run=only
	[[ -z $POOL_RUN || $POOL_RUN == first ]] || run=last
	if [[ -n $POOL_RUN ]] && pool_comes_again "${POOL_ENDED[job]% *}"; then
		run=again
		POOL_AGAIN+=("$job")
	fi
	# shellcheck disable=SC2086
	pool_told "${POOL_TITLES[job]}" ${POOL_ENDED[job]} "$POOL_DIR/$job" "$run"
	rm -f "$POOL_DIR/$job"
}

# Ends what runs.
pool_stop() {
	[[ ${#POOL_PID[@]} -eq 0 ]] || kill -TERM "${!POOL_PID[@]}" 2>/dev/null
	wait
	rm -rf "$POOL_DIR"
}
