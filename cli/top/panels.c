/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All fields of a panel's answers, for a reader who wants more than fits; then the panels of vipd,
 * prism and netconf and that of events, and the table of all panels.
 */
#include "cli/top/panels.h"

#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/fields.h"
#include "cli/common/table.h"
#include "cli/top/grid.h"

#define INDENT 2

size_t panel_column(const json_t *objects, const char *key, size_t min, size_t max)
{
	size_t width = min, i;
	const json_t *object;

	json_array_foreach(objects, i, object) width =
	    MAX(width, table_width(field_text_or_dash(object, key)));
	return MIN(width, max) + 1;
}

static void add_value(struct grid *grid, size_t column, const char *key, json_t *value);

static void add_object(struct grid *grid, size_t column, json_t *object)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value) add_value(grid, column, key, value);
}

static void add_value(struct grid *grid, size_t column, const char *key, json_t *value)
{
	AUTO(free) char *text = NULL;
	AUTO(free) char *line = NULL;
	json_t *item;
	size_t i;

	if (json_is_object(value) || (json_is_array(value) && json_array_size(value) > 0)) {
		(void) grid_put(grid, grid_add_row(grid), column, GRID_DIM, "%s", key);
		if (json_is_object(value))
			add_object(grid, column + INDENT, value);
		json_array_foreach(value, i, item)
		{
			if (i > 0 && json_is_object(item))
				(void) grid_add_row(grid);
			if (json_is_object(item))
				add_object(grid, column + INDENT, item);
			else
				add_value(grid, column + INDENT, "", item);
		}
		return;
	}
	text = json_is_string(value) ? xstrdup(json_string_value(value))
	                             : json_dumps(value, JSON_ENCODE_ANY);
	line = xasprintf("%s%s%s", key, key[0] != '\0' ? ": " : "", text != NULL ? text : "-");
	grid_add_text(grid, column, GRID_PLAIN, line);
}

void panel_details(struct grid *grid, const struct model *model, enum panel panel)
{
	const enum node_question *question = panel_kinds[panel].questions;

	for (; *question != NODE_QUESTIONS; question++) {
		json_t *object;
		size_t i;

		json_array_foreach(model_objects(model, *question), i, object)
		{
			(void) grid_add_row(grid);
			add_object(grid, 0, object);
		}
	}
}

enum grid_ink panel_ink(enum board_level level, enum grid_ink well)
{
	switch (level) {
	case BOARD_FAILED:
		return GRID_BAD;
	case BOARD_WARNED:
		return GRID_WARNED;
	case BOARD_ABSENT:
	case BOARD_OK:
		return well;
	}
	return GRID_PLAIN;
}

/* --- VIPs --- */

/*
 * A row a VIP. The bar is the time that the fence still grants the owner; between two answers it
 * shrinks by itself, as the fence does.
 */

#define ADDRESS_MIN 15
#define ADDRESS_MAX 26
#define OWNER_WIDTH 12
#define VIP_STATE_WIDTH 9
#define LEFT_WIDTH 7
#define FACTS_WIDTH 18 /* round trip and health, where there is room for them */
#define BAR_MIN 8
#define BAR_MAX 40

static enum grid_ink ink_of_vip(const json_t *vip)
{
	if (field_text(vip, "owner") == NULL || field_is_false(vip, "etcd_ok"))
		return GRID_BAD;
	if (field_is_true(vip, "hold") || strcmp(field_text_or_dash(vip, "state"), "down") == 0)
		return GRID_WARNED;
	return GRID_GOOD;
}

static void draw_fence(struct grid *grid, size_t row, size_t at, size_t width, const json_t *vip,
                       double age_ms, bool is_ascii)
{
	const json_t *left = json_object_get(vip, "fence_left_ms");
	double window_ms = json_number_value(json_object_get(vip, "fence_window_ms"));
	double left_ms = MAX(json_number_value(left) - age_ms, 0);
	double part = window_ms > 0 ? left_ms / window_ms : 0;

	if (!json_is_number(left))
		return;
	at = graph_bar(grid, row, at, width, part, part > 0.3 ? GRID_GOOD : GRID_BAD, is_ascii);
	(void) grid_put(grid, row, at, GRID_PLAIN, " %4.1fs", left_ms / 1000);
}

