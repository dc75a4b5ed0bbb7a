/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control server on real sockets: the test is the client and turns the server's loop while it
 * waits. The two that are idle wait out CONTROL_IDLE_S, which makes this test take that long.
 */
#include "base/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/mem.h"
#include "base/mono.h"
#include "tests/unit/check.h"
#include "tests/unit/turn.h"

#define NOBODY 65534
#define WAIT_US TURN_LIMIT_US
#define TEXT_MAX (8 * 1024 * 1024)

static struct ev_loop *ev;
static struct control *control;
static char dir[] = "/tmp/fairlead-control-XXXXXX";
static char path[64];
static struct control_request *open_request;
static unsigned changes;

/* --- the server's commands --- */

static void cmd_echo(struct control_request *request, int argc, char **argv, void *userdata)
{
	json_t *words = json_array();

	CHECK(userdata == &changes);
	CHECK(argv[argc] == NULL);
	for (int i = 0; i < argc; i++)
		(void) json_array_append_new(words, json_string(argv[i]));
	control_reply(request, json_pack("{s:o, s:f}", "words", words, "x", 0.1));
	control_ok(request);
}

static void cmd_fail(struct control_request *request, int argc UNUSED, char **argv UNUSED,
                     void *userdata UNUSED)
{
	control_fail(request, CONTROL_NOTFOUND, "no VIP '%s'", "a\nok\xc2\x9b");
}

static void cmd_change(struct control_request *request, int argc UNUSED, char **argv UNUSED,
                       void *userdata UNUSED)
{
	changes++;
	control_ok(request);
}

static void cmd_defer(struct control_request *request, int argc UNUSED, char **argv UNUSED,
                      void *userdata UNUSED)
{
	open_request = request;
}

/* Answers with so many lines of a kilobyte. */
static void cmd_flood(struct control_request *request, int argc, char **argv, void *userdata UNUSED)
{
	char text[1011];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (int i = 0; i < (argc == 1 ? atoi(argv[0]) : 0); i++)
		control_reply(request, json_pack("{s:s}", "text", text));
	control_ok(request);
}

/* So many lines, and then one that comes with a file. */
static void cmd_file(struct control_request *request, int argc, char **argv, void *userdata UNUSED)
{
	char text[1011];
	int fd = memfd_create("passed", MFD_CLOEXEC);

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	CHECK_EQ_INT(write(fd, "a snapshot", 10), 10);
	for (int i = 0; i < (argc == 1 ? atoi(argv[0]) : 0); i++)
		control_reply(request, json_pack("{s:s}", "text", text));
	control_pass_fd(request, fd);
	(void) close(fd);
	control_reply(request, json_pack("{s:s}", "file", "here"));
	control_ok(request);
}

static const struct control_command commands[] = {
    {"vip", false, cmd_fail, "[WORD]", "The shorter of two names."},
    {"vip echo", false, cmd_echo, "[WORD]...", "Says them again."},
    {"vip change", true, cmd_change, "", "Counts."},
    {"defer", false, cmd_defer, "", "Answers later."},
    {"flood", false, cmd_flood, "N", "Says much."},
    {"file", false, cmd_file, "N", "Passes a file."},
};

/* --- the client --- */

static void turn_a_while(void)
{
	for (int i = 0; i < 5; i++)
		turn_once(ev);
}

static int dial(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void) strcpy(address.sun_path, path);
	if (connect(fd, (const struct sockaddr *) &address, sizeof(address)) < 0) {
		(void) close(fd);
		return -errno;
	}
	(void) fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

/* Sends all of it. What the server no longer reads is nobody's loss. */
static void say(int fd, const char *bytes, size_t len)
{
	int64_t deadline_us = mono_now_us() + WAIT_US;

	while (len > 0 && mono_now_us() < deadline_us) {
		ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

		if (n > 0) {
			bytes += n;
			len -= (size_t) n;
		} else if (errno != EAGAIN) {
			return;
		}
		turn_once(ev);
	}
}

/* All that comes until the server closes. Closes fd too; the caller frees. A reset is told. */
static char *hear(int fd)
{
	int64_t deadline_us = mono_now_us() + WAIT_US;
	char *text = xcalloc(1, TEXT_MAX);
	size_t len = 0;

	while (mono_now_us() < deadline_us) {
		ssize_t n = recv(fd, text + len, TEXT_MAX - 1 - len, 0);

		if (n > 0) {
			len += (size_t) n;
			continue;
		}
		if (n == 0 || errno != EAGAIN) {
			(void) strcpy(text + len, n == 0 ? "" : "<reset>");
			(void) close(fd);
			return text;
		}
		turn_once(ev);
	}
	(void) close(fd);
	(void) strcpy(text + len, "<still open>");
	return text;
}

