/* SPDX-License-Identifier: Apache-2.0 */
/* One small object. Of two clusters that write it at the same time, a store that knows conditions
 * lets only the first. In another store the last one stays, and the other finds that when it reads
 * it back, or at its next use. */
#include "etcdwatch/worker/store/storeowner.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/civil.h"
#include "base/jsonval.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/worker/common/sink.h"
#include "etcdwatch/worker/store/s3target.h"
#include "web/s3.h"

#define NAME "fairlead-owner.json"
#define BYTES_MAX 4096
#define ID_CHARS 32

const struct options_entry storeowner_options[STOREOWNER_OPTIONS] = {
    OPTION("--owner", TEXT, struct storeowner, id),
    OPTION("--owner-node", TEXT, struct storeowner, node),
    OPTION("--owner-prefix", TEXT, struct storeowner, prefix),
};

static char *key_of(const struct storeowner *owner)
{
	return xasprintf("%s" NAME, owner->prefix);
}

/* --- reading --- */

struct marker {
	char *id, *node, *since;
};

static void marker_fini(struct marker *m)
{
	free(m->id);
	free(m->node);
	free(m->since);
}

static int on_data(const void *data, size_t len, void *userdata)
{
	struct memsink *memory = userdata;

	return sink_write(&memory->sink, data, len);
}

static char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return xstrdup(text != NULL ? text : "?");
}

static bool is_id(const char *text)
{
	return strlen(text) == ID_CHARS && strspn(text, "0123456789abcdef") == ID_CHARS;
}

/* 1: it is there; 0: it is not. */
static int read_marker(struct s3 *s3, const char *key, struct problem *problem, struct marker *ret)
{
	char text[BYTES_MAX];
	struct memsink memory;
	json_t *object;
	int r;

	memsink_init(&memory, text, sizeof(text));
	r = s3_get(s3, key, 0, on_data, &memory, NULL);
	if (r < 0 && r != -EMSGSIZE && s3_get_error(s3)->failure == S3_NOT_FOUND)
		return 0;
	if (r < 0 && r != -EMSGSIZE)
		return s3target_fail(s3, r, problem);
	object = r < 0 ? NULL : json_loadb(text, memory.len, JSON_REJECT_DUPLICATES, NULL);
	*ret = (struct marker){text_of(object, "owner"), text_of(object, "node"),
	                       text_of(object, "since")};
	json_decref(object);
	if (!is_id(ret->id))
		return problem_set(problem, -EBADMSG, "FOREIGN",
		                   "'%s' does not say which cluster the prefix belongs to: nothing is done "
		                   "there before it is removed",
		                   key);
	return 1;
}

/* --- writing --- */

/* Where it is to be new, and the store refuses to be asked for that, it is put all the same. */
static int put_piece(struct s3 *s3, const char *key, struct s3_piece *piece)
{
	int r = s3_put(s3, key, piece);

	if (r < 0 && piece->is_new && s3_get_error(s3)->failure == S3_REFUSED &&
	    !s3_judge_is_passing(S3_REFUSED, s3_get_error(s3)->code)) {
		piece->is_new = false;
		r = s3_put(s3, key, piece);
	}
	return r;
}

/* -EEXIST: another cluster was faster. */
static int put_text(struct s3 *s3, const char *key, const char *text, bool is_new,
                    struct problem *problem)
{
	char path[] = "/tmp/fairlead-owner-XXXXXX";
	AUTO(close) int fd = mkostemp(path, O_CLOEXEC);
	size_t len = strlen(text);
	struct s3_piece piece;
	int r;

	if (fd < 0 || write(fd, text, len) != (ssize_t) len) {
		r = fd < 0 ? -errno : -EIO;
		if (fd >= 0)
			(void) unlink(path);
		return problem_set_errno(problem, r, "cannot write a file in /tmp");
	}
	r = s3_piece_hash(fd, 0, len, NULL, &piece);
	if (r == 0) {
		piece.path = path;
		piece.is_new = is_new;
		r = put_piece(s3, key, &piece);
	}
	(void) unlink(path);
	return r < 0 ? s3target_fail(s3, r, problem) : 0;
}

