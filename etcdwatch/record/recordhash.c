/* SPDX-License-Identifier: Apache-2.0 */
/* One look at the cluster, to choose; then one question. */
#include "etcdwatch/record/recordhash.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/cluster/view.h"

#define LIMIT_MS 60000u
/* Nothing is recorded while a check is waited for. */
#define CHECK_LIMIT_MS 10000u
#define CHECK_AGAIN_US (300 * US_PER_S)

struct recordhash {
	struct etcd *etcd;
	int64_t every_us;
	recordhash_fn fn;
	void *userdata;
	int64_t next_us, next_check_us;
	recordhash_fn check; /* NULL: what is under way is to be recorded */
	struct view_request *looking;
	struct etcd_call *asking;
	int64_t revision;
	uint64_t recorded_member_id;
};

/* The least is the best. */
static int cost_of(const struct recordhash *h, const struct view_member *m)
{
	return (m->leader ? 2 : 0) + (m->id == h->recorded_member_id ? 1 : 0);
}

static const struct view_member *choose(const struct recordhash *h, const struct view *view)
{
	const struct view_member *best = NULL;

	for (size_t i = 0; i < view->n_members; i++) {
		const struct view_member *m = &view->members[i];

		if (m->answers && !m->learner && (best == NULL || cost_of(h, m) < cost_of(h, best)))
			best = m;
	}
	return best;
}

/* Calls out: last act. */
static void fail(struct recordhash *h, const char *endpoint, const char *reason)
{
	log_info("record_hash_failed", "rev=%lld endpoint=%s reason=\"%s\"", (long long) h->revision,
	         endpoint, reason);
	if (h->check != NULL)
		h->check(NULL, h->userdata);
}

/* Calls out: last act. */
static void answered(const struct etcd_outcome *outcome, const struct etcd_hashkv *hashkv,
                     void *userdata)
{
	struct recordhash *h = userdata;
	struct recordhash_answer answer = {.revision = h->revision};

	h->asking = NULL;
	if (outcome->r < 0) {
		fail(h, outcome->endpoint, outcome->text);
		return;
	}
	if (hashkv->hash_revision != 0 && hashkv->hash_revision != h->revision) {
		fail(h, outcome->endpoint, "it is of another revision");
		return;
	}
	answer.member_id = outcome->member_id;
	answer.compact_revision = hashkv->compact_revision;
	answer.hash = hashkv->hash;
	if (h->check != NULL)
		h->check(&answer, h->userdata);
	else
		h->fn(&answer, h->userdata);
}

static void looked(const struct view *view, void *userdata)
{
	struct recordhash *h = userdata;
	const struct view_member *member = choose(h, view);

	h->looking = NULL;
	if (member == NULL || etcd_endpoint_hashkv(h->etcd, member->endpoint, h->revision,
	                                           h->check != NULL ? CHECK_LIMIT_MS : LIMIT_MS,
	                                           answered, h, &h->asking) < 0)
		fail(h, "", "no member can be asked");
}

static void ask(struct recordhash *h, int64_t revision, uint64_t recorded_member_id,
                recordhash_fn check)
{
	h->revision = revision;
	h->recorded_member_id = recorded_member_id;
	h->check = check;
	h->looking = view_start(h->etcd, looked, h);
}

void recordhash_offer(struct recordhash *h, int64_t revision, uint64_t recorded_member_id)
{
	int64_t now_us = mono_now_us();

	if (h->every_us == 0 || now_us < h->next_us || h->looking != NULL || h->asking != NULL)
		return;
	h->next_us = now_us + h->every_us;
	ask(h, revision, recorded_member_id, NULL);
}

bool recordhash_check(struct recordhash *h, int64_t revision, uint64_t recorded_member_id,
                      recordhash_fn fn)
{
	int64_t now_us = mono_now_us();

	if (h->every_us == 0 || now_us < h->next_check_us)
		return false;
	h->next_check_us = now_us + CHECK_AGAIN_US;
	recordhash_forget(h);
	ask(h, revision, recorded_member_id, fn);
	return true;
}

void recordhash_forget(struct recordhash *h)
{
	view_cancel(TAKE_PTR(h->looking));
	etcd_call_cancel(TAKE_PTR(h->asking));
}

struct recordhash *recordhash_new(struct etcd *etcd, int64_t every_us, recordhash_fn fn,
                                  void *userdata)
{
	struct recordhash *h = NEW0(struct recordhash);

	h->etcd = etcd;
	h->every_us = every_us;
	h->fn = fn;
	h->userdata = userdata;
	return h;
}

void recordhash_free(struct recordhash *h)
{
	if (h == NULL)
		return;
	recordhash_forget(h);
	free(h);
}
