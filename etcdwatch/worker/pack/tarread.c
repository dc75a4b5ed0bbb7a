/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers and pax records are gathered in whole blocks, data is passed on as it comes. What the
 * archive says is believed only where tarfmt.c has looked at it; sizes are counted down, never
 * allocated.
 */
#include "etcdwatch/worker/pack/tarread.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"

enum place {
	AT_HEADER,
	IN_PAX,
	IN_DATA,
	IN_PADDING,
	BEHIND_END,
};

struct tarread {
	struct sink sink;
	const struct tarread_callbacks *callbacks;
	void *userdata;
	struct problem *problem;
	enum place place;
	uint64_t n_bytes; /* of this entry's data */
	uint64_t left;    /* of data or padding */
	uint8_t block[TAR_BLOCK_BYTES];
	size_t block_len;
	char pax[TAR_PAX_MAX]; /* about the next entry */
	size_t pax_len;
};

static int corrupt(struct tarread *t, const char *what)
{
	return problem_set(t->problem, -EBADMSG, "CORRUPT", "the archive is damaged: %s", what);
}

static void go_to_padding(struct tarread *t, uint64_t n_bytes)
{
	t->left = tar_padding(n_bytes);
	t->place = t->left > 0 ? IN_PADDING : AT_HEADER;
}

static int end_data(struct tarread *t)
{
	go_to_padding(t, t->n_bytes);
	return t->callbacks->end(t->userdata);
}

static int begin_pax(struct tarread *t, const struct tar_entry *entry)
{
	if (t->pax_len > 0 || entry->n_bytes == 0 || entry->n_bytes >= sizeof(t->pax))
		return corrupt(t, "a pax header of a wrong size");
	t->left = entry->n_bytes;
	t->place = IN_PAX;
	return 0;
}

static int on_header(struct tarread *t)
{
	struct tar_entry entry;
	int r = tar_parse(t->block, &entry);

	if (r < 0)
		return corrupt(t, "what should be a header is none of ours");
	if (r == 0) {
		t->place = BEHIND_END;
		return t->pax_len > 0 ? corrupt(t, "a pax header about nothing") : 0;
	}
	if (entry.type == TAR_PAX)
		return begin_pax(t, &entry);
	r = tar_apply_pax(t->pax, t->pax_len, &entry);
	t->pax_len = 0;
	if (r < 0)
		return corrupt(t, "a pax header that makes no sense");
	if (entry.type != TAR_FILE && entry.n_bytes > 0)
		return corrupt(t, "data of what is not a file");
	r = t->callbacks->entry(&entry, t->userdata);
	if (r < 0)
		return r;
	t->n_bytes = t->left = entry.n_bytes;
	t->place = IN_DATA;
	return t->left == 0 ? end_data(t) : 0;
}

/* Each takes what it can of the data, and says how much, or -errno. */

static ssize_t take_header(struct tarread *t, const uint8_t *data, size_t len)
{
	size_t n = MIN(len, sizeof(t->block) - t->block_len);
	int r;

	memcpy(t->block + t->block_len, data, n);
	t->block_len += n;
	if (t->block_len < sizeof(t->block))
		return (ssize_t) n;
	t->block_len = 0;
	r = on_header(t);
	return r < 0 ? r : (ssize_t) n;
}

static ssize_t take_pax(struct tarread *t, const uint8_t *data, size_t len)
{
	size_t n = (size_t) MIN((uint64_t) len, t->left);

	memcpy(t->pax + t->pax_len, data, n);
	t->pax_len += n;
	t->left -= n;
	if (t->left == 0)
		go_to_padding(t, t->pax_len);
	return (ssize_t) n;
}

static ssize_t take_data(struct tarread *t, const uint8_t *data, size_t len)
{
	size_t n = (size_t) MIN((uint64_t) len, t->left);
	int r = t->callbacks->data(data, n, t->userdata);

	if (r < 0)
		return r;
	t->left -= n;
	r = t->left == 0 ? end_data(t) : 0;
	return r < 0 ? r : (ssize_t) n;
}

static ssize_t take_padding(struct tarread *t, size_t len)
{
	size_t n = (size_t) MIN((uint64_t) len, t->left);

	t->left -= n;
	if (t->left == 0)
		t->place = AT_HEADER;
	return (ssize_t) n;
}

static ssize_t take(struct tarread *t, const uint8_t *data, size_t len)
{
	switch (t->place) {
	case AT_HEADER:
		return take_header(t, data, len);
	case IN_PAX:
		return take_pax(t, data, len);
	case IN_DATA:
		return take_data(t, data, len);
	case IN_PADDING:
		return take_padding(t, len);
	case BEHIND_END:
		/* tar fills its last record with zeros. */
		break;
	}
	return (ssize_t) len;
}

static int tarread_write(struct sink *sink, const void *data, size_t len)
{
	struct tarread *t = CONTAINER_OF(sink, struct tarread, sink);
	const uint8_t *p = data;

	while (len > 0) {
		ssize_t n = take(t, p, len);

		if (n < 0)
			return (int) n;
		p += n;
		len -= (size_t) n;
	}
	return 0;
}

static int tarread_finish(struct sink *sink)
{
	struct tarread *t = CONTAINER_OF(sink, struct tarread, sink);

	if (t->place != BEHIND_END)
		return corrupt(t, "it ends in the middle");
	return t->callbacks->finish(t->userdata);
}

static void tarread_free(struct sink *sink)
{
	struct tarread *t = CONTAINER_OF(sink, struct tarread, sink);

	t->callbacks->free(t->userdata);
	free(t);
}

struct sink *tarread_new(const struct tarread_callbacks *callbacks, void *userdata,
                         struct problem *problem)
{
	struct tarread *t = NEW0(struct tarread);

	t->sink = (struct sink){tarread_write, tarread_finish, tarread_free};
	t->callbacks = callbacks;
	t->userdata = userdata;
	t->problem = problem;
	return &t->sink;
}
