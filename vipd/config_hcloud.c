/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hetzner Cloud's part of a VIP: Talos's HCloudVIPConfig and the `hcloud` of a legacy `vip`, with
 * keys of our own for what Talos has no word for. The token is never printed.
 */
#include "vipd/config_priv.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/conf_check.h"
#include "base/mem.h"

#define DEFAULT_ENDPOINT "https://api.hetzner.cloud/v1"
#define DEFAULT_METADATA "http://169.254.169.254/hetzner/v1/metadata/instance-id"

/* --- values --- */

static const char *check_endpoint(const char *text, char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                                  const char **ret_hint)
{
	struct conf_url url;
	const char *wrong;

	*ret_hint = "such as " DEFAULT_ENDPOINT;
	wrong = conf_parse_url(text, &url);
	if (wrong != NULL)
		return wrong;
	if (!url.https)
		return "must be https://, because the token goes there";
	if (strpbrk(url.rest, "?#") != NULL)
		return "has a query or a fragment";
	if (text[strlen(text) - 1] == '/')
		return "ends in '/'";
	return NULL;
}

static const char *check_metadata(const char *text, char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                                  const char **ret_hint)
{
	struct conf_url url;
	const char *wrong;

	*ret_hint = "such as " DEFAULT_METADATA;
	wrong = conf_parse_url(text, &url);
	if (wrong == NULL && !url.is_address)
		wrong = "has a host name, and must have an address";
	return wrong;
}

/* The API's ids are larger than an int. */
static void set_id(struct conf *conf, const struct conf_field *field UNUSED,
                   const struct conf_node *value, void *slot)
{
	int64_t id;

	if (!conf_expect(conf, value, CONF_SCALAR))
		return;
	if (conf_parse_int(value->text, &id) < 0 || id <= 0)
		conf_error(conf, value, NULL, "is no id of a server");
	else
		*(int64_t *) slot = id;
}

#define HCLOUD(member) offsetof(struct config_hcloud, member)
#define HCLOUD_FIELDS                                                                              \
	CONF_ROW("apiToken", conf_hidden, HCLOUD(api_token), NULL,                                     \
	         "The API's token, to read and write. Whoever may read the configuration has it, and " \
	         "a note says so.",                                                                    \
	         .def_word = "this or `apiTokenFile`", .flags = CONF_SECRET),                          \
	    CONF_ROW("apiTokenFile", conf_string, HCLOUD(api_token_file), NULL,                        \
	             "Holds the token and nothing else; others may not read it. It is read whenever "  \
	             "it is used, so it may change in place.",                                         \
	             .def_word = "this or `apiToken`", .flags = CONF_SECRET,                           \
	             .check = conf_check_file),                                                        \
	    CONF_ROW("serverID", conf_int64, HCLOUD(server_id), NULL, "This server's id at Hetzner.",  \
	             .word = "whole number", .def_word = "asked of `metadata`",                        \
	             .flags = CONF_ZERO_IS_NONE, .set = set_id),                                       \
	    CONF_ROW("endpoint", conf_string, HCLOUD(endpoint), DEFAULT_ENDPOINT, "Where the API is.", \
	             .word = "`https://` URL", .check = check_endpoint),                               \
	    CONF_ROW("caFile", conf_string, HCLOUD(ca_file), NULL, "Verifies it.",                     \
	             .def_word = "the system's", .check = conf_check_file),                            \
	    CONF_ROW("metadata", conf_string, HCLOUD(metadata), DEFAULT_METADATA,                      \
	             "Answers with this server's id.", .word = "URL with an address as host",          \
	             .check = check_metadata)

const struct conf_field config_hcloud_fields[] = {HCLOUD_FIELDS, {0}};

/* --- ranges --- */

/* Of RFC 4193 are alias IPs, which go singly. */
bool config_hcloud_is_range(const struct addr *vip)
{
	return vip->family == AF_INET6 && (vip->bytes[0] & 0xfe) != 0xfc;
}

bool config_hcloud_same_range(const struct addr *a, const struct addr *b)
{
	return memcmp(a->bytes, b->bytes, 64 / 8) == 0;
}

/* --- life --- */

static struct config_hcloud *hcloud_new(void)
{
	struct config_hcloud *hcloud = NEW0(struct config_hcloud);

	conf_set_defaults(config_hcloud_fields, hcloud);
	return hcloud;
}

void config_hcloud_free(struct config_hcloud *hcloud)
{
	if (hcloud == NULL)
		return;
	conf_fini(config_hcloud_fields, hcloud);
	free(hcloud);
}

/* --- reading --- */

static void check_token(struct conf *conf, const struct conf_node *at,
                        const struct config_hcloud *hcloud)
{
	const struct conf_node *token = conf_node_find(at, "apiToken");
	const struct conf_node *file = conf_node_find(at, "apiTokenFile");

	if (token == NULL && file == NULL)
		conf_error(conf, at, "the name of a file that holds it", "needs 'apiTokenFile'");
	else if (token != NULL && file != NULL)
		conf_error(conf, at, NULL, "'apiToken' and 'apiTokenFile' exclude each other");
	else if (hcloud->api_token != NULL)
		conf_note(conf, at, "'apiTokenFile' names a file that nobody else may read",
		          "whoever may read this file has the token of the project");
}

/* The `hcloud` of a legacy VIP. */
void config_set_hcloud(struct conf *conf, const struct conf_field *field,
                       const struct conf_node *value, void *slot)
{
	struct config_hcloud **hcloud = slot;

	*hcloud = hcloud_new();
	conf_read_map(conf, value, field->fields, *hcloud);
	check_token(conf, value, *hcloud);
}

/* Its first member, so that both tables have the same offsets. */
struct hcloud_document {
	struct config_hcloud hcloud;
	struct legacy_vip vip;
	char link[IFNAMSIZ];
};

const struct conf_field config_hcloud_document_fields[] = {
    CONF_ROW("name", conf_addr, offsetof(struct hcloud_document, vip), NULL,
             "As that of a Layer2VIPConfig. Of a floating IPv6 range, one address in it.",
             .set = config_set_vip, .flags = CONF_REQUIRED),
    CONF_ROW("link", conf_text, offsetof(struct hcloud_document, link), NULL,
             "The link that the packets come in by.", .word = "link name, 15 characters",
             .flags = CONF_REQUIRED, .check = config_check_link, .size = IFNAMSIZ),
    HCLOUD_FIELDS,
    {0},
};

void config_read_hcloud(struct conf *conf, const struct conf_node *document, void *userdata)
{
	AUTO(config_hcloud_free) struct config_hcloud *hcloud = hcloud_new();
	struct hcloud_document read = {.hcloud = *hcloud};
	size_t before;

	conf_read_map(conf, document, config_hcloud_document_fields, &read);
	*hcloud = read.hcloud;
	check_token(conf, document, hcloud);
	before = conf_enter(conf, "name");
	if (addr_is_set(&read.vip.addr))
		config_add_vip(userdata, &read.vip, read.link, TAKE_PTR(hcloud));
	conf_leave(conf, before);
}
