/* SPDX-License-Identifier: Apache-2.0 */
/* Each line is flushed, so that the caller sees it when it is printed. */
#include "etcdwatch/worker/common/result.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/jsonval.h"

static bool print(json_t *object)
{
	bool ok = object != NULL && json_dumpf(object, stdout, JSON_COMPACT) == 0 &&
	          putchar('\n') != EOF && fflush(stdout) == 0;

	json_decref(object);
	return ok;
}

void result_line(json_t *object)
{
	(void) print(object);
}

void result_doing(const char *step, const char *name)
{
	result_line(json_pack("{s:s, s:o}", "doing", step, "name", jsonval_text(name)));
}

int result_ok(json_t *fields)
{
	json_t *object = json_pack("{s:b}", "ok", 1);

	assert(fields != NULL);
	(void) json_object_update(object, fields);
	json_decref(fields);
	return print(object) ? EXIT_SUCCESS : EXIT_FAILURE;
}

int result_fail(const struct problem *problem)
{
	return result_fail_with(problem, NULL);
}

int result_fail_with(const struct problem *problem, json_t *fields)
{
	json_t *object = json_pack("{s:b, s:s, s:o}", "ok", 0, "error", problem->code, "reason",
	                           jsonval_text(problem->reason));

	if (fields != NULL)
		(void) json_object_update(object, fields);
	json_decref(fields);
	(void) print(object);
	return EXIT_FAILURE;
}
