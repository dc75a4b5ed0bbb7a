/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events: most of it is one table: which field of which objects is worth an event when it changes. Findings
 * of the watchdog and changes of the network come and go, and are told apart by their names.
 */
#include "cli/top/model.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/fields.h"

void events_fini(struct events *events)
{
	for (size_t i = 0; i < events->n; i++)
		free(events->items[i].text);
	events->n = 0;
}

void events_add(struct events *events, int64_t wall_us, enum board_level level, const char *fmt,
                ...)
{
	struct event event = {.wall_us = wall_us, .level = level};
	size_t at;
	va_list ap;

	va_start(ap, fmt);
	event.text = xvasprintf(fmt, ap);
	va_end(ap);
	if (events->n == EVENTS_MAX) {
		free(events->items[0].text);
		memmove(events->items, events->items + 1, (EVENTS_MAX - 1) * sizeof(event));
		events->n--;
	}
	for (at = events->n; at > 0 && events->items[at - 1].wall_us > wall_us; at--)
		events->items[at] = events->items[at - 1];
	events->items[at] = event;
	events->n++;
}

/* --- fields that change --- */

struct watched {
	enum node_question question;
	const char *part;
	const char *key;   /* by which an object is known again; NULL: there is one */
	const char *inner; /* the object inside of it that has the field; NULL: itself */
	const char *field;
};

static const struct watched watched[] = {
    {NODE_VIP, "vip", "vip", NULL, "owner"},
    {NODE_VIP, "vip", "vip", NULL, "state"},
    {NODE_VIP, "vip", "vip", NULL, "health"},
    {NODE_VIP, "vip", "vip", NULL, "hold"},
    {NODE_VIP, "vip", "vip", NULL, "etcd_ok"},
    {NODE_PRISM, "prism", "upstream", NULL, "state"},
    {NODE_PRISM, "prism", "upstream", NULL, "drained"},
    {NODE_MEMBERS, "etcd", "node", NULL, "leads"},
    {NODE_MEMBERS, "etcd", "node", NULL, "error"},
    {NODE_MEMBERS, "etcd", "node", NULL, "version"},
    {NODE_JOBS, "snapshot", "job", NULL, "last_good"},
    {NODE_JOBS, "snapshot", "job", NULL, "error"},
    {NODE_JOBS, "snapshot", "job", "drill", "phase"},
    {NODE_JOBS, "snapshot", "job", "drill", "failed"},
    {NODE_RECORD, "record", NULL, NULL, "state"},
    {NODE_NET, "network", NULL, "change", "phase"},
    {NODE_NET, "network", NULL, "drift", "state"},
};

/* To be freed; "none" of what there is not. */
static char *text_of(const struct watched *w, const json_t *object)
{
	const json_t *holder = w->inner != NULL ? json_object_get(object, w->inner) : object;
	const json_t *value = json_object_get(holder, w->field);

	if (json_is_string(value))
		return xstrdup(json_string_value(value));
	if (json_is_boolean(value))
		return xstrdup(json_is_true(value) ? "yes" : "no");
	return xstrdup("none");
}

static enum board_level level_of(const struct watched *w, const char *text)
{
	static const char *const bad[] = {"down",         "hung",        "untrusted", "bad",
	                                  "rolling-back", "half-undone", "fight",     "not_ready"};

	if (strcmp(w->field, "error") == 0)
		return strcmp(text, "none") == 0 ? BOARD_OK : BOARD_WARNED;
	if (strcmp(w->field, "etcd_ok") == 0 || strcmp(w->field, "owner") == 0)
		return strcmp(text, "no") == 0 || strcmp(text, "none") == 0 ? BOARD_FAILED : BOARD_OK;
	if (strcmp(w->field, "failed") == 0)
		return strcmp(text, "yes") == 0 ? BOARD_FAILED : BOARD_OK;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (strcmp(text, bad[i]) == 0)
			return BOARD_WARNED;
	}
	return BOARD_OK;
}

static const json_t *find(const json_t *objects, const char *key, const char *name)
{
	const json_t *object;
	size_t i;

	if (key == NULL)
		return json_array_get(objects, 0);
	json_array_foreach(objects, i, object)
	{
		const char *text = field_text(object, key);

		if (text != NULL && strcmp(text, name) == 0)
			return object;
	}
	return NULL;
}

static void compare_field(struct events *events, const struct watched *w, const json_t *before,
                          const json_t *now, int64_t wall_us)
{
	const json_t *object;
	size_t i;

	json_array_foreach(now, i, object)
	{
		const char *name = w->key != NULL ? field_text(object, w->key) : "";
		const json_t *old = name != NULL ? find(before, w->key, name) : NULL;
		AUTO(free) char *was = NULL;
		AUTO(free) char *is = NULL;

		if (old == NULL)
			continue;
		was = text_of(w, old);
		is = text_of(w, object);
		if (strcmp(was, is) != 0)
			events_add(events, wall_us, level_of(w, is), "%s%s%s: %s%s%s: %s -> %s", w->part,
			           name[0] != '\0' ? " " : "", name, w->inner != NULL ? w->inner : "",
			           w->inner != NULL ? " " : "", w->field, was, is);
	}
}