static char *ask_bytes(const char *bytes, size_t len)
{
	int fd = dial();

	if (!CHECK(fd >= 0))
		return xstrdup("<refused>");
	say(fd, bytes, len);
	return hear(fd);
}

static void check_answer(const char *line, const char *want)
{
	AUTO(free) char *got = ask_bytes(line, strlen(line));

	if (!CHECK_EQ_STR(got, want))
		(void) fprintf(stderr, "  to '%s'\n", line);
}

/* --- what is promised --- */

static void test_answers(void)
{
	static const struct {
		const char *line;
		const char *answer;
	} cases[] = {
	    {"vip echo\n", "{\"words\":[],\"x\":0.1}\nok\n"},
	    {"vip echo a  b\n", "{\"words\":[\"a\",\"b\"],\"x\":0.1}\nok\n"},
	    {"vip echo \"a b\" \"\\\"\\\\\" \"\"\n",
	     "{\"words\":[\"a b\",\"\\\"\\\\\",\"\"],\"x\":0.1}\nok\n"},
	    /* What follows the line is ignored, also another line. */
	    {"vip echo a\nvip echo b\ngarbage\x01", "{\"words\":[\"a\"],\"x\":0.1}\nok\n"},
	    /* The longest name wins; a line break in a sentence cannot fake a status line. */
	    {"vip\n", "error notfound no VIP 'a ok  '\n"},
	    {"vip other\n", "error notfound no VIP 'a ok  '\n"},
	    {"vip change\n", "ok\n"},
	    /* As many words as its usage has. */
	    {"vip one two\n", "error usage vip [WORD]\n"},
	    {"vip change it\n", "error usage vip change\n"},
	    {"flood\n", "error usage flood N\n"},
	    {"flood 1 2\n", "error usage flood N\n"},
	    {"\n", "error usage an empty line: 'help' lists the commands\n"},
	    {"deferr\n", "error usage unknown command 'deferr': did you mean 'defer'?\n"},
	    {"vpi ehco a\n", "error usage unknown command 'vpi ehco a': did you mean 'vip echo'?\n"},
	    {"reboot now please or else\n",
	     "error usage unknown command 'reboot now please': 'help' lists them all\n"},
	    {"help me\n", "error usage unknown command 'help me': 'help' lists them all\n"},
	    {"vip echo 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 "
	     "32 33\n",
	     "error usage more than 32 words\n"},
	    {"help\n", "{\"command\":\"vip\",\"usage\":\"[WORD]\",\"changes\":false,"
	               "\"help\":\"The shorter of two names.\"}\n"
	               "{\"command\":\"vip echo\",\"usage\":\"[WORD]...\",\"changes\":false,"
	               "\"help\":\"Says them again.\"}\n"
	               "{\"command\":\"vip change\",\"usage\":\"\",\"changes\":true,"
	               "\"help\":\"Counts.\"}\n"
	               "{\"command\":\"defer\",\"usage\":\"\",\"changes\":false,"
	               "\"help\":\"Answers later.\"}\n"
	               "{\"command\":\"flood\",\"usage\":\"N\",\"changes\":false,"
	               "\"help\":\"Says much.\"}\n"
	               "{\"command\":\"file\",\"usage\":\"N\",\"changes\":false,"
	               "\"help\":\"Passes a file.\"}\nok\n"},
	};

	changes = 0;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check_answer(cases[i].line, cases[i].answer);
	CHECK_EQ_INT(changes, 1);
}

static void test_bad_quoting(void)
{
	static const char *const lines[] = {"vip echo \"a\n", "vip echo a\"b\n", "vip echo \t\n",
	                                    "vip echo \\\n"};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		AUTO(free) char *got = ask_bytes(lines[i], strlen(lines[i]));

		CHECK(strncmp(got, "error usage a word with a space", 31) == 0);
	}
	{
		static const char nul[] = "vip echo a\0b\n";
		AUTO(free) char *got = ask_bytes(nul, sizeof(nul) - 1);

		CHECK(strncmp(got, "error usage a word with a space", 31) == 0);
	}
}

