/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the config_*.c files share: the state of one reading, between the documents and the finished
 * struct config. Nobody else includes this, save tests that walk the tables.
 */

#include <sys/types.h>

#include "base/nodeconf.h"
#include "netconf/config/config.h"

/* What config_print() writes in the place of a secret. */
#define CONFIG_HIDDEN "<hidden>"

#define CONFIG_MTU_MIN_IPV6 1280 /* RFC 8200, section 5 */

/* Where something was written, for checks that come when all is known. */
struct place {
	const struct conf_node *at;
	char *path;
};

/* By the index of a config_link, and in it by that of its addresses, routes and ports. */
struct link_place {
	struct place self;
	struct place *addresses, *routes, *ports;
};

/* `bridgePort`: a port that names its bridge. */
struct bridge_port {
	struct config_ref ref;
	char master[IFNAMSIZ];
	struct place place;
};

struct config_reading {
	struct conf *conf;
	char origin_text[MODEL_ORIGIN_TEXT_MAX];
	struct config config;     /* being filled */
	struct link_place *links; /* beside config.links */
	struct place *dhcps;      /* beside config.dhcps */
	struct place *blackholes; /* beside config.common->routes */
	struct bridge_port *bridge_ports;
	size_t n_bridge_ports;
	struct nodeconf node;
	const struct conf_node *policy, *hostname, *resolver, *time; /* documents; NULL: none yet */
	const struct conf_node *legacy_hostname, *legacy_resolver, *legacy_time;
};

/* One link being read: the target of tables about links. Setters with offset 0 get the whole. */
struct link_draft {
	struct config_reading *reading;
	struct config_link link;
	struct link_place place;
};

/* config.c: every kind that netconf reads; conf_read()'s userdata is a struct config_reading. */
extern const struct conf_kind config_kinds[];
/* Before the tables are used; more than once does no harm. */
void config_make_tables(void);

/* --- config_value.c: single values --- */

const char *config_check_ref(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                             const char **ret_hint);
/* The name of a link that is made: 15 characters. */
const char *config_check_name(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                              const char **ret_hint);
/* Slots: struct addr, struct mac, uint32_t, uint32_t, uint16_t. */
void config_set_addr(struct conf *, const struct conf_field *, const struct conf_node *,
                     void *slot);
void config_set_mac(struct conf *, const struct conf_field *, const struct conf_node *, void *slot);
void config_set_u32(struct conf *, const struct conf_field *, const struct conf_node *, void *slot);
void config_set_table(struct conf *, const struct conf_field *, const struct conf_node *,
                      void *slot);
void config_set_mark(struct conf *, const struct conf_field *, const struct conf_node *,
                     void *slot);
/* A prefix whose host bits are cleared, which a note says; slot: struct prefix. */
void config_set_network(struct conf *, const struct conf_field *, const struct conf_node *,
                        void *slot);
/* For slots of which the caller must know whether they were set. */
bool config_read_u32(struct conf *conf, const struct conf_node *value, uint32_t min, uint32_t max,
                     uint32_t *ret_value);
/* "file:line" of an origin, for "first at ..."; borrowed until the next. */
const char *config_place_of(struct config_reading *reading, const struct origin *origin);
struct origin config_origin(struct config_reading *reading, const struct conf_node *at);
struct place config_place(struct config_reading *reading, const struct conf_node *at);

/* --- config_address.c: addresses and routes of links, in either style; slots: struct link_draft
 * --- */

extern const struct conf_field config_address_fields[], config_route_fields[],
    config_legacy_route_fields[];
void config_set_addresses(struct conf *, const struct conf_field *, const struct conf_node *,
                          void *slot);
void config_set_routes(struct conf *, const struct conf_field *, const struct conf_node *,
                       void *slot);
void config_set_legacy_addresses(struct conf *, const struct conf_field *, const struct conf_node *,
                                 void *slot);
void config_set_legacy_cidr(struct conf *, const struct conf_field *, const struct conf_node *,
                            void *slot);

