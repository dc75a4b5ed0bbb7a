/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What prism does with a probe process that behaves as it must not: shell scripts in its place.
 */
#include "prism/checker.h"

#include <fcntl.h>

#include "tests/unit/checkerworld.h"

static const char *write_script(const char *text)
{
	AUTO(free) char *whole = xasprintf("#!/bin/sh\n%s\n", text);

	CHECK_EQ_INT(file_write_atomic(script, whole, strlen(whole), 0700, FILE_VOLATILE), 0);
	return script;
}

#define SAY(json) "printf '%s' '" json "' >&3\n"
#define DNS_LIST "{\"type\":\"endpoints\",\"source\":\"dns\",\"endpoints\":[\"10.0.0.5:6443\"]}"
#define LIST(source) \
	SAY("{\"type\":\"endpoints\",\"source\":\"" source "\",\"endpoints\":[\"10.0.0.5:6443\"]}")

/* Each says something that ends it. */
static void test_garbage(void)
{
	static const char *const texts[] = {
	    SAY("hello"),
	    SAY("{}"),
	    SAY("{\"type\":\"verdict\",\"id\":1,\"verdict\":\"ready\"}"),
	    SAY("{\"type\":\"endpoints\",\"source\":\"slices\",\"endpoints\":[]}"),
	    SAY("{\"type\":\"endpoints\",\"source\":\"static\",\"endpoints\":[\"10.0.0.5:6443\"]}"),
	    "{ printf '%s' '" DNS_LIST "'; head -c 8193 /dev/zero | tr '\\0' ' '; } | "
	    "dd bs=9000 iflag=fullblock 2>&- >&3\n",
	    "exec 3>&-\n",
	};
	struct config config = make_config();

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		AUTO(free) char *text = xasprintf("%sexec sleep 1000", texts[i]);
		AUTO(checker_free) struct checker *checker = begin(write_script(text), &config);
		pid_t pid = child_of(getpid());

		if (!wait_for(&n_lost, 1))
			(void) fprintf(stderr, "  %s\n", texts[i]);
		CHECK(!checker_is_running(checker));
		wait_running(checker, 1);
		CHECK(is_gone(pid));
		CHECK_EQ_INT(n_verdicts + n_lists, 0);
	}
}

/* An error stands until there is a list again. */
static void test_source_recovers(void)
{
	struct config config = make_config();
	AUTO(checker_free)
	struct checker *checker =
	    begin(write_script(SAY("{\"type\":\"endpoints\",\"source\":\"members\",\"error\":"
	                           "\"why\"}") "sleep 0.2\n" LIST("members") "exec sleep 1000"),
	          &config);

	wait_members_error(checker, "why");
	CHECK_EQ_INT(n_lists, 0);
	wait_for(&n_lists, 1);
	CHECK_EQ_STR(checker_source_error(checker, ENDPOINTS_MEMBERS), "");
}

/* What nobody asked is passed over, and is no reason to end it. */
static void test_unknown_id(void)
{
	struct config config = make_config();
	AUTO(checker_free)
	struct checker *checker = begin(
	    write_script(SAY("{\"type\":\"verdict\",\"id\":7,\"verdict\":\"ready\",\"reason\":\"\","
	                     "\"rttUs\":0}") LIST("dns") "exec sleep 1000"),
	    &config);

	wait_for(&n_lists, 1);
	CHECK_EQ_INT(last_source, ENDPOINTS_DNS);
	CHECK_EQ_INT(n_verdicts, 0);
	CHECK_EQ_INT(n_lost, 0);
	CHECK(checker_is_running(checker));
}

/* An id is answered once, also by one that says it twice. */
static void test_answered_twice(void)
{
	struct config config = make_config();
	struct endpoint good = at(server.port);
	AUTO(checker_free) struct checker *checker = NULL;

	checker =
	    begin(write_script("sleep 0.3\n" SAY("{\"type\":\"verdict\",\"id\":7,\"verdict\":"
	                                         "\"ready\",\"reason\":\"x\",\"rttUs\":1}")
	                           SAY("{\"type\":\"verdict\",\"id\":7,\"verdict\":\"down\","
	                               "\"reason\":\"y\",\"rttUs\":1}") LIST("dns") "exec sleep 1000"),
	          &config);
	CHECK(checker_probe(checker, 7, &good));
	wait_for(&n_lists, 1);
	CHECK_EQ_INT(n_verdicts, 1);
	CHECK_EQ_STR(last_reason, "x");
}

