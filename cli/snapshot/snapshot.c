/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `etcd snapshot verify` and `etcd snapshot status`. The second prints what the command of that
 * name of etcdctl and etcdutl prints, so that scripts and people can compare; as there, the tree is
 * checked and the digest is not. The first checks everything that a file alone can prove.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/jsonval.h"
#include "base/macro.h"
#include "bolt/dbinfo.h"
#include "bolt/mvcc.h"
#include "cli/common/cli.h"
#include "cli/common/table.h"
#include "cli/snapshot/file.h"

/* --- get --- */

/*
 * `etcd snapshot get`: keys and values as they were at a revision, printed as `etcdctl get` prints
 * them: a line for the key, then the value as it is. On a terminal, control characters are
 * replaced.
 */

static void print_line(struct bytes text)
{
	if (isatty(STDOUT_FILENO))
		etcd_print_safe(stdout, text);
	else
		(void) fwrite(text.data, 1, text.len, stdout);
	(void) putchar('\n');
}

/* With etcdctl's names for the fields. */
static void print_object(const struct cli *cli, const struct mvcc_kv *kv)
{
	AUTO(free) char *key = etcd_base64(kv->key);
	AUTO(free) char *value = etcd_base64(kv->value);
	json_t *object =
	    json_pack("{s:s, s:I, s:I, s:I, s:s}", "key", key, "create_revision",
	              (json_int_t) kv->create_revision, "mod_revision", (json_int_t) kv->mod_revision,
	              "version", (json_int_t) kv->version, "value", value);

	if (kv->lease != 0)
		(void) json_object_set_new(object, "lease", json_integer(kv->lease));
	cli_print(cli, object);
	json_decref(object);
}

static int print_all(const struct cli *cli, struct view *view)
{
	for (size_t i = 0; i < view_count(view); i++) {
		struct mvcc_kv kv;
		int r = view_read(view, i, &kv);

		if (r < 0)
			return r;
		if (cli->output != CLI_TABLE) {
			print_object(cli, &kv);
		} else {
			print_line(kv.key);
			print_line(kv.value);
		}
	}
	return 0;
}

static int say_none(const struct cli *cli, const char *key, const struct etcd_file *file,
                    const struct view *view)
{
	return cli_fail("no key %s'%s' in %s at revision %" PRId64,
	                cli->prefix ? "that begins with " : "", key, file->path, view_revision(view));
}

int cli_etcd_snapshot_get(const struct cli *cli, int argc UNUSED, char **argv)
{
	AUTO(view_free) struct view *view = NULL;
	struct view_match match = {.key = bytes_of_text(argv[0]), .is_prefix = cli->prefix};
	struct etcd_file file;
	int r, code;

	code = etcd_file_find(cli, argv[1], &file);
	if (code != CLI_OK) {
		etcd_file_fini(&file);
		return code;
	}
	r = view_new(snapshot_db(file.snapshot), cli->revision, &match, &view);
	if (r >= 0 && view_count(view) == 0)
		code = say_none(cli, argv[0], &file, view);
	else if (r >= 0)
		r = print_all(cli, view);
	if (r < 0)
		code = etcd_file_explain(&file, r);
	etcd_file_fini(&file);
	return code != CLI_OK ? code : etcd_flush();
}

/* --- snapshot --- */

struct report {
	const char *digest; /* NULL: it was not asked for */
	struct snapshot_content content;
	struct dbinfo *info;
};

static int read_report(struct etcd_file *file, int64_t revision, struct report *report)
{
	int r = snapshot_check_content(file->snapshot, revision, &report->content);

	if (r >= 0)
		r = dbinfo_read(snapshot_db(file->snapshot), &report->info);
	progress_clear();
	return r;
}

/* --- for people --- */

/* As etcdctl prints sizes: powers of 1000, one decimal below ten. */
static void print_size(FILE *out, uint64_t n_bytes)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
	double n = (double) n_bytes;
	size_t unit = 0;

	for (; n >= 1000 && unit + 1 < ARRAY_SIZE(units); unit++)
		n /= 1000;
	n = (double) (uint64_t) (n * 10 + 0.5) / 10;
	(void) fprintf(out, unit > 0 && n < 10 ? "%.1f %s" : "%.0f %s", n, units[unit]);
}

static void print_status(FILE *out, const struct report *report)
{
	const struct snapshot_content *c = &report->content;

	(void) fprintf(out, "%x, %" PRId64 ", %" PRIu64 ", ", c->hash, c->revision, c->n_entries);
	print_size(out, c->n_bytes);
	if (report->info->storage_version[0] != '\0')
		(void) fprintf(out, ", %s", report->info->storage_version);
	(void) fputc('\n', out);
}

