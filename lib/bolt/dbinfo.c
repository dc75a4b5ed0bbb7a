/* SPDX-License-Identifier: Apache-2.0 */
/* A few small buckets, read one by one; each may be missing. Members are JSON, alarms protobuf. */
#include "bolt/dbinfo.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/mem.h"
#include "bolt/cursor.h"
#include "bolt/bytes.h"

#define ID_DIGITS 16
#define MEMBER_BYTES_MAX 65536

/* --- any bucket --- */

typedef int (*entry_fn)(struct bolt *db, const struct cursor_entry *entry, struct dbinfo *info);

/* How many keys there are; fn may be NULL. */
static int for_each(struct bolt *db, const char *bucket, entry_fn fn, struct dbinfo *info,
                    uint64_t *ret_n)
{
	AUTO(cursor_free) struct cursor *c = NULL;
	struct cursor_entry entry;
	uint64_t n = 0;
	int r;

	r = cursor_open_named(db, bucket, &c);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	for (;;) {
		r = cursor_next(c, &entry);
		if (r > 0 && fn != NULL && fn(db, &entry, info) < 0)
			return -EBADMSG;
		if (r <= 0)
			break;
		n++;
	}
	if (r == 0)
		*ret_n = n;
	return r;
}

static int get_number(struct bolt *db, const char *key, uint64_t *ret_number)
{
	uint8_t buf[8];
	int r = cursor_get(db, "meta", key, buf, sizeof(buf));

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	if (r != sizeof(buf))
		return bolt_fail(db, BOLT_NO_PAGE, "%s has %d bytes", key, r);
	*ret_number = bytes_be64(buf);
	return 0;
}

static int get_version(struct bolt *db, const char *bucket, const char *key,
                       char ret_text[static DBINFO_VERSION_MAX])
{
	char buf[DBINFO_VERSION_MAX] = "";
	int r = cursor_get(db, bucket, key, buf, sizeof(buf) - 1);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	for (int i = 0; i < r; i++) {
		if (!isgraph((unsigned char) buf[i]))
			return bolt_fail(db, BOLT_NO_PAGE, "%s is no version", key);
	}
	memcpy(ret_text, buf, sizeof(buf));
	return 0;
}

/* --- members --- */

static bool parse_hex(struct bytes text, uint64_t *ret_id)
{
	uint64_t id = 0;

	if (text.len == 0 || text.len > ID_DIGITS)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		int c = text.data[i];

		if (!isxdigit(c))
			return false;
		id = id << 4 | (uint64_t) (isdigit(c) ? c - '0' : tolower(c) - 'a' + 10);
	}
	*ret_id = id;
	return true;
}

static char **copy_urls(const json_t *array, size_t *ret_n)
{
	size_t n = json_array_size(array);
	char **urls = n > 0 ? xcalloc(n, sizeof(*urls)) : NULL;

	for (size_t i = 0; i < n; i++) {
		const char *url = json_string_value(json_array_get(array, i));

		urls[i] = xstrdup(url != NULL ? url : "");
	}
	*ret_n = n;
	return urls;
}

static int read_member(struct bolt *db, const struct cursor_entry *entry, struct dbinfo *info)
{
	struct dbinfo_member m = {0};
	const char *name;
	json_t *root, *peers, *clients;

	if (!parse_hex(entry->key, &m.id))
		return bolt_fail(db, entry->page, "the key of a member is no id");
	if (info->n_members == DBINFO_MEMBERS_MAX || entry->value.len > MEMBER_BYTES_MAX)
		return bolt_fail(db, entry->page, "more or larger members than there can be");
	/* Ids are numbers beyond 2^63; the key has them anyway. */
	root = json_loadb((const char *) entry->value.data, entry->value.len, JSON_DECODE_INT_AS_REAL,
	                  NULL);
	if (!json_is_object(root)) {
		json_decref(root);
		return bolt_fail(db, entry->page, "a member is not described in JSON");
	}
	peers = json_object_get(root, "peerURLs");
	clients = json_object_get(root, "clientURLs");
	if (json_array_size(peers) > DBINFO_URLS_MAX || json_array_size(clients) > DBINFO_URLS_MAX) {
		json_decref(root);
		return bolt_fail(db, entry->page, "a member with more URLs than there can be");
	}
	name = json_string_value(json_object_get(root, "name"));
	m.name = xstrdup(name != NULL ? name : "");
	m.peer_urls = copy_urls(peers, &m.n_peer_urls);
	m.client_urls = copy_urls(clients, &m.n_client_urls);
	m.is_learner = json_is_true(json_object_get(root, "isLearner"));
	json_decref(root);
	info->members = xreallocarray(info->members, info->n_members + 1, sizeof(m));
	info->members[info->n_members++] = m;
	return 0;
}

