/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Three members as the watchdog sees them, all of them well: n1, n2, n3. */

#include <stdio.h>

#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/rules/observation.h"

/* n2 leads. */
static inline UNUSED struct observation *threeseen_new(void)
{
	struct observation *o = NEW0(struct observation);

	o->list_known = true;
	o->n_members = 3;
	for (size_t i = 0; i < 3; i++) {
		struct observation_member *m = &o->members[i];

		*m = (struct observation_member){.id = i + 1,
		                                 .listed = true,
		                                 .answer = OBSERVED_GOOD,
		                                 .leader_id = 2,
		                                 .revision = (int64_t) (90 + i)};
		(void) snprintf(m->name, sizeof(m->name), "n%zu", i + 1);
		(void) snprintf(m->endpoint, sizeof(m->endpoint), "https://n%zu", i + 1);
		(void) snprintf(m->version, sizeof(m->version), "3.5.16");
	}
	return o;
}
