# SPDX-License-Identifier: Apache-2.0
# What an election of etcd's leader did to an address, by the observer's figures and by what the members
# say of their votes (docs/limits.md).

# Of members' logs since the leader was killed. The first vote elected nobody: somebody stood for election in
# its term, and nobody became the leader of that.
first_vote_fails() { # LOG
	awk 'match($0, /became (candidate|leader) at term [0-9]+"/) {
			split(substr($0, RSTART, RLENGTH), word, " ")
			term = word[5] + 0
			if (word[2] == "leader") led[term] = 1
			else if (first == "" || term < first) first = term
		}
		END { exit first == "" || first in led }' "$1"
}

# A vote that elects nobody costs 1 to 1.9 s, and the next may be such a one, too (bench/RESULTS.md). What is
# longer is no moment any more.
MOMENT_MS=5000

# kept, or how the promise was broken: "stated" by what is stated, a break for a moment behind a first vote that
# elected nobody, or "broken" by anything else, which a move always is.
judge_election() { # OWNER_BEFORE OWNERS_AFTER MOVES GAP_MS ALLOWED_MS LOG
	if [[ $2 != "$1" || $3 -gt 0 ]]; then
		echo broken
	elif awk -v gap="$4" -v allowed="$5" 'BEGIN { exit !(gap <= allowed) }'; then
		echo kept
	elif awk -v gap="$4" -v allowed="$5" -v moment="$MOMENT_MS" 'BEGIN { exit !(gap <= allowed + moment) }' &&
		first_vote_fails "$6"; then
		echo stated
	else
		echo broken
	fi
}