static void free_texts(char **texts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(texts[i]);
	free(texts);
}

void dbinfo_free(struct dbinfo *info)
{
	if (info == NULL)
		return;
	for (size_t i = 0; i < info->n_members; i++) {
		struct dbinfo_member *m = &info->members[i];

		free(m->name);
		free_texts(m->peer_urls, m->n_peer_urls);
		free_texts(m->client_urls, m->n_client_urls);
	}
	free(info->members);
	free(info);
}

/* --- alarms, auth --- */

/* The key is the whole alarm: member id and kind. */
static int read_alarm(struct bolt *db, const struct cursor_entry *entry, struct dbinfo *info)
{
	struct dbinfo_alarm alarm = {0};
	struct bytes rest = entry->key;
	struct proto_field f;
	int r;

	for (r = proto_next(&rest, &f); r > 0; r = proto_next(&rest, &f)) {
		if (f.number == 1 && f.type == PROTO_VARINT)
			alarm.member_id = f.integer;
		if (f.number == 2 && f.type == PROTO_VARINT)
			alarm.kind = (enum dbinfo_alarm_kind) MIN(f.integer, (uint64_t) INT8_MAX);
	}
	if (r < 0)
		return bolt_fail(db, entry->page, "an alarm is no protobuf message");
	if (info->n_alarms == DBINFO_ALARMS_MAX)
		return bolt_fail(db, entry->page, "more alarms than there can be");
	info->alarms[info->n_alarms++] = alarm;
	return 0;
}

static int read_auth(struct bolt *db, struct dbinfo *info)
{
	uint8_t enabled = 0;
	int r = cursor_get(db, "auth", "authEnabled", &enabled, sizeof(enabled));

	if (r < 0 && r != -ENOENT)
		return r;
	info->auth_is_enabled = r == 1 && enabled == 1;
	return 0;
}

/* --- all of it --- */

int dbinfo_read(struct bolt *db, struct dbinfo **ret_info)
{
	AUTO(dbinfo_free) struct dbinfo *info = NEW0(struct dbinfo);
	uint64_t n;
	int r;

	r = get_number(db, "consistent_index", &info->consistent_index);
	if (r >= 0)
		r = get_number(db, "term", &info->term);
	if (r >= 0)
		r = get_version(db, "meta", "storageVersion", info->storage_version);
	if (r >= 0)
		r = get_version(db, "cluster", "clusterVersion", info->cluster_version);
	if (r >= 0)
		r = for_each(db, "members", read_member, info, &n);
	if (r >= 0)
		r = for_each(db, "members_removed", NULL, info, &info->n_removed_members);
	if (r >= 0)
		r = for_each(db, "alarm", read_alarm, info, &n);
	if (r >= 0)
		r = for_each(db, "lease", NULL, info, &info->n_leases);
	if (r >= 0)
		r = read_auth(db, info);
	if (r >= 0)
		r = for_each(db, "authUsers", NULL, info, &info->n_users);
	if (r >= 0)
		r = for_each(db, "authRoles", NULL, info, &info->n_roles);
	if (r < 0)
		return r;
	*ret_info = TAKE_PTR(info);
	return 0;
}
