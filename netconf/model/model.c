/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lists of a model: growing, finding, copying. What orders and compares single objects is in
 * object.c.
 */
#include "netconf/model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* --- life --- */

struct model *model_new(void)
{
	return NEW0(struct model);
}

void model_free(struct model *model)
{
	if (model == NULL)
		return;
	for (size_t i = 0; i < model->n_links; i++)
		link_fini(&model->links[i]);
	for (size_t i = 0; i < model->n_addresses; i++)
		free(model->addresses[i].raw.data);
	for (size_t i = 0; i < model->n_routes; i++)
		free(model->routes[i].raw.data);
	for (size_t i = 0; i < model->n_rules; i++)
		free(model->rules[i].raw.data);
	for (size_t i = 0; i < model->n_files; i++)
		free(model->files[i]);
	free(model->links);
	free(model->addresses);
	free(model->routes);
	free(model->rules);
	free(model->files);
	host_fini(&model->host);
	free(model);
}

static void *copy_list(const void *list, size_t n, size_t size)
{
	return n > 0 ? xmemdup(list, n * size) : NULL;
}

void raw_copy(struct raw_message *raw)
{
	if (raw->data != NULL)
		raw->data = xmemdup(raw->data, raw->len);
}

struct model *model_copy(const struct model *model)
{
	struct model *copy = xmemdup(model, sizeof(*model));

	copy->links = copy_list(model->links, model->n_links, sizeof(*model->links));
	copy->addresses = copy_list(model->addresses, model->n_addresses, sizeof(*model->addresses));
	copy->routes = copy_list(model->routes, model->n_routes, sizeof(*model->routes));
	copy->rules = copy_list(model->rules, model->n_rules, sizeof(*model->rules));
	copy->files = copy_list(model->files, model->n_files, sizeof(*model->files));
	copy->cap_links = model->n_links;
	copy->cap_addresses = model->n_addresses;
	copy->cap_routes = model->n_routes;
	copy->cap_rules = model->n_rules;
	for (size_t i = 0; i < model->n_links; i++)
		link_copy(&model->links[i], &copy->links[i]);
	for (size_t i = 0; i < model->n_addresses; i++)
		raw_copy(&copy->addresses[i].raw);
	for (size_t i = 0; i < model->n_routes; i++)
		raw_copy(&copy->routes[i].raw);
	for (size_t i = 0; i < model->n_rules; i++)
		raw_copy(&copy->rules[i].raw);
	for (size_t i = 0; i < model->n_files; i++)
		copy->files[i] = xstrdup(model->files[i]);
	host_copy(&model->host, &copy->host);
	return copy;
}

/* --- adding and removing --- */

/* Room for one more; a new list, or the old one. */
static void *grow(void *list, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return list;
	*cap = MAX(*cap * 2, (size_t) 16);
	return xreallocarray(list, *cap, size);
}

static void set_name(char name[static IFNAMSIZ], const char *text)
{
	size_t len = strnlen(text, IFNAMSIZ - 1);

	memcpy(name, text, len);
	memset(name + len, 0, IFNAMSIZ - len);
}

struct link *model_add_link(struct model *model, const char *name, enum link_kind kind)
{
	struct link *link;

	model->links = grow(model->links, model->n_links, &model->cap_links, sizeof(*link));
	link = &model->links[model->n_links++];
	*link = (struct link){.kind = kind};
	set_name(link->name, name);
	return link;
}

struct address *model_add_address(struct model *model, const char *link,
                                  const struct prefix *prefix)
{
	struct address *address;

	model->addresses =
	    grow(model->addresses, model->n_addresses, &model->cap_addresses, sizeof(*address));
	address = &model->addresses[model->n_addresses++];
	*address = (struct address){
	    .prefix = *prefix, .valid_s = ADDRESS_FOREVER, .preferred_s = ADDRESS_FOREVER};
	set_name(address->link, link);
	return address;
}

struct route *model_add_route(struct model *model, const struct prefix *dst)
{
	struct route *route;

	model->routes = grow(model->routes, model->n_routes, &model->cap_routes, sizeof(*route));
	route = &model->routes[model->n_routes++];
	*route = (struct route){
	    .dst = *dst, .table = RT_TABLE_MAIN, .type = RTN_UNICAST, .scope = RT_SCOPE_NOWHERE};
	return route;
}

struct rule *model_add_rule(struct model *model, sa_family_t family, uint32_t priority)
{
	struct rule *rule;

	model->rules = grow(model->rules, model->n_rules, &model->cap_rules, sizeof(*rule));
	rule = &model->rules[model->n_rules++];
	*rule = (struct rule){.family = family, .priority = priority, .action = FR_ACT_TO_TBL};
	return rule;
}