/* --- what comes and goes --- */

/* Whether `objects` have the finding, which is an id and a subject. */
static bool has_finding(const json_t *objects, const json_t *finding)
{
	const json_t *other;
	size_t i;

	json_array_foreach(objects, i, other)
	{
		if (json_equal(json_object_get(other, "id"), json_object_get(finding, "id")) &&
		    json_equal(json_object_get(other, "subject"), json_object_get(finding, "subject")))
			return true;
	}
	return false;
}

static void compare_findings(struct events *events, const json_t *before, const json_t *now,
                             int64_t wall_us)
{
	const json_t *finding;
	size_t i;

	json_array_foreach(now, i, finding)
	{
		const char *severity = field_text_or_dash(finding, "severity");

		if (i > 0 && !has_finding(before, finding))
			events_add(events, wall_us,
			           strcmp(severity, "critical") == 0 ? BOARD_FAILED : BOARD_WARNED,
			           "etcd: %s: %s", field_text_or_dash(finding, "id"),
			           field_text_or_dash(finding, "sentence"));
	}
	json_array_foreach(before, i, finding)
	{
		if (i > 0 && !has_finding(now, finding))
			events_add(events, wall_us, BOARD_OK, "etcd: %s is over",
			           field_text_or_dash(finding, "id"));
	}
}

static void compare_upstreams(struct events *events, const json_t *before, const json_t *now,
                              int64_t wall_us)
{
	const json_t *upstream;
	size_t i;

	json_array_foreach(now, i, upstream)
	{
		const char *name = field_text(upstream, "upstream");

		if (name != NULL && find(before, "upstream", name) == NULL)
			events_add(events, wall_us, BOARD_OK, "prism %s: a new upstream", name);
	}
	json_array_foreach(before, i, upstream)
	{
		const char *name = field_text(upstream, "upstream");

		if (name != NULL && find(now, "upstream", name) == NULL)
			events_add(events, wall_us, BOARD_OK, "prism %s: no longer an upstream", name);
	}
}

/* --- what was before --- */

static void tell_moves(struct events *events, const json_t *vips)
{
	const json_t *vip;
	size_t i;

	json_array_foreach(vips, i, vip)
	{
		const json_t *move = json_object_get(vip, "last_move");
		const char *time_text = field_text(move, "time");
		struct tm tm = {0};

		if (time_text == NULL || strptime(time_text, "%Y-%m-%dT%H:%M:%SZ", &tm) == NULL)
			continue;
		events_add(events, (int64_t) timegm(&tm) * US_PER_S, BOARD_OK,
		           "vip %s: moved from %s to %s: %s", field_text_or_dash(vip, "vip"),
		           field_text(move, "from") != NULL ? field_text(move, "from") : "nobody",
		           field_text_or_dash(move, "to"), field_text_or_dash(move, "reason"));
	}
}

static void tell_change(struct events *events, const json_t *status)
{
	const json_t *last = json_object_get(status, "last");
	const char *how = field_text(last, "how");
	double ended_s = json_number_value(json_object_get(last, "ended_s"));

	if (how != NULL)
		events_add(events, (int64_t) (ended_s * (double) US_PER_S),
		           strcmp(how, "confirmed") == 0 ? BOARD_OK : BOARD_WARNED,
		           "network: change %s: %s %s", field_text_or_dash(last, "id"), how,
		           field_text(last, "reason") != NULL ? field_text(last, "reason") : "");
}

void events_compare(struct events *events, enum node_question question, const json_t *before,
                    const json_t *now, int64_t wall_us)
{
	if (before == NULL) {
		if (question == NODE_VIP)
			tell_moves(events, now);
		if (question == NODE_NET)
			tell_change(events, json_array_get(now, 0));
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(watched); i++) {
		if (watched[i].question == question)
			compare_field(events, &watched[i], before, now, wall_us);
	}
	if (question == NODE_HEALTH)
		compare_findings(events, before, now, wall_us);
	if (question == NODE_PRISM)
		compare_upstreams(events, before, now, wall_us);
}

/* --- the model --- */

/*
 * An attempt that fails keeps the good answer before it: its panel is marked as old, and goes on
 * showing what was so.
 */

static void drop_last(struct model_source *source)
{
	if (source->last.answer != source->good)
		client_answer_free(source->last.answer);
	source->last = (struct node_reply){0};
}

void model_fini(struct model *model)
{
	for (size_t i = 0; i < NODE_QUESTIONS; i++) {
		drop_last(&model->sources[i]);
		client_answer_free(model->sources[i].good);
	}
	for (size_t i = 0; i < model->n_samples; i++)
		free(model->samples[i].upstream);
	free(model->samples);
	events_fini(&model->events);
	*model = (struct model){0};
}

/* --- round-trip times --- */

