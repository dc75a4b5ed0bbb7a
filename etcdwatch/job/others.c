/* SPDX-License-Identifier: Apache-2.0 */
/* One node has one place in the list, which goes to the snapshot that ended last. */
#include "etcdwatch/job/others.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/mono.h"
#include "etcd/etcd.h"
#include "etcdwatch/job/job.h"

static void add(struct others *o, const char *self, const struct others_one *one)
{
	struct others_one *place = NULL;

	if (one->node[0] == '\0' || one->id[0] == '\0' || strcmp(one->node, self) == 0)
		return;
	for (size_t i = 0; i < o->n && place == NULL; i++) {
		if (strcmp(o->items[i].node, one->node) == 0)
			place = &o->items[i];
	}
	/* Keys of older versions tell less than the entry of the same snapshot. */
	if (place != NULL && (strcmp(place->id, one->id) == 0 ? place->agreed_is_known
	                                                      : place->finished_s >= one->finished_s))
		return;
	if (place == NULL && o->n == OTHERS_NODES_MAX)
		return;
	if (place == NULL)
		place = &o->items[o->n++];
	*place = *one;
}

static void copy_text(char *to, size_t size, const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	(void) snprintf(to, size, "%s", text != NULL ? text : "");
}

void others_add_done(struct others *o, const char *self, const char *value, size_t len)
{
	json_t *object = json_loadb(value, len, 0, NULL);
	const json_t *agreed = json_object_get(object, "agreed");
	struct others_one one = {
	    .finished_s = json_integer_value(json_object_get(object, "finished")),
	    .revision = json_integer_value(json_object_get(object, "revision")),
	    .agreed_is_known = agreed != NULL,
	};

	copy_text(one.node, sizeof(one.node), object, "node");
	copy_text(one.id, sizeof(one.id), object, "id");
	copy_text(one.agreed, sizeof(one.agreed), object, "agreed");
	json_decref(object);
	add(o, self, &one);
}

struct others others_of_done(const char *self, const struct etcd_range_result *done, int64_t now_s)
{
	struct others o = {.read_s = now_s};

	for (size_t i = 0; i < done->n_kvs; i++)
		others_add_done(&o, self, done->kvs[i].value.data, done->kvs[i].value.len);
	return o;
}

void others_add_entry(struct others *o, const char *self, const struct catalog_entry *e)
{
	struct others_one one = {
	    .finished_s = e->finished_s, .revision = e->revision, .agreed_is_known = true};

	if (!catalog_is_good(e) || e->node == NULL)
		return;
	(void) snprintf(one.node, sizeof(one.node), "%s", e->node);
	(void) snprintf(one.id, sizeof(one.id), "%s", e->id);
	(void) snprintf(one.agreed, sizeof(one.agreed), "%s",
	                e->hashkv_verified != NULL ? e->hashkv_verified : "");
	add(o, self, &one);
}

/* --- asking for the keys of a job below PREFIX/etcdwatch/JOB/done/ --- */

struct others_request {
	struct job *job;
	char *folder;
	struct etcd_call *call;
	others_done_fn done;
	void *userdata;
};

void others_free(struct others_request *q)
{
	if (q == NULL)
		return;
	etcd_call_cancel(q->call);
	free(q->folder);
	free(q);
}

static void read_cb(const struct etcd_outcome *outcome, const struct etcd_range_result *result,
                    void *userdata)
{
	struct others_request *q = userdata;
	struct others others = {0};

	q->call = NULL;
	if (outcome->r == 0) {
		others = others_of_done(job_env(q->job)->node_name, result, wall_now_us() / US_PER_S);
		*job_others(q->job) = others;
	}
	q->done(&others, outcome->r < 0 ? outcome->text : "", q->userdata);
	others_free(q);
}

struct others_request *others_ask(struct job *job, others_done_fn done, void *userdata)
{
	const struct job_env *env = job_env(job);
	struct others_request *q = NEW0(struct others_request);
	struct etcd_range range = {.prefix = true, .limit = OTHERS_READ_MAX};

	q->job = job;
	q->folder = xasprintf("%setcdwatch/%s/done/", env->prefix, job_config(job)->name);
	q->done = done;
	q->userdata = userdata;
	range.key = (struct etcd_bytes) ETCD_STR(q->folder);
	(void) etcd_range(env->etcd, &range, read_cb, q, &q->call);
	return q;
}
