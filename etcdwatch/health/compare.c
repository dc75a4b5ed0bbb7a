/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	RESTING ── due ──► LOOKING ── nobody is busy ──► ASKING ── answered ──┐ the next one
 *	   ▲                  │                            │  ▲───────────────┘
 *	   └──────────────────┴────────────────────────────┘
 *
 * Who takes a snapshot has a claim, and so has who changes the cluster: both are keys. Members are
 * asked at the newest revision that all of them have. Where that one is compacted away, as all may
 * be in a cluster in which nobody writes, those of 3.4 are asked for what they hold at that moment.
 */
#include "etcdwatch/health/compare.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/fsm.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/work/keepfile.h"

/* A large database, on a slow disk. */
#define ASK_LIMIT_MS 60000
/* After the start: there is more to do then, and perhaps on all nodes. */
#define FIRST_US (600 * US_PER_S)
#define SAID_MAX 200
/* Somebody is at a snapshot. */
#define BUSY_US (60 * US_PER_S)

enum compare_state {
	COMPARE_RESTING,
	COMPARE_LOOKING,
	COMPARE_ASKING,
};

static const struct fsm_state states[] = {
    [COMPARE_RESTING] = {"resting", FSM_TO(COMPARE_LOOKING)},
    [COMPARE_LOOKING] = {"looking", FSM_TO(COMPARE_RESTING) | FSM_TO(COMPARE_ASKING)},
    [COMPARE_ASKING] = {"asking", FSM_TO(COMPARE_RESTING)},
};

struct compare {
	struct compare_options options;
	enum compare_state state;
	int64_t due_us;       /* RESTING; 0: it was not set yet */
	struct hours between; /* where it begins for this process */
	unsigned n_disagreed; /* snapshots, that it was due for */
	bool is_doubted;      /* by one, and nothing was compared since */
	int64_t now_us;       /* of the observation by which it began */
	int64_t wall_s;       /* of the last observation */
	int64_t seen_us;
	int64_t began_us; /* by the clock */
	struct hashes hashes;
	size_t asked; /* ASKING: the one that is being asked */
	struct etcd_call *call;
	struct hashes_memory memory;
	struct keepfile *remembered; /* NULL: nowhere */
	char *path;                  /* of it */
	bool is_read;
	struct compare_report report;
};

/* --- what is remembered --- */

#define LINE_MAX_BYTES 32
#define TEXT_BYTES_MAX (LINE_MAX_BYTES * (VIEW_MEMBERS_MAX + 1))

static char *print(const struct hashes_memory *known)
{
	char *text = xcalloc(TEXT_BYTES_MAX + 1, 1);
	size_t len = 0;

	for (size_t i = 0; i < known->n; i++) {
		if (known->items[i].n_differs > 0)
			len += (size_t) snprintf(text + len, LINE_MAX_BYTES, "%016" PRIx64 " %u\n",
			                         known->items[i].id, known->items[i].n_differs);
	}
	return text;
}

static int parse(const char *text, struct hashes_memory *ret)
{
	struct hashes_memory known = {0};

	while (*text != '\0') {
		struct hashes_known item = {0};
		int len = 0;

		if (known.n == ARRAY_SIZE(known.items) ||
		    sscanf(text, "%16" SCNx64 " %9u%n", &item.id, &item.n_differs, &len) != 2 ||
		    item.n_differs == 0 || text[len] != '\n')
			return -EINVAL;
		known.items[known.n++] = item;
		text += len + 1;
	}
	*ret = known;
	return 0;
}

static void change_state(struct compare *c, enum compare_state state)
{
	fsm_check(states, ARRAY_SIZE(states), c->state, state);
	c->state = state;
}

static unsigned spread(void)
{
	unsigned number = 0;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		number = (unsigned) wall_now_us();
	return number % 1000;
}

static void rest(struct compare *c, int64_t pause_us)
{
	change_state(c, COMPARE_RESTING);
	c->due_us = c->now_us + (mono_now_us() - c->began_us) + pause_us;
}

/* --- asking --- */

