/* SPDX-License-Identifier: Apache-2.0 */
/* What `fairlead etcd snapshot usage latest` makes of the list of snapshots, to the byte. */
#include "cli/snapshot/usage.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "tests/unit/check.h"

static const char *const lists[] = {
    /* None that was counted: of an older program, a target that does not answer, another version.
     */
    "[]",
    "[{\"id\":\"a\",\"started\":\"2026-11-21T20:30:00Z\"},{\"target\":\"site\",\"error\":\"no\"},"
    "{\"usage\":{\"largest\":[]}},{\"id\":\"b\",\"usage\":{\"largest\":7}},7]",
    /* The newest is neither the first nor the last. */
    "[{\"id\":\"a\",\"started\":\"2026-11-21T20:30:00Z\",\"usage\":{\"bytes\":1,\"missing\":0,"
    "\"largest\":[]}},"
    "{\"id\":\"b\\u001b\",\"started\":\"2026-11-21T20:31:00Z\",\"usage\":{\"bytes\":100000,"
    "\"missing\":1500,\"largest\":[{\"prefix\":\"/registry/events\",\"bytes\":81200},"
    "{\"prefix\":\"/registry/leases\",\"bytes\":9000}]}},"
    "{\"id\":\"c\",\"started\":\"2026-11-21T20:32:00Z\"}]",
    /* All are named, and nothing is missing. */
    "[{\"id\":\"a\",\"started\":\"2026-11-21T20:30:00Z\",\"usage\":{\"bytes\":50,\"missing\":0,"
    "\"largest\":[{\"prefix\":\"/registry\",\"bytes\":50}]}}]",
    /* An empty etcd; and a daemon of another version. */
    "[{\"id\":\"a\",\"usage\":{\"largest\":[{}]}}]",
};

static const struct {
	const char *table, *lines;
} wants[] = {
    {NULL, NULL},
    {NULL, NULL},
    {"PREFIX             BYTES   SHARE\n"
     "/registry/events   81 kB   81.2%\n"
     "/registry/leases  9.0 kB    9.0%\n"
     "(others)          9.8 kB    9.8%\n"
     "(all)             100 kB  100.0%\n"
     "in b?; each may have up to 1.5 kB more\n",
     "{\"id\":\"b\\u001B\",\"prefix\":\"/registry/events\",\"bytes\":81200,\"missing\":1500}\n"
     "{\"id\":\"b\\u001B\",\"prefix\":\"/registry/leases\",\"bytes\":9000,\"missing\":1500}\n"
     "{\"id\":\"b\\u001B\",\"prefix\":null,\"bytes\":9800,\"missing\":0}\n"},
    {"PREFIX     BYTES   SHARE\n"
     "/registry   50 B  100.0%\n"
     "(all)       50 B  100.0%\n"
     "in a\n",
     "{\"id\":\"a\",\"prefix\":\"/registry\",\"bytes\":50,\"missing\":0}\n"},
    {"PREFIX  BYTES  SHARE\n"
     "-         0 B   0.0%\n"
     "(all)     0 B   0.0%\n"
     "in a\n",
     "{\"id\":\"a\",\"prefix\":\"-\",\"bytes\":0,\"missing\":0}\n"},
};

static void check_text(void (*print)(FILE *out, const json_t *snapshot), const json_t *snapshot,
                       const char *want)
{
	AUTO(free) char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	print(out, snapshot);
	(void) fclose(out);
	CHECK_EQ_STR(text, want);
}

static void print_parts(FILE *out, const json_t *snapshot)
{
	json_t *parts = usage_parts(snapshot), *part;
	size_t i;

	json_array_foreach(parts, i, part)
	{
		(void) json_dumpf(part, out, JSON_COMPACT);
		(void) fputc('\n', out);
	}
	json_decref(parts);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		json_t *list = json_loads(lists[i], 0, NULL);
		const json_t *newest = usage_find_newest(list);

		CHECK(list != NULL);
		if (CHECK_EQ_INT(newest != NULL, wants[i].table != NULL) && newest != NULL) {
			check_text(usage_render, newest, wants[i].table);
			check_text(print_parts, newest, wants[i].lines);
		}
		json_decref(list);
	}
	return check_result();
}
