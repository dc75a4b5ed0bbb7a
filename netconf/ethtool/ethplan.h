/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What ethtool sets, wanted and had, to steps: at most one for each of features, rings, channels
 * and Wake-on-LAN of a link, since the kernel takes each of these as a whole. Pure.
 */

#include <jansson.h>
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/conf.h"
#include "net/attr.h"
#include "netconf/model/ethernet.h"
#include "netconf/plan/plan.h"

struct ethstate_feature {
	char *name;
	bool active;     /* it works */
	bool asked;      /* somebody wants it to work; the kernel may lack what it needs */
	bool changeable; /* its driver lets it be turned on and off */
};

/* One link as its driver has it. */
struct ethstate {
	unsigned has; /* bits 1 << enum ethernet_setting: what there is */
	uint32_t values[ETHERNET_SETTINGS];
	uint32_t max[ETHERNET_SETTINGS]; /* 0: nobody told */
	bool has_wake;
	unsigned wake;          /* as in struct ethernet */
	unsigned wake_possible; /* bits, too */
	struct ethstate_feature *features;
	size_t n_features;
};

void ethstate_fini(struct ethstate *state);
/* NULL: there is none of this name. */
struct ethstate_feature *ethstate_find_feature(const struct ethstate *state, const char *name);

enum ethstep_section {
	ETHSTEP_FEATURES,
	ETHSTEP_RINGS,
	ETHSTEP_CHANNELS,
	ETHSTEP_WAKE,
};

struct ethstep {
	char link[IFNAMSIZ];
	enum ethstep_section section;
	/* A driver may take its link down and up for any of them but Wake-on-LAN. */
	enum op_class class;
	struct ethernet set; /* no more than what is otherwise */
};

struct ethplan {
	struct ethstep *steps;
	size_t n; /* 0: all is as it should be */
};

/* Adds to the plan. Each problem is a sentence that names the link: what its driver does not have,
 * or cannot have so. Then nothing of the plan is to be carried out. */
void ethplan_add(struct ethplan *plan, const char *link, const struct ethernet *want,
                 const struct ethstate *have, struct conf_strings *problems);
void ethplan_fini(struct ethplan *plan);

/* What was there before of all that `want` changes: to undo is to plan for this. */
void ethplan_back(const struct ethernet *want, const struct ethstate *before,
                  struct ethernet *ret_back);

/* What a checkpoint keeps of an ethplan_back(); a new reference, and back, or -EBADMSG. */
json_t *ethernet_to_json(const struct ethernet *ethernet);
int ethernet_from_json(const json_t *json, struct ethernet *ret_ethernet);

/* "set eth0 rings rx 512 tx 512", "set eth0 features tx-tcp-segmentation off" */
#define ETHSTEP_TEXT_MAX 512
const char *ethstep_format(const struct ethstep *step, char buf[static ETHSTEP_TEXT_MAX]);

/*
 * The messages of the generic netlink family "ethtool", both ways. Pure. Sources:
 * linux/ethtool_netlink.h and the kernel's Documentation/networking/ethtool-netlink.rst.
 */

/* Asks for one section of a link. */
void ethcode_get(uint16_t family, enum ethstep_section section, const char *link,
                 struct message *ret_message);
/* Takes the answer into the state. */
void ethcode_take(const struct nlmsghdr *nlh, enum ethstep_section section, struct ethstate *state);
/* One step; -EMSGSIZE: it is too long. */
int ethcode_set(uint16_t family, const struct ethstep *step, struct message *ret_message);
