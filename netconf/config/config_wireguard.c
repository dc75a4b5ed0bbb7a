/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WireGuard links in either style, which name the same things alike. A key stands in the file, as
 * with Talos, or in a file of its own (privateKeyFile, presharedKeyFile); it appears in no message.
 */
#include <stdlib.h>
#include <string.h>

#include "base/conf_check.h"
#include "base/fileio.h"
#include "base/mono.h"
#include "netconf/config/config_priv.h"

#define KEEPALIVE_MAX_S UINT16_MAX

static struct wireguard *wireguard_of(struct link_draft *draft)
{
	if (draft->link.want.wireguard == NULL)
		draft->link.want.wireguard = wireguard_new();
	return draft->link.want.wireguard;
}

/* --- keys --- */

enum key_result {
	KEY_WRONG,
	KEY_READ,
	KEY_HIDDEN,
};

/* Reports without the value. The hidden one's node has no secret in it. */
static enum key_result read_secret_key(struct conf *conf, const struct conf_node *value,
                                       struct wireguard_key *ret_key)
{
	const struct conf_node place = {
	    .shape = CONF_LIST, .file = value->file, .line = value->line, .col = value->col};

	if (value->shape == CONF_SCALAR && strcmp(value->text, CONFIG_HIDDEN) == 0) {
		conf_note(conf, value, NULL,
		          "stands for a key that is not in this file; a link that has one keeps it");
		return KEY_HIDDEN;
	}
	if (value->shape != CONF_SCALAR || conf_node_is_null(value))
		conf_error(conf, &place, NULL, "must be a key");
	else if (wireguard_key_parse(value->text, ret_key) == 0)
		return KEY_READ;
	else
		conf_error(conf, &place, "32 bytes in base64, as 'wg genkey' prints", "is not a key");
	return KEY_WRONG;
}

static void set_private_key(struct conf *conf, const struct conf_field *field UNUSED,
                            const struct conf_node *value, void *slot)
{
	struct link_draft *draft = slot;
	struct wireguard *wireguard = wireguard_of(draft);
	enum key_result result = read_secret_key(conf, value, &wireguard->private_key);

	if (result == KEY_READ)
		wireguard->has |= WIREGUARD_PRIVATE_KEY;
	if (result == KEY_HIDDEN)
		draft->link.has_hidden_keys = true;
}

static void set_private_key_file(struct conf *conf, const struct conf_field *field,
                                 const struct conf_node *value, void *slot)
{
	struct wireguard *wireguard = wireguard_of(slot);

	conf_set_string(conf, field, value, &wireguard->private_key_file);
	wireguard->has |= WIREGUARD_PRIVATE_KEY;
}

/* --- peers --- */

struct peer_draft {
	struct wireguard_peer peer;
	const struct conf_node *key_at, *file_at;
	bool has_key, is_hidden;
};

#define PEER(member) offsetof(struct peer_draft, member)

static void set_public_key(struct conf *conf, const struct conf_field *field UNUSED,
                           const struct conf_node *value, void *slot)
{
	struct peer_draft *draft = slot;

	if (!conf_expect(conf, value, CONF_SCALAR))
		return;
	if (wireguard_key_parse(value->text, &draft->peer.public_key) < 0)
		conf_error(conf, value, "32 bytes in base64, as 'wg pubkey' prints", "is not a key");
	else
		draft->has_key = true;
}

static void set_preshared_key(struct conf *conf, const struct conf_field *field UNUSED,
                              const struct conf_node *value, void *slot)
{
	struct peer_draft *draft = slot;
	enum key_result result = read_secret_key(conf, value, &draft->peer.preshared_key);

	draft->key_at = value;
	draft->peer.has_preshared_key = result != KEY_WRONG;
	draft->is_hidden = result == KEY_HIDDEN;
}

static void set_preshared_key_file(struct conf *conf, const struct conf_field *field,
                                   const struct conf_node *value, void *slot)
{
	struct peer_draft *draft = slot;

	draft->file_at = value;
	conf_set_string(conf, field, value, &draft->peer.preshared_key_file);
	draft->peer.has_preshared_key = true;
}

