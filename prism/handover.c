/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes through stdio into a memfd, and notes every descriptor that it names. Reads the whole of
 * it into memory and goes over the lines twice: first to see that all of them can be read, so that
 * nothing is begun with half of it, then for those who take what is in them.
 */
#include "prism/handover.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/close_range.h>

#include "base/macro.h"
#include "base/mem.h"

#define FIRST_LINE "prism 1\n"
#define WORDS_MAX 32
#define FD_NONE (-1)

/* --- writing --- */

struct handover_writer {
	FILE *file;
	int *fds; /* named in it */
	size_t n_fds, size;
};

int handover_writer_new(struct handover_writer **ret_writer)
{
	struct handover_writer *w;
	FILE *file;
	int fd;

	fd = memfd_create("prism-handover", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	file = fdopen(fd, "w");
	if (file == NULL) {
		(void) close(fd);
		return -ENOMEM;
	}
	w = NEW0(struct handover_writer);
	w->file = file;
	(void) fputs(FIRST_LINE, file);
	*ret_writer = w;
	return 0;
}

void handover_writer_free(struct handover_writer *w)
{
	if (w == NULL)
		return;
	(void) fclose(w->file);
	free(w->fds);
	free(w);
}

static int name_fd(struct handover_writer *w, int fd)
{
	if (w->n_fds == w->size) {
		w->size = w->size == 0 ? 64 : 2 * w->size;
		w->fds = xreallocarray(w->fds, w->size, sizeof(w->fds[0]));
	}
	w->fds[w->n_fds++] = fd;
	return fd;
}

void handover_write_config(struct handover_writer *w, const char *yaml, size_t len)
{
	(void) fprintf(w->file, "config bytes=%zu\n", len);
	(void) fwrite(yaml, 1, len, w->file);
}

void handover_write_listener(struct handover_writer *w, int fd, const struct endpoint *at)
{
	char text[ENDPOINT_TEXT_MAX];

	(void) fprintf(w->file, "listener fd=%d at=%s\n", name_fd(w, fd), endpoint_format(at, text));
}

static void write_sources(struct handover_writer *w, unsigned from)
{
	for (enum endpoints_source s = 0; s < ENDPOINTS_N_SOURCES; s++) {
		if ((from & ENDPOINTS_FROM(s)) != 0)
			(void) fprintf(w->file, "%s,", endpoints_source_name(s));
	}
}

void handover_write_upstream(struct handover_writer *w, const struct handover_upstream *u)
{
	char text[ENDPOINT_TEXT_MAX];

	(void) fprintf(w->file,
	               "upstream at=%s state=%s since=%" PRId64 " rtt=%" PRId64 " drained=%d from=",
	               endpoint_format(&u->endpoint, text), judge_state_name(u->state), u->since_us,
	               u->rtt_us, u->drained);
	write_sources(w, u->from);
	(void) fprintf(w->file, " reason=%zu\n%s", strlen(u->reason), u->reason);
}

static void write_flow(struct handover_writer *w, const char *name, const struct handover_flow *f)
{
	if (f->pipe_read != FD_NONE)
		(void) fprintf(w->file, " %s_pipe_read=%d %s_pipe_write=%d", name, name_fd(w, f->pipe_read),
		               name, name_fd(w, f->pipe_write));
	if (f->held_len > 0)
		(void) fprintf(w->file, " %s_held=%zu", name, f->held_len);
}

static void write_held(struct handover_writer *w, const struct handover_flow *f)
{
	if (f->held_len > 0)
		(void) fwrite(f->held, 1, f->held_len, w->file);
}

void handover_write_conn(struct handover_writer *w, const struct handover_conn *c)
{
	char text[ENDPOINT_TEXT_MAX];

	(void) fprintf(w->file, "conn client=%d born=%" PRId64 " moved=%" PRId64 " place=%u",
	               name_fd(w, c->client_fd), c->born_us, c->moved_us, c->place);
	if (c->server_fd != FD_NONE)
		(void) fprintf(w->file, " server=%d at=%s", name_fd(w, c->server_fd),
		               endpoint_format(&c->upstream, text));
	if (c->patient)
		(void) fputs(" patient=1", w->file);
	if (c->asks)
		(void) fputs(" asks=1", w->file);
	write_flow(w, "up", &c->up);
	write_flow(w, "down", &c->down);
	(void) fputc('\n', w->file);
	write_held(w, &c->up);
	write_held(w, &c->down);
}

static int set_cloexec(int fd, bool on)
{
	return fcntl(fd, F_SETFD, on ? FD_CLOEXEC : 0) < 0 ? -errno : 0;
}

int handover_arm(struct handover_writer *w)
{
	char number[16];
	struct stat st;
	int r = 0;

	if (fflush(w->file) != 0 || ferror(w->file))
		return -EIO;
	if (fstat(fileno(w->file), &st) < 0)
		return -errno;
	if ((uint64_t) st.st_size > HANDOVER_BYTES_MAX)
		return -EFBIG;
	for (size_t i = 0; i < w->n_fds && r == 0; i++)
		r = set_cloexec(w->fds[i], false);
	if (r == 0)
		r = set_cloexec(fileno(w->file), false);
	(void) snprintf(number, sizeof(number), "%d", fileno(w->file));
	if (r == 0 && setenv(HANDOVER_ENV, number, 1) < 0)
		r = -errno;
	return r;
}

void handover_cancel(struct handover_writer *w)
{
	(void) unsetenv(HANDOVER_ENV);
	for (size_t i = 0; i < w->n_fds; i++)
		(void) set_cloexec(w->fds[i], true);
	(void) set_cloexec(fileno(w->file), true);
}

/* --- reading --- */

struct handover {
	char *text;
	size_t len;
};

/* One line, taken apart, and the bytes behind it. */
struct line {
	char copy[1024];
	const char *kind;
	const char *keys[WORDS_MAX];
	const char *values[WORDS_MAX];
	size_t n;
	const char *bytes;
	size_t bytes_left; /* of the text behind the line */
};

static int read_all(int fd, struct handover *h)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size < 0 || (uint64_t) st.st_size > HANDOVER_BYTES_MAX)
		return -EFBIG;
	h->text = xcalloc(1, (size_t) st.st_size + 1);
	while (h->len < (size_t) st.st_size) {
		ssize_t n = pread(fd, h->text + h->len, (size_t) st.st_size - h->len, (off_t) h->len);

		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		h->len += (size_t) n;
	}
	return 0;
}

