/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe process as prism sees it: the real one before a real server, killed, stopped, orphaned.
 * test_prism_checker_scripts.c has others in its place.
 */
#include "prism/checker.h"

#include <limits.h>

#include "tests/unit/checkerworld.h"

#define HASTY_US (2 * US_PER_S) /* how long a question may take where a test waits for that */

static int silent_port, closed_port;
static char *probe_program; /* build/bin/prism-probe of the same build */
static char cert_file[64], key_file[64], members_file[64];

/* For those whose time is to be up. */
static struct config make_hasty_config(void)
{
	struct config config = make_config();

	config.health.timeout_us = HASTY_US;
	return config;
}

/* Asks once and waits for the answer. */
static void ask(struct checker *checker, uint64_t id, int port)
{
	struct endpoint endpoint = at(port);
	unsigned n = n_verdicts;

	CHECK(checker_probe(checker, id, &endpoint));
	if (wait_for(&n_verdicts, n + 1))
		CHECK_EQ_INT(last_id, id);
}

/* Until it answers in time, which on a busy machine may be the second time. */
static void ask_until_ready(struct checker *checker, uint64_t id, int port)
{
	int64_t deadline_us = mono_now_us() + WAIT_US;

	do
		ask(checker, id, port);
	while (last_evidence != JUDGE_PROBE_READY && mono_now_us() < deadline_us);
	CHECK_EQ_INT(last_evidence, JUDGE_PROBE_READY);
}

static void test_verdicts(void)
{
	struct config config = make_hasty_config();
	AUTO(checker_free) struct checker *checker = begin(probe_program, &config);

	CHECK(checker_is_running(checker));
	ask_until_ready(checker, 1, server.port);
	CHECK_EQ_STR(last_reason, "readyz 200");
	ask(checker, 2, closed_port);
	CHECK_EQ_INT(last_evidence, JUDGE_PROBE_DOWN);
	ask(checker, UINT64_MAX, silent_port);
	CHECK_EQ_INT(last_evidence, JUDGE_PROBE_SILENT);
	CHECK_EQ_INT(n_lost, 0);
	CHECK_EQ_INT(checker_restarts(checker), 0);
}

/* Client certificates rotate under a process that was told their names once. */
static void test_rotation(void)
{
	struct config config = make_config();
	struct checker *checker;

	(void) strcpy(path, "/who");
	config.health.client_cert_file = cert_file;
	config.health.client_key_file = key_file;
	checker = begin(probe_program, &config);
	ask(checker, 1, server.port);
	CHECK_EQ_STR(last_reason, "readyz 500: CN=prober failed");
	nginx_make_cert(&server, "ca", "renewed", "renewed");
	nginx_shell(&server, "mv renewed.crt client.crt && mv renewed.key client.key");
	ask(checker, 2, server.port);
	CHECK_EQ_STR(last_reason, "readyz 500: CN=renewed failed");
	checker_free(checker);
	(void) strcpy(path, "/200");
}

static void test_sources(void)
{
	static const char good[] = "{\"members\":[{\"clientURLs\":[\"https://10.0.0.5:2379\"]}]}";
	struct config config = make_config();
	AUTO(free) char *error = xasprintf("%s: the list has no members", members_file);
	struct checker *checker;

	config.sources.members_file = members_file;
	CHECK_EQ_INT(file_write_atomic(members_file, "{\"members\":[]}", 14, 0600, FILE_VOLATILE), 0);
	checker = begin(probe_program, &config);
	CHECK_EQ_STR(checker_source_error(checker, ENDPOINTS_MEMBERS), "");
	wait_members_error(checker, error);
	CHECK_EQ_STR(checker_source_error(checker, ENDPOINTS_SLICES), "");
	CHECK_EQ_INT(n_lists, 0);
	checker_free(checker);

	CHECK_EQ_INT(file_write_atomic(members_file, good, strlen(good), 0600, FILE_VOLATILE), 0);
	checker = begin(probe_program, &config);
	if (wait_for(&n_lists, 1)) {
		struct endpoint want;

		CHECK_EQ_INT(endpoint_parse("10.0.0.5:6443", 0, &want), 0);
		CHECK_EQ_INT(last_source, ENDPOINTS_MEMBERS);
		CHECK(last_list.n == 1 && endpoint_equal(&last_list.items[0], &want));
	}
	checker_free(checker);
}