/* One that reads nothing: prism does not wait for it, and asks it no more than it may. */
static void test_never_blocks(void)
{
	struct config config = make_config();
	AUTO(checker_free) struct checker *checker = NULL;
	struct endpoint good = at(server.port);
	int64_t start_us, stolen_before_us = stolen_us();
	unsigned sent = 0;

	config.health.timeout_us = 100 * US_PER_S;
	checker = begin(write_script("exec sleep 1000"), &config);
	start_us = mono_now_us();
	for (unsigned i = 0; i < 20000; i++)
		checker_forget(checker, &good);
	for (unsigned i = 0; i < 200; i++)
		sent += checker_probe(checker, i, &good);
	CHECK_EQ_INT(sent, 0);
	checker_free(checker);
	checker = begin(script, &config);
	for (unsigned i = 0; i < 200; i++)
		sent += checker_probe(checker, i, &good);
	CHECK_EQ_INT(sent, CHECKER_PROBES_MAX);
	CHECK(mono_now_us() - start_us < 2 * US_PER_S + stolen_since_us(stolen_before_us));
	CHECK(checker_is_running(checker));
}

/* One that cannot live is started again, less and less often. */
static void test_backoff(void)
{
	struct config config = make_config();
	AUTO(checker_free) struct checker *checker = NULL;
	int64_t start_us = mono_now_us();

	checker = begin(write_script("exit 3"), &config);
	/* After 100, 200, 400, 800 ms. */
	wait_for(&n_lost, 5);
	CHECK_EQ_INT(checker_restarts(checker), 4);
	CHECK(mono_now_us() - start_us >= 1490 * US_PER_MS);
	/* And when its program is gone, it is tried again all the same. */
	CHECK_EQ_INT(unlink(script), 0);
	turn_for(ev, 2000 * US_PER_MS);
	CHECK_EQ_INT(checker_restarts(checker), 4);
	(void) write_script("exec sleep 1000");
	wait_running(checker, 5);
}

/* It gets its socket and our standard error, no client's connection, and no signals of ours; and
 * word that GnuTLS is not needed. */
static void test_inherited(void)
{
	/* A subshell looks, so that what it needs for itself is not in the list. */
	AUTO(free)
	char *text =
	    xasprintf("cd %s\n(ls /proc/$$/fd; readlink /proc/$$/fd/0 /proc/$$/fd/1;\n"
	              "sed -n 's/^\\(Sig[BI][lg].\\).*\\(....\\)$/\\1 \\2/p' /proc/$$/status;\n"
	              "echo $GNUTLS_NO_IMPLICIT_INIT) >fds\n%s",
	              server.dir, LIST("dns") "exec sleep 1000");
	AUTO(free) char *file = xasprintf("%s/fds", server.dir);
	AUTO(free) char *got = NULL;
	struct config config = make_config();
	struct checker *checker;
	int fds[20];
	sigset_t blocked;
	size_t len;

	(void) sigemptyset(&blocked);
	(void) sigaddset(&blocked, SIGUSR1);
	(void) sigprocmask(SIG_BLOCK, &blocked, NULL);

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = open("/dev/zero", O_RDONLY); /* not close-on-exec */
	checker = begin(write_script(text), &config);
	wait_for(&n_lists, 1);
	CHECK_EQ_INT(file_read(file, 4096, &got, &len), 0);
	/* The shell has the script itself as 10. */
	CHECK_EQ_STR(got, "0\n1\n10\n2\n3\n/dev/null\n/dev/null\n"
	                  "SigBlk 0000\nSigIgn 0000\n1\n");
	(void) sigprocmask(SIG_UNBLOCK, &blocked, NULL);
	checker_free(checker);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		(void) close(fds[i]);
}

static void test_cannot_start(void)
{
	struct config config = make_config();
	struct checker *checker = NULL;

	CHECK_EQ_INT(checker_new(ev, "/nonexistent/prism-probe", &config, &callbacks, NULL, &checker),
	             -ENOENT);
	CHECK(checker == NULL);
	checker_free(NULL);
}

int main(void)
{
	checkerworld_begin();
	test_garbage();
	test_source_recovers();
	test_unknown_id();
	test_answered_twice();
	test_never_blocks();
	test_backoff();
	test_inherited();
	test_cannot_start();
	checkerworld_end();
	return check_result();
}