static void test_partial_lines(void)
{
	static const char line[] = "vip echo byte by byte\n";
	int fd = dial();

	for (size_t i = 0; i < sizeof(line) - 1; i++) {
		say(fd, line + i, 1);
		turn_once(ev);
	}
	{
		AUTO(free) char *got = hear(fd);

		CHECK_EQ_STR(got, "{\"words\":[\"byte\",\"by\",\"byte\"],\"x\":0.1}\nok\n");
	}
}

/* A line of CONTROL_LINE_MAX bytes is taken, one of a byte more is not, nor one without an end. */
static void test_long_lines(void)
{
	char line[4 * CONTROL_LINE_MAX];

	memset(line, 'a', sizeof(line));
	memcpy(line, "vip echo ", 9);
	for (size_t extra = 0; extra < 2; extra++) {
		size_t len = CONTROL_LINE_MAX + extra;
		AUTO(free) char *got = NULL;

		line[len] = '\n';
		got = ask_bytes(line, len + 1);
		if (extra == 0)
			CHECK_EQ_INT(strlen(got), strlen("{\"words\":[\"\"],\"x\":0.1}\nok\n") + len - 9);
		else
			CHECK_EQ_STR(got, "error usage a line of more than 4096 bytes\n");
		line[len] = 'a';
	}
	{
		AUTO(free) char *got = ask_bytes(line, sizeof(line));

		CHECK_EQ_STR(got, "error usage a line of more than 4096 bytes\n");
	}
}

static void test_half_closed(void)
{
	int fd = dial();
	AUTO(free) char *answer = NULL;
	AUTO(free) char *no_end = NULL;

	say(fd, "vip echo a\n", 11);
	(void) shutdown(fd, SHUT_WR);
	answer = hear(fd);
	CHECK_EQ_STR(answer, "{\"words\":[\"a\"],\"x\":0.1}\nok\n");

	fd = dial();
	say(fd, "vip echo a", 10);
	(void) shutdown(fd, SHUT_WR);
	no_end = hear(fd);
	CHECK_EQ_STR(no_end, "error usage the line has no end\n");
}

static void test_deferred(void)
{
	int fd = dial();
	AUTO(free) char *answer = NULL;
	int64_t start_us;
	char byte;

	open_request = NULL;
	say(fd, "defer\n", 6);
	turn_a_while();
	if (!CHECK(open_request != NULL))
		return;
	CHECK(recv(fd, &byte, 1, 0) < 0 && errno == EAGAIN);
	control_reply(open_request, json_pack("{s:i}", "n", 1));
	turn_a_while();
	/* With nothing to write the loop sleeps: five turns of 10 ms. */
	start_us = mono_now_us();
	turn_a_while();
	CHECK(mono_now_us() - start_us > 40 * US_PER_MS);
	control_reply(open_request, json_pack("{s:i}", "n", 2));
	control_fail(open_request, CONTROL_FAILED, "in the end");
	answer = hear(fd);
	CHECK_EQ_STR(answer, "{\"n\":1}\n{\"n\":2}\nerror failed in the end\n");
}

/* SO_PEERCRED tells the effective user of the moment of connect(2). */
static int dial_as_nobody(void)
{
	int fd;

	CHECK_EQ_INT(seteuid(NOBODY), 0);
	fd = dial();
	CHECK_EQ_INT(seteuid(0), 0);
	return fd;
}

/* A request that stays open, of the client `fd`. */
static struct control_request *defer_at(int fd)
{
	open_request = NULL;
	say(fd, "defer\n", 6);
	turn_a_while();
	CHECK(open_request != NULL);
	return open_request;
}

