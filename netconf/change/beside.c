/* SPDX-License-Identifier: Apache-2.0 */
/* Both halves one after the other: drivers first, since the host's half may need the network. */
#include "netconf/change/beside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "netconf/ethtool/ethtool.h"

struct wanted_link {
	char name[IFNAMSIZ];
	struct ethernet want;
	struct ethernet back; /* of what it had before */
};

struct beside {
	const struct host_machine *machine;
	struct host want;
	unsigned parts; /* enum host_attr: of which the plan is */
	struct hoststate *before, *after;
	bool touches_host; /* some plan of it did */
	struct hostplan host;
	struct wanted_link *links;
	size_t n_links;
	struct ethplan drivers;
	struct conf_strings problems, notes;
};

/* Whatever it is that may have to go: the services are asked for. */
static const struct host anything = {.has = HOST_RESOLVERS | HOST_TIME};

/* --- planning --- */

/* After an end of the host's problems: nothing of it is done. */
static int plan_host(struct beside *b, bool has_leases, char **ret_error)
{
	size_t n = b->problems.n;
	/* What a lease may bring later must be undone, too. */
	int r = hoststate_observe(b->machine, has_leases ? &anything : &b->want, &b->before, ret_error);

	if (r < 0)
		return r;
	b->after = hoststate_want(b->before, &b->want, b->parts, &b->problems, &b->notes);
	if (b->problems.n == n)
		hoststate_plan(b->before, b->after, &b->host);
	b->touches_host = b->host.n > 0;
	return 0;
}

static int plan_link(struct beside *b, struct ethtool *ethtool, const char *name,
                     const struct ethernet *want, char **ret_error)
{
	size_t n = b->problems.n;
	struct ethplan plan = {0};
	struct ethstate have;
	struct wanted_link *link;
	int r = ethtool_observe(ethtool, name, &have);

	if (r < 0) {
		*ret_error = xasprintf("what ethtool sets on %s cannot be read: %s", name,
		                       ethtool_error_text(ethtool));
		return r;
	}
	ethplan_add(&plan, name, want, &have, &b->problems);
	ethplan_fini(&plan);
	if (b->problems.n == n) {
		ethplan_add(&b->drivers, name, want, &have, &b->problems);
		b->links = xreallocarray(b->links, b->n_links + 1, sizeof(*b->links));
		link = &b->links[b->n_links++];
		(void) snprintf(link->name, sizeof(link->name), "%s", name);
		ethernet_copy(want, &link->want);
		ethplan_back(want, &have, &link->back);
	}
	ethstate_fini(&have);
	return 0;
}

static int plan_links(struct beside *b, const struct resolution *resolution,
                      const struct model *have, char **ret_error)
{
	AUTO(ethtool_free) struct ethtool *ethtool = NULL;
	int r = 0;

	if (resolution->n_ethernets > 0)
		r = ethtool_new(&ethtool);
	if (r < 0)
		*ret_error = xasprintf("this kernel has no ethtool over netlink: %s", strerror(-r));
	for (size_t i = 0; i < resolution->n_ethernets && r == 0; i++) {
		const struct resolved_ethernet *wanted = &resolution->ethernets[i];

		/* One that is not there is waited for. */
		if (model_find_link(have, wanted->link) != NULL)
			r = plan_link(b, ethtool, wanted->link, &wanted->config->ethernet, ret_error);
	}
	return r;
}

int beside_plan(const struct host_machine *machine, const struct resolution *resolution,
                const struct model *have, struct beside **ret_beside, char **ret_error)
{
	AUTO(beside_free) struct beside *b = NEW0(struct beside);
	int r;

	b->machine = machine;
	b->parts = HOST_ALL;
	host_copy(&resolution->model->host, &b->want);
	r = plan_links(b, resolution, have, ret_error);
	if (r == 0)
		r = plan_host(b, resolution->n_dhcps > 0, ret_error);
	if (r < 0)
		return r;
	*ret_beside = TAKE_PTR(b);
	return 0;
}

int beside_plan_host(const struct host_machine *machine, const struct resolution *resolution,
                     unsigned parts, struct beside **ret_beside, char **ret_error)
{
	AUTO(beside_free) struct beside *b = NEW0(struct beside);
	int r;

	b->machine = machine;
	b->parts = parts;
	host_copy(&resolution->model->host, &b->want);
	r = plan_host(b, false, ret_error);
	if (r < 0)
		return r;
	*ret_beside = TAKE_PTR(b);
	return 0;
}

