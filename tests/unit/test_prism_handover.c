/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one process image leaves to the next: everything comes back as it was written, and what is
 * garbled ends in an error and closed descriptors, whatever it is.
 */
#include "prism/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "tests/unit/check.h"

/* With a newline, a NUL, and something that looks like a line. */
static const char raw[] = "a\0b\n\nconn client=3\n upstream at=\xff\n\0";
#define RAW_BYTES (sizeof(raw) - 1)

static int null_at(int fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	CHECK_EQ_INT(dup3(null, fd, O_CLOEXEC), fd);
	(void) close(null);
	return fd;
}

static struct endpoint endpoint_of(const char *text)
{
	struct endpoint e;

	CHECK_EQ_INT(endpoint_parse(text, 0, &e), 0);
	return e;
}

/* --- what came back --- */

static char *seen;

static void note(const char *line)
{
	char *more = xasprintf("%s%s\n", seen != NULL ? seen : "", line);

	free(seen);
	seen = more;
}

static void config_cb(const char *yaml, size_t len, void *userdata UNUSED)
{
	AUTO(free) char *line = xasprintf("config %.*s", (int) len, yaml);

	note(line);
}

static void listener_cb(int fd, const struct endpoint *at, void *userdata UNUSED)
{
	char text[ENDPOINT_TEXT_MAX];
	AUTO(free) char *line = xasprintf("listener %d %s", fd, endpoint_format(at, text));

	note(line);
}

static void upstream_cb(const struct handover_upstream *u, void *userdata UNUSED)
{
	char text[ENDPOINT_TEXT_MAX];
	AUTO(free)
	char *line =
	    xasprintf("upstream %s %s %lld %lld %d %x '%s'", endpoint_format(&u->endpoint, text),
	              judge_state_name(u->state), (long long) u->since_us, (long long) u->rtt_us,
	              u->drained, u->from, u->reason);

	note(line);
}

static char *describe_flow(const struct handover_flow *f)
{
	/* Every byte is touched, so that ASan sees a length that is wrong. */
	unsigned sum = 0;

	for (size_t i = 0; i < f->held_len; i++)
		sum += (unsigned char) f->held[i];
	return xasprintf("%d,%d held %zu:%u", f->pipe_read, f->pipe_write, f->held_len, sum);
}

static void conn_cb(const struct handover_conn *c, void *userdata UNUSED)
{
	char text[ENDPOINT_TEXT_MAX];
	AUTO(free) char *up = describe_flow(&c->up);
	AUTO(free) char *down = describe_flow(&c->down);
	AUTO(free)
	char *line = xasprintf("conn %d %d %s %lld %lld %u%s%s | %s | %s", c->client_fd, c->server_fd,
	                       c->server_fd >= 0 ? endpoint_format(&c->upstream, text) : "-",
	                       (long long) c->born_us, (long long) c->moved_us, c->place,
	                       c->asks ? " asks" : "", c->patient ? " patient" : "", up, down);

	note(line);
}

static const struct handover_reader_ops ops = {
    .config = config_cb,
    .listener = listener_cb,
    .upstream = upstream_cb,
    .conn = conn_cb,
};

/* --- round trip --- */

static unsigned sum_of(const char *bytes, size_t len)
{
	unsigned sum = 0;

	for (size_t i = 0; i < len; i++)
		sum += (unsigned char) bytes[i];
	return sum;
}

