/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `etcd snapshot diff`: which keys two snapshots have different, each at its last revision. Both
 * are sorted, so one pass over the two finds what is in one only, and what is in both but not the
 * same.
 */
#include "cli/common/cli.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "bolt/mvcc.h"
#include "cli/snapshot/file.h"

enum change {
	CHANGE_REMOVED,
	CHANGE_ADDED,
	CHANGE_CHANGED,
	CHANGE_NONE,
	N_CHANGES,
};

static const struct {
	const char *name;
	char sign;
} changes[] = {
    [CHANGE_REMOVED] = {"removed", '-'},
    [CHANGE_ADDED] = {"added", '+'},
    [CHANGE_CHANGED] = {"changed", '~'},
};

struct diff {
	const struct cli *cli;
	uint64_t n[N_CHANGES];
};

static bool is_same(const struct view_key *a, const struct view_key *b)
{
	return a->rev.main == b->rev.main && a->create_revision == b->create_revision &&
	       a->version == b->version && a->lease == b->lease && a->value_len == b->value_len &&
	       a->value_crc == b->value_crc;
}

static json_t *revision(const struct view_key *key)
{
	return key != NULL ? json_integer(key->rev.main) : json_null();
}

/* Of a and b, the one that is not there is NULL. */
static void report(struct diff *d, enum change change, const struct view_key *a,
                   const struct view_key *b)
{
	const struct view_key *key = change == CHANGE_ADDED ? b : a;

	d->n[change]++;
	if (change == CHANGE_NONE)
		return;
	if (d->cli->output != CLI_TABLE) {
		AUTO(free) char *name = etcd_base64(key->key);
		json_t *object = json_pack("{s:s, s:s, s:o, s:o}", "change", changes[change].name, "key",
		                           name, "from_revision", revision(a), "to_revision", revision(b));

		cli_print(d->cli, object);
		json_decref(object);
		return;
	}
	(void) printf("%c ", changes[change].sign);
	etcd_print_safe(stdout, key->key);
	if (change == CHANGE_CHANGED && a->rev.main == b->rev.main)
		(void) printf(" (at revision %" PRId64 " in both)", a->rev.main);
	else if (change == CHANGE_CHANGED)
		(void) printf(" (revision %" PRId64 " -> %" PRId64 ")", a->rev.main, b->rev.main);
	(void) putchar('\n');
}

static void compare(struct diff *d, const struct view *a, const struct view *b)
{
	const size_t n_left = view_count(a), n_right = view_count(b);
	size_t i = 0, j = 0;

	while (i < n_left || j < n_right) {
		const struct view_key *left = i < n_left ? view_at(a, i) : NULL;
		const struct view_key *right = j < n_right ? view_at(b, j) : NULL;
		int order = 0;

		if (i == n_left)
			order = 1;
		else if (j == n_right)
			order = -1;
		else
			order = bytes_compare(left->key, right->key);
		if (order < 0)
			report(d, CHANGE_REMOVED, left, NULL);
		else if (order > 0)
			report(d, CHANGE_ADDED, NULL, right);
		else
			report(d, is_same(left, right) ? CHANGE_NONE : CHANGE_CHANGED, left, right);
		i += order <= 0;
		j += order >= 0;
	}
}

static int read_keys(struct etcd_file *file, struct view **ret_view)
{
	const struct view_match all = {.is_prefix = true};
	int r = view_new(snapshot_db(file->snapshot), 0, &all, ret_view);

	return r < 0 ? etcd_file_explain(file, r) : CLI_OK;
}

static int diff_files(const struct cli *cli, struct etcd_file *a, struct etcd_file *b)
{
	AUTO(view_free) struct view *left = NULL;
	AUTO(view_free) struct view *right = NULL;
	struct diff d = {.cli = cli};
	uint64_t n_different;
	int code = read_keys(a, &left);

	if (code == CLI_OK)
		code = read_keys(b, &right);
	if (code != CLI_OK)
		return code;
	compare(&d, left, right);
	n_different = d.n[CHANGE_ADDED] + d.n[CHANGE_REMOVED] + d.n[CHANGE_CHANGED];
	if (cli->output == CLI_TABLE)
		(void) printf("%" PRIu64 " added, %" PRIu64 " removed, %" PRIu64 " changed, %" PRIu64
		              " the same; revision %" PRId64 " -> %" PRId64 "\n",
		              d.n[CHANGE_ADDED], d.n[CHANGE_REMOVED], d.n[CHANGE_CHANGED], d.n[CHANGE_NONE],
		              view_revision(left), view_revision(right));
	code = etcd_flush();
	return code == CLI_OK && n_different > 0 ? CLI_FAILED : code;
}

int cli_etcd_snapshot_diff(const struct cli *cli, int argc UNUSED, char **argv)
{
	struct etcd_file a = {0}, b = {0};
	int code = etcd_file_find(cli, argv[0], &a);

	if (code == CLI_OK)
		code = etcd_file_find(cli, argv[1], &b);
	if (code == CLI_OK)
		code = diff_files(cli, &a, &b);
	etcd_file_fini(&a);
	etcd_file_fini(&b);
	return code;
}
