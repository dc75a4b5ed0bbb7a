/* SPDX-License-Identifier: Apache-2.0 */
#include "etcdwatch/worker/record/recordprune.h"

#include <errno.h>
#include <stdio.h>

#include "etcdwatch/worker/common/cancel.h"
#include "etcdwatch/worker/record/recordobjects.h"
#include "etcdwatch/worker/common/result.h"

struct pruning {
	struct s3 *s3;
	const char *prefix;
	const struct recordprune_rules *rules;
	struct problem *problem;
	struct recordprune_result result;
};

bool recordprune_is_candidate(const struct recordprune_rules *rules,
                              const struct recordstored *stored)
{
	return rules->oldest_revision > 0 && stored->named.cluster_id == rules->cluster_id &&
	       stored->named.first_revision <= rules->oldest_revision + 1;
}

static bool is_trusted(const struct recordprune_rules *rules, const struct recordpiece *last)
{
	return trust_allows_chosen(&rules->trust, trust_judge_key(last->signer, &rules->trust));
}

bool recordprune_goes(const struct recordprune_rules *rules, const struct recordpiece *last)
{
	return is_trusted(rules, last) && last->last_revision <= rules->oldest_revision &&
	       (last->is_whole || last->until_us < rules->now_us - RECORDPRUNE_OPEN_US);
}

static int remove_segment(struct pruning *p, const char *node, const char *segment)
{
	int r = recordobjects_remove(p->s3, p->prefix, node, segment, false, &p->result.n_removed,
	                             p->problem);

	if (r == 0)
		result_line(json_pack("{s:s, s:s}", "removed", segment, "node", node));
	return r;
}

static int prune_folder(struct pruning *p, const struct recordfolder *f)
{
	int r = 0;

	for (size_t i = 0; i < f->listing.n && r >= 0; i++) {
		const struct recordstored *stored = &f->listing.items[i];
		char unread[PROBLEM_REASON_MAX];
		struct recordpiece last;

		if (cancel_is_wanted())
			return problem_set(p->problem, -ECANCELED, "CANCELLED", "cancelled");
		if (!recordprune_is_candidate(p->rules, stored))
			continue;
		r = recordobjects_read_last(p->s3, p->prefix, f->node, stored, &last, unread, p->problem);
		if (r == 0 && !is_trusted(p->rules, &last))
			(void) snprintf(p->result.untrusted, sizeof(p->result.untrusted),
			                "'%s' of '%s' is not signed by a key that is trusted: it stays",
			                stored->segment, f->node);
		if (r == 0 && recordprune_goes(p->rules, &last))
			r = remove_segment(p, f->node, stored->segment);
	}
	return r < 0 ? r : 0;
}

int recordprune_run(struct s3 *s3, const char *prefix, const struct recordprune_rules *rules,
                    struct problem *problem, struct recordprune_result *ret_result)
{
	struct pruning p = {.s3 = s3, .prefix = prefix, .rules = rules, .problem = problem};
	struct recordfolders folders = {0};
	int r = recordfolders_list(s3, prefix, &folders, problem);

	for (size_t i = 0; i < folders.n && r == 0; i++)
		r = prune_folder(&p, &folders.items[i]);
	recordfolders_fini(&folders);
	*ret_result = p.result;
	return r;
}
