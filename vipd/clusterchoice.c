/* SPDX-License-Identifier: Apache-2.0 */
/* One choice, from one round of answers. No state, no clock. */
#include "vipd/clusterchoice.h"

static bool is_repeated(const struct clusterchoice_input *in, size_t i)
{
	const struct clusterchoice_answer *a = &in->answers[i];

	for (size_t k = 0; k < i && a->cluster_id != 0; k++) {
		if (in->answers[k].cluster_id == a->cluster_id && in->answers[k].member_id == a->member_id)
			return true;
	}
	return false;
}

/* cluster_id 0: all that have not answered. */
static size_t count(const struct clusterchoice_input *in, uint64_t cluster_id)
{
	size_t n = 0;

	for (size_t i = 0; i < in->n_answers; i++)
		n += in->answers[i].cluster_id == cluster_id && !is_repeated(in, i);
	return n;
}

uint64_t clusterchoice(const struct clusterchoice_input *in)
{
	size_t n_silent = count(in, 0);
	size_t n_members = n_silent;

	for (size_t i = 0; i < in->n_answers; i++)
		n_members += in->answers[i].cluster_id != 0 && !is_repeated(in, i);
	if (in->mine != 0 &&
	    (count(in, in->mine) > 0 || !in->is_complete || in->silent_us < in->fence_us))
		return in->mine;
	for (size_t i = 0; i < in->n_answers; i++) {
		uint64_t id = in->answers[i].cluster_id;
		size_t n = count(in, id);

		if (id != 0 && (2 * n > n_members || (in->is_complete && n + n_silent == n_members)))
			return id;
	}
	return in->mine;
}
