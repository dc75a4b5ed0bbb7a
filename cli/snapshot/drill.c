/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `etcd drill`: etcdwatch is asked for one, or, of a file, the worker is run here. What is under
 * way is shown as it goes on, on standard error, so that the output is what was found.
 */
#include "cli/snapshot/drill.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mono.h"
#include "cli/common/cli.h"
#include "cli/common/table.h"
#include "cli/common/fields.h"
#include "cli/common/progress.h"
#include "cli/common/worker.h"
#include "cli/snapshot/file.h"

/* --- drill_render --- */

/* Fields that are missing show as "-", as a CLI and a daemon of different versions get along. */

void drill_render_phase(FILE *out, const json_t *object)
{
	const char *phase = field_text(object, "phase");

	if (phase == NULL)
		return;
	table_line(out, "%s ...", phase);
	(void) fflush(out);
}

/* --- the result --- */

static void number_cell(struct table *table, const json_t *check, const char *key)
{
	if (json_is_integer(json_object_get(check, key)))
		table_cell(table, "%lld", (long long) field_integer(check, key));
	else
		table_cell(table, "-");
}

static void print_checks(FILE *out, const json_t *checks)
{
	static const struct table_column columns[] = {
	    {"CHECK", TABLE_LEFT},
	    {"WANTED", TABLE_RIGHT},
	    {"FOUND", TABLE_RIGHT},
	    {"", TABLE_STATE},
	};
	AUTO(table_free) struct table *table = table_new(columns, ARRAY_SIZE(columns));
	const json_t *check;
	size_t i;

	json_array_foreach(checks, i, check)
	{
		table_cell(table, "%s", field_text_or_dash(check, "check"));
		number_cell(table, check, "wanted");
		number_cell(table, check, "found");
		table_cell(table, "%s", field_is_true(check, "ok") ? "ok" : "DIFFERS");
	}
	table_print(table, out);
}

static double seconds(json_int_t ms)
{
	return (double) ms / 1000;
}

static void print_phases(FILE *out, json_t *phases, json_int_t took_ms)
{
	const char *name, *before = ": ";
	json_t *ms;

	(void) fprintf(out, "took %.1f s", seconds(took_ms));
	json_object_foreach(phases, name, ms)
	{
		(void) fputs(before, out);
		table_print_safe(out, name);
		(void) fprintf(out, " %.1f", seconds(json_integer_value(ms)));
		before = ", ";
	}
	(void) fputc('\n', out);
}

static void print_versions(FILE *out, json_t *versions)
{
	const char *of, *before = "";
	json_t *version;

	json_object_foreach(versions, of, version)
	{
		(void) fputs(before, out);
		table_print_safe(out, of);
		(void) fputc(' ', out);
		table_print_safe(out, field_text_or_dash(versions, of));
		before = ", ";
	}
	if (before[0] != '\0')
		(void) fputc('\n', out);
}

void drill_render_result(FILE *out, const json_t *object)
{
	const json_t *checks = json_object_get(object, "checks");

	if (!json_is_array(checks))
		return;
	if (json_array_size(checks) > 0)
		print_checks(out, checks);
	print_phases(out, json_object_get(object, "phases"), field_integer(object, "took_ms"));
	print_versions(out, json_object_get(object, "versions"));
}

/* --- in the status --- */

static void begin_note(FILE *out, const json_t *job)
{
	color_print_state(out, "warning: ");
	table_print_safe(out, field_text_or_dash(job, "job"));
}

void drill_render_notes(FILE *out, const json_t *job)
{
	const json_t *drill = json_object_get(job, "drill");
	char age[FIELD_AGE_MAX];

	if (field_is_true(drill, "failed")) {
		begin_note(out, job);
		table_line(out, ": the last drill failed: %s", field_text_or_dash(drill, "reason"));
	}
	if (!field_is_true(drill, "overdue"))
		return;
	begin_note(out, job);
	if (json_is_integer(json_object_get(drill, "last_good_age_s")))
		(void) fprintf(
		    out, ": a drill is overdue: the last good one was %s ago\n",
		    field_age((int64_t) field_integer(drill, "last_good_age_s") * US_PER_S, age));
	else
		(void) fputs(": a drill is overdue: none has gone well so far\n", out);
}

/* --- drill --- */

#define DAEMON "etcdwatch"
/* The longest that a job's drill may take, and the snapshot that it may have to wait for. */
#define TIMEOUT_US (25 * 3600 * US_PER_S)
#define SCRATCH "/var/tmp/fairlead-drill-XXXXXX"

