/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of prism's control socket, asked over a real socket. The daemon behind them is a
 * stand-in of this file: a report of two upstreams, and a note of what was drained.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/metricsport.h"
#include "base/mono.h"
#include "base/unixsock.h"
#include "prism/daemon.h"
#include "tests/unit/check.h"
#include "tests/unit/turn.h"

#define ANSWER_MAX 65536
#define WAIT_US TURN_LIMIT_US

static struct ev_loop *ev;
static char dir[] = "/tmp/fairlead-prism-XXXXXX";

/* --- the daemon's part --- */

static struct upstream first = {.name = "10.0.0.5:6443", .leaving_since_us = MONO_NEVER};
static struct upstream second = {.name = "[fd00::6]:6443", .leaving_since_us = MONO_NEVER};
static struct upstream *upstreams[] = {&first, &second};

void daemon_report(struct daemon *daemon UNUSED, struct report *ret_report)
{
	*ret_report = (struct report){.upstreams = upstreams, .n_upstreams = ARRAY_SIZE(upstreams)};
}

int daemon_drain(struct daemon *daemon UNUSED, const char *upstream, bool drained)
{
	for (size_t i = 0; i < ARRAY_SIZE(upstreams); i++) {
		if (strcmp(upstreams[i]->name, upstream) == 0) {
			upstreams[i]->drained = drained;
			return 0;
		}
	}
	return -ENOENT;
}

static char suspected[64];

int daemon_suspect(struct daemon *daemon UNUSED, const char *upstream, const char *reason)
{
	(void) snprintf(suspected, sizeof(suspected), "%s %s", upstream, reason);
	return strcmp(upstream, "local") == 0 || strcmp(upstream, first.name) == 0 ? 0 : -ENOENT;
}

static void fill_metrics(struct metrics *m, void *userdata UNUSED)
{
	struct report report;

	daemon_report(NULL, &report);
	report_metrics(m, &report);
}

/* --- the client's part --- */

/* The whole answer to one line; the caller frees. */
static char *ask(const char *line)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char *answer = xcalloc(1, ANSWER_MAX);
	int64_t deadline_us = mono_now_us() + WAIT_US;
	size_t len = 0;

	(void) snprintf(address.sun_path, sizeof(address.sun_path), "%s/prism.sock", dir);
	CHECK_EQ_INT(connect(fd, (const struct sockaddr *) &address, sizeof(address)), 0);
	CHECK_EQ_INT(send(fd, line, strlen(line), MSG_NOSIGNAL), strlen(line));
	(void) fcntl(fd, F_SETFL, O_NONBLOCK);
	while (mono_now_us() < deadline_us) {
		ssize_t n = recv(fd, answer + len, ANSWER_MAX - 1 - len, 0);

		if (n == 0)
			break;
		if (n > 0)
			len += (size_t) n;
		turn_once(ev);
	}
	CHECK(mono_now_us() < deadline_us);
	(void) close(fd);
	return answer;
}

