/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `etcd record status`: one line for each thing to know, and what is wrong at the end. `etcd notify`:
 * the webhook that is told of findings.
 */
#include "cli/common/cli.h"

#include "base/macro.h"
#include "base/mono.h"
#include "cli/common/table.h"
#include "cli/common/fields.h"

static void line(FILE *out, const char *name, const char *text)
{
	(void) fprintf(out, "%-18s ", name);
	table_print_safe(out, text);
	(void) fputc('\n', out);
}

static void render_reach(FILE *out, const json_t *status)
{
	const char *until = field_text(status, "recoverable_until");

	(void) fprintf(out, "%-18s ", "recoverable until");
	if (until == NULL) {
		(void) fputs("-\n", out);
		return;
	}
	table_print_safe(out, until);
	(void) fprintf(out, " (%.1f s ago), revision %" JSON_INTEGER_FORMAT "\n",
	               (double) field_integer(status, "recoverable_age_ms") / 1000,
	               field_integer(status, "last_revision"));
	(void) fprintf(out, "%-18s revision %" JSON_INTEGER_FORMAT ", ", "from",
	               field_integer(status, "first_revision"));
	table_print_safe(out, field_text_or_dash(status, "since"));
	(void) fputc('\n', out);
}

static void render_gaps(FILE *out, const json_t *status)
{
	const json_t *gap = json_object_get(status, "last_gap");

	if (!json_is_object(gap))
		return;
	color_print_state(out, "warning: ");
	(void) fprintf(
	    out,
	    "%" JSON_INTEGER_FORMAT
	    " gaps since the daemon was started; the last from revision %" JSON_INTEGER_FORMAT,
	    field_integer(status, "gaps"), field_integer(gap, "first_revision"));
	if (field_integer(gap, "last_revision") > 0)
		(void) fprintf(out, " to %" JSON_INTEGER_FORMAT, field_integer(gap, "last_revision"));
	(void) fputs(", at ", out);
	table_print_safe(out, field_text_or_dash(gap, "at"));
	(void) fputs(": ", out);
	table_print_safe(out, field_text_or_dash(gap, "reason"));
	(void) fputc('\n', out);
}

static void render_target(FILE *out, const json_t *target)
{
	const char *until = field_text(target, "recoverable_until");
	const char *error = field_text(target, "error"), *passed = field_text(target, "not_uploaded");
	char size[SIZE_TEXT_MAX];

	(void) fprintf(out, "%-18s ", "target");
	table_print_safe(out, field_text_or_dash(target, "target"));
	(void) fputs(" of ", out);
	table_print_safe(out, field_text_or_dash(target, "job"));
	(void) fputs(": until ", out);
	table_print_safe(out, until != NULL ? until : "-");
	if (until != NULL)
		(void) fprintf(out, " (%.1f s ago), revision %" JSON_INTEGER_FORMAT,
		               (double) field_integer(target, "recoverable_age_ms") / 1000,
		               field_integer(target, "last_revision"));
	(void) fprintf(out, ", %s uploaded, ",
	               size_text(field_integer(target, "uploaded_bytes"), size));
	table_print_safe(out, field_text_or_dash(target, "state"));
	(void) fputc('\n', out);
	if (json_is_true(json_object_get(target, "is_late"))) {
		color_print_state(out, "warning: ");
		(void) fputs("what was recorded since then is lost if all nodes are: the upload is late\n",
		             out);
	}
	if (error != NULL) {
		color_print_state(out, "warning: ");
		(void) fputs("the last upload failed at ", out);
		table_print_safe(out, field_text_or_dash(target, "error_at"));
		(void) fputs(": ", out);
		table_print_safe(out, error);
		(void) fputc('\n', out);
	}
	if (passed != NULL) {
		color_print_state(out, "warning: ");
		(void) fputs("a segment is not uploaded: ", out);
		table_print_safe(out, passed);
		(void) fputc('\n', out);
	}
}

static void render_targets(FILE *out, const json_t *status)
{
	const json_t *targets = json_object_get(status, "targets");
	json_int_t unsent = field_integer(status, "removed_unsent");

	for (size_t i = 0; i < json_array_size(targets); i++)
		render_target(out, json_array_get(targets, i));
	if (unsent == 0)
		return;
	color_print_state(out, "warning: ");
	(void) fprintf(out,
	               "%" JSON_INTEGER_FORMAT
	               " segments were removed for maxSize before each target had them\n",
	               unsent);
}