/* Whoever may connect cannot take all places: some are root's. */
static void test_places_of_root(void)
{
	enum { N_OTHERS = CONTROL_CLIENTS_MAX - CONTROL_CLIENTS_ROOT };
	struct control_request *requests[CONTROL_CLIENTS_MAX];
	int fds[CONTROL_CLIENTS_MAX];
	AUTO(free) char *other = NULL, *root = NULL, *next = NULL;

	if (geteuid() != 0) {
		(void) fprintf(stderr, "test_places_of_root needs root: skipped\n");
		return;
	}
	for (int i = 0; i < N_OTHERS; i++) {
		fds[i] = dial_as_nobody();
		requests[i] = defer_at(fds[i]);
	}
	other = hear(dial_as_nobody());
	CHECK(strncmp(other, "error busy too many clients", 27) == 0);
	check_answer("vip echo a\n", "{\"words\":[\"a\"],\"x\":0.1}\nok\n");
	for (int i = N_OTHERS; i < CONTROL_CLIENTS_MAX; i++) {
		fds[i] = dial();
		requests[i] = defer_at(fds[i]);
	}
	root = ask_bytes("vip echo a\n", 11);
	CHECK(strncmp(root, "error busy too many clients", 27) == 0);

	/* Root leaves one: it is not for others. One of the others leaves one: it is. */
	(void) close(fds[N_OTHERS]);
	turn_a_while();
	next = hear(dial_as_nobody());
	CHECK(strncmp(next, "error busy too many clients", 27) == 0);
	(void) close(fds[0]);
	turn_a_while();
	fds[0] = dial_as_nobody();
	control_ok(requests[0]);
	requests[0] = defer_at(fds[0]);
	fds[N_OTHERS] = -1;
	for (int i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		control_ok(requests[i]);
		if (fds[i] >= 0)
			free(hear(fds[i]));
	}
}

/* A request outlives its client, and the client's place is free at once. */
static void test_client_disappears(void)
{
	struct control_request *requests[CONTROL_CLIENTS_MAX];
	int fds[CONTROL_CLIENTS_MAX];
	int n = CONTROL_CLIENTS_MAX - (geteuid() == 0 ? 0 : CONTROL_CLIENTS_ROOT);
	AUTO(free) char *busy = NULL;

	for (int i = 0; i < n; i++) {
		fds[i] = dial();
		requests[i] = defer_at(fds[i]);
	}
	busy = ask_bytes("vip echo a\n", 11);
	CHECK(strncmp(busy, "error busy too many clients", 27) == 0);

	/* One leaves wholly, one leaves having closed its sending half long before. */
	(void) shutdown(fds[1], SHUT_WR);
	turn_a_while();
	(void) close(fds[0]);
	(void) close(fds[1]);
	turn_a_while();
	check_answer("vip echo a\n", "{\"words\":[\"a\"],\"x\":0.1}\nok\n");
	for (int i = 0; i < n; i++) {
		control_reply(requests[i], json_pack("{s:i}", "n", i));
		turn_once(ev);
		control_ok(requests[i]);
	}
	for (int i = 2; i < n; i++) {
		AUTO(free) char *got = hear(fds[i]);
		char want[32];

		(void) snprintf(want, sizeof(want), "{\"n\":%d}\nok\n", i);
		CHECK_EQ_STR(got, want);
	}
}

/* 3 MB fit, however slowly they are read; of 6 MB that nobody reads, the client gets no end. */
/* All that comes, and a descriptor; how many came. */
static unsigned receive_fds(int fd, char *text, int *ret_fd)
{
	int64_t deadline_us = mono_now_us() + WAIT_US;
	unsigned n_fds = 0;
	size_t len = 0;
	ssize_t n = 1;

	while (n != 0 && mono_now_us() < deadline_us) {
		char buffer[CMSG_SPACE(4 * sizeof(int))] __attribute__((aligned(8)));
		struct iovec data = {.iov_base = text + len, .iov_len = 65536};
		struct msghdr message = {.msg_iov = &data,
		                         .msg_iovlen = 1,
		                         .msg_control = buffer,
		                         .msg_controllen = sizeof(buffer)};
		struct cmsghdr *h;

		turn_once(ev);
		n = recvmsg(fd, &message, 0);
		h = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
		if (h != NULL && h->cmsg_type == SCM_RIGHTS) {
			n_fds += (unsigned) ((h->cmsg_len - CMSG_LEN(0)) / sizeof(int));
			memcpy(ret_fd, CMSG_DATA(h), sizeof(int));
		}
		len += n > 0 ? (size_t) n : 0;
	}
	text[len] = '\0';
	return n_fds;
}

static void test_passed_file(void)
{
	static const int lines[] = {0, 1, 400};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		AUTO(free) char *text = xcalloc(TEXT_MAX, 1);
		AUTO(free) char *line = xasprintf("file %d\n", lines[i]);
		int fd = dial(), file = -1;
		char content[16] = "";

		say(fd, line, strlen(line));
		CHECK_EQ_INT(receive_fds(fd, text, &file), 1);
		CHECK(strstr(text, "{\"file\":\"here\"}\nok\n") != NULL);
		CHECK_EQ_INT(pread(file, content, sizeof(content), 0), 10);
		CHECK_EQ_STR(content, "a snapshot");
		(void) close(file);
		(void) close(fd);
	}
}

