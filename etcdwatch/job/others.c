/* SPDX-License-Identifier: Apache-2.0 */
/* One node has one place in the list, which goes to the snapshot that ended last. */
#include "etcdwatch/job/others.h"

#include <stdio.h>
#include <string.h>

#include "etcd/etcd.h"

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
