/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe process as prism sees it: the real one before a real server, killed, stopped, orphaned;
 * and shell scripts in its place that behave as it must not.
 */
#include "prism/checker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
#define HASTY_US US_PER_S /* how long a question may take where a test waits for that */

static struct ev_loop *ev;
static struct nginx server;
static int silent_port, closed_port;
static char *probe_program; /* build/bin/prism-probe of the same build */
static char script[64], ca_file[64], cert_file[64], key_file[64], members_file[64];
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

static struct config make_config(void)
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

/* For those whose time is to be up. */
static struct config make_hasty_config(void)
{
	struct config config = make_config();

	config.health.timeout_us = HASTY_US;
	return config;
}

static struct checker *begin(const char *program, const struct config *config)
{
	struct checker *checker = NULL;

	n_verdicts = n_lists = n_lost = 0;
	CHECK_EQ_INT(checker_new(ev, program, config, &callbacks, (void *) script, &checker), 0);
	return checker;
}

/* Turns until *counter is n. */
static bool wait_for(const unsigned *counter, unsigned n)
{
	int64_t deadline_us = mono_now_us() + WAIT_US;

	while (*counter < n && mono_now_us() < deadline_us)
		turn_once(ev);
	return CHECK(*counter >= n);
}

static void wait_running(const struct checker *checker, unsigned restarts)
{
	int64_t deadline_us = mono_now_us() + WAIT_US;

	while ((!checker_is_running(checker) || checker_restarts(checker) < restarts) &&
	       mono_now_us() < deadline_us)
		turn_once(ev);
	CHECK(checker_is_running(checker) && checker_restarts(checker) >= restarts);
}

static struct endpoint at(int port)
{
	struct endpoint e = {.port = (uint16_t) port};

	CHECK_EQ_INT(addr_parse("127.0.0.1", &e.addr), 0);
	return e;
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

/* The one child of a process; 0: it has none. */
static pid_t child_of(pid_t parent)
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

static bool is_gone(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == ESRCH;
}

/* --- the real one ----------------------------------------------------------------------------- */

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

static void wait_members_error(const struct checker *checker, const char *want)
{
	int64_t deadline_us = mono_now_us() + WAIT_US;

	while (strcmp(checker_source_error(checker, ENDPOINTS_MEMBERS), want) != 0 &&
	       mono_now_us() < deadline_us)
		turn_once(ev);
	CHECK_EQ_STR(checker_source_error(checker, ENDPOINTS_MEMBERS), want);
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

/* --- others in its place ---------------------------------------------------------------------- */

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

static void start(void)
{
	char self[PATH_MAX] = "";

	CHECK(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	*strstr(self, "/tests/unit/") = '\0';
	probe_program = xasprintf("%s/bin/prism-probe", self);
	nginx_init(&server);
	(void) nginx_listen(512, &silent_port);
	(void) close(nginx_listen(1, &closed_port));
	(void) snprintf(script, sizeof(script), "%s/script", server.dir);
	(void) snprintf(ca_file, sizeof(ca_file), "%s/ca.crt", server.dir);
	(void) snprintf(cert_file, sizeof(cert_file), "%s/client.crt", server.dir);
	(void) snprintf(key_file, sizeof(key_file), "%s/client.key", server.dir);
	(void) snprintf(members_file, sizeof(members_file), "%s/members.json", server.dir);
	nginx_start(&server, "location /200 { return 200 ok; }\n"
	                     "location /who { return 500 \"[-]$ssl_client_s_dn failed\"; }\n");
}

int main(void)
{
	(void) signal(SIGPIPE, SIG_IGN);
	log_set_level(LOG_LEVEL_ERROR);
	ev = ev_default_loop(EVFLAG_AUTO);
	start();
	test_verdicts();
	test_rotation();
	test_sources();
	test_killed();
	test_stopped();
	test_signals();
	test_orphaned();
	test_freed_in_callbacks();
	test_garbage();
	test_source_recovers();
	test_unknown_id();
	test_answered_twice();
	test_never_blocks();
	test_backoff();
	test_inherited();
	test_cannot_start();
	nginx_fini(&server);
	free(probe_program);
	ev_loop_destroy(ev);
	return check_result();
}
