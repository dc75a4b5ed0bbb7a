# SPDX-License-Identifier: Apache-2.0
# For what must come within milliseconds. That is promised of fairlead, and not of the machine that a
# story runs on: a ticker (tests/tools/ticker.c) sees how long processes were kept from a processor, and
# what a limit measures may have waited for it as often as somebody had a part in it.

PARTNERS=3             # who asks, who answers, and one in between
declare -gA SAID_CS=() # sentence -> when it was said

lateness_note() { # TEXT
	SAID_CS[$1]=$(now_cs)
}

ON_SAY+=(lateness_note)

lateness_watch() { # [NICENESS of what is measured, less that of the story]
	nice -n "${1:-0}" "$TOOLS/ticker" >"$LOG_DIR/lateness.log" 2>&1 </dev/null &
	PID[ticker]=$!
	wait_until 10 test -s "$LOG_DIR/lateness.log"
}

# How late the machine was at worst since the time SINCE_CS, in ms.
lateness_since() { # SINCE_CS
	awk -v since="$1" '100 * $4 >= since && $2 > most { most = $2 } END { print most + 0 }' "$LOG_DIR/lateness.log"
}

# LIMIT_MS, and what the machine may have added to it since that SENTENCE (default: the present one) was
# said. Tells when it has.
lateness_allow() { # LIMIT_MS [SENTENCE]
	local late
	late=$(lateness_since "${SAID_CS[${2:-$STEP}]:-0}")
	[[ $late -eq 0 ]] || echo "         the machine was late by $late ms: $(($1 + PARTNERS * late)) ms for $1" >&"$OUT_FD"
	echo $(($1 + PARTNERS * late))
}

# The figure is of what fairlead promises to do within LIMIT_MS.
expect_within_ms() { # WHAT GOT_MS LIMIT_MS
	expect_at_most "$1, ms" "$2" "$(lateness_allow "$3")"
}
