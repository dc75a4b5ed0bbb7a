/* SPDX-License-Identifier: Apache-2.0 */
/* Names that no name server is asked for, and one that is let go before its answer. */
#include "base/resolve.h"

#include <string.h>

#include "tests/unit/check.h"
#include "tests/unit/turn.h"

static struct ev_loop *ev;

struct heard {
	unsigned calls;
	struct resolve_result result;
};

static void on_done(const struct resolve_result *result, void *userdata)
{
	struct heard *h = userdata;

	h->calls++;
	h->result = *result;
}

static void test_found(void)
{
	struct heard h = {0};
	struct resolve *q;
	char text[ADDR_TEXT_MAX];

	if (!CHECK_EQ_INT(resolve_start(ev, "192.0.2.7", RESOLVE_OWN, on_done, &h, &q), 0))
		return;
	CHECK_EQ_INT(h.calls, 0);
	CHECK(TURN_UNTIL(ev, h.calls > 0));
	CHECK_EQ_INT(h.result.n, 1);
	CHECK_EQ_STR(addr_format(&h.result.addrs[0], text), "192.0.2.7");
	CHECK_EQ_STR(h.result.error, "");
}

/* Not even a question: no name is that long. */
static void test_not_found(void)
{
	struct heard h = {0};
	struct resolve *q;
	char name[400];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	if (!CHECK_EQ_INT(resolve_start(ev, name, RESOLVE_OWN, on_done, &h, &q), 0))
		return;
	CHECK(TURN_UNTIL(ev, h.calls > 0));
	CHECK_EQ_INT(h.result.n, 0);
	CHECK(h.result.error[0] != '\0');
}

static void test_cancelled(void)
{
	struct heard dropped = {0}, h = {0};
	struct resolve *q;

	resolve_cancel(NULL);
	for (int i = 0; i < 20; i++) {
		if (!CHECK_EQ_INT(resolve_start(ev, "192.0.2.7", RESOLVE_OWN, on_done, &dropped, &q), 0))
			return;
		resolve_cancel(q);
	}
	if (!CHECK_EQ_INT(resolve_start(ev, "192.0.2.7", RESOLVE_OWN, on_done, &h, &q), 0))
		return;
	CHECK(TURN_UNTIL(ev, h.calls > 0));
	CHECK_EQ_INT(dropped.calls, 0);
}

int main(void)
{
	ev = ev_default_loop(EVFLAG_AUTO);
	test_found();
	test_not_found();
	test_cancelled();
	return check_result();
}
