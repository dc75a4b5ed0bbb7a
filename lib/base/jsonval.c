/* SPDX-License-Identifier: Apache-2.0 */
/* What a report says may come from a file or from a peer, and must not spoil the whole line. */
#include "base/jsonval.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/mem.h"

json_t *jsonval_text(const char *text)
{
	AUTO(free) char *ascii = NULL;
	json_t *json;

	if (text == NULL)
		return json_null();
	json = json_string(text);
	if (json != NULL)
		return json;
	ascii = xstrdup(text);
	for (char *p = ascii; *p != '\0'; p++)
		*p = (unsigned char) *p >= 0x80 ? '?' : *p;
	return json_string(ascii);
}

json_t *jsonval_tenths(int64_t us, int64_t unit_us)
{
	return json_real(round((double) us * 10 / (double) unit_us) / 10);
}