static void tell(const struct compare *c, enum hashes_result result)
{
	for (size_t i = 0; i < c->hashes.n; i++) {
		const struct hashes_member *m = &c->hashes.members[i];
		char said[SAID_MAX];

		if (!m->answered)
			continue;
		(void) snprintf(said, sizeof(said),
		                "member=%s rev=%" PRId64 " compacted=%" PRId64 " hash=%u", m->name,
		                m->revision, m->compact_revision, m->hash);
		if (result == HASHES_DIFFER)
			log_error("data_differ", "%s", said);
		else
			log_debug("data_compared", "%s", said);
	}
}

static void remember(struct compare *c)
{
	if (c->remembered != NULL)
		keepfile_write(c->remembered, print(&c->memory));
}

static void finish(struct compare *c)
{
	enum hashes_result result = hashes_judge(&c->hashes, &c->memory, c->now_us);
	int64_t took_us = mono_now_us() - c->began_us;

	tell(c, result);
	c->report.n_same += result == HASHES_SAME ? 1 : 0;
	c->report.n_differ += result == HASHES_DIFFER ? 1 : 0;
	c->report.n_nothing += result == HASHES_NOTHING ? 1 : 0;
	if (result != HASHES_NOTHING) {
		c->is_read = true;
		c->is_doubted = false;
		c->report.result = result;
		c->report.compared_s = wall_now_us() / US_PER_S;
		c->report.revision = c->hashes.revision;
		c->report.took_us = took_us;
	}
	remember(c);
	rest(c, hashes_pause_us(result, &c->memory, c->options.every_us, took_us, spread()));
}

static void ask(struct compare *c);

static void ask_at_present(struct compare *c)
{
	c->hashes.revision = 0;
	for (size_t i = 0; i < c->hashes.n; i++)
		c->hashes.members[i].answered = false;
	c->asked = 0;
	ask(c);
}

static void hashkv_cb(const struct etcd_outcome *outcome, const struct etcd_hashkv *hashkv,
                      void *userdata)
{
	struct compare *c = userdata;
	struct hashes_member *m = &c->hashes.members[c->asked];

	c->call = NULL;
	if (outcome->r == -ESTALE && c->hashes.revision > 0 && c->hashes.may_ask_at_present) {
		ask_at_present(c);
		return;
	}
	if (outcome->r < 0) {
		log_debug("data_not_compared", "member=%s reason=\"%s\"", m->name, outcome->text);
	} else {
		m->answered = true;
		m->revision = c->hashes.revision > 0 ? c->hashes.revision : outcome->revision;
		m->compact_revision = hashkv->compact_revision;
		m->hash = hashkv->hash;
	}
	c->asked++;
	ask(c);
}

static bool is_over(const struct compare *c)
{
	if (c->asked == c->hashes.n)
		return true;
	return c->hashes.members[c->asked].id == c->hashes.leader &&
	       !hashes_need_leader(&c->hashes, &c->memory, c->now_us);
}

static void ask(struct compare *c)
{
	while (!is_over(c)) {
		const struct hashes_member *m = &c->hashes.members[c->asked];

		if (etcd_endpoint_hashkv(c->options.etcd, m->endpoint, c->hashes.revision, ASK_LIMIT_MS,
		                         hashkv_cb, c, &c->call) == 0)
			return;
		/* It is not among the endpoints any more. */
		c->asked++;
	}
	finish(c);
}

/* --- beginning --- */

static void claims_cb(const struct etcd_outcome *outcome, const struct etcd_range_result *result,
                      void *userdata)
{
	struct compare *c = userdata;
	bool is_busy = c->options.takes_snapshot(c->options.userdata);

	c->call = NULL;
	for (size_t i = 0; outcome->r == 0 && i < result->n_kvs && !is_busy; i++) {
		AUTO(free) char *key = xstrndup(result->kvs[i].key.data, result->kvs[i].key.len);

		is_busy = strstr(key, "/claim/") != NULL;
	}
	if (outcome->r < 0 || is_busy) {
		rest(c, MIN(BUSY_US, c->options.every_us));
		return;
	}
	change_state(c, COMPARE_ASKING);
	c->asked = 0;
	c->began_us = mono_now_us();
	ask(c);
}

