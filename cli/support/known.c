/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of each document is walked with its aliases resolved, so a secret is found wherever it
 * is written. Which names mean one, blank.c says; a file behind such a name with "File" at its end
 * is read as well, and so is a kubeconfig.
 */
#include "cli/support/known.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/conf.h"
#include "base/fileio.h"
#include "cli/support/blank.h"

#define FILE_BYTES_MAX (256 << 10)
#define KNOWN_MAX 10000
#define DEPTH_MAX 64 /* as conf.h has it */

static void add(struct texts *known, const char *value, size_t len)
{
	/* A block of YAML ends its line. */
	while (len > 0 && isspace((unsigned char) value[len - 1]))
		len--;
	for (size_t i = 0; i < known->n; i++) {
		if (strncmp(known->items[i], value, len) == 0 && known->items[i][len] == '\0')
			return;
	}
	if (len >= BLANK_KNOWN_MIN && known->n < KNOWN_MAX)
		texts_add(known, "%.*s", (int) len, value);
}

/* Of a URL that is secret, its path alone is as good. */
static void add_value(struct texts *known, const char *value, size_t len)
{
	const char *host = memmem(value, len, "://", 3);
	const char *path =
	    host != NULL ? memchr(host + 3, '/', (size_t) (value + len - host - 3)) : NULL;
	const char *last = path != NULL ? memrchr(value, '/', len) : NULL;

	add(known, value, len);
	if (path == NULL)
		return;
	add(known, path + 1, (size_t) (value + len - path - 1));
	add(known, last + 1, (size_t) (value + len - last - 1));
}

/* --- files --- */

/* Each line, and what is behind the = of one (of a block in YAML, too); not the lines around a key
 * in PEM, which everybody's have. */
static void add_lines(struct texts *known, const char *text)
{
	for (const char *p = text; *p != '\0';) {
		const char *line = p + strspn(p, " \t\r\n");
		size_t len = strcspn(line, "\r\n");
		const char *equals = memchr(line, '=', len);

		p = line + len;
		if (strncmp(line, "-----", 5) == 0 || line[0] == '#' || line[0] == '[')
			continue;
		add_value(known, line, len);
		/* "aws_secret_access_key = x" */
		if (equals != NULL &&
		    (equals[1] == ' ' || blank_is_secret_name(line, (size_t) (equals - line)))) {
			const char *value = equals + 1 + strspn(equals + 1, " \t");

			add(known, value, (size_t) (line + len - value));
		}
	}
}

static void walk(struct texts *known, const struct conf_node *node, const char *parent, bool secret,
                 unsigned depth);

static void add_documents(struct texts *known, const char *path, const char *text, size_t len)
{
	AUTO(conf_free) struct conf *conf = conf_new();
	const struct conf_node *document;

	conf_add_text(conf, path, text, len);
	for (size_t i = 0; (document = conf_document(conf, i)) != NULL; i++)
		walk(known, document, "", false, 0);
}

static void add_file(struct texts *known, const char *path, bool is_kubeconfig)
{
	AUTO(free) char *text = NULL;
	size_t len;

	if (path[0] != '/' || file_read(path, FILE_BYTES_MAX, &text, &len) < 0)
		return;
	if (is_kubeconfig)
		add_documents(known, path, text, len);
	else
		add_lines(known, text);
}

/* --- the tree --- */

/* "keyFile", "secretFile", "urlFile": what is in it is secret; not "caFile". */
static bool names_secret_file(const char *key)
{
	size_t len = strlen(key);

	if (len < 4 || strcmp(key + len - 4, "File") != 0)
		return false;
	len -= 4;
	return blank_is_secret_name(key, len) ||
	       (len >= 3 && strncasecmp(key + len - 3, "key", 3) == 0) ||
	       (len == 3 && strncmp(key, "url", 3) == 0);
}

static void walk_value(struct texts *known, const char *key, const struct conf_node *value,
                       const char *parent, bool secret, unsigned depth)
{
	/* Where a webhook is, nobody else need know. */
	bool is_webhook = strcmp(parent, "notify") == 0 && strcmp(key, "url") == 0;

	if (value->shape == CONF_SCALAR && names_secret_file(key))
		add_file(known, value->text, false);
	else if (value->shape == CONF_SCALAR && strcmp(key, "kubeconfig") == 0)
		add_file(known, value->text, true);
	else
		walk(known, value, key, secret || is_webhook || blank_is_secret_key(key, strlen(key)),
		     depth + 1);
}

static void walk(struct texts *known, const struct conf_node *node, const char *parent, bool secret,
                 unsigned depth)
{
	if (depth > DEPTH_MAX)
		return;
	if (node->shape == CONF_SCALAR) {
		if (secret && strchr(node->text, '\n') != NULL)
			add_lines(known, node->text);
		else if (secret)
			add_value(known, node->text, strlen(node->text));
		return;
	}
	for (size_t i = 0; i < node->n; i++) {
		if (node->shape == CONF_MAP)
			walk_value(known, node->keys[i]->text, node->values[i], parent, secret, depth);
		else
			walk(known, node->values[i], parent, secret, depth + 1);
	}
}

void known_add(struct texts *known, const char *path)
{
	AUTO(free) char *text = NULL;
	size_t len;

	if (file_read(path, CONF_FILE_BYTES_MAX, &text, &len) == 0)
		add_documents(known, path, text, len);
}