int beside_plan_again(struct beside *b, const struct resolution *resolution, char **ret_error)
{
	AUTO(hoststate_free) struct hoststate *now = NULL;
	AUTO(hoststate_free) struct hoststate *target = NULL;
	struct conf_strings problems = {0}, notes = {0};
	int r = hoststate_observe(b->machine, &anything, &now, ret_error);

	if (r < 0)
		return r;
	host_fini(&b->want);
	host_copy(&resolution->model->host, &b->want);
	ethplan_fini(&b->drivers);
	hostplan_fini(&b->host);
	b->parts = resolution->leased;
	target = hoststate_want(now, &b->want, b->parts, &problems, &notes);
	if (problems.n > 0) {
		r = -EEXIST;
		*ret_error = xstrdup(problems.items[0]);
	} else {
		hoststate_plan(now, target, &b->host);
	}
	conf_strings_fini(&problems);
	conf_strings_fini(&notes);
	if (b->host.n == 0)
		return r;
	/* What others did meanwhile is theirs, so the way back is told from what was before. */
	b->touches_host = true;
	hoststate_free(b->after);
	b->after = hoststate_want(b->before, &b->want, HOST_ALL, &problems, &notes);
	conf_strings_fini(&problems);
	conf_strings_fini(&notes);
	return 0;
}

void beside_free(struct beside *b)
{
	if (b == NULL)
		return;
	for (size_t i = 0; i < b->n_links; i++) {
		ethernet_fini(&b->links[i].want);
		ethernet_fini(&b->links[i].back);
	}
	free(b->links);
	ethplan_fini(&b->drivers);
	hostplan_fini(&b->host);
	hoststate_free(b->before);
	hoststate_free(b->after);
	host_fini(&b->want);
	conf_strings_fini(&b->problems);
	conf_strings_fini(&b->notes);
	free(b);
}

const struct conf_strings *beside_problems(const struct beside *b)
{
	return &b->problems;
}

const struct conf_strings *beside_notes(const struct beside *b)
{
	return &b->notes;
}

size_t beside_count(const struct beside *b)
{
	return b != NULL ? b->drivers.n + b->host.n : 0;
}

const char *beside_format(const struct beside *b, size_t i, char buf[static BESIDE_TEXT_MAX],
                          enum op_class *ret_class)
{
	if (i < b->drivers.n) {
		*ret_class = b->drivers.steps[i].class;
		return ethstep_format(&b->drivers.steps[i], buf);
	}
	*ret_class = OP_HITLESS;
	return hoststep_format(&b->host.steps[i - b->drivers.n], buf);
}

/* --- carrying out --- */

static int carry_out_drivers(const struct ethplan *plan, bool go_on, char **ret_error)
{
	AUTO(ethtool_free) struct ethtool *ethtool = NULL;
	char text[ETHSTEP_TEXT_MAX];
	int first = 0, r;

	if (plan->n == 0)
		return 0;
	r = ethtool_new(&ethtool);
	if (r < 0) {
		*ret_error = xasprintf("this kernel has no ethtool over netlink: %s", strerror(-r));
		return r;
	}
	for (size_t i = 0; i < plan->n && (first == 0 || go_on); i++) {
		r = ethtool_carry_out(ethtool, &plan->steps[i]);
		if (r == 0 || first < 0)
			continue;
		first = r;
		*ret_error = xasprintf("cannot %s: %s", ethstep_format(&plan->steps[i], text),
		                       ethtool_error_text(ethtool));
	}
	return first;
}

static int carry_out_host(const struct host_machine *machine, const struct hostplan *plan,
                          bool go_on, char **ret_error)
{
	int first = 0;

	for (size_t i = 0; i < plan->n && (first == 0 || go_on); i++) {
		AUTO(free) char *error = NULL;
		int r = hoststep_carry_out(machine, &plan->steps[i], &error);

		if (r == 0 || first < 0)
			continue;
		first = r;
		*ret_error = TAKE_PTR(error);
	}
	return first;
}