static void write_everything(struct handover_writer *w)
{
	struct endpoint at = endpoint_of("127.0.0.1:7445");

	handover_write_config(w, "a: b\nc: d\n", 10);
	handover_write_listener(w, 20, &at);
	at = endpoint_of("[::1]:7445");
	handover_write_listener(w, 21, &at);
	handover_write_upstream(
	    w, &(struct handover_upstream){
	           .endpoint = endpoint_of("[fd00::5]:6443"),
	           .state = JUDGE_NOT_READY,
	           .since_us = 12345678901,
	           .rtt_us = 800,
	           .drained = true,
	           .from = ENDPOINTS_FROM(ENDPOINTS_DNS) | ENDPOINTS_FROM(ENDPOINTS_SLICES),
	           .reason = "readyz 500: \"etcd\"\nfailed",
	       });
	handover_write_upstream(w, &(struct handover_upstream){
	                               .endpoint = endpoint_of("10.0.0.5:6443"),
	                               .state = JUDGE_READY,
	                               .reason = "",
	                           });
	handover_write_conn(
	    w, &(struct handover_conn){
	           .client_fd = 22,
	           .server_fd = 23,
	           .upstream = endpoint_of("10.0.0.5:6443"),
	           .born_us = INT64_MAX / 2,
	           .moved_us = 7,
	           .place = 65535,
	           .asks = true,
	           .patient = true,
	           .up = {.pipe_read = 24, .pipe_write = 25, .held = raw, .held_len = RAW_BYTES},
	           .down = {.pipe_read = -1, .pipe_write = -1, .held = raw + 1, .held_len = 3},
	       });
	handover_write_conn(
	    w, &(struct handover_conn){
	           .client_fd = 26,
	           .server_fd = -1,
	           .up = {.pipe_read = -1, .pipe_write = -1, .held = raw, .held_len = RAW_BYTES},
	           .down = {.pipe_read = -1, .pipe_write = -1},
	       });
}

static void open_everything(void)
{
	for (int fd = 20; fd <= 26; fd++)
		(void) null_at(fd);
}

/* As execve(2) leaves it: the environment names a descriptor that nobody else will close. */
static void set_env_to_copy(void)
{
	const char *number = getenv(HANDOVER_ENV);
	AUTO(free) char *copy = NULL;

	if (!CHECK(number != NULL))
		return;
	copy = xasprintf("%d", dup(atoi(number)));
	(void) setenv(HANDOVER_ENV, copy, 1);
}

static void test_round_trip(void)
{
	AUTO(handover_writer_free) struct handover_writer *w = NULL;
	AUTO(handover_free) struct handover *h = NULL;
	AUTO(free) char *want = NULL;

	open_everything();
	CHECK_EQ_INT(handover_writer_new(&w), 0);
	write_everything(w);
	/* Until it is armed nothing has changed. */
	CHECK_EQ_INT(fcntl(22, F_GETFD), FD_CLOEXEC);
	CHECK(getenv(HANDOVER_ENV) == NULL);
	CHECK_EQ_INT(handover_arm(w), 0);
	for (int fd = 20; fd <= 26; fd++)
		CHECK_EQ_INT(fcntl(fd, F_GETFD), 0);
	CHECK(getenv(HANDOVER_ENV) != NULL);
	CHECK_EQ_INT(fcntl(atoi(getenv(HANDOVER_ENV)), F_GETFD), 0);

	set_env_to_copy();
	CHECK_EQ_INT(handover_open(&h), 0);
	CHECK(getenv(HANDOVER_ENV) == NULL);
	for (int fd = 20; fd <= 26; fd++)
		CHECK_EQ_INT(fcntl(fd, F_GETFD), FD_CLOEXEC);
	want = xasprintf(
	    "config a: b\nc: d\n\n"
	    "listener 20 127.0.0.1:7445\n"
	    "listener 21 [::1]:7445\n"
	    "upstream [fd00::5]:6443 not_ready 12345678901 800 1 24 'readyz 500: "
	    "\"etcd\"\nfailed'\n"
	    "upstream 10.0.0.5:6443 ready 0 0 0 0 ''\n"
	    "conn 22 23 10.0.0.5:6443 %lld 7 65535 asks patient | 24,25 held %zu:%u | -1,-1 held "
	    "3:%u\n"
	    "conn 26 -1 - 0 0 0 | -1,-1 held %zu:%u | -1,-1 held 0:0\n",
	    (long long) (INT64_MAX / 2), RAW_BYTES, sum_of(raw, RAW_BYTES), sum_of(raw + 1, 3),
	    RAW_BYTES, sum_of(raw, RAW_BYTES));
	handover_read(h, &ops, NULL);
	CHECK_EQ_STR(seen, want);
	/* As often as one likes, and only what is asked for. */
	free(TAKE_PTR(seen));
	handover_read(h, &(struct handover_reader_ops){.config = config_cb}, NULL);
	CHECK_EQ_STR(seen, "config a: b\nc: d\n\n");
	free(TAKE_PTR(seen));
	CHECK_EQ_INT(handover_open(&h), -ENOENT);
}

