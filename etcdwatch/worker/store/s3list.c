/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of objects, and what is in the small ones of them. */
#include "etcdwatch/worker/store/s3list.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "base/jsonval.h"
#include "base/macro.h"
#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/store/s3target.h"

struct listing {
	struct s3 *s3;
	const char *read; /* a pattern, or NULL */
	uint64_t n;
};

struct content {
	char text[S3LIST_CONTENT_MAX];
	size_t len;
};

static int on_data(const void *data, size_t len, void *userdata)
{
	struct content *content = userdata;

	if (len > sizeof(content->text) - content->len)
		return -EFBIG;
	memcpy(content->text + content->len, data, len);
	content->len += len;
	return 0;
}

static bool is_wanted(const struct listing *listing, const char *key)
{
	const char *slash = strrchr(key, '/');

	return listing->read != NULL && fnmatch(listing->read, slash != NULL ? slash + 1 : key, 0) == 0;
}

static void set_content(json_t *line, json_t *content, const char *reason)
{
	(void) json_object_set_new(line, "content", content != NULL ? content : json_null());
	if (content == NULL)
		(void) json_object_set_new(line, "reason", jsonval_text(reason));
}

/* Adds it to the line. 1: there is no such object any more. */
static int read_content(struct listing *listing, const char *key, json_t *line)
{
	struct content content = {.len = 0};
	json_error_t error;
	int r = s3_get(listing->s3, key, 0, on_data, &content, NULL);

	if (r == -ENOENT)
		return 1;
	if (r == -EFBIG) {
		set_content(line, NULL, "it is too long");
		return 0;
	}
	if (r < 0)
		return r;
	set_content(line, json_loadb(content.text, content.len, JSON_REJECT_DUPLICATES, &error),
	            "it is not JSON");
	return 0;
}

static int on_listed(const struct s3_listed *listed, void *userdata)
{
	struct listing *listing = userdata;
	json_t *line = json_pack("{s:o, s:I, s:o, s:o}", "key", jsonval_text(listed->key), "bytes",
	                         (json_int_t) listed->n_bytes, "etag", jsonval_text(listed->etag),
	                         "modified", jsonval_text(listed->modified));
	int r = 0;

	if (is_wanted(listing, listed->key))
		r = read_content(listing, listed->key, line);
	if (r != 0) {
		json_decref(line);
		return MIN(r, 0);
	}
	listing->n++;
	result_line(line);
	return 0;
}

int s3list_run(struct s3 *s3, const char *prefix, const char *read, struct problem *problem,
               uint64_t *ret_objects)
{
	struct listing listing = {.s3 = s3, .read = read};
	int r = s3_list(s3, prefix, 0, on_listed, &listing);

	if (r < 0)
		return s3target_fail(s3, r, problem);
	*ret_objects = listing.n;
	return 0;
}
