/* SPDX-License-Identifier: Apache-2.0 */
/* Talos's deviceSelector: every key that is there must match. */
#include "netconf/config/selector.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void selector_fini(struct selector *selector)
{
	free(selector->bus_path);
	free(selector->mac);
	free(selector->permanent_mac);
	free(selector->pci_id);
	free(selector->driver);
	free(selector->text);
	expression_free(selector->match);
	*selector = (struct selector){0};
}

bool selector_is_empty(const struct selector *selector)
{
	return selector->bus_path == NULL && selector->mac == NULL && selector->permanent_mac == NULL &&
	       selector->pci_id == NULL && selector->driver == NULL && !selector->has_physical &&
	       selector->match == NULL;
}

static bool texts_equal(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

bool selector_equal(const struct selector *a, const struct selector *b)
{
	if (a == NULL || b == NULL)
		return false;
	return texts_equal(a->bus_path, b->bus_path) && texts_equal(a->mac, b->mac) &&
	       texts_equal(a->permanent_mac, b->permanent_mac) && texts_equal(a->pci_id, b->pci_id) &&
	       texts_equal(a->driver, b->driver) && a->has_physical == b->has_physical &&
	       a->physical == b->physical && texts_equal(a->text, b->text);
}

/* Goes back to the last '*' when the rest does not fit, which is enough: an earlier one could only
 * take less. */
bool selector_glob(const char *pattern, const char *text)
{
	const char *star = NULL, *from = text;

	while (*text != '\0') {
		if (*pattern == '*') {
			star = pattern++;
			from = text;
		} else if (*pattern != '\0' && (*pattern == '?' || tolower((unsigned char) *pattern) ==
		                                                       tolower((unsigned char) *text))) {
			pattern++;
			text++;
		} else if (star != NULL) {
			pattern = star + 1;
			text = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}

static bool text_matches(const char *pattern, const char *text)
{
	return pattern == NULL || selector_glob(pattern, text);
}

static bool mac_matches(const char *pattern, bool is_known, const struct mac *mac)
{
	char text[MAC_TEXT_MAX];

	return pattern == NULL || (is_known && selector_glob(pattern, mac_format(mac, text)));
}

bool selector_matches(const struct selector *selector, const struct device *device)
{
	if (selector->match != NULL)
		return expression_matches(selector->match, device);
	return text_matches(selector->bus_path, device->bus_path) &&
	       mac_matches(selector->mac, true, &device->mac) &&
	       mac_matches(selector->permanent_mac, device->has_permanent_mac,
	                   &device->permanent_mac) &&
	       text_matches(selector->pci_id, device->pci_id) &&
	       text_matches(selector->driver, device->driver) &&
	       (!selector->has_physical || selector->physical == device->is_physical);
}
