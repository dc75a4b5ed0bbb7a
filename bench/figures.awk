# SPDX-License-Identifier: Apache-2.0
# Reads samples, one a line: NAME UNIT VALUE, and goals: NAME goal median|p95|max OPERATOR LIMIT. Prints
# a table and, last, JSON, where a goal is named after the figure and, unless it is the median, what of
# it counts. p95 is the nearest rank. A goal without one sample is not met.
# -v bench=NAME [-v strip=PREFIX: left out of the goals' names] [-v table=no: goals and JSON only]

function sort_values(name,    i, j, v) {
	for (i = 2; i <= count[name]; i++) {
		v = values[name, i]
		for (j = i - 1; j >= 1 && values[name, j] > v; j--)
			values[name, j + 1] = values[name, j]
		values[name, j + 1] = v
	}
}

function ceiling(x) {
	return x == int(x) ? x : int(x) + 1
}

function statistic(name, which,    n) {
	n = count[name]
	if (which == "median")
		return n % 2 ? values[name, (n + 1) / 2] : (values[name, n / 2] + values[name, n / 2 + 1]) / 2
	if (which == "p95")
		return values[name, ceiling(n * 0.95)]
	return values[name, which == "min" ? 1 : n]
}

function number(x) {
	return x == int(x) ? sprintf("%d", x) : sprintf("%.3f", x)
}

$2 == "goal" {
	goal_name[++goals] = $1
	goal_which[goals] = $3
	goal_operator[goals] = $4
	goal_limit[goals] = $5
	next
}

# Without a number it would count as 0.
NF != 3 || $3 !~ /^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$/ {
	print "no sample: '" $0 "'" >"/dev/stderr"
	bad = 1
	exit 1
}

{
	if (!($1 in count))
		name_of[++names] = $1
	unit[$1] = $2
	values[$1, ++count[$1]] = $3 + 0
}

END {
	if (bad)
		exit 1
	if (table != "no")
		printf "%-36s %5s %12s %12s %12s %12s  %s\n", "figure", "runs", "min", "median", "p95", "max", "unit"
	for (i = 1; i <= names; i++) {
		name = name_of[i]
		sort_values(name)
		if (table != "no")
			printf "%-36s %5d %12.3f %12.3f %12.3f %12.3f  %s\n", name, count[name], \
				statistic(name, "min"), statistic(name, "median"), statistic(name, "p95"), \
				statistic(name, "max"), unit[name]
		figures = figures sprintf("%s{\"name\": \"%s\", \"unit\": \"%s\", \"runs\": %d, " \
			"\"min\": %s, \"median\": %s, \"p95\": %s, \"max\": %s}", i > 1 ? ", " : "", name, \
			unit[name], count[name], number(statistic(name, "min")), \
			number(statistic(name, "median")), number(statistic(name, "p95")), \
			number(statistic(name, "max")))
	}
	if (table != "no")
		print ""
	for (i = 1; i <= goals; i++) {
		name = goal_name[i]
		limit = goal_limit[i] + 0
		if (count[name] == 0) {
			met = 0
			value = "null"
		} else {
			v = statistic(name, goal_which[i])
			met = goal_operator[i] == "<=" ? v <= limit : v >= limit
			value = number(v)
		}
		printf "%-4s  %s of %s %s %s: %s\n", met ? "met" : "MISS", goal_which[i], name, \
			goal_operator[i], goal_limit[i], value
		which = goal_which[i] == "median" ? "" : "_" goal_which[i]
		sub("^" strip, "", name)
		list = list sprintf("%s{\"name\": \"%s%s\", \"value\": %s, \"goal\": \"%s %s\", \"met\": %s}", \
			i > 1 ? ", " : "", name, which, value, goal_operator[i], goal_limit[i], \
			met ? "true" : "false")
	}
	print ""
	printf "{\"bench\": \"%s\", \"goals\": [%s], \"figures\": [%s]}\n", bench, list, figures
}
