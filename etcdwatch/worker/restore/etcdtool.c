/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the program, its version, and the arguments of the one command that is used of it. It
 * runs as a stage without input (filter.h), so it is bounded in time and dies with this process.
 */
#include "etcdwatch/worker/restore/etcdtool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/worker/common/filter.h"
#include "etcdwatch/worker/common/sink.h"
#include "etcdwatch/worker/common/result.h"

#define CODE "ETCDTOOL"
#define MISSING_CODE "ETCDTOOL_MISSING"
#define VERSION_LIMIT_MS 20000
#define VERSION_TEXT_MAX 512
#define ARGS_MAX 24
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

struct etcdtool {
	char *path;
	char *says; /* the first line of its answer */
	struct etcdtool_info info;
};

/* --- running --- */

/* The program says nothing of how far it is; the database that it makes grows. */
struct growth {
	char *db;
	struct pace pace;
};

static void tell_growth(void *userdata)
{
	struct growth *g = userdata;
	struct stat st;

	if (stat(g->db, &st) == 0)
		pace_tell(&g->pace, MIN((uint64_t) st.st_size, g->pace.of_bytes));
}

/* `out` gets what it prints. `growth`: what is told meanwhile, or NULL. */
static int run(const char *const *argv, unsigned limit_ms, struct growth *growth, struct sink *out,
               struct problem *problem)
{
	const struct filter_program program = {
	    .argv = argv,
	    .extra_fd = -1,
	    .stall_ms = limit_ms,
	    .limit_ms = limit_ms,
	    .last_words = true,
	    .look = growth != NULL ? tell_growth : NULL,
	    .userdata = growth,
	    .code = CODE,
	    .missing_code = MISSING_CODE,
	};
	AUTO(sink_free) struct sink *filter = NULL;
	int r;

	/* etcdctl of 3.4 has the restore of etcd 2 as well. */
	(void) setenv("ETCDCTL_API", "3", 1);
	r = filter_new(&program, out, problem, &filter);
	return r < 0 ? r : sink_finish(filter);
}

/* --- the version --- */

/* Which versions have got --bump-revision. */
static bool has_bump(const struct etcdtool_info *info)
{
	if (info->major != 3)
		return info->major > 3;
	switch (info->minor) {
	case 4:
		return info->patch >= 27;
	case 5:
		return info->patch >= 10;
	default:
		return info->minor > 5;
	}
}

int etcdtool_parse_version(const char *text, struct etcdtool_info *ret_info)
{
	static const struct {
		const char *mark;
		enum etcdtool_kind kind;
	} kinds[] = {
	    {"etcdutl version: ", ETCDTOOL_ETCDUTL},
	    {"etcdctl version: ", ETCDTOOL_ETCDCTL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		size_t len = strlen(kinds[i].mark);
		struct etcdtool_info info = {.kind = kinds[i].kind};

		if (strncmp(text, kinds[i].mark, len) != 0 ||
		    sscanf(text + len, "%4u.%4u.%4u", &info.major, &info.minor, &info.patch) != 3)
			continue;
		info.can_restore = info.kind == ETCDTOOL_ETCDUTL || (info.major == 3 && info.minor < 6);
		info.can_bump = has_bump(&info);
		info.can_skip_hash_check = info.can_restore;
		*ret_info = info;
		return 0;
	}
	return -EBADMSG;
}

static int ask_version(struct etcdtool *tool, struct problem *problem)
{
	const char *const argv[] = {tool->path, "version", NULL};
	char text[VERSION_TEXT_MAX] = "";
	struct memsink memory;
	int r;

	memsink_init(&memory, text, sizeof(text));
	r = run(argv, VERSION_LIMIT_MS, NULL, &memory.sink, problem);
	if (r < 0)
		return problem_set_errno(problem, r, "cannot ask '%s' for its version", tool->path);
	tool->says = xstrndup(text, strcspn(text, "\n"));
	return 0;
}

static int read_version(struct etcdtool *tool, struct problem *problem)
{
	int r = etcdtool_parse_version(tool->says, &tool->info);

	if (r < 0)
		return problem_set(problem, r, CODE,
		                   "'%s' is not etcdutl or etcdctl: asked for its version it says '%.60s'",
		                   tool->path, tool->says);
	if (!tool->info.can_restore)
		return problem_set(problem, -ENOTSUP, CODE,
		                   "'%s' of etcd %u.%u cannot restore any more: that is etcdutl's work now",
		                   tool->path, tool->info.major, tool->info.minor);
	return 0;
}

/* --- finding --- */

char *etcdtool_look_up(const char *name)
{
	const char *path = getenv("PATH");
	const char *p = path != NULL && path[0] != '\0' ? path : DEFAULT_PATH;

	while (*p != '\0') {
		size_t len = strcspn(p, ":");
		AUTO(free) char *file = xasprintf("%.*s/%s", (int) len, p, name);

		/* Where an empty part means the directory that one happens to be in, it is left out. */
		if (len > 0 && access(file, X_OK) == 0)
			return TAKE_PTR(file);
		p += len + (p[len] == ':' ? 1 : 0);
	}
	return NULL;
}

/* Takes the path. */
static int open_tool(char *path, const char *says, struct problem *problem,
                     struct etcdtool **ret_tool)
{
	AUTO(etcdtool_free) struct etcdtool *tool = NEW0(struct etcdtool);
	int r = 0;

	tool->path = path;
	if (says != NULL)
		tool->says = xstrdup(says);
	else
		r = ask_version(tool, problem);
	if (r == 0)
		r = read_version(tool, problem);
	if (r < 0)
		return r;
	*ret_tool = TAKE_PTR(tool);
	return 0;
}

int etcdtool_find(const char *path, const char *says, struct problem *problem,
                  struct etcdtool **ret_tool)
{
	static const char *const names[] = {"etcdutl", "etcdctl"};

	if (path != NULL)
		return open_tool(xstrdup(path), says, problem, ret_tool);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char *found = etcdtool_look_up(names[i]);

		if (found != NULL)
			return open_tool(found, NULL, problem, ret_tool);
	}
	return problem_set(problem, -ENOENT, MISSING_CODE,
	                   "neither etcdutl nor etcdctl is in the PATH: install the one that belongs "
	                   "to your etcd (etcdutl from 3.5 on), or name it");
}

