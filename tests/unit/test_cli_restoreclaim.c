/* SPDX-License-Identifier: Apache-2.0 */
/* Claims of two commands on one node, and whether the one that left its claim still runs. */
#include "cli/restore/restorestate.h"

#include <sys/wait.h>

#include "base/macro.h"
#include "base/mem.h"
#include "cli/common/cli.h"
#include "tests/unit/check.h"
#include "tests/unit/scratch.h"

static struct texts none;

static bool holds(const json_t *claim)
{
	json_t *present = NULL;
	bool same;

	CHECK_EQ_INT(restoreclaim_read(scratch_dir, &present), CLI_OK);
	same = claim == NULL ? present == NULL : json_equal(present, claim);
	json_decref(present);
	return same;
}

static void test_two_commands(void)
{
	json_t *first = restoreclaim_new(), *second = restoreclaim_new();
	struct texts replaces = {0};

	CHECK(!json_equal(first, second));
	CHECK(holds(NULL));
	CHECK_EQ_INT(restoreclaim_check(scratch_dir, first), CLI_FAILED);
	CHECK_EQ_INT(restoreclaim_take(scratch_dir, first, &none), CLI_OK);
	CHECK(holds(first));
	CHECK_EQ_INT(restoreclaim_check(scratch_dir, first), CLI_OK);
	CHECK_EQ_INT(restoreclaim_take(scratch_dir, first, &none), CLI_OK);

	CHECK_EQ_INT(restoreclaim_check(scratch_dir, second), CLI_FAILED);
	CHECK_EQ_INT(restoreclaim_check(scratch_dir, NULL), CLI_FAILED);
	CHECK_EQ_INT(restoreclaim_take(scratch_dir, second, &none), CLI_FAILED);
	CHECK_EQ_INT(restoreclaim_drop(scratch_dir, second), CLI_OK);
	CHECK_EQ_INT(restoreclaim_drop(scratch_dir, NULL), CLI_OK);
	CHECK(holds(first));

	/* The claim that it saw is not the one that is there now. */
	texts_add(&replaces, "0123456789abcdef");
	CHECK_EQ_INT(restoreclaim_take(scratch_dir, second, &replaces), CLI_FAILED);
	texts_add(&replaces, "%s", json_string_value(json_object_get(first, "id")));
	CHECK_EQ_INT(restoreclaim_take(scratch_dir, second, &replaces), CLI_OK);
	CHECK_EQ_INT(restoreclaim_check(scratch_dir, first), CLI_FAILED);
	CHECK_EQ_INT(restoreclaim_drop(scratch_dir, first), CLI_OK);
	CHECK(holds(second));
	CHECK_EQ_INT(restoreclaim_drop(scratch_dir, second), CLI_OK);
	CHECK(holds(NULL));
	CHECK_EQ_INT(restoreclaim_drop(scratch_dir, second), CLI_OK);
	texts_fini(&replaces);
	json_decref(first);
	json_decref(second);
}

static void test_damaged(void)
{
	static const char *const texts[] = {"", "{", "[]", "{}", "{\"id\": 7}"};
	json_t *own = restoreclaim_new(), *read = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		(void) scratch_shell("printf '%%s' '%s' >claim.json", texts[i]);
		CHECK_EQ_INT(restoreclaim_read(scratch_dir, &read), CLI_FAILED);
		CHECK_EQ_INT(restoreclaim_take(scratch_dir, own, &none), CLI_FAILED);
		CHECK(read == NULL);
	}
	(void) scratch_shell("rm claim.json");
	json_decref(own);
}

/* As a command that was killed leaves it. */
static json_t *claim_of_ended(void)
{
	json_t *claim = NULL;
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		claim = restoreclaim_new();
		_exit(restoreclaim_take(scratch_dir, claim, &none) == CLI_OK ? 0 : 1);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK_EQ_INT(restoreclaim_read(scratch_dir, &claim), CLI_OK);
	return claim;
}

static void test_dead(void)
{
	json_t *own = restoreclaim_new(), *ended = claim_of_ended(), *changed;

	CHECK(!restoreclaim_is_dead(own));
	CHECK(restoreclaim_is_dead(ended));
	/* Another process has its number now. */
	(void) json_object_set_new(ended, "pid", json_integer(getpid()));
	CHECK(restoreclaim_is_dead(ended));
	(void) json_object_set_new(ended, "host", json_string("another"));
	CHECK(!restoreclaim_is_dead(ended));
	changed = json_deep_copy(own);
	(void) json_object_set_new(changed, "boot", json_string("before"));
	CHECK(restoreclaim_is_dead(changed));
	json_decref(changed);
	json_decref(own);
	json_decref(ended);
}

int main(void)
{
	scratch_enter();
	test_two_commands();
	test_damaged();
	test_dead();
	scratch_leave();
	return check_result();
}
