/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that talk to etcdwatch. */
#include "cli/snapshot/jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/fields.h"
#include "cli/common/progress.h"
#include "cli/common/table.h"
#include "cli/snapshot/jobs_render.h"

/* --- save --- */

/* The copy grows with the daemon's file, and each piece of it is read back. */

/* What the processor's cache keeps until it is read back. */
#define PIECE_BYTES ((size_t) 256 << 10)
#define FLUSH_BYTES (16 << 20)
#define NICE 10
#define FILE_MODE 0600 /* it holds all secrets of the cluster */

static int explain(const char *what, const char *path, int r)
{
	progress_clear();
	(void) fprintf(stderr, "fairlead: cannot %s ", what);
	table_print_safe(stderr, path);
	(void) fprintf(stderr, ": %s\n", strerror(-r));
	return r == -EACCES || r == -EPERM ? CLI_DENIED : CLI_FAILED;
}

static int explain_fault(const struct save_file *file)
{
	progress_clear();
	(void) fputs("fairlead: ", stderr);
	table_print_safe(stderr, file->temporary);
	(void) fprintf(stderr, ": %s\n", file->fault.what);
	return CLI_FAILED;
}

static void finish(struct save_file *file, int code)
{
	file->code = code;
	(void) close(TAKE_FD(file->fd));
}

void save_file_init(struct save_file *file, const char *path)
{
	*file = (struct save_file){.path = path, .fd = -1};
}

/* The stream goes first: it holds a transaction of the member open. */
static void give_way(struct save_file *file)
{
	file->priority = getpriority(PRIO_PROCESS, 0);
	(void) setpriority(PRIO_PROCESS, 0, file->priority + NICE);
}