void etcdtool_free(struct etcdtool *tool)
{
	if (tool == NULL)
		return;
	free(tool->path);
	free(tool->says);
	free(tool);
}

const char *etcdtool_path(const struct etcdtool *tool)
{
	return tool->path;
}

const char *etcdtool_says(const struct etcdtool *tool)
{
	return tool->says;
}

const struct etcdtool_info *etcdtool_info(const struct etcdtool *tool)
{
	return &tool->info;
}

/* --- restore --- */

struct args {
	const char *words[ARGS_MAX];
	size_t n;
};

static void add(struct args *args, const char *option, const char *value)
{
	args->words[args->n++] = option;
	if (value != NULL)
		args->words[args->n++] = value;
}

int etcdtool_restore(const struct etcdtool *tool, const struct etcdtool_restore *restore,
                     struct problem *problem)
{
	struct args args = {.words = {tool->path, "snapshot", "restore"}, .n = 3};
	AUTO(free) char *db = xasprintf("%s/member/snap/db", restore->data_dir);
	struct growth growth = {.db = db};
	struct tap_result said = {0};
	struct stat st = {0};
	char bump[24];

	if (restore->bump_revision > 0 && !tool->info.can_bump)
		return problem_set(problem, -ENOTSUP, "USAGE",
		                   "'%s' of etcd %u.%u.%u cannot raise the revision: that came with 3.4.27 "
		                   "and 3.5.10",
		                   tool->path, tool->info.major, tool->info.minor, tool->info.patch);
	add(&args, "--data-dir", restore->data_dir);
	add(&args, "--name", restore->name);
	add(&args, "--initial-advertise-peer-urls", restore->peer_urls);
	add(&args, "--initial-cluster", restore->initial_cluster);
	add(&args, "--initial-cluster-token", restore->token);
	if (restore->skip_hash_check)
		add(&args, "--skip-hash-check", NULL);
	if (restore->bump_revision > 0) {
		(void) snprintf(bump, sizeof(bump), "%llu", (unsigned long long) restore->bump_revision);
		add(&args, "--bump-revision", bump);
		add(&args, "--mark-compacted", NULL);
	}
	add(&args, "--", restore->snapshot);
	/* Without the digest that is behind whole pages. Where nothing is known there is no bar. */
	(void) stat(restore->snapshot, &st);
	pace_begin(&growth.pace, "restore", (uint64_t) st.st_size & ~(uint64_t) 511);
	return run(args.words, restore->limit_ms > 0 ? restore->limit_ms : ETCDTOOL_LIMIT_MS, &growth,
	           tap_new(NULL, &said), problem);
}
