/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sources of upstreams with real files in a directory of its own, for the tests about them: what
 * was handed over, and how files are written.
 */

#include "prism/sources.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/patient.h"
#include "tests/unit/turn.h"

#define TEXT_MAX 8192
#define WAIT_US TURN_LIMIT_US
/* Long enough for a change of the file to be noticed, were it one. */
#define SETTLE_US (400 * US_PER_MS)
static struct ev_loop *ev;
static char directory[64];
static char file_path[128];
static char nowhere[1];

/* --- what was handed over --- */

struct scene {
	struct config config;
	struct config_host hosts[4];
	struct sources *sources;
	char upstreams[TEXT_MAX]; /* "10.0.0.5:6443(file) ..." */
	struct endpoints_merged merged;
	unsigned calls;
};

static void on_changed(const struct endpoints_merged *merged, void *userdata)
{
	struct scene *scene = userdata;
	size_t len = 0;

	scene->calls++;
	scene->merged = *merged;
	scene->upstreams[0] = '\0';
	for (size_t i = 0; i < merged->n; i++) {
		char buf[ENDPOINT_TEXT_MAX];
		const char *separator = "(";

		len += (size_t) snprintf(scene->upstreams + len, TEXT_MAX - len, "%s%s", i > 0 ? " " : "",
		                         endpoint_format(&merged->items[i].endpoint, buf));
		for (unsigned s = 0; s < ENDPOINTS_N_SOURCES; s++) {
			if ((merged->items[i].from & ENDPOINTS_FROM(s)) == 0)
				continue;
			len += (size_t) snprintf(scene->upstreams + len, TEXT_MAX - len, "%s%s", separator,
			                         endpoints_source_name((enum endpoints_source) s));
			separator = ",";
		}
		len += (size_t) snprintf(scene->upstreams + len, TEXT_MAX - len, ")%s",
		                         merged->items[i].local ? "*" : "");
	}
}

/* Listens where prism does, reads `file` (NULL: none), remembers nothing, has no other source. */
static void scene_init(struct scene *scene, char *file)
{
	memset(scene, 0, sizeof(*scene));
	scene->config.listen[0] = (struct endpoint){{AF_INET, {127, 0, 0, 1}}, 7445};
	scene->config.n_listen = 1;
	scene->config.health.enabled = true;
	scene->config.sources.hosts = scene->hosts;
	scene->config.sources.file = file;
	scene->config.state_dir = nowhere;
}

static void add_host(struct scene *scene, const char *name, uint16_t port)
{
	struct config_host *host = &scene->hosts[scene->config.sources.n_hosts++];

	(void) snprintf(host->name, sizeof(host->name), "%s", name);
	host->port = port;
}

static void scene_start(struct scene *scene)
{
	CHECK_EQ_INT(sources_new(ev, &scene->config, on_changed, scene, &scene->sources), 0);
	CHECK_EQ_INT(scene->calls, 0);
	ev_run(ev, EVRUN_NOWAIT);
	CHECK_EQ_INT(scene->calls, 1);
}

static void scene_stop(struct scene *scene)
{
	sources_free(TAKE_PTR(scene->sources));
}

static bool wait_for(struct scene *scene, const char *upstreams)
{
	int64_t end_us = mono_now_us() + WAIT_US;

	while (strcmp(scene->upstreams, upstreams) != 0 && mono_now_us() < end_us)
		turn_once(ev);
	return strcmp(scene->upstreams, upstreams) == 0;
}

static UNUSED bool wait_for_error(struct scene *scene, enum endpoints_source source,
                                  const char *part)
{
	int64_t end_us = mono_now_us() + WAIT_US;

	while (strstr(sources_error(scene->sources, source), part) == NULL && mono_now_us() < end_us)
		turn_once(ev);
	return strstr(sources_error(scene->sources, source), part) != NULL;
}

/* Nothing is handed over from here on, though the file changes. */
static UNUSED void check_nothing_changes(struct scene *scene)
{
	unsigned calls = scene->calls;

	turn_for(ev, SETTLE_US);
	CHECK_EQ_INT(scene->calls, calls);
}

static struct endpoints_list list_of(const char *words)
{
	struct endpoints_list list = {.n = 0};
	AUTO(free) char *copy = xstrdup(words);

	for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " ")) {
		struct endpoint e;

		if (endpoint_parse(word, 6443, &e) < 0)
			abort();
		(void) endpoints_add(&list, &e);
	}
	return list;
}

static void say(struct scene *scene, enum endpoints_source source, const char *words)
{
	struct endpoints_list list = list_of(words);

	sources_update(scene->sources, source, &list);
}

/* --- files --- */

static void write_at(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (!CHECK(fd >= 0))
		return;
	CHECK_EQ_INT(write(fd, text, strlen(text)), strlen(text));
	(void) close(fd);
}

static UNUSED void write_in_place(const char *text)
{
	write_at(file_path, text);
}

static void replace(const char *text)
{
	CHECK_EQ_INT(file_write_atomic(file_path, text, strlen(text), 0644, FILE_VOLATILE), 0);
}

static void prepare(void)
{
	ev = ev_default_loop(0);
	(void) strcpy(directory, "/tmp/test_prism_sources.XXXXXX");
	CHECK(mkdtemp(directory) != NULL);
	(void) snprintf(file_path, sizeof(file_path), "%s/list", directory);
}

static void clean_up(void)
{
	(void) unlink(file_path);
	CHECK_EQ_INT(rmdir(directory), 0);
	ev_loop_destroy(ev);
}
