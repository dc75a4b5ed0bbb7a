/* SPDX-License-Identifier: Apache-2.0 */
/* A buffer that holds what is not a whole line yet. */
#include "etcdwatch/worker/common/lines.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define LINE_MAX_BYTES 65536

struct lines {
	lines_fn fn;
	void *userdata;
	size_t len;
	char data[LINE_MAX_BYTES];
};

struct lines *lines_new(lines_fn fn, void *userdata)
{
	struct lines *lines = NEW0(struct lines);

	lines->fn = fn;
	lines->userdata = userdata;
	return lines;
}

void lines_free(struct lines *lines)
{
	free(lines);
}

static void take(const struct lines *lines, const char *line, size_t len)
{
	json_t *object = json_loadb(line, len, 0, NULL);

	if (json_is_object(object))
		lines->fn(object, lines->userdata);
	json_decref(object);
}

int lines_read(struct lines *lines, int fd)
{
	ssize_t n = read(fd, lines->data + lines->len, sizeof(lines->data) - lines->len);
	const char *newline;

	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? 1 : -errno;
	lines->len += (size_t) n;
	while ((newline = memchr(lines->data, '\n', lines->len)) != NULL) {
		size_t len = (size_t) (newline - lines->data);

		take(lines, lines->data, len);
		lines->len -= len + 1;
		memmove(lines->data, newline + 1, lines->len);
	}
	/* Nobody writes lines of that length. */
	if (lines->len == sizeof(lines->data))
		lines->len = 0;
	return n > 0;
}
