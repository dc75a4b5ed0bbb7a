/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `config convert`: what Talos's older style says in one machine configuration, as documents of
 * their kinds. netconf prints the network and vipd the VIPs, as they have read them; what concerns
 * prism has documents with the same keys. Documents that have a kind already stay as they are,
 * comments and all, unless a program prints all of theirs.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "cli/common/cli.h"
#include "cli/config/config.h"

#define KUBEPRISM_PORT "7445" /* Talos's */

struct converting {
	int argc;
	char **argv;
	struct parts parts;
	struct conf *conf;
	struct texts documents;
};

/* --- what the programs print --- */

static int add_printed(struct converting *c, enum part part, const char *mode, const char *kind)
{
	AUTO(free) char *text = NULL;
	int exit_code, code;

	/* It says itself what is wrong. */
	code = config_ask(part_names[part], mode, c->argc, c->argv, false, &text, &exit_code);
	if (code != CLI_OK || exit_code != 0)
		return CLI_FAILED;
	config_add_documents(&c->documents, text, kind);
	return CLI_OK;
}

static int add_all_printed(struct converting *c)
{
	int code = CLI_OK;

	if (c->parts.is_legacy[PART_NETCONF])
		code = add_printed(c, PART_NETCONF, "--convert", NULL);
	if (code == CLI_OK && c->parts.is_legacy[PART_VIPD])
		code = add_printed(c, PART_VIPD, "--print", "Layer2VIPConfig");
	if (code == CLI_OK && c->parts.is_legacy[PART_VIPD])
		code = add_printed(c, PART_VIPD, "--print", "HCloudVIPConfig");
	return code;
}

static bool is_printed(const struct converting *c, const char *kind)
{
	return (parts_of_kind(kind) == PART_NETCONF && c->parts.is_legacy[PART_NETCONF]) ||
	       ((strcmp(kind, "Layer2VIPConfig") == 0 || strcmp(kind, "HCloudVIPConfig") == 0) &&
	        c->parts.is_legacy[PART_VIPD]);
}

/* --- what concerns prism --- */

static const struct conf_node *step(const struct conf_node *map, const char *key)
{
	return map != NULL ? conf_node_find(map, key) : NULL;
}

/* A document with one key. */
static void add_one_key(struct converting *c, const char *kind, const char *key,
                        const struct conf_node *value)
{
	AUTO(free) char *text = NULL;
	size_t len;
	FILE *out;

	if (value == NULL || value->shape != CONF_SCALAR || conf_node_is_null(value))
		return;
	out = xmemstream_open(&text, &len);
	conf_print_header(out, CONF_API_TALOS, kind);
	/* A number has no quotes. */
	if (value->quoted || strspn(value->text, "0123456789") != strlen(value->text))
		conf_print_string(out, key, value->text);
	else
		(void) fprintf(out, "%s: %s\n", key, value->text);
	xmemstream_close(out);
	texts_add(&c->documents, "%s", text);
}

static void add_prism(struct converting *c, const struct conf_node *document)
{
	const struct conf_node *kubeprism =
	    step(step(step(document, "machine"), "features"), "kubePrism");
	const struct conf_node *plane = step(step(document, "cluster"), "controlPlane");
	const struct conf_node *enabled = step(kubeprism, "enabled");
	static char default_port[] = KUBEPRISM_PORT;
	const struct conf_node port = {.shape = CONF_SCALAR, .text = default_port};
	bool is_on = false;

	if (enabled != NULL && enabled->shape == CONF_SCALAR)
		(void) conf_parse_bool(enabled->text, &is_on);
	if (is_on)
		add_one_key(c, "KubePrismConfig", "port",
		            step(kubeprism, "port") != NULL ? step(kubeprism, "port") : &port);
	add_one_key(c, "KubeClusterConfig", "endpoint", step(plane, "endpoint"));
	add_one_key(c, "KubeAPIServerConfig", "apiPort", step(plane, "localAPIServerPort"));
}

/* --- what stays --- */

static bool is_separator(const char *line)
{
	return strncmp(line, "---", 3) == 0 || strncmp(line, "...", 3) == 0;
}

static const char *next_line(const char *line)
{
	size_t len = strcspn(line, "\n");

	return line + len + (line[len] == '\n' ? 1 : 0);
}

/* All that is between what separates it from others; its first key is in this line. */
static void add_lines(struct converting *c, const char *text, unsigned line)
{
	const char *begin = text, *at = text, *end;

	for (unsigned i = 1; i < line; i++) {
		const char *next = next_line(at);

		begin = is_separator(at) ? next : begin;
		at = next;
	}
	/* "--- {kind: ...}" */
	if (is_separator(at))
		begin = at + 3 + strspn(at + 3, " ");
	for (end = next_line(at); *end != '\0' && !is_separator(end);)
		end = next_line(end);
	texts_add(&c->documents, "---\n%.*s%s", (int) (end - begin), begin,
	          end[-1] == '\n' ? "" : "\n");
}

static int add_as_it_is(struct converting *c, const struct conf_node *document)
{
	const char *name = conf_file_name(c->conf, document);
	AUTO(free) char *text = NULL;
	size_t len;
	int r = file_read(name, CONF_FILE_BYTES_MAX, &text, &len);

	if (r < 0) {
		(void) fprintf(stderr, "fairlead: %s: %s\n", name, strerror(-r));
		return CLI_FAILED;
	}
	add_lines(c, text, document->line);
	return CLI_OK;
}

/* --- all --- */

/* As the programs write it in the place of one. */
static void say_secrets(const struct converting *c)
{
	for (size_t i = 0; i < c->documents.n; i++) {
		if (strstr(c->documents.items[i], "hidden)") == NULL &&
		    strstr(c->documents.items[i], "<hidden>") == NULL)
			continue;
		(void) fputs("fairlead: secrets are not printed: put them in again where it says "
		             "'hidden', or name their files\n",
		             stderr);
		return;
	}
}

static int convert(struct converting *c)
{
	const char *const *paths = (const char *const *) c->argv;
	const struct conf_node *document;
	int code;

	if (parts_read(paths, (size_t) c->argc, conf_message_print, NULL, &c->parts) < 0)
		return CLI_FAILED;
	code = add_all_printed(c);
	conf_add_paths(c->conf, paths, (size_t) c->argc);
	for (size_t i = 0; code == CLI_OK && (document = conf_document(c->conf, i)) != NULL; i++) {
		const struct conf_node *kind = conf_node_find(document, "kind");

		if (kind == NULL)
			add_prism(c, document);
		else if (parts_is_read(kind->text) && !is_printed(c, kind->text))
			code = add_as_it_is(c, document);
	}
	return code;
}

int cli_config_convert(const struct cli *cli UNUSED, int argc, char **argv)
{
	struct converting c = {.argc = argc, .argv = argv, .conf = conf_new()};
	int code = convert(&c);

	for (size_t i = 0; i < c.documents.n && code == CLI_OK; i++)
		(void) fputs(c.documents.items[i], stdout);
	if (code == CLI_OK) {
		say_secrets(&c);
		config_say_others(&c.parts);
	}
	texts_fini(&c.documents);
	parts_fini(&c.parts);
	conf_free(c.conf);
	return code;
}
