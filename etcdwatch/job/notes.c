/* SPDX-License-Identifier: Apache-2.0 */
/* Counting, and saying it once. */
#include "etcdwatch/job/notes.h"

#include <stdio.h>

#include "base/log.h"
#include "base/mono.h"

void notes_error(struct notes *n, const char *text)
{
	(void) snprintf(n->error, sizeof(n->error), "%s", text);
	n->error_s = wall_now_us() / US_PER_S;
}

static void note_not_compared(struct notes *n, const char *job, const struct run_result *result)
{
	char text[NOTES_TEXT_MAX];

	n->counts.not_compared++;
	(void) snprintf(text, sizeof(text), "%s was not compared with another member: %s", result->id,
	                result->not_compared);
	notes_error(n, text);
	log_warning("snapshot_not_compared", "job=%s id=%s reason=\"%s\"", job, result->id,
	            result->not_compared);
}

static void note_disagreed(struct notes *n, const char *job, const struct run_result *result)
{
	char text[NOTES_TEXT_MAX];

	(void) snprintf(text, sizeof(text),
	                "member '%s' holds other data than '%s' and the snapshot: it may be corrupt",
	                result->disagreed, result->agreed);
	notes_error(n, text);
	log_error("member_differs", "job=%s id=%s reason=\"%s\"", job, result->id, text);
}

void notes_kept(struct notes *n, const char *job, const struct run_result *result)
{
	n->counts.kept++;
	n->last_took_us = result->took_us;
	n->error[0] = '\0';
	if (result->agreed[0] == '\0')
		note_not_compared(n, job, result);
	else if (result->disagreed[0] != '\0')
		note_disagreed(n, job, result);
	log_notice("snapshot_kept", "job=%s id=%s agreed=%s dur_ms=%lld", job, result->id,
	           result->agreed[0] != '\0' ? result->agreed : "-",
	           (long long) (result->took_us / US_PER_MS));
}
