/* SPDX-License-Identifier: Apache-2.0 */
/* A small reader: words of a line, each key by one table entry or one comparison. */
#include "plancase.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "check.h"

struct reader {
	struct model *model;
	bool observed;
	char *rest; /* of the line */
	const char *line;
};

static void __attribute__((noreturn)) stop(const struct reader *r, const char *word)
{
	(void) fprintf(stderr, "plancase: '%s' in: %s\n", word, r->line);
	abort();
}

/* "" at the end of the line. */
static const char *next(struct reader *r)
{
	char *word = strtok_r(NULL, " \t", &r->rest);

	return word != NULL ? word : "";
}

static uint32_t number(struct reader *r)
{
	const char *word = next(r);
	char *end;
	unsigned long value = strtoul(word, &end, 0);

	if (word[0] == '\0' || *end != '\0')
		stop(r, word);
	return (uint32_t) value;
}

static struct prefix prefix(struct reader *r)
{
	const char *word = next(r);
	struct prefix parsed;

	if (prefix_parse(word, &parsed) < 0)
		stop(r, word);
	return parsed;
}

static struct addr addr(struct reader *r)
{
	const char *word = next(r);
	struct addr parsed;

	if (addr_parse(word, &parsed) < 0)
		stop(r, word);
	return parsed;
}

static void mac(struct reader *r, struct mac *ret)
{
	const char *word = next(r);

	if (mac_parse(word, ret) < 0)
		stop(r, word);
}

static void name(struct reader *r, char to[static IFNAMSIZ])
{
	(void) snprintf(to, IFNAMSIZ, "%s", next(r));
}

static enum owner owner_of(uint8_t protocol)
{
	return protocol == NETCONF_PROTOCOL ? OWNER_OURS
	       : protocol == RTPROT_KERNEL  ? OWNER_KERNEL
	                                    : OWNER_FOREIGN;
}

/* --- links --- */

static const char *const kinds[] = {
    [LINK_PHYSICAL] = "nic", [LINK_LOOPBACK] = "loopback", [LINK_BOND] = "bond",
    [LINK_VLAN] = "vlan",    [LINK_BRIDGE] = "bridge",     [LINK_DUMMY] = "dummy",
    [LINK_VETH] = "veth",    [LINK_VRF] = "vrf",           [LINK_WIREGUARD] = "wireguard",
    [LINK_OTHER] = "other",
};

static bool read_bond_option(struct reader *r, struct link *link, const char *key)
{
	enum bond_option option = 0;
	struct bond *bond = link->bond;

	while (option < BOND_OPTIONS && strcmp(bond_options[option].name, key) != 0)
		option++;
	if (bond == NULL || option == BOND_OPTIONS)
		return false;
	bond->has |= BOND_BIT(option);
	if (option == BOND_PRIMARY)
		name(r, bond->primary);
	else if (option == BOND_ARP_IP_TARGET)
		bond->arp_targets[bond->n_arp_targets++] = addr(r);
	else if (option == BOND_NS_IP6_TARGET)
		bond->ns_targets[bond->n_ns_targets++] = addr(r);
	else if (option == BOND_AD_ACTOR_SYSTEM)
		mac(r, &bond->ad_actor_system);
	else
		bond->values[option] = number(r);
	return true;
}

/* Two words each: of a wireguard only what tells it from another. */
static bool read_wireguard(struct reader *r, struct link *link, const char *key)
{
	if (link->wireguard == NULL || strcmp(key, "port") != 0)
		return false;
	link->wireguard->has |= WIREGUARD_LISTEN_PORT;
	link->wireguard->listen_port = (uint16_t) number(r);
	return true;
}

static unsigned read_link_key(struct reader *r, struct link *link, const char *key)
{
	if (strcmp(key, "up") == 0 || strcmp(key, "down") == 0) {
		link->up = strcmp(key, "up") == 0;
		return LINK_HAS_UP;
	}
	for (size_t i = 0; i < LINK_ATTRS; i++) {
		const struct link_attr_info *info = &link_attrs[i];
		void *member = (char *) link + info->field.offset;
		const char *tail = strncmp(info->name, "vlan_", 5) == 0 ? info->name + 5 : info->name;

		if (strcmp(key, tail) != 0)
			continue;
		if (info->field.type == RECORD_TEXT)
			name(r, member);
		else if (info->field.type == RECORD_MAC)
			mac(r, member);
		else
			(void) record_set_number(&info->field, number(r), link);
		return info->attr;
	}
	return 0;
}

