/* SPDX-License-Identifier: Apache-2.0 */
/* Of a chain that has just begun nothing that is known counts, so it is asked for at once. */
#include "etcdwatch/record/recordbase.h"

#include "base/macro.h"
#include "base/mono.h"

/* It has the second alone in which it was begun. */
bool recordbase_fits(int64_t started_s, int64_t revision, const struct recordbase_chain *chain)
{
	return (started_s + 1) * US_PER_S > chain->first_us ||
	       revision + chain->begins < chain->first_revision;
}

static void start(struct recordbase *b, enum recordbase_state state, int64_t revision)
{
	*b = (struct recordbase){
	    .state = state,
	    .revision = revision,
	    .due_us = INT64_MIN,
	    .pause_us = RECORDBASE_AGAIN_US,
	    .renew_due_us = b->renew_due_us,
	};
}

void recordbase_begin(struct recordbase *b, int64_t revision)
{
	start(b, RECORDBASE_WANTED, revision);
}

void recordbase_go_on(struct recordbase *b, int64_t revision)
{
	start(b, RECORDBASE_UNKNOWN, revision);
}

void recordbase_renew(struct recordbase *b, int64_t revision, int64_t newest, int64_t now_us)
{
	bool has_one = b->state == RECORDBASE_NONE || newest >= b->revision;

	if (b->state == RECORDBASE_WANTED || !has_one || now_us < b->renew_due_us)
		return;
	b->renew_due_us = now_us + RECORDBASE_PAUSE_MAX_US;
	start(b, RECORDBASE_WANTED, revision);
}

bool recordbase_is_due(struct recordbase *b, int64_t newest, int64_t now_us)
{
	switch (b->state) {
	case RECORDBASE_NONE:
	case RECORDBASE_ASKED:
		return false;
	case RECORDBASE_UNKNOWN:
		if (newest > 0 && newest >= b->revision) {
			b->state = RECORDBASE_NONE;
			return false;
		}
		break;
	case RECORDBASE_WANTED:
		break;
	}
	return now_us >= b->due_us;
}

void recordbase_asked(struct recordbase *b, bool is_taken, int64_t now_us)
{
	if (is_taken)
		b->state = RECORDBASE_ASKED;
	else
		b->due_us = now_us + RECORDBASE_AGAIN_US;
}

void recordbase_failed(struct recordbase *b, int64_t now_us)
{
	/* It was for another chain: this one's is asked for anyway. */
	if (b->state != RECORDBASE_ASKED)
		return;
	b->state = RECORDBASE_WANTED;
	b->due_us = now_us + b->pause_us;
	b->pause_us = MIN(2 * b->pause_us, RECORDBASE_PAUSE_MAX_US);
}
