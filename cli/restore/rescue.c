/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `fairlead etcd rescue`: the quorum is lost for good, and of what the members left the best is to
 * be found. Each database is walked and read; what any two have in common must be the same. It
 * changes nothing and restores nothing: it says which one, why, and how.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/jsonval.h"
#include "base/mem.h"
#include "bolt/dbinfo.h"
#include "bolt/wal.h"
#include "cli/common/cli.h"
#include "cli/snapshot/file.h"
#include "cli/restore/rescuepick.h"
#include "cli/common/table.h"
#include "cli/common/texts.h"

#define DB_IN_DIR "member/snap/db"
#define WAL_IN_DIR "member/wal"
#define MIB (1024 * 1024)

enum agreement {
	AGREES_UNKNOWN, /* nothing can be compared */
	AGREES,
	DISAGREES,
};

struct survivor {
	char *directory; /* NULL: a file was named */
	char *db;
	struct etcd_file file;
	char *why; /* it is none; NULL: it is sound */
	struct snapshot_content content;
	struct dbinfo *info;
	bool has_wal;
	struct wal_reach wal;
	enum agreement agrees; /* with the best one */
};

static void survivor_fini(struct survivor *s)
{
	etcd_file_fini(&s->file);
	dbinfo_free(s->info);
	free(s->directory);
	free(s->db);
	free(s->why);
}

/* --- looking at each --- */

static int read_db(struct survivor *s)
{
	int r = bolt_is_locked(s->db);

	if (r > 0) {
		s->why = xstrdup("etcd runs on it");
		return -EBUSY;
	}
	s->file.path = s->db;
	r = snapshot_open(s->db, &s->file.fault, &s->file.snapshot);
	if (r >= 0)
		etcd_file_show_progress(&s->file);
	if (r >= 0 && snapshot_has_digest(s->file.snapshot))
		r = snapshot_check_digest(s->file.snapshot);
	if (r >= 0)
		r = snapshot_check_content(s->file.snapshot, 0, &s->content);
	if (r >= 0)
		r = dbinfo_read(snapshot_db(s->file.snapshot), &s->info);
	progress_clear();
	if (r < 0)
		s->why = xstrdup(s->file.fault.what);
	return r;
}

static void look_at(struct survivor *s, const char *path)
{
	AUTO(free) char *wal = NULL;
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		s->directory = realpath(path, NULL);
		s->db = xasprintf("%s/" DB_IN_DIR, s->directory != NULL ? s->directory : path);
	} else {
		s->db = realpath(path, NULL);
		if (s->db == NULL)
			s->db = xstrdup(path);
	}
	if (read_db(s) < 0 || s->directory == NULL)
		return;
	wal = xasprintf("%s/" WAL_IN_DIR, s->directory);
	s->has_wal = wal_read(wal, s->info->consistent_index, &s->wal) == 0;
}

static struct rescuepick choose(const struct survivor *survivors, size_t n)
{
	AUTO(free) struct rescuepick_candidate *candidates = xcalloc(n, sizeof(*candidates));

	for (size_t i = 0; i < n; i++) {
		const struct survivor *s = &survivors[i];

		if (s->why != NULL)
			continue;
		candidates[i] = (struct rescuepick_candidate){
		    .is_sound = true,
		    .index = s->info->consistent_index,
		    .term = s->info->term,
		    .revision = s->content.reach.current,
		    .cluster_id = s->has_wal ? s->wal.cluster_id : 0,
		    .has_wal = s->has_wal,
		    .wal_commit = s->wal.commit,
		    .n_writes = s->wal.n_writes,
		};
	}
	return rescuepick_choose(candidates, n);
}

/* At the last revision that both have, compacted as the one that was compacted further. */
static enum agreement compare(struct survivor *a, struct survivor *b)
{
	int64_t revision = MIN(a->content.reach.current, b->content.reach.current);
	int64_t compacted = MAX(a->content.reach.compacted, b->content.reach.compacted);
	struct hashkv_result x, y;
	int r;

	r = hashkv_compute_compacted(snapshot_db(a->file.snapshot), revision, compacted, &x);
	if (r >= 0)
		r = hashkv_compute_compacted(snapshot_db(b->file.snapshot), revision, compacted, &y);
	progress_clear();
	if (r < 0 || (x.n_live == 0) != (y.n_live == 0))
		return AGREES_UNKNOWN;
	return x.hash == y.hash ? AGREES : DISAGREES;
}

static void compare_all(struct survivor *survivors, size_t n, size_t best)
{
	for (size_t i = 0; i < n; i++) {
		if (i != best && survivors[i].why == NULL)
			survivors[i].agrees = compare(&survivors[best], &survivors[i]);
	}
}

/* --- what to do --- */

