/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which program each document is for: one table of kinds, and the places in the older style's document
 * that a program reads. Then `config print`.
 */
#include "cli/config/config.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/common/cli.h"
#include "cli/common/worker.h"

const char *const part_names[N_PARTS] = {
    [PART_VIPD] = "vipd",
    [PART_PRISM] = "prism",
    [PART_ETCDWATCH] = "etcdwatch",
    [PART_NETCONF] = "netconf",
};

/* Of documents that several read, but that make nobody's work: NodeConfig, EtcdClientConfig. */
#define SHARED N_PARTS

static const struct {
	const char *kind;
	enum part part;
} kinds[] = {
    {"NodeConfig", SHARED},
    {"EtcdClientConfig", SHARED},
    {"HCloudVIPConfig", PART_VIPD},
    {"Layer2VIPConfig", PART_VIPD},
    {"VIPPolicyConfig", PART_VIPD},
    {"KubePrismConfig", PART_PRISM},
    {"KubeClusterConfig", PART_PRISM},
    {"KubeAPIServerConfig", PART_PRISM},
    {"PrismConfig", PART_PRISM},
    {"EtcdSnapshotConfig", PART_ETCDWATCH},
    {"EtcdWatchConfig", PART_ETCDWATCH},
    {"BlackholeRouteConfig", PART_NETCONF},
    {"BondConfig", PART_NETCONF},
    {"BridgeConfig", PART_NETCONF},
    {"DHCPv4Config", PART_NETCONF},
    {"DHCPv6Config", PART_NETCONF},
    {"DummyLinkConfig", PART_NETCONF},
    {"EthernetConfig", PART_NETCONF},
    {"HTTPProbeConfig", PART_NETCONF},
    {"HostnameConfig", PART_NETCONF},
    {"LinkAliasConfig", PART_NETCONF},
    {"LinkConfig", PART_NETCONF},
    {"MacVLANConfig", PART_NETCONF},
    {"NetworkPolicyConfig", PART_NETCONF},
    {"NetworkWifiConfig", PART_NETCONF},
    {"ResolverConfig", PART_NETCONF},
    {"RoutingRuleConfig", PART_NETCONF},
    {"StaticHostConfig", PART_NETCONF},
    {"TCPProbeConfig", PART_NETCONF},
    {"TimeSyncConfig", PART_NETCONF},
    {"VLANConfig", PART_NETCONF},
    {"VRFConfig", PART_NETCONF},
    {"VXLANConfig", PART_NETCONF},
    {"VethConfig", PART_NETCONF},
    {"WireguardConfig", PART_NETCONF},
};

/* Of the older style's document; `inside`: what in it; NULL: all. */
static const struct {
	const char *section, *key, *inside;
	enum part part;
} legacy[] = {
    {"machine", "network", NULL, PART_NETCONF},
    {"machine", "time", NULL, PART_NETCONF},
    {"machine", "features", "kubePrism", PART_PRISM},
    {"cluster", "controlPlane", "endpoint", PART_PRISM},
};

struct reading {
	struct conf *conf;
	struct parts *parts;
};

static char *place_of(const struct reading *r, const struct conf_node *at, const char *what,
                      const char *more)
{
	AUTO(free) char *origin = conf_origin(r->conf, at);

	return xasprintf("%s: %s%s%s", origin, what, more[0] != '\0' ? "." : "", more);
}

static void note_part(const struct reading *r, enum part part, const struct conf_node *at,
                      const char *what, const char *more)
{
	if (part != SHARED && r->parts->first[part] == NULL)
		r->parts->first[part] = place_of(r, at, what, more);
}

static void note_other(const struct reading *r, const struct conf_node *at, const char *what)
{
	AUTO(free) char *place = place_of(r, at, what, "");

	conf_strings_add(&r->parts->others, place);
}

/* --- the older style --- */

/* Interfaces and their VLANs. */
static const struct conf_node *find_vip(const struct conf_node *list)
{
	for (size_t i = 0; list != NULL && list->shape == CONF_LIST && i < list->n; i++) {
		const struct conf_node *item = list->values[i];
		const struct conf_node *vip = conf_node_find(item, "vip");

		if (vip == NULL)
			vip = find_vip(conf_node_find(item, "vlans"));
		if (vip != NULL)
			return vip;
	}
	return NULL;
}

static const struct conf_node *step(const struct conf_node *map, const char *key)
{
	return map != NULL ? conf_node_find(map, key) : NULL;
}

/* False: nobody reads it. */
static bool read_key(const struct reading *r, const char *section, const struct conf_node *key,
                     const struct conf_node *value)
{
	for (size_t i = 0; i < ARRAY_SIZE(legacy); i++) {
		if (strcmp(legacy[i].section, section) != 0 || strcmp(legacy[i].key, key->text) != 0 ||
		    (legacy[i].inside != NULL && step(value, legacy[i].inside) == NULL))
			continue;
		note_part(r, legacy[i].part, key, section, key->text);
		r->parts->is_legacy[legacy[i].part] = true;
		return true;
	}
	return false;
}

/* What nobody reads is added to the text. */
static void read_section(const struct reading *r, const struct conf_node *document,
                         const char *section, char **unread)
{
	const struct conf_node *map = step(document, section);

	for (size_t i = 0; map != NULL && map->shape == CONF_MAP && i < map->n; i++) {
		AUTO(free) char *before = NULL;

		if (read_key(r, section, map->keys[i], map->values[i]))
			continue;
		before = *unread;
		*unread = xasprintf("%s%s%s.%s", before != NULL ? before : "", before != NULL ? ", " : "",
		                    section, map->keys[i]->text);
	}
}

