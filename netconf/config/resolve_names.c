/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a name stands for, looked up in this order: a link that the configuration makes, an alias, a
 * device's name, a device's alternative name; else it is the name of a device that is not there
 * yet.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "netconf/config/resolve_priv.h"

static void list_line(const struct resolver *r, struct conf_strings *list,
                      const struct origin *origin, const char *what)
{
	char place[MODEL_ORIGIN_TEXT_MAX];
	AUTO(free)
	char *line = xasprintf("%s: %s", model_format_origin(r->config->common, origin, place), what);

	host_add_text(list, line);
}

/* The same into one of the resolution's lists. */
static void resolver_complain(struct resolver *r, struct conf_strings *list,
                              const struct origin *origin, const char *fmt, ...) PRINTF_LIKE(4, 5);
static void resolver_complain(struct resolver *r, struct conf_strings *list,
                              const struct origin *origin, const char *fmt, ...)
{
	AUTO(free) char *what = NULL;
	va_list ap;

	va_start(ap, fmt);
	what = xvasprintf(fmt, ap);
	va_end(ap);
	list_line(r, list, origin, what);
}

void resolver_dispute(struct resolver *r, const char *link, const struct origin *origin,
                      const char *fmt, ...)
{
	AUTO(free) char *what = NULL;
	va_list ap;

	va_start(ap, fmt);
	what = xvasprintf(fmt, ap);
	va_end(ap);
	list_line(r, &r->resolution->problems, origin, what);
	host_add_text(&r->resolution->disputed, link);
}

/* --- devices and aliases --- */

static bool borrows_address(const char *kind)
{
	static const char *const kinds[] = {"bond",    "bridge", "ipvlan", "macvlan",
	                                    "macvtap", "team",   "vlan"};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(kinds[i], kind) == 0)
			return true;
	}
	return false;
}

bool resolve_is_candidate(const struct selector *selector, const struct device *device)
{
	bool wants_made = selector->has_physical && !selector->physical;

	return (wants_made || !borrows_address(device->kind)) && strcmp(device->name, "lo") != 0;
}

static bool is_made_here(const struct resolver *r, const char *name)
{
	for (size_t i = 0; i < r->config->n_links; i++) {
		const struct config_link *link = &r->config->links[i];

		if (link->want.kind != LINK_PHYSICAL && link->ref.name != NULL &&
		    strcmp(link->ref.name, name) == 0)
			return true;
	}
	return false;
}

static bool is_chosen(const struct resolver *r, const struct selector *selector,
                      const struct device *device)
{
	return resolve_is_candidate(selector, device) && !is_made_here(r, device->name) &&
	       selector_matches(selector, device);
}

static bool has_alias(const struct resolver *r, const struct device *device)
{
	for (size_t i = 0; i < r->n_aliases; i++) {
		if (r->aliases[i].device == device)
			return true;
	}
	return false;
}

static void add_alias(struct resolver *r, char *name, const struct device *device)
{
	r->aliases = xreallocarray(r->aliases, r->n_aliases + 1, sizeof(*r->aliases));
	r->aliases[r->n_aliases++] = (struct alias){name, device};
}

static int compare_devices(const void *a, const void *b)
{
	const struct device *x = *(const struct device *const *) a;
	const struct device *y = *(const struct device *const *) b;
	int order = memcmp(x->mac.bytes, y->mac.bytes, sizeof(x->mac.bytes));

	return order != 0 ? order : strcmp(x->name, y->name);
}