/* All that the kernel tells of every link. */
static void observe_link(struct link *link)
{
	link_begin(link, ~0U);
	link->has |= LINK_HAS_PROMOTE;
	link->up = true;
	link->mtu = 1500;
	link->owner = link_is_virtual(link) ? OWNER_OURS : OWNER_FOREIGN;
	link->group = link_is_virtual(link) ? NETCONF_PROTOCOL : 0;
	if (link->wireguard != NULL)
		link->wireguard->has = WIREGUARD_LISTEN_PORT | WIREGUARD_PEERS;
	for (enum bond_option option = 0; option < BOND_OPTIONS && link->bond != NULL; option++) {
		link->bond->has |= BOND_BIT(option);
		link->bond->values[option] = bond_options[option].initial;
	}
}

static void read_link(struct reader *r, enum link_kind kind)
{
	struct link *link = model_add_link(r->model, next(r), kind);
	unsigned position = 0;

	if (kind == LINK_BOND)
		link->bond = NEW0(struct bond);
	if (kind == LINK_WIREGUARD)
		link->wireguard = wireguard_new();
	if (kind == LINK_VLAN)
		link->vlan_protocol = LINK_VLAN_8021Q;
	if (r->observed)
		observe_link(link);
	for (const char *key = next(r); key[0] != '\0'; key = next(r)) {
		unsigned has = read_link_key(r, link, key);

		link->has |= has;
		if (has != 0 || read_bond_option(r, link, key) || read_wireguard(r, link, key))
			continue;
		if (strcmp(key, "foreign") != 0)
			stop(r, key);
		link->owner = OWNER_FOREIGN;
		link->group = 0;
	}
	/* The order in which they are written. */
	for (size_t i = 0; i + 1 < r->model->n_links; i++)
		position += strcmp(r->model->links[i].master, link->master) == 0;
	link->position = position;
}

/* --- addresses, routes, rules --- */

static void read_address(struct reader *r)
{
	char link[IFNAMSIZ];
	struct address *a;
	struct prefix at;
	bool adopted = false;

	name(r, link);
	at = prefix(r);
	a = model_add_address(r->model, link, &at);
	a->protocol = NETCONF_PROTOCOL;
	for (const char *key = next(r); key[0] != '\0'; key = next(r)) {
		if (strcmp(key, "metric") == 0)
			a->priority = number(r);
		else if (strcmp(key, "proto") == 0)
			a->protocol = (uint8_t) number(r);
		else if (strcmp(key, "valid") == 0)
			a->valid_s = a->preferred_s = number(r);
		else if (strcmp(key, "secondary") == 0)
			a->state |= IFA_F_SECONDARY;
		else if (strcmp(key, "noprefixroute") == 0)
			a->flags |= IFA_F_NOPREFIXROUTE;
		else if (strcmp(key, "adopted") == 0)
			adopted = true;
		else
			stop(r, key);
	}
	a->owner = adopted ? OWNER_OURS : owner_of(a->protocol);
}

static void read_route(struct reader *r)
{
	const struct prefix dst = prefix(r);
	struct route *route = model_add_route(r->model, &dst);
	bool adopted = false;

	route->protocol = NETCONF_PROTOCOL;
	for (const char *key = next(r); key[0] != '\0'; key = next(r)) {
		if (strcmp(key, "via") == 0)
			route->gateway = addr(r);
		else if (strcmp(key, "dev") == 0)
			name(r, route->link);
		else if (strcmp(key, "src") == 0)
			route->src = addr(r);
		else if (strcmp(key, "metric") == 0)
			route->metric = number(r);
		else if (strcmp(key, "table") == 0)
			route->table = number(r);
		else if (strcmp(key, "mtu") == 0)
			route->mtu = number(r);
		else if (strcmp(key, "proto") == 0)
			route->protocol = (uint8_t) number(r);
		else if (strcmp(key, "onlink") == 0)
			route->onlink = true;
		else if (strcmp(key, "adopted") == 0)
			adopted = true;
		else if (strcmp(key, "blackhole") == 0)
			route->type = RTN_BLACKHOLE;
		else
			stop(r, key);
	}
	route->owner = adopted ? OWNER_OURS : owner_of(route->protocol);
}

