/* SPDX-License-Identifier: Apache-2.0 */
/* etcd's members from a file and from a real control socket. */
#include "prism/probe/members.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/control.h"
#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "tests/unit/check.h"
#include "tests/unit/turn.h"

#define WAIT_US TURN_LIMIT_US
#define INTERVAL_US (30 * US_PER_MS)

static struct ev_loop *ev;
static char dir[] = "/tmp/fairlead-members-XXXXXX";
static char file_path[64], socket_path[64];
static unsigned n_found;
static char found[512]; /* "10.0.0.5:6443 ", or "error: ..." */

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

/* By a look that began after the call. */
static void expect(const char *want)
{
	unsigned n = n_found + 2;
	int64_t deadline_us = mono_now_us() + WAIT_US;

	while (n_found < n && mono_now_us() < deadline_us)
		turn_once(ev);
	CHECK(n_found >= n);
	CHECK_EQ_STR(found, want);
}

static void write_members(const char *url)
{
	AUTO(free) char *text = xasprintf("{\"members\":[{\"clientURLs\":[\"%s\"]}]}\n", url);

	CHECK_EQ_INT(file_write_atomic(file_path, text, strlen(text), 0600, FILE_VOLATILE), 0);
}

static void test_file(void)
{
	const struct settings settings = {.members_file = file_path, .members_port = 6443};
	AUTO(free) char *gone = xasprintf("error: %s: No such file or directory", file_path);
	AUTO(free)
	char *bad =
	    xasprintf("error: %s: it is not what 'etcdctl member list -w json' prints", file_path);
	AUTO(free) char *big = xasprintf("error: %s: File too large", file_path);
	AUTO(free) char *huge = xcalloc(2 << 20, 1);
	struct members *m = members_new(ev, &settings, INTERVAL_US, on_found, found);

	CHECK_EQ_INT(n_found, 0);
	expect(gone);
	write_members("https://10.0.0.5:2379");
	expect("10.0.0.5:6443 ");
	/* A change is seen, whatever its size. */
	write_members("https://10.0.0.6:2379");
	expect("10.0.0.6:6443 ");
	CHECK_EQ_INT(file_write_atomic(file_path, "{", 1, 0600, FILE_VOLATILE), 0);
	expect(bad);
	CHECK_EQ_INT(file_write_atomic(file_path, huge, 2 << 20, 0600, FILE_VOLATILE), 0);
	expect(big);
	write_members("https://10.0.0.5:2379");
	expect("10.0.0.5:6443 ");
	members_free(m);
}

/* --- the socket of a daemon --- */

static bool refusing;

static void members_fn(struct control_request *request, int argc UNUSED, char **argv UNUSED,
                       void *userdata UNUSED)
{
	if (refusing) {
		control_fail(request, CONTROL_FAILED, "etcd does not answer");
		return;
	}
	control_reply(request,
	              json_pack("{s:s, s:[s], s:[s]}", "name", "n1", "client_urls",
	                        "https://127.0.0.1:2379", "peer_urls", "https://10.1.0.1:2380"));
	control_reply(request,
	              json_pack("{s:s, s:[s], s:[s]}", "name", "n2", "client_urls",
	                        "https://10.1.0.2:2379", "peer_urls", "https://10.1.0.2:2380"));
	control_ok(request);
}

static void test_socket(void)
{
	static const struct control_command table[] = {
	    {"etcd members", false, members_fn, "", "etcd's members."},
	};
	struct settings settings = {.members_socket = socket_path, .members_port = 6443};
	AUTO(free) char *gone = xasprintf("error: %s: No such file or directory", socket_path);
	AUTO(free) char *failed = xasprintf("error: %s: failed etcd does not answer", socket_path);
	struct members *m = members_new(ev, &settings, INTERVAL_US, on_found, found);
	struct control *control;

	expect(gone);
	CHECK_EQ_INT(control_new(ev, socket_path, NULL, table, 1, NULL, &control), 0);
	expect("10.1.0.1:6443 10.1.0.2:6443 ");
	refusing = true;
	expect(failed);
	/* The file speaks while the socket does not. */
	settings.members_file = file_path;
	expect("10.0.0.5:6443 ");
	refusing = false;
	expect("10.1.0.1:6443 10.1.0.2:6443 ");
	control_free(control);
	expect("10.0.0.5:6443 ");
	members_free(m);
}

