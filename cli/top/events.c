/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most of it is one table: which field of which objects is worth an event when it changes. Findings
 * of the watchdog and changes of the network come and go, and are told apart by their names.
 */
#include "cli/top/events.h"

#include <stdarg.h>
#include <stdio.h>
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
