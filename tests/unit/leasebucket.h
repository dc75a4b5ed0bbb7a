/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The bucket of leases in a database that was made. */

#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "bolt/cursor.h"
#include "tests/unit/check.h"

/* As text: "id:ttl ". */
static inline UNUSED const char *leasebucket_text(struct bolt *db)
{
	static char text[512];
	AUTO(cursor_free) struct cursor *c = NULL;
	struct cursor_entry e;
	size_t len = 0;

	text[0] = '\0';
	if (!CHECK_EQ_INT(cursor_open_named(db, "lease", &c), 0))
		return text;
	while (cursor_next(c, &e) > 0 && len < sizeof(text))
		len += (size_t) snprintf(text + len, sizeof(text) - len, "%" PRIu64 ":%u ",
		                         bytes_be64(e.key.data), e.value.data[e.value.len - 1]);
	return text;
}