static void draw_facts(struct grid *grid, size_t row, size_t at, const json_t *vip)
{
	const json_t *rtt = json_object_get(vip, "confirm_rtt_ms");
	const char *health = field_text_or_dash(vip, "health");

	if (json_is_number(rtt))
		(void) grid_put(grid, row, at, GRID_PLAIN, "%6.1fms", json_number_value(rtt));
	(void) grid_put(grid, row, at + 9, strcmp(health, "bad") == 0 ? GRID_BAD : GRID_PLAIN, "%s",
	                health);
}

static void draw_vip(struct grid *grid, const json_t *vip, size_t address, double age_ms,
                     bool is_ascii)
{
	size_t columns = grid_columns(grid), row = grid_add_row(grid);
	size_t owner_at = 1 + address, state_at = owner_at + OWNER_WIDTH;
	size_t bar_at = state_at + VIP_STATE_WIDTH, room = columns - MIN(columns, bar_at + LEFT_WIDTH);
	bool has_facts = room >= FACTS_WIDTH + BAR_MIN;
	size_t bar = MIN(room - (has_facts ? FACTS_WIDTH : 0), BAR_MAX);
	const char *owner = field_text(vip, "owner");
	const char *nobody = field_is_false(vip, "etcd_ok") ? "not known" : "nobody";
	enum grid_ink ink = ink_of_vip(vip);

	(void) grid_put(grid, row, 1, GRID_STRONG, "%s", field_text_or_dash(vip, "vip"));
	(void) grid_put(grid, row, owner_at, ink, " %.*s", OWNER_WIDTH - 2,
	                owner != NULL ? owner : nobody);
	(void) grid_put(grid, row, state_at, ink, "%s",
	                field_is_true(vip, "hold") ? "on hold" : field_text_or_dash(vip, "state"));
	draw_fence(grid, row, bar_at, bar, vip, age_ms, is_ascii);
	if (has_facts)
		draw_facts(grid, row, bar_at + bar + LEFT_WIDTH, vip);
}

static void panel_vip(struct grid *grid, const struct model *model, int64_t now_us,
                      int64_t wall_us UNUSED, bool is_ascii)
{
	const json_t *vips = model_objects(model, NODE_VIP), *vip;
	double age_ms = (double) (now_us - model->sources[NODE_VIP].good_us) / (double) US_PER_MS;
	size_t address = panel_column(vips, "vip", ADDRESS_MIN, ADDRESS_MAX), i;

	json_array_foreach(vips, i, vip) draw_vip(grid, vip, address, age_ms, is_ascii);
	if (vips != NULL && json_array_size(vips) == 0)
		(void) grid_put(grid, grid_add_row(grid), 1, GRID_DIM, "no VIP is configured");
}

/* --- prism --- */

/*
 * A row an upstream, with its round-trip time of the last minute; and one of prism as a whole.
 */

#define NAME_MIN 18
#define NAME_MAX 28
#define UPSTREAM_STATE_WIDTH 11
#define SINCE_WIDTH 6
#define RTT_WIDTH 9
#define CONNECTIONS_WIDTH 12
#define WIDE_COLUMNS 70

static enum grid_ink ink_of_upstream(const json_t *upstream)
{
	const char *state = field_text_or_dash(upstream, "state");

	if (strcmp(state, "ready") == 0 || strcmp(state, "alive") == 0)
		return GRID_GOOD;
	if (field_is_false(upstream, "usable") && !field_is_true(upstream, "drained"))
		return GRID_BAD;
	return GRID_WARNED;
}

/* What there is room for only on a wide screen: for how long it has been so. */
static size_t draw_since(struct grid *grid, size_t row, size_t at, const json_t *upstream)
{
	double since_s = json_number_value(json_object_get(upstream, "since_s"));
	char age[FIELD_AGE_MAX];

	if (grid_columns(grid) < WIDE_COLUMNS)
		return at;
	(void) grid_put(grid, row, at, GRID_DIM, "%5s",
	                field_age((int64_t) (since_s * (double) US_PER_S), age));
	return at + SINCE_WIDTH;
}