void handover_free(struct handover *h)
{
	if (h == NULL)
		return;
	free(h->text);
	free(h);
}

/* 0, or -EBADMSG. *at moves behind the line. */
static int next_line(const char **at, const char *end, struct line *ret)
{
	const char *newline = memchr(*at, '\n', (size_t) (end - *at));
	size_t len = newline != NULL ? (size_t) (newline - *at) : 0;
	char *save = NULL, *word;

	if (newline == NULL || len >= sizeof(ret->copy))
		return -EBADMSG;
	memcpy(ret->copy, *at, len);
	ret->copy[len] = '\0';
	*at = newline + 1;
	ret->bytes = *at;
	ret->bytes_left = (size_t) (end - *at);
	ret->n = 0;
	ret->kind = strtok_r(ret->copy, " ", &save);
	if (ret->kind == NULL)
		return -EBADMSG;
	while ((word = strtok_r(NULL, " ", &save)) != NULL && ret->n < WORDS_MAX) {
		char *equals = strchr(word, '=');

		if (equals == NULL)
			continue;
		*equals = '\0';
		ret->keys[ret->n] = word;
		ret->values[ret->n++] = equals + 1;
	}
	return 0;
}

static const char *find(const struct line *l, const char *prefix, const char *key)
{
	size_t len = strlen(prefix);

	for (size_t i = 0; i < l->n; i++) {
		if (strncmp(l->keys[i], prefix, len) == 0 && strcmp(l->keys[i] + len, key) == 0)
			return l->values[i];
	}
	return NULL;
}

