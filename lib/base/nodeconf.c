/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name of the node and the ports for metrics. A NodeConfig is taken at its word; a host name,
 * whoever gave it, is turned into lower case first, as the kubelet does with the name of its node.
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

/* Nobody is asked who they are, so it is for this machine alone. */
static void set_port(struct conf *conf, const struct conf_field *field UNUSED,
                     const struct conf_node *value, void *slot)
{
	static const char hint[] = "such as \"127.0.0.1:9650\" or \"[::1]:9650\"";
	struct endpoint at;

	if (!conf_expect(conf, value, CONF_SCALAR))
		return;
	if (endpoint_parse(value->text, 0, &at) < 0)
		conf_error(conf, value, hint, "is not an address with a port");
	else if (!addr_is_loopback(&at.addr))
		conf_error(conf, value, hint, "is not an address of this machine alone");
	else
		*(struct endpoint *) slot = at;
}

static bool has_port(const void *slot)
{
	const struct endpoint *metrics = slot;

	for (size_t i = 0; i < NODECONF_N_DAEMONS; i++) {
		if (addr_is_set(&metrics[i].addr))
			return true;
	}
	return false;
}

#define PORT(key, daemon)                                                      \
	[NODECONF_##daemon] = CONF_ROW(                                            \
	    key, conf_endpoint, sizeof(struct endpoint) * NODECONF_##daemon, NULL, \
	    "Where " key " gives them.", .word = "loopback address with port", .set = set_port)
static const struct conf_field metrics_fields[] = {
    PORT("vipd", VIPD),       PORT("prism", PRISM),       PORT("etcdwatch", ETCDWATCH),
    PORT("netconf", NETCONF), [NODECONF_N_DAEMONS] = {0},
};

#define NODE(member) offsetof(struct nodeconf, member)
const struct conf_field nodeconf_fields[] = {
    CONF_ROW("name", conf_text, NODE(name), NULL,
             "The name of this node in the race for VIPs and among those who take snapshots: "
             "unique, and best the name of its Kubernetes node. Without it: the host name of a "
             "Talos document, else that of the machine, in lower case.",
             .word = "lower-case letters, digits, `-` and `.`, 63 characters",
             .def_word = "the host name", .check = check_name, .size = NODECONF_NAME_MAX + 1),
    CONF_ROW("metrics", conf_map, NODE(metrics), NULL,
             "Where on this machine the daemons give their metrics besides their control sockets: "
             "`/metrics`, for a scraper here ([control.md](control.md)). An address of "
             "`127.0.0.0/8` or `[::1]` alone, since nothing is asked of who connects; each a port "
             "of its own. One that another program has is tried again every 5 s.",
             .fields = metrics_fields, .is_set = has_port),
    {0},
};

const struct conf_field nodeconf_hostname_fields[] = {
    CONF_READ("hostname", nodeconf_set_hostname, 0),
    {.key = "auto", .flags = CONF_PASS},
    {0},
};

void nodeconf_refuse_port(const struct nodeconf *node, struct conf *conf,
                          enum nodeconf_daemon daemon, const char *what, const char *by)
{
	const char *key = metrics_fields[daemon].key;
	size_t before =
	    conf_enter(conf, "%smetrics.%s", conf_path(conf)[0] == '\0' ? "NodeConfig." : "", key);

	conf_error(conf, conf_node_find(conf_node_find(node->document, "metrics"), key),
	           "each needs a port of its own", "%s %s", what, by);
	conf_leave(conf, before);
}

static void check_ports(const struct nodeconf *node, struct conf *conf)
{
	for (enum nodeconf_daemon i = 1; i < NODECONF_N_DAEMONS; i++) {
		for (enum nodeconf_daemon j = 0; j < i; j++) {
			if (addr_is_set(&node->metrics[i].addr) &&
			    endpoint_equal(&node->metrics[i], &node->metrics[j]))
				nodeconf_refuse_port(node, conf, i, "is there already, for", metrics_fields[j].key);
		}
	}
}

void nodeconf_read(struct nodeconf *node, struct conf *conf, const struct conf_node *document)
{
	if (!conf_is_only_one(conf, document, &node->document))
		return;
	conf_read_map(conf, document, nodeconf_fields, node);
	check_ports(node, conf);
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

	if (node->name[0] != '\0')
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

static void read_node_only(struct conf *conf, const struct conf_node *document, void *userdata)
{
	nodeconf_read(userdata, conf, document);
}

int nodeconf_load(const char *const *paths, size_t n_paths, conf_message_fn error, void *userdata,
                  struct nodeconf *ret_node)
{
	static const struct conf_kind kinds[] = {{"NodeConfig", nodeconf_fields, read_node_only}, {0}};
	AUTO(conf_free) struct conf *conf = conf_new();
	struct nodeconf node = {0};
	int r;

	conf_add_paths(conf, paths, n_paths);
	conf_read(conf, kinds, &node);
	r = conf_finish(conf, error, userdata, NULL);
	node.document = NULL;
	if (r == 0)
		*ret_node = node;
	return r;
}

void nodeconf_print(const char *name, enum nodeconf_daemon daemon, const struct endpoint *metrics,
                    FILE *out)
{
	struct nodeconf node = {0};

	if (name == NULL && !addr_is_set(&metrics->addr))
		return;
	if (name != NULL)
		(void) snprintf(node.name, sizeof(node.name), "%s", name);
	node.metrics[daemon] = *metrics;
	conf_print_header(out, CONF_API_FAIRLEAD, "NodeConfig");
	conf_print(nodeconf_fields, &node, "", out);
}