struct drilling {
	struct cli cli;
	const char *job;
	const char *file;
	bool has_directory;
	struct texts words; /* of the worker */
	struct progress *progress;
};

static void show(const json_t *object, void *userdata)
{
	const struct drilling *d = userdata;

	if (d->cli.output != CLI_TABLE) {
		cli_print(&d->cli, object);
		(void) fflush(stdout);
		return;
	}
	if (progress_show_told(d->progress, object))
		return;
	progress_clear();
	progress_anew(d->progress);
	drill_render_phase(stderr, object);
	drill_render_result(stdout, object);
}

static void show_told(const json_t *object, int fd UNUSED, void *userdata)
{
	show(object, userdata);
}

/* --- the two ways --- */

static int ask_daemon(struct drilling *d)
{
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	const char *words[4] = {"etcd", "drill"};
	size_t n = 2;

	if (d->job != NULL)
		words[n++] = d->job;
	if (progress_is_seen(d->progress))
		words[n++] = "--progress";
	return cli_ask_each(&d->cli, DAEMON, words, n, TIMEOUT_US, show_told, d, &answer);
}

static int run_worker(struct drilling *d)
{
	char scratch[] = SCRATCH;
	int code;

	if (!d->has_directory) {
		if (mkdtemp(scratch) == NULL)
			return cli_fail("cannot make a directory in /var/tmp: %s", strerror(errno));
		texts_add(&d->words, "--directory");
		texts_add(&d->words, "%s", scratch);
	}
	texts_add(&d->words, "--");
	texts_add(&d->words, "%s", d->file);
	code = worker_run_telling(&d->words, show, d);
	/* The worker does it, if it came so far. */
	if (!d->has_directory)
		(void) rmdir(scratch);
	return code;
}

/* --- the command line --- */

static int refuse(const char *what)
{
	(void) fprintf(stderr, "fairlead: %s\n", what);
	return CLI_USAGE;
}

static int set_of_worker(void *into, const struct cli_option *option, const char *value)
{
	struct drilling *d = into;

	d->has_directory = d->has_directory || strcmp(option->name, "directory") == 0;
	texts_add(&d->words, "--%s", option->name);
	if (value != NULL)
		texts_add(&d->words, "%s", value);
	return CLI_OK;
}

#define OF_WORKER .set = set_of_worker
const struct cli_option cli_etcd_drill_options[] = {
    {"file", .value = "FILE", .help = "a snapshot, packed or not", .completes = CLI_FILES,
     .set = cli_set_text, .offset = offsetof(struct drilling, file)},
    {"catalog", .value = "FILE",
     .help = "its entry, which lies beside it; else it is compared with\nitself",
     .completes = CLI_FILES, OF_WORKER},
    {"identity", .value = "FILE", .help = "to decrypt it with (age); may be repeated",
     .completes = CLI_FILES, OF_WORKER},
    {"plain", .help = "it need not be encrypted, though an identity is given", OF_WORKER},
    {"trust", .value = "KEY",
     .help = "a public key that its entry must be signed by; may be repeated", OF_WORKER},
    {"directory", .value = "DIR", .help = "for what is restored; else one in /var/tmp",
     .completes = CLI_DIRECTORIES, OF_WORKER},
    {"etcd", .value = "PATH", .help = "the program; else the one in PATH", .completes = CLI_FILES,
     OF_WORKER},
    {"etcdutl", .value = "PATH", .help = "what restores, etcdutl or etcdctl; else the one in PATH",
     .completes = CLI_FILES, OF_WORKER},
    {"timeout", .value = "SECONDS", .help = "how long it may take; else 600", OF_WORKER},
    {0},
};

static int parse(struct drilling *d, int argc, char **argv)
{
	int code;

	texts_add(&d->words, "drill");
	code = cli_set_own(&d->cli, d);
	if (code != CLI_OK)
		return code;
	if (argc > 0 && d->file != NULL)
		return refuse("name one job, or one file with --file");
	if (d->file == NULL && d->words.n > 1)
		return refuse("this option is for a file: a job's drills are configured");
	d->job = argc > 0 ? argv[0] : NULL;
	return CLI_OK;
}

int cli_etcd_drill(const struct cli *cli, int argc, char **argv)
{
	struct drilling d = {.cli = *cli, .progress = progress_new(cli->output == CLI_TABLE)};
	int code = parse(&d, argc, argv);

	if (code != CLI_OK)
		(void) fputs("fairlead etcd drill --help lists the options.\n", stderr);
	else
		code = d.file != NULL ? run_worker(&d) : ask_daemon(&d);
	texts_fini(&d.words);
	progress_free(d.progress);
	return code != CLI_OK ? code : etcd_flush();
}
