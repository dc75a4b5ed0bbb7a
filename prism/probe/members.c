/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One look at a time; the next one begins an interval after the last one's end. The file is
 * `etcdctl member list -w json`'s, kept by whoever likes; reading it blocks this process only, and
 * no client waits for that.
 */
#include "prism/probe/members.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "prism/probe/ask.h"
#include "prism/probe/memberlist.h"

#define COMMAND "etcd members"
#define ASK_TIMEOUT_US (5 * US_PER_S)
#define FILE_MAX_BYTES (1 << 20)

struct members {
	struct ev_loop *ev;
	const struct settings *settings;
	int64_t interval_us;
	found_fn found;
	void *userdata;
	ev_timer timer; /* stopped while a question is open */
	struct ask *ask;
};

static void wait_again(struct members *m)
{
	ev_timer_set(&m->timer, mono_to_ev(found_jittered_us(m->interval_us)), 0.);
	ev_timer_start(m->ev, &m->timer);
}

static void report_error(struct members *m, const char *where, const char *why)
{
	char error[FOUND_ERROR_MAX];

	(void) snprintf(error, sizeof(error), "%s: %s", where, why);
	m->found(NULL, error, m->userdata);
}

static void look_in_file(struct members *m)
{
	AUTO(free) char *text = NULL;
	struct endpoints_list list;
	const char *error;
	size_t len;
	int r;

	r = file_read(m->settings->members_file, FILE_MAX_BYTES, &text, &len);
	if (r < 0)
		report_error(m, m->settings->members_file, strerror(-r));
	else if (memberlist_parse(text, len, m->settings->members_port, &list, &error) < 0)
		report_error(m, m->settings->members_file, error);
	else
		m->found(&list, NULL, m->userdata);
}

static void answered_cb(const char *lines, const char *error, void *userdata)
{
	struct members *m = userdata;
	struct ask *ask = TAKE_PTR(m->ask); /* what we are given lives in it */
	struct endpoints_list list;
	bool good = lines != NULL &&
	            memberlist_parse_lines(lines, m->settings->members_port, &list, &error) == 0;

	wait_again(m);
	if (good)
		m->found(&list, NULL, m->userdata);
	else if (m->settings->members_file != NULL)
		look_in_file(m);
	else
		report_error(m, m->settings->members_socket, error);
	ask_free(ask);
}

static void timer_cb(struct ev_loop *ev, ev_timer *w, int revents UNUSED)
{
	struct members *m = CONTAINER_OF(w, struct members, timer);

	if (m->settings->members_socket != NULL) {
		m->ask = ask_new(ev, m->settings->members_socket, COMMAND, ASK_TIMEOUT_US, answered_cb, m);
		return;
	}
	wait_again(m);
	look_in_file(m);
}

struct members *members_new(struct ev_loop *ev, const struct settings *settings,
                            int64_t interval_us, found_fn found, void *userdata)
{
	struct members *m = NEW0(struct members);

	m->ev = ev;
	m->settings = settings;
	m->interval_us = interval_us;
	m->found = found;
	m->userdata = userdata;
	ev_timer_init(&m->timer, timer_cb, 0., 0.);
	ev_timer_start(ev, &m->timer);
	return m;
}

void members_free(struct members *m)
{
	if (m == NULL)
		return;
	ev_timer_stop(m->ev, &m->timer);
	ask_free(m->ask);
	free(m);
}
