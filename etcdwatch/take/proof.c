/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	READING ── sound ──► (LOOKING ──►) ASKING ──► (PAUSING ──► ASKING)* ──► over
 *	                                     │  ▲
 *	                       compacted since ▼  │ the hash as that member has it
 *	                                    READING_AGAIN
 *
 * The picture of the cluster is as old as the taking was long. If nobody in it can be asked,
 * another is made: a member that was busy or starting then may well answer now.
 *
 * Members are asked one after the other, those that do not lead first: HashKV holds up the
 * writes of the member that computes it. The first one is asked while the file is still read: the
 * worker says which revision it is about to prove.
 */
#include "etcdwatch/take/proof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsm.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

/* A member that is a little behind: it is asked again. */
#define PAUSE_US US_PER_S
#define BEHIND_TRIES 10
/* Pictures, with a pause behind each in which nobody can be asked. */
#define LOOKS 5
#define NUMBER_TEXT_MAX 24

enum proof_state {
	PROOF_READING,
	PROOF_LOOKING,
	PROOF_ASKING,
	PROOF_PAUSING,
	PROOF_READING_AGAIN,
};

static const struct fsm_state states[] = {
    [PROOF_READING] = {"reading", FSM_TO(PROOF_LOOKING) | FSM_TO(PROOF_ASKING)},
    [PROOF_LOOKING] = {"looking", FSM_TO(PROOF_PAUSING) | FSM_TO(PROOF_ASKING)},
    [PROOF_ASKING] = {"asking",
                      FSM_TO(PROOF_ASKING) | FSM_TO(PROOF_PAUSING) | FSM_TO(PROOF_READING_AGAIN)},
    [PROOF_PAUSING] = {"pausing", FSM_TO(PROOF_LOOKING) | FSM_TO(PROOF_ASKING)},
    [PROOF_READING_AGAIN] = {"reading_again", FSM_TO(PROOF_ASKING)},
};

struct proof {
	struct ev_loop *ev;
	struct etcd *etcd;
	proof_done_fn done;
	void *userdata;
	char *worker, *path;
	uint64_t source;
	bool compare;
	int64_t limit_us;
	enum proof_state state;
	struct child *child;
	struct doing doing; /* the child */
	struct view_request *look;
	struct etcd_call *call;
	ev_timer pause;
	unsigned n_looks;

	struct view_member witnesses[VIEW_MEMBERS_MAX]; /* in the order of asking */
	size_t n_witnesses;
	size_t asked; /* the one that is being asked */
	unsigned n_tries;
	int64_t asked_revision; /* READING: the first witness is asked about this one; 0: not */
	bool is_answered;       /* and this is its answer */
	struct etcd_hashkv answer;
	uint32_t theirs; /* READING_AGAIN: what it is to be */
	struct proof_facts facts;
	json_t *usage, *members;
	char agreed[VIEW_NAME_MAX];
	char disagreed[VIEW_NAME_MAX];
	char not_compared[PROOF_TEXT_MAX];
};

static void change_state(struct proof *p, enum proof_state state)
{
	fsm_check(states, ARRAY_SIZE(states), p->state, state);
	p->state = state;
}

const struct doing *proof_doing(const struct proof *p)
{
	return &p->doing;
}

/* --- the end --- */

void proof_free(struct proof *p)
{
	if (p == NULL)
		return;
	ev_timer_stop(p->ev, &p->pause);
	etcd_call_cancel(p->call);
	view_cancel(p->look);
	child_free(p->child);
	json_decref(p->usage);
	json_decref(p->members);
	free(p->worker);
	free(p->path);
	free(p);
}

/* Calls out: last act. */
static void finish(struct proof *p, enum proof_verdict verdict, const char *reason)
{
	const struct proof_result result = {
	    .verdict = verdict,
	    .reason = reason,
	    .facts = p->facts,
	    .usage = p->usage,
	    .members = p->members,
	    .agreed = p->agreed,
	    .not_compared = p->agreed[0] == '\0' ? p->not_compared : "",
	    .disagreed = p->disagreed,
	};

	p->done(&result, p->userdata);
	proof_free(p);
}

