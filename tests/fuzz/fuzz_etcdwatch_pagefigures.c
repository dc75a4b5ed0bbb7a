/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer's entry point for a member's /metrics page: histograms that are read are whole, and a
 * percentile of what came since an empty one lies within their bounds. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "etcdwatch/rules/pagefigures.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct pagefigures_histogram *h)
{
	struct pagefigures_histogram before = *h;
	double s;

	if (h->n > PAGEFIGURES_BUCKETS_MAX || (h->n > 0 && !isinf(h->bounds_s[h->n - 1])))
		abort();
	for (size_t i = 1; i < h->n; i++) {
		if (h->bounds_s[i] <= h->bounds_s[i - 1] || h->counts[i] < h->counts[i - 1])
			abort();
	}
	memset(before.counts, 0, sizeof(before.counts));
	if (pagefigures_p99(&before, h, 1, &s) && (isnan(s) || (s > h->bounds_s[h->n - 2] && s > 0)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pagefigures figures;

	if (!pagefigures_read((const char *) data, size, &figures))
		return 0;
	check(&figures.fsync);
	check(&figures.commit);
	if (figures.quota_bytes < 0)
		abort();
	return 0;
}
