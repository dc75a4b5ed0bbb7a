/* SPDX-License-Identifier: Apache-2.0 */
/* One call of etcd each. */
#include "etcdwatch/store/accepted.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/mono.h"

#define NAME_MAX_LEN 64

struct accepted {
	struct etcd_call *call;
	char *folder;
	accepted_done_fn read;
	accepted_written_fn written;
	void *userdata;
};

static char *folder_of(const struct accepted_of *of)
{
	return xasprintf("%setcdwatch/%s/accepted/", of->prefix, of->job);
}

void accepted_free(struct accepted *a)
{
	if (a == NULL)
		return;
	etcd_call_cancel(a->call);
	free(a->folder);
	free(a);
}

/* --- reading --- */

bool accepted_parse(const char *name, size_t name_len, const char *value, size_t value_len,
                    struct retain_accepted *ret_word)
{
	char text[NAME_MAX_LEN];
	struct retain_accepted word = {0};
	unsigned long long cluster_id;
	long long timeline;
	json_t *object, *revision;
	int end = 0;

	if (name_len >= sizeof(text))
		return false;
	memcpy(text, name, name_len);
	text[name_len] = '\0';
	if (sscanf(text, "%16llx-%lld%n", &cluster_id, &timeline, &end) != 2 ||
	    (size_t) end != name_len || timeline < 1)
		return false;
	word.cluster_id = cluster_id;
	word.timeline = timeline;
	object = json_loadb(value, value_len, 0, NULL);
	revision = json_object_get(object, "revision");
	word.revision = json_is_integer(revision) ? json_integer_value(revision) : 0;
	json_decref(object);
	if (word.revision < 1)
		return false;
	*ret_word = word;
	return true;
}

static void read_cb(const struct etcd_outcome *outcome, const struct etcd_range_result *result,
                    void *userdata)
{
	struct accepted *a = userdata;
	struct retain_accepted list[ACCEPTED_MAX];
	size_t folder_len = strlen(a->folder), n = 0;

	a->call = NULL;
	if (outcome->r < 0)
		log_debug("accepted_not_read", "err=\"%s\"", outcome->text);
	for (size_t i = 0; outcome->r == 0 && i < result->n_kvs && n < ACCEPTED_MAX; i++) {
		const struct etcd_kv *kv = &result->kvs[i];

		if (kv->key.len > folder_len &&
		    accepted_parse((const char *) kv->key.data + folder_len, kv->key.len - folder_len,
		                   kv->value.data, kv->value.len, &list[n]))
			n++;
	}
	a->read(list, n, a->userdata);
	accepted_free(a);
}

struct accepted *accepted_read(const struct accepted_of *of, accepted_done_fn done, void *userdata)
{
	struct accepted *a = NEW0(struct accepted);
	struct etcd_range range = {.prefix = true, .limit = ACCEPTED_MAX};

	a->folder = folder_of(of);
	a->read = done;
	a->userdata = userdata;
	range.key = (struct etcd_bytes) ETCD_STR(a->folder);
	(void) etcd_range(of->etcd, &range, read_cb, a, &a->call);
	return a;
}

/* --- writing --- */

static void written_cb(const struct etcd_outcome *outcome, void *userdata)
{
	struct accepted *a = userdata;

	a->call = NULL;
	a->written(outcome->r, outcome->r < 0 ? outcome->text : "", a->userdata);
	accepted_free(a);
}

struct accepted *accepted_write(const struct accepted_of *of, const struct retain_accepted *word,
                                const char *node, accepted_written_fn done, void *userdata)
{
	struct accepted *a = NEW0(struct accepted);
	json_t *object = json_pack("{s:I, s:s, s:I}", "revision", (json_int_t) word->revision, "node",
	                           node, "at", (json_int_t) (wall_now_us() / US_PER_S));
	AUTO(free) char *value = json_dumps(object, JSON_COMPACT);
	AUTO(free) char *key = NULL;

	json_decref(object);
	a->folder = folder_of(of);
	key = xasprintf("%s%016llx-%lld", a->folder, (unsigned long long) word->cluster_id,
	                (long long) word->timeline);
	a->written = done;
	a->userdata = userdata;
	(void) etcd_put(of->etcd, ETCD_STR(key), ETCD_STR(value), 0, written_cb, a, &a->call);
	return a;
}