static void finish_compared(struct proof *p)
{
	char reason[PROOF_TEXT_MAX];

	if (p->agreed[0] != '\0' || p->disagreed[0] == '\0') {
		finish(p, PROOF_GOOD, "");
		return;
	}
	(void) snprintf(reason, sizeof(reason),
	                "member '%s' has another HashKV at revision %" PRId64
	                ", and no member has this one",
	                p->disagreed, p->facts.hashkv_revision);
	finish(p, PROOF_BAD, reason);
}

/* --- the members --- */

static void ask(struct proof *p);
static void look(struct proof *p);

static const char *name_of(const struct view_member *m)
{
	return m->name[0] != '\0' ? m->name : m->endpoint;
}

static void ask_next(struct proof *p, const char *why)
{
	if (why[0] != '\0')
		(void) snprintf(p->not_compared, sizeof(p->not_compared), "%s: %s",
		                name_of(&p->witnesses[p->asked]), why);
	p->asked++;
	p->n_tries = 0;
	ask(p);
}

static void compare(struct proof *p, uint32_t ours)
{
	const struct view_member *m = &p->witnesses[p->asked];

	if (ours == p->theirs) {
		(void) snprintf(p->agreed, sizeof(p->agreed), "%s", name_of(m));
		finish_compared(p);
		return;
	}
	log_error("hashkv_differs", "member=%s rev=%" PRId64 " hash=%u theirs=%u", name_of(m),
	          p->facts.hashkv_revision, ours, p->theirs);
	(void) snprintf(p->disagreed, sizeof(p->disagreed), "%s", name_of(m));
	ask_next(p, "");
}

static void read_again_cb(const struct child_result *result, void *userdata)
{
	struct proof *p = userdata;

	p->child = NULL;
	p->doing = (struct doing){.bytes = 0};
	change_state(p, PROOF_ASKING);
	if (result->r < 0)
		ask_next(p, result->reason);
	else
		compare(p, (uint32_t) json_integer_value(json_object_get(result->last, "hashkv")));
}

/* The member has been compacted since: what would the file's hash be then? */
static void read_again(struct proof *p, int64_t compacted)
{
	char revision_text[NUMBER_TEXT_MAX], compacted_text[NUMBER_TEXT_MAX];
	const char *argv[] = {p->worker,     "prove",       p->path,        "--revision",
	                      revision_text, "--compacted", compacted_text, NULL};
	int r;

	(void) snprintf(revision_text, sizeof(revision_text), "%" PRId64, p->facts.hashkv_revision);
	(void) snprintf(compacted_text, sizeof(compacted_text), "%" PRId64, compacted);
	r = child_start(p->ev, argv, p->limit_us, read_again_cb, p, &p->child);
	if (r < 0) {
		ask_next(p, strerror(-r));
		return;
	}
	child_keep_doing(p->child, &p->doing);
	change_state(p, PROOF_READING_AGAIN);
}

static void pause_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct proof *p = CONTAINER_OF(w, struct proof, pause);

	if (p->n_witnesses == 0) {
		look(p);
		return;
	}
	change_state(p, PROOF_ASKING);
	ask(p);
}

static void start_pause(struct proof *p)
{
	change_state(p, PROOF_PAUSING);
	ev_timer_set(&p->pause, mono_to_ev(PAUSE_US), 0.);
	ev_timer_start(p->ev, &p->pause);
}

static void ask_later(struct proof *p)
{
	if (++p->n_tries == BEHIND_TRIES)
		ask_next(p, "it has not come to the snapshot's revision");
	else
		start_pause(p);
}

static void judge(struct proof *p, const struct etcd_hashkv *hashkv)
{
	if (hashkv->compact_revision < p->facts.compact_revision) {
		ask_later(p);
	} else if (hashkv->compact_revision > p->facts.compact_revision && p->facts.live_keys == 0) {
		ask_next(p, "it has been compacted since, and no key is alive");
	} else {
		p->theirs = hashkv->hash;
		if (hashkv->compact_revision > p->facts.compact_revision)
			read_again(p, hashkv->compact_revision);
		else
			compare(p, p->facts.hashkv);
	}
}