static void read_legacy(const struct reading *r, const struct conf_node *document)
{
	AUTO(free) char *unread = NULL;
	const struct conf_node *vip =
	    find_vip(step(step(step(document, "machine"), "network"), "interfaces"));

	if (vip != NULL)
		note_part(r, PART_VIPD, vip, "machine.network", "interfaces");
	r->parts->is_legacy[PART_VIPD] = r->parts->is_legacy[PART_VIPD] || vip != NULL;
	read_section(r, document, "machine", &unread);
	read_section(r, document, "cluster", &unread);
	if (unread != NULL)
		note_other(r, document, unread);
}

/* --- all --- */

static bool find_kind(const char *kind, enum part *ret_part)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(kinds[i].kind, kind) != 0)
			continue;
		*ret_part = kinds[i].part;
		return true;
	}
	return false;
}

enum part parts_of_kind(const char *kind)
{
	enum part part = SHARED;

	(void) find_kind(kind, &part);
	return part;
}

bool parts_is_read(const char *kind)
{
	enum part part;

	return find_kind(kind, &part);
}

static void read_document(const struct reading *r, const struct conf_node *document)
{
	const struct conf_node *kind = conf_node_find(document, "kind");

	if (kind == NULL) {
		read_legacy(r, document);
		return;
	}
	/* Which is an error already. */
	if (kind->shape != CONF_SCALAR)
		return;
	if (parts_is_read(kind->text))
		note_part(r, parts_of_kind(kind->text), document, kind->text, "");
	else
		note_other(r, document, kind->text);
}

int parts_read(const char *const *paths, size_t n_paths, conf_message_fn error, void *userdata,
               struct parts *ret)
{
	static const struct conf_kind none[] = {{0}};
	AUTO(conf_free) struct conf *conf = conf_new();
	const struct reading r = {.conf = conf, .parts = ret};
	const struct conf_node *document;
	struct conf_strings files;

	*ret = (struct parts){0};
	conf_add_paths(conf, paths, n_paths);
	conf_files(conf, &files);
	ret->n_files = files.n;
	conf_strings_fini(&files);
	conf_read(conf, none, NULL);
	for (size_t i = 0; (document = conf_document(conf, i)) != NULL; i++)
		read_document(&r, document);
	return conf_finish(conf, error, userdata, NULL);
}

void parts_fini(struct parts *parts)
{
	for (size_t i = 0; i < N_PARTS; i++)
		free(parts->first[i]);
	conf_strings_fini(&parts->others);
}

/* --- asking a program --- */

int config_ask(const char *program, const char *mode, int argc, char **argv, bool with_errors,
               char **ret_text, int *ret_exit)
{
	struct texts words = {0};
	int code;

	texts_add(&words, "%s", mode);
	for (int i = 0; i < argc; i++)
		texts_add(&words, "--config=%s", argv[i]);
	code = worker_text(program, &words, with_errors, ret_text, ret_exit);
	texts_fini(&words);
	return code;
}

/* --- documents --- */

#define SEPARATOR "---\n"

static const char *find_end(const char *document)
{
	const char *next = strstr(document, "\n" SEPARATOR);

	return next != NULL ? next + 1 : document + strlen(document);
}

static bool is_of_kind(const char *document, const char *kind)
{
	AUTO(free) char *line = xasprintf("\nkind: %s\n", kind);

	return strstr(document, line) != NULL;
}

static bool is_there(const struct texts *documents, const char *document)
{
	for (size_t i = 0; i < documents->n; i++) {
		if (strcmp(documents->items[i], document) == 0)
			return true;
	}
	return false;
}

void config_add_documents(struct texts *documents, const char *text, const char *kind)
{
	while (*text != '\0') {
		const char *end = find_end(text);
		AUTO(free) char *document = xstrndup(text, (size_t) (end - text));

		if ((kind == NULL || is_of_kind(document, kind)) && !is_there(documents, document))
			texts_add(documents, "%s", document);
		text = end;
	}
}

/* --- printing --- */

void config_say_others(const struct parts *parts)
{
	for (size_t i = 0; i < parts->others.n; i++)
		(void) fprintf(stderr, "fairlead: %s: nothing of fairlead reads this: left out\n",
		               parts->others.items[i]);
}

static int print_part(struct texts *documents, enum part part, int argc, char **argv)
{
	AUTO(free) char *text = NULL;
	int exit_code, code;

	/* It says itself what is wrong. */
	code = config_ask(part_names[part], "--print", argc, argv, false, &text, &exit_code);
	if (code != CLI_OK || exit_code != 0)
		return CLI_FAILED;
	config_add_documents(documents, text, NULL);
	return CLI_OK;
}

int cli_config_print(const struct cli *cli UNUSED, int argc, char **argv)
{
	struct texts documents = {0};
	struct parts parts;
	int code = CLI_OK;

	if (parts_read((const char *const *) argv, (size_t) argc, conf_message_print, NULL, &parts) < 0)
		code = CLI_FAILED;
	for (enum part part = 0; part < N_PARTS && code == CLI_OK; part++) {
		if (parts.first[part] != NULL)
			code = print_part(&documents, part, argc, argv);
	}
	for (size_t i = 0; i < documents.n && code == CLI_OK; i++)
		(void) fputs(documents.items[i], stdout);
	if (code == CLI_OK)
		config_say_others(&parts);
	texts_fini(&documents);
	parts_fini(&parts);
	return code;
}
