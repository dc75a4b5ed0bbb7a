/* SPDX-License-Identifier: Apache-2.0 */
/* The file stands beside the data directory: there is room for what is made of it, and only root
 * looks there. */
#include "cli/restore/restorerebuild.h"

#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/common/table.h"

#define DEFAULT_RECORD "/var/lib/fairlead/etcdwatch/record"
#define SUFFIX ".rebuilt.db"
#define TO_END "end"

bool restorerebuild_is_wanted(const struct restoreoptions *o)
{
	return o->to_revision != NULL || o->to_time != NULL;
}

/* NULL: the one in the target. */
static const char *choose_record(const struct restoreoptions *o, const struct snapshotsource *base)
{
	const char *here = base->record != NULL ? base->record : DEFAULT_RECORD;

	if (o->record != NULL)
		return o->record;
	if (base->target != NULL && (base->has_record || access(here, F_OK) < 0))
		return NULL;
	return here;
}

/* To be freed. */
static char *choose_file(const struct restoreoptions *o)
{
	size_t len = strlen(o->wish.data_dir);

	if (o->rebuilt != NULL)
		return xstrdup(o->rebuilt);
	while (len > 1 && o->wish.data_dir[len - 1] == '/')
		len--;
	return xasprintf("%.*s" SUFFIX, (int) len, o->wish.data_dir);
}

int restorerebuild_run(const struct restoreoptions *o, const struct snapshotsource *base,
                       worker_line_fn line, void *userdata, json_t **ret_made)
{
	const char *record = choose_record(o, base);
	AUTO(free) char *file = choose_file(o);
	struct texts words = {0};
	int code;

	texts_add(&words, "rebuild");
	if (record != NULL)
		texts_add_option(&words, "--record", record);
	else
		texts_add(&words, "--record-stored");
	texts_add_option(&words, "--output", file);
	texts_add_option(&words, "--base", base->name);
	if (o->to_time != NULL)
		texts_add_option(&words, "--to-time", o->to_time);
	/* Also when both were given: the worker says what is wrong with that. */
	if (o->to_revision != NULL && strcmp(o->to_revision, TO_END) != 0)
		texts_add_option(&words, "--to-revision", o->to_revision);
	texts_add_option(&words, "--history", o->history);
	texts_add_all(&words, &base->find);
	texts_add_all(&words, &base->decrypt);
	code = worker_run(&words, line, userdata, ret_made);
	texts_fini(&words);
	return code;
}

/* --- for people --- */

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

static long long number_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static void print_fetched(FILE *out, const json_t *fetched)
{
	const json_t *keys = json_object_get(fetched, "keys");

	if (!json_is_object(fetched))
		return;
	(void) fprintf(out, "fetched   the record of ");
	table_print_safe(out, text_of(fetched, "node"));
	(void) fprintf(out, ": %lld segments, %lld bytes\n", number_of(fetched, "segments"),
	               number_of(fetched, "bytes"));
	for (size_t i = 0; i < json_array_size(keys); i++) {
		const char *key = json_string_value(json_array_get(keys, i));

		(void) fputs("signed    by ", out);
		table_print_safe(out, key != NULL ? key : "?");
		(void) fputc('\n', out);
	}
	if (text_of(fetched, "passed")[0] == '\0')
		return;
	(void) fputs("passed    another record was passed over: ", out);
	table_print_safe(out, text_of(fetched, "passed"));
	(void) fputc('\n', out);
}

static void print_record(FILE *out, const json_t *made)
{
	const json_t *record = json_object_get(made, "record");

	if (!json_is_object(record)) {
		(void) fputs("record    none was needed\n", out);
		return;
	}
	(void) fprintf(out, "record    %lld changes behind that; it reaches to revision %lld, %s\n",
	               number_of(made, "events"), number_of(record, "last"), text_of(record, "until"));
	(void) fprintf(out, "agreed    with %lld of what is in both, %lld HashKV of members\n",
	               number_of(made, "same_events"), number_of(made, "hashes_agreed"));
}

/* "revisions 12 to 90, 2026-11-21T20:30:00Z to ..., recorded in FILE" */
static void print_history(FILE *out, const json_t *history)
{
	const char *segment = text_of(history, "segment"), *base = text_of(history, "base");

	(void) fprintf(out, "revisions %lld to %lld, %s to %s, ", number_of(history, "first"),
	               number_of(history, "last"), text_of(history, "from"), text_of(history, "until"));
	if (segment[0] != '\0')
		(void) fprintf(out, "recorded from %s on", segment);
	else
		table_print_safe(out, base);
	if (json_is_null(json_object_get(history, "base")))
		(void) fputs("; there is no snapshot to begin with", out);
}

void restorerebuild_print_histories(FILE *out, const json_t *histories)
{
	const json_t *history;
	size_t i;

	json_array_foreach(histories, i, history)
	{
		(void) fprintf(out, "history   %lld: ", number_of(history, "history"));
		print_history(out, history);
		(void) fputc('\n', out);
	}
}

void restorerebuild_print(FILE *out, const json_t *made)
{
	const json_t *base = json_object_get(made, "base");
	long long n_unknown = number_of(made, "unknown_leases");

	(void) fprintf(out, "rebuilt   revision %lld", number_of(made, "revision"));
	if (text_of(made, "time")[0] != '\0')
		(void) fprintf(out, ", of %s", text_of(made, "time"));
	(void) fputs(", in ", out);
	table_print_safe(out, text_of(made, "file"));
	(void) fputs(", which stays\nbase      ", out);
	table_print_safe(out, text_of(base, "origin"));
	(void) fprintf(out, ", revision %lld\n", number_of(base, "revision"));
	print_fetched(out, json_object_get(made, "fetched"));
	print_record(out, made);
	(void) fprintf(out, "history   %lld of %lld that have it: ",
	               number_of(json_object_get(made, "history"), "history"),
	               number_of(made, "histories"));
	print_history(out, json_object_get(made, "history"));
	(void) fputc('\n', out);
	if (n_unknown > 0)
		(void) fprintf(out,
		               "leases    %lld are not known: keys on them stay until they are deleted\n",
		               n_unknown);
}
