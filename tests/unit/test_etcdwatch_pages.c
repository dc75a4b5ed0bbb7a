/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a real member that is known by a name: nobody waits for the name, and it comes. */
#include "etcdwatch/health/pages.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "tests/unit/check.h"
#include "tests/unit/etcdtest/cluster.h"
#include "tests/unit/turn.h"

#define WAIT_US (60 * US_PER_S)

static struct ev_loop *ev;

static void done_cb(void *userdata)
{
	*(bool *) userdata = true;
}

/* localhost is in /etc/hosts. */
static bool wait_for_localhost(struct hostnames *names, struct addr *ret)
{
	int64_t deadline_us = mono_now_us() + WAIT_US;

	while (!hostnames_find(names, "localhost", ret)) {
		if (mono_now_us() >= deadline_us)
			return false;
		turn_once(ev);
	}
	return true;
}

static void test_names(void)
{
	struct hostnames *names = hostnames_new(ev);
	struct addr first, then = {0};

	CHECK(!hostnames_find(names, "localhost", &first));
	hostnames_failed(names, "localhost");
	CHECK(wait_for_localhost(names, &first) && addr_is_loopback(&first));
	/* Another one, or it is the only one; and round they go. */
	for (size_t i = 0; i < 8; i++) {
		hostnames_failed(names, "localhost");
		CHECK(hostnames_find(names, "localhost", &then) && addr_is_loopback(&then));
	}
	hostnames_free(names);
	/* In the middle of a lookup, and before its answer is taken. */
	names = hostnames_new(ev);
	CHECK(!hostnames_find(names, "localhost", &first));
	CHECK(!hostnames_find(names, "localhost.localdomain", &first));
	hostnames_free(names);
}

static bool ask(struct pages *pages, const char *url, struct page *page)
{
	int64_t deadline_us = mono_now_us() + WAIT_US;
	bool done = false;

	if (pages_ask(pages, url, page, done_cb, &done) < 0)
		return false;
	CHECK(!done);
	while (!done && mono_now_us() < deadline_us)
		turn_once(ev);
	return CHECK(done);
}

/* Asked again and again, as rounds do. */
static void test_named(struct pages *pages, const char *url)
{
	AUTO(free) char *named = xasprintf("https://localhost%s", strrchr(url, ':'));
	int64_t deadline_us = mono_now_us() + WAIT_US;
	struct page page = {0};
	bool done = false;

	CHECK_EQ_INT(pages_ask(pages, named, &page, done_cb, &done), -EAGAIN);
	while (!page.known && mono_now_us() < deadline_us) {
		if (!ask(pages, named, &page))
			turn_once(ev);
	}
	CHECK(page.known && page.figures.fsync.n > 0);
	CHECK(page.not_after_s > wall_now_us() / US_PER_S);
	CHECK(page.clock_known && page.ahead_least_us <= 0 && page.ahead_most_us >= 0);
	CHECK(!done);
}

int main(void)
{
	AUTO(free) char *ca = NULL;
	AUTO(free) char *cert = NULL;
	AUTO(free) char *key = NULL;
	struct etcdconf config = {.call_timeout_us = 20 * US_PER_S};
	struct pages *pages = NULL;
	struct cluster *cluster;
	struct page page = {0};
	bool done = false;

	(void) signal(SIGPIPE, SIG_IGN);
	ev = ev_loop_new(EVFLAG_AUTO);
	test_names();
	cluster = cluster_new(1, CLUSTER_TLS | CLUSTER_FAST);
	config.ca_file = ca = xstrdup(cluster_file(cluster, "ca.pem"));
	config.cert_file = cert = xstrdup(cluster_file(cluster, "client.pem"));
	config.key_file = key = xstrdup(cluster_file(cluster, "client-key.pem"));
	CHECK_EQ_INT(pages_new(ev, &config, &pages), 0);
	CHECK_EQ_INT(pages_ask(pages, "none", &page, done_cb, &done), -EINVAL);
	CHECK(ask(pages, cluster_urls(cluster)[0], &page) && page.known);
	test_named(pages, cluster_urls(cluster)[0]);
	/* In the middle of one. */
	CHECK_EQ_INT(pages_ask(pages, cluster_urls(cluster)[0], &page, done_cb, &done), 0);
	pages_free(pages);
	CHECK(!done);
	cluster_free(cluster);
	ev_loop_destroy(ev);
	return check_result();
}
