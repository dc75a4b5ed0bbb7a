/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which of the machine's network devices somebody means who does not say their names: Talos's
 * deviceSelector, and the simple expressions of a LinkAliasConfig. Pure: the devices are given.
 */

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/addr.h"
#include "base/cleanup.h"

/* What is known of a link that hardware or a virtual machine brings. Texts are borrowed, "" where
 * unknown, as sysfs and ethtool write them. */
struct device {
	char name[IFNAMSIZ];
	const char *const *altnames;
	size_t n_altnames;
	bool is_physical; /* neither made by software (IFLA_INFO_KIND) nor the loopback */
	struct mac mac;
	bool has_permanent_mac;
	struct mac permanent_mac;
	const char *bus_path; /* "0000:01:00.0" */
	const char *pci_id;   /* "8086:1533" */
	const char *driver;   /* "igb" */
	const char *kind;     /* "bond"; "" for hardware */
};

/* Keys of a deviceSelector: all must match; NULL matches anything, '*' any run of characters, '?'
 * one. Letters of either case are the same. */
struct selector {
	char *bus_path;
	char *mac;
	char *permanent_mac;
	char *pci_id;
	char *driver;
	bool has_physical;
	bool physical;
	struct expression *match; /* instead of all of them: of a LinkAliasConfig */
	char *text;               /* of `match`, as it was written */
};

void selector_fini(struct selector *selector);
bool selector_matches(const struct selector *selector, const struct device *device);
/* Nothing is asked for, so everything would match. */
bool selector_is_empty(const struct selector *selector);
/* Written alike. Nothing is equal to NULL. */
bool selector_equal(const struct selector *a, const struct selector *b);

/* The texts may have '*' and '?'. */
bool selector_glob(const char *pattern, const char *text);

/*
 * The part of the Common Expression Language that choosing a link needs:
 *
 *	mac(link.permanent_addr) == "00:1a:2b:3c:4d:5e"      also link.hardware_addr
 *	glob("00:1a:2b:*", mac(link.permanent_addr))
 *	link.driver == "e1000"     also bus_path, pciid, kind, name; and !=
 *	link.bus_path.startsWith("0000:01:")     also endsWith, contains
 *	!, &&, || and parentheses; true and false
 *
 * -EINVAL, with what is wrong and the place (from 0) in the text.
 */
#define EXPRESSION_NODES_MAX 64
#define EXPRESSION_DEPTH_MAX 32
struct expression;
int expression_parse(const char *text, const char **ret_wrong, size_t *ret_at,
                     struct expression **ret_expression);
void expression_free(struct expression *expression);
DEFINE_AUTO(struct expression, expression_free);
bool expression_matches(const struct expression *expression, const struct device *device);
