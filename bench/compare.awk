# SPDX-License-Identifier: Apache-2.0
# Reads samples, one a line: SUBJECT_FIGURE UNIT VALUE. Prints a table: one row a figure, one column a
# subject, each cell the median and, of several runs, (min..max).
# -v columns="SUBJECT ..."
# Needs median.awk.

function subject_of(name,    i, found) {
	for (i = 1; i <= subjects; i++)
		if (index(name, subject[i] "_") == 1 && length(subject[i]) > length(found))
			found = subject[i]
	return found
}

function number(x) {
	return x >= 1000 || x <= -1000 || x == int(x) ? sprintf("%.0f", x) : \
		x >= 100 || x <= -100 ? sprintf("%.1f", x) : sprintf("%.2f", x)
}

function cell(key,    m) {
	if (!(key in count))
		return "-"
	m = median(key)
	if (count[key] == 1)
		return number(m)
	return number(m) " (" number(values[key, 1]) ".." number(values[key, count[key]]) ")"
}

BEGIN {
	subjects = split(columns, subject, " ")
	wide = 32
}

{
	who = subject_of($1)
	figure = who == "" ? $1 : substr($1, length(who) + 2)
	if (!(figure in unit))
		figures[++n] = figure
	unit[figure] = NF > 2 ? $2 : ""
	wide = length(figure) > wide ? length(figure) : wide
	seen[who] = 1
	key = who SUBSEP figure
	values[key, ++count[key]] = $NF + 0
}

END {
	printf "%-" wide "s %-8s", "figure", "unit"
	for (i = 1; i <= subjects; i++)
		if (subject[i] in seen)
			printf " %-24s", subject[i]
	print ""
	for (f = 1; f <= n; f++) {
		line = sprintf("%-" wide "s %-8s", figures[f], unit[figures[f]])
		for (i = 1; i <= subjects; i++)
			if (subject[i] in seen)
				line = line sprintf(" %-24s", cell(subject[i] SUBSEP figures[f]))
		sub(/ +$/, "", line)
		print line
	}
	print ""
}
