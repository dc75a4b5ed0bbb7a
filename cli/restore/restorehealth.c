/* SPDX-License-Identifier: Apache-2.0 */
/* A revision is what a member has applied, so members differ while clients write. Equal revisions
 * may never be seen; one that all have reached will be. */
#include "cli/restore/restorehealth.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/mono.h"
#include "cli/cli.h"
#include "cli/common/table.h"

#define TIMEOUT_US (180 * US_PER_S)
#define STEP_TIMEOUT_US (60 * US_PER_S)
#define POLL_MS 500

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

static int64_t revision_of(const json_t *said)
{
	return json_integer_value(json_object_get(said, "revision"));
}

/* --- pure --- */

/* To be freed; NULL: it is a healthy member of the cluster. */
static char *find_fault(const json_t *said, const char *cluster_id)
{
	if (said == NULL)
		return xstrdup("it does not answer");
	if (!json_is_true(json_object_get(said, "healthy")))
		return xasprintf("it is not healthy: %s", text_of(said, "reason"));
	if (strcmp(text_of(said, "cluster_id"), cluster_id) != 0)
		return xasprintf("it is in the cluster %s, and not in %s", text_of(said, "cluster_id"),
		                 cluster_id);
	return NULL;
}

size_t restorehealth_judge(uint64_t cluster_id, const json_t *const *said, size_t n,
                           int64_t *revision, char **ret_why)
{
	AUTO(free) char *id = xasprintf("%" PRIx64, cluster_id);
	int64_t highest = 0;

	for (size_t i = 0; i < n; i++) {
		AUTO(free) char *why = find_fault(said[i], id);

		if (why != NULL) {
			*ret_why = TAKE_PTR(why);
			return i;
		}
		highest = MAX(highest, revision_of(said[i]));
	}
	if (*revision == 0)
		*revision = highest;
	for (size_t i = 0; i < n; i++) {
		if (revision_of(said[i]) >= *revision)
			continue;
		*ret_why = xasprintf("it is healthy, but stays behind: it is at revision %" PRId64
		                     ", and another member was at %" PRId64 " before",
		                     revision_of(said[i]), *revision);
		return i;
	}
	return n;
}

/* --- asking --- */

static void on_answer(const struct remote_answer *answer, void *userdata)
{
	(void) json_object_set(userdata, answer->node, json_array_get(answer->objects, 0));
}

static int ask(const struct restorenodes *nodes, uint64_t who, json_t *said)
{
	struct texts words = {0};
	int code;

	json_object_clear(said);
	texts_add(&words, "health");
	texts_add_option(&words, "--token", nodes->token);
	code = restorenodes_step(nodes, who, &words, NULL, 0, STEP_TIMEOUT_US, on_answer, said);
	texts_fini(&words);
	return code;
}

static int refuse(const char *node, const char *why)
{
	(void) fputs("fairlead: ", stderr);
	table_print_safe(stderr, node);
	(void) fputs(": ", stderr);
	table_print_safe(stderr, why);
	(void) fputs("; see the log of etcd there, then repeat the command with --resume\n", stderr);
	return CLI_FAILED;
}

int restorehealth_wait(const struct restorenodes *nodes, struct restorehealth *health)
{
	const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
	const int64_t give_up_us = mono_now_us() + TIMEOUT_US;

	health->revision = 0;
	for (;;) {
		const json_t *said[RESTORE_NODES_MAX];
		const char *names[RESTORE_NODES_MAX];
		AUTO(free) char *why = NULL;
		size_t n = 0, first;
		/* Also members that an earlier command saw healthy: they and the rest are one cluster. */
		int code = ask(nodes, restorenodes_all(nodes), health->said);

		if (code != CLI_OK)
			return code;
		for (size_t i = 0; i < nodes->cluster->n_members; i++) {
			if (nodes->excused[i])
				continue;
			names[n] = restorenodes_name(nodes, i);
			said[n] = json_object_get(health->said, names[n]);
			n++;
		}
		first = restorehealth_judge(nodes->cluster->id, said, n, &health->revision, &why);
		if (first == n)
			return CLI_OK;
		if (mono_now_us() >= give_up_us)
			return refuse(names[first], why);
		(void) nanosleep(&pause, NULL);
	}
}
