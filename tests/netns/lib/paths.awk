# SPDX-License-Identifier: Apache-2.0
# Of logs of observer and tcpwatch, sorted: for each path the last answer of FORMER, in ms after the mark
# EVENT and after the next owner's first answer by ARP or NA; until the story says its next sentence.
$2 == "mark" && $3 != "settled" {
	begins = substr($0, index($0, " mark ") + 6) == event
	if (begins && !began)
		began = $1
	within = begins
}
!within { next }
$2 == "answer" && $3 != former && !first { first = $1 }
$2 == "answer" && $3 == former { last["ARP or NA"] = $1 }
$2 == "serve" && $3 == former { last[$4 " " $5] = $1 }
$2 == "serve" { seen[$4 " " $5] = 1 }
END {
	printf "%s: %s; the next owner answers after %.0f ms\n", address, event, (first - began) / 1000
	seen["ARP or NA"] = 1
	for (path in seen) {
		if (last[path])
			row = sprintf("%6.0f ms, %+7.0f ms", (last[path] - began) / 1000, (last[path] - first) / 1000)
		else
			row = "-"
		printf "    %-14s %s\n", path, row | "sort"
	}
	close("sort")
}
