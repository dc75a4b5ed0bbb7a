/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the worker's words together, and takes its answer apart. */
#include "etcdwatch/take/pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "etcdwatch/work/child.h"

#define LEVEL_TEXT_MAX 16

struct pack {
	const struct config_job *job;
	struct child *child;
	struct doing doing;
	pack_done_fn done;
	void *userdata;
};

bool pack_is_wanted(const struct config_job *job)
{
	return job->compression != CONFIG_COMPRESSION_NONE || job->encrypted;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

static void done_cb(const struct child_result *said, void *userdata)
{
	struct pack *p = userdata;
	struct pack_result result = {.r = said->r, .reason = said->reason};

	p->child = NULL;
	if (said->r == 0) {
		result.path = text_of(said->last, "file");
		result.bytes = (uint64_t) json_integer_value(json_object_get(said->last, "file_bytes"));
		result.sha256 = text_of(said->last, "file_sha256");
		result.zstd = strcmp(text_of(said->last, "compression"), "zstd") == 0;
		result.age = strcmp(text_of(said->last, "encryption"), "age") == 0;
		result.recipients = result.age ? (unsigned) p->job->recipients.n : 0;
	}
	p->done(&result, p->userdata);
	pack_free(p);
}

const struct doing *pack_doing(const struct pack *p)
{
	return &p->doing;
}

static size_t add_each(const char **argv, size_t n, const char *option,
                       const struct conf_strings *values)
{
	for (size_t i = 0; i < values->n; i++) {
		argv[n++] = option;
		argv[n++] = values->items[i];
	}
	return n;
}

int pack_start(struct ev_loop *ev, const struct pack_options *options, pack_done_fn done,
               void *userdata, struct pack **ret_pack)
{
	const struct config_job *job = options->job;
	AUTO(pack_free) struct pack *p = NEW0(struct pack);
	AUTO(free)
	const char **argv = xcalloc(12 + 2 * (job->recipients.n + job->extra_files.n), sizeof(argv[0]));
	AUTO(free) char *name = xasprintf("%s.db", options->id);
	char level[LEVEL_TEXT_MAX];
	size_t n = 0;
	int r;

	p->job = job;
	p->done = done;
	p->userdata = userdata;
	(void) snprintf(level, sizeof(level), "%d",
	                job->compression == CONFIG_COMPRESSION_ZSTD ? job->compression_level : 0);
	argv[n++] = options->worker;
	argv[n++] = "pack";
	argv[n++] = options->path;
	argv[n++] = "--name";
	argv[n++] = name;
	argv[n++] = "--level";
	argv[n++] = level;
	argv[n++] = "--sha256";
	argv[n++] = options->sha256;
	n = add_each(argv, n, "--recipient", &job->recipients);
	n = add_each(argv, n, "--extra", &job->extra_files);
	if (job->recipients_file != NULL) {
		argv[n++] = "--recipients-file";
		argv[n++] = job->recipients_file;
	}
	r = child_start(ev, argv, options->limit_us, done_cb, p, &p->child);
	if (r < 0)
		return r;
	child_keep_doing(p->child, &p->doing);
	*ret_pack = TAKE_PTR(p);
	return 0;
}

void pack_free(struct pack *p)
{
	if (p == NULL)
		return;
	child_free(p->child);
	free(p);
}