static void test_cancel(void)
{
	AUTO(handover_writer_free) struct handover_writer *w = NULL;

	open_everything();
	CHECK_EQ_INT(handover_writer_new(&w), 0);
	write_everything(w);
	CHECK_EQ_INT(handover_arm(w), 0);
	handover_cancel(w);
	CHECK(getenv(HANDOVER_ENV) == NULL);
	for (int fd = 20; fd <= 26; fd++)
		CHECK_EQ_INT(fcntl(fd, F_GETFD), FD_CLOEXEC);
}

static void test_a_descriptor_is_not_open(void)
{
	AUTO(handover_writer_free) struct handover_writer *w = NULL;

	open_everything();
	(void) close(23);
	CHECK_EQ_INT(handover_writer_new(&w), 0);
	write_everything(w);
	CHECK_EQ_INT(handover_arm(w), -EBADF);
	handover_cancel(w);
}

/* The next one would not read it: then this one goes on. */
static void test_too_much(void)
{
	AUTO(handover_writer_free) struct handover_writer *w = NULL;
	size_t len = 16 << 20;
	AUTO(free) char *bytes = xcalloc(1, len);

	(void) null_at(20);
	CHECK_EQ_INT(handover_writer_new(&w), 0);
	for (size_t i = 0; i <= HANDOVER_BYTES_MAX / len; i++)
		handover_write_conn(
		    w, &(struct handover_conn){
		           .client_fd = 20,
		           .server_fd = -1,
		           .up = {.pipe_read = -1, .pipe_write = -1, .held = bytes, .held_len = len},
		           .down = {.pipe_read = -1, .pipe_write = -1},
		       });
	CHECK_EQ_INT(handover_arm(w), -EFBIG);
	CHECK_EQ_INT(fcntl(20, F_GETFD), FD_CLOEXEC);
	CHECK(getenv(HANDOVER_ENV) == NULL);
}

/* --- garbled --- */

static int open_text(const char *text, size_t len, struct handover **ret)
{
	int fd = memfd_create("test", 0);
	AUTO(free) char *number = xasprintf("%d", fd);

	CHECK_EQ_INT(write(fd, text, len), (ssize_t) len);
	(void) setenv(HANDOVER_ENV, number, 1);
	return handover_open(ret);
}

