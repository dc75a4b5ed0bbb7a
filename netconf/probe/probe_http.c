/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a URL is answered, with a status from 200 to 399: netconf-probe asks. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/conf_check.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/spawn.h"
#include "netconf/probe/probe_priv.h"

struct web {
	struct ev_loop *ev;
	char *program, *url;
	int64_t timeout_us, deadline_us;
	ev_child end; /* active: one is asking */
	enum probe_verdict answer;
};

static void stop(struct web *web)
{
	if (!ev_is_active(&web->end))
		return;
	(void) kill(web->end.pid, SIGKILL);
	ev_child_stop(web->ev, &web->end);
}

static void end_cb(struct ev_loop *ev, ev_child *end, int revents UNUSED)
{
	struct web *web = CONTAINER_OF(end, struct web, end);

	ev_child_stop(ev, end);
	web->answer =
	    WIFEXITED(end->rstatus) && WEXITSTATUS(end->rstatus) == 0 ? PROBE_GOOD : PROBE_BAD;
}

static enum probe_verdict start(struct probe *probe, int64_t now_us)
{
	struct web *web = probe->data;
	AUTO(free) char *limit = xasprintf("%" PRId64, MAX(web->timeout_us / US_PER_MS, INT64_C(1)));
	const char *const argv[] = {web->program, web->url, limit, NULL};
	pid_t pid;

	stop(web);
	web->deadline_us = now_us + web->timeout_us;
	web->answer = PROBE_RUNNING;
	if (spawn_program(&(struct spawn){.argv = argv}, &pid) < 0)
		return PROBE_BAD;
	ev_child_set(&web->end, pid, 0);
	ev_child_start(web->ev, &web->end);
	return PROBE_RUNNING;
}

static enum probe_verdict poll(struct probe *probe, int64_t now_us)
{
	struct web *web = probe->data;

	if (web->answer == PROBE_RUNNING && now_us >= web->deadline_us) {
		stop(web);
		return PROBE_BAD;
	}
	return web->answer;
}

static void fini(struct probe *probe)
{
	struct web *web = probe->data;

	stop(web);
	free(web->program);
	free(web->url);
	free(web);
}

int probe_http_init(struct probe *probe, const struct probe_host *host, const char *name,
                    const char *url, int64_t timeout_us)
{
	static const struct probe_kind kind = {NULL, start, poll, fini};
	struct conf_url parsed;
	struct web *web;

	if (conf_parse_url(url, &parsed) != NULL)
		return -EINVAL;
	web = NEW0(struct web);
	web->ev = host->ev;
	web->program = xstrdup(host->program);
	web->url = xstrdup(url);
	web->timeout_us = timeout_us;
	ev_child_init(&web->end, end_cb, 0, 0);
	*probe = (struct probe){.kind = &kind, .data = web};
	probe->name = xasprintf("%s (%s)", name, url);
	return 0;
}
