/* SPDX-License-Identifier: Apache-2.0 */
/* The list and its file, always together. */
#include "netconf/change/ledger.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "netconf/change/statedir.h"

#define FILE_NAME "owned.json"

struct ledger {
	char *path;
	struct owned *owned;
};

struct ledger *ledger_open(const char *state_dir)
{
	struct ledger *ledger = NEW0(struct ledger);
	int r;

	ledger->path = statedir_path(state_dir, FILE_NAME);
	r = owned_load(ledger->path, &ledger->owned);
	if (r < 0) {
		(void) log_warning_errno(r, "owned_unreadable",
		                         "path=%s reason=\"what it had is left alone from now on\"",
		                         ledger->path);
		ledger->owned = owned_new();
	}
	return ledger;
}

void ledger_free(struct ledger *ledger)
{
	if (ledger == NULL)
		return;
	owned_free(ledger->owned);
	free(ledger->path);
	free(ledger);
}

const struct owned *ledger_owned(const struct ledger *ledger)
{
	return ledger != NULL ? ledger->owned : NULL;
}

int ledger_expect(struct ledger *ledger, const struct model *have, const struct plan *plan)
{
	owned_expect(ledger->owned, plan, have);
	return owned_save(ledger->owned, ledger->path);
}

void ledger_expect_or_warn(struct ledger *ledger, const struct model *have, const struct plan *plan)
{
	int r = ledger_expect(ledger, have, plan);

	if (r < 0)
		(void) log_warning_errno(r, "owned_unwritten",
		                         "path=%s reason=\"the steps are carried out nevertheless\"",
		                         ledger->path);
}

void ledger_settle(struct ledger *ledger, const struct model *have, const struct model *want)
{
	int r;

	owned_settle(ledger->owned, want, have);
	r = owned_save(ledger->owned, ledger->path);
	if (r < 0)
		(void) log_warning_errno(r, "owned_unwritten", "path=%s", ledger->path);
}
