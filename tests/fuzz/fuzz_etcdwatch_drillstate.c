/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer's entry point for what is remembered of drills: what is read is printed, and reads back
 * as the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "etcdwatch/drill/drillstate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct drillstate state, again;
	char *text, *same;

	if (drillstate_parse((const char *) data, size, &state) < 0)
		return 0;
	text = drillstate_print(&state);
	if (text == NULL || drillstate_parse(text, strlen(text), &again) < 0)
		abort();
	same = drillstate_print(&again);
	if (strcmp(text, same) != 0)
		abort();
	free(text);
	free(same);
	drillstate_fini(&state);
	drillstate_fini(&again);
	return 0;
}
