/* SPDX-License-Identifier: Apache-2.0 */
/* What undoing wants back of a network in which others have taken links away meanwhile. */
#include "netconf/plan/plan.h"

#include "base/macro.h"
#include "base/mem.h"
#include "check.h"

static struct link *add(struct model *model, const char *name, enum link_kind kind,
                        enum owner owner)
{
	struct link *link = model_add_link(model, name, kind);

	link->owner = owner;
	return link;
}

/* Two cards, a VLAN of ours on the first, a container's end, a bridge of ours. */
static struct model *before_model(void)
{
	struct model *model = model_new();
	struct link *vlan;

	(void) add(model, "eth0", LINK_PHYSICAL, OWNER_FOREIGN);
	(void) add(model, "eth1", LINK_PHYSICAL, OWNER_FOREIGN);
	(void) add(model, "cali1", LINK_VETH, OWNER_FOREIGN);
	(void) add(model, "br0", LINK_BRIDGE, OWNER_OURS);
	vlan = add(model, "eth0.5", LINK_VLAN, OWNER_OURS);
	(void) snprintf(vlan->parent, sizeof(vlan->parent), "eth0");
	model_normalise(model);
	return model;
}

static struct model *without(const struct model *before, const char *gone)
{
	struct model *have = model_copy(before);

	for (size_t i = have->n_links; i-- > 0;) {
		if (strcmp(have->links[i].name, gone) == 0)
			model_remove_link(have, i);
	}
	return have;
}

static struct plan *one_step(enum op_kind kind, const char *link)
{
	struct plan *plan = NEW0(struct plan);
	struct op *op = plan->ops = NEW0(struct op);

	plan->n_ops = plan->cap_ops = 1;
	op->kind = kind;
	if (kind >= OP_ADDRESS_ADD && kind <= OP_ADDRESS_DELETE)
		(void) snprintf(op->address.link, sizeof(op->address.link), "%s", link);
	else if (kind >= OP_ROUTE_ADD && kind <= OP_ROUTE_DELETE)
		(void) snprintf(op->route.link, sizeof(op->route.link), "%s", link);
	else
		(void) snprintf(op->link.name, sizeof(op->link.name), "%s", link);
	return plan;
}

int main(void)
{
	static const struct {
		const char *what;
		const char *gone;
		enum op_kind kind;
		const char *touched;
		const char *missing;
		bool is_wanted; /* the one that is gone */
	} cases[] = {
	    {"nothing is gone", "", OP_LINK_SET, "eth0", "", false},
	    {"a card whose settings were changed", "eth1", OP_LINK_SET, "eth1", "eth1", false},
	    {"a card whose address went", "eth1", OP_ADDRESS_DELETE, "eth1", "eth1", false},
	    {"a card whose route was replaced", "eth1", OP_ROUTE_REPLACE, "eth1", "eth1", false},
	    {"a card below a VLAN that was deleted", "eth0", OP_LINK_DELETE, "eth0.5", "eth0", false},
	    {"a card that has nothing to do with it", "eth1", OP_LINK_SET, "eth0", "", false},
	    {"a container's link", "cali1", OP_LINK_SET, "eth0", "", false},
	    {"a container's link on which we had an address", "cali1", OP_ADDRESS_ADD, "cali1", "",
	     false},
	    {"our own, which is made anew", "br0", OP_LINK_DELETE, "br0", "", true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(model_free) struct model *before = before_model();
		AUTO(model_free) struct model *have = without(before, cases[i].gone);
		AUTO(plan_free) struct plan *undone = one_step(cases[i].kind, cases[i].touched);
		char missing[IFNAMSIZ] = "unset";
		AUTO(model_free) struct model *want = wayback_make(before, undone, have, missing);
		bool is_wanted = model_find_link(want, cases[i].gone) != NULL;

		if (!CHECK_EQ_STR(missing, cases[i].missing) ||
		    !CHECK_EQ_INT(is_wanted, cases[i].is_wanted) ||
		    !CHECK_EQ_INT(want->n_links,
		                  before->n_links - (cases[i].gone[0] != '\0' && !cases[i].is_wanted)))
			(void) fprintf(stderr, "in: %s\n", cases[i].what);
	}
	return check_result();
}
