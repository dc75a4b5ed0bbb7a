/* SPDX-License-Identifier: Apache-2.0 */
/* The questions to a node, and all of them asked at once: a daemon that hangs costs no more than
 * the one deadline. */
#include "cli/status/node.h"

#include <errno.h>
#include <ev.h>
#include <glob.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

const struct node_asked node_questions[NODE_QUESTIONS] = {
    [NODE_VIP] = {"vipd", {"vip", "status"}, 2},
    [NODE_PRISM] = {"prism", {"prism", "status"}, 2},
    [NODE_HEALTH] = {"etcdwatch", {"etcd", "health"}, 2},
    [NODE_MEMBERS] = {"etcdwatch", {"etcd", "status"}, 2},
    [NODE_ALARMS] = {"etcdwatch", {"etcd", "alarms"}, 2},
    [NODE_JOBS] = {"etcdwatch", {"etcd", "snapshot", "jobs"}, 3},
    [NODE_RECORD] = {"etcdwatch", {"etcd", "record", "status"}, 3},
    [NODE_NET] = {"netconf", {"net", "status"}, 2},
    [NODE_VIP_PORT] = {"vipd", {"metrics"}, 1},
    [NODE_PRISM_PORT] = {"prism", {"metrics"}, 1},
    [NODE_ETCD_PORT] = {"etcdwatch", {"metrics"}, 1},
    [NODE_NET_PORT] = {"netconf", {"metrics"}, 1},
};

#define UNITS_RUNTIME_DIR "/run/fairlead"
#define UNITS "/etc/systemd/system"

const char *node_units(const char *runtime_dir)
{
	return strcmp(runtime_dir, UNITS_RUNTIME_DIR) == 0 ? UNITS : NULL;
}

/* By a link that leads somewhere: links stay where the package was removed and not purged. */
static bool is_linked(const char *units, const char *unit)
{
	AUTO(free) char *pattern = xasprintf("%s/*.wants/%s", units, unit);
	glob_t found = {0};
	bool is_there = glob(pattern, 0, NULL, &found) == 0 && access(found.gl_pathv[0], F_OK) == 0;

	globfree(&found);
	return is_there;
}

static bool is_masked(const char *units, const char *unit)
{
	AUTO(free) char *path = xasprintf("%s/%s", units, unit);
	char to[sizeof("/dev/null")] = "";

	return readlink(path, to, sizeof(to) - 1) > 0 && strcmp(to, "/dev/null") == 0;
}

int node_judge(int r, const char *daemon, const char *units)
{
	AUTO(free) char *unit = xasprintf("fairlead-%s.service", daemon);

	if (r != -ENOENT || units == NULL || is_masked(units, unit))
		return r;
	/* The target takes all of them along. */
	return is_linked(units, unit) || is_linked(units, "fairlead.target") ? -ESRCH : r;
}

const json_t *node_objects(const struct node_reply *reply)
{
	return reply->answer != NULL && reply->answer->error == NULL ? reply->answer->objects : NULL;
}

bool node_is_none(const struct node_reply *reply)
{
	return reply->answer != NULL && reply->answer->error != NULL &&
	       strcmp(reply->answer->error, "notfound") == 0;
}

void node_replies_fini(struct node_reply replies[static NODE_QUESTIONS])
{
	for (size_t i = 0; i < NODE_QUESTIONS; i++) {
		client_answer_free(replies[i].answer);
		replies[i] = (struct node_reply){0};
	}
}

static void done_cb(int r, struct client_answer *answer, void *userdata)
{
	struct node_reply *reply = userdata;

	reply->r = r;
	reply->answer = answer;
}

void node_ask(const char *runtime_dir, int64_t timeout_us,
              struct node_reply replies[static NODE_QUESTIONS])
{
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);

	for (size_t i = 0; i < NODE_QUESTIONS; i++) {
		const struct node_asked *asked = &node_questions[i];
		AUTO(free) char *path = xasprintf("%s/%s.sock", runtime_dir, asked->daemon);

		replies[i] = (struct node_reply){0};
		/* Each ends by itself, and with the last one the loop does. */
		(void) query_start(loop, path, asked->words, asked->n_words, timeout_us, done_cb,
		                   &replies[i]);
	}
	(void) ev_run(loop, 0);
	ev_loop_destroy(loop);
	for (size_t i = 0; i < NODE_QUESTIONS; i++)
		replies[i].r = node_judge(replies[i].r, node_questions[i].daemon, node_units(runtime_dir));
}
