/* SPDX-License-Identifier: Apache-2.0 */
#include "etcdwatch/worker/commands.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

#define NICE 10
/* ioprio_set(2): this process, best effort, last. */
#define IOPRIO_WHO_PROCESS 1
#define IOPRIO_BEST_EFFORT_LAST (2 << 13 | 7)

static const struct command *const tables[] = {
    prove_commands,   pack_commands,   source_commands,  s3_commands,     drill_commands,
    restore_commands, notify_commands, rebuild_commands, health_commands, record_commands,
};

static void give_way(void)
{
	/* Without it, the work is the same. */
	(void) setpriority(PRIO_PROCESS, 0, NICE);
	(void) syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_BEST_EFFORT_LAST);
}

/* By one word or two; how many there were. */
static const struct command *find(int argc, char **argv, int *ret_n)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		for (const struct command *c = tables[i]; c->name != NULL; c++) {
			size_t len = strcspn(c->name, " ");
			bool has_two = c->name[len] == ' ';

			if (argc < 2 + has_two || strlen(argv[1]) != len || strncmp(argv[1], c->name, len) != 0)
				continue;
			*ret_n = 1 + has_two;
			if (!has_two || strcmp(argv[2], c->name + len + 1) == 0)
				return c;
		}
	}
	return NULL;
}

static int refuse(int argc, char **argv)
{
	AUTO(free) char *names = xstrdup("");
	struct problem problem = {0};

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		for (const struct command *c = tables[i]; c->name != NULL; c++) {
			char *more = xasprintf("%s%s%s", names, names[0] != '\0' ? ", " : "", c->name);

			free(names);
			names = more;
		}
	}
	(void) problem_set(&problem, -EINVAL, "USAGE",
	                   "'%s%s%s': etcdwatch-worker is started by etcdwatch(8) and fairlead(1) with "
	                   "one of: %s",
	                   argc > 1 ? argv[1] : "", argc > 2 ? " " : "", argc > 2 ? argv[2] : "",
	                   names);
	return result_fail(&problem);
}

static int parse(const struct command *c, int argc, char **argv, struct words *w,
                 struct problem *problem)
{
	const struct options_table wanted[] = {
	    {c->options, c->n_options, w},
	    {s3target_options, (c->flags & COMMAND_TARGET) != 0 ? S3TARGET_OPTIONS : 0, &w->target},
	    {sourcewords_options, (c->flags & COMMAND_SOURCE) != 0 ? SOURCEWORDS_OPTIONS : 0,
	     &w->source},
	    {storeowner_options, (c->flags & COMMAND_OWNER) != 0 ? STOREOWNER_OPTIONS : 0, &w->owner},
	};

	return options_parse(argc, argv, wanted, ARRAY_SIZE(wanted), c->min, c->max, &w->rest, problem);
}

static int open_store(const struct command *c, struct words *w, struct problem *problem)
{
	int r = 0;

	if ((c->flags & COMMAND_STORE) != 0 ||
	    ((c->flags & COMMAND_OPENS) != 0 && s3target_is_named(&w->target)))
		r = s3target_open(&w->target, problem, &w->s3);
	if (r == 0 && (c->flags & COMMAND_CHECKS) != 0)
		r = storeowner_check(w->s3, &w->owner, (c->flags & COMMAND_REMOVES) != 0, problem);
	return r;
}

static int run(const struct command *c, int argc, char **argv)
{
	struct words *w = xcalloc(1, MAX(c->size, sizeof(*w)));
	int64_t began_us = mono_now_us();
	struct problem problem = {0};
	json_t *fields = NULL;
	int r, code;

	r = parse(c, argc, argv, w, &problem);
	if (r == 0)
		r = open_store(c, w, &problem);
	if (r == 0)
		r = c->run(w, &problem, &fields);
	if (r == 0 && (c->flags & COMMAND_TIMED) != 0)
		(void) json_object_set_new(fields, "took_ms",
		                           json_integer((mono_now_us() - began_us) / US_PER_MS));
	code = r < 0 ? result_fail_with(&problem, fields)
	             : result_ok(fields != NULL ? fields : json_object());
	s3_free(w->s3);
	free(w);
	return code;
}

int commands_run(int argc, char **argv)
{
	int n_words = 1;
	const struct command *c = find(argc, argv, &n_words);

	if (c == NULL)
		return refuse(argc, argv);
	if ((c->flags & COMMAND_URGENT) == 0)
		give_way();
	return run(c, argc - n_words, argv + n_words);
}
