/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Line by line: a name, perhaps labels, a value. Lines are copied into a buffer of their own, so
 * that numbers can be read by the C library; what is longer than any line that is wanted is passed
 * over.
 */
#include "etcdwatch/rules/pagefigures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

#define LINE_MAX_BYTES 256
/* Beyond, a double has no whole numbers. */
#define COUNT_MAX 9007199254740992.0

#define FSYNC "etcd_disk_wal_fsync_duration_seconds_bucket"
#define COMMIT "etcd_disk_backend_commit_duration_seconds_bucket"

/* "0.004", "+Inf", "1.6777216e+07": a number, and nothing behind it. */
static bool read_number(const char *text, double *ret)
{
	char *end = NULL;
	double value = strtod(text, &end);

	if (end == text || *end != '\0' || isnan(value))
		return false;
	*ret = value;
	return true;
}

static bool read_count(const char *text, uint64_t *ret)
{
	double value;

	if (!read_number(text, &value) || value < 0 || value > COUNT_MAX)
		return false;
	*ret = (uint64_t) value;
	return true;
}

/* Bounds come in rising order; whatever does not makes the histogram useless. */
static void add_bucket(struct pagefigures_histogram *h, char *labels, const char *value)
{
	char *bound = strstr(labels, "le=\"");
	double bound_s;
	uint64_t count;

	if (bound == NULL || h->n == PAGEFIGURES_BUCKETS_MAX)
		return;
	bound += strlen("le=\"");
	bound[strcspn(bound, "\"")] = '\0';
	if (!read_number(bound, &bound_s) || !read_count(value, &count))
		return;
	if (bound_s <= 0)
		return;
	if (h->n > 0 && (bound_s <= h->bounds_s[h->n - 1] || count < h->counts[h->n - 1]))
		return;
	h->bounds_s[h->n] = bound_s;
	h->counts[h->n++] = count;
}

static void read_plain(struct pagefigures *f, const char *name, const char *value)
{
	double number;
	uint64_t count;

	if (strcmp(name, "etcd_server_proposals_failed_total") == 0) {
		f->has_failed = read_count(value, &f->proposals_failed);
	} else if (strcmp(name, "etcd_server_quota_backend_bytes") == 0) {
		if (read_count(value, &count) && count > 0) {
			f->quota_bytes = (int64_t) count;
			f->has_quota = true;
		}
	} else if (strcmp(name, "process_start_time_seconds") == 0) {
		if (read_number(value, &number) && isfinite(number) && number > 0)
			f->started_s = number;
	}
}

static void read_line(struct pagefigures *f, char *line)
{
	char *labels = strchr(line, '{');
	char *value = strrchr(line, ' ');

	if (line[0] == '#' || value == NULL)
		return;
	*value++ = '\0';
	if (labels == NULL) {
		read_plain(f, line, value);
		return;
	}
	/* A label may hold a space; between the labels and their value there is one. */
	if (labels >= value || value[-2] != '}')
		return;
	*labels++ = '\0';
	if (strcmp(line, FSYNC) == 0)
		add_bucket(&f->fsync, labels, value);
	else if (strcmp(line, COMMIT) == 0)
		add_bucket(&f->commit, labels, value);
}

/* Without the last bound it was cut off, or had too many. */
static void finish(struct pagefigures_histogram *h)
{
	if (h->n == 0 || !isinf(h->bounds_s[h->n - 1]))
		*h = (struct pagefigures_histogram){0};
}

bool pagefigures_read(const char *text, size_t len, struct pagefigures *ret)
{
	struct pagefigures f = {0};

	while (len > 0) {
		const char *newline = memchr(text, '\n', len);
		size_t n = newline != NULL ? (size_t) (newline - text) : len;
		char line[LINE_MAX_BYTES];

		if (n < sizeof(line) && memchr(text, '\0', n) == NULL) {
			memcpy(line, text, n);
			line[n] = '\0';
			read_line(&f, line);
		}
		n = MIN(n + 1, len);
		text += n;
		len -= n;
	}
	finish(&f.fsync);
	finish(&f.commit);
	if (f.fsync.n == 0 && f.commit.n == 0 && !f.has_failed && !f.has_quota)
		return false;
	*ret = f;
	return true;
}

bool pagefigures_p99(const struct pagefigures_histogram *before,
                     const struct pagefigures_histogram *after, uint64_t n_least, double *ret_s)
{
	uint64_t counts[PAGEFIGURES_BUCKETS_MAX], total;
	double rank, below = 0, low = 0;
	size_t i = 0;

	if (after->n < 2 || before->n != after->n)
		return false;
	for (size_t k = 0; k < after->n; k++) {
		if (after->counts[k] < before->counts[k] ||
		    (after->bounds_s[k] < before->bounds_s[k] || after->bounds_s[k] > before->bounds_s[k]))
			return false;
		counts[k] = after->counts[k] - before->counts[k];
	}
	total = counts[after->n - 1];
	if (total == 0 || total < n_least)
		return false;
	rank = 0.99 * (double) total;
	while (i < after->n - 1 && (double) counts[i] < rank) {
		below = (double) counts[i];
		low = after->bounds_s[i];
		i++;
	}
	*ret_s = i == after->n - 1
	             ? low
	             : low + (after->bounds_s[i] - low) * (rank - below) / ((double) counts[i] - below);
	return true;
}
