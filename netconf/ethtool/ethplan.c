/* SPDX-License-Identifier: Apache-2.0 */
/* Compares what a driver has with what is wanted, and says what it will never have. */
#include "netconf/ethtool/ethplan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "netconf/model/host.h"

void ethstate_fini(struct ethstate *state)
{
	for (size_t i = 0; i < state->n_features; i++)
		free(state->features[i].name);
	free(state->features);
	*state = (struct ethstate){0};
}

struct ethstate_feature *ethstate_find_feature(const struct ethstate *state, const char *name)
{
	for (size_t i = 0; i < state->n_features; i++) {
		if (strcmp(state->features[i].name, name) == 0)
			return &state->features[i];
	}
	return NULL;
}

/* --- problems --- */

struct planning {
	struct ethplan *plan;
	const char *link;
	const struct ethernet *want;
	const struct ethstate *have;
	struct conf_strings *problems;
};

static void say(const struct planning *p, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void say(const struct planning *p, const char *fmt, ...)
{
	AUTO(free) char *what = NULL;
	AUTO(free) char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	what = xvasprintf(fmt, ap);
	va_end(ap);
	text = xasprintf("%s: %s", p->link, what);
	host_add_text(p->problems, text);
}

/* The step of this section, new if need be: the sections come one after the other. */
static struct ethernet *step_for(const struct planning *p, enum ethstep_section section)
{
	struct ethplan *plan = p->plan;
	struct ethstep *last = plan->n > 0 ? &plan->steps[plan->n - 1] : NULL;

	if (last != NULL && last->section == section && strcmp(last->link, p->link) == 0)
		return &last->set;
	plan->steps = xreallocarray(plan->steps, plan->n + 1, sizeof(*plan->steps));
	last = &plan->steps[plan->n++];
	*last = (struct ethstep){
	    .section = section,
	    .class = section == ETHSTEP_WAKE ? OP_HITLESS : OP_BLIP,
	};
	(void) snprintf(last->link, sizeof(last->link), "%s", p->link);
	return &last->set;
}

/* --- the sections --- */

static void plan_feature(const struct planning *p, const struct ethernet_feature *want)
{
	const struct ethstate_feature *have = ethstate_find_feature(p->have, want->name);

	if (have == NULL)
		say(p, "the kernel knows no feature '%s'", want->name);
	else if (have->active == want->on)
		return;
	else if (!have->changeable)
		say(p, "the feature '%s' is %s, and its driver cannot change that", want->name,
		    have->active ? "on" : "off");
	else if (have->asked == want->on)
		say(p, "the feature '%s' was turned %s and is not: another that it depends on is missing",
		    want->name, want->on ? "on" : "off");
	else
		ethernet_add_feature(step_for(p, ETHSTEP_FEATURES), want->name, want->on);
}

static void plan_setting(const struct planning *p, enum ethernet_setting setting)
{
	const struct ethernet_setting_info *info = &ethernet_settings[setting];
	enum ethstep_section section = ethernet_is_ring(setting) ? ETHSTEP_RINGS : ETHSTEP_CHANNELS;
	uint32_t want = p->want->values[setting], max = p->have->max[setting];
	struct ethernet *set;

	if ((p->want->has & 1u << setting) == 0)
		return;
	if ((p->have->has & 1u << setting) == 0) {
		say(p, "its driver has no %s.%s", info->section, info->key);
	} else if (max != 0 && want > max) {
		say(p, "%s.%s can be %u at most, and %u is wanted", info->section, info->key, max, want);
	} else if (p->have->values[setting] != want) {
		set = step_for(p, section);
		set->has |= 1u << setting;
		set->values[setting] = want;
	}
}

static void plan_wake(const struct planning *p)
{
	unsigned missing = p->want->wake & ~p->have->wake_possible;
	struct ethernet *set;

	if (!p->want->has_wake)
		return;
	/* Without Wake-on-LAN it is off. */
	if (!p->have->has_wake && p->want->wake != 0) {
		say(p, "its driver has no Wake-on-LAN");
		return;
	}
	for (size_t i = 0; ethernet_wake_modes[i] != NULL; i++) {
		if ((missing & 1u << i) != 0)
			say(p, "its driver cannot be woken by '%s'", ethernet_wake_modes[i]);
	}
	if (p->have->has_wake && missing == 0 && p->have->wake != p->want->wake) {
		set = step_for(p, ETHSTEP_WAKE);
		set->has_wake = true;
		set->wake = p->want->wake;
	}
}

void ethplan_add(struct ethplan *plan, const char *link, const struct ethernet *want,
                 const struct ethstate *have, struct conf_strings *problems)
{
	const struct planning p = {
	    .plan = plan, .link = link, .want = want, .have = have, .problems = problems};

	for (size_t i = 0; i < want->n_features; i++)
		plan_feature(&p, &want->features[i]);
	for (size_t i = 0; i < ETHERNET_SETTINGS; i++)
		plan_setting(&p, (enum ethernet_setting) i);
	plan_wake(&p);
}

void ethplan_fini(struct ethplan *plan)
{
	for (size_t i = 0; i < plan->n; i++)
		ethernet_fini(&plan->steps[i].set);
	free(plan->steps);
	*plan = (struct ethplan){0};
}

void ethplan_back(const struct ethernet *want, const struct ethstate *before,
                  struct ethernet *ret_back)
{
	struct ethernet back = {
	    .has = want->has & before->has,
	    .has_wake = want->has_wake && before->has_wake,
	    .wake = before->wake,
	};

	memcpy(back.values, before->values, sizeof(back.values));
	for (size_t i = 0; i < want->n_features; i++) {
		const struct ethstate_feature *feature =
		    ethstate_find_feature(before, want->features[i].name);

		if (feature != NULL)
			ethernet_add_feature(&back, feature->name, feature->active);
	}
	*ret_back = back;
}

/* --- as JSON --- */

json_t *ethernet_to_json(const struct ethernet *ethernet)
{
	json_t *settings = json_object(), *features = json_object();

	for (size_t i = 0; i < ETHERNET_SETTINGS; i++) {
		AUTO(free)
		char *key = xasprintf("%s.%s", ethernet_settings[i].section, ethernet_settings[i].key);

		if ((ethernet->has & 1u << i) != 0)
			(void) json_object_set_new(settings, key, json_integer(ethernet->values[i]));
	}
	for (size_t i = 0; i < ethernet->n_features; i++)
		(void) json_object_set_new(features, ethernet->features[i].name,
		                           json_boolean(ethernet->features[i].on));
	return json_pack("{s:o, s:o, s:o}", "settings", settings, "features", features, "wake",
	                 ethernet->has_wake ? json_integer(ethernet->wake) : json_null());
}

int ethernet_from_json(const json_t *json, struct ethernet *ret_ethernet)
{
	json_t *settings = json_object_get(json, "settings"), *wake = json_object_get(json, "wake");
	json_t *features = json_object_get(json, "features"), *value;
	struct ethernet ethernet = {.has_wake = json_is_integer(wake)};
	const char *name;

	if (!json_is_object(settings) || !json_is_object(features) || wake == NULL)
		return -EBADMSG;
	for (size_t i = 0; i < ETHERNET_SETTINGS; i++) {
		AUTO(free)
		char *key = xasprintf("%s.%s", ethernet_settings[i].section, ethernet_settings[i].key);

		value = json_object_get(settings, key);
		if (!json_is_integer(value))
			continue;
		ethernet.has |= 1u << i;
		ethernet.values[i] = (uint32_t) json_integer_value(value);
	}
	ethernet.wake = (unsigned) json_integer_value(wake);
	json_object_foreach(features, name, value)
	    ethernet_add_feature(&ethernet, name, json_is_true(value));
	*ret_ethernet = ethernet;
	return 0;
}

/* --- for people --- */

static void format_set(const struct ethstep *step, FILE *out)
{
	static const char *const sections[] = {
	    [ETHSTEP_FEATURES] = "features",
	    [ETHSTEP_RINGS] = "rings",
	    [ETHSTEP_CHANNELS] = "channels",
	    [ETHSTEP_WAKE] = "wake-on-lan",
	};
	const struct ethernet *set = &step->set;

	(void) fprintf(out, "set %s %s", step->link, sections[step->section]);
	for (size_t i = 0; i < set->n_features; i++)
		(void) fprintf(out, " %s %s", set->features[i].name, set->features[i].on ? "on" : "off");
	for (size_t i = 0; i < ETHERNET_SETTINGS; i++) {
		if ((set->has & 1u << i) != 0)
			(void) fprintf(out, " %s %u", ethernet_settings[i].key, set->values[i]);
	}
	for (size_t i = 0; ethernet_wake_modes[i] != NULL; i++) {
		if ((set->wake & 1u << i) != 0)
			(void) fprintf(out, " %s", ethernet_wake_modes[i]);
	}
	if (set->has_wake && set->wake == 0)
		(void) fputs(" off", out);
}

const char *ethstep_format(const struct ethstep *step, char buf[static ETHSTEP_TEXT_MAX])
{
	char *text = NULL;
	size_t size;
	FILE *out = xmemstream_open(&text, &size);
	format_set(step, out);
	xmemstream_close(out);
	(void) snprintf(buf, ETHSTEP_TEXT_MAX, "%s", text);
	free(text);
	return buf;
}
