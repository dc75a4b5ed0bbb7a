/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a daemon's tables of configuration say of each key, as JSON, an object a line: for
 * docs/generate, which makes the reference tables of it. Linked with each daemon in turn.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/conf.h"
#include "base/conf_check.h"
#include "base/mem.h"

extern const struct conf_kind config_kinds[]; /* the daemon's */

static bool ends_in(const char *key, const char *end)
{
	return strlen(key) >= strlen(end) && strcmp(key + strlen(key) - strlen(end), end) == 0;
}

static char *choice_words(const struct conf_field *field)
{
	char *words = xstrdup("");

	for (size_t i = 0; field->choices[i] != NULL; i++) {
		char *longer = xasprintf("%s%s`%s`", words, i > 0 ? ", " : "", field->choices[i]);

		free(words);
		words = longer;
	}
	return words;
}

static char *range_words(const struct conf_field *field)
{
	char low[CONF_DURATION_TEXT_MAX], high[CONF_DURATION_TEXT_MAX];

	if (field->type == &conf_duration)
		return xasprintf("%s%s to %s", (field->flags & CONF_OR_ZERO) != 0 ? "0, or " : "",
		                 field->min != 0 ? conf_format_duration(field->min, low) : "0",
		                 conf_format_duration(field->max, high));
	if (field->type == &conf_bytes)
		return xasprintf("%s to %s", conf_format_bytes(field->min, low),
		                 conf_format_bytes(field->max, high));
	return xasprintf("%lld to %lld", (long long) field->min, (long long) field->max);
}

/* The caller frees it. */
static char *type_words(const struct conf_field *field)
{
	if (field->word != NULL)
		return xstrdup(field->word);
	if (field->choices != NULL)
		return choice_words(field);
	if (field->type->is_map)
		return xstrdup(conf_map.word);
	if (field->check == conf_check_server_name)
		return xstrdup("DNS name or address");
	if (field->check == conf_check_prefix)
		return xstrdup("letters, digits, `/._-`, 128 characters");
	if (field->check != NULL && (ends_in(field->key, "ile") || ends_in(field->key, "kubeconfig")))
		return xstrdup("file");
	if (field->max != 0 && field->type != &conf_strings && field->type != &conf_list)
		return range_words(field);
	return xstrdup(field->type->word);
}

static char *default_words(const struct conf_field *field)
{
	if (field->def_word != NULL)
		return xstrdup(field->def_word);
	if (field->def != NULL)
		return xasprintf("`%s`", field->def);
	if ((field->flags & CONF_REQUIRED) != 0)
		return xstrdup("required");
	return xstrdup(field->type->is_map ? "see below" : "none");
}

static void print_keys(const char *kind, const char *section, const struct conf_field *fields)
{
	for (const struct conf_field *f = fields; f != NULL && f->key != NULL; f++) {
		AUTO(free) char *path = xasprintf("%s%s%s", section, section[0] != '\0' ? "." : "", f->key);
		AUTO(free) char *type = NULL, *def = NULL;
		json_t *json;

		if (f->doc == NULL || f->type == NULL)
			continue;
		type = type_words(f);
		def = default_words(f);
		json = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "kind", kind, "section", section, "key",
		                 f->key, "type", type, "default", def, "doc", f->doc);
		(void) json_dumpf(json, stdout, JSON_COMPACT);
		(void) putchar('\n');
		json_decref(json);
		print_keys(kind, path, f->fields);
	}
}

int main(void)
{
	for (const struct conf_kind *k = config_kinds; k->kind != NULL; k++)
		print_keys(k->kind, "", k->fields);
	return 0;
}
