/* SPDX-License-Identifier: Apache-2.0 */
/* What was found and is gone leaves what is wanted back. */
#include "netconf/change/wayback.h"

#include <string.h>

/* On which link a step is; "": on none. */
static const char *link_of(const struct op *op)
{
	if (op->kind >= OP_ADDRESS_ADD && op->kind <= OP_ADDRESS_DELETE)
		return op->address.link;
	if (op->kind >= OP_ROUTE_ADD && op->kind <= OP_ROUTE_DELETE)
		return op->route.link;
	return op->link.name;
}

static bool is_touched(const struct plan *undone, const char *name)
{
	for (size_t i = 0; i < undone->n_ops; i++) {
		if (strcmp(link_of(&undone->ops[i]), name) == 0)
			return true;
	}
	return false;
}

static bool is_on(const struct model *before, const struct link *link, const char *name)
{
	for (size_t i = 0; link != NULL && i < before->n_links; i++) {
		if (strcmp(link->name, name) == 0)
			return true;
		link = link->kind == LINK_VLAN ? model_find_link(before, link->parent) : NULL;
	}
	return false;
}

/* By a step on it, or on a VLAN above it. */
static bool is_needed(const struct model *before, const struct plan *undone, const char *name)
{
	for (size_t i = 0; i < before->n_links; i++) {
		const struct link *link = &before->links[i];

		if (is_touched(undone, link->name) && is_on(before, link, name))
			return true;
	}
	return false;
}

struct model *wayback_make(const struct model *before, const struct plan *undone,
                           const struct model *have, char ret_missing[static IFNAMSIZ])
{
	struct model *want = model_copy(before);

	ret_missing[0] = '\0';
	for (size_t i = want->n_links; i-- > 0;) {
		const struct link *link = &want->links[i];

		if (link->owner == OWNER_OURS || model_find_link(have, link->name) != NULL)
			continue;
		if (!link_is_virtual(link) && is_needed(before, undone, link->name))
			memcpy(ret_missing, link->name, IFNAMSIZ);
		model_remove_link(want, i);
	}
	return want;
}
