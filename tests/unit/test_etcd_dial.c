/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One address after another, between real listeners, refusing ports and black holes on loopback.
 * What a name stands for, the test says: resolve.h is its own here.
 */
#include "etcd/dial.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/resolve.h"
#include "tests/unit/check.h"
#include "tests/unit/sockets.h"
#include "tests/unit/turn.h"

#define EACH_US (200 * US_PER_MS)
/* What it takes beside the time of an attempt, on a machine that is slow. */
#define SLACK_US (1000 * US_PER_MS)

static struct ev_loop *ev;

/* --- the name service --- */

struct resolve {
	resolve_done_fn done;
	void *userdata;
};

static struct {
	int r; /* of resolve_start() */
	struct resolve *asked;
	unsigned n_cancelled;
} names;

int resolve_start(struct ev_loop *loop UNUSED, const char *name,
                  enum resolve_families families UNUSED, resolve_done_fn done, void *userdata,
                  struct resolve **ret_resolve)
{
	CHECK_EQ_STR(name, "etcd-0");
	if (names.r < 0)
		return names.r;
	names.asked = NEW0(struct resolve);
	*names.asked = (struct resolve){.done = done, .userdata = userdata};
	*ret_resolve = names.asked;
	return 0;
}

void resolve_cancel(struct resolve *resolve)
{
	if (resolve == NULL)
		return;
	CHECK(resolve == names.asked);
	names.n_cancelled++;
	free(TAKE_PTR(names.asked));
}

static void answer(const struct resolve_result *result)
{
	struct resolve *asked = TAKE_PTR(names.asked);

	asked->done(result, asked->userdata);
	free(asked);
}

/* --- the client --- */

static struct {
	struct dial *dial;
	unsigned n_done;
	int fd;
	char text[DIAL_TEXT_MAX];
	int64_t began_us, took_us;
} got;

static void done_cb(int fd, const char *text, void *userdata)
{
	CHECK(userdata == &got);
	got.dial = NULL;
	got.n_done++;
	got.fd = fd;
	got.took_us = mono_now_us() - got.began_us;
	(void) snprintf(got.text, sizeof(got.text), "%s", text);
}

static void start(const char *text)
{
	struct url url;

	memset(&got, 0, sizeof(got));
	got.fd = -1;
	got.began_us = mono_now_us();
	CHECK_EQ_INT(url_parse(text, &url), 0);
	got.dial = dial_start(ev, &url, EACH_US, done_cb, &got);
	CHECK_EQ_INT(got.n_done, 0);
}

static void check_done(bool connected, const char *text, unsigned n_waited)
{
	CHECK(TURN_UNTIL(ev, got.n_done > 0));
	turn_for(ev, 20 * US_PER_MS);
	CHECK_EQ_INT(got.n_done, 1);
	CHECK_EQ_INT(got.fd >= 0, connected);
	if (!connected)
		CHECK_EQ_STR(got.text, text);
	CHECK(got.took_us >= n_waited * EACH_US);
	CHECK(got.took_us < n_waited * EACH_US + SLACK_US);
	if (got.fd >= 0)
		(void) close(got.fd);
}

/* --- tests --- */

enum kind {
	ACCEPTS,
	REFUSES,
	BLACKHOLE,
};

#define PLACES_MAX 4

/* All at one port, as a name has one: each at another address of loopback. */
static void test_order(void)
{
	static const struct {
		enum kind kinds[PLACES_MAX];
		size_t n;
		bool connected;
		const char *text;
		unsigned n_waited; /* whole times of an attempt */
	} cases[] = {
	    {{ACCEPTS}, 1, true, NULL, 0},
	    {{REFUSES}, 1, false, "Connection refused", 0},
	    {{BLACKHOLE}, 1, false, "Connection timed out", 1},
	    {{REFUSES, ACCEPTS}, 2, true, NULL, 0},
	    {{BLACKHOLE, ACCEPTS}, 2, true, NULL, 1},
	    {{BLACKHOLE, REFUSES}, 2, false, "Connection refused", 1},
	    {{REFUSES, BLACKHOLE}, 2, false, "Connection timed out", 1},
	    {{BLACKHOLE, REFUSES, BLACKHOLE, ACCEPTS}, 4, true, NULL, 2},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct resolve_result result = {.n = cases[i].n};
		struct blackhole holes[PLACES_MAX];
		int listeners[PLACES_MAX];
		uint16_t port = 0;
		char url[64];
		unsigned before = check_failures;

		for (size_t k = 0; k < cases[i].n; k++) {
			char address[32];
			struct endpoint at;

			(void) snprintf(address, sizeof(address), "127.0.0.%zu", k + 2);
			listeners[k] = -1;
			if (cases[i].kinds[k] == BLACKHOLE) {
				holes[k] = sockets_blackhole_at(address, port);
				at = holes[k].at;
			} else {
				listeners[k] =
				    sockets_listen(address, port, cases[i].kinds[k] == REFUSES ? -1 : 8, &at);
			}
			port = at.port;
			result.addrs[k] = at.addr;
		}
		(void) snprintf(url, sizeof(url), "http://etcd-0:%u", port);
		start(url);
		turn_for(ev, 20 * US_PER_MS);
		CHECK_EQ_INT(got.n_done, 0);
		got.began_us = mono_now_us();
		answer(&result);
		CHECK_EQ_INT(got.n_done, 0);
		check_done(cases[i].connected, cases[i].text, cases[i].n_waited);
		for (size_t k = 0; k < cases[i].n; k++) {
			if (listeners[k] < 0)
				sockets_blackhole_end(&holes[k]);
			else
				(void) close(listeners[k]);
		}
		if (check_failures > before)
			(void) fprintf(stderr, "case %zu\n", i);
	}
}

static void test_no_address(void)
{
	start("http://etcd-0:2379");
	answer(&(struct resolve_result){.error = "Name or service not known"});
	check_done(false, "Name or service not known", 0);

	names.r = -EAGAIN;
	start("http://etcd-0:2379");
	check_done(false, "Resource temporarily unavailable", 0);
	names.r = 0;
}

/* At every moment; nothing is called afterwards, and nothing stays open. */
static void test_cancel(void)
{
	struct blackhole hole = sockets_blackhole("127.0.0.1");
	size_t n_fds;
	char url[64];

	(void) snprintf(url, sizeof(url), "http://127.0.0.1:%u", hole.at.port);
	turn_once(ev);
	n_fds = sockets_count_fds();

	start("http://etcd-0:2379");
	dial_cancel(got.dial);
	CHECK_EQ_INT(names.n_cancelled, 1);

	start(url);
	dial_cancel(got.dial);
	turn_for(ev, 20 * US_PER_MS);
	CHECK_EQ_INT(got.n_done, 0);

	start(url);
	turn_for(ev, 50 * US_PER_MS);
	CHECK_EQ_INT(sockets_count_fds(), n_fds + 1);
	dial_cancel(got.dial);
	turn_for(ev, EACH_US + 50 * US_PER_MS);
	CHECK_EQ_INT(got.n_done, 0);
	CHECK_EQ_INT(sockets_count_fds(), n_fds);

	dial_cancel(NULL);
	sockets_blackhole_end(&hole);
}

int main(void)
{
	ev = ev_default_loop(0);
	test_order();
	test_no_address();
	test_cancel();
	ev_loop_destroy(ev);
	return check_result();
}
