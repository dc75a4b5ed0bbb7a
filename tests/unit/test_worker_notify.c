/* SPDX-License-Identifier: Apache-2.0 */
/* What a file has in place of a webhook's URL is neither asked for nor told. */
#include <jansson.h>
#include <sys/wait.h>

#include "etcdwatch/worker/commands.h"
#include "tests/unit/scratch.h"

/* The subcommand in a process of its own, which has that order as its input; its last line. */
static json_t *notify_by(const char *order)
{
	static char program[] = "etcdwatch-worker", name[] = "notify";
	char *argv[] = {program, name, NULL};
	int status = -1;
	pid_t pid;

	(void) scratch_shell("printf '%%s' '%s' >order", order);
	pid = fork();
	if (pid == 0) {
		if (freopen("order", "re", stdin) == NULL || freopen("said", "we", stdout) == NULL)
			_exit(2);
		exit(commands_run(2, argv));
	}
	CHECK_EQ_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILURE);
	return json_load_file("said", 0, NULL);
}

static void check_refused(const char *line, const char *want)
{
	json_t *said;
	const char *reason;

	(void) scratch_shell("printf '%%s\\n' '%s' >hook", line);
	said = notify_by(
	    "{\"url_file\": \"hook\", \"timeout_ms\": 5000, \"id\": \"1\", \"body\": \"{}\"}");
	reason = json_string_value(json_object_get(said, "reason"));
	CHECK_EQ_STR(json_string_value(json_object_get(said, "error")), "WEBHOOK_FAILED");
	CHECK_EQ_STR(reason, want);
	CHECK(line[0] == '\0' || reason == NULL || strstr(reason, line) == NULL);
	json_decref(said);
}

static void test_files(void)
{
	static const struct {
		const char *line, *wrong;
	} cases[] = {
	    {"127.0.0.1:1/etcd?token=t0psecret", "does not begin with https:// or http://"},
	    /* As if it were in the other's file. */
	    {"whsec_c2VjcmV0LnNlY3JldC5zZWNyZXQ=", "does not begin with https:// or http://"},
	    {"", "does not begin with https:// or http://"},
	    {"file:///etc/passwd", "does not begin with https:// or http://"},
	    {"https://t0psecret@127.0.0.1:1/", "has a user name in it"},
	    {"https://127.0.0.1:1/ t0psecret", "has a space or a character beyond ASCII"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) char *want = xasprintf("what 'hook' holds %s", cases[i].wrong);

		check_refused(cases[i].line, want);
	}
}

/* Nobody is there, but it was tried. */
static void test_good(void)
{
	json_t *said;
	const char *reason;

	(void) scratch_shell("printf 'http://127.0.0.1:1/etcd\\r\\n' >hook");
	said = notify_by(
	    "{\"url_file\": \"hook\", \"timeout_ms\": 60000, \"id\": \"1\", \"body\": \"{}\"}");
	reason = json_string_value(json_object_get(said, "reason"));
	CHECK_EQ_STR(json_string_value(json_object_get(said, "error")), "WEBHOOK_FAILED");
	if (!CHECK(reason != NULL && strstr(reason, "connect") != NULL))
		(void) fprintf(stderr, "  '%s'\n", reason != NULL ? reason : "");
	json_decref(said);
}

int main(void)
{
	scratch_enter();
	test_files();
	test_good();
	scratch_leave();
	return check_result();
}