static void test_lines(void)
{
#define TEXT(s) s, sizeof(s) - 1
	static const struct {
		const char *text;
		size_t len;
		int want;
		const char *seen;
	} cases[] = {
	    {TEXT("prism 1\n"), 0, NULL},
	    {TEXT(""), -EBADMSG, NULL},
	    {TEXT("prism 1"), -EBADMSG, NULL},
	    {TEXT("prism 2\n"), -EBADMSG, NULL},
	    {TEXT("prism 1\nlistener fd=20 at=127.0.0.1:1"), -EBADMSG, NULL},
	    {TEXT("prism 1\n\n"), -EBADMSG, NULL},
	    {TEXT("prism 1\n \n"), -EBADMSG, NULL},
	    {TEXT("prism 1\nlistener fd=20 at=127.0.0.1:1\n"), 0, "listener 20 127.0.0.1:1\n"},
	    {TEXT("prism 1\nlistener at=127.0.0.1:1\n"), -EBADMSG, NULL},
	    {TEXT("prism 1\nlistener fd=20\n"), -EBADMSG, NULL},
	    {TEXT("prism 1\nlistener fd=20 at=127.0.0.1\n"), -EBADMSG, NULL},
	    {TEXT("prism 1\nlistener fd=99 at=127.0.0.1:1\n"), -EBADMSG, NULL},
	    {TEXT("prism 1\nlistener fd=-20 at=127.0.0.1:1\n"), -EBADMSG, NULL},
	    {TEXT("prism 1\nlistener fd=2 at=127.0.0.1:1\n"), -EBADMSG, NULL},
	    {TEXT("prism 1\nlistener fd=4294967316 at=127.0.0.1:1\n"), -EBADMSG, NULL},
	    {TEXT("prism 1\nlistener fd=99999999999999999999 at=127.0.0.1:1\n"), -EBADMSG, NULL},
	    /* Another version's words, with and without bytes. */
	    {TEXT("prism 1\nlistener fd=20 new=1 newer at=127.0.0.1:1\n"), 0,
	     "listener 20 127.0.0.1:1\n"},
	    {TEXT("prism 1\nflags x=1 y\nlistener fd=20 at=127.0.0.1:1\n"), 0,
	     "listener 20 127.0.0.1:1\n"},
	    {TEXT("prism 1\nblob bytes=4\n\n\0\nxlistener fd=20 at=127.0.0.1:1\n"), 0,
	     "listener 20 127.0.0.1:1\n"},
	    {TEXT("prism 1\nblob bytes=5\n1234"), -EBADMSG, NULL},
	    {TEXT("prism 1\nblob bytes=-1\n1234"), -EBADMSG, NULL},
	    {TEXT("prism 1\nupstream at=10.0.0.5:1 state=tired reason=2\nhm"), 0,
	     "upstream 10.0.0.5:1 unknown 0 0 0 0 'hm'\n"},
	    {TEXT("prism 1\nupstream at=10.0.0.5:1 reason=0\n"), 0,
	     "upstream 10.0.0.5:1 unknown 0 0 0 0 ''\n"},
	    {TEXT("prism 1\nupstream at=10.0.0.5:1 from=stars,file,,oracle, reason=0\n"), 0,
	     "upstream 10.0.0.5:1 unknown 0 0 0 8 ''\n"},
	    {TEXT("prism 1\nupstream at=10.0.0.5:1 reason=3\nhm"), -EBADMSG, NULL},
	    {TEXT("prism 1\nupstream at=10.0.0.5:1 reason=9223372036854775807\nhm"), -EBADMSG, NULL},
	    {TEXT("prism 1\nupstream at=10.0.0.5 reason=0\n"), -EBADMSG, NULL},
	    {TEXT("prism 1\nupstream reason=0\n"), -EBADMSG, NULL},
	    {TEXT("prism 1\nconfig bytes=3\nabc"), 0, "config abc\n"},
	    {TEXT("prism 1\nconfig bytes=4\nabc"), -EBADMSG, NULL},
	    {TEXT("prism 1\nconn client=22\n"), 0,
	     "conn 22 -1 - 0 0 0 | -1,-1 held 0:0 | -1,-1 held 0:0\n"},
	    {TEXT("prism 1\nconn client=22 up_held=1 down_held=2\nabb"), 0,
	     "conn 22 -1 - 0 0 0 | -1,-1 held 1:97 | -1,-1 held 2:196\n"},
	    {TEXT("prism 1\nconn client=22 up_held=1 down_held=2\nab"), -EBADMSG, NULL},
	    {TEXT("prism 1\nconn client=22 up_held=-1\nab"), -EBADMSG, NULL},
	    {TEXT("prism 1\nconn client=22 server=23\n"), -EBADMSG, NULL},
	    {TEXT("prism 1\nconn client=22 server=23 at=x\n"), -EBADMSG, NULL},
	    {TEXT("prism 1\nconn server=23 at=10.0.0.5:1\n"), -EBADMSG, NULL},
	    {TEXT("prism 1\nconn client=22 up_pipe_read=24\n"), -EBADMSG, NULL},
	    {TEXT("prism 1\nconn client=22 up_pipe_write=24\n"), -EBADMSG, NULL},
	    /* No half of it: what comes first is not begun when what follows cannot be read. */
	    {TEXT("prism 1\nlistener fd=20 at=127.0.0.1:1\nconn\n"), -EBADMSG, NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(handover_free) struct handover *h = NULL;
		bool good = true;

		open_everything();
		good = CHECK_EQ_INT(open_text(cases[i].text, cases[i].len, &h), cases[i].want) && good;
		good = CHECK(getenv(HANDOVER_ENV) == NULL) && good;
		/* Whoever is at the other end of them must not wait for ever. */
		good = CHECK_EQ_INT(fcntl(22, F_GETFD) >= 0, cases[i].want == 0) && good;
		if (h != NULL)
			handover_read(h, &ops, NULL);
		good = CHECK_EQ_STR(seen, cases[i].seen) && good;
		if (!good)
			(void) fprintf(stderr, "  case %zu: %s\n", i, cases[i].text);
		free(TAKE_PTR(seen));
	}
}

static void test_long_lines(void)
{
	static const size_t lens[] = {900, 1100, 100000};
	static const int wants[] = {0, -EBADMSG, -EBADMSG};

	for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
		AUTO(handover_free) struct handover *h = NULL;
		AUTO(free) char *text = xasprintf("prism 1\nnew x=%0*d\n", (int) lens[i], 7);

		CHECK_EQ_INT(open_text(text, strlen(text), &h), wants[i]);
	}
}

