# SPDX-License-Identifier: Apache-2.0
# The last seconds as strips, a column for each quarter of a second (column_us), the newest on the
# right: the node whose answer the observer heard last in that time, and how the requests fared that
# each client began in it (one that failed shows, whatever the others did). Then their counts.
# Input: the clients' logs (uptime in seconds, HTTP code), before each its number as client=N, up to
# `clients`, and the observer's as standard input.
# A column is blank where nothing has been asked, or the answer is not yet known.

function strip(cells, n, pen,    c, text, last, cell) {
	for (c = 1; c <= n; c++) {
		cell = cells[c]
		if (pen[cell] != last)
			text = text (last != "" ? plain : "") pen[cell]
		last = pen[cell]
		text = text (cell in glyph ? glyph[cell] : cell)
	}
	return text (last != "" ? plain : "")
}

BEGIN {
	pen[1] = pen1; pen[2] = pen2; pen[3] = pen3
	pen["ok"] = pen_ok; pen["failed"] = pen_failed; pen["nobody"] = pen_failed
	glyph["ok"] = ok; glyph["failed"] = failed; glyph["nobody"] = nobody; glyph["blank"] = " "
}

FILENAME == "-" {
	if (!began_us)
		began_us = $1
	if ($2 == "answer")
		who[int($1 / column_us)] = substr($3, length($3))
	next
}

{
	column = int($1 * 1000000 / column_us)
	good = $2 == 200
	count[client, good]++
	if (!good)
		fared[client, column] = "failed"
	else if (!((client, column) in fared))
		fared[client, column] = "ok"
}

END {
	first = int(now_us / column_us) - columns
	for (i = 1; i <= columns; i++) {
		c = first + i - 1
		asked = began_us && c > began_us / column_us
		wire[i] = c in who ? who[c] : asked ? "nobody" : "blank"
		for (n = 1; n <= clients; n++)
			cells[n, i] = (n, c) in fared ? fared[n, c] : "blank"
	}
	print strip(wire, columns, pen)
	for (n = 1; n <= clients; n++) {
		for (i = 1; i <= columns; i++)
			cell_row[i] = cells[n, i]
		print strip(cell_row, columns, pen)
	}
	for (n = 1; n <= clients; n++)
		print count[n, 1] + 0, count[n, 0] + 0
}