static int write_marker(struct s3 *s3, const struct storeowner *owner, const char *key, bool is_new,
                        struct problem *problem)
{
	char now[CIVIL_TEXT_MAX];
	json_t *object =
	    json_pack("{s:i, s:s, s:o, s:s}", "version", 1, "owner", owner->id, "node",
	              jsonval_text(owner->node), "since", civil_format(wall_now_us() / US_PER_S, now));
	AUTO(free) char *text = json_dumps(object, JSON_COMPACT);
	int r = put_text(s3, key, text, is_new, problem);

	json_decref(object);
	return r;
}

/* --- comparing --- */

static int compare(const struct storeowner *owner, const struct marker *m, struct problem *problem)
{
	if (strcmp(m->id, owner->id) == 0)
		return 0;
	return problem_set(problem, -EPERM, "FOREIGN",
	                   "the prefix '%s' belongs to another cluster, %s, since %s by its node %s, "
	                   "and this one is %s (node %s): nothing is done there. Give each cluster a "
	                   "prefix; if this one replaces the other for good: fairlead etcd snapshot "
	                   "take-over",
	                   owner->prefix, m->id, m->since, m->node, owner->id, owner->node);
}

static int write_and_compare(struct s3 *s3, const struct storeowner *owner, const char *key,
                             bool is_new, struct problem *problem)
{
	struct problem of_write = {0};
	struct marker m = {0};
	int r = write_marker(s3, owner, key, is_new, &of_write);

	if (r < 0 && r != -EEXIST)
		*problem = of_write;
	else
		r = read_marker(s3, key, problem, &m);
	if (r == 0)
		r = problem_set(problem, -EIO, "S3_MISMATCH", "'%s' was written, and is not there", key);
	else if (r > 0)
		r = compare(owner, &m, problem);
	marker_fini(&m);
	return r;
}

static int check_id(const struct storeowner *owner, struct problem *problem)
{
	if (owner->node == NULL || owner->prefix == NULL)
		return problem_set(problem, -EINVAL, "USAGE",
		                   "--owner goes with --owner-node and --owner-prefix");
	if (is_id(owner->id))
		return 0;
	return problem_set(problem, -EAGAIN, "OWNER_UNKNOWN",
	                   "etcd has not said yet which cluster this is, so nothing is done in '%s'",
	                   owner->prefix);
}

int storeowner_check(struct s3 *s3, const struct storeowner *owner, bool removes,
                     struct problem *problem)
{
	AUTO(free) char *key = NULL;
	struct problem why = {0};
	struct marker m = {0};
	int r;

	if (owner->id == NULL)
		return 0;
	r = check_id(owner, problem);
	if (r < 0)
		return r;
	key = key_of(owner);
	r = read_marker(s3, key, &why, &m);
	if (r > 0)
		r = compare(owner, &m, problem);
	else if (r == 0)
		r = write_and_compare(s3, owner, key, true, problem);
	else if (!removes && strcmp(why.code, "S3_DENIED") == 0)
		r = 0;
	else
		*problem = why;
	marker_fini(&m);
	return r;
}

int storeowner_take_over(struct s3 *s3, const struct storeowner *owner, struct problem *problem,
                         char **ret_before)
{
	AUTO(free) char *key = key_of(owner);
	struct problem unread = {0};
	struct marker m = {0};
	int r = check_id(owner, problem);

	if (r < 0)
		return r;
	/* What cannot be read is replaced as well. */
	(void) read_marker(s3, key, &unread, &m);
	r = write_and_compare(s3, owner, key, false, problem);
	if (r == 0)
		*ret_before = TAKE_PTR(m.id);
	marker_fini(&m);
	return r;
}