/* --- one question --- */

static char *answer_lines, *answer_error;
static struct ask *asked;

static void on_answer(const char *lines, const char *error, void *userdata UNUSED)
{
	CHECK(answer_lines == NULL && answer_error == NULL);
	CHECK((lines == NULL) == (error != NULL));
	answer_lines = lines != NULL ? xstrdup(lines) : NULL;
	answer_error = error != NULL ? xstrdup(error) : NULL;
	ask_free(TAKE_PTR(asked));
}

/* A server that says one thing and closes, or does not. */
static void test_answer(int listener, const char *says, bool closes, const char *lines,
                        const char *error)
{
	bool in_time = error == NULL || strcmp(error, "no answer in time") != 0;
	int64_t deadline_us = mono_now_us() + 2 * WAIT_US;
	char command[64] = "";
	int fd;

	asked = ask_new(ev, socket_path, "etcd members", in_time ? WAIT_US : 200 * US_PER_MS, on_answer,
	                NULL);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	CHECK(read(fd, command, sizeof(command) - 1) > 0);
	CHECK_EQ_STR(command, "etcd members\n");
	/* What is too long is not waited for: the rest gets EPIPE. */
	(void) send(fd, says, strlen(says), MSG_NOSIGNAL | MSG_DONTWAIT);
	if (closes)
		(void) shutdown(fd, SHUT_RDWR);
	while (asked != NULL && mono_now_us() < deadline_us)
		turn_once(ev);
	CHECK(asked == NULL);
	CHECK_EQ_STR(answer_lines, lines);
	CHECK_EQ_STR(answer_error, error);
	free(TAKE_PTR(answer_lines));
	free(TAKE_PTR(answer_error));
	(void) close(fd);
}

static void test_answers(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	AUTO(free) char *longer = xcalloc(ASK_ANSWER_MAX + 2, 1);
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void) strcpy(address.sun_path, socket_path);
	CHECK(bind(listener, (struct sockaddr *) &address, sizeof(address)) == 0 &&
	      listen(listener, 4) == 0);
	test_answer(listener, "{}\nok\n", true, "{}\n", NULL);
	test_answer(listener, "ok\n", true, "", NULL);
	test_answer(listener, "{}\n{}\nok\n", true, "{}\n{}\n", NULL);
	test_answer(listener, "error denied not for you\n", true, NULL, "denied not for you");
	test_answer(listener, "{}\nerror failed half\n", true, NULL, "failed half");
	test_answer(listener, "", true, NULL, "the answer was cut off");
	test_answer(listener, "{}\nok", true, NULL, "the answer was cut off");
	test_answer(listener, "{}\n", true, NULL, "the answer has no status line");
	test_answer(listener, "{}\nokay\n", true, NULL, "the answer has no status line");
	test_answer(listener, "{}\nok\n", false, NULL, "no answer in time");
	memset(longer, 'x', ASK_ANSWER_MAX + 1);
	test_answer(listener, longer, false, NULL, "the answer is too long");
	/* Freed while it is open: nothing comes. */
	asked = ask_new(ev, socket_path, "etcd members", 50 * US_PER_MS, on_answer, NULL);
	ask_free(TAKE_PTR(asked));
	turn_for(ev, 100 * US_PER_MS);
	CHECK(answer_error == NULL);
	(void) close(listener);
	(void) unlink(socket_path);
}

int main(void)
{
	AUTO(free) char *line = NULL;

	(void) signal(SIGPIPE, SIG_IGN);
	ev = ev_loop_new(EVFLAG_AUTO);
	CHECK(mkdtemp(dir) != NULL);
	(void) snprintf(file_path, sizeof(file_path), "%s/members.json", dir);
	(void) snprintf(socket_path, sizeof(socket_path), "%s/vipd.sock", dir);
	test_answers();
	test_file();
	test_socket();
	members_free(NULL);
	line = xasprintf("rm -rf %s", dir);
	CHECK_EQ_INT(system(line), 0);
	ev_loop_destroy(ev);
	return check_result();
}
