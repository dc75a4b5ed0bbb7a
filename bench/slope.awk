# SPDX-License-Identifier: Apache-2.0
# Reads samples, one a line: SUBJECT_FIGURE_at_SIZE UNIT VALUE. Prints for each SUBJECT_FIGURE of several
# sizes one sample more, SUBJECT_FIGURE_per_PER: how steep the line is that lies best (least squares)
# between the medians of its sizes, for PER of what sizes are counted in. Ratios have none.
# -v per=NUMBER
# Needs median.awk.

$2 != "x" && match($1, /_at_[0-9]+$/) {
	figure = substr($1, 1, RSTART - 1)
	size = substr($1, RSTART + 4) + 0
	if (!(figure in unit))
		figures[++n] = figure
	unit[figure] = $2
	if (!((figure, size) in count))
		sizes[figure, ++n_sizes[figure]] = size
	values[figure SUBSEP size, ++count[figure, size]] = $3
}

END {
	for (f = 1; f <= n; f++) {
		figure = figures[f]
		m = n_sizes[figure]
		x = y = xx = xy = 0
		for (i = 1; i <= m; i++) {
			size = sizes[figure, i]
			value = median(figure SUBSEP size)
			x += size / m
			y += value / m
			xx += size * size / m
			xy += size * value / m
		}
		if (m > 1)
			printf "%s_per_%d %s %.6g\n", figure, per, unit[figure], (xy - x * y) / (xx - x * x) * per
	}
}
