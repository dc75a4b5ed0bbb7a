/* SPDX-License-Identifier: Apache-2.0 */
/* Compares what a driver has with what is wanted, and says what it will never have. */
#include "netconf/ethtool/ethplan.h"

#include <errno.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
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

/* --- messages --- */

/*
 * Numbers stand as they are; flags and modes stand in bit sets, which the kernel writes with the
 * name and the number of each bit. In one without NOMASK every bit that is listed is meant, and its
 * value says whether it is set; in one with it, those that are listed are set.
 */

#define NAME_BYTES_MAX 64
#define ATTRIBUTES_MAX 32 /* more than any of the answers has */

/* By enum ethstep_section. The header is attribute 1 of them all. */
static const struct {
	uint8_t get, set, answer;
} commands[] = {
    [ETHSTEP_FEATURES] = {ETHTOOL_MSG_FEATURES_GET, ETHTOOL_MSG_FEATURES_SET,
                          ETHTOOL_MSG_FEATURES_GET_REPLY},
    [ETHSTEP_RINGS] = {ETHTOOL_MSG_RINGS_GET, ETHTOOL_MSG_RINGS_SET, ETHTOOL_MSG_RINGS_GET_REPLY},
    [ETHSTEP_CHANNELS] = {ETHTOOL_MSG_CHANNELS_GET, ETHTOOL_MSG_CHANNELS_SET,
                          ETHTOOL_MSG_CHANNELS_GET_REPLY},
    [ETHSTEP_WAKE] = {ETHTOOL_MSG_WOL_GET, ETHTOOL_MSG_WOL_SET, ETHTOOL_MSG_WOL_GET_REPLY},
};
#define HEADER 1

static void begin(struct message *m, uint16_t family, uint8_t command, const char *link,
                  uint32_t flags)
{
	struct nlattr *nest;

	message_begin_generic(m, family, 0, command, ETHTOOL_GENL_VERSION);
	nest = message_nest(m, HEADER);
	message_text(m, ETHTOOL_A_HEADER_DEV_NAME, link);
	message_u32(m, ETHTOOL_A_HEADER_FLAGS, flags);
	message_end(m, nest);
}

void ethcode_get(uint16_t family, enum ethstep_section section, const char *link,
                 struct message *ret_message)
{
	begin(ret_message, family, commands[section].get, link, 0);
}

/* --- reading --- */

typedef void (*bit_fn)(struct ethstate *state, unsigned index, const char *name, bool value);

static void read_bits(const struct nlattr *set, struct ethstate *state, bit_fn fn)
{
	const struct nlattr *table[ETHTOOL_A_BITSET_MAX + 1], *bit;
	char name[NAME_BYTES_MAX];

	attr_read_nested(set, table, ARRAY_SIZE(table));
	ATTR_FOR_EACH(bit, table[ETHTOOL_A_BITSET_BITS])
	{
		const struct nlattr *of_bit[ETHTOOL_A_BITSET_BIT_MAX + 1];

		if (attr_type(bit) != ETHTOOL_A_BITSET_BITS_BIT)
			continue;
		attr_read_nested(bit, of_bit, ARRAY_SIZE(of_bit));
		fn(state, attr_u32(of_bit[ETHTOOL_A_BITSET_BIT_INDEX], 0),
		   attr_text(of_bit[ETHTOOL_A_BITSET_BIT_NAME], name, sizeof(name)),
		   table[ETHTOOL_A_BITSET_NOMASK] != NULL || of_bit[ETHTOOL_A_BITSET_BIT_VALUE] != NULL);
	}
}

static struct ethstate_feature *feature_of(struct ethstate *state, const char *name)
{
	struct ethstate_feature *feature = ethstate_find_feature(state, name);

	if (feature != NULL)
		return feature;
	state->features =
	    xreallocarray(state->features, state->n_features + 1, sizeof(*state->features));
	feature = &state->features[state->n_features++];
	*feature = (struct ethstate_feature){.name = xstrdup(name)};
	return feature;
}

static void take_changeable(struct ethstate *state, unsigned index UNUSED, const char *name,
                            bool value)
{
	if (name[0] != '\0')
		feature_of(state, name)->changeable = value;
}

static void take_asked(struct ethstate *state, unsigned index UNUSED, const char *name, bool value)
{
	if (name[0] != '\0')
		feature_of(state, name)->asked = value;
}

static void take_active(struct ethstate *state, unsigned index UNUSED, const char *name, bool value)
{
	if (name[0] != '\0')
		feature_of(state, name)->active = value;
}

static void take_fixed(struct ethstate *state, unsigned index UNUSED, const char *name, bool value)
{
	if (name[0] != '\0' && value)
		feature_of(state, name)->changeable = false;
}

static void take_wake(struct ethstate *state, unsigned index, const char *name UNUSED, bool value)
{
	if (index >= sizeof(state->wake) * 8)
		return;
	state->wake_possible |= 1u << index;
	if (value)
		state->wake |= 1u << index;
}

