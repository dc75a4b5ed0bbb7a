/* SPDX-License-Identifier: Apache-2.0 */
/* One thread, joined before its results are read; it shares nothing while it runs. Signals go to
 * the thread that waits for etcd's tool. */
#include "etcdwatch/worker/restore/restoreproof.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/mem.h"

struct restoreproof {
	pthread_t thread;
	bool is_running;
	const char *path;
	bool may_lack_digest;
	int r;
	const char *code; /* of a failure that is the file's fault */
	struct bolt_fault fault;
	struct snapshot *snapshot;
	struct snapshot_content content;
	struct dbinfo *info;
};

static int prove(struct restoreproof *p)
{
	int r = snapshot_open(p->path, &p->fault, &p->snapshot);

	p->code = "DIGEST";
	if (r >= 0 && (snapshot_has_digest(p->snapshot) || !p->may_lack_digest))
		r = snapshot_check_digest(p->snapshot);
	if (r < 0)
		return r;
	p->code = "TREE";
	r = snapshot_check_content(p->snapshot, 0, &p->content);
	return r < 0 ? r : dbinfo_read(snapshot_db(p->snapshot), &p->info);
}

static void *thread_main(void *userdata)
{
	struct restoreproof *p = userdata;

	p->r = prove(p);
	return NULL;
}

struct restoreproof *restoreproof_start(const char *path, bool may_lack_digest)
{
	struct restoreproof *p = NEW0(struct restoreproof);
	sigset_t all, before;

	p->path = path;
	p->may_lack_digest = may_lack_digest;
	(void) sigfillset(&all);
	(void) pthread_sigmask(SIG_SETMASK, &all, &before);
	p->is_running = pthread_create(&p->thread, NULL, thread_main, p) == 0;
	(void) pthread_sigmask(SIG_SETMASK, &before, NULL);
	/* Then it takes longer. */
	if (!p->is_running)
		p->r = prove(p);
	return p;
}

static void join(struct restoreproof *p)
{
	if (p->is_running)
		(void) pthread_join(p->thread, NULL);
	p->is_running = false;
}

int restoreproof_wait(struct restoreproof *p, struct problem *problem,
                      const struct snapshot_content **ret_content, const struct dbinfo **ret_info)
{
	bool is_damaged;

	join(p);
	is_damaged = p->r == -EBADMSG || p->r == -ENODATA || p->r == -ERANGE;
	if (p->r < 0)
		return problem_set(problem, p->r, is_damaged ? p->code : "READ", "'%s': %s", p->path,
		                   p->fault.what);
	*ret_content = &p->content;
	*ret_info = p->info;
	return 0;
}

void restoreproof_free(struct restoreproof *p)
{
	if (p == NULL)
		return;
	join(p);
	dbinfo_free(p->info);
	snapshot_close(p->snapshot);
	free(p);
}