static void hashkv_cb(const struct etcd_outcome *outcome, const struct etcd_hashkv *hashkv,
                      void *userdata)
{
	struct proof *p = userdata;

	p->call = NULL;
	if (p->state == PROOF_READING) {
		/* After an error it is asked again when the file has been read. */
		p->is_answered = outcome->r == 0;
		if (p->is_answered)
			p->answer = *hashkv;
		else
			p->asked_revision = 0;
	} else if (outcome->r == -EAGAIN) {
		ask_later(p);
	} else if (outcome->r < 0) {
		ask_next(p, outcome->text);
	} else {
		judge(p, hashkv);
	}
}

static int call_witness(struct proof *p, int64_t revision)
{
	return etcd_endpoint_hashkv(p->etcd, p->witnesses[p->asked].endpoint, revision,
	                            (unsigned) (p->limit_us / US_PER_MS), hashkv_cb, p, &p->call);
}

static void ask(struct proof *p)
{
	if (p->asked == p->n_witnesses)
		finish_compared(p);
	else if (call_witness(p, p->facts.hashkv_revision) < 0)
		ask_next(p, "it is not among the endpoints any more");
}

/* The file has been read; the first witness may have been asked. */
static void ask_first(struct proof *p)
{
	if (p->asked_revision != p->facts.hashkv_revision) {
		etcd_call_cancel(p->call);
		p->call = NULL;
		ask(p);
	} else if (p->is_answered) {
		judge(p, &p->answer);
	}
}

static void add_witnesses(struct proof *p, const struct view *view, bool leaders)
{
	bool alone = view->listed && view->n_members == 1;

	for (size_t i = 0; i < view->n_members; i++) {
		const struct view_member *m = &view->members[i];

		if (m->answers && !m->learner && m->leader == leaders && (alone || m->id != p->source))
			p->witnesses[p->n_witnesses++] = *m;
	}
}

static void find_witnesses(struct proof *p, const struct view *view)
{
	add_witnesses(p, view, false);
	add_witnesses(p, view, true);
}

static void look_cb(const struct view *view, void *userdata)
{
	struct proof *p = userdata;

	p->look = NULL;
	find_witnesses(p, view);
	if (p->n_witnesses == 0 && ++p->n_looks < LOOKS) {
		start_pause(p);
		return;
	}
	if (p->n_witnesses == 0)
		(void) snprintf(p->not_compared, sizeof(p->not_compared), "no other member answers");
	change_state(p, PROOF_ASKING);
	ask(p);
}

static void look(struct proof *p)
{
	change_state(p, PROOF_LOOKING);
	p->look = view_start(p->etcd, look_cb, p);
}

/* --- the file --- */

static int64_t number_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

/* Of all that the worker can say, only these tell that the file is to blame. */
static bool blames_file(const struct child_result *result)
{
	const char *code = child_error_code(result);

	return strcmp(code, "DIGEST") == 0 || strcmp(code, "TREE") == 0;
}

/* What the worker says before it reads: the revision that the file claims. */
static void line_cb(const json_t *object, void *userdata)
{
	struct proof *p = userdata;
	int64_t revision = number_of(object, "claims_revision");

	if (revision > 0 && p->asked_revision == 0 && p->n_witnesses > 0 &&
	    call_witness(p, revision) >= 0)
		p->asked_revision = revision;
}

static void read_cb(const struct child_result *result, void *userdata)
{
	struct proof *p = userdata;
	const json_t *said = result->last;

	p->child = NULL;
	p->doing = (struct doing){.bytes = 0};
	if (result->r < 0) {
		finish(p, blames_file(result) ? PROOF_BAD : PROOF_NOT_MADE, result->reason);
		return;
	}
	p->facts = (struct proof_facts){
	    .hash = (uint32_t) number_of(said, "hash"),
	    .hashkv = (uint32_t) number_of(said, "hashkv"),
	    .hashkv_revision = number_of(said, "hashkv_revision"),
	    .revision = number_of(said, "revision"),
	    .compact_revision = number_of(said, "compact_revision"),
	    .total_key = (uint64_t) number_of(said, "total_key"),
	    .live_keys = (uint64_t) number_of(said, "live_keys"),
	    .db_bytes = (uint64_t) number_of(said, "db_bytes"),
	};
	p->usage = json_incref(json_object_get(said, "usage"));
	p->members = json_incref(json_object_get(said, "members"));
	if (p->compare && p->n_witnesses == 0) {
		look(p);
		return;
	}
	change_state(p, PROOF_ASKING);
	ask_first(p);
}

