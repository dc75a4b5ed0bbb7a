/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One stage a layer: it gathers the first bytes, puts the stage that they ask for between itself
 * and what follows, and passes everything through that. Behind age there is another such stage that
 * knows zstd and bundles, and so on; so no layer is there twice.
 */
#include "etcdwatch/worker/pack/opener.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/worker/pack/unbundle.h"
#include "etcdwatch/worker/pack/zstdflow.h"

#define AGE_MAGIC "age-encryption.org/v1\n"
#define ZSTD_MAGIC "\x28\xb5\x2f\xfd"
#define TAR_MAGIC "ustar"
#define TAR_MAGIC_AT 257
_Static_assert(TAR_MAGIC_AT + sizeof(TAR_MAGIC) - 1 <= OPENER_HEAD_BYTES, "it is in the head");

enum layer {
	OUTSIDE,
	INSIDE_AGE,
	INSIDE_ZSTD,
};

struct opener {
	struct sink sink;
	enum layer layer;
	const struct opener_keys *keys;
	struct extract *extract;
	struct sink *plain; /* until it is clear what leads there */
	struct sink *next;  /* from then on */
	struct opener_found *found;
	struct problem *problem;
	uint8_t head[OPENER_HEAD_BYTES];
	size_t head_len;
};

static struct sink *layer_new(const struct opener *outer, enum layer layer, struct sink *plain);

static bool is_at(const uint8_t *head, size_t head_len, size_t at, const char *magic)
{
	return head_len >= at + strlen(magic) && memcmp(head + at, magic, strlen(magic)) == 0;
}

static bool has(const struct opener *o, size_t at, const char *magic)
{
	return is_at(o->head, o->head_len, at, magic);
}

bool opener_is_packed(const void *head, size_t len)
{
	return is_at(head, len, 0, AGE_MAGIC) || is_at(head, len, 0, ZSTD_MAGIC) ||
	       is_at(head, len, TAR_MAGIC_AT, TAR_MAGIC);
}

/* Puts in the stage that the head asks for. */
static int decide(struct opener *o)
{
	struct sink *plain = TAKE_PTR(o->plain);
	int r;

	if (o->layer < INSIDE_AGE && has(o, 0, AGE_MAGIC)) {
		o->found->age = true;
		if (o->keys->n_files == 0 && o->keys->identity == NULL) {
			sink_free(plain);
			return problem_set(o->problem, -ENOKEY, "KEY",
			                   "it is encrypted, and no identity to decrypt it with was given");
		}
		r = age_decrypt_new(o->keys->files, o->keys->n_files, o->keys->identity,
		                    layer_new(o, INSIDE_AGE, plain), o->problem, &o->next);
		if (r < 0)
			return r;
	} else if (o->layer < INSIDE_ZSTD && has(o, 0, ZSTD_MAGIC)) {
		o->found->zstd = true;
		o->next = zstdflow_decompress_new(layer_new(o, INSIDE_ZSTD, plain), o->problem);
	} else if (has(o, TAR_MAGIC_AT, TAR_MAGIC)) {
		o->found->bundle = true;
		o->next = unbundle_new(plain, o->extract, o->problem);
	} else {
		o->next = plain;
	}
	return sink_write(o->next, o->head, o->head_len);
}

static int opener_write(struct sink *sink, const void *data, size_t len)
{
	struct opener *o = CONTAINER_OF(sink, struct opener, sink);
	const uint8_t *p = data;
	size_t n;
	int r;

	if (o->next != NULL)
		return sink_write(o->next, data, len);
	n = MIN(len, sizeof(o->head) - o->head_len);
	memcpy(o->head + o->head_len, data, n);
	o->head_len += n;
	if (o->head_len < sizeof(o->head))
		return 0;
	r = decide(o);
	return r < 0 ? r : sink_write(o->next, p + n, len - n);
}

static int opener_finish(struct sink *sink)
{
	struct opener *o = CONTAINER_OF(sink, struct opener, sink);
	int r = o->next == NULL ? decide(o) : 0;

	return r < 0 ? r : sink_finish(o->next);
}

static void opener_free(struct sink *sink)
{
	struct opener *o = CONTAINER_OF(sink, struct opener, sink);

	sink_free(o->next);
	sink_free(o->plain);
	free(o);
}

static struct sink *layer_new(const struct opener *outer, enum layer layer, struct sink *plain)
{
	struct opener *o = NEW0(struct opener);

	o->sink = (struct sink){opener_write, opener_finish, opener_free};
	o->layer = layer;
	o->keys = outer->keys;
	o->extract = outer->extract;
	o->found = outer->found;
	o->problem = outer->problem;
	o->plain = plain;
	return &o->sink;
}

struct sink *opener_new(const struct opener_keys *keys, struct extract *extract, struct sink *plain,
                        struct opener_found *found, struct problem *problem)
{
	const struct opener outside = {
	    .keys = keys, .extract = extract, .found = found, .problem = problem};

	return layer_new(&outside, OUTSIDE, plain);
}
