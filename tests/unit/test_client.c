/* SPDX-License-Identifier: Apache-2.0 */
/* The client against texts, and against servers that answer as a server should not. */
#include "cli/common/client.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/unixsock.h"
#include "tests/unit/check.h"

static void test_parse(void)
{
	static const struct {
		const char *text;
		int r;
		size_t n_objects;
		const char *lines, *error, *sentence;
	} cases[] = {
	    {"ok\n", 0, 0, "", NULL, NULL},
	    {"{\"a\":1}\nok\n", 0, 1, "{\"a\":1}\n", NULL, NULL},
	    {"{}\n{ }\nok\n", 0, 2, "{}\n{ }\n", NULL, NULL},
	    {"error notfound no VIP 'x'\n", 0, 0, "", "notfound", "no VIP 'x'"},
	    {"{}\nerror failed a b\n", 0, 1, "{}\n", "failed", "a b"},
	    {"error failed \n", 0, 0, "", "failed", ""},
	    {"", -EBADMSG, 0, NULL, NULL, NULL},
	    {"{}\n", -EBADMSG, 0, NULL, NULL, NULL},
	    {"{}", -EBADMSG, 0, NULL, NULL, NULL},
	    {"{\"a\":\nok\n", -EBADMSG, 0, NULL, NULL, NULL},
	    {"ok", -EBADMSG, 0, NULL, NULL, NULL},
	    {"ok\n{}\n", -EBADMSG, 0, NULL, NULL, NULL},
	    {"ok\nok\n", -EBADMSG, 0, NULL, NULL, NULL},
	    {"okay\n", -EBADMSG, 0, NULL, NULL, NULL},
	    {"[]\nok\n", -EBADMSG, 0, NULL, NULL, NULL},
	    {"error\n", -EBADMSG, 0, NULL, NULL, NULL},
	    {"error failed\n", -EBADMSG, 0, NULL, NULL, NULL},
	    {"error  x\n", -EBADMSG, 0, NULL, NULL, NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(client_answer_free) struct client_answer *answer = NULL;

		if (!CHECK_EQ_INT(client_parse_answer(cases[i].text, &answer), cases[i].r))
			(void) fprintf(stderr, "  for '%s'\n", cases[i].text);
		if (cases[i].r < 0) {
			CHECK(answer == NULL);
			continue;
		}
		CHECK_EQ_INT(json_array_size(answer->objects), cases[i].n_objects);
		CHECK_EQ_STR(answer->lines, cases[i].lines);
		CHECK_EQ_STR(answer->error, cases[i].error);
		CHECK_EQ_STR(answer->sentence, cases[i].sentence);
	}
}

/* --- servers --- */

#define BIG_BYTES 1000000

static char path[64];

enum server {
	ECHO,       /* the line comes back in an object */
	SILENT,     /* accepts and says nothing */
	CUT,        /* closes in the middle */
	BINARY,     /* a NUL in the answer */
	ENDLESS,    /* more than an answer may be */
	SLOW,       /* byte by byte, to the end */
	IMPATIENT,  /* answers and closes without reading */
	HANDS_OVER, /* passes one end of a pipe, and ends its answer when two bytes came out of it */
};

static void hand_over(int fd)
{
	char buffer[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = {0};
	char line[] = "{\"n\":1}\n", bytes[2];
	struct iovec data = {.iov_base = line, .iov_len = strlen(line)};
	struct msghdr message = {
	    .msg_iov = &data, .msg_iovlen = 1, .msg_control = buffer, .msg_controllen = sizeof(buffer)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	int pair[2];

	(void) !pipe(pair);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &pair[1], sizeof(int));
	(void) sendmsg(fd, &message, 0);
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void) !read(pair[0], bytes + i, 1);
	(void) !write(fd, "ok\n", 3);
}

static void serve(enum server kind, int fd)
{
	char line[512] = "", answer[600];
	static const char slow[] = "{\"n\":1}\nok\n";

	if (kind != IMPATIENT)
		(void) !read(fd, line, sizeof(line) - 1);
	line[strcspn(line, "\n")] = '\0';
	switch (kind) {
	case ECHO:
		(void) snprintf(answer, sizeof(answer), "{\"line\":\"%s\"}\nok\n", line);
		(void) !write(fd, answer, strlen(answer));
		break;
	case SILENT:
		(void) pause();
		break;
	case CUT:
		(void) !write(fd, "{\"a\":1}\n{\"b\"", 12);
		break;
	case BINARY:
		(void) !write(fd, "ok\n\0ok\n", 7);
		break;
	case ENDLESS:
		memset(answer, '\n', sizeof(answer));
		while (write(fd, answer, sizeof(answer)) > 0)
			;
		break;
	case SLOW:
		for (size_t i = 0; i < sizeof(slow) - 1; i++) {
			(void) !write(fd, slow + i, 1);
			(void) usleep(5000);
		}
		break;
	case HANDS_OVER:
		hand_over(fd);
		break;
	case IMPATIENT:
		(void) !write(fd, "error busy later\n", 17);
		break;
	}
}

static pid_t start(enum server kind)
{
	int listener = unixsock_listen(path, NULL, 4);
	pid_t pid;

	CHECK(listener >= 0);
	pid = fork();
	if (pid == 0) {
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void) signal(SIGPIPE, SIG_IGN);
		for (;;) {
			struct sockaddr_un peer;
			socklen_t len = sizeof(peer);
			int fd;

			/* The listener does not block, and here it should. */
			while ((fd = accept(listener, (struct sockaddr *) &peer, &len)) < 0)
				(void) usleep(1000);
			serve(kind, fd);
			(void) close(fd);
		}
	}
	(void) close(listener);
	return pid;
}