/* A driver may round, and a feature may need another. */
static int read_drivers_back(const struct beside *b, struct ethtool *ethtool, char **ret_error)
{
	struct conf_strings problems = {0};
	struct ethplan plan = {0};
	char text[ETHSTEP_TEXT_MAX];
	int r = 0;

	for (size_t i = 0; i < b->n_links && r == 0; i++) {
		struct ethstate have;

		r = ethtool_observe(ethtool, b->links[i].name, &have);
		if (r < 0)
			break;
		ethplan_add(&plan, b->links[i].name, &b->links[i].want, &have, &problems);
		ethstate_fini(&have);
	}
	if (r < 0)
		*ret_error = xstrdup(ethtool_error_text(ethtool));
	else if (problems.n > 0)
		*ret_error = xstrdup(problems.items[0]);
	else if (plan.n > 0)
		*ret_error = xasprintf("the driver took it and did not do it: %s",
		                       ethstep_format(&plan.steps[0], text));
	if (r == 0 && (problems.n > 0 || plan.n > 0))
		r = -EIO;
	ethplan_fini(&plan);
	conf_strings_fini(&problems);
	return r;
}

/* NULL: none. */
static const struct hoststep *first_left(const struct hostplan *plan, bool starts_later)
{
	for (size_t i = 0; i < plan->n; i++) {
		const struct hoststep *step = &plan->steps[i];

		if (!starts_later || step->kind != HOSTSTEP_SERVICE || step->verb != HOST_VERB_START)
			return step;
	}
	return NULL;
}

static int read_host_back(const struct beside *b, char **ret_error)
{
	AUTO(hoststate_free) struct hoststate *now = NULL;
	AUTO(hoststate_free) struct hoststate *target = NULL;
	struct conf_strings problems = {0}, notes = {0};
	const struct hoststep *left;
	struct hostplan plan;
	char text[HOSTSTEP_TEXT_MAX];
	int r = hoststate_observe(b->machine, &b->want, &now, ret_error);

	if (r < 0)
		return r;
	target = hoststate_want(now, &b->want, b->parts, &problems, &notes);
	hoststate_plan(now, target, &plan);
	left = first_left(&plan, b->machine->starts_later);
	if (problems.n > 0 || left != NULL) {
		r = -EIO;
		*ret_error = problems.n > 0
		                 ? xstrdup(problems.items[0])
		                 : xasprintf("it was done and is not so: %s", hoststep_format(left, text));
	}
	hostplan_fini(&plan);
	conf_strings_fini(&problems);
	conf_strings_fini(&notes);
	return r;
}

int beside_carry_out(struct beside *b, char **ret_error)
{
	AUTO(ethtool_free) struct ethtool *ethtool = NULL;
	int r = carry_out_drivers(&b->drivers, false, ret_error);

	if (r == 0)
		r = carry_out_host(b->machine, &b->host, false, ret_error);
	if (r == 0 && b->drivers.n > 0)
		r = ethtool_new(&ethtool);
	if (r == 0 && ethtool != NULL)
		r = read_drivers_back(b, ethtool, ret_error);
	if (r == 0 && b->host.n > 0)
		r = read_host_back(b, ret_error);
	return r;
}

static bool may_do_all(const struct beside *b, beside_may_fn may, void *userdata)
{
	char text[BESIDE_TEXT_MAX];
	enum op_class class;

	for (size_t i = 0; i < beside_count(b); i++) {
		if (!may(beside_format(b, i, text, &class), userdata))
			return false;
	}
	return true;
}

int beside_repair_host(const struct host_machine *machine, const struct resolution *resolution,
                       beside_may_fn may, void *userdata, size_t *ret_n, char **ret_error)
{
	int first = 0;

	*ret_n = 0;
	for (unsigned part = 1; part < HOST_ALL; part <<= 1) {
		AUTO(beside_free) struct beside *b = NULL;
		AUTO(free) char *error = NULL;
		int r = beside_plan_host(machine, resolution, part, &b, &error);
		bool can = r == 0 && b->problems.n == 0 && beside_count(b) > 0;

		if (can && may_do_all(b, may, userdata)) {
			r = beside_carry_out(b, &error);
			*ret_n += r == 0 ? beside_count(b) : 0;
		}
		if (r < 0 && first == 0) {
			first = r;
			*ret_error = TAKE_PTR(error);
		}
	}
	return first;
}

/* --- undoing --- */

json_t *beside_to_json(const struct beside *b)
{
	json_t *links = json_array();

	for (size_t i = 0; i < b->n_links; i++)
		(void) json_array_append_new(links,
		                             json_pack("{s:s, s:o}", "name", b->links[i].name, "before",
		                                       ethernet_to_json(&b->links[i].back)));
	return json_pack("{s:o, s:o, s:o}", "links", links, "before", hoststate_to_json(b->before),
	                 "after", hoststate_to_json(b->touches_host ? b->after : b->before));
}