int proof_start(struct ev_loop *ev, struct etcd *etcd, const struct proof_options *options,
                proof_done_fn done, void *userdata, struct proof **ret_proof)
{
	AUTO(proof_free) struct proof *p = NEW0(struct proof);
	int r;

	p->ev = ev;
	p->etcd = etcd;
	p->done = done;
	p->userdata = userdata;
	p->worker = xstrdup(options->worker);
	p->path = xstrdup(options->path);
	p->source = options->source;
	p->compare = options->compare;
	p->limit_us = options->limit_us;
	ev_init(&p->pause, pause_cb);
	if (options->compare)
		find_witnesses(p, options->view);
	else
		(void) snprintf(p->not_compared, sizeof(p->not_compared), "verifyHashKV is off");
	r = child_start(ev, (const char *const[]){p->worker, "prove", p->path, NULL}, p->limit_us,
	                read_cb, p, &p->child);
	if (r < 0)
		return r;
	child_each_line(p->child, line_cb);
	child_keep_doing(p->child, &p->doing);
	*ret_proof = TAKE_PTR(p);
	return 0;
}

/* --- listdiff --- */

/* Members of the two lists are the same by their ids. */

struct sentence {
	char text[CATALOG_TEXT_MAX + 1];
};

static void PRINTF_LIKE(2, 3) say(struct sentence *s, const char *fmt, ...)
{
	size_t len = strlen(s->text);
	va_list ap;

	va_start(ap, fmt);
	len += (size_t) snprintf(s->text + len, sizeof(s->text) - len, "%s", len > 0 ? "; " : "");
	if (len < sizeof(s->text))
		(void) vsnprintf(s->text + len, sizeof(s->text) - len, fmt, ap);
	va_end(ap);
}

static uint64_t id_of(const json_t *stored)
{
	const char *text = json_string_value(json_object_get(stored, "id"));

	return text != NULL ? strtoull(text, NULL, 16) : 0;
}

static const json_t *find_stored(const json_t *database, uint64_t id)
{
	for (size_t i = 0; i < json_array_size(database); i++) {
		if (id_of(json_array_get(database, i)) == id)
			return json_array_get(database, i);
	}
	return NULL;
}

static bool is_listed(const struct catalog_entry *entry, uint64_t id)
{
	for (size_t i = 0; i < entry->n_members; i++) {
		if (entry->members[i].id == id)
			return true;
	}
	return false;
}

/* etcd stores and lists them in one order. */
static bool same_urls(const json_t *urls, const char *joined)
{
	const char *at = joined;

	for (size_t i = 0; i < json_array_size(urls); i++) {
		const char *url = json_string_value(json_array_get(urls, i));
		size_t len = strcspn(at, ",");

		if (url == NULL || strlen(url) != len || strncmp(url, at, len) != 0)
			return false;
		at += len + (at[len] == ',' ? 1 : 0);
	}
	return at[0] == '\0';
}

static void compare_member(struct sentence *s, const struct catalog_member *m, const json_t *stored)
{
	const char *name = m->name != NULL ? m->name : m->peer_urls;
	bool learner = json_is_true(json_object_get(stored, "learner"));

	if (stored == NULL)
		say(s, "'%s' is not in the database", name);
	else if (learner != m->learner)
		say(s, "'%s' is a %s in the database and a %s in the member list", name,
		    learner ? "learner" : "voter", m->learner ? "learner" : "voter");
	else if (!same_urls(json_object_get(stored, "peer_urls"), m->peer_urls))
		say(s, "'%s' has other peer URLs in the database", name);
}

char *listdiff_text(const json_t *database, const struct catalog_entry *entry)
{
	struct sentence s = {""};

	if (json_array_size(database) == 0 || entry->n_members == 0)
		return NULL;
	for (size_t i = 0; i < entry->n_members; i++)
		compare_member(&s, &entry->members[i], find_stored(database, entry->members[i].id));
	for (size_t i = 0; i < json_array_size(database); i++) {
		const json_t *stored = json_array_get(database, i);

		if (!is_listed(entry, id_of(stored)))
			say(&s, "the member %llx is in the database alone", (unsigned long long) id_of(stored));
	}
	return s.text[0] != '\0' ? xstrdup(s.text) : NULL;
}
