/* SPDX-License-Identifier: Apache-2.0 */
/* Talos's deviceSelector: every key that is there must match. */
#include "netconf/config/selector.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void selector_fini(struct selector *selector)
{
	free(selector->bus_path);
	free(selector->mac);
	free(selector->permanent_mac);
	free(selector->pci_id);
	free(selector->driver);
	free(selector->text);
	expression_free(selector->match);
	*selector = (struct selector){0};
}

bool selector_is_empty(const struct selector *selector)
{
	return selector->bus_path == NULL && selector->mac == NULL && selector->permanent_mac == NULL &&
	       selector->pci_id == NULL && selector->driver == NULL && !selector->has_physical &&
	       selector->match == NULL;
}

static bool texts_equal(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

bool selector_equal(const struct selector *a, const struct selector *b)
{
	if (a == NULL || b == NULL)
		return false;
	return texts_equal(a->bus_path, b->bus_path) && texts_equal(a->mac, b->mac) &&
	       texts_equal(a->permanent_mac, b->permanent_mac) && texts_equal(a->pci_id, b->pci_id) &&
	       texts_equal(a->driver, b->driver) && a->has_physical == b->has_physical &&
	       a->physical == b->physical && texts_equal(a->text, b->text);
}

/* Goes back to the last '*' when the rest does not fit, which is enough: an earlier one could only
 * take less. */
bool selector_glob(const char *pattern, const char *text)
{
	const char *star = NULL, *from = text;

	while (*text != '\0') {
		if (*pattern == '*') {
			star = pattern++;
			from = text;
		} else if (*pattern != '\0' && (*pattern == '?' || tolower((unsigned char) *pattern) ==
		                                                       tolower((unsigned char) *text))) {
			pattern++;
			text++;
		} else if (star != NULL) {
			pattern = star + 1;
			text = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}

static bool text_matches(const char *pattern, const char *text)
{
	return pattern == NULL || selector_glob(pattern, text);
}

static bool mac_matches(const char *pattern, bool is_known, const struct mac *mac)
{
	char text[MAC_TEXT_MAX];

	return pattern == NULL || (is_known && selector_glob(pattern, mac_format(mac, text)));
}

bool selector_matches(const struct selector *selector, const struct device *device)
{
	if (selector->match != NULL)
		return expression_matches(selector->match, device);
	return text_matches(selector->bus_path, device->bus_path) &&
	       mac_matches(selector->mac, true, &device->mac) &&
	       mac_matches(selector->permanent_mac, device->has_permanent_mac,
	                   &device->permanent_mac) &&
	       text_matches(selector->pci_id, device->pci_id) &&
	       text_matches(selector->driver, device->driver) &&
	       (!selector->has_physical || selector->physical == device->is_physical);
}

/*
 * Expressions that choose a link: a small part of the Common Expression Language, read by descent
 * into a tree of few nodes, and evaluated over one device.
 *
 *	or      = and { "||" and }
 *	and     = not { "&&" not }
 *	not     = "!" not | "(" or ")" | "true" | "false" | "glob" "(" text "," text ")"
 *	        | text ( "==" | "!=" ) text | text "." ( "startsWith" | ... ) "(" text ")"
 *	text    = string | "link" "." field | "mac" "(" "link" "." field ")"
 */

enum node_type {
	NODE_OR,
	NODE_AND,
	NODE_NOT,
	NODE_TRUE,
	NODE_FALSE,
	NODE_EQUAL,
	NODE_DIFFERENT,
	NODE_GLOB,
	NODE_STARTS_WITH,
	NODE_ENDS_WITH,
	NODE_CONTAINS,
	/* texts */
	NODE_STRING,
	NODE_DRIVER,
	NODE_BUS_PATH,
	NODE_PCI_ID,
	NODE_KIND,
	NODE_NAME,
	NODE_MAC,
	NODE_PERMANENT_MAC,
};

struct node {
	enum node_type type;
	unsigned left, right; /* indices; 0: none, for the first is never a child */
	char *text;           /* NODE_STRING */
};

struct expression {
	struct node nodes[EXPRESSION_NODES_MAX];
	unsigned n, root;
};

struct reader {
	struct expression *expression;
	const char *text, *at;
	const char *wrong; /* the first that was; then the reading only unwinds */
	const char *wrong_at;
	unsigned depth;
};

void expression_free(struct expression *expression)
{
	if (expression == NULL)
		return;
	for (unsigned i = 0; i < expression->n; i++)
		free(expression->nodes[i].text);
	free(expression);
}

/* --- reading --- */

static unsigned fail(struct reader *r, const char *wrong)
{
	if (r->wrong == NULL) {
		r->wrong = wrong;
		r->wrong_at = r->at;
	}
	return 0;
}

static unsigned add_node(struct reader *r, enum node_type type, unsigned left, unsigned right)
{
	struct expression *e = r->expression;

	if (r->wrong != NULL)
		return 0;
	if (e->n == EXPRESSION_NODES_MAX)
		return fail(r, "the expression is too long");
	e->nodes[e->n] = (struct node){.type = type, .left = left, .right = right};
	return e->n++;
}

static void skip_space(struct reader *r)
{
	while (isspace((unsigned char) *r->at))
		r->at++;
}

/* Takes the sign if it stands next. */
static bool take(struct reader *r, const char *sign)
{
	skip_space(r);
	if (strncmp(r->at, sign, strlen(sign)) != 0)
		return false;
	r->at += strlen(sign);
	return true;
}

static void want(struct reader *r, const char *sign, const char *wrong)
{
	if (r->wrong == NULL && !take(r, sign))
		(void) fail(r, wrong);
}

static bool is_word_char(char c)
{
	return isalnum((unsigned char) c) || c == '_';
}

static bool take_word(struct reader *r, const char *word)
{
	size_t len = strlen(word);

	skip_space(r);
	if (strncmp(r->at, word, len) != 0 || is_word_char(r->at[len]))
		return false;
	r->at += len;
	return true;
}

static unsigned read_string(struct reader *r)
{
	char quote = *r->at;
	const char *start = r->at + 1, *end = start;
	unsigned i;

	while (*end != '\0' && *end != quote && *end != '\\')
		end++;
	if (*end == '\\')
		return fail(r, "escapes in strings are not supported");
	if (*end == '\0')
		return fail(r, "the string has no end");
	i = add_node(r, NODE_STRING, 0, 0);
	if (r->wrong == NULL)
		r->expression->nodes[i].text = xstrndup(start, (size_t) (end - start));
	r->at = end + 1;
	return i;
}

struct field_name {
	const char *name;
	enum node_type type;
};

static unsigned read_field(struct reader *r, const struct field_name *names, size_t n,
                           const char *wrong)
{
	want(r, ".", "'link' has fields, such as link.driver");
	for (size_t i = 0; i < n && r->wrong == NULL; i++) {
		if (take_word(r, names[i].name))
			return add_node(r, names[i].type, 0, 0);
	}
	return fail(r, wrong);
}

static unsigned read_text(struct reader *r)
{
	static const struct field_name texts[] = {
	    /* "pciid" is what Talos calls it; "pci_id" is what configurations were converted to. */
	    {"driver", NODE_DRIVER}, {"bus_path", NODE_BUS_PATH}, {"pciid", NODE_PCI_ID},
	    {"pci_id", NODE_PCI_ID}, {"kind", NODE_KIND},         {"name", NODE_NAME},
	};
	static const struct field_name macs[] = {
	    {"hardware_addr", NODE_MAC},
	    {"permanent_addr", NODE_PERMANENT_MAC},
	};
	unsigned i;

	skip_space(r);
	if (*r->at == '"' || *r->at == '\'')
		return read_string(r);
	if (take_word(r, "link"))
		return read_field(r, texts, ARRAY_SIZE(texts),
		                  "of link the fields driver, bus_path, pciid, kind and name can be "
		                  "compared, and hardware_addr and permanent_addr inside mac()");
	if (!take_word(r, "mac"))
		return fail(r, "a string, link.FIELD or mac(link.FIELD) belongs here");
	want(r, "(", "mac needs a '('");
	if (r->wrong == NULL && !take_word(r, "link"))
		(void) fail(r, "mac() takes link.hardware_addr or link.permanent_addr");
	i = read_field(r, macs, ARRAY_SIZE(macs),
	               "mac() takes link.hardware_addr or link.permanent_addr");
	want(r, ")", "a ')' is missing");
	return i;
}

static unsigned read_method(struct reader *r, unsigned left)
{
	static const struct field_name methods[] = {
	    {"startsWith", NODE_STARTS_WITH},
	    {"endsWith", NODE_ENDS_WITH},
	    {"contains", NODE_CONTAINS},
	};

	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		unsigned right;

		if (!take_word(r, methods[i].name))
			continue;
		want(r, "(", "a '(' is missing");
		right = read_text(r);
		want(r, ")", "a ')' is missing");
		return add_node(r, methods[i].type, left, right);
	}
	return fail(r, "startsWith, endsWith or contains belongs here");
}

static unsigned read_comparison(struct reader *r)
{
	unsigned left = read_text(r);

	if (r->wrong != NULL)
		return 0;
	if (take(r, "=="))
		return add_node(r, NODE_EQUAL, left, read_text(r));
	if (take(r, "!="))
		return add_node(r, NODE_DIFFERENT, left, read_text(r));
	if (take(r, "."))
		return read_method(r, left);
	return fail(r, "'==' or '!=' belongs here");
}

/* The other way round the device is the pattern: true where both are equal, which no device is to a
 * text with a wildcard. */
static unsigned read_glob(struct reader *r)
{
	const struct node *nodes = r->expression->nodes;
	unsigned left, right;

	want(r, "(", "glob needs a '('");
	left = read_text(r);
	want(r, ",", "glob takes a pattern and a text");
	right = read_text(r);
	if (r->wrong == NULL && nodes[left].type != NODE_STRING && nodes[right].type == NODE_STRING &&
	    strpbrk(nodes[right].text, "*?") != NULL)
		return fail(r, "glob takes the pattern first: glob(\"igb*\", link.driver)");
	want(r, ")", "a ')' is missing");
	return add_node(r, NODE_GLOB, left, right);
}

static unsigned read_or(struct reader *r);

static unsigned read_not(struct reader *r)
{
	unsigned left;

	if (r->wrong != NULL)
		return 0;
	if (take(r, "!")) {
		if (++r->depth > EXPRESSION_DEPTH_MAX)
			return fail(r, "the expression is nested too deep");
		left = read_not(r);
		r->depth--;
		return add_node(r, NODE_NOT, left, 0);
	}
	if (take(r, "(")) {
		left = read_or(r);
		want(r, ")", "a ')' is missing");
		return left;
	}
	if (take_word(r, "true"))
		return add_node(r, NODE_TRUE, 0, 0);
	if (take_word(r, "false"))
		return add_node(r, NODE_FALSE, 0, 0);
	if (!take_word(r, "glob"))
		return read_comparison(r);
	return read_glob(r);
}

static unsigned read_and(struct reader *r)
{
	unsigned left = read_not(r);

	while (r->wrong == NULL && take(r, "&&"))
		left = add_node(r, NODE_AND, left, read_not(r));
	return left;
}

static unsigned read_or(struct reader *r)
{
	unsigned left;

	if (++r->depth > EXPRESSION_DEPTH_MAX)
		return fail(r, "the expression is nested too deep");
	left = read_and(r);
	while (r->wrong == NULL && take(r, "||"))
		left = add_node(r, NODE_OR, left, read_and(r));
	r->depth--;
	return left;
}

int expression_parse(const char *text, const char **ret_wrong, size_t *ret_at,
                     struct expression **ret_expression)
{
	AUTO(expression_free) struct expression *expression = NEW0(struct expression);
	struct reader r = {.expression = expression, .text = text, .at = text};

	expression->root = read_or(&r);
	skip_space(&r);
	if (r.wrong == NULL && *r.at != '\0')
		(void) fail(&r, "'&&', '||' or the end belongs here");
	if (r.wrong != NULL) {
		*ret_wrong = r.wrong;
		*ret_at = (size_t) (r.wrong_at - text);
		return -EINVAL;
	}
	*ret_expression = TAKE_PTR(expression);
	return 0;
}

/* --- evaluating --- */

static const char *text_of(const struct node *node, const struct device *device,
                           char buf[static MAC_TEXT_MAX])
{
	switch (node->type) {
	case NODE_STRING:
		return node->text;
	case NODE_DRIVER:
		return device->driver;
	case NODE_BUS_PATH:
		return device->bus_path;
	case NODE_PCI_ID:
		return device->pci_id;
	case NODE_KIND:
		return device->kind;
	case NODE_NAME:
		return device->name;
	case NODE_MAC:
		return mac_format(&device->mac, buf);
	case NODE_PERMANENT_MAC:
		return device->has_permanent_mac ? mac_format(&device->permanent_mac, buf) : "";
	default:
		return "";
	}
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

static bool compare(const struct expression *e, const struct node *node,
                    const struct device *device)
{
	char left_buf[MAC_TEXT_MAX], right_buf[MAC_TEXT_MAX];
	const char *left = text_of(&e->nodes[node->left], device, left_buf);
	const char *right = text_of(&e->nodes[node->right], device, right_buf);

	switch (node->type) {
	case NODE_EQUAL:
		return strcmp(left, right) == 0;
	case NODE_DIFFERENT:
		return strcmp(left, right) != 0;
	case NODE_GLOB:
		return selector_glob(left, right);
	case NODE_STARTS_WITH:
		return strncmp(left, right, strlen(right)) == 0;
	case NODE_ENDS_WITH:
		return ends_with(left, right);
	default:
		return strstr(left, right) != NULL;
	}
}

/* As deep as the reading was. */
static bool is_true(const struct expression *e, unsigned i, const struct device *device)
{
	const struct node *node = &e->nodes[i];

	switch (node->type) {
	case NODE_OR:
		return is_true(e, node->left, device) || is_true(e, node->right, device);
	case NODE_AND:
		return is_true(e, node->left, device) && is_true(e, node->right, device);
	case NODE_NOT:
		return !is_true(e, node->left, device);
	case NODE_TRUE:
		return true;
	case NODE_FALSE:
		return false;
	default:
		return compare(e, node, device);
	}
}

bool expression_matches(const struct expression *expression, const struct device *device)
{
	return is_true(expression, expression->root, device);
}
