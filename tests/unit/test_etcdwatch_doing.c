/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker's lines come to. */
#include "etcdwatch/work/child.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "tests/unit/check.h"

/* One after the other. */
static const struct {
	const char *line, *told;
} rows[] = {
    {"{\"phase\":\"prove\"}", "{}"},
    {"{\"doing\":\"tree\",\"bytes\":5,\"of_bytes\":9}",
     "{\"doing\":\"tree\",\"bytes\":5,\"of_bytes\":9}"},
    {"{\"phase\":\"start\"}", "{\"doing\":\"tree\",\"bytes\":5,\"of_bytes\":9}"},
    /* A step that begins, of which nothing is known; and numbers that are none. */
    {"{\"doing\":\"restore\",\"name\":\"etcdutl\"}",
     "{\"doing\":\"restore\",\"bytes\":0,\"of_bytes\":0}"},
    {"{\"doing\":\"read\",\"bytes\":-1,\"of_bytes\":\"x\"}",
     "{\"doing\":\"read\",\"bytes\":0,\"of_bytes\":0}"},
    {"{\"doing\":\"a step that has a long name\"}",
     "{\"doing\":\"a step that has\",\"bytes\":0,\"of_bytes\":0}"},
};

int main(void)
{
	struct doing doing = {.bytes = 0};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *line = json_loads(rows[i].line, 0, NULL), *told = json_object();
		AUTO(free) char *text = NULL;

		doing_take(&doing, line);
		doing_put(&doing, told);
		text = json_dumps(told, JSON_COMPACT);
		CHECK_EQ_STR(text, rows[i].told);
		json_decref(line);
		json_decref(told);
	}
	return check_result();
}
