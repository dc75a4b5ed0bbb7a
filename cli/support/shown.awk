# SPDX-License-Identifier: Apache-2.0
# What `fairlead support` may show, as C: the fields of the daemons' answers, the events of their logs and their
# metrics, as docs/control.md, docs/events.md and docs/metrics.md list them.
function words_of(text,    found) {
	while (match(text, /`[^`]+`/)) {
		found = found " " substr(text, RSTART + 1, RLENGTH - 2)
		text = substr(text, RSTART + RLENGTH)
	}
	return found
}

function add(kind, name, members) {
	if (!((kind, name) in of))
		names[kind, ++n_names[kind]] = name
	of[kind, name] = of[kind, name] members
}

FILENAME ~ /control\.md$/ {
	n = split(words_of($0), words, /[^a-z0-9_]+/)
	for (i = 1; i <= n; i++)
		# The others are of commands that support does not give.
		if (words[i] ~ /^[a-z]/ && words[i] !~ /^(command|keys?|text)$/)
			add("fields", words[i], "")
}

FILENAME ~ /(events|metrics)\.md$/ && /^\| `/ {
	split($0, cells, "|")
	kind = FILENAME ~ /events/ ? "events" : "metrics"
	add(kind, substr(words_of(cells[2]), 2), words_of(cells[kind == "events" ? 4 : 5]))
}

END {
	n = split("fields events metrics", kinds, " ")
	for (k = 1; k <= n; k++) {
		print "static const struct shown shown_" kinds[k] "[] = {"
		for (i = 1; i <= n_names[kinds[k]]; i++) {
			name = names[kinds[k], i]
			print "\t{\"" name "\", \"" of[kinds[k], name] " \"},"
		}
		print "};"
	}
}
