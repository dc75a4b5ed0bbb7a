/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For tests of the probe process as prism sees it, whatever program it is: a server to be judged,
 * and what is heard of it.
 */

#include "prism/checker.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "tests/unit/check.h"
#include "tests/unit/nginx.h"
#include "tests/unit/stolen.h"
#include "tests/unit/turn.h"

#define WAIT_US TURN_LIMIT_US

static struct ev_loop *ev;
static struct nginx server;
static char script[64], ca_file[64];
static char path[16] = "/200", server_name[16] = "kubernetes";

static unsigned n_verdicts, n_lists, n_lost;
static uint64_t last_id;
static enum judge_evidence last_evidence;
static char last_reason[256];
static enum endpoints_source last_source;
static struct endpoints_list last_list;
static struct checker *free_in_callback;

static void on_verdict(uint64_t id, enum judge_evidence evidence, const char *reason,
                       int64_t rtt_us UNUSED, void *userdata)
{
	CHECK(userdata == script);
	n_verdicts++;
	last_id = id;
	last_evidence = evidence;
	(void) snprintf(last_reason, sizeof(last_reason), "%s", reason);
	checker_free(TAKE_PTR(free_in_callback));
}

static void on_endpoints(enum endpoints_source source, const struct endpoints_list *list,
                         void *userdata)
{
	CHECK(userdata == script && list->n > 0);
	n_lists++;
	last_source = source;
	last_list = *list;
	checker_free(TAKE_PTR(free_in_callback));
}

static void on_lost(void *userdata)
{
	CHECK(userdata == script);
	n_lost++;
	checker_free(TAKE_PTR(free_in_callback));
}

static const struct checker_callbacks callbacks = {on_verdict, on_endpoints, on_lost};

static inline UNUSED struct config make_config(void)
{
	return (struct config){
	    .sources = {.members_port = 6443, .slices_interval_us = 30 * US_PER_S},
	    .health = {.enabled = true,
	               .path = path,
	               .server_name = server_name,
	               .ca_file = ca_file,
	               .timeout_us = 5 * US_PER_S},
	};
}

static inline UNUSED struct checker *begin(const char *program, const struct config *config)
{
	struct checker *checker = NULL;

	n_verdicts = n_lists = n_lost = 0;
	CHECK_EQ_INT(checker_new(ev, program, config, &callbacks, (void *) script, &checker), 0);
	return checker;
}

/* Turns until *counter is n. */
static inline UNUSED bool wait_for(const unsigned *counter, unsigned n)
{
	int64_t deadline_us = mono_now_us() + WAIT_US;

	while (*counter < n && mono_now_us() < deadline_us)
		turn_once(ev);
	return CHECK(*counter >= n);
}

static inline UNUSED void wait_running(const struct checker *checker, unsigned restarts)
{
	int64_t deadline_us = mono_now_us() + WAIT_US;

	while ((!checker_is_running(checker) || checker_restarts(checker) < restarts) &&
	       mono_now_us() < deadline_us)
		turn_once(ev);
	CHECK(checker_is_running(checker) && checker_restarts(checker) >= restarts);
}

static inline UNUSED struct endpoint at(int port)
{
	struct endpoint e = {.port = (uint16_t) port};

	CHECK_EQ_INT(addr_parse("127.0.0.1", &e.addr), 0);
	return e;
}

/* The one child of a process; 0: it has none. */
static inline UNUSED pid_t child_of(pid_t parent)
{
	AUTO(free)
	char *line = xasprintf("cat /proc/%d/task/%d/children >%s/children", (int) parent, (int) parent,
	                       server.dir);
	AUTO(free) char *file = xasprintf("%s/children", server.dir);
	AUTO(free) char *text = NULL;
	pid_t first;
	size_t len;

	CHECK_EQ_INT(system(line), 0);
	CHECK_EQ_INT(file_read(file, 4096, &text, &len), 0);
	first = (pid_t) strtol(text, NULL, 10);
	/* nginx is a child, too, and older; so is the shell that lists them, and younger. */
	if (parent == getpid() && first == server.pid)
		first = (pid_t) strtol(strchr(text, ' '), NULL, 10);
	return first;
}

static inline UNUSED bool is_gone(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == ESRCH;
}

static inline UNUSED void wait_members_error(const struct checker *checker, const char *want)
{
	int64_t deadline_us = mono_now_us() + WAIT_US;

	while (strcmp(checker_source_error(checker, ENDPOINTS_MEMBERS), want) != 0 &&
	       mono_now_us() < deadline_us)
		turn_once(ev);
	CHECK_EQ_STR(checker_source_error(checker, ENDPOINTS_MEMBERS), want);
}

static inline UNUSED void checkerworld_begin(void)
{
	(void) signal(SIGPIPE, SIG_IGN);
	log_set_level(LOG_LEVEL_ERROR);
	ev = ev_default_loop(EVFLAG_AUTO);
	nginx_init(&server);
	(void) snprintf(script, sizeof(script), "%s/script", server.dir);
	(void) snprintf(ca_file, sizeof(ca_file), "%s/ca.crt", server.dir);
	nginx_start(&server, "location /200 { return 200 ok; }\n"
	                     "location /who { return 500 \"[-]$ssl_client_s_dn failed\"; }\n");
}

static inline UNUSED void checkerworld_end(void)
{
	nginx_fini(&server);
	ev_loop_destroy(ev);
}