/* The list is NULL where none is and none goes. */
static void close_gap(void *list, size_t first, size_t n, size_t *n_all, size_t size)
{
	char *gap = (char *) list + first * size;

	if (n == 0)
		return;
	*n_all -= n;
	memmove(gap, gap + n * size, (*n_all - first) * size);
}

void model_remove_link(struct model *model, size_t i)
{
	link_fini(&model->links[i]);
	close_gap(model->links, i, 1, &model->n_links, sizeof(*model->links));
}

void model_remove_address(struct model *model, size_t i)
{
	model_remove_addresses(model, i, 1);
}

void model_remove_addresses(struct model *model, size_t first, size_t n)
{
	for (size_t i = first; i < first + n; i++)
		free(model->addresses[i].raw.data);
	close_gap(model->addresses, first, n, &model->n_addresses, sizeof(*model->addresses));
}

void model_remove_route(struct model *model, size_t i)
{
	free(model->routes[i].raw.data);
	close_gap(model->routes, i, 1, &model->n_routes, sizeof(*model->routes));
}

void model_remove_rule(struct model *model, size_t i)
{
	free(model->rules[i].raw.data);
	close_gap(model->rules, i, 1, &model->n_rules, sizeof(*model->rules));
}

/* --- origins --- */

struct origin model_origin(struct model *model, const char *file, unsigned line)
{
	struct origin origin = {.line = line};

	for (; origin.file < model->n_files; origin.file++) {
		if (strcmp(model->files[origin.file], file) == 0)
			return origin;
	}
	model->files = xreallocarray(model->files, model->n_files + 1, sizeof(*model->files));
	model->files[model->n_files++] = xstrdup(file);
	return origin;
}

const char *model_format_origin(const struct model *model, const struct origin *origin,
                                char buf[static MODEL_ORIGIN_TEXT_MAX])
{
	buf[0] = '\0';
	if (origin->line > 0 && origin->file < model->n_files)
		(void) snprintf(buf, MODEL_ORIGIN_TEXT_MAX, "%s:%u", model->files[origin->file],
		                origin->line);
	return buf;
}

/* --- the whole --- */

static int compare_links(const void *a, const void *b)
{
	return link_compare(a, b);
}

static int compare_addresses(const void *a, const void *b)
{
	return address_compare(a, b);
}

static int compare_routes(const void *a, const void *b)
{
	return route_compare(a, b);
}

static int compare_rules(const void *a, const void *b)
{
	return rule_compare(a, b);
}

static void sort(void *list, size_t n, size_t size, int (*compare)(const void *, const void *))
{
	if (n > 1)
		qsort(list, n, size, compare);
}

void model_normalise(struct model *model)
{
	for (size_t i = 0; i < model->n_links; i++)
		link_normalise(&model->links[i]);
	for (size_t i = 0; i < model->n_addresses; i++)
		address_normalise(&model->addresses[i]);
	for (size_t i = 0; i < model->n_routes; i++)
		route_normalise(&model->routes[i]);
	for (size_t i = 0; i < model->n_rules; i++)
		rule_normalise(&model->rules[i]);
	host_normalise(&model->host);
	sort(model->links, model->n_links, sizeof(*model->links), compare_links);
	sort(model->addresses, model->n_addresses, sizeof(*model->addresses), compare_addresses);
	sort(model->routes, model->n_routes, sizeof(*model->routes), compare_routes);
	sort(model->rules, model->n_rules, sizeof(*model->rules), compare_rules);
}

/* --- finding --- */

struct link *model_find_link(const struct model *model, const char *name)
{
	struct link key = {0};

	if (model->n_links == 0 || strlen(name) >= sizeof(key.name))
		return NULL;
	set_name(key.name, name);
	return bsearch(&key, model->links, model->n_links, sizeof(key), compare_links);
}

static int compare_address_keys(const void *a, const void *b)
{
	return address_compare_key(a, b);
}

struct address *model_find_address(const struct model *model, const char *link,
                                   const struct prefix *prefix)
{
	struct address key = {.prefix = *prefix};

	if (model->n_addresses == 0)
		return NULL;
	set_name(key.link, link);
	return bsearch(&key, model->addresses, model->n_addresses, sizeof(key), compare_address_keys);
}

size_t model_first_address(const struct model *model, const char *link)
{
	size_t low = 0, high = model->n_addresses;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(model->addresses[middle].link, link) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool model_is_address_of(const struct model *model, size_t i, const char *link)
{
	return i < model->n_addresses && strcmp(model->addresses[i].link, link) == 0;
}