static struct model_samples *samples_for(struct model *model, const char *upstream)
{
	for (size_t i = 0; i < model->n_samples; i++) {
		if (strcmp(model->samples[i].upstream, upstream) == 0)
			return &model->samples[i];
	}
	model->samples = xreallocarray(model->samples, model->n_samples + 1, sizeof(*model->samples));
	model->samples[model->n_samples] = (struct model_samples){.upstream = xstrdup(upstream)};
	return &model->samples[model->n_samples++];
}

static void add_sample(struct model_samples *samples, const json_t *rtt_ms)
{
	if (samples->n == MODEL_SAMPLES) {
		memmove(samples->ms, samples->ms + 1, (MODEL_SAMPLES - 1) * sizeof(samples->ms[0]));
		samples->n--;
	}
	samples->ms[samples->n++] = json_is_number(rtt_ms) ? json_number_value(rtt_ms) : -1;
	samples->is_named = true;
}

static void take_samples(struct model *model, const json_t *objects)
{
	const json_t *object;
	size_t i, kept = 0;

	for (i = 0; i < model->n_samples; i++)
		model->samples[i].is_named = false;
	json_array_foreach(objects, i, object)
	{
		const char *name = field_text(object, "upstream");

		if (name != NULL)
			add_sample(samples_for(model, name), json_object_get(object, "rtt_ms"));
	}
	for (i = 0; i < model->n_samples; i++) {
		if (model->samples[i].is_named)
			model->samples[kept++] = model->samples[i];
		else
			free(model->samples[i].upstream);
	}
	model->n_samples = kept;
}

const struct model_samples *model_samples_of(const struct model *model, const char *upstream)
{
	for (size_t i = 0; i < model->n_samples; i++) {
		if (strcmp(model->samples[i].upstream, upstream) == 0)
			return &model->samples[i];
	}
	return NULL;
}

/* --- answers --- */

/* The question that speaks for its daemon: one that needs nobody else to be answered. */
static bool speaks_for_daemon(enum node_question question)
{
	return question == NODE_VIP || question == NODE_PRISM || question == NODE_HEALTH ||
	       question == NODE_NET;
}

const char *model_trouble(const struct model *model, enum node_question question)
{
	const struct model_source *source = &model->sources[question];

	if (!source->is_told)
		return "asking";
	if (source->last.answer != NULL && source->last.answer->error != NULL)
		return source->last.answer->sentence;
	switch (-source->last.r) {
	case 0:
		return "";
	case ENOENT:
		return "does not run here";
	case ESRCH:
		return "does not run, and should";
	case ECONNREFUSED:
		return "does not run any more";
	case ETIMEDOUT:
		return "does not answer";
	case EBADMSG:
		return "has stopped in the middle of its answer";
	case EACCES:
		return "is not for this user";
	default:
		return strerror(-source->last.r);
	}
}

bool model_is_stale(const struct model *model, enum node_question question)
{
	const struct model_source *source = &model->sources[question];

	return source->good != NULL && node_objects(&source->last) == NULL;
}

bool model_is_missing(const struct model *model, enum node_question question)
{
	const struct model_source *source = &model->sources[question];

	return source->good == NULL && source->is_told && !node_is_none(&source->last);
}

/* What was there before is not old, but gone. */
static void drop_good(struct model_source *source)
{
	client_answer_free(source->good);
	source->good = NULL;
}

void model_take(struct model *model, enum node_question question, int r,
                struct client_answer *answer, int64_t now_us, int64_t wall_us)
{
	struct model_source *source = &model->sources[question];
	const char *daemon = node_questions[question].daemon;
	bool was_stale = model_is_stale(model, question);

	drop_last(source);
	source->is_told = true;
	source->last = (struct node_reply){.r = r, .answer = answer};
	if (node_objects(&source->last) == NULL) {
		if (!was_stale && source->good != NULL && speaks_for_daemon(question))
			events_add(&model->events, wall_us, BOARD_FAILED, "%s: %s", daemon,
			           model_trouble(model, question));
		if (node_is_none(&source->last))
			drop_good(source);
		return;
	}
	if (was_stale && speaks_for_daemon(question))
		events_add(&model->events, wall_us, BOARD_OK, "%s: answers again", daemon);
	events_compare(&model->events, question, model_objects(model, question), answer->objects,
	               wall_us);
	client_answer_free(source->good);
	source->good = answer;
	source->good_us = now_us;
	if (question == NODE_PRISM)
		take_samples(model, answer->objects);
}

const json_t *model_objects(const struct model *model, enum node_question question)
{
	return model->sources[question].good != NULL ? model->sources[question].good->objects : NULL;
}

bool model_is_told(const struct model *model)
{
	for (size_t i = 0; i < NODE_QUESTIONS; i++) {
		if (!model->sources[i].is_told)
			return false;
	}
	return true;
}

void model_fill_board(const struct model *model, struct board *board, int64_t wall_us)
{
	struct node_reply replies[NODE_QUESTIONS];

	for (size_t i = 0; i < NODE_QUESTIONS; i++)
		replies[i] = model->sources[i].last;
	board_fill(board, replies, wall_us);
}