/* Each of `want` must be in the answer, one behind the other; the last one ends it. */
static void check_answer(const char *line, const char *const *want, size_t n)
{
	AUTO(free) char *answer = ask(line);
	const char *at = answer;

	for (size_t i = 0; i < n && at != NULL; i++) {
		at = strstr(at, want[i]);
		if (!CHECK(at != NULL))
			(void) fprintf(stderr, "  no '%s' in the answer to %s%s", want[i], line, answer);
		else
			at += strlen(want[i]);
	}
	if (at != NULL && !CHECK_EQ_STR(at, ""))
		(void) fprintf(stderr, "  behind the end of the answer to %s", line);
}
#define CHECK_ANSWER(line, ...)                              \
	check_answer((line), (const char *const[]){__VA_ARGS__}, \
	             sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void test_status(void)
{
	CHECK_ANSWER("prism status\n", "{\"listeners\":[]", "}\n{\"upstream\":\"10.0.0.5:6443\"",
	             "}\n{\"upstream\":\"[fd00::6]:6443\"", "}\nok\n");
	CHECK_ANSWER("prism status 10.0.0.5:6443\n", "error usage prism status\n");
}

static void test_drain(void)
{
	CHECK_ANSWER("prism drain 10.0.0.5:6443\n", "{\"upstream\":\"10.0.0.5:6443\"",
	             "\"drained\":true", "}\nok\n");
	CHECK(first.drained && !second.drained);
	/* Another spelling of the same address. */
	CHECK_ANSWER("prism drain [FD00:0::6]:6443\n", "{\"upstream\":\"[fd00::6]:6443\"", "}\nok\n");
	CHECK(first.drained && second.drained);
	CHECK_ANSWER("prism undrain 10.0.0.5:6443\n", "\"drained\":false", "}\nok\n");
	CHECK(!first.drained && second.drained);

	CHECK_ANSWER("prism drain 10.0.0.7:6443\n", "error notfound no upstream '10.0.0.7:6443'", "\n");
	CHECK_ANSWER("prism drain cp-1\n", "error usage 'cp-1' is not ADDRESS:PORT\n");
	CHECK_ANSWER("prism drain 10.0.0.5\n", "error usage '10.0.0.5' is not ADDRESS:PORT\n");
	CHECK_ANSWER("prism drain\n", "error usage prism drain UPSTREAM\n");
	CHECK_ANSWER("prism undrain a b\n", "error usage prism undrain UPSTREAM\n");
	CHECK(!first.drained && second.drained);
}

static void test_suspect(void)
{
	char path[64];

	CHECK_ANSWER("prism suspect local \"no answer in time\"\n", "ok\n");
	CHECK_EQ_STR(suspected, "local no answer in time");
	CHECK_ANSWER("prism suspect 10.0.0.5:6443\n", "ok\n");
	CHECK_EQ_STR(suspected, "10.0.0.5:6443 ");
	/* Who does not wait for the answer is heard as well. */
	(void) snprintf(path, sizeof(path), "%s/prism.sock", dir);
	suspected[0] = '\0';
	CHECK_EQ_INT(unixsock_tell(path, "prism suspect local silent\n"), 0);
	turn_for(ev, 100 * US_PER_MS);
	CHECK_EQ_STR(suspected, "local silent");
	CHECK_ANSWER("prism suspect 10.0.0.7:6443\n", "error notfound no upstream '10.0.0.7:6443'",
	             "\n");
	CHECK_ANSWER("prism suspect cp-1\n",
	             "error usage 'cp-1' is neither ADDRESS:PORT nor 'local'\n");
	CHECK_ANSWER("prism suspect\n", "error usage prism suspect UPSTREAM|local [REASON]\n");
	CHECK_ANSWER("prism suspect local a b\n",
	             "error usage prism suspect UPSTREAM|local [REASON]\n");
}

static void test_others(void)
{
	CHECK_ANSWER("metrics\n", "{\"metrics\":\"# HELP fairlead_prism_build_info ",
	             "fairlead_prism_upstream_drained", "\"port\":null}\nok\n");
	/* What changes anything is root's; the socket itself refuses everybody else. */
	CHECK_ANSWER("help\n", "\"prism status\",\"usage\":\"\",\"changes\":false",
	             "\"prism drain\",\"usage\":\"UPSTREAM\",\"changes\":true",
	             "\"prism undrain\",\"usage\":\"UPSTREAM\",\"changes\":true",
	             "\"prism suspect\",\"usage\":\"UPSTREAM|local [REASON]\",\"changes\":false",
	             "\"metrics\",\"usage\":\"\",\"changes\":false", "}\nok\n");
}

int main(void)
{
	AUTO(free) char *path = NULL;
	struct service service = {.ops = &(const struct service_ops){.program = "prism"}};
	struct loop *loop;

	if (geteuid() != 0) {
		(void) fprintf(stderr, "test_prism_commands is for root: only root may drain\n");
		return 1;
	}
	CHECK(mkdtemp(dir) != NULL);
	path = xasprintf("%s/prism.sock", dir);
	CHECK_EQ_INT(loop_new(&loop), 0);
	ev = loop_ev(loop);
	service.loop = loop;
	service.metrics_port = metricsport_new(ev, fill_metrics, NULL);
	service.runtime_dir = "/nonexistent";
	CHECK_EQ_INT(daemon_open_commands(&service, NULL), -ENOENT);
	service.runtime_dir = dir;
	CHECK_EQ_INT(daemon_open_commands(&service, NULL), 0);

	test_status();
	test_drain();
	test_suspect();
	test_others();

	control_free(service.control);
	metricsport_free(service.metrics_port);
	CHECK(access(path, F_OK) < 0);
	CHECK_EQ_INT(rmdir(dir), 0);
	loop_free(loop);
	return check_result();
}