/* Nobody takes it: it is closed. */
static void test_passed_to_nobody(void)
{
	int before = open("/dev/null", O_RDONLY | O_CLOEXEC), after;
	int fd = dial();

	say(fd, "file 3000\n", 10);
	turn_a_while();
	(void) close(fd);
	turn_a_while();
	(void) close(before);
	after = open("/dev/null", O_RDONLY | O_CLOEXEC);
	CHECK_EQ_INT(after, before);
	(void) close(after);
}

static void test_floods(void)
{
	AUTO(free) char *all = ask_bytes("flood 3000\n", 11);
	AUTO(free) char *late = NULL;
	AUTO(free) char *cut = NULL;
	int fd;

	CHECK_EQ_INT(strlen(all), 3000 * 1022 + 3);

	fd = dial();
	say(fd, "flood 3000\n", 11);
	turn_a_while();
	late = hear(fd);
	CHECK(strcmp(all, late) == 0);

	fd = dial();
	say(fd, "flood 6000\n", 11);
	turn_a_while();
	cut = hear(fd);
	CHECK(strlen(cut) < 1000 * 1000);
	CHECK(strstr(cut, "ok\n") == NULL && strstr(cut, "<still open>") == NULL);
}

/* Runs `line` as another user in a child, which leaves what it heard in a file. */
static char *ask_as_nobody(gid_t gid, const char *line)
{
	AUTO(free) char *heard = xasprintf("%s/heard", dir);
	char *text = NULL;
	size_t len;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		char buf[256] = "<refused>";
		FILE *out = fopen(heard, "w");
		ssize_t n;
		int fd;

		if (setgid(gid) < 0 || setuid(NOBODY) < 0)
			_exit(1);
		fd = dial();
		if (fd >= 0) {
			(void) fcntl(fd, F_SETFL, 0);
			(void) !write(fd, line, strlen(line));
			n = recv(fd, buf, sizeof(buf) - 1, MSG_WAITALL);
			buf[MAX(n, 0)] = '\0';
		}
		(void) fputs(buf, out);
		(void) fclose(out);
		_exit(0);
	}
	while (waitpid(pid, &status, WNOHANG) == 0)
		turn_once(ev);
	if (file_read(heard, 256, &text, &len) < 0)
		text = xstrdup("<nothing>");
	return text;
}

static void test_credentials(void)
{
	AUTO(free) char *changed = NULL;
	AUTO(free) char *read = NULL;
	AUTO(free) char *stranger = NULL;

	if (geteuid() != 0) {
		(void) fprintf(stderr, "test_credentials needs root: skipped\n");
		return;
	}
	changes = 0;
	/* In the socket's group: may read, may not change. */
	changed = ask_as_nobody(getegid(), "vip change\n");
	CHECK_EQ_STR(changed, "error denied 'vip change' is for root only, and you are uid 65534\n");
	CHECK_EQ_INT(changes, 0);
	read = ask_as_nobody(getegid(), "vip echo a\n");
	CHECK_EQ_STR(read, "{\"words\":[\"a\"],\"x\":0.1}\nok\n");
	/* In no group: not even a connection. */
	stranger = ask_as_nobody(NOBODY, "vip echo a\n");
	CHECK_EQ_STR(stranger, "<refused>");
}

static int make_server(struct control **ret_control)
{
	return control_new(ev, path, "no-such-group", commands, ARRAY_SIZE(commands), &changes,
	                   ret_control);
}