static void print_compacted(FILE *out, int64_t revision)
{
	if (revision < 0)
		(void) fputs(", never compacted\n", out);
	else
		(void) fprintf(out, ", compacted at %" PRId64 "\n", revision);
}

static void print_cluster(FILE *out, const struct dbinfo *info)
{
	(void) fputs("cluster   etcd ", out);
	(void) fputs(info->cluster_version[0] != '\0' ? info->cluster_version : "of no version", out);
	for (size_t i = 0; i < info->n_members; i++) {
		const struct dbinfo_member *m = &info->members[i];

		(void) fprintf(out, "%s %" PRIx64 " ", i == 0 ? "; members" : ",", m->id);
		table_print_safe(out, m->name[0] != '\0' ? m->name : "(never started)");
		if (m->is_learner)
			(void) fputs(" (learner)", out);
	}
	(void) fputc('\n', out);
}

static const char *alarm_name(enum dbinfo_alarm_kind kind)
{
	switch (kind) {
	case DBINFO_ALARM_NONE:
		return "none";
	case DBINFO_ALARM_NOSPACE:
		return "NOSPACE";
	case DBINFO_ALARM_CORRUPT:
		return "CORRUPT";
	}
	return "unknown";
}

static void print_verified(FILE *out, const char *path, const struct report *report)
{
	const struct snapshot_content *c = &report->content;
	const struct dbinfo *info = report->info;

	table_line(out, "verified  %s", path);
	table_line(out, "digest    %s", report->digest);
	(void) fprintf(out, "tree      %" PRIu64 " pages, %" PRIu64 " of them free\n", c->pages.n_pages,
	               c->pages.n_free);
	(void) fprintf(out, "revision  %" PRId64, c->reach.current);
	print_compacted(out, c->reach.compacted);
	(void) fprintf(out, "HashKV    %" PRIu32 " at revision %" PRId64 ", with %" PRIu64 " keys\n",
	               c->hashkv.hash, c->hashkv.revision, c->hashkv.n_live);
	(void) fputs("status    ", out);
	print_status(out, report);
	print_cluster(out, info);
	for (size_t i = 0; i < info->n_alarms; i++)
		(void) fprintf(out, "alarm     %s of member %" PRIx64 "\n",
		               alarm_name(info->alarms[i].kind), info->alarms[i].member_id);
}

/* --- for programs --- */

static json_t *hex_id(uint64_t id)
{
	char text[17];

	(void) snprintf(text, sizeof(text), "%" PRIx64, id);
	return json_string(text);
}

static json_t *urls(char *const *texts, size_t n)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++)
		(void) json_array_append_new(array, jsonval_text(texts[i]));
	return array;
}

static json_t *describe_members(const struct dbinfo *info)
{
	json_t *array = json_array();

	for (size_t i = 0; i < info->n_members; i++) {
		const struct dbinfo_member *m = &info->members[i];

		(void) json_array_append_new(
		    array, json_pack("{s:o, s:o, s:o, s:o, s:b}", "id", hex_id(m->id), "name",
		                     jsonval_text(m->name), "peer_urls", urls(m->peer_urls, m->n_peer_urls),
		                     "client_urls", urls(m->client_urls, m->n_client_urls), "learner",
		                     m->is_learner));
	}
	return array;
}

static json_t *describe_alarms(const struct dbinfo *info)
{
	json_t *array = json_array();

	for (size_t i = 0; i < info->n_alarms; i++)
		(void) json_array_append_new(array, json_pack("{s:o, s:s}", "member",
		                                              hex_id(info->alarms[i].member_id), "alarm",
		                                              alarm_name(info->alarms[i].kind)));
	return array;
}

/* null: none */
static json_t *compact_revision(int64_t revision)
{
	return revision < 0 ? json_null() : json_integer(revision);
}

