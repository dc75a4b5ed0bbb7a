/* SPDX-License-Identifier: Apache-2.0 */
/* All targets of a job, and what they find out about the snapshots here. */
#include "etcdwatch/target/storing.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "etcdwatch/target/target.h"

struct storing {
	struct storing_options options;
	struct target *targets[CONFIG_TARGETS_MAX];
	size_t n;
};

static void aside_cb(int r, const char *reason, void *userdata)
{
	const struct storing *s = userdata;

	/* Another target has found it out as well. */
	if (r < 0 && r != -ENOENT)
		log_error("snapshot_not_put_aside", "job=%s reason=\"%s\"", s->options.job->name, reason);
}

/* A disk that returns something else than was written: it may be the only thing that it returns. */
static void damaged_cb(const char *id, const char *reason, void *userdata)
{
	struct storing *s = userdata;

	log_error("snapshot_damaged", "job=%s id=%s reason=\"%s\"", s->options.job->name, id, reason);
	store_set_aside(s->options.store, id, reason, aside_cb, s);
}

static bool may_shed_cb(void *userdata)
{
	const struct storing *s = userdata;

	return s->options.may_shed(s->options.userdata);
}

struct storing *storing_new(const struct storing_options *options)
{
	struct storing *s = NEW0(struct storing);

	s->options = *options;
	for (size_t i = 0; i < options->job->n_targets; i++)
		s->targets[s->n++] = target_new(&(struct target_options){
		    .ev = options->ev,
		    .accepted = options->accepted,
		    .disk = options->disk,
		    .store = options->store,
		    .job = options->job,
		    .target = &options->job->targets[i],
		    .worker = options->worker,
		    .node = options->node,
		    .doubt = options->doubt,
		    .may_shed = may_shed_cb,
		    .damaged = damaged_cb,
		    .userdata = s,
		});
	return s;
}

void storing_free(struct storing *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->n; i++)
		target_free(s->targets[i]);
	free(s);
}

void storing_visit(struct storing *s)
{
	for (size_t i = 0; i < s->n; i++)
		target_visit(s->targets[i]);
}

bool storing_get_word(const struct storing *s, struct retain_accepted *ret_word)
{
	for (size_t i = 0; i < s->n; i++) {
		if (target_get_word(s->targets[i], ret_word))
			return true;
	}
	return false;
}

void storing_look_again(struct storing *s)
{
	for (size_t i = 0; i < s->n; i++)
		target_look_again(s->targets[i]);
}

size_t storing_n(const struct storing *s)
{
	return s->n;
}

struct target *storing_target(const struct storing *s, size_t i)
{
	return s->targets[i];
}

void storing_fill_reports(const struct storing *s,
                          struct target_report ret_reports[static CONFIG_TARGETS_MAX],
                          size_t *ret_n)
{
	for (size_t i = 0; i < s->n; i++)
		target_fill_report(s->targets[i], &ret_reports[i]);
	*ret_n = s->n;
}
