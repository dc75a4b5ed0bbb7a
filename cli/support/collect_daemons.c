/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All questions are asked at the same time. Who has not answered one of the first round is not
 * asked again, so that a daemon that hangs costs one timeout, whatever it would have been asked.
 */
#include "cli/support/collect.h"

#include <errno.h>
#include <ev.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/query.h"

#define TIMEOUT_US (5 * US_PER_S)

static const struct node_asked more[] = {
    {"etcdwatch", {"etcd", "members"}, 2},
    {"etcdwatch", {"etcd", "snapshot", "list"}, 3},
    {"etcdwatch", {"etcd", "notify", "status"}, 3},
    {"netconf", {"net", "diff"}, 2},
};

/* "vipd: vip status"; to be freed. */
static char *describe(const struct node_asked *asked)
{
	char *text = xasprintf("%s:", asked->daemon);

	for (size_t i = 0; i < asked->n_words; i++) {
		char *longer = xasprintf("%s %s", text, asked->words[i]);

		free(text);
		text = longer;
	}
	return text;
}

/* "daemons/vipd-vip-status.json"; to be freed. */
static char *file_of(const struct node_asked *asked, const char *end)
{
	AUTO(free) char *text = describe(asked);

	for (char *p = text; *p != '\0'; p++) {
		if (p[0] == ':' && p[1] == ' ')
			memmove(p, p + 1, strlen(p));
		if (*p == ' ')
			*p = '-';
	}
	return xasprintf("daemons/%s.%s", text, end);
}

static const char *reason_of(int r)
{
	switch (r) {
	case -ENOENT:
		return "it does not run here";
	case -ECONNREFUSED:
		return "it does not run";
	case -EACCES:
		return "this user may not ask it: run this as root";
	case -ETIMEDOUT:
		return "no answer in time: it hangs";
	default:
		return strerror(-r);
	}
}

static void keep(struct stage *stage, const struct node_asked *asked,
                 const struct node_reply *reply)
{
	AUTO(free) char *what = describe(asked);
	const char *metrics;

	if (reply->answer == NULL) {
		stage_note(stage, "%s: %s", what, reason_of(reply->r));
		return;
	}
	if (reply->answer->error != NULL)
		stage_note(stage, "%s: %s", what, reply->answer->sentence);
	metrics =
	    json_string_value(json_object_get(json_array_get(reply->answer->objects, 0), "metrics"));
	if (metrics != NULL) {
		AUTO(free) char *path = file_of(asked, "prom");

		stage_add(stage, path, metrics, strlen(metrics), BLANK_PLAIN);
	} else if (reply->answer->lines[0] != '\0') {
		AUTO(free) char *path = file_of(asked, "json");

		stage_add(stage, path, reply->answer->lines, strlen(reply->answer->lines), BLANK_PLAIN);
	}
}

static void done_cb(int r, struct client_answer *answer, void *userdata)
{
	*(struct node_reply *) userdata = (struct node_reply){.r = r, .answer = answer};
}

/* Whether the daemon has answered anything so far. */
static bool is_silent(const char *daemon, const struct node_reply replies[static NODE_QUESTIONS])
{
	for (size_t i = 0; i < NODE_QUESTIONS; i++) {
		if (replies[i].r < 0 && strcmp(node_questions[i].daemon, daemon) == 0)
			return true;
	}
	return false;
}

void collect_daemons(const struct collect *c, struct node_reply replies[static NODE_QUESTIONS])
{
	struct node_reply others[ARRAY_SIZE(more)] = {0};
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);

	if (c->progress != NULL)
		c->progress("the daemons' status and metrics");
	node_ask(c->runtime_dir, TIMEOUT_US, replies);
	for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
		AUTO(free) char *path = xasprintf("%s/%s.sock", c->runtime_dir, more[i].daemon);

		if (!is_silent(more[i].daemon, replies))
			(void) query_start(loop, path, more[i].words, more[i].n_words, TIMEOUT_US, done_cb,
			                   &others[i]);
	}
	(void) ev_run(loop, 0);
	ev_loop_destroy(loop);
	for (size_t i = 0; i < NODE_QUESTIONS; i++)
		keep(c->stage, &node_questions[i], &replies[i]);
	for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
		if (!is_silent(more[i].daemon, replies))
			keep(c->stage, &more[i], &others[i]);
		client_answer_free(others[i].answer);
	}
}