/* The plan of a restore from it; to be freed. */
static char *restore_command(const struct survivor *s)
{
	struct texts words = {0};
	char *command;

	texts_add(&words, "fairlead");
	texts_add(&words, "etcd");
	texts_add(&words, "restore");
	if (!snapshot_has_digest(s->file.snapshot))
		texts_add(&words, "--skip-hash-check");
	if (s->directory != NULL) {
		texts_add(&words, "--data-dir");
		texts_add(&words, "%s", s->directory);
	}
	texts_add(&words, "%s", s->db);
	command = texts_command(&words);
	texts_fini(&words);
	return command;
}

static const char *reason_text(enum rescuepick_reason reason)
{
	switch (reason) {
	case RESCUEPICK_NO_SOUND_ONE:
		return "none of them is sound";
	case RESCUEPICK_OTHER_CLUSTER:
		return "they are not of one cluster, so their indices say nothing about each other: name "
		       "only those that belong together";
	case RESCUEPICK_ONLY_SOUND_ONE:
		return "no other one is sound";
	case RESCUEPICK_HIGHEST_INDEX:
		return "its index is the highest: it has all that the others have, and more";
	case RESCUEPICK_HIGHEST_REVISION:
		return "its index is no lower than any, and its term or revision is higher";
	case RESCUEPICK_ALL_EQUAL:
		return "all that are sound have come equally far";
	}
	return "";
}

static const char *agreement_text(const struct survivor *s, bool is_best)
{
	if (s->why != NULL)
		return s->why;
	if (is_best)
		return "sound, the best";
	switch (s->agrees) {
	case AGREES_UNKNOWN:
		return "sound";
	case AGREES:
		return "sound, same as the best up to its revision";
	case DISAGREES:
		return "sound, BUT ITS KEYS ARE NOT THOSE OF THE BEST";
	}
	return "";
}

/* --- for people --- */

static void add_row(struct table *table, const struct survivor *s, bool is_best)
{
	bool known = s->why == NULL;

	table_cell(table, "%s", s->directory != NULL ? s->directory : s->db);
	if (known) {
		table_cell(table, "%" PRIu64, s->info->consistent_index);
		table_cell(table, "%" PRIu64, s->info->term);
		table_cell(table, "%" PRId64, s->content.reach.current);
		table_cell(table, "%" PRIu64, s->content.hashkv.n_live);
		table_cell(table, "%.1f", (double) s->content.n_bytes / MIB);
	}
	for (int i = 0; !known && i < 5; i++)
		table_cell(table, "-");
	if (s->has_wal)
		table_cell(table, "%" PRIu64 " (%" PRIu64 " writes)%s", s->wal.commit, s->wal.n_writes,
		           s->wal.is_torn ? ", torn" : "");
	else
		table_cell(table, "-");
	table_cell(table, "%s", agreement_text(s, is_best));
}

static void print_table(const struct survivor *survivors, size_t n, size_t best)
{
	static const struct table_column columns[] = {
	    {"DATA", TABLE_LEFT},        {"INDEX", TABLE_RIGHT}, {"TERM", TABLE_RIGHT},
	    {"REVISION", TABLE_RIGHT},   {"KEYS", TABLE_RIGHT},  {"MIB", TABLE_RIGHT},
	    {"WAL GOES TO", TABLE_LEFT}, {"", TABLE_LEFT}};
	struct table *table = table_new(columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < n; i++)
		add_row(table, &survivors[i], i == best);
	table_print(table, stdout);
	table_free(table);
}

static void print_second(const struct survivor *best, const struct survivor *second)
{
	table_line(stdout, "The next is %" PRIu64 " entries behind: %s",
	           best->info->consistent_index - second->info->consistent_index, second->db);
}

static void print_disagreement(const struct survivor *survivors, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (survivors[i].agrees != DISAGREES)
			continue;
		(void) fputs("\nMembers disagree about what they have in common, so one of them is "
		             "corrupt, and the index does not tell which. Compare them:\n",
		             stdout);
		table_line(stdout, "  fairlead etcd snapshot diff %s THE-OTHER", survivors[i].db);
	}
}

static void print_by_wal(const struct survivor *s)
{
	(void) printf("\nMore is in the WAL of ");
	table_print_safe(stdout, s->directory);
	(void) printf(": %" PRIu64 " writes that were agreed on, up to index %" PRIu64
	              ", are in no database. Its own\netcd brings them in:\n"
	              "  1. keep a copy: cp -a ",
	              s->wal.n_writes, s->wal.commit);
	table_print_safe(stdout, s->directory);
	(void) fputs(
	    "{,.copy}\n"
	    "  2. on its node start etcd as ever, with the option --force-new-cluster (kubeadm: "
	    "in etcd.yaml)\n"
	    "  3. take a snapshot of it, take the option out again and restart it\n"
	    "  4. restore all members from that snapshot, or let the others join: etcdctl "
	    "member add\n"
	    "If it does not start, restore what the database has:\n",
	    stdout);
}