void save_file_begin(struct save_file *file)
{
	give_way(file);
	file->temporary = xasprintf("%s.part-%d", file->path, (int) getpid());
	file->sum = snapshot_sum_new(&file->fault);
	file->fd = open(file->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
	if (file->fd < 0)
		file->code = explain("make", file->temporary, -errno);
}

/* The descriptor's offset is the daemon's too. */
void save_file_copy(struct save_file *file, int fd)
{
	while (file->fd >= 0) {
		off_t offset = file->bytes;
		ssize_t n = sendfile(file->fd, fd, &offset, PIECE_BYTES);

		if (n == 0)
			return;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			finish(file, explain("write", file->temporary, -errno));
			return;
		}
		/* The disk is to work meanwhile. */
		if (file->bytes / FLUSH_BYTES != offset / FLUSH_BYTES)
			(void) sync_file_range(file->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
		file->bytes = offset;
		if (snapshot_sum_add(file->sum, file->fd, (uint64_t) file->bytes) < 0)
			finish(file, explain_fault(file));
	}
}

void save_file_end(struct save_file *file, int fd)
{
	(void) setpriority(PRIO_PROCESS, 0, file->priority);
	save_file_copy(file, fd);
	if (file->fd < 0)
		return;
	if (snapshot_sum_check(file->sum, file->fd, (uint64_t) file->bytes) < 0)
		finish(file, explain_fault(file));
	else
		finish(file, fsync(file->fd) < 0 ? explain("write", file->temporary, -errno) : CLI_OK);
}

static int give_name(const char *from, const char *to)
{
	AUTO(free) char *directory = xstrdup(to);
	char *slash = strrchr(directory, '/');
	AUTO(close) int fd = -1;

	if (rename(from, to) < 0)
		return explain("make", to, -errno);
	if (slash != NULL)
		slash[slash == directory] = '\0';
	fd = open(slash != NULL ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 || fsync(fd) < 0 ? explain("sync the directory of", to, -errno) : CLI_OK;
}

static void print(const json_t *entry, const char *path, off_t bytes)
{
	(void) fputs("etcd snapshot saved to \"", stdout);
	table_print_safe(stdout, path);
	(void) printf("\" (%lld bytes)\n", (long long) bytes);
	(void) printf("snapshot info: hash %08" PRIx32 ", revision %lld, total keys %lld, "
	              "total size %lld\n",
	              (uint32_t) field_integer(entry, "hash"),
	              (long long) field_integer(entry, "revision"),
	              (long long) field_integer(entry, "total_key"),
	              (long long) field_integer(entry, "db_bytes"));
}

int save_file_keep(struct save_file *file, const struct cli *cli, const json_t *entry)
{
	int code = file->code;

	if (file->temporary == NULL || entry == NULL)
		return cli_fail("the snapshot was taken and kept, but etcdwatch cannot hand it "
		                "over: is it of another version?");
	if (code == CLI_OK && file->bytes != field_integer(entry, "db_bytes") + SNAPSHOT_DIGEST_BYTES)
		code = explain("use", file->temporary, -EBADMSG);
	if (code == CLI_OK)
		code = give_name(file->temporary, file->path);
	if (code != CLI_OK)
		return code;
	free(TAKE_PTR(file->temporary));
	if (cli->output == CLI_TABLE)
		print(entry, file->path, file->bytes);
	return CLI_OK;
}

void save_file_fini(struct save_file *file)
{
	if (file->fd >= 0)
		(void) close(file->fd);
	if (file->temporary != NULL)
		(void) unlink(file->temporary);
	free(file->temporary);
	snapshot_sum_free(file->sum);
}

/* --- jobs --- */

#define DAEMON "etcdwatch"
/* A large database over a slow disk; the answer comes when the snapshot is proven. */
#define SAVE_TIMEOUT_US (1800 * US_PER_S)
/* Targets may be slow. */
#define TARGETS_TIMEOUT_US (600 * US_PER_S)
#define LIST_TIMEOUT_US (60 * US_PER_S)
#define WORDS_MAX 8

struct words {
	const char *items[WORDS_MAX];
	size_t n;
};

static void add(struct words *words, const char *word)
{
	words->items[words->n++] = word;
}

static struct words begin(const char *verb)
{
	struct words words = {.n = 0};

	add(&words, "etcd");
	add(&words, "snapshot");
	add(&words, verb);
	return words;
}

static void collect(const json_t *object, int fd UNUSED, void *userdata)
{
	(void) json_array_append_new(userdata, json_deep_copy(object));
}

static void print_objects(const struct cli *cli, const json_t *objects)
{
	const json_t *object;
	size_t i;

	json_array_foreach(objects, i, object) cli_print(cli, object);
}

/* Also what was done before it failed is printed. */
static int ask_and_render(const struct cli *cli, const struct words *words, int64_t timeout_us,
                          cli_render_fn render)
{
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	json_t *objects = json_array();
	int code =
	    cli_ask_each(cli, DAEMON, words->items, words->n, timeout_us, collect, objects, &answer);

	if (cli->output != CLI_TABLE)
		print_objects(cli, objects);
	else if (code == CLI_OK || json_array_size(objects) > 0)
		render(stdout, objects, wall_now_us());
	json_decref(objects);
	return code;
}

int cli_etcd_snapshot_list(const struct cli *cli, int argc, char **argv)
{
	struct words words = begin("list");

	if (argc > 0)
		add(&words, argv[0]);
	if (cli->local)
		add(&words, "--local");
	return ask_and_render(cli, &words, LIST_TIMEOUT_US, etcdwatch_render_list);
}

int cli_etcd_snapshot_delete(const struct cli *cli, int argc UNUSED, char **argv)
{
	struct words words = begin("delete");

	if (cli->local && cli->target != NULL) {
		(void) fputs("fairlead: --local and --target are two places: name one\n", stderr);
		return CLI_USAGE;
	}
	add(&words, argv[0]);
	if (cli->local)
		add(&words, "--local");
	if (cli->target != NULL) {
		add(&words, "--target");
		add(&words, cli->target);
	}
	if (cli->force)
		add(&words, "--force");
	return ask_and_render(cli, &words, TARGETS_TIMEOUT_US, etcdwatch_render_deleted);
}

int cli_etcd_snapshot_prune(const struct cli *cli, int argc, char **argv)
{
	struct words words = begin("prune");

	if (argc > 0)
		add(&words, argv[0]);
	if (cli->dry_run)
		add(&words, "--dry-run");
	return ask_and_render(cli, &words, TARGETS_TIMEOUT_US, etcdwatch_render_prune);
}

int cli_etcd_snapshot_accept(const struct cli *cli, int argc, char **argv)
{
	struct words words = begin("accept");

	if (argc > 0)
		add(&words, argv[0]);
	return ask_and_render(cli, &words, LIST_TIMEOUT_US, etcdwatch_render_accepted);
}

int cli_etcd_snapshot_take_over(const struct cli *cli, int argc, char **argv)
{
	struct words words = begin("take-over");

	for (int i = 0; i < argc; i++)
		add(&words, argv[i]);
	return ask_and_render(cli, &words, TARGETS_TIMEOUT_US, etcdwatch_render_taken_over);
}

/* --- saving --- */

/* No job's name has one of these. */
static bool is_file(const char *word)
{
	return strpbrk(word, "/.") != NULL;
}

/* [JOB] [FILE]; false: it is neither. */
static bool take_words(int argc, char **argv, const char **ret_job, const char **ret_file)
{
	for (int i = 0; i < argc; i++) {
		const char **slot = is_file(argv[i]) ? ret_file : ret_job;

		if (*slot != NULL || (slot == ret_job && *ret_file != NULL))
			return false;
		*slot = argv[i];
	}
	return true;
}

struct saving {
	struct progress *progress;
	const char *path;      /* NULL: no file is wanted */
	struct save_file file; /* of that path */
};

/* It is copied while etcdwatch takes and proves it. */
static void watch_save(const json_t *object, int fd, void *userdata)
{
	struct saving *s = userdata;
	const char *step = json_string_value(json_object_get(object, "progress"));

	if (s->path != NULL && fd >= 0 && s->file.temporary == NULL)
		save_file_begin(&s->file);
	if (object == NULL)
		save_file_copy(&s->file, fd);
	else if (s->file.temporary != NULL && step != NULL && strcmp(step, "taken") == 0)
		save_file_end(&s->file, fd);
	else
		(void) progress_show_told(s->progress, object);
}

/* The snapshot, behind what was told of the way to it. */
static const json_t *entry_of(const struct client_answer *answer)
{
	return json_array_get(answer->objects, MAX(json_array_size(answer->objects), 1) - 1);
}

int cli_etcd_snapshot_save(const struct cli *cli, int argc, char **argv)
{
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	AUTO(progress_free) struct progress *progress = progress_new(cli->output == CLI_TABLE);
	struct saving saving = {.progress = progress};
	struct words words = begin("save");
	const char *job = NULL;
	int code;

	if (!take_words(argc, argv, &job, &saving.path)) {
		(void) fputs("fairlead: a job and then a file, which has a '/' or a '.' in its name\n",
		             stderr);
		return CLI_USAGE;
	}
	save_file_init(&saving.file, saving.path);
	if (job != NULL)
		add(&words, job);
	if (saving.path != NULL)
		add(&words, "--plain");
	if (progress_is_seen(progress))
		add(&words, "--progress");
	code = cli_ask_each(cli, DAEMON, words.items, words.n, SAVE_TIMEOUT_US, watch_save, &saving,
	                    &answer);
	if (code == CLI_OK && saving.path != NULL)
		code = save_file_keep(&saving.file, cli, entry_of(answer));
	else if (code == CLI_OK && cli->output == CLI_TABLE)
		etcdwatch_render_list(stdout, answer->objects, wall_now_us());
	save_file_fini(&saving.file);
	if (code == CLI_OK && cli->output != CLI_TABLE)
		cli_print(cli, entry_of(answer));
	return code;
}
