/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every API server keeps the endpoints of the service `kubernetes` up to date with its own address,
 * and takes itself out when it shuts down. A slice has addresses of one family and ports that all
 * of them share. `ready` that is absent means ready, by the API's own definition. The text comes
 * from the network: sizes are bounded by the caller's limit on it, and the number of endpoints by
 * ENDPOINTS_MAX; what has the wrong type counts for nothing.
 */
#include "prism/probe/slicelist.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/socket.h>

#include "prism/probe/found.h"

static bool is_tcp(const json_t *port)
{
	const char *protocol = json_string_value(json_object_get(port, "protocol"));

	return protocol == NULL || strcmp(protocol, "TCP") == 0;
}

/* The port that is named https, else the first; 0: none that is usable. */
static uint16_t port_of(const json_t *slice)
{
	const json_t *ports = json_object_get(slice, "ports");
	uint16_t first = 0;

	for (size_t i = 0; i < json_array_size(ports); i++) {
		const json_t *port = json_array_get(ports, i);
		const char *name = json_string_value(json_object_get(port, "name"));
		json_int_t number = json_integer_value(json_object_get(port, "port"));

		if (number < 1 || number > UINT16_MAX || !is_tcp(port))
			continue;
		if (name != NULL && strcmp(name, "https") == 0)
			return (uint16_t) number;
		if (first == 0)
			first = (uint16_t) number;
	}
	return first;
}

static sa_family_t family_of(const json_t *slice)
{
	const char *type = json_string_value(json_object_get(slice, "addressType"));

	if (type != NULL && strcmp(type, "IPv4") == 0)
		return AF_INET;
	if (type != NULL && strcmp(type, "IPv6") == 0)
		return AF_INET6;
	return AF_UNSPEC;
}

static void add_endpoint(const json_t *endpoint, sa_family_t family, uint16_t port,
                         struct endpoints_list *list)
{
	const json_t *conditions = json_object_get(endpoint, "conditions");
	const json_t *addresses = json_object_get(endpoint, "addresses");

	if (json_is_false(json_object_get(conditions, "ready")))
		return;
	for (size_t i = 0; i < json_array_size(addresses); i++) {
		const char *text = json_string_value(json_array_get(addresses, i));
		struct addr addr;

		if (text != NULL && addr_parse(text, &addr) == 0 && addr.family == family)
			(void) found_add_remote(list, &addr, port);
	}
}

static void add_slice(const json_t *slice, struct endpoints_list *list)
{
	const json_t *endpoints = json_object_get(slice, "endpoints");
	sa_family_t family = family_of(slice);
	uint16_t port = port_of(slice);

	if (family == AF_UNSPEC || port == 0)
		return;
	for (size_t i = 0; i < json_array_size(endpoints); i++)
		add_endpoint(json_array_get(endpoints, i), family, port, list);
}

int slicelist_parse(const char *text, size_t len, struct endpoints_list *ret_list,
                    const char **ret_error)
{
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	const json_t *items = json_object_get(root, "items");
	struct endpoints_list list = {.n = 0};

	for (size_t i = 0; i < json_array_size(items); i++)
		add_slice(json_array_get(items, i), &list);
	if (root == NULL)
		*ret_error = "the answer is not JSON";
	else if (!json_is_array(items))
		*ret_error = "the answer is not a list of EndpointSlices";
	else if (list.n == 0)
		*ret_error = "no API server is in the EndpointSlices";
	json_decref(root);
	if (list.n == 0)
		return -EBADMSG;
	*ret_list = list;
	return 0;
}
