/* SPDX-License-Identifier: Apache-2.0 */
/* The state file of a node: what is written is read again, also by another process, one process at
 * a time; what is damaged or does not follow is refused and stays as it was. And how long an owner
 * of a VIP of the old cluster is waited for. */
#include "cli/restore/restorestate.h"

#include <sys/stat.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/cli.h"
#include "cli/restore/restoredecide.h"
#include "tests/unit/check.h"
#include "tests/unit/scratch.h"

static char *dir;

static json_t *fields(void)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:i}", "token", "tok", "plan", "p",
	                 "member", "n1", "peer_urls", "https://10.0.0.1:2380", "data_dir",
	                 "/var/lib/etcd", "aside", "/var/lib/etcd.before", "inode", 7, "old_inode", 8);
}

static struct restorestate *open_state(bool to_write, int want)
{
	struct restorestate *state = NULL;

	CHECK_EQ_INT(restorestate_open(dir, to_write, &state), want);
	CHECK((state != NULL) == (want == CLI_OK));
	return state;
}

static void test_phases(void)
{
	static const enum restore_phase order[] = {RESTORE_PREPARED,  RESTORE_STOPPING,
	                                           RESTORE_STOPPED,   RESTORE_EXCHANGED,
	                                           RESTORE_RETURNING, RESTORE_RETURNED};
	AUTO(restorestate_free) struct restorestate *none = open_state(false, CLI_OK);
	struct stat st = {0};
	struct restorestate *state;

	CHECK(none != NULL && none->phase == RESTORE_NONE);
	state = open_state(true, CLI_OK);
	json_decref(state->fields);
	state->fields = fields();
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		AUTO(restorestate_free) struct restorestate *read = NULL;

		CHECK_EQ_INT(restorestate_advance(state, order[i]), CLI_OK);
		read = open_state(false, CLI_OK);
		CHECK(read != NULL && read->phase == order[i]);
		CHECK(read != NULL && restorestate_was(read, order[0]) && restorestate_was(read, order[i]));
		CHECK(read != NULL && !restorestate_was(read, RESTORE_STARTED));
	}
	CHECK_EQ_STR(restorestate_text(state, "member"), "n1");
	/* No way forward. */
	CHECK_EQ_INT(restorestate_advance(state, RESTORE_STARTED), CLI_FAILED);
	CHECK_EQ_INT(state->phase, RESTORE_RETURNED);
	CHECK(stat(state->path, &st) == 0 && (st.st_mode & 07777) == 0600);
	CHECK(stat(dir, &st) == 0 && (st.st_mode & 07777) == 0700);
	/* Another process. */
	CHECK(open_state(true, CLI_FAILED) == NULL);
	CHECK_EQ_INT(restorestate_advance(state, RESTORE_NONE), CLI_OK);
	CHECK(!scratch_exists("lib/restore/state.json"));
	CHECK_EQ_INT(json_object_size(state->fields), 0);
	restorestate_free(state);
}

static void test_damaged(void)
{
	static const char *const texts[] = {
	    "",
	    "{",
	    "[]",
	    "{\"phase\": \"halfway\"}",
	    "{\"phase\": \"stopped\"}",
	    ("{\"phase\": \"stopped\", \"token\": \"t\", \"plan\": \"p\", \"member\": \"m\", "
	     "\"peer_urls\": \"u\", \"data_dir\": \"d\", \"aside\": \"a\", \"inode\": \"7\"}"),
	    ("{\"phase\": \"stopped\", \"token\": \"t\", \"plan\": \"p\", \"member\": \"m\", "
	     "\"peer_urls\": \"u\", \"data_dir\": \"d\", \"aside\": \"a\", \"inode\": 7}"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		(void) scratch_shell("printf '%%s' '%s' >lib/restore/state.json", texts[i]);
		CHECK(open_state(true, CLI_FAILED) == NULL);
		CHECK(open_state(false, CLI_FAILED) == NULL);
		CHECK(scratch_exists("lib/restore/state.json"));
	}
	(void) scratch_shell("rm lib/restore/state.json");
}

/* --- fences --- */

static int64_t wait_ms(const char *vips)
{
	json_t *array = json_loads(vips, 0, NULL);
	int64_t wait_us = restorefence_wait_us(array);

	CHECK(array != NULL);
	json_decref(array);
	return wait_us / US_PER_MS;
}

static void test_fences(void)
{
	json_t *vips = json_loads("[{\"vip\": \"10.0.0.5\", \"state\": \"owner\"},"
	                          " {\"vip\": \"10.0.0.6\", \"state\": \"taking\","
	                          "  \"fence_left_ms\": null},"
	                          " {\"vip\": \"10.0.0.7\", \"fence_left_ms\": 12}]",
	                          0, NULL);
	struct texts holders = {0};

	/* 2560 * 1.001 / 0.999 / 0.899 + 10 = 2863.3, as timing_take_at() of vipd has it. */
	CHECK_EQ_INT(wait_ms("[{\"fence_window_ms\": 2500, \"fence_late_ms\": 60}]"), 2865);
	CHECK_EQ_INT(wait_ms("[{\"fence_window_ms\": 2500, \"fence_late_ms\": 60},"
	                     " {\"fence_window_ms\": 60000, \"fence_late_ms\": 1250}, {}]"),
	             68279);
	CHECK(wait_ms("[]") > 6250);
	CHECK(wait_ms("[{}]") > 6250);
	restorefence_look("cp-1", vips, &holders);
	CHECK_EQ_INT(holders.n, 2);
	CHECK_EQ_STR(holders.items[0], "cp-1 holds 10.0.0.5");
	CHECK_EQ_STR(holders.items[1], "cp-1 holds 10.0.0.7");
	texts_fini(&holders);
	json_decref(vips);
}

int main(void)
{
	scratch_enter();
	dir = xasprintf("%s/lib/restore", scratch_dir);
	test_phases();
	test_damaged();
	test_fences();
	free(dir);
	scratch_leave();
	return check_result();
}