static void test_socket_file(void)
{
	AUTO(free) char *kept = xasprintf("%s/kept", dir);
	struct control *other = NULL;
	struct stat st;

	CHECK(stat(path, &st) == 0 && (st.st_mode & 07777) == 0660);
	/* A live one is refused, and stays as it was. */
	CHECK_EQ_INT(make_server(&other), -EADDRINUSE);
	CHECK(other == NULL);
	check_answer("vip echo\n", "{\"words\":[],\"x\":0.1}\nok\n");

	/* Gone with its server. */
	control_free(TAKE_PTR(control));
	CHECK(lstat(path, &st) < 0 && errno == ENOENT);

	/* A stale one: the server's file without the server. A umask that forbids it does not hurt. */
	CHECK_EQ_INT(make_server(&control), 0);
	CHECK_EQ_INT(rename(path, kept), 0);
	control_free(TAKE_PTR(control));
	CHECK_EQ_INT(rename(kept, path), 0);
	(void) umask(0777);
	CHECK_EQ_INT(make_server(&control), 0);
	(void) umask(0022);
	CHECK(stat(path, &st) == 0 && (st.st_mode & 07777) == 0660);
	check_answer("vip echo\n", "{\"words\":[],\"x\":0.1}\nok\n");

	/* Somebody replaced the file: it is theirs, and stays. */
	CHECK_EQ_INT(unlink(path), 0);
	CHECK_EQ_INT(file_write_atomic(path, "x", 1, 0600, FILE_VOLATILE), 0);
	control_free(TAKE_PTR(control));
	CHECK(lstat(path, &st) == 0);
	/* And what is no socket is nobody's to replace. */
	CHECK_EQ_INT(make_server(&control), -EEXIST);
	CHECK_EQ_INT(unlink(path), 0);
	CHECK_EQ_INT(make_server(&control), 0);
}

static void test_path_too_long(void)
{
	char name[200];
	struct control *other = NULL;

	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	CHECK_EQ_INT(control_new(ev, name, NULL, commands, 1, NULL, &other), -ENAMETOOLONG);
}

/* Neither closed nor has it anything to be read. */
static bool is_open(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 0;
}

/* Whatever is still to be read. */
static bool has_hung_up(int fd)
{
	struct pollfd p = {.fd = fd};

	(void) poll(&p, 1, 0);
	return (p.revents & POLLHUP) != 0;
}

/* One that sends half a line, one that does not read, one that reads slowly, and one whose command
 * takes its time. */
static void test_idle(void)
{
	int64_t start_us = mono_now_us();
	int half = dial(), deaf = dial(), slow = dial(), waiting = dial();
	AUTO(free) char *answer = NULL;
	AUTO(free) char *chunk = xcalloc(1, 1000 * 1000);

	open_request = NULL;
	say(half, "vip", 3);
	say(deaf, "flood 3000\n", 11);
	say(slow, "flood 3000\n", 11);
	say(waiting, "defer\n", 6);
	turn_a_while();
	CHECK(open_request != NULL);
	turn_until(ev, start_us + CONTROL_IDLE_S * US_PER_S / 2);
	CHECK(recv(slow, chunk, 1000 * 1000, 0) > 0);
	turn_until(ev, start_us + (CONTROL_IDLE_S - 1) * US_PER_S);
	CHECK(is_open(half) && !has_hung_up(deaf) && is_open(waiting));
	turn_until(ev, start_us + (CONTROL_IDLE_S + 1) * US_PER_S);
	CHECK(!is_open(half));
	CHECK(has_hung_up(deaf));
	CHECK(!has_hung_up(slow));
	CHECK(is_open(waiting));
	control_ok(open_request);
	answer = hear(waiting);
	CHECK_EQ_STR(answer, "ok\n");
	(void) close(half);
	(void) close(deaf);
	(void) close(slow);
}

/* The server ends while a request and a client are open. */
static void test_free_with_open_request(void)
{
	int fd = dial();
	AUTO(free) char *answer = NULL;

	open_request = NULL;
	say(fd, "defer\n", 6);
	turn_a_while();
	CHECK(open_request != NULL);
	control_free(TAKE_PTR(control));
	answer = hear(fd);
	CHECK_EQ_STR(answer, "");
}

int main(void)
{
	(void) signal(SIGPIPE, SIG_IGN);
	(void) umask(0022);
	ev = ev_loop_new(EVFLAG_AUTO);
	CHECK(mkdtemp(dir) != NULL);
	CHECK_EQ_INT(chmod(dir, 0755), 0);
	(void) snprintf(path, sizeof(path), "%s/test.sock", dir);
	if (!CHECK_EQ_INT(make_server(&control), 0))
		return 1;

	test_answers();
	test_bad_quoting();
	test_partial_lines();
	test_long_lines();
	test_half_closed();
	test_deferred();
	test_client_disappears();
	test_places_of_root();
	test_passed_file();
	test_passed_to_nobody();
	test_floods();
	test_credentials();
	test_socket_file();
	test_path_too_long();
	test_idle();
	test_free_with_open_request();

	ev_loop_destroy(ev);
	{
		AUTO(free) char *heard = xasprintf("%s/heard", dir);

		(void) unlink(heard);
	}
	CHECK_EQ_INT(rmdir(dir), 0);
	return check_result();
}