static int64_t number(const struct line *l, const char *prefix, const char *key, int64_t otherwise)
{
	const char *value = find(l, prefix, key);

	return value != NULL ? strtoll(value, NULL, 10) : otherwise;
}

/* The descriptor of this name; FD_NONE when there is none, or it is not open. */
static int descriptor(const struct line *l, const char *prefix, const char *key)
{
	int64_t fd = number(l, prefix, key, FD_NONE);

	return fd > STDERR_FILENO && fd <= INT_MAX && fcntl((int) fd, F_GETFD) >= 0 ? (int) fd
	                                                                            : FD_NONE;
}

/* The bytes behind the line of which `key` says how many; NULL when they are not there. */
static const char *take_bytes(struct line *l, const char *prefix, const char *key, size_t *ret_len)
{
	int64_t len = number(l, prefix, key, 0);
	const char *bytes = l->bytes;

	if ((uint64_t) len > l->bytes_left) /* also when it is negative */
		return NULL;
	l->bytes += len;
	l->bytes_left -= (size_t) len;
	*ret_len = (size_t) len;
	return bytes;
}

/* What another version knows, and the bytes behind it. */
static int pass_over(struct line *l)
{
	size_t len;

	return take_bytes(l, "", "bytes", &len) != NULL ? 0 : -EBADMSG;
}

static int read_config(struct line *l, const struct handover_reader_ops *ops, void *userdata)
{
	size_t len;
	const char *yaml = take_bytes(l, "", "bytes", &len);

	if (yaml == NULL)
		return -EBADMSG;
	if (ops->config != NULL)
		ops->config(yaml, len, userdata);
	return 0;
}

static int read_listener(struct line *l, const struct handover_reader_ops *ops, void *userdata)
{
	const char *at = find(l, "", "at");
	struct endpoint endpoint;
	int fd;

	fd = descriptor(l, "", "fd");
	if (at == NULL || fd == FD_NONE || endpoint_parse(at, 0, &endpoint) < 0)
		return -EBADMSG;
	if (ops->listener != NULL)
		ops->listener(fd, &endpoint, userdata);
	return 0;
}

/* A name that another version has, and this one does not, is nobody's. */
static unsigned sources(const char *names)
{
	AUTO(free) char *text = xstrdup(names);
	enum endpoints_source source;
	unsigned from = 0;
	char *save = NULL;

	for (char *name = strtok_r(text, ",", &save); name != NULL; name = strtok_r(NULL, ",", &save)) {
		if (endpoints_source_parse(name, &source))
			from |= ENDPOINTS_FROM(source);
	}
	return from;
}

static int read_upstream(struct line *l, const struct handover_reader_ops *ops, void *userdata)
{
	struct handover_upstream u = {.state = JUDGE_UNKNOWN};
	const char *at = find(l, "", "at");
	const char *state = find(l, "", "state");
	const char *from = find(l, "", "from");
	AUTO(free) char *text = NULL;
	const char *reason;
	size_t len;

	reason = take_bytes(l, "", "reason", &len);
	if (reason == NULL || at == NULL || endpoint_parse(at, 0, &u.endpoint) < 0)
		return -EBADMSG;
	if (ops->upstream == NULL)
		return 0;
	/* A state that another version has and this one does not is as good as none. */
	(void) judge_state_parse(state != NULL ? state : "", &u.state);
	text = xstrndup(reason, len);
	u.reason = text;
	u.since_us = number(l, "", "since", 0);
	u.rtt_us = number(l, "", "rtt", 0);
	u.drained = number(l, "", "drained", 0) != 0;
	u.from = sources(from != NULL ? from : "");
	ops->upstream(&u, userdata);
	return 0;
}

