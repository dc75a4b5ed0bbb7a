/* SPDX-License-Identifier: Apache-2.0 */
/* Two lines, and a third while the receiver fails. */
#include "cli/etcd/notify_render.h"

#include "base/macro.h"
#include "cli/common/fields.h"
#include "cli/common/table.h"

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
