/* SPDX-License-Identifier: Apache-2.0 */
/* Names: resolved in a thread, again and again, and let go while the resolver is at it. */
#include "prism/probe/names.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "tests/unit/check.h"
#include "tests/unit/turn.h"

#define WAIT_US TURN_LIMIT_US
#define INTERVAL_US (20 * US_PER_MS)

static struct ev_loop *ev;
static unsigned n_found;
static char found[512]; /* "127.0.0.1:6443 ", or "error: ..." */

static void on_found(const struct endpoints_list *list, const char *error, void *userdata)
{
	size_t len = 0;

	CHECK(userdata == found && (list == NULL) == (error != NULL));
	n_found++;
	if (list == NULL) {
		(void) snprintf(found, sizeof(found), "error: %s", error);
		return;
	}
	found[0] = '\0';
	for (size_t i = 0; i < list->n; i++) {
		char text[ENDPOINT_TEXT_MAX];

		len += (size_t) snprintf(found + len, sizeof(found) - len, "%s ",
		                         endpoint_format(&list->items[i], text));
	}
}

static void wait_found(unsigned n)
{
	int64_t deadline_us = mono_now_us() + WAIT_US;

	while (n_found < n && mono_now_us() < deadline_us)
		turn_once(ev);
	CHECK(n_found >= n);
}

/* No name server is needed: numbers resolve to themselves, and no label is longer than 63. */
#define BAD_LABEL "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.invalid"

static char good_a[] = "10.0.0.5", good_b[] = "fd00::5", bad[] = BAD_LABEL, any[] = "0.0.0.0";

static void test_resolved(void)
{
	struct settings_name names[] = {{good_a, 6443}, {bad, 6443}, {good_b, 443}, {good_a, 6443}};
	const struct settings settings = {.names = names, .n_names = ARRAY_SIZE(names)};
	struct names *n = names_new(ev, &settings, INTERVAL_US, on_found, found);

	CHECK_EQ_INT(n_found, 0);
	wait_found(3);
	CHECK_EQ_STR(found, "10.0.0.5:6443 [fd00::5]:443 ");
	names_free(n);
}

static void test_not_resolved(void)
{
	struct settings_name names[] = {{any, 6443}, {bad, 6443}};
	const struct settings settings = {.names = names, .n_names = ARRAY_SIZE(names)};
	struct names *n = names_new(ev, &settings, INTERVAL_US, on_found, found);

	n_found = 0;
	wait_found(2);
	CHECK(strncmp(found, "error: " BAD_LABEL ": ", strlen("error: " BAD_LABEL ": ")) == 0);
	names_free(n);
}

/* A name that fails keeps what it had. */
static void test_last_good(void)
{
	char changing[128] = "10.0.0.9";
	struct settings_name names[] = {{changing, 6443}, {good_b, 443}};
	const struct settings settings = {.names = names, .n_names = ARRAY_SIZE(names)};
	struct names *n = names_new(ev, &settings, INTERVAL_US, on_found, found);

	n_found = 0;
	wait_found(1);
	CHECK_EQ_STR(found, "10.0.0.9:6443 [fd00::5]:443 ");
	/* The next rounds copy the name anew. */
	(void) strcpy(changing, BAD_LABEL);
	wait_found(n_found + 3);
	CHECK_EQ_STR(found, "10.0.0.9:6443 [fd00::5]:443 ");
	names_free(n);
}

/* Freed at every moment of a round: nothing comes, and nothing leaks. */
static void test_freed(void)
{
	struct settings_name names[] = {{good_a, 6443}, {good_b, 443}};
	const struct settings settings = {.names = names, .n_names = ARRAY_SIZE(names)};

	n_found = 0;
	for (int i = 0; i < 200; i++) {
		struct names *n = names_new(ev, &settings, US_PER_S, on_found, found);

		for (int k = 0; k < i % 3; k++)
			ev_run(ev, EVRUN_NOWAIT);
		for (volatile int spin = 0; spin < i * 500; spin++)
			;
		names_free(n);
	}
	n_found = 0;
	turn_for(ev, 50 * US_PER_MS);
	CHECK_EQ_INT(n_found, 0);
	names_free(NULL);
}

int main(void)
{
	(void) signal(SIGPIPE, SIG_IGN);
	ev = ev_loop_new(EVFLAG_AUTO);
	test_resolved();
	test_not_resolved();
	test_last_good();
	test_freed();
	ev_loop_destroy(ev);
	return check_result();
}
