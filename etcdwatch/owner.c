/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One transaction: the key is made if it is not there, and read if it is. What etcd says holds, and
 * replaces the copy. It is asked until it has answered once, and then seldom, as a restore may
 * bring another id.
 */
#include "etcdwatch/owner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/work/keepfile.h"

#define ID_CHARS 32
#define RETRY_US (5 * US_PER_S)
#define AGAIN_US (600 * US_PER_S)

struct owner {
	struct owner_options options;
	struct config_owner now;
	char *path, *key;
	struct keepfile *file;       /* NULL: there is no copy */
	char proposal[ID_CHARS + 1]; /* what is written where there is none */
	struct etcd_call *call;
	ev_timer timer;
};

bool owner_id_is_good(const char *text, size_t len)
{
	return len == ID_CHARS && strspn(text, "0123456789abcdef") >= len;
}

static void ask_after(struct owner *o, int64_t us)
{
	ev_timer_stop(o->options.ev, &o->timer);
	ev_timer_set(&o->timer, mono_to_ev(us), 0.);
	ev_timer_start(o->options.ev, &o->timer);
}

/* Calls out. */
static void take(struct owner *o, const char *id, size_t len)
{
	if (!owner_id_is_good(id, len)) {
		log_error("owner_odd", "key=%s reason=\"it is no id of a cluster\"", o->key);
		return;
	}
	if (memcmp(o->now.id, id, ID_CHARS) == 0)
		return;
	log_notice("owner_known", "old=%s new=%.*s", o->now.id, ID_CHARS, id);
	(void) snprintf(o->now.id, sizeof(o->now.id), "%.*s", ID_CHARS, id);
	if (o->file != NULL)
		keepfile_write(o->file, xasprintf("%s\n", o->now.id));
	o->options.known(o->options.userdata);
}

static void asked_cb(const struct etcd_outcome *outcome, const struct etcd_txn_result *result,
                     void *userdata)
{
	struct owner *o = userdata;

	o->call = NULL;
	ask_after(o, outcome->r < 0 ? RETRY_US : AGAIN_US);
	if (outcome->r < 0) {
		log_debug("owner_not_asked", "err=\"%s\"", outcome->text);
	} else if (result->succeeded) {
		take(o, o->proposal, ID_CHARS);
	} else if (result->n_results == 1 && result->results[0].range.n_kvs == 1) {
		const struct etcd_bytes *value = &result->results[0].range.kvs[0].value;
		AUTO(free) char *text = xstrndup(value->data, value->len);

		take(o, text, value->len);
	}
}

static void ask(struct owner *o)
{
	const struct etcd_compare is_new = {
	    .key = ETCD_STR(o->key), .target = ETCD_COMPARE_CREATE, .result = ETCD_EQUAL};
	const struct etcd_op put = {.kind = ETCD_OP_PUT,
	                            .key = ETCD_STR(o->key),
	                            .value = {.data = o->proposal, .len = ID_CHARS}};
	const struct etcd_op get = {.kind = ETCD_OP_RANGE, .key = ETCD_STR(o->key)};
	const struct etcd_txn txn = {.compares = &is_new,
	                             .n_compares = 1,
	                             .success = &put,
	                             .n_success = 1,
	                             .failure = &get,
	                             .n_failure = 1,
	                             .hedge = true};

	if (o->now.id[0] != '\0')
		memcpy(o->proposal, o->now.id, sizeof(o->proposal));
	(void) etcd_txn(o->options.etcd, &txn, asked_cb, o, &o->call);
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	ask(CONTAINER_OF(w, struct owner, timer));
}

static void draw(char ret_id[static ID_CHARS + 1])
{
	unsigned char bytes[ID_CHARS / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t) sizeof(bytes))
		abort();
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void) snprintf(ret_id + 2 * i, 3, "%02x", bytes[i]);
}

/* Etcd is asked behind that, as what the copy has is proposed to it. */
static void read_cb(int r, const char *text, size_t len, void *userdata)
{
	struct owner *o = userdata;

	if (r == 0 && len == ID_CHARS + 1 && text[ID_CHARS] == '\n' &&
	    owner_id_is_good(text, ID_CHARS)) {
		(void) snprintf(o->now.id, sizeof(o->now.id), "%.*s", ID_CHARS, text);
		o->options.known(o->options.userdata);
	} else if (r != -ENOENT) {
		(void) log_warning_errno(r < 0 ? r : -EBADMSG, "owner_not_read", "path=%s", o->path);
	}
	ask_after(o, 0);
}

static void failed_cb(int r, void *userdata)
{
	const struct owner *o = userdata;

	(void) log_warning_errno(r, "owner_not_written", "path=%s", o->path);
}

struct owner *owner_new(const struct owner_options *options)
{
	static const struct keepfile_callbacks callbacks = {.read = read_cb, .failed = failed_cb};
	struct owner *o = NEW0(struct owner);
	int r;

	o->options = *options;
	o->path = xstrdup(options->path);
	o->key = xasprintf("%setcdwatch/owner", options->prefix);
	o->now.node = options->node;
	draw(o->proposal);
	ev_init(&o->timer, timer_cb);
	r = keepfile_new(options->ev, o->path, ID_CHARS + 1, &callbacks, o, &o->file);
	if (r < 0) {
		(void) log_warning_errno(r, "owner_not_read", "path=%s", o->path);
		ask_after(o, 0);
	}
	return o;
}

void owner_free(struct owner *o)
{
	if (o == NULL)
		return;
	etcd_call_cancel(o->call);
	ev_timer_stop(o->options.ev, &o->timer);
	keepfile_free(o->file);
	free(o->path);
	free(o->key);
	free(o);
}

const struct config_owner *owner_get(const struct owner *o)
{
	return &o->now;
}