/* Of what ethtool set only the way back is known. */
static int read_links(const json_t *json, struct beside *b)
{
	const json_t *item;
	size_t i;
	int r;

	b->links = xcalloc(json_array_size(json) + 1, sizeof(*b->links));
	json_array_foreach(json, i, item)
	{
		struct wanted_link *link = &b->links[b->n_links];
		const char *name = json_string_value(json_object_get(item, "name"));

		if (name == NULL || strlen(name) >= IFNAMSIZ)
			return -EBADMSG;
		r = ethernet_from_json(json_object_get(item, "before"), &link->back);
		if (r < 0)
			return r;
		(void) snprintf(link->name, sizeof(link->name), "%s", name);
		b->n_links++;
	}
	return 0;
}

int beside_from_json(const struct host_machine *machine, const json_t *json,
                     struct beside **ret_beside)
{
	const json_t *was = json_object_get(json, "before"), *became = json_object_get(json, "after");
	AUTO(beside_free) struct beside *b = NEW0(struct beside);
	int r;

	b->machine = machine;
	b->touches_host = !json_equal(was, became);
	r = read_links(json_object_get(json, "links"), b);
	if (r == 0)
		r = hoststate_from_json(was, &b->before);
	if (r == 0)
		r = hoststate_from_json(became, &b->after);
	if (r < 0)
		return r;
	*ret_beside = TAKE_PTR(b);
	return 0;
}

static int undo_link(struct ethtool *ethtool, const char *name, const json_t *json,
                     char **ret_error)
{
	struct conf_strings problems = {0};
	struct ethplan plan = {0};
	struct ethernet back;
	struct ethstate have;
	int r = ethernet_from_json(json, &back);

	if (r < 0)
		return r;
	r = ethtool_observe(ethtool, name, &have);
	if (r == 0) {
		ethplan_add(&plan, name, &back, &have, &problems);
		ethstate_fini(&have);
		r = carry_out_drivers(&plan, true, ret_error);
	}
	/* With the link its settings are gone. */
	if (r == -ENODEV)
		r = 0;
	ethernet_fini(&back);
	ethplan_fini(&plan);
	conf_strings_fini(&problems);
	return r;
}

static int undo_links(const json_t *links, char **ret_error)
{
	AUTO(ethtool_free) struct ethtool *ethtool = NULL;
	int first = 0, r;
	json_t *link;
	size_t i;

	if (json_array_size(links) == 0)
		return 0;
	r = ethtool_new(&ethtool);
	if (r < 0)
		return r;
	json_array_foreach(links, i, link)
	{
		const char *name = json_string_value(json_object_get(link, "name"));
		AUTO(free) char *error = NULL;

		r = name != NULL ? undo_link(ethtool, name, json_object_get(link, "before"), &error)
		                 : -EBADMSG;
		if (r == 0 || first < 0)
			continue;
		first = r;
		*ret_error = TAKE_PTR(error);
	}
	return first;
}

static int undo_host(const struct host_machine *machine, const json_t *json, char **ret_error)
{
	AUTO(hoststate_free)
	struct hoststate *before = NULL, *after = NULL, *now = NULL, *target = NULL;
	struct hostplan plan = {0};
	json_t *was = json_object_get(json, "before"), *became = json_object_get(json, "after");
	int r;

	if (json_equal(was, became))
		return json_is_object(was) ? 0 : -EBADMSG;
	r = hoststate_from_json(was, &before);
	if (r == 0)
		r = hoststate_from_json(became, &after);
	if (r == 0)
		r = hoststate_observe(machine, &anything, &now, ret_error);
	if (r < 0)
		return r;
	target = hoststate_back(now, before, after);
	hoststate_plan(now, target, &plan);
	r = carry_out_host(machine, &plan, true, ret_error);
	hostplan_fini(&plan);
	return r;
}

int beside_undo(const struct host_machine *machine, const json_t *json, bool drivers,
                char **ret_error)
{
	AUTO(free) char *host_error = NULL;
	AUTO(free) char *link_error = NULL;
	int r_host = undo_host(machine, json, &host_error);
	int r_links = drivers ? undo_links(json_object_get(json, "links"), &link_error) : 0;

	if (r_host < 0)
		*ret_error = host_error != NULL ? TAKE_PTR(host_error) : xstrdup(strerror(-r_host));
	else if (r_links < 0)
		*ret_error = link_error != NULL ? TAKE_PTR(link_error) : xstrdup(strerror(-r_links));
	return r_host < 0 ? r_host : r_links;
}