static void draw_upstream(struct grid *grid, const struct model *model, const json_t *upstream,
                          size_t name_cells, bool is_ascii)
{
	const char *name = field_text(upstream, "upstream");
	const struct model_samples *samples = model_samples_of(model, name);
	const json_t *rtt = json_object_get(upstream, "rtt_ms");
	size_t columns = grid_columns(grid), row = grid_add_row(grid), at = 1 + name_cells, spark;

	(void) grid_put(grid, row, 1, GRID_STRONG, "%s", name);
	(void) grid_put(grid, row, at, ink_of_upstream(upstream), " %s",
	                field_is_true(upstream, "drained") ? "drained"
	                                                   : field_text_or_dash(upstream, "state"));
	at = draw_since(grid, row, at + UPSTREAM_STATE_WIDTH, upstream);
	if (json_is_number(rtt))
		(void) grid_put(grid, row, at, GRID_PLAIN, "%6.1fms ", json_number_value(rtt));
	at += RTT_WIDTH;
	spark = MIN(columns - MIN(columns, at + CONNECTIONS_WIDTH), MODEL_SAMPLES);
	if (samples != NULL)
		at = graph_spark(grid, row, at, spark, samples->ms, samples->n, GRID_PLAIN, is_ascii);
	(void) grid_put(grid, row, at, GRID_PLAIN, "%6lld conns",
	                (long long) field_integer(upstream, "connections"));
}

static void draw_overview(struct grid *grid, const json_t *overview)
{
	size_t row = grid_add_row(grid), at;
	char up[SIZE_TEXT_MAX], down[SIZE_TEXT_MAX];
	long long failed = (long long) field_integer(overview, "failed");
	bool is_off = field_integer(overview, "usable") == 0;

	at = grid_put(grid, row, 1, is_off ? GRID_BAD : GRID_PLAIN, "%lld of %lld upstreams usable",
	              (long long) field_integer(overview, "usable"),
	              (long long) field_integer(overview, "upstreams"));
	at = grid_put(grid, row, at, GRID_PLAIN, "; %lld of %lld conns",
	              (long long) field_integer(overview, "connections"),
	              (long long) field_integer(overview, "max_connections"));
	at = grid_put(grid, row, at, failed > 0 ? GRID_WARNED : GRID_PLAIN, "; %lld failed", failed);
	(void) grid_put(grid, row, at, GRID_DIM, "; up %s, down %s",
	                size_text(field_integer(overview, "bytes_up"), up),
	                size_text(field_integer(overview, "bytes_down"), down));
}

static void panel_prism(struct grid *grid, const struct model *model, int64_t now_us UNUSED,
                        int64_t wall_us UNUSED, bool is_ascii)
{
	const json_t *objects = model_objects(model, NODE_PRISM), *object;
	size_t name = panel_column(objects, "upstream", NAME_MIN, NAME_MAX), i;

	json_array_foreach(objects, i, object)
	{
		if (field_text(object, "upstream") != NULL)
			draw_upstream(grid, model, object, name, is_ascii);
	}
	if (json_array_size(objects) > 0)
		draw_overview(grid, json_array_get(objects, 0));
}

/* --- the network --- */

/* The change that is under way, with the seconds that are left; how the network is; leases. */

static void draw_change(struct grid *grid, const json_t *change, double age_s)
{
	const char *phase = field_text_or_dash(change, "phase");
	double left_s = MAX(json_number_value(json_object_get(change, "left_s")) - age_s, 0);
	size_t row = grid_add_row(grid), at;

	if (strcmp(phase, "awaiting") == 0) {
		at = grid_put(grid, row, 1, GRID_BAD, "undone in %.0f s", left_s);
		(void) grid_put(grid, row, at, GRID_PLAIN, " unless you say: fairlead net confirm %s",
		                field_text_or_dash(change, "id"));
		return;
	}
	at = grid_put(grid, row, 1, GRID_WARNED, "a change is %s", phase);
	at = grid_put(grid, row, at, GRID_PLAIN, ", %.0f s left", left_s);
	if (field_text(change, "reason") != NULL)
		(void) grid_put(grid, row, at, GRID_PLAIN, "  %s", field_text(change, "reason"));
}

