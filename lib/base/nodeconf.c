/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name of the node. A NodeConfig is taken at its word; a host name, whoever gave it, is turned
 * into lower case first, as the kubelet does with the name of its node.
 */
#include "base/nodeconf.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/conf_check.h"
#include "base/mem.h"

static const char *check_name(const char *text, char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                              const char **ret_hint)
{
	if (strlen(text) > NODECONF_NAME_MAX)
		return "is longer than 63 characters";
	if (conf_has_upper_case(text)) {
		*ret_hint = "write it in lower case";
		return "has upper-case letters";
	}
	if (!conf_is_dns_name(text)) {
		*ret_hint = "lower-case letters, digits, '-' and '.' inside";
		return "is not a node name";
	}
	return NULL;
}

const struct conf_field nodeconf_fields[] = {
    {.key = "name",
     .set = conf_set_text,
     .offset = offsetof(struct nodeconf, name),
     .flags = CONF_REQUIRED,
     .check = check_name,
     .size = NODECONF_NAME_MAX + 1},
    {0},
};

const struct conf_field nodeconf_hostname_fields[] = {
    {.key = "hostname", .set = nodeconf_set_hostname},
    {.key = "auto", .flags = CONF_PASS},
    {0},
};

void nodeconf_read(struct nodeconf *node, struct conf *conf, const struct conf_node *document)
{
	if (conf_is_only_one(conf, document, &node->document))
		conf_read_map(conf, document, nodeconf_fields, node);
}

void nodeconf_read_hostname(struct nodeconf *node, struct conf *conf,
                            const struct conf_node *document)
{
	conf_read_map(conf, document, nodeconf_hostname_fields, node);
}

/* Looked at when it is known whether a NodeConfig comes first. Two documents may agree. */
void nodeconf_set_hostname(struct conf *conf, const struct conf_field *field UNUSED,
                           const struct conf_node *value, void *slot)
{
	struct nodeconf *node = slot;
	AUTO(free) char *origin = NULL;

	if (!conf_expect(conf, value, CONF_SCALAR))
		return;
	if (node->hostname == NULL) {
		node->hostname = value;
		node->hostname_path = xstrdup(conf_path(conf));
	} else if (strcmp(node->hostname->text, value->text) != 0) {
		origin = conf_origin(conf, node->hostname);
		conf_error(conf, value, NULL, "differs from the host name at %s", origin);
	}
}

static void take_name(struct nodeconf *node, struct conf *conf, const struct conf_node *at,
                      const char *name)
{
	AUTO(free) char *lower = xstrdup(name);
	char scratch[CONF_SCRATCH_BYTES];
	const char *hint = NULL, *wrong;

	for (char *p = lower; *p != '\0'; p++)
		*p = (char) tolower((unsigned char) *p);
	wrong = check_name(lower, scratch, &hint);
	if (lower[0] == '\0')
		wrong = "is empty";
	if (wrong == NULL)
		memcpy(node->name, lower, strlen(lower) + 1);
	else if (at != NULL)
		conf_error(conf, at, hint, "%s", wrong);
	else
		conf_error(conf, NULL, "give it one with NodeConfig", "the host's name '%s' %s", name,
		           wrong);
}

void nodeconf_resolve(struct nodeconf *node, struct conf *conf, const char *hostname)
{
	char buf[HOST_NAME_MAX + 1] = "";

	if (node->document != NULL)
		return;
	if (node->hostname != NULL) {
		size_t before = conf_enter(conf, "%s", node->hostname_path);

		take_name(node, conf, node->hostname, node->hostname->text);
		conf_leave(conf, before);
		return;
	}
	if (hostname == NULL) {
		(void) gethostname(buf, sizeof(buf) - 1);
		hostname = buf;
	}
	take_name(node, conf, NULL, hostname);
}

void nodeconf_fini(struct nodeconf *node)
{
	free(node->hostname_path);
	node->hostname_path = NULL;
}

void nodeconf_print(const char *name, FILE *out)
{
	conf_print_header(out, CONF_API_FAIRLEAD, "NodeConfig");
	conf_print_string(out, "name", name);
}