void record_render(FILE *out, const json_t *objects, int64_t wall_now_us UNUSED)
{
	const json_t *status = json_array_get(objects, 0);
	const char *error = field_text(status, "error");
	char size[SIZE_TEXT_MAX];

	line(out, "state", field_text_or_dash(status, "state"));
	line(out, "directory", field_text_or_dash(status, "directory"));
	line(out, "member", field_text_or_dash(status, "member"));
	render_reach(out, status);
	(void) fprintf(out,
	               "%-18s %s in %" JSON_INTEGER_FORMAT " segments, %" JSON_INTEGER_FORMAT
	               " unbroken chains\n",
	               "kept", size_text(field_integer(status, "bytes"), size),
	               field_integer(status, "segments"), field_integer(status, "chains"));
	if (error != NULL) {
		color_print_state(out, "warning: ");
		(void) fputs("nothing is recorded: ", out);
		table_print_safe(out, error);
		(void) fputc('\n', out);
	}
	if (field_is_true(status, "more_than_max_size")) {
		color_print_state(out, "warning: ");
		(void) fputs("more than maxSize is kept, because the newest snapshot needs it: take "
		             "snapshots more often, or give it more room\n",
		             out);
	}
	render_targets(out, status);
	render_gaps(out, status);
}

int record_code(const json_t *objects)
{
	const json_t *status = json_array_get(objects, 0);

	return field_text(status, "error") == NULL ? CLI_OK : CLI_FAILED;
}

/* --- the webhook --- */

/* Two lines, and a third while the receiver fails. */
void notify_render_status(FILE *out, const json_t *objects, int64_t wall_now_us UNUSED)
{
	const json_t *status = json_array_get(objects, 0);

	table_print_safe(out, field_text_or_dash(status, "to"));
	(void) fputs(": ", out);
	table_print_safe(out, field_text_or_dash(status, "state"));
	(void) fprintf(out, ", %" JSON_INTEGER_FORMAT " waiting\n", field_integer(status, "queued"));
	(void) fprintf(out,
	               "%" JSON_INTEGER_FORMAT " delivered, %" JSON_INTEGER_FORMAT
	               " superseded, %" JSON_INTEGER_FORMAT " refused, %" JSON_INTEGER_FORMAT
	               " given up, %" JSON_INTEGER_FORMAT " overflowed; the last delivery: ",
	               field_integer(status, "delivered"), field_integer(status, "superseded"),
	               field_integer(status, "refused"), field_integer(status, "given_up"),
	               field_integer(status, "overflowed"));
	table_print_safe(out, field_text_or_dash(status, "delivered_at"));
	(void) fputc('\n', out);
	if (field_text(status, "error") == NULL)
		return;
	(void) fputs("error at ", out);
	table_print_safe(out, field_text_or_dash(status, "error_at"));
	(void) fputs(": ", out);
	table_print_safe(out, field_text_or_dash(status, "error"));
	if (json_is_integer(json_object_get(status, "next_s")))
		(void) fprintf(out, "; the next attempt in %" JSON_INTEGER_FORMAT " s",
		               field_integer(status, "next_s"));
	(void) fputc('\n', out);
}

void notify_render_test(FILE *out, const json_t *objects, int64_t wall_now_us UNUSED)
{
	const json_t *answer = json_array_get(objects, 0);

	(void) fprintf(out,
	               "delivered: status %" JSON_INTEGER_FORMAT " after %" JSON_INTEGER_FORMAT " ms\n",
	               field_integer(answer, "status"), field_integer(answer, "took_ms"));
}

/* The longest that is configured, and more. */
#define TEST_TIMEOUT_US (150 * US_PER_S)

int cli_etcd_notify_test(const struct cli *cli, int argc UNUSED, char **argv UNUSED)
{
	const char *words[] = {"etcd", "notify", "test"};
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	int code = cli_ask(cli, "etcdwatch", words, ARRAY_SIZE(words), TEST_TIMEOUT_US, &answer);

	if (code != CLI_OK)
		return code;
	if (cli->output != CLI_TABLE)
		cli_print_answer(cli, answer);
	else
		notify_render_test(stdout, answer->objects, wall_now_us());
	return code;
}