/* The first five are those of etcdutl. */
static json_t *describe(const struct report *report)
{
	const struct snapshot_content *c = &report->content;
	const struct dbinfo *info = report->info;
	json_t *object =
	    json_pack("{s:I, s:I, s:I, s:I, s:s}", "hash", (json_int_t) c->hash, "revision",
	              (json_int_t) c->revision, "totalKey", (json_int_t) c->n_entries, "totalSize",
	              (json_int_t) c->n_bytes, "version", info->storage_version);
	json_t *more = json_pack(
	    "{s:I, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:o, s:o, s:I, s:b, s:I, s:I}",
	    "current_revision", (json_int_t) c->reach.current, "compact_revision",
	    compact_revision(c->reach.compacted), "finished_compact_revision",
	    compact_revision(c->reach.finished), "hashkv", (json_int_t) c->hashkv.hash,
	    "hashkv_revision", (json_int_t) c->hashkv.revision, "live_keys",
	    (json_int_t) c->hashkv.n_live, "pages", (json_int_t) c->pages.n_pages, "free_pages",
	    (json_int_t) c->pages.n_free, "consistent_index", (json_int_t) info->consistent_index,
	    "term", (json_int_t) info->term, "cluster_version", info->cluster_version, "members",
	    describe_members(info), "alarms", describe_alarms(info), "leases",
	    (json_int_t) info->n_leases, "auth_enabled", info->auth_is_enabled, "users",
	    (json_int_t) info->n_users, "roles", (json_int_t) info->n_roles);

	(void) json_object_update_new(object, more);
	return object;
}

/* Takes the object. */
static void print_new(const struct cli *cli, json_t *object)
{
	cli_print(cli, object);
	json_decref(object);
}

/* --- the commands --- */

/* For a program; only what is about the snapshot. */
static void print_refused(const struct cli *cli, const struct etcd_file *file)
{
	if (cli->output != CLI_TABLE && file->fault.what[0] != '\0')
		print_new(cli, json_pack("{s:o, s:b, s:o, s:s}", "file", jsonval_text(file->path),
		                         "verified", 0, "page",
		                         file->fault.page == BOLT_NO_PAGE
		                             ? json_null()
		                             : json_integer((json_int_t) file->fault.page),
		                         "reason", file->fault.what));
}

/* With its id in the catalogue, if it has one. Takes the object. */
static void print_of(const struct cli *cli, const struct etcd_file *file, json_t *object)
{
	if (file->id != NULL)
		(void) json_object_set_new(object, "id", jsonval_text(file->id));
	print_new(cli, object);
}

static int check_digest(const struct cli *cli, struct etcd_file *file, struct report *report)
{
	int r;

	if (cli->no_digest) {
		report->digest = snapshot_has_digest(file->snapshot) ? "not checked" : "none";
		return 0;
	}
	r = snapshot_check_digest(file->snapshot);
	if (r == -ENODATA)
		(void) snprintf(file->fault.what, sizeof(file->fault.what),
		                "it does not end with a digest: it was cut off, or is no snapshot but a "
		                "database from a data directory (then: --no-digest)");
	report->digest = "ok";
	return r;
}

int cli_etcd_snapshot_verify(const struct cli *cli, int argc UNUSED, char **argv)
{
	struct report report = {0};
	struct etcd_file file;
	int r = 0, code = etcd_file_find(cli, argv[0], &file);

	if (code == CLI_OK) {
		etcd_file_show_progress(&file);
		r = check_digest(cli, &file, &report);
		if (r >= 0)
			r = read_report(&file, cli->revision, &report);
		if (r < 0)
			code = etcd_file_explain(&file, r);
	}
	if (code != CLI_OK) {
		print_refused(cli, &file);
	} else if (cli->output != CLI_TABLE) {
		json_t *object = json_pack("{s:o, s:b, s:s}", "file", jsonval_text(file.path), "verified",
		                           1, "digest", report.digest);

		(void) json_object_update_new(object, describe(&report));
		print_of(cli, &file, object);
	} else {
		print_verified(stdout, file.path, &report);
	}
	dbinfo_free(report.info);
	etcd_file_fini(&file);
	return code != CLI_OK ? code : etcd_flush();
}

int cli_etcd_snapshot_status(const struct cli *cli, int argc UNUSED, char **argv)
{
	struct report report = {0};
	struct etcd_file file;
	int r, code;

	code = etcd_file_find(cli, argv[0], &file);
	if (code != CLI_OK) {
		etcd_file_fini(&file);
		return code;
	}
	etcd_file_show_progress(&file);
	/* Its one line needs no HashKV. */
	r = read_report(&file, cli->output != CLI_TABLE ? 0 : SNAPSHOT_NO_HASHKV, &report);
	if (r < 0)
		code = etcd_file_explain(&file, r);
	else if (cli->output != CLI_TABLE)
		print_of(cli, &file, describe(&report));
	else
		print_status(stdout, &report);
	dbinfo_free(report.info);
	etcd_file_fini(&file);
	return code != CLI_OK ? code : etcd_flush();
}
