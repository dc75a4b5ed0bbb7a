/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of clusterid.h, over the endpoints as far as their answers still count. */
#include "vipd/clusterid.h"

struct endpoints {
	const struct etcd_heard *heard;
	size_t n;
	int64_t after_us; /* what was heard by then does not count */
};

/* 0: no answer that counts. */
static uint64_t cluster_of(const struct endpoints *e, size_t i)
{
	return e->heard[i].heard_us > e->after_us ? e->heard[i].cluster_id : 0;
}

/* Two endpoints may lead to one member. */
static bool is_repeated(const struct endpoints *e, size_t i)
{
	uint64_t id = cluster_of(e, i);

	for (size_t k = 0; k < i && id != 0; k++) {
		if (cluster_of(e, k) == id && e->heard[k].member_id == e->heard[i].member_id)
			return true;
	}
	return false;
}

/* Members; with 0, endpoints without an answer. */
static size_t count(const struct endpoints *e, uint64_t id)
{
	size_t n = 0;

	for (size_t i = 0; i < e->n; i++)
		n += cluster_of(e, i) == id && !is_repeated(e, i);
	return n;
}

/* 0: there is none. */
static uint64_t elect(const struct endpoints *e, bool is_complete)
{
	size_t n_silent = count(e, 0);
	size_t n_members = 0;

	for (size_t i = 0; i < e->n; i++)
		n_members += !is_repeated(e, i);
	for (size_t i = 0; i < e->n; i++) {
		uint64_t id = cluster_of(e, i);
		size_t n = count(e, id);

		if (id != 0 && (2 * n > n_members || (is_complete && n + n_silent == n_members)))
			return id;
	}
	return 0;
}

/* May the present one be given up? */
static bool is_over(struct clusterchoice *c, const struct endpoints *e, bool is_complete,
                    int64_t now_us, int64_t fence_us)
{
	if (c->id == 0)
		return true;
	if (count(e, c->id) > 0)
		c->others_since_us = 0;
	if (count(e, c->id) > 0 || !is_complete)
		return false;
	if (count(e, 0) == e->n)
		c->others_since_us = 0;
	else if (c->others_since_us == 0)
		c->others_since_us = now_us;
	return c->others_since_us != 0 && now_us - c->others_since_us >= fence_us;
}

bool clusterchoice_weigh(struct clusterchoice *c, const struct etcd_heard *heard, size_t n,
                         bool is_complete, int64_t now_us, int64_t fence_us)
{
	struct endpoints e = {.heard = heard, .n = n, .after_us = now_us - fence_us};
	uint64_t id;

	if (!is_over(c, &e, is_complete, now_us, fence_us))
		return false;
	id = elect(&e, is_complete);
	if (id == 0)
		return false;
	*c = (struct clusterchoice){.id = id};
	return true;
}
