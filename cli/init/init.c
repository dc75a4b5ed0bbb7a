/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `fairlead init`: looks at the node, decides, and writes the configuration. It only reads, and writes
 * that one file; an existing one stays unless it is told to replace it.
 */
#include "cli/common/texts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "base/conf.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/cli.h"
#include "cli/common/fields.h"
#include "cli/common/output.h"
#include "cli/common/worker.h"
#include "cli/init/initchoice.h"
#include "cli/init/initfacts.h"
#include "cli/init/initfiles.h"
#include "cli/init/initprobecert.h"

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

static void initold_vips(const char *path, struct texts *ret_vips)
{
	AUTO(conf_free) struct conf *conf = conf_new();
	const struct conf_node *document;

	conf_add_path(conf, path);
	for (size_t i = 0; (document = conf_document(conf, i)) != NULL; i++)
		add_document(ret_vips, document);
}

/* --- whether an address is free --- */

/*
 * ARP and neighbour discovery of our own would need a capability; the kernel's own does not. What
 * came of it stands in its table of neighbours.
 */

#define DISCARD_PORT 9
#define WAIT_US (2 * US_PER_S)
#define LOOK_AGAIN_US (100 * US_PER_MS)
#define IP_BYTES_MAX 65536

static bool send_datagram(const struct addr *addr)
{
	struct sockaddr_in in4 = {.sin_family = AF_INET, .sin_port = htons(DISCARD_PORT)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(DISCARD_PORT)};
	bool is_4 = addr->family == AF_INET;
	AUTO(close) int fd = socket(addr->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(&in4.sin_addr, addr->bytes, sizeof(in4.sin_addr));
	memcpy(&in6.sin6_addr, addr->bytes, sizeof(in6.sin6_addr));
	return fd >= 0 &&
	       sendto(fd, "", 1, 0, is_4 ? (struct sockaddr *) &in4 : (struct sockaddr *) &in6,
	              is_4 ? sizeof(in4) : sizeof(in6)) >= 0;
}

/* Whether the kernel knows a MAC for it. */
static bool has_neighbour(const char *text, struct mac *ret_mac)
{
	const char *const words[] = {"ip", "-json", "neighbour", "show", "to", text, NULL};
	struct output output;
	json_t *list = NULL;
	const json_t *item;
	const char *mac;
	bool found = false;
	size_t i;

	if (output_run(words, WAIT_US, IP_BYTES_MAX, &output) == 0)
		list = json_loads(output.text, 0, NULL);
	json_array_foreach(list, i, item)
	{
		mac = field_text(item, "lladdr");
		found = found || (mac != NULL && mac_parse(mac, ret_mac) == 0);
	}
	json_decref(list);
	output_fini(&output);
	return found;
}

static bool initprobe_is_answered(const struct addr *addr, struct mac *ret_mac)
{
	int64_t deadline_us = mono_now_us() + WAIT_US;
	char text[ADDR_TEXT_MAX];

	(void) addr_format(addr, text);
	if (!send_datagram(addr))
		return false;
	while (!has_neighbour(text, ret_mac)) {
		if (mono_now_us() >= deadline_us)
			return false;
		(void) usleep(LOOK_AGAIN_US);
	}
	return true;
}

/* --- all of it --- */

#define HOSTNAME_BYTES 256
#define CONFIG_BYTES_MAX (4 << 20)
#define DIFF_BYTES_MAX (1 << 20)
#define DESCRIBE_TIMEOUT_US (10 * US_PER_S)
#define DIFF_TIMEOUT_US (10 * US_PER_S)

struct init {
	struct initwish wish;
	const char *root;
	const char *file; /* NULL: the default place below the root */
	const char *kubeconfig;
	bool to_stdout, force, with_network, probe_certificate;
};

/* --- options --- */

static int set_vips(void *into, const struct cli_option *option UNUSED, const char *value)
{
	struct initwish *wish = &((struct init *) into)->wish;
	AUTO(free) char *list = xstrdup(value);
	char *rest;

	for (char *word = strtok_r(list, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
		if (wish->n_vips == INITCHOICE_VIPS_MAX) {
			(void) fprintf(stderr, "fairlead: --vip: at most %d\n", INITCHOICE_VIPS_MAX);
			return CLI_USAGE;
		}
		if (addr_parse(word, &wish->vips[wish->n_vips]) < 0) {
			(void) fprintf(stderr,
			               "fairlead: --vip: no address: '%s': an IPv4 or IPv6 address without a "
			               "prefix length\n",
			               word);
			return CLI_USAGE;
		}
		wish->n_vips++;
	}
	return CLI_OK;
}

static int set_link(void *into, const struct cli_option *option UNUSED, const char *value)
{
	if (strlen(value) >= IFNAMSIZ) {
		(void) fprintf(stderr, "fairlead: --link: longer than the name of a link: '%s'\n", value);
		return CLI_USAGE;
	}
	((struct init *) into)->wish.link = value;
	return CLI_OK;
}

static int set_role(void *into, const struct cli_option *option UNUSED, const char *value)
{
	struct initwish *wish = &((struct init *) into)->wish;

	if (strcmp(value, "control-plane") == 0) {
		wish->role = INIT_CONTROL_PLANE;
	} else if (strcmp(value, "worker") == 0) {
		wish->role = INIT_WORKER;
	} else {
		(void) fprintf(stderr, "fairlead: --role must be control-plane or worker, not '%s'\n",
		               value);
		return CLI_USAGE;
	}
	return CLI_OK;
}

#define AT(member) .offset = offsetof(struct init, member)

const struct cli_option cli_init_options[] = {
    {"vip", .value = "ADDRESS,...",
     .help = "addresses that one control-plane node at a time is to answer for", .set = set_vips},
    {"link", .value = "NAME", .help = "their link; else the one in whose network they are",
     .set = set_link},
    {"role", .value = "ROLE", .help = "control-plane or worker; else what the node is",
     .completes = "control-plane worker", .set = set_role},
    {"file", .value = "FILE", .help = "where to write it; else " CONF_DEFAULT_FILE,
     .completes = CLI_FILES, .set = cli_set_text, AT(file)},
    {"network", .help = "also documents that say what the network is now, for netconf",
     .set = cli_set_flag, AT(with_network)},
    {"probe-certificate",
     .help = "instead, make or renew the client certificate of the daemons' probes",
     .set = cli_set_flag, AT(probe_certificate)},
    {"kubeconfig", .value = "FILE",
     .help = "who asks the cluster to sign that, where the key of its authority is\nnot here; else "
             "kubelet",
     .completes = CLI_FILES, .set = cli_set_text, AT(kubeconfig)},
    {"stdout", .help = "print it instead", .set = cli_set_flag, AT(to_stdout)},
    {"force",
     .help = "replace a file that is different, else the difference is shown; and\ntake an "
             "address that a host answers for",
     .set = cli_set_flag, AT(force)},
    {"root", .value = "DIR",
     .help = "look at the node that lies there, an image for example; its\nlinks cannot be seen",
     .completes = CLI_DIRECTORIES, .set = cli_set_text, AT(root)},
    {0},
};

/* --- looking --- */

static bool is_running_system(const struct init *init)
{
	return strcmp(init->root, "/") == 0;
}

static char *read_hostname(const struct init *init)
{
	AUTO(free) char *text = NULL;
	char name[HOSTNAME_BYTES] = "";

	if (is_running_system(init) && gethostname(name, sizeof(name) - 1) == 0)
		return xstrdup(name);
	text = initfiles_text(init->root, "/etc/hostname");
	return text != NULL ? xstrndup(text, strcspn(text, " \t\n")) : xstrdup("this node");
}

static void look(const struct init *init, struct initfacts *facts)
{
	facts->hostname = read_hostname(init);
	initcluster_look(init->root, facts);
	initothers_look(init->root, facts);
	if (is_running_system(init))
		initlinks_look(facts);
}

static char *path_to_write(const struct init *init)
{
	return init->file != NULL ? xstrdup(init->file) : initfiles_at(init->root, CONF_DEFAULT_FILE);
}

/* A member of this node's etcd: the second and third node find the VIP on the first. */
static bool is_member(const struct initfacts *facts, const struct mac *mac)
{
	struct addr member;
	struct mac its;

	for (size_t i = 0; i < facts->members.n; i++) {
		if (addr_parse(facts->members.items[i], &member) == 0 &&
		    initprobe_is_answered(&member, &its) && mac_equal(&its, mac))
			return true;
	}
	return false;
}

/* The file that is there has this VIP, so it may well be in service. */
static bool is_configured(const struct init *init, const char *vip)
{
	AUTO(free) char *path = path_to_write(init);
	struct texts vips = {0};
	bool found = false;

	initold_vips(path, &vips);
	for (size_t i = 0; i < vips.n; i++)
		found = found || strcmp(vips.items[i], vip) == 0;
	texts_fini(&vips);
	return found;
}

/* A host that answers for a VIP is an error, unless it may be a control-plane node with vipd. */
static void judge_answers(const struct init *init, const struct initfacts *facts,
                          struct initchoice *choice)
{
	for (size_t i = 0; i < choice->n_vips && is_running_system(init); i++) {
		char address[ADDR_TEXT_MAX], text[MAC_TEXT_MAX];
		struct mac mac;

		if (!initprobe_is_answered(&choice->vips[i].addr, &mac))
			continue;
		(void) addr_format(&choice->vips[i].addr, address);
		(void) mac_format(&mac, text);
		if (init->force || init->to_stdout || is_configured(init, address) ||
		    is_member(facts, &mac))
			texts_add(&choice->notes,
			          "a host answers for %s already (%s): if that is another control-plane node "
			          "with vipd, all is well; else choose another address",
			          address, text);
		else
			texts_add(&choice->errors,
			          "--vip %s: a host answers for it already (%s): choose another address; if "
			          "that is another control-plane node with vipd, --force writes the file",
			          address, text);
	}
}

static void print_errors(const struct initchoice *choice)
{
	for (size_t i = 0; i < choice->errors.n; i++)
		(void) fprintf(stderr, "fairlead: %s\n", choice->errors.items[i]);
}

/* --- writing --- */

static void print_difference(const char *path, const char *text)
{
	char temporary[] = "/tmp/fairlead-init-XXXXXX";
	const char *const words[] = {
	    "diff", "-u", "--label", path, "--label", "what would be written", path, temporary, NULL};
	AUTO(close) int fd = mkstemp(temporary);
	struct output output;

	if (fd < 0)
		return;
	if (file_write_atomic(temporary, text, strlen(text), 0600, FILE_VOLATILE) == 0 &&
	    output_run(words, DIFF_TIMEOUT_US, DIFF_BYTES_MAX, &output) == 0) {
		(void) fputs(output.text, stdout);
		output_fini(&output);
	}
	(void) unlink(temporary);
}

static int say_failed(const char *path, int r)
{
	(void) fprintf(stderr, "fairlead: cannot write '%s': %s%s\n", path, strerror(-r),
	               r == -EACCES ? ": run this as root, or print it with --stdout" : "");
	return r == -EACCES ? CLI_DENIED : CLI_FAILED;
}

static int make_directory(const char *path)
{
	AUTO(free) char *directory = xstrndup(path, (size_t) (strrchr(path, '/') - path));

	return mkdir(directory, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

static bool is_wished(const struct initwish *wish, const char *text)
{
	struct addr vip;

	for (size_t i = 0; addr_parse(text, &vip) == 0 && i < wish->n_vips; i++) {
		if (addr_equal(&wish->vips[i], &vip))
			return true;
	}
	return false;
}

/* A VIP that no node has any more is an API server that nobody reaches. */
static bool would_lose_vip(const struct init *init, const char *path)
{
	struct texts vips = {0};
	size_t n_lost = 0;

	initold_vips(path, &vips);
	for (size_t i = 0; i < vips.n; i++) {
		if (is_wished(&init->wish, vips.items[i]))
			continue;
		(void) fprintf(stderr,
		               "fairlead: '%s' has the VIP %s, which would be gone: name it with --vip, "
		               "or take it out of the file first\n",
		               path, vips.items[i]);
		n_lost++;
	}
	texts_fini(&vips);
	return n_lost > 0;
}

static int write_file(const struct init *init, const char *text)
{
	AUTO(free) char *path = path_to_write(init);
	AUTO(free) char *there = NULL;
	size_t len;
	int r;

	r = file_read(path, CONFIG_BYTES_MAX, &there, &len);
	if (r < 0 && r != -ENOENT)
		return say_failed(path, r);
	if (r == 0 && strcmp(there, text) == 0) {
		(void) printf("%s is as it would be written\n", path);
		return CLI_OK;
	}
	if (r == 0 && !init->force) {
		print_difference(path, text);
		(void) fflush(stdout);
		(void) fprintf(stderr,
		               "fairlead: '%s' is there already, and stays: --force replaces all of it, "
		               "also what you wrote; --stdout prints the new one\n",
		               path);
		return CLI_FAILED;
	}
	if (r == 0 && would_lose_vip(init, path))
		return CLI_FAILED;
	r = init->file == NULL ? make_directory(path) : 0;
	if (r == 0)
		r = file_write_atomic(path, text, strlen(text), 0644, FILE_DURABLE);
	if (r < 0)
		return say_failed(path, r);
	(void) printf("wrote %s\n", path);
	return CLI_OK;
}

static void print_notes(const struct initchoice *choice)
{
	for (size_t i = 0; i < choice->notes.n; i++)
		(void) fprintf(stderr, "note: %s\n", choice->notes.items[i]);
}

/* What netconf says of the network as it is, to be freed; NULL: it cannot, which has been said. */
static char *describe_network(const struct init *init)
{
	AUTO(free) char *program = NULL;
	const char *words[] = {NULL, "--describe", NULL};
	struct output output;
	char *text = NULL;
	int r;

	if (!is_running_system(init)) {
		(void) fputs("fairlead: --network and --root exclude each other: the network can only be "
		             "seen where it is\n",
		             stderr);
		return NULL;
	}
	program = worker_find("netconf");
	if (program == NULL)
		return NULL;
	words[0] = program;
	r = output_run(words, DESCRIBE_TIMEOUT_US, CONFIG_BYTES_MAX, &output);
	if (r == 0 && output.exit_code == 0 && !output.is_cut)
		text = xstrdup(output.text);
	else
		(void) fprintf(stderr, "fairlead: netconf --describe has failed: %s\n",
		               r < 0 ? strerror(-r) : output.text);
	output_fini(&output);
	return text;
}

static int write_text(const struct init *init, const struct initfacts *facts,
                      const struct initchoice *choice)
{
	AUTO(free) char *network = init->with_network ? describe_network(init) : NULL;
	AUTO(free) char *text = NULL;
	size_t len = 0;
	FILE *out;

	if (init->with_network && network == NULL)
		return CLI_FAILED;
	out = xmemstream_open(&text, &len);
	inittext_write(out, facts, &init->wish, choice, network);
	xmemstream_close(out);
	if (!init->to_stdout)
		return write_file(init, text);
	(void) fputs(text, stdout);
	return CLI_OK;
}

static int run(const struct init *init)
{
	struct initfacts facts = {0};
	struct initchoice choice;
	int code = CLI_FAILED;

	look(init, &facts);
	initchoice_make(&facts, &init->wish, wall_now_us() / US_PER_S, &choice);
	if (choice.errors.n == 0)
		judge_answers(init, &facts, &choice);
	print_errors(&choice);
	if (choice.errors.n == 0) {
		code = write_text(init, &facts, &choice);
		print_notes(&choice);
	}
	initchoice_fini(&choice);
	initfacts_fini(&facts);
	return code;
}

int cli_init(const struct cli *cli, int argc UNUSED, char **argv UNUSED)
{
	struct init init = {.root = "/"};
	int code = cli_set_own(cli, &init);

	if (code == CLI_OK && init.probe_certificate)
		return initprobecert_make(init.root, init.kubeconfig, init.force, wall_now_us() / US_PER_S);
	return code == CLI_OK ? run(&init) : code;
}