static void test_the_environment(void)
{
	static const char *const numbers[] = {"", "x", "-1", "0", "2", "99", "4294967299", "20x", "20"};
	struct handover *h = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		open_everything();
		(void) setenv(HANDOVER_ENV, numbers[i], 1);
		if (!CHECK(handover_open(&h) < 0))
			(void) fprintf(stderr, "  number '%s'\n", numbers[i]);
		CHECK(getenv(HANDOVER_ENV) == NULL);
		CHECK_EQ_INT(fcntl(22, F_GETFD), -1);
	}
	CHECK(h == NULL);
	CHECK(fcntl(STDERR_FILENO, F_GETFD) >= 0);
}

/* Cut off anywhere, and with any byte changed: an error or something readable, and never a crash.
 */
static void test_noise(void)
{
	AUTO(handover_writer_free) struct handover_writer *w = NULL;
	char text[4096];
	uint64_t x = 88172645463325252;
	ssize_t len;
	unsigned good = 0;

	open_everything();
	CHECK_EQ_INT(handover_writer_new(&w), 0);
	write_everything(w);
	CHECK_EQ_INT(handover_arm(w), 0);
	len = pread(atoi(getenv(HANDOVER_ENV)), text, sizeof(text), 0);
	handover_cancel(w);
	if (!CHECK(len > 500 && (size_t) len < sizeof(text)))
		return;
	for (size_t i = 0; i < 4000; i++) {
		AUTO(handover_free) struct handover *h = NULL;
		char copy[sizeof(text)];
		size_t cut = (size_t) len;

		memcpy(copy, text, (size_t) len);
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		if (i < (size_t) len)
			cut = i;
		else
			copy[(x >> 8) % (size_t) len] = "\n= 0129a\0\xff-"[(x >> 40) % 11];
		open_everything();
		if (open_text(copy, cut, &h) < 0)
			continue;
		good++;
		handover_read(h, &ops, NULL);
		free(TAKE_PTR(seen));
	}
	CHECK(good > 10);
}

int main(void)
{
	test_round_trip();
	test_cancel();
	test_a_descriptor_is_not_open();
	test_too_much();
	test_lines();
	test_long_lines();
	test_the_environment();
	test_noise();
	handover_free(NULL);
	handover_writer_free(NULL);
	return check_result();
}