/* --- config_link.c --- */

void config_ref_fini(struct config_ref *ref);
void config_ref_copy(const struct config_ref *ref, struct config_ref *ret_copy);
void config_link_fini(struct config_link *link);
void config_link_place_fini(struct link_place *place, const struct config_link *link);
void config_link_draft_init(struct link_draft *draft, struct config_reading *reading,
                            enum link_kind kind, const struct conf_node *at);
/* Takes what the draft owns. */
void config_link_draft_finish(struct link_draft *draft);
void config_add_port(struct link_draft *draft, struct config_ref *ref, const struct conf_node *at);

void config_set_ports(struct conf *, const struct conf_field *, const struct conf_node *,
                      void *slot);
/* What all links share, as rows of their tables. */
#define CONFIG_LINK_FIELDS                                                              \
	{.key = "addresses", .set = config_set_addresses, .fields = config_address_fields}, \
	{                                                                                   \
		.key = "routes", .set = config_set_routes, .fields = config_route_fields        \
	}

/* Tables that config_make_tables() completes, by link_attrs and bond_options. */
#define CONFIG_LINK_FIELDS_MAX (LINK_ATTRS + 10)
#define CONFIG_BOND_FIELDS_MAX (BOND_OPTIONS + LINK_ATTRS + 10)
extern struct conf_field config_link_fields[CONFIG_LINK_FIELDS_MAX],
    config_vlan_fields[CONFIG_LINK_FIELDS_MAX], config_bridge_fields[CONFIG_LINK_FIELDS_MAX],
    config_dummy_fields[CONFIG_LINK_FIELDS_MAX], config_veth_fields[CONFIG_LINK_FIELDS_MAX],
    config_vrf_fields[CONFIG_LINK_FIELDS_MAX], config_bond_fields[CONFIG_BOND_FIELDS_MAX],
    config_legacy_bond_fields[CONFIG_BOND_FIELDS_MAX],
    config_wireguard_fields[CONFIG_LINK_FIELDS_MAX];
void config_make_link_tables(void);
/* Rows for those of the attributes that have a key, behind the rows of the table. */
void config_add_attributes(struct conf_field *table, unsigned attributes, bool is_legacy);
void config_read_link(struct conf *conf, const struct conf_node *document, void *userdata);
void config_read_vlan(struct conf *conf, const struct conf_node *document, void *userdata);
void config_read_bridge(struct conf *conf, const struct conf_node *document, void *userdata);
void config_read_dummy(struct conf *conf, const struct conf_node *document, void *userdata);
void config_read_veth(struct conf *conf, const struct conf_node *document, void *userdata);
void config_read_vrf(struct conf *conf, const struct conf_node *document, void *userdata);

/* --- config_bond.c --- */

void config_make_bond_tables(void);
void config_read_bond(struct conf *conf, const struct conf_node *document, void *userdata);
/* `map` is what has the keys. */
void config_check_bond(struct link_draft *draft, const struct conf_node *map, bool is_legacy);

/* --- config_wireguard.c --- */

extern const struct conf_field config_legacy_wireguard_fields[];
void config_read_wireguard(struct conf *conf, const struct conf_node *document, void *userdata);

/* `map` is what has the keys. */
void config_check_wireguard(struct link_draft *draft, const struct conf_node *map);

/* --- config_selector.c --- */

extern const struct conf_field config_selector_fields[], config_alias_fields[];
/* NULL: it was wrong, and reported. */
struct selector *config_read_selector(struct conf *conf, const struct conf_node *value);
void config_read_alias(struct conf *conf, const struct conf_node *document, void *userdata);

/* --- config_legacy.c --- */

extern const struct conf_field config_legacy_fields[];
extern const struct conf_field config_machine_network_fields[];
void config_make_legacy_tables(void);
void config_read_legacy(struct conf *conf, const struct conf_node *document, void *userdata);

/* --- config_address.c: rules and blackhole routes --- */