static void draw_drift(struct grid *grid, const json_t *status)
{
	const json_t *drift = json_object_get(status, "drift");
	const char *state = field_text_or_dash(drift, "state");
	const char *duplicate = field_text(drift, "duplicate");

	if (strcmp(state, "none") == 0)
		(void) grid_put(grid, grid_add_row(grid), 1, GRID_GOOD, "as it was confirmed");
	else if (strcmp(state, "differs") == 0 || strcmp(state, "fight") == 0)
		(void) grid_put(grid, grid_add_row(grid), 1, GRID_WARNED, "%s: %lld steps, the first: %s",
		                state, (long long) field_integer(drift, "steps"),
		                field_text_or_dash(drift, "first"));
	if (duplicate != NULL && duplicate[0] != '\0')
		(void) grid_put(grid, grid_add_row(grid), 1, GRID_WARNED, "another host has %s", duplicate);
}

static void draw_lease(struct grid *grid, const json_t *lease)
{
	const json_t *left = json_object_get(lease, "left_s");
	const char *address = json_string_value(json_array_get(json_object_get(lease, "addresses"), 0));
	size_t row = grid_add_row(grid), at;
	char age[FIELD_AGE_MAX];

	at = grid_put(grid, row, 1, GRID_PLAIN, "DHCP %s IPv%lld ", field_text_or_dash(lease, "link"),
	              (long long) field_integer(lease, "family"));
	at = grid_put(grid, row, at, address != NULL ? GRID_PLAIN : GRID_WARNED, "%s",
	              address != NULL ? address : "no lease");
	if (json_is_number(left))
		(void) grid_put(grid, row, at, GRID_DIM, " for %s",
		                field_age((int64_t) (json_number_value(left) * (double) US_PER_S), age));
}

static void panel_net(struct grid *grid, const struct model *model, int64_t now_us,
                      int64_t wall_us UNUSED, bool is_ascii UNUSED)
{
	const json_t *status = json_array_get(model_objects(model, NODE_NET), 0), *lease;
	const json_t *blocked = json_object_get(status, "blocked");
	double age_s = (double) (now_us - model->sources[NODE_NET].good_us) / (double) US_PER_S;
	size_t i;

	if (status == NULL)
		return;
	if (json_is_object(blocked))
		(void) grid_put(grid, grid_add_row(grid), 1, GRID_WARNED, "nothing can be changed: %s",
		                field_text_or_dash(blocked, "reason"));
	else if (json_is_object(json_object_get(status, "change")))
		draw_change(grid, json_object_get(status, "change"), age_s);
	else if (!field_is_true(status, "confirmed"))
		(void) grid_put(grid, grid_add_row(grid), 1, GRID_DIM, "nothing was ever confirmed");
	draw_drift(grid, status);
	json_array_foreach(json_object_get(status, "leases"), i, lease) draw_lease(grid, lease);
}

/* --- events --- */

/* What has happened, the newest first, by this terminal's own time. */

#define DAY_US (24 * 3600 * US_PER_S)

static void panel_events(struct grid *grid, const struct model *model, int64_t now_us UNUSED,
                         int64_t wall_us, bool is_ascii UNUSED)
{
	for (size_t i = model->events.n; i > 0; i--) {
		const struct event *event = &model->events.items[i - 1];
		time_t second = (time_t) (event->wall_us / US_PER_S);
		bool is_recent = wall_us - event->wall_us < DAY_US;
		size_t row = grid_add_row(grid);
		struct tm tm = {0};
		char text[32];

		(void) localtime_r(&second, &tm);
		(void) strftime(text, sizeof(text), is_recent ? "%H:%M:%S" : "%m-%d %H:%M", &tm);
		(void) grid_put(grid, row, grid_put(grid, row, 1, GRID_DIM, "%-11s ", text),
		                panel_ink(event->level, GRID_PLAIN), "%s", event->text);
	}
}

/* --- the table --- */

const struct panel_kind panel_kinds[PANELS] = {
    [PANEL_VIP] = {"VIPs", {NODE_VIP, NODE_QUESTIONS}, panel_vip},
    [PANEL_PRISM] = {"prism", {NODE_PRISM, NODE_QUESTIONS}, panel_prism},
    [PANEL_ETCD] = {"etcd", {NODE_HEALTH, NODE_MEMBERS, NODE_ALARMS, NODE_QUESTIONS}, panel_etcd},
    [PANEL_SNAPSHOTS] = {"snapshots", {NODE_JOBS, NODE_RECORD, NODE_QUESTIONS}, panel_snapshots},
    [PANEL_NET] = {"network", {NODE_NET, NODE_QUESTIONS}, panel_net},
    [PANEL_EVENTS] = {"events", {NODE_QUESTIONS}, panel_events},
};
