/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From Talos's older style to the one of many documents, which says who a device is in a document
 * of its own: each deviceSelector becomes a LinkAliasConfig, and what it was part of uses the
 * alias. The newer style has no word for "every device that matches", so a selector must choose
 * one.
 *
 * VLANs keep the names that they have, since those are derived from the device's.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "netconf/config/config_priv.h"
#include "netconf/config/resolve.h"
#include "netconf/model/link.h"

struct conversion {
	struct config *config;
	const struct device *devices;
	size_t n_devices;
	conf_message_fn error;
	void *userdata;
	size_t n_errors;
	unsigned n_names; /* tried so far */
};

static void fail(struct conversion *c, const struct origin *origin, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

static void fail(struct conversion *c, const struct origin *origin, const char *fmt, ...)
{
	AUTO(free) char *what = NULL;
	AUTO(free) char *line = NULL;
	char place[MODEL_ORIGIN_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	what = xvasprintf(fmt, ap);
	va_end(ap);
	line = xasprintf("%s: %s", model_format_origin(c->config->common, origin, place), what);
	c->n_errors++;
	if (c->error != NULL)
		c->error(line, c->userdata);
}

/* --- a selector as an expression --- */

/* The newer style compares; patterns have a function. */
static void write_term(FILE *out, bool *begun, const char *operand, const char *pattern)
{
	if (pattern == NULL)
		return;
	if (*begun)
		(void) fputs(" && ", out);
	*begun = true;
	(void) fputs("glob(\"", out);
	/* Hardware addresses are lower case there, and letters of the other case are other letters. */
	for (const char *p = pattern; *p != '\0'; p++)
		(void) fputc(operand[0] == 'm' ? tolower((unsigned char) *p) : *p, out);
	(void) fprintf(out, "\", %s)", operand);
}

/* NULL: a text in it cannot stand in a string. */
static char *make_expression(const struct selector *selector)
{
	const struct {
		const char *operand, *pattern;
	} terms[] = {
	    {"link.bus_path", selector->bus_path},
	    {"mac(link.hardware_addr)", selector->mac},
	    {"mac(link.permanent_addr)", selector->permanent_mac},
	    {"link.pciid", selector->pci_id},
	    {"link.driver", selector->driver},
	};
	char *text = NULL;
	bool begun = false;
	size_t len;
	FILE *out;

	for (size_t i = 0; i < ARRAY_SIZE(terms); i++) {
		if (terms[i].pattern != NULL && strpbrk(terms[i].pattern, "\"\\") != NULL)
			return NULL;
	}
	out = xmemstream_open(&text, &len);
	for (size_t i = 0; i < ARRAY_SIZE(terms); i++)
		write_term(out, &begun, terms[i].operand, terms[i].pattern);
	/* An alias is always of a physical device. */
	if (!begun)
		(void) fputs("true", out);
	xmemstream_close(out);
	return text;
}

/* --- names --- */

static bool is_taken(const struct conversion *c, const char *name)
{
	for (size_t i = 0; i < c->config->n_aliases; i++) {
		if (strcmp(c->config->aliases[i].name, name) == 0)
			return true;
	}
	for (size_t i = 0; i < c->config->n_links; i++) {
		if (c->config->links[i].ref.name != NULL && strcmp(c->config->links[i].ref.name, name) == 0)
			return true;
	}
	for (size_t i = 0; i < c->n_devices; i++) {
		if (strcmp(c->devices[i].name, name) == 0)
			return true;
	}
	return false;
}

static char *new_name(struct conversion *c)
{
	char *name = xasprintf("link%u", c->n_names++);

	while (is_taken(c, name)) {
		free(name);
		name = xasprintf("link%u", c->n_names++);
	}
	return name;
}

/* The one device that it chooses, or NULL. */
static const struct device *find_device(struct conversion *c, const struct selector *selector,
                                        const struct origin *origin)
{
	const struct device *found = NULL;
	size_t n = 0;

	for (size_t i = 0; i < c->n_devices; i++) {
		if (!resolve_is_candidate(selector, &c->devices[i]) ||
		    !selector_matches(selector, &c->devices[i]))
			continue;
		found = &c->devices[i];
		n++;
	}
	if (n == 1)
		return found;
	fail(c, origin,
	     "the deviceSelector matches %zu devices of this machine, and an alias is of one: name it "
	     "with 'interface'",
	     n);
	return NULL;
}

/* The alias of this selector, new if need be; NULL: it cannot be one. */
static const char *alias_for(struct conversion *c, const struct selector *selector,
                             const struct origin *origin)
{
	struct config *config = c->config;
	struct config_alias alias = {.origin = *origin};
	AUTO(free) char *text = make_expression(selector);
	const char *wrong;
	size_t at;

	for (size_t i = 0; i < config->n_aliases && text != NULL; i++) {
		if (strcmp(config->aliases[i].selector.text, text) == 0)
			return config->aliases[i].name;
	}
	if (text == NULL || (selector->has_physical && !selector->physical) ||
	    expression_parse(text, &wrong, &at, &alias.selector.match) < 0) {
		fail(c, origin, "the deviceSelector has no equal in a LinkAliasConfig");
		return NULL;
	}
	alias.selector.text = TAKE_PTR(text);
	alias.name = new_name(c);
	config->aliases =
	    xreallocarray(config->aliases, config->n_aliases + 1, sizeof(*config->aliases));
	config->aliases[config->n_aliases++] = alias;
	return alias.name;
}

static void name_ref(struct conversion *c, struct config_ref *ref, const struct origin *origin)
{
	const char *name;

	if (ref->selector == NULL || find_device(c, ref->selector, origin) == NULL)
		return;
	name = alias_for(c, ref->selector, origin);
	if (name == NULL)
		return;
	config_ref_fini(ref);
	ref->name = xstrdup(name);
}

/* --- the parts --- */

static void name_vlan(struct conversion *c, const struct config_ref *base, unsigned id,
                      const struct origin *origin, char **ret_name)
{
	const struct device *device = find_device(c, base->selector, origin);
	char name[IFNAMSIZ];

	if (device == NULL)
		return;
	vlanname_form(device->name, id, name);
	free(*ret_name);
	*ret_name = xstrdup(name);
}

static void convert_dhcps(struct conversion *c)
{
	for (size_t i = 0; i < c->config->n_dhcps; i++) {
		struct config_dhcp *dhcp = &c->config->dhcps[i];
		char *name = NULL;

		if (dhcp->ref.selector == NULL)
			continue;
		if (dhcp->vlan_id == 0) {
			name_ref(c, &dhcp->ref, &dhcp->origin);
			continue;
		}
		name_vlan(c, &dhcp->ref, dhcp->vlan_id, &dhcp->origin, &name);
		if (name == NULL)
			continue;
		config_ref_fini(&dhcp->ref);
		dhcp->ref.name = name;
		dhcp->vlan_id = 0;
	}
}

/* Into the policy, by the name that the device has. */
static void convert_ignored(struct conversion *c, struct config_link *link)
{
	const struct device *device;
	const char *name = link->ref.name;

	if (link->ref.selector != NULL) {
		device = find_device(c, link->ref.selector, &link->want.origin);
		name = device != NULL ? device->name : NULL;
	}
	if (name != NULL)
		host_add_text(&c->config->policy.ignore_links, name);
}

static void drop_ignored(struct config *config)
{
	size_t n = 0;

	for (size_t i = 0; i < config->n_links; i++) {
		if (config->links[i].is_ignored)
			config_link_fini(&config->links[i]);
		else
			config->links[n++] = config->links[i];
	}
	config->n_links = n;
}

/* The bond's primary is one of the ports, and called as that is. */
static void convert_port(struct conversion *c, struct config_link *master, struct config_ref *port)
{
	const struct device *device =
	    port->selector != NULL ? find_device(c, port->selector, &master->want.origin) : NULL;

	if (device == NULL)
		return;
	name_ref(c, port, &master->want.origin);
	if (port->name != NULL && master->want.kind == LINK_BOND &&
	    strcmp(master->want.bond->primary, device->name) == 0)
		(void) snprintf(master->want.bond->primary, sizeof(master->want.bond->primary), "%s",
		                port->name);
}

static void convert_link(struct conversion *c, struct config_link *link)
{
	if (link->is_ignored) {
		convert_ignored(c, link);
		return;
	}
	if (link->want.kind == LINK_VLAN && link->parent.selector != NULL) {
		name_vlan(c, &link->parent, link->want.vlan_id, &link->want.origin, &link->ref.name);
		name_ref(c, &link->parent, &link->want.origin);
	}
	name_ref(c, &link->ref, &link->want.origin);
	for (size_t i = 0; i < link->n_ports; i++)
		convert_port(c, link, &link->ports[i]);
}

int config_convert(struct config *config, const struct device *devices, size_t n_devices,
                   conf_message_fn error, void *userdata)
{
	struct conversion c = {
	    .config = config,
	    .devices = devices,
	    .n_devices = n_devices,
	    .error = error,
	    .userdata = userdata,
	};

	for (size_t i = 0; i < config->n_links; i++)
		convert_link(&c, &config->links[i]);
	convert_dhcps(&c);
	drop_ignored(config);
	return c.n_errors > 0 ? -EINVAL : 0;
}
