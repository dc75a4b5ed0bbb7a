/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the keys of a job below PREFIX/etcdwatch/JOB/done/. */
#include "etcdwatch/othersask.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/mono.h"
#include "etcd/etcd.h"

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
