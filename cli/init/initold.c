/* SPDX-License-Identifier: Apache-2.0 */
/* Only looks: whether the file is right as a whole does not matter where it is to go. */
#include "cli/init/initold.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/conf.h"

static const struct conf_node *step(const struct conf_node *map, const char *key)
{
	return map != NULL && map->shape == CONF_MAP ? conf_node_find(map, key) : NULL;
}

static void add(struct texts *vips, const struct conf_node *name)
{
	if (name != NULL && name->shape == CONF_SCALAR && !conf_node_is_null(name))
		texts_add(vips, "%s", name->text);
}

static void add_interface(struct texts *vips, const struct conf_node *interface)
{
	const struct conf_node *vlans = step(interface, "vlans");

	add(vips, step(step(interface, "vip"), "ip"));
	for (size_t i = 0; vlans != NULL && vlans->shape == CONF_LIST && i < vlans->n; i++)
		add(vips, step(step(vlans->values[i], "vip"), "ip"));
}

static void add_document(struct texts *vips, const struct conf_node *document)
{
	const struct conf_node *kind = step(document, "kind");
	const struct conf_node *list = step(step(step(document, "machine"), "network"), "interfaces");

	for (size_t i = 0; list != NULL && list->shape == CONF_LIST && i < list->n; i++)
		add_interface(vips, list->values[i]);
	if (kind != NULL && kind->shape == CONF_SCALAR &&
	    (strcmp(kind->text, "Layer2VIPConfig") == 0 || strcmp(kind->text, "HCloudVIPConfig") == 0))
		add(vips, step(document, "name"));
}

void initold_vips(const char *path, struct texts *ret_vips)
{
	AUTO(conf_free) struct conf *conf = conf_new();
	const struct conf_node *document;

	conf_add_path(conf, path);
	for (size_t i = 0; (document = conf_document(conf, i)) != NULL; i++)
		add_document(ret_vips, document);
}