/* As Talos numbers them: by hardware address, those left out that have an alias already. */
void resolver_find_alias(struct resolver *r, const struct config_alias *config)
{
	AUTO(free) const struct device **found = xcalloc(r->n_devices, sizeof(*found));
	size_t n = 0, stem = strcspn(config->name, "%");

	for (size_t i = 0; i < r->n_devices; i++) {
		if (is_chosen(r, &config->selector, &r->devices[i]) && !has_alias(r, &r->devices[i]))
			found[n++] = &r->devices[i];
	}
	if (config->name[stem] == '\0' && n != 1 && (n == 0 || !config->takes_first)) {
		resolver_complain(r, &r->resolution->waiting, &config->origin,
		                  "the alias '%s' matches %zu devices and must match one", config->name, n);
		return;
	}
	qsort(found, n, sizeof(*found), compare_devices);
	if (config->takes_first && config->name[stem] == '\0')
		n = 1;
	for (size_t i = 0; i < n; i++) {
		char *name = config->name[stem] == '\0' ? xstrdup(config->name)
		                                        : xasprintf("%.*s%zu", (int) stem, config->name, i);

		add_alias(r, name, found[i]);
	}
}

const struct alias *resolver_alias_of(const struct resolver *r, const char *name)
{
	for (size_t i = 0; i < r->n_aliases; i++) {
		if (strcmp(r->aliases[i].name, name) == 0)
			return &r->aliases[i];
	}
	return NULL;
}

/* The configuration has an alias of this name, or of this pattern, whether or not a device has. */
static bool is_alias_name(const struct resolver *r, const char *name)
{
	for (size_t i = 0; i < r->config->n_aliases; i++) {
		const char *alias = r->config->aliases[i].name;
		size_t stem = strcspn(alias, "%");
		const char *number = name + MIN(stem, strlen(name));

		if (alias[stem] == '\0' ? strcmp(alias, name) == 0
		                        : strncmp(alias, name, stem) == 0 && *number != '\0' &&
		                              number[strspn(number, "0123456789")] == '\0')
			return true;
	}
	return false;
}

static bool device_is_named(const struct device *device, const char *name)
{
	for (size_t i = 0; i < device->n_altnames; i++) {
		if (strcmp(device->altnames[i], name) == 0)
			return true;
	}
	return false;
}

/* NULL: nobody can say, and that has been noted. */
const char *resolver_find_name(struct resolver *r, const char *name, const struct origin *origin)
{
	const struct alias *alias;

	if (is_made_here(r, name))
		return name;
	alias = resolver_alias_of(r, name);
	if (alias != NULL)
		return alias->device->name;
	for (size_t i = 0; i < r->n_devices; i++) {
		if (strcmp(r->devices[i].name, name) == 0)
			return name;
	}
	for (size_t i = 0; i < r->n_devices; i++) {
		if (device_is_named(&r->devices[i], name))
			return r->devices[i].name;
	}
	if (strlen(name) < IFNAMSIZ && !is_alias_name(r, name))
		return name;
	resolver_complain(r, &r->resolution->waiting, origin,
	                  "waits for '%s': no device is known by that name", name);
	return NULL;
}

/* --- several names of one reference --- */

static void names_add(struct names *names, const char *name)
{
	names->items = xreallocarray(names->items, names->n + 1, sizeof(*names->items));
	(void) snprintf(names->items[names->n++], IFNAMSIZ, "%s", name);
}

void names_fini(struct names *names)
{
	free(names->items);
	*names = (struct names){0};
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

void resolver_find_names(struct resolver *r, const struct config_ref *ref,
                         const struct origin *origin, struct names *ret_names)
{
	const char *name;

	*ret_names = (struct names){0};
	if (ref->name != NULL) {
		name = resolver_find_name(r, ref->name, origin);
		if (name != NULL)
			names_add(ret_names, name);
		return;
	}
	for (size_t i = 0; i < r->n_devices && ref->selector != NULL; i++) {
		if (is_chosen(r, ref->selector, &r->devices[i]))
			names_add(ret_names, r->devices[i].name);
	}
	if (ret_names->n == 0)
		resolver_complain(r, &r->resolution->waiting, origin,
		                  "waits: the selector matches no device");
	else
		qsort(ret_names->items, ret_names->n, sizeof(*ret_names->items), compare_names);
}