static void set_endpoint(struct conf *conf, const struct conf_field *field UNUSED,
                         const struct conf_node *value, void *slot)
{
	struct peer_draft *draft = slot;

	if (!conf_expect(conf, value, CONF_SCALAR))
		return;
	if (endpoint_parse(value->text, 0, &draft->peer.endpoint) < 0)
		conf_error(conf, value, "such as 10.0.0.1:51820 or [fd00::1]:51820",
		           "is not an address with a port");
}

static void set_keepalive(struct conf *conf, const struct conf_field *field UNUSED,
                          const struct conf_node *value, void *slot)
{
	static const struct conf_field range = {.min = 0, .max = KEEPALIVE_MAX_S * US_PER_S};
	struct peer_draft *draft = slot;
	int64_t us = 0;

	conf_set_duration(conf, &range, value, &us);
	if (us % US_PER_S != 0)
		conf_error(conf, value, NULL, "must be whole seconds");
	draft->peer.keepalive_s = (uint16_t) (us / US_PER_S);
}

/* A bare address is a host, as wg(8) has it. */
static void read_allowed(struct conf *conf, const struct conf_node *item, void *userdata)
{
	struct peer_draft *draft = userdata;
	struct prefix prefix = {0};

	if (!conf_expect(conf, item, CONF_SCALAR))
		return;
	if (strchr(item->text, '/') == NULL && prefix_parse(item->text, &prefix) >= 0) {
		wireguard_peer_allow(&draft->peer, &prefix);
		return;
	}
	config_set_network(conf, NULL, item, &prefix);
	if (addr_is_set(&prefix.addr))
		wireguard_peer_allow(&draft->peer, &prefix);
}

static void set_allowed(struct conf *conf, const struct conf_field *field UNUSED,
                        const struct conf_node *value, void *slot)
{
	conf_read_list(conf, value, WIREGUARD_ALLOWED_MAX, read_allowed, slot);
}

static const struct conf_field peer_fields[] = {
    {.key = "publicKey", .set = set_public_key, .flags = CONF_REQUIRED},
    {.key = "presharedKey", .set = set_preshared_key},
    {.key = "presharedKeyFile",
     .set = set_preshared_key_file,
     .check = conf_check_file,
     .flags = CONF_SECRET},
    {.key = "endpoint", .set = set_endpoint},
    {.key = "persistentKeepaliveInterval", .set = set_keepalive},
    {.key = "allowedIPs", .set = set_allowed},
    {0},
};

static void read_peer(struct conf *conf, const struct conf_node *item, void *userdata)
{
	struct link_draft *link = userdata;
	struct wireguard *wireguard = wireguard_of(link);
	struct peer_draft draft = {0};

	conf_read_map(conf, item, peer_fields, &draft);
	if (draft.key_at != NULL && draft.file_at != NULL)
		conf_error(conf, draft.file_at, NULL,
		           "'presharedKey' and 'presharedKeyFile' exclude each other");
	if (draft.has_key && wireguard_find_peer(wireguard, &draft.peer.public_key) != NULL)
		conf_error(conf, conf_node_find(item, "publicKey"), NULL, "is the key of two peers");
	link->link.has_hidden_keys = link->link.has_hidden_keys || draft.is_hidden;
	*wireguard_add_peer(wireguard) = draft.peer;
	explicit_bzero(&draft, sizeof(draft));
}

static void set_peers(struct conf *conf, const struct conf_field *field UNUSED,
                      const struct conf_node *value, void *slot)
{
	wireguard_of(slot)->has |= WIREGUARD_PEERS;
	conf_read_list(conf, value, WIREGUARD_PEERS_MAX, read_peer, slot);
}

/* --- the link --- */

static void set_port(struct conf *conf, const struct conf_field *field UNUSED,
                     const struct conf_node *value, void *slot)
{
	struct wireguard *wireguard = wireguard_of(slot);
	uint32_t port;

	if (!config_read_u32(conf, value, 1, UINT16_MAX, &port))
		return;
	wireguard->listen_port = (uint16_t) port;
	wireguard->has |= WIREGUARD_LISTEN_PORT;
}

static void set_mark(struct conf *conf, const struct conf_field *field,
                     const struct conf_node *value, void *slot)
{
	struct wireguard *wireguard = wireguard_of(slot);

	config_set_mark(conf, field, value, &wireguard->fwmark);
	wireguard->has |= WIREGUARD_FWMARK;
}

