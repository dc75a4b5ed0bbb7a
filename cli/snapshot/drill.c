/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `etcd drill`: etcdwatch is asked for one, or, of a file, the worker is run here. What is under
 * way is shown as it goes on, on standard error, so that the output is what was found.
 */
#include "cli/cli.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mono.h"
#include "cli/snapshot/drill_render.h"
#include "cli/snapshot/file.h"
#include "cli/common/worker.h"

#define DAEMON "etcdwatch"
/* The longest that a job's drill may take, and the snapshot that it may have to wait for. */
#define TIMEOUT_US (25 * 3600 * US_PER_S)
#define SCRATCH "/var/tmp/fairlead-drill-XXXXXX"

static const char help[] =
    "Usage: fairlead etcd drill [JOB]\n"
    "       fairlead etcd drill --file FILE [OPTION]...\n"
    "Rehearse coming back: restore a snapshot, start a real etcd on it where nobody can reach\n"
    "it, and compare. Of a job of etcdwatch, the newest one; or of a file, without any daemon.\n\n"
    "Options, for a file:\n"
    "      --catalog FILE          its entry, which lies beside it; else it is compared with\n"
    "                              itself\n"
    "      --identity FILE         to decrypt it with (age); may be repeated\n"
    "      --directory DIR         for what is restored; else one in /var/tmp\n"
    "      --etcd PATH             the program; else the one in PATH\n"
    "      --etcdutl PATH          what restores, etcdutl or etcdctl; else the one in PATH\n"
    "      --timeout SECONDS       how long it may take; else 600\n"
    "  -o, --output FORMAT         table (the default) or json\n";

enum {
	OPTION_FILE = 256,
	OPTION_OF_WORKER,
};

static const struct option options[] = {
    {"file", required_argument, NULL, OPTION_FILE},
    {"catalog", required_argument, NULL, OPTION_OF_WORKER},
    {"identity", required_argument, NULL, OPTION_OF_WORKER},
    {"directory", required_argument, NULL, OPTION_OF_WORKER},
    {"etcd", required_argument, NULL, OPTION_OF_WORKER},
    {"etcdutl", required_argument, NULL, OPTION_OF_WORKER},
    {"timeout", required_argument, NULL, OPTION_OF_WORKER},
    {"output", required_argument, NULL, 'o'},
    {"help", no_argument, NULL, 'h'},
    {0},
};

struct drilling {
	struct cli cli;
	const char *job;
	const char *file;
	bool has_directory;
	bool help;
	struct texts words; /* of the worker */
};

static void show(const json_t *object, void *userdata)
{
	const struct drilling *d = userdata;

	if (d->cli.output == CLI_JSON) {
		(void) json_dumpf(object, stdout, JSON_COMPACT);
		(void) putchar('\n');
		(void) fflush(stdout);
		return;
	}
	drill_render_phase(stderr, object);
	drill_render_result(stdout, object);
}

/* --- the two ways ----------------------------------------------------------------------------- */

static int ask_daemon(struct drilling *d)
{
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	const char *words[] = {"etcd", "drill", d->job};

	return cli_ask_each(&d->cli, DAEMON, words, d->job != NULL ? 3 : 2, TIMEOUT_US, show, d,
	                    &answer);
}

static int run_worker(struct drilling *d)
{
	char scratch[] = SCRATCH;
	int code;

	if (!d->has_directory) {
		if (mkdtemp(scratch) == NULL) {
			(void) fprintf(stderr, "fairlead: cannot make a directory in /var/tmp: %s\n",
			               strerror(errno));
			return CLI_FAILED;
		}
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

/* --- the command line ------------------------------------------------------------------------- */

static int refuse(const char *what)
{
	(void) fprintf(stderr, "fairlead: %s\n", what);
	return CLI_USAGE;
}

static int take_option(struct drilling *d, int c, int index)
{
	switch (c) {
	case 'h':
		d->help = true;
		return CLI_OK;
	case 'o':
		return cli_set_output(&d->cli, optarg, false);
	case OPTION_FILE:
		d->file = optarg;
		return CLI_OK;
	case OPTION_OF_WORKER:
		d->has_directory = d->has_directory || strcmp(options[index].name, "directory") == 0;
		texts_add(&d->words, "--%s", options[index].name);
		texts_add(&d->words, "%s", optarg);
		return CLI_OK;
	default:
		return CLI_USAGE;
	}
}

static int parse(struct drilling *d, int argc, char **argv)
{
	static char name[] = "fairlead"; /* begins what getopt says */
	int c, index = 0, code = CLI_OK;

	texts_add(&d->words, "drill");
	argv[0] = name;
	optind = 0; /* anew */
	while (code == CLI_OK && (c = getopt_long(argc, argv, "o:h", options, &index)) != -1)
		code = take_option(d, c, index);
	if (code != CLI_OK || d->help)
		return code;
	if (argc - optind > (d->file == NULL ? 1 : 0))
		return refuse("name one job, or one file with --file");
	if (d->file == NULL && d->words.n > 1)
		return refuse("this option is for a file: a job's drills are configured");
	d->job = argv[optind];
	return CLI_OK;
}

int cli_etcd_drill(const struct cli *cli, int argc, char **argv)
{
	struct drilling d = {.cli = *cli};
	int code = parse(&d, argc, argv);

	if (code != CLI_OK)
		(void) fputs("fairlead etcd drill --help lists the options.\n", stderr);
	else if (d.help)
		(void) fputs(help, stdout);
	else
		code = d.file != NULL ? run_worker(&d) : ask_daemon(&d);
	texts_fini(&d.words);
	return code != CLI_OK ? code : etcd_flush();
}