static void read_rule(struct reader *r)
{
	struct rule *rule = model_add_rule(r->model, AF_INET, number(r));

	rule->action = FR_ACT_TO_TBL;
	rule->protocol = NETCONF_PROTOCOL;
	for (const char *key = next(r); key[0] != '\0'; key = next(r)) {
		if (strcmp(key, "from") == 0)
			rule->src = prefix(r);
		else if (strcmp(key, "table") == 0)
			rule->table = number(r);
		else if (strcmp(key, "fwmark") == 0)
			rule->fwmark = number(r);
		else if (strcmp(key, "proto") == 0)
			rule->protocol = (uint8_t) number(r);
		else
			stop(r, key);
	}
	rule->owner = owner_of(rule->protocol);
}

static void read_line(struct reader *r, char *line)
{
	const char *word = strtok_r(line, " \t", &r->rest);

	if (word == NULL)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(word, kinds[i]) == 0) {
			read_link(r, (enum link_kind) i);
			return;
		}
	}
	if (strcmp(word, "address") == 0)
		read_address(r);
	else if (strcmp(word, "route") == 0)
		read_route(r);
	else if (strcmp(word, "rule") == 0)
		read_rule(r);
	else
		stop(r, word);
}

static struct model *read_model(const char *text, bool observed)
{
	AUTO(free) char *copy = xstrdup(text);
	struct reader r = {.model = model_new(), .observed = observed};
	char *rest = NULL;

	for (char *line = strtok_r(copy, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		AUTO(free) char *whole = xstrdup(line);

		r.line = whole;
		read_line(&r, line);
	}
	model_normalise(r.model);
	return r.model;
}

struct model *plancase_want(const char *text)
{
	return read_model(text, false);
}

struct model *plancase_have(const char *text)
{
	return read_model(text, true);
}

/* --- plans --- */

const char *plancase_text(const struct plan *plan)
{
	static char buf[64 * 1024];
	FILE *out = fmemopen(buf, sizeof(buf), "w");
	char text[OP_TEXT_MAX];

	buf[0] = '\0';
	for (size_t i = 0; i < plan->n_ops; i++)
		(void) fprintf(out, "%s %s\n", op_class_name(plan->ops[i].class),
		               op_format(&plan->ops[i], text));
	for (size_t i = 0; i < plan->n_obstacles; i++)
		(void) fprintf(out, "! %s\n", plan->obstacles[i].reason);
	for (size_t i = 0; i < plan->notes.n; i++)
		(void) fprintf(out, "# %s\n", plan->notes.items[i]);
	(void) fclose(out);
	return buf;
}

bool plancase_carry_out(struct fakekernel *k, const struct plan *plan, size_t n, const char *what)
{
	char text[OP_TEXT_MAX];

	for (size_t i = 0; i < n; i++) {
		enum op_class cost;
		int r = fakekernel_carry_out(k, &plan->ops[i], &cost);

		if (r == -EEXIST && plan->ops[i].is_restoring)
			r = 0;
		if (!CHECK_EQ_INT(r, 0) || !CHECK(cost <= plan->ops[i].class)) {
			(void) fprintf(stderr, "%s: %s, cost %s, in\n%s", what, op_format(&plan->ops[i], text),
			               op_class_name(cost), plancase_text(plan));
			return false;
		}
	}
	return true;
}

struct plan *plancase_apply(struct fakekernel *k, const struct model *want,
                            const struct plan_options *options, const char *what)
{
	AUTO(plan_free) struct plan *plan = NULL, *again = NULL;

	fakekernel_rest(k);
	plan = plan_make(want, fakekernel_observe(k), options);
	if (!plancase_carry_out(k, plan, plan->n_ops, what))
		return TAKE_PTR(plan);
	again = plan_make(want, fakekernel_observe(k), options);
	if (!CHECK_EQ_INT(again->n_ops, 0)) {
		(void) fprintf(stderr, "%s: the second plan\n%s", what, plancase_text(again));
		(void) fprintf(stderr, "%s: the first plan\n%s", what, plancase_text(plan));
	}
	return TAKE_PTR(plan);
}