static void print_unsure(const struct survivor *survivors, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct survivor *s = &survivors[i];

		if (!s->has_wal || s->wal.n_unsure == 0)
			continue;
		(void) printf("\n%" PRIu64 " more writes stand behind them in the WAL of ",
		              s->wal.n_unsure);
		table_print_safe(stdout, s->directory);
		(void) fputs(
		    ".\nClients may have been told that these are done, and --force-new-cluster throws "
		    "them away. If a majority\nof the members' directories is here, etcd started on "
		    "them as ever keeps what was agreed on: no rescue.\n",
		    stdout);
	}
}

static void print_result(const struct survivor *survivors, size_t n, const struct rescuepick *pick)
{
	AUTO(free) char *command = NULL;

	print_table(survivors, n, pick->best);
	if (pick->best == RESCUEPICK_NONE) {
		(void) printf("\nNo choice: %s.\n", reason_text(pick->reason));
		return;
	}
	(void) fputc('\n', stdout);
	table_line(stdout, "Best: %s: %s.", survivors[pick->best].db, reason_text(pick->reason));
	if (pick->reason == RESCUEPICK_HIGHEST_INDEX)
		print_second(&survivors[pick->best], &survivors[pick->second]);
	print_disagreement(survivors, n);
	print_unsure(survivors, n);
	if (pick->by_wal != RESCUEPICK_NONE)
		print_by_wal(&survivors[pick->by_wal]);
	else
		(void) fputs(
		    "\nThe plan of a restore from it, which changes nothing yet (with --alone, if the "
		    "other members do not come back):\n",
		    stdout);
	command = restore_command(&survivors[pick->best]);
	table_line(stdout, "%s", command);
}

/* --- for programs --- */

static json_t *describe(const struct survivor *s)
{
	static const char *const words[] = {
	    [AGREES_UNKNOWN] = NULL, [AGREES] = "yes", [DISAGREES] = "no"};
	json_t *object = json_pack("{s:o, s:b, s:o}", "db", jsonval_text(s->db), "sound",
	                           s->why == NULL, "reason", jsonval_text(s->why));
	char cluster[17];

	if (s->why == NULL)
		(void) json_object_update_new(
		    object,
		    json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "index",
		              (json_int_t) s->info->consistent_index, "term", (json_int_t) s->info->term,
		              "revision", (json_int_t) s->content.reach.current, "live_keys",
		              (json_int_t) s->content.hashkv.n_live, "hashkv",
		              (json_int_t) s->content.hashkv.hash, "db_bytes",
		              (json_int_t) s->content.n_bytes, "agrees", jsonval_text(words[s->agrees])));
	if (!s->has_wal)
		return object;
	(void) snprintf(cluster, sizeof(cluster), "%" PRIx64, s->wal.cluster_id);
	(void) json_object_set_new(
	    object, "wal",
	    json_pack("{s:s, s:I, s:I, s:I, s:I, s:b}", "cluster_id", cluster, "last",
	              (json_int_t) s->wal.last, "commit", (json_int_t) s->wal.commit, "writes",
	              (json_int_t) s->wal.n_writes, "unsure_writes", (json_int_t) s->wal.n_unsure,
	              "torn", (int) s->wal.is_torn));
	return object;
}

static void print_object(const struct cli *cli, const struct survivor *survivors, size_t n,
                         const struct rescuepick *pick)
{
	bool found = pick->best != RESCUEPICK_NONE;
	AUTO(free) char *command = found ? restore_command(&survivors[pick->best]) : NULL;
	json_t *array = json_array(), *object;

	for (size_t i = 0; i < n; i++)
		(void) json_array_append_new(array, describe(&survivors[i]));
	object = json_pack(
	    "{s:o, s:o, s:s, s:o, s:o}", "survivors", array, "best",
	    jsonval_text(found ? survivors[pick->best].db : NULL), "reason", reason_text(pick->reason),
	    "command", jsonval_text(command), "force_new_cluster",
	    jsonval_text(pick->by_wal != RESCUEPICK_NONE ? survivors[pick->by_wal].directory : NULL));
	cli_print(cli, object);
	json_decref(object);
}

int cli_etcd_rescue(const struct cli *cli, int argc, char **argv)
{
	size_t n = (size_t) argc;
	AUTO(free) struct survivor *survivors = xcalloc(n, sizeof(*survivors));
	struct rescuepick pick;
	int code;

	for (size_t i = 0; i < n; i++)
		look_at(&survivors[i], argv[i]);
	pick = choose(survivors, n);
	if (pick.best != RESCUEPICK_NONE)
		compare_all(survivors, n, pick.best);
	if (cli->output != CLI_TABLE)
		print_object(cli, survivors, n, &pick);
	else
		print_result(survivors, n, &pick);
	for (size_t i = 0; i < n; i++)
		survivor_fini(&survivors[i]);
	code = etcd_flush();
	return pick.best != RESCUEPICK_NONE ? code : CLI_FAILED;
}