static void begin(struct compare *c)
{
	AUTO(free) char *keys = xasprintf("%setcdwatch/", c->options.prefix);
	const struct etcd_range range = {.key = ETCD_STR(keys), .prefix = true, .keys_only = true};

	change_state(c, COMPARE_LOOKING);
	c->began_us = mono_now_us();
	(void) etcd_range(c->options.etcd, &range, claims_cb, c, &c->call);
}

/* What may be wrong is not left for the night. */
static int64_t due_s(const struct compare *c)
{
	int64_t at_s = c->wall_s + MAX(0, c->due_us - c->seen_us + US_PER_S - 1) / US_PER_S;

	if (c->is_doubted || hashes_have_differed(&c->memory))
		return at_s;
	return hours_next(&c->between, c->options.zone, at_s);
}

void compare_look(struct compare *c, const struct observation *o)
{
	if (c->options.every_us == 0)
		return;
	c->seen_us = o->now_us;
	c->wall_s = o->wall_s;
	if (hashes_forget(&c->memory, o))
		remember(c);
	if (c->state != COMPARE_RESTING)
		return;
	c->now_us = o->now_us;
	if (c->due_us == 0)
		c->due_us = o->now_us + hashes_pause_us(HASHES_SAME, &c->memory,
		                                        MIN(c->options.every_us, FIRST_US), 0, spread());
	if (c->n_disagreed != c->options.doubt->n_disagreed) {
		c->n_disagreed = c->options.doubt->n_disagreed;
		c->is_doubted = true;
		/* Else it is looked at again soon as it is. */
		if (!hashes_have_differed(&c->memory))
			c->due_us = o->now_us;
	}
	if (o->now_us >= c->due_us && due_s(c) <= o->wall_s && hashes_plan(o, &c->hashes))
		begin(c);
}

void compare_fill(const struct compare *c, struct observation *o)
{
	hashes_fill(&c->memory, o);
}

void compare_fill_report(const struct compare *c, struct compare_report *ret)
{
	*ret = c->report;
	ret->next_s = c->state == COMPARE_RESTING && c->due_us > 0 ? due_s(c) : 0;
}

bool compare_differ(const struct compare *c)
{
	return (c->remembered != NULL && !c->is_read) || hashes_are_confirmed(&c->memory);
}

/* --- the whole --- */

static void read_cb(int r, const char *text, size_t len UNUSED, void *userdata)
{
	struct compare *c = userdata;
	struct hashes_memory known = {0};

	if (r == 0)
		r = parse(text, &known);
	if (r < 0 && r != -ENOENT)
		(void) log_warning_errno(r, "comparison_forgotten", "path=%s", c->path);
	/* From a slow disk, and it has been compared meanwhile: that is what counts. */
	if (!c->is_read) {
		c->memory = known;
		c->due_us = 0;
	}
	c->is_read = true;
}

static void failed_cb(int r, void *userdata)
{
	const struct compare *c = userdata;

	(void) log_warning_errno(r, "comparison_not_remembered", "path=%s", c->path);
}

int compare_new(const struct compare_options *options, struct compare **ret_compare)
{
	static const struct keepfile_callbacks callbacks = {.read = read_cb, .failed = failed_cb};
	AUTO(compare_free) struct compare *c = NEW0(struct compare);
	int r = 0;

	c->options = *options;
	c->between = hours_spread(&options->between, spread());
	c->report.is_on = options->every_us > 0;
	if (options->every_us > 0 && options->directory != NULL) {
		c->path = xasprintf("%s/" COMPARE_FILE, options->directory);
		r = keepfile_new(options->ev, c->path, TEXT_BYTES_MAX, &callbacks, c, &c->remembered);
	}
	if (r < 0)
		return r;
	*ret_compare = TAKE_PTR(c);
	return 0;
}

void compare_free(struct compare *c)
{
	if (c == NULL)
		return;
	etcd_call_cancel(c->call);
	keepfile_free(c->remembered);
	free(c->path);
	free(c);
}