static bool read_flow(struct line *l, const char *prefix, struct handover_flow *ret)
{
	ret->pipe_read = descriptor(l, prefix, "pipe_read");
	ret->pipe_write = descriptor(l, prefix, "pipe_write");
	ret->held = take_bytes(l, prefix, "held", &ret->held_len);
	return ret->held != NULL && (ret->pipe_read == FD_NONE) == (ret->pipe_write == FD_NONE);
}

static int read_conn(struct line *l, const struct handover_reader_ops *ops, void *userdata)
{
	struct handover_conn c = {0};
	const char *at = find(l, "", "at");
	bool whole;

	c.client_fd = descriptor(l, "", "client");
	c.server_fd = descriptor(l, "", "server");
	c.born_us = number(l, "", "born", 0);
	c.moved_us = number(l, "", "moved", 0);
	c.place = (uint16_t) number(l, "", "place", 0);
	c.patient = number(l, "", "patient", 0) != 0;
	c.asks = number(l, "", "asks", 0) != 0;
	whole = read_flow(l, "up_", &c.up) && read_flow(l, "down_", &c.down);
	if (!whole || c.client_fd == FD_NONE ||
	    (c.server_fd != FD_NONE && (at == NULL || endpoint_parse(at, 0, &c.upstream) < 0)))
		return -EBADMSG;
	if (ops->conn != NULL)
		ops->conn(&c, userdata);
	return 0;
}

/* 0, or -EBADMSG at the first line that cannot be read. */
static int read_lines(const struct handover *h, const struct handover_reader_ops *ops,
                      void *userdata)
{
	static const struct {
		const char *kind;
		int (*read)(struct line *l, const struct handover_reader_ops *ops, void *userdata);
	} kinds[] = {
	    {"config", read_config},
	    {"listener", read_listener},
	    {"upstream", read_upstream},
	    {"conn", read_conn},
	};
	const char *end = h->text + h->len;
	const char *at = h->text + strlen(FIRST_LINE);
	struct line l;
	size_t i;
	int r;

	while (at < end) {
		r = next_line(&at, end, &l);
		if (r < 0)
			return r;
		for (i = 0; i < ARRAY_SIZE(kinds); i++) {
			if (strcmp(kinds[i].kind, l.kind) == 0)
				break;
		}
		r = i < ARRAY_SIZE(kinds) ? kinds[i].read(&l, ops, userdata) : pass_over(&l);
		if (r < 0)
			return r;
		at = l.bytes;
	}
	return 0;
}

void handover_read(const struct handover *h, const struct handover_reader_ops *ops, void *userdata)
{
	int r;

	r = read_lines(h, ops, userdata);
	assert(r == 0); /* handover_open() has read them */
}

static int open_and_check(const char *number, struct handover **ret_handover)
{
	static const struct handover_reader_ops nobody = {0};
	AUTO(handover_free) struct handover *h = NEW0(struct handover);
	char *end;
	long fd;
	int r;

	fd = strtol(number, &end, 10);
	if (fd <= STDERR_FILENO || fd > INT_MAX || *end != '\0')
		return -EBADMSG;
	r = read_all((int) fd, h);
	if (r < 0)
		return r;
	if (strncmp(h->text, FIRST_LINE, strlen(FIRST_LINE)) != 0)
		return -EBADMSG;
	r = read_lines(h, &nobody, NULL);
	if (r < 0)
		return r;
	(void) close((int) fd);
	*ret_handover = TAKE_PTR(h);
	return 0;
}

int handover_open(struct handover **ret_handover)
{
	AUTO(free) char *number = NULL;
	const char *env = getenv(HANDOVER_ENV);
	int r;

	if (env == NULL)
		return -ENOENT;
	number = xstrdup(env);
	(void) unsetenv(HANDOVER_ENV);
	r = open_and_check(number, ret_handover);
	(void) close_range(STDERR_FILENO + 1, UINT_MAX, r < 0 ? 0 : CLOSE_RANGE_CLOEXEC);
	return r;
}
