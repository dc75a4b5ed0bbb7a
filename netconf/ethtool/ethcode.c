/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers stand as they are; flags and modes stand in bit sets, which the kernel writes with the
 * name and the number of each bit. In one without NOMASK every bit that is listed is meant, and its
 * value says whether it is set; in one with it, those that are listed are set.
 */
#include "netconf/ethtool/ethcode.h"

#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <string.h>

#include "base/mem.h"

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

struct bits {
	struct ethstate *state;
	bool no_mask;
	bit_fn fn;
};

static void take_bit(const struct nlattr *bit, unsigned type, void *userdata)
{
	const struct nlattr *table[ETHTOOL_A_BITSET_BIT_MAX + 1];
	const struct bits *bits = userdata;
	char name[NAME_BYTES_MAX];

	if (type != ETHTOOL_A_BITSET_BITS_BIT ||
	    attr_read_nested(bit, table, ETHTOOL_A_BITSET_BIT_MAX + 1) < 0)
		return;
	bits->fn(bits->state, attr_u32(table[ETHTOOL_A_BITSET_BIT_INDEX], 0),
	         attr_text(table[ETHTOOL_A_BITSET_BIT_NAME], name, sizeof(name)),
	         bits->no_mask || table[ETHTOOL_A_BITSET_BIT_VALUE] != NULL);
}

static void read_bits(const struct nlattr *set, struct ethstate *state, bit_fn fn)
{
	const struct nlattr *table[ETHTOOL_A_BITSET_MAX + 1];
	struct bits bits = {.state = state, .fn = fn};

	if (set == NULL || attr_read_nested(set, table, ETHTOOL_A_BITSET_MAX + 1) < 0)
		return;
	bits.no_mask = table[ETHTOOL_A_BITSET_NOMASK] != NULL;
	attr_for_each(table[ETHTOOL_A_BITSET_BITS], take_bit, &bits);
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

	if (!attr_header(nlh, &header, sizeof(header)) || header.cmd != commands[section].answer ||
	    attr_read(nlh, sizeof(header), table, ATTRIBUTES_MAX) < 0)
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
