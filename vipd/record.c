/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes and decodes the values of vipd's keys. Everything read here was written by another
 * machine: sizes, types and ranges are checked before anything is believed. Pure but for the random
 * instance id.
 */
#include "vipd/record.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/mono.h"

/* What a recorded window and lateness may be; beyond it the record is nonsense or an attack. */
#define WINDOW_MAX_MS 600000
#define LATE_MAX_MS WINDOW_MAX_MS
/* Of an epoch; there is always a next one. */
#define EPOCH_MAX (INT64_C(1) << 53)
/* As in the configuration (config.h). */
#define PRIORITY_MAX 1000

DEFINE_AUTO(json_t, json_decref);

static char *dump(json_t *object)
{
	char *text;

	assert(object != NULL);
	text = json_dumps(object, JSON_COMPACT);
	assert(text != NULL);
	return text;
}

static void format_wall(int64_t wall_us, char buf[static 32])
{
	time_t seconds = (time_t) (wall_us / US_PER_S);
	struct tm tm;

	(void) gmtime_r(&seconds, &tm);
	(void) strftime(buf, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

static int64_t parse_wall(const char *text)
{
	struct tm tm = {0};

	if (text == NULL || strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm) == NULL)
		return 0;
	return (int64_t) timegm(&tm) * US_PER_S;
}

const char *record_id_format(uint64_t id)
{
	static char text[17];

	(void) snprintf(text, sizeof(text), "%" PRIx64, id);
	return text;
}

int record_id_parse(const char *text, uint64_t *ret_id)
{
	size_t len = strlen(text);

	if (len == 0 || len > 16 || strspn(text, "0123456789abcdef") != len)
		return -EINVAL;
	*ret_id = strtoull(text, NULL, 16);
	return 0;
}

char *record_owner_format(const struct record_owner *o)
{
	AUTO(json_decref) json_t *object = NULL;
	char wall[32];

	format_wall(o->wall_us, wall);
	object = json_pack("{s:s, s:s, s:I, s:I, s:I, s:b, s:s, s:s, s:s, s:I, s:s}", "node", o->node,
	                   "instance", o->instance, "epoch", (json_int_t) o->epoch, "windowMs",
	                   (json_int_t) (o->window_us / US_PER_MS), "lateMs",
	                   (json_int_t) (o->late_us / US_PER_MS), "released", o->released ? 1 : 0,
	                   "successor", o->successor, "reason", o->reason, "time", wall, "stampUs",
	                   (json_int_t) o->stamp_us, "cluster", record_id_format(o->cluster_id));
	return dump(object);
}

char *record_node_format(const struct record_node *n)
{
	char mac[MAC_TEXT_MAX];
	AUTO(json_decref)
	json_t *object = json_pack(
	    "{s:s, s:i, s:s, s:b, s:b, s:b, s:i, s:I, s:s*}", "instance", n->instance, "priority",
	    n->priority, "health", health_state_name(n->health), "ready", n->ready ? 1 : 0, "eligible",
	    n->eligible ? 1 : 0, "etcdLeader", n->etcd_leader ? 1 : 0, "owned", (int) n->owned,
	    "answered", (json_int_t) n->answered, "mac", n->has_mac ? mac_format(&n->mac, mac) : NULL);

	if (n->looked_epoch != 0) {
		(void) json_object_set_new(object, "lookedEpoch", json_integer(n->looked_epoch));
		(void) json_object_set_new(object, "reached", json_boolean(n->reached));
	}
	if (n->failed_epoch != 0)
		(void) json_object_set_new(object, "failedEpoch", json_integer(n->failed_epoch));
	return dump(object);
}

char *record_beat_format(int64_t epoch, int64_t sequence)
{
	return xasprintf("{\"epoch\":%" PRId64 ",\"seq\":%" PRId64 "}", epoch, sequence);
}

static json_t *load(const void *value, size_t len)
{
	json_t *object;

	if (len > RECORD_VALUE_MAX)
		return NULL;
	object = json_loadb(value, len, JSON_REJECT_DUPLICATES, NULL);
	if (object != NULL && !json_is_object(object)) {
		json_decref(object);
		return NULL;
	}
	return object;
}

/* Copies text that fits and holds only printable ASCII, so that it can stand in a log line. */
static bool copy_bytes(char *to, size_t size, const char *from, size_t len)
{
	if (len >= size)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (from[i] < 0x20 || from[i] > 0x7e || from[i] == '"' || from[i] == '\\')
			return false;
	}
	memcpy(to, from, len);
	to[len] = '\0';
	return true;
}

static bool copy_text(char *to, size_t size, const char *from)
{
	return copy_bytes(to, size, from, strlen(from));
}