extern const struct conf_field config_rule_fields[], config_blackhole_fields[];
void config_read_rule(struct conf *conf, const struct conf_node *document, void *userdata);
void config_read_blackhole(struct conf *conf, const struct conf_node *document, void *userdata);

/* --- config_service.c --- */

extern const struct conf_field config_dhcp_fields[], config_ethernet_fields[],
    config_tcp_probe_fields[], config_http_probe_fields[];
void config_read_dhcp4(struct conf *conf, const struct conf_node *document, void *userdata);
void config_read_dhcp6(struct conf *conf, const struct conf_node *document, void *userdata);
void config_read_ethernet(struct conf *conf, const struct conf_node *document, void *userdata);
void config_print_ethernet(const struct config_ethernet *config, FILE *out);
void config_read_tcp_probe(struct conf *conf, const struct conf_node *document, void *userdata);
void config_read_http_probe(struct conf *conf, const struct conf_node *document, void *userdata);
/* Takes the ref and the DUID. */
void config_add_dhcp(struct config_reading *reading, const struct config_dhcp *dhcp,
                     const struct conf_node *at);

/* --- config.c --- */

extern const struct conf_field config_policy_fields[];
void config_policy_init(struct config_policy *policy);
void config_read_policy(struct conf *conf, const struct conf_node *document, void *userdata);

/* --- config_cross.c: what only the whole can show --- */

void config_check_whole(struct config_reading *reading);

/* The documents about names and time; nobody but the config_*.c files includes this. */

/* --- config_host.c --- */

extern const struct conf_field config_hostname_fields[], config_resolver_fields[],
    config_static_host_fields[];
void config_read_hostname(struct conf *conf, const struct conf_node *document, void *userdata);
void config_read_resolver(struct conf *conf, const struct conf_node *document, void *userdata);
void config_read_static_host(struct conf *conf, const struct conf_node *document, void *userdata);
/* The same of machine.network; slots: struct config_reading. */
extern const struct conf_field config_extra_host_fields[];
void config_set_legacy_hostname(struct conf *, const struct conf_field *, const struct conf_node *,
                                void *slot);
void config_set_legacy_nameservers(struct conf *, const struct conf_field *,
                                   const struct conf_node *, void *slot);
void config_set_legacy_search(struct conf *, const struct conf_field *, const struct conf_node *,
                              void *slot);
void config_set_legacy_no_search(struct conf *, const struct conf_field *, const struct conf_node *,
                                 void *slot);
void config_set_extra_hosts(struct conf *, const struct conf_field *, const struct conf_node *,
                            void *slot);
void config_finish_host(struct config_reading *reading);

/* --- config_host.c: time --- */

extern const struct conf_field config_time_fields[];
void config_read_time(struct conf *conf, const struct conf_node *document, void *userdata);
/* The same of machine.time; slot: struct config_reading. */
extern const struct conf_field config_legacy_time_fields[];
void config_set_legacy_time(struct conf *, const struct conf_field *, const struct conf_node *,
                            void *slot);

/*
 * What the two config_cross*.c files share: indices over the links of one reading. Nobody else
 * includes this.
 */

struct whole_name {
	const char *name;
	size_t link;
};

struct whole_port {
	const char *name;
	size_t master, item;
};

struct whole {
	struct config_reading *reading;
	struct config *config;
	struct whole_name *names; /* sorted; of links that have one */
	size_t n_names;
	struct whole_port *ports; /* sorted by name; of ports that have one */
	size_t n_ports;
};

/* The link that names it as a port, or NULL. */
const struct config_link *whole_find_master(const struct whole *w, const char *name);

void whole_error(const struct whole *w, const struct place *place, const char *hint,
                 const char *fmt, ...) PRINTF_LIKE(4, 5);
void whole_note(const struct whole *w, const struct place *place, const char *hint,
                const char *what);

/* config_cross_route.c */
void whole_check_dhcp(const struct whole *w);
void whole_check_addresses(const struct whole *w);
void whole_check_routes(const struct whole *w);
