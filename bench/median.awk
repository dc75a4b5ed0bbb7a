# SPDX-License-Identifier: Apache-2.0
# The median of values[key, 1] to values[key, count[key]], which are put in order.

function median(key,    i, j, v, n) {
	n = count[key]
	for (i = 2; i <= n; i++) {
		v = values[key, i]
		for (j = i - 1; j >= 1 && values[key, j] > v; j--)
			values[key, j + 1] = values[key, j]
		values[key, j + 1] = v
	}
	return n % 2 ? values[key, (n + 1) / 2] : (values[key, n / 2] + values[key, n / 2 + 1]) / 2
}