/* Flags are bytes. Whether headers are split from data is more: not known, no, yes. */
static bool read_value(const struct nlattr *attr, enum ethernet_setting setting, uint32_t *ret)
{
	uint8_t byte = attr_u8(attr, 0);

	if (setting == ETHERNET_RING_TCP_DATA_SPLIT) {
		if (byte == ETHTOOL_TCP_DATA_SPLIT_UNKNOWN)
			return false;
		*ret = byte == ETHTOOL_TCP_DATA_SPLIT_ENABLED;
		return true;
	}
	*ret = ethernet_settings[setting].is_bool ? byte != 0 : attr_u32(attr, 0);
	return true;
}

static void take_settings(const struct nlattr **table, bool rings, struct ethstate *state)
{
	for (size_t i = 0; i < ETHERNET_SETTINGS; i++) {
		const struct ethernet_setting_info *info = &ethernet_settings[i];

		if (ethernet_is_ring((enum ethernet_setting) i) != rings ||
		    table[info->attribute] == NULL ||
		    !read_value(table[info->attribute], (enum ethernet_setting) i, &state->values[i]))
			continue;
		state->has |= 1u << i;
		if (info->max_attribute != 0)
			state->max[i] = attr_u32(table[info->max_attribute], 0);
	}
}

void ethcode_take(const struct nlmsghdr *nlh, enum ethstep_section section, struct ethstate *state)
{
	const struct nlattr *table[ATTRIBUTES_MAX];
	struct genlmsghdr header;

	if (!attr_read(nlh, &header, sizeof(header), table, ATTRIBUTES_MAX) ||
	    header.cmd != commands[section].answer)
		return;
	switch (section) {
	case ETHSTEP_FEATURES:
		read_bits(table[ETHTOOL_A_FEATURES_HW], state, take_changeable);
		read_bits(table[ETHTOOL_A_FEATURES_WANTED], state, take_asked);
		read_bits(table[ETHTOOL_A_FEATURES_ACTIVE], state, take_active);
		read_bits(table[ETHTOOL_A_FEATURES_NOCHANGE], state, take_fixed);
		break;
	case ETHSTEP_RINGS:
	case ETHSTEP_CHANNELS:
		take_settings(table, section == ETHSTEP_RINGS, state);
		break;
	case ETHSTEP_WAKE:
		state->has_wake = true;
		read_bits(table[ETHTOOL_A_WOL_MODES], state, take_wake);
		break;
	}
}

/* --- writing --- */

static void put_features(struct message *m, const struct ethernet *set)
{
	struct nlattr *wanted = message_nest(m, ETHTOOL_A_FEATURES_WANTED);
	struct nlattr *bits = message_nest(m, ETHTOOL_A_BITSET_BITS);

	for (size_t i = 0; i < set->n_features; i++) {
		struct nlattr *bit = message_nest(m, ETHTOOL_A_BITSET_BITS_BIT);

		message_text(m, ETHTOOL_A_BITSET_BIT_NAME, set->features[i].name);
		if (set->features[i].on)
			message_bytes(m, ETHTOOL_A_BITSET_BIT_VALUE, NULL, 0);
		message_end(m, bit);
	}
	message_end(m, bits);
	message_end(m, wanted);
}

static void put_settings(struct message *m, const struct ethernet *set)
{
	for (size_t i = 0; i < ETHERNET_SETTINGS; i++) {
		const struct ethernet_setting_info *info = &ethernet_settings[i];
		uint32_t value = set->values[i];

		if ((set->has & 1u << i) == 0)
			continue;
		if (i == ETHERNET_RING_TCP_DATA_SPLIT)
			value = value != 0 ? ETHTOOL_TCP_DATA_SPLIT_ENABLED : ETHTOOL_TCP_DATA_SPLIT_DISABLED;
		if (info->is_bool)
			message_u8(m, info->attribute, (uint8_t) value);
		else
			message_u32(m, info->attribute, value);
	}
}

static void put_wake(struct message *m, const struct ethernet *set)
{
	struct nlattr *modes = message_nest(m, ETHTOOL_A_WOL_MODES), *bits;

	message_bytes(m, ETHTOOL_A_BITSET_NOMASK, NULL, 0);
	bits = message_nest(m, ETHTOOL_A_BITSET_BITS);
	for (uint32_t i = 0; ethernet_wake_modes[i] != NULL; i++) {
		struct nlattr *bit;

		if ((set->wake & 1u << i) == 0)
			continue;
		bit = message_nest(m, ETHTOOL_A_BITSET_BITS_BIT);
		message_u32(m, ETHTOOL_A_BITSET_BIT_INDEX, i);
		message_end(m, bit);
	}
	message_end(m, bits);
	message_end(m, modes);
}

int ethcode_set(uint16_t family, const struct ethstep *step, struct message *ret_message)
{
	begin(ret_message, family, commands[step->section].set, step->link, ETHTOOL_FLAG_OMIT_REPLY);
	switch (step->section) {
	case ETHSTEP_FEATURES:
		put_features(ret_message, &step->set);
		break;
	case ETHSTEP_RINGS:
	case ETHSTEP_CHANNELS:
		put_settings(ret_message, &step->set);
		break;
	case ETHSTEP_WAKE:
		put_wake(ret_message, &step->set);
		break;
	}
	return message_check(ret_message);
}