int record_node_name_parse(const char *text, size_t len, struct record_node *ret_node)
{
	return len > 0 && copy_bytes(ret_node->node, sizeof(ret_node->node), text, len) ? 0 : -EINVAL;
}

int record_owner_parse(const void *value, size_t len, struct record_owner *ret_owner)
{
	AUTO(json_decref) json_t *object = load(value, len);
	struct record_owner o = {0};
	const char *node = NULL, *instance = NULL, *successor = "", *reason = "", *wall = NULL;
	const char *cluster = "0";
	json_int_t epoch = 0, window_ms = 0, late_ms = 0, stamp_us = 0;
	int released = 0;
	int r;

	if (object == NULL)
		return -EINVAL;
	r = json_unpack(object, "{s:s, s:s, s:I, s:I, s:I, s:b, s?s, s?s, s?s, s?I, s?s}", "node",
	                &node, "instance", &instance, "epoch", &epoch, "windowMs", &window_ms, "lateMs",
	                &late_ms, "released", &released, "successor", &successor, "reason", &reason,
	                "time", &wall, "stampUs", &stamp_us, "cluster", &cluster);
	if (r < 0 || epoch < 1 || epoch > EPOCH_MAX || window_ms < 1 || window_ms > WINDOW_MAX_MS ||
	    late_ms < 0 || late_ms > LATE_MAX_MS || node[0] == '\0' || instance[0] == '\0')
		return -EINVAL;
	if (!copy_text(o.node, sizeof(o.node), node) ||
	    !copy_text(o.instance, sizeof(o.instance), instance) ||
	    !copy_text(o.successor, sizeof(o.successor), successor) ||
	    !copy_text(o.reason, sizeof(o.reason), reason) ||
	    record_id_parse(cluster, &o.cluster_id) < 0)
		return -EINVAL;
	o.epoch = epoch;
	o.window_us = window_ms * US_PER_MS;
	o.late_us = late_ms * US_PER_MS;
	o.released = released != 0;
	o.wall_us = parse_wall(wall);
	o.stamp_us = stamp_us;
	*ret_owner = o;
	return 0;
}

int record_node_parse(const void *value, size_t len, struct record_node *ret_node)
{
	AUTO(json_decref) json_t *object = load(value, len);
	struct record_node n = *ret_node;
	const char *instance = NULL, *health = NULL, *mac = NULL;
	json_int_t priority = 0, owned = 0, answered = -1, looked_epoch = 0, failed_epoch = 0;
	int ready = 0, eligible = 0, etcd_leader = 0, reached = 0;
	int r;

	if (object == NULL)
		return -EINVAL;
	r = json_unpack(object, "{s:s, s:I, s:s, s?b, s:b, s:b, s?I, s?I, s?s, s?I, s?b, s?I}",
	                "instance", &instance, "priority", &priority, "health", &health, "ready",
	                &ready, "eligible", &eligible, "etcdLeader", &etcd_leader, "owned", &owned,
	                "answered", &answered, "mac", &mac, "lookedEpoch", &looked_epoch, "reached",
	                &reached, "failedEpoch", &failed_epoch);
	if (r < 0 || priority < 0 || priority > PRIORITY_MAX || owned < 0 || owned > CONFIG_VIPS_MAX ||
	    answered < -1 || looked_epoch < 0 || looked_epoch > EPOCH_MAX || failed_epoch < 0 ||
	    failed_epoch > EPOCH_MAX || instance[0] == '\0' ||
	    !copy_text(n.instance, sizeof(n.instance), instance))
		return -EINVAL;
	r = health_state_parse(health, &n.health);
	if (r < 0)
		return r;
	n.has_mac = mac != NULL;
	if (n.has_mac && mac_parse(mac, &n.mac) < 0)
		return -EINVAL;
	n.priority = (int) priority;
	n.ready = ready != 0;
	n.eligible = eligible != 0;
	n.etcd_leader = etcd_leader != 0;
	n.owned = (unsigned) owned;
	n.answered = answered;
	n.looked_epoch = looked_epoch;
	n.reached = reached != 0;
	n.failed_epoch = failed_epoch;
	*ret_node = n;
	return 0;
}

void record_new_instance(char ret_instance[static RECORD_INSTANCE_LEN + 1])
{
	uint8_t bytes[RECORD_INSTANCE_LEN / 2];
	ssize_t n;

	/* getrandom(2): up to 256 bytes are never cut short once the pool is up. */
	n = getrandom(bytes, sizeof(bytes), 0);
	assert(n == (ssize_t) sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void) snprintf(ret_instance + 2 * i, 3, "%02x", bytes[i]);
}