/* Killed, with a question open: lost, once; and a new one answers. */
static void test_killed(void)
{
	struct config config = make_hasty_config();
	AUTO(checker_free) struct checker *checker = begin(probe_program, &config);
	struct endpoint hung = at(silent_port);
	int64_t start_us, stolen_before_us;

	for (unsigned i = 1; i <= 3; i++) {
		pid_t pid = child_of(getpid());

		ask_until_ready(checker, i * 10, server.port);
		CHECK(checker_probe(checker, i * 10 + 1, &hung));
		start_us = mono_now_us();
		stolen_before_us = stolen_us();
		CHECK_EQ_INT(kill(pid, SIGKILL), 0);
		wait_for(&n_lost, i);
		CHECK_EQ_INT(n_lost, i);
		CHECK(!checker_is_running(checker));
		CHECK(!checker_probe(checker, i * 10 + 2, &hung));
		checker_forget(checker, &hung);
		wait_running(checker, i);
		/* A tenth of a second, then twice as long each time. */
		CHECK(mono_now_us() - start_us >= (50 << i) * US_PER_MS);
		CHECK(mono_now_us() - start_us <
		      ((50 << i) + 500) * US_PER_MS + stolen_since_us(stolen_before_us));
		CHECK(is_gone(pid));
	}
	ask_until_ready(checker, 99, server.port);
	/* What was open is forgotten, and makes nobody overdue. */
	turn_for(ev, 3 * HASTY_US + 200 * US_PER_MS);
	CHECK_EQ_INT(n_lost, 3);
}

/* Stopped, it answers nothing: killed after three timeouts, and not before. */
static void test_stopped(void)
{
	struct config config = make_hasty_config();
	AUTO(checker_free) struct checker *checker = begin(probe_program, &config);
	struct endpoint good = at(server.port);
	int64_t start_us, stolen_before_us;

	ask_until_ready(checker, 1, server.port);
	CHECK_EQ_INT(kill(child_of(getpid()), SIGSTOP), 0);
	turn_for(ev, 3 * HASTY_US + 200 * US_PER_MS);
	/* Nothing is open, so nothing is overdue. */
	CHECK_EQ_INT(n_lost, 0);
	start_us = mono_now_us();
	stolen_before_us = stolen_us();
	CHECK(checker_probe(checker, 2, &good));
	wait_for(&n_lost, 1);
	CHECK(mono_now_us() - start_us >= 3 * HASTY_US);
	CHECK(mono_now_us() - start_us < 4 * HASTY_US + stolen_since_us(stolen_before_us));
	wait_running(checker, 1);
	ask_until_ready(checker, 3, server.port);
}

/* What ends a service's processes does not end this one before prism. */
static void test_signals(void)
{
	struct config config = make_config();
	AUTO(checker_free) struct checker *checker = begin(probe_program, &config);
	pid_t pid = child_of(getpid());

	ask(checker, 1, server.port);
	CHECK(kill(pid, SIGTERM) == 0 && kill(pid, SIGINT) == 0 && kill(pid, SIGHUP) == 0);
	turn_for(ev, 100 * US_PER_MS);
	ask(checker, 2, server.port);
	CHECK_EQ_INT(n_lost, 0);
	checker_free(TAKE_PTR(checker));
	CHECK(is_gone(pid));
	CHECK_EQ_INT(waitpid(pid, NULL, 0), -1);
}

/* prism is killed: the probe process ends by itself. */
static void test_orphaned(void)
{
	struct config config = make_config();
	int64_t deadline_us = mono_now_us() + WAIT_US;
	pid_t prism, probe;

	prism = fork();
	if (prism == 0) {
		ev_loop_fork(ev);
		(void) begin(probe_program, &config);
		for (;;)
			turn_once(ev);
	}
	do {
		(void) usleep(10 * 1000);
		probe = child_of(prism);
	} while (probe == 0 && mono_now_us() < deadline_us);
	CHECK(probe > 0);
	CHECK_EQ_INT(kill(prism, SIGKILL), 0);
	(void) waitpid(prism, NULL, 0);
	while (!is_gone(probe) && mono_now_us() < deadline_us)
		(void) usleep(10 * 1000);
	CHECK(is_gone(probe));
}

static void test_freed_in_callbacks(void)
{
	struct config config = make_config();
	struct endpoint good = at(server.port);
	struct checker *checker;

	checker = begin(probe_program, &config);
	free_in_callback = checker;
	CHECK(checker_probe(checker, 1, &good));
	wait_for(&n_verdicts, 1);
	CHECK(free_in_callback == NULL);

	checker = begin(probe_program, &config);
	free_in_callback = checker;
	CHECK_EQ_INT(kill(child_of(getpid()), SIGKILL), 0);
	wait_for(&n_lost, 1);
	CHECK(free_in_callback == NULL);
	turn_for(ev, 50 * US_PER_MS);
}

static void start(void)
{
	char self[PATH_MAX] = "";

	CHECK(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	*strstr(self, "/tests/unit/") = '\0';
	probe_program = xasprintf("%s/bin/prism-probe", self);
	(void) nginx_listen(512, &silent_port);
	(void) close(nginx_listen(1, &closed_port));
	(void) snprintf(cert_file, sizeof(cert_file), "%s/client.crt", server.dir);
	(void) snprintf(key_file, sizeof(key_file), "%s/client.key", server.dir);
	(void) snprintf(members_file, sizeof(members_file), "%s/members.json", server.dir);
}

int main(void)
{
	checkerworld_begin();
	start();
	test_verdicts();
	test_rotation();
	test_sources();
	test_killed();
	test_stopped();
	test_signals();
	test_orphaned();
	test_freed_in_callbacks();
	checkerworld_end();
	free(probe_program);
	return check_result();
}