#define WIREGUARD_FIELDS                                                                  \
	{.key = "privateKey", .set = set_private_key},                                        \
	    {.key = "privateKeyFile",                                                         \
	     .set = set_private_key_file,                                                     \
	     .check = conf_check_file,                                                        \
	     .flags = CONF_SECRET},                                                           \
	    {.key = "listenPort", .set = set_port}, {.key = "firewallMark", .set = set_mark}, \
	{                                                                                     \
		.key = "peers", .set = set_peers, .fields = peer_fields                           \
	}

const struct conf_field config_legacy_wireguard_fields[] = {
    WIREGUARD_FIELDS,
    {0},
};

struct conf_field config_wireguard_fields[CONFIG_LINK_FIELDS_MAX] = {
    {.key = "name",
     .set = conf_set_string,
     .offset = offsetof(struct link_draft, link.ref.name),
     .flags = CONF_REQUIRED,
     .check = config_check_name},
    WIREGUARD_FIELDS,
    CONFIG_LINK_FIELDS,
    {0},
};

/* Every peer is ours, also where none is written. */
void config_check_wireguard(struct link_draft *draft, const struct conf_node *map)
{
	struct wireguard *wireguard = wireguard_of(draft);
	const struct conf_node *key = conf_node_find(map, "privateKey");
	const struct conf_node *file = conf_node_find(map, "privateKeyFile");

	wireguard->has |= WIREGUARD_PEERS;
	if (map->shape != CONF_MAP)
		return;
	if (key == NULL && file == NULL)
		conf_error(draft->reading->conf, map, "'privateKey' or 'privateKeyFile'",
		           "has no private key");
	if (key != NULL && file != NULL)
		conf_error(draft->reading->conf, file, NULL,
		           "'privateKey' and 'privateKeyFile' exclude each other");
	wireguard_normalise(wireguard);
}

void config_read_wireguard(struct conf *conf, const struct conf_node *document, void *userdata)
{
	struct link_draft draft;

	config_link_draft_init(&draft, userdata, LINK_WIREGUARD, document);
	conf_read_map(conf, document, config_wireguard_fields, &draft);
	config_check_wireguard(&draft, document);
	config_link_draft_finish(&draft);
}

/* --- keys in files --- */

/* Key files: read, and wiped behind. */

#define FILE_MAX_BYTES 256

static int read_key(const char *path, struct wireguard_key *ret_key)
{
	char *text = NULL;
	size_t len;
	int r = file_read(path, FILE_MAX_BYTES, &text, &len);

	if (r < 0)
		return r;
	text[strcspn(text, " \t\r\n")] = '\0';
	r = wireguard_key_parse(text, ret_key);
	explicit_bzero(text, len);
	free(text);
	return r;
}

/* It goes on with the key that it has on the link; without that key it is none that anybody wants.
 */
static void keep_peer(struct wireguard *wireguard, size_t i, const struct wireguard *have)
{
	struct wireguard_peer *peer = &wireguard->peers[i];
	const struct wireguard_peer *old =
	    have != NULL ? wireguard_find_peer(have, &peer->public_key) : NULL;

	if (old == NULL) {
		wireguard_remove_peer(wireguard, i);
		return;
	}
	peer->has_preshared_key = old->has_preshared_key;
	peer->preshared_key = old->preshared_key;
}

void wireguard_read_keys(struct wireguard *wireguard, const struct wireguard *have,
                         wireguard_unread_fn unread, void *userdata)
{
	int r;

	if (wireguard->private_key_file != NULL) {
		r = read_key(wireguard->private_key_file, &wireguard->private_key);
		if (r < 0) {
			wireguard->has &= ~(unsigned) WIREGUARD_PRIVATE_KEY;
			unread(wireguard->private_key_file, r, userdata);
		}
	}
	for (size_t i = wireguard->n_peers; i-- > 0;) {
		struct wireguard_peer *peer = &wireguard->peers[i];

		if (peer->preshared_key_file == NULL)
			continue;
		r = read_key(peer->preshared_key_file, &peer->preshared_key);
		peer->has_preshared_key = r == 0;
		if (r < 0) {
			unread(peer->preshared_key_file, r, userdata);
			keep_peer(wireguard, i, have);
		}
	}
	wireguard_normalise(wireguard);
}
