/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Talos's own documents, as far as they concern prism: the port of KubePrism and the name that its
 * clients verify, the control plane's endpoint, and the port of this node's API server. Each has a
 * place in the machine configuration and, in newer versions of Talos, a kind of its own; as there,
 * KubePrism may be described in one of the two.
 *
 * A machine configuration is pasted whole: everything else in it is passed over, also what a newer
 * Talos may add. Only the keys of KubePrism itself are ours alone.
 */
#include "prism/config_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/conf_check.h"
#include "base/mem.h"

#define READING(member) offsetof(struct config_reading, member)

static void set_port(struct conf *conf, const struct conf_field *field,
                     const struct conf_node *value, void *slot)
{
	struct kubeprism *kubeprism = slot;

	kubeprism->port_at = value;
	kubeprism->port_path = xstrdup(conf_path(conf));
	conf_set_unsigned(conf, field, value, &kubeprism->port);
}

/* Two documents may agree. */
static void set_endpoint(struct conf *conf, const struct conf_field *field UNUSED,
                         const struct conf_node *value, void *slot)
{
	struct written_host *endpoint = slot;
	const char *wrong, *hint = NULL;
	struct config_host host;

	if (!conf_expect(conf, value, CONF_SCALAR))
		return;
	wrong = config_parse_url(value->text, &host, &hint);
	if (wrong != NULL) {
		conf_error(conf, value, hint, "%s", wrong);
	} else if (endpoint->at == NULL) {
		*endpoint = (struct written_host){host, value, xstrdup(conf_path(conf))};
	} else if (strcmp(host.name, endpoint->host.name) != 0 || host.port != endpoint->host.port) {
		AUTO(free) char *origin = conf_origin(conf, endpoint->at);

		conf_error(conf, value, NULL, "differs from the endpoint at %s", origin);
	}
}

/* True if this is the first place that describes KubePrism. */
static bool is_first(struct conf *conf, const struct conf_node *at, struct kubeprism *kubeprism)
{
	AUTO(free) char *origin = NULL;

	if (kubeprism->at == NULL) {
		kubeprism->at = at;
		return true;
	}
	origin = conf_origin(conf, kubeprism->at);
	conf_error(conf, at, "there may be one", "KubePrism is here a second time, first at %s",
	           origin);
	return false;
}

/* --- kinds --- */

const struct conf_field config_kubeprism_fields[] = {
    CONF_READ("port", set_port, READING(kubeprism), .flags = CONF_REQUIRED, .min = 1,
              .max = UINT16_MAX),
    CONF_READ("tlsServerName", conf_set_string, READING(kubeprism.server_name),
              .check = conf_check_server_name),
    {0},
};

void config_read_kubeprism(struct conf *conf, const struct conf_node *document, void *userdata)
{
	struct config_reading *reading = userdata;

	if (!is_first(conf, document, &reading->kubeprism))
		return;
	reading->kubeprism.enabled = true;
	conf_read_map(conf, document, config_kubeprism_fields, reading);
}

const struct conf_field config_cluster_fields[] = {
    CONF_READ("endpoint", set_endpoint, READING(endpoint)),
    CONF_REST,
    {0},
};

const struct conf_field config_apiserver_fields[] = {
    CONF_READ("apiPort", conf_set_unsigned, READING(api_port), .min = 1, .max = UINT16_MAX),
    CONF_REST,
    {0},
};

/* --- the legacy document --- */

static const struct conf_field legacy_kubeprism_fields[] = {
    CONF_READ("enabled", conf_set_bool, READING(kubeprism.enabled)),
    CONF_READ("port", set_port, READING(kubeprism), .min = 1, .max = UINT16_MAX),
    {0},
};

static void set_kubeprism(struct conf *conf, const struct conf_field *field,
                          const struct conf_node *value, void *slot)
{
	struct config_reading *reading = slot;

	if (!conf_expect(conf, value, CONF_MAP) || conf_node_is_null(value) ||
	    !is_first(conf, value, &reading->kubeprism))
		return;
	reading->kubeprism.is_legacy = true;
	conf_read_map(conf, value, field->fields, reading);
}

static const struct conf_field features_fields[] = {
    CONF_READ("kubePrism", set_kubeprism, 0, .fields = legacy_kubeprism_fields),
    CONF_REST,
    {0},
};

static const struct conf_field machine_fields[] = {
    CONF_READ("features", conf_set_map, 0, .fields = features_fields),
    CONF_REST,
    {0},
};

static const struct conf_field control_plane_fields[] = {
    CONF_READ("endpoint", set_endpoint, READING(endpoint)),
    CONF_READ("localAPIServerPort", conf_set_unsigned, READING(api_port), .min = 1,
              .max = UINT16_MAX),
    CONF_REST,
    {0},
};

static const struct conf_field cluster_fields[] = {
    CONF_READ("controlPlane", conf_set_map, 0, .fields = control_plane_fields),
    CONF_REST,
    {0},
};

const struct conf_field config_legacy_fields[] = {
    CONF_READ("machine", conf_set_map, 0, .fields = machine_fields),
    CONF_READ("cluster", conf_set_map, 0, .fields = cluster_fields),
    {.key = "version", .flags = CONF_PASS}, /* conf_read() has looked at it */
    CONF_REST,
    {0},
};