static void stop(pid_t pid)
{
	(void) kill(pid, SIGKILL);
	(void) waitpid(pid, NULL, 0);
}

/* Far more than an answer takes on a machine that is slow. */
#define LONG_US (20 * US_PER_S)

static int ask(const char *word, int64_t timeout_us, struct client_answer **ret_answer)
{
	return client_ask(path, (const char *const[]){"vip", word}, 2, timeout_us, ret_answer);
}

static void test_good_servers(void)
{
	AUTO(client_answer_free) struct client_answer *echo = NULL;
	AUTO(client_answer_free) struct client_answer *slow = NULL;
	AUTO(client_answer_free) struct client_answer *busy = NULL;
	AUTO(free) char *big = xcalloc(1, BIG_BYTES + 1);
	pid_t pid = start(ECHO);

	if (CHECK_EQ_INT(ask("a", LONG_US, &echo), 0))
		CHECK_EQ_STR(echo->lines, "{\"line\":\"vip a\"}\n");
	stop(pid);
	pid = start(SLOW);
	if (CHECK_EQ_INT(ask("a", LONG_US, &slow), 0))
		CHECK_EQ_STR(slow->lines, "{\"n\":1}\n");
	stop(pid);
	pid = start(IMPATIENT);
	/* More than the socket takes at once: the server closes while it is still being sent. */
	memset(big, 'a', BIG_BYTES);
	if (CHECK_EQ_INT(ask(big, LONG_US, &busy), 0))
		CHECK_EQ_STR(busy->error, "busy");
	stop(pid);
}

static void tick(const json_t *object, int fd, void *userdata)
{
	unsigned *n_objects = userdata;

	if (object == NULL)
		CHECK_EQ_INT(write(fd, "x", 1), 1);
	else
		(*n_objects)++;
}

/* Once there is a descriptor, time is given to what is done with it. */
static void test_ticks(void)
{
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	const char *words[] = {"vip"};
	unsigned n_objects = 0;
	pid_t pid = start(HANDS_OVER);

	if (CHECK_EQ_INT(client_ask_each(path, words, 1, LONG_US, tick, &n_objects, &answer), 0))
		CHECK(answer->fd >= 0 && answer->error == NULL);
	CHECK_EQ_INT(n_objects, 1);
	stop(pid);
}

static void test_bad_servers(void)
{
	static const struct {
		enum server kind;
		int64_t timeout_us;
		int r;
	} cases[] = {{SILENT, 300 * US_PER_MS, -ETIMEDOUT},
	             {CUT, LONG_US, -EBADMSG},
	             {BINARY, LONG_US, -EBADMSG},
	             {ENDLESS, LONG_US, -EBADMSG}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct client_answer *answer = NULL;
		int64_t start_us = mono_now_us();
		pid_t pid = start(cases[i].kind);

		CHECK_EQ_INT(ask("a", cases[i].timeout_us, &answer), cases[i].r);
		CHECK(answer == NULL);
		/* Before its time, or soon after the short one. */
		CHECK(mono_now_us() - start_us < LONG_US);
		stop(pid);
	}
}

static void test_nobody(void)
{
	struct client_answer *answer = NULL;
	char long_path[200];
	int64_t start_us;
	int listener, waiting;

	/* The last server's socket is still there, without its server. */
	CHECK_EQ_INT(ask("a", LONG_US, &answer), -ECONNREFUSED);
	(void) unlink(path);
	CHECK_EQ_INT(ask("a", LONG_US, &answer), -ENOENT);
	CHECK_EQ_INT(ask("a\nb", US_PER_S, &answer), -EINVAL);
	memset(long_path, 'a', sizeof(long_path) - 1);
	long_path[sizeof(long_path) - 1] = '\0';
	CHECK_EQ_INT(client_ask(long_path, NULL, 0, US_PER_S, &answer), -ENAMETOOLONG);

	/* A server that does not even accept: its queue of one is full. */
	listener = unixsock_listen(path, NULL, 0);
	CHECK(listener >= 0);
	waiting = socket(AF_UNIX, SOCK_STREAM, 0);
	{
		struct sockaddr_un address = {.sun_family = AF_UNIX};

		(void) strcpy(address.sun_path, path);
		CHECK_EQ_INT(connect(waiting, (struct sockaddr *) &address, sizeof(address)), 0);
	}
	start_us = mono_now_us();
	CHECK_EQ_INT(ask("a", 300 * US_PER_MS, &answer), -ETIMEDOUT);
	CHECK(mono_now_us() - start_us > 250 * US_PER_MS && mono_now_us() - start_us < LONG_US);
	CHECK(answer == NULL);
	(void) close(waiting);
	(void) close(listener);
}

int main(void)
{
	char dir[] = "/tmp/fairlead-client-XXXXXX";

	(void) signal(SIGPIPE, SIG_IGN);
	CHECK(mkdtemp(dir) != NULL);
	(void) snprintf(path, sizeof(path), "%s/vipd.sock", dir);
	test_parse();
	test_good_servers();
	test_ticks();
	test_bad_servers();
	test_nobody();
	(void) unlink(path);
	CHECK_EQ_INT(rmdir(dir), 0);
	return check_result();
}
