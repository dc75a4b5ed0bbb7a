/* SPDX-License-Identifier: Apache-2.0 */
/* A node is known by the name by which it is reached until it has said which member it is. */
#include "cli/restore/restorenodes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/conf_check.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/fields.h"
#include "cli/common/table.h"
#include "cli/nodes/nodelist.h"

#define SURVEY_TIMEOUT_US (60 * US_PER_S)

static void say(const char *node, const char *what)
{
	table_line(stderr, "fairlead: %s: %s", node, what);
}

/* --- which nodes --- */

void restorenodes_fini(struct restorenodes *nodes)
{
	for (size_t i = 0; i < nodes->n; i++) {
		free(nodes->nodes[i].name);
		free(nodes->nodes[i].why);
		json_decref(nodes->nodes[i].survey);
	}
	free(nodes->nodes);
}

static void add(struct restorenodes *nodes, const char *name)
{
	nodes->nodes = xreallocarray(nodes->nodes, nodes->n + 1, sizeof(*nodes->nodes));
	nodes->nodes[nodes->n++] = (struct restorenode){.name = xstrdup(name), .member = SIZE_MAX};
}

static int add_all_members(struct restorenodes *nodes)
{
	for (size_t i = 0; i < nodes->cluster->n_members; i++) {
		struct conf_url url;

		if (nodes->excused[i])
			continue;
		if (conf_parse_url(nodes->cluster->members[i].peer_urls[0], &url) != NULL) {
			say(nodes->cluster->members[i].name, "its peer URL names no host: --nodes NODE,...");
			return CLI_USAGE;
		}
		add(nodes, url.host);
	}
	return CLI_OK;
}

static int excuse(struct restorenodes *nodes, const struct texts *without)
{
	for (size_t i = 0; i < without->n; i++) {
		const struct newcluster_member *member = newcluster_find(nodes->cluster, without->items[i]);

		if (member == NULL) {
			(void) fprintf(stderr, "fairlead: --without: there is no member '%s' in %s\n",
			               without->items[i], nodes->initial_cluster);
			return CLI_USAGE;
		}
		nodes->excused[member - nodes->cluster->members] = true;
	}
	return CLI_OK;
}

static int add_list(struct restorenodes *nodes, const struct cli *cli)
{
	struct texts names = {0};
	int code = nodelist_resolve(cli, &names);

	for (size_t i = 0; code == CLI_OK && i < names.n; i++)
		add(nodes, names.items[i]);
	texts_fini(&names);
	return code;
}

int restorenodes_name_all(struct restorenodes *nodes, const struct cli *cli)
{
	int code = add_list(nodes, cli);

	for (size_t i = 0; i < nodes->n; i++)
		nodes->nodes[i].reached = true;
	return code;
}

int restorenodes_init(struct restorenodes *nodes, const struct cli *cli,
                      const struct texts *without)
{
	int code;

	if (nodes->cluster->n_members > RESTORE_NODES_MAX) {
		(void) fprintf(stderr, "fairlead: --nodes is for at most %d members\n", RESTORE_NODES_MAX);
		return CLI_USAGE;
	}
	code = excuse(nodes, without);
	if (code != CLI_OK)
		return code;
	return strcmp(cli->nodes, "all") == 0 ? add_all_members(nodes) : add_list(nodes, cli);
}

/* --- running --- */

static const char *const step[] = {"-o", "json", "etcd", "restore", "step", NULL};

static void add_words(struct texts *words, const char *const *more)
{
	for (; *more != NULL; more++)
		texts_add(words, "%s", *more);
}

const struct restorenode *restorenodes_of(const struct restorenodes *nodes, size_t member)
{
	for (size_t i = 0; i < nodes->n; i++) {
		if (nodes->nodes[i].member == member)
			return &nodes->nodes[i];
	}
	return NULL;
}

uint64_t restorenodes_all(const struct restorenodes *nodes)
{
	uint64_t who = 0;

	for (size_t i = 0; i < nodes->cluster->n_members; i++)
		who |= nodes->excused[i] ? 0 : UINT64_C(1) << i;
	return who;
}

/* The name of the node that is this member, else the member's. */
static const char *restorenodes_name(const struct restorenodes *nodes, size_t member)
{
	const struct restorenode *node = restorenodes_of(nodes, member);

	return node != NULL ? node->name : nodes->cluster->members[member].name;
}

char *restorenodes_names(const struct restorenodes *nodes, uint64_t who)
{
	char *text = xstrdup("");

	for (size_t i = 0; i < nodes->cluster->n_members; i++) {
		AUTO(free) char *before = NULL;

		if ((who >> i & 1) == 0)
			continue;
		before = text;
		text =
		    xasprintf("%s%s%s", before, before[0] != '\0' ? ", " : "", restorenodes_name(nodes, i));
	}
	return text;
}

/* Why it is no good answer; NULL: it is one. */
static const char *reason_of(const struct remote_answer *answer)
{
	if (answer->outcome == REMOTE_DONE && answer->exit_code == CLI_OK)
		return NULL;
	return answer->error != NULL ? answer->error : remote_outcome_name(answer->outcome);
}

int restorenodes_step(const struct restorenodes *nodes, uint64_t who, const struct texts *words,
                      const char *input, size_t input_len, int64_t timeout_us,
                      remote_answer_fn each, void *userdata)
{
	AUTO(free) const char **names = xcalloc(nodes->n + 1, sizeof(*names));
	AUTO(free) struct remote_answer *answers = xcalloc(nodes->n + 1, sizeof(*answers));
	struct texts all = {0};
	int code = CLI_OK;
	size_t n = 0;

	for (size_t i = 0; i < nodes->cluster->n_members; i++) {
		const struct restorenode *node = restorenodes_of(nodes, i);

		if ((who >> i & 1) != 0 && node != NULL)
			names[n++] = node->name;
	}
	add_words(&all, step);
	texts_add_all(&all, words);
	texts_add_all(&all, nodes->options);
	if (remote_run(nodes->remote, names, n, &all, input, input_len, timeout_us, each, userdata,
	               answers) < 0)
		code = CLI_FAILED;
	for (size_t i = 0; i < n; i++) {
		const char *why = reason_of(&answers[i]);

		if (why == NULL)
			continue;
		say(answers[i].node, why);
		code = answers[i].outcome == REMOTE_DONE ? answers[i].exit_code : CLI_UNREACHABLE;
	}
	remote_answers_fini(answers, n);
	texts_fini(&all);
	return code;
}

void restorenodes_ask(const struct restorenodes *nodes, const struct texts *words,
                      int64_t timeout_us, remote_answer_fn each, void *userdata)
{
	AUTO(free) const char **names = xcalloc(nodes->n + 1, sizeof(*names));
	AUTO(free) struct remote_answer *answers = xcalloc(nodes->n + 1, sizeof(*answers));
	size_t n = 0;

	for (size_t i = 0; i < nodes->n; i++) {
		if (nodes->nodes[i].reached)
			names[n++] = nodes->nodes[i].name;
	}
	(void) remote_run(nodes->remote, names, n, words, NULL, 0, timeout_us, NULL, NULL, answers);
	/* In the order of the nodes. */
	for (size_t i = 0; i < n; i++)
		each(&answers[i], userdata);
	remote_answers_fini(answers, n);
}

void restorenodes_ask_state(const struct restorenodes *nodes, int64_t timeout_us,
                            remote_answer_fn each, void *userdata)
{
	static const char *const status[] = {"-o", "json", "etcd", "restore", "status", NULL};
	struct texts words = {0};

	add_words(&words, status);
	restorenodes_ask(nodes, &words, timeout_us, each, userdata);
	texts_fini(&words);
}

/* --- the survey --- */

static int refuse_other(const struct restorenode *node, const json_t *state)
{
	AUTO(free)
	char *why = xasprintf("the restore '%s' is under way there ('%s'): continue it with --resume, "
	                      "or go back with --back",
	                      field_string(state, "token"), field_string(state, "phase"));

	say(node->name, why);
	return CLI_FAILED;
}

/* Members of one token and different snapshots are one cluster to etcd, with different data. */
static int check_plans(const struct restorenodes *nodes)
{
	const char *plan = nodes->plan;

	for (size_t i = 0; i < nodes->n; i++) {
		const struct restorenode *node = &nodes->nodes[i];
		const char *own = field_string(json_object_get(node->survey, "state"), "plan");

		if (!node->reached || node->phase == RESTORE_NONE)
			continue;
		plan = plan != NULL ? plan : own;
		if (strcmp(own, plan) == 0)
			continue;
		say(node->name, "this restore was prepared there from another snapshot, or with other "
		                "members or another revision: name that snapshot, or go back with --back");
		return CLI_FAILED;
	}
	return CLI_OK;
}

static bool is_beyond_prepared(const struct restorenode *node)
{
	return node->reached && node->phase > RESTORE_PREPARED && node->phase != RESTORE_DONE;
}

/* One that missed a restore must not bring the old cluster back next to what came of it. */
static int check_way_back(const struct restorenodes *nodes)
{
	bool any = false;

	for (size_t i = 0; i < nodes->n; i++)
		any |= is_beyond_prepared(&nodes->nodes[i]);
	for (size_t i = 0; nodes->go_back && any && i < nodes->n; i++) {
		if (!nodes->nodes[i].reached || !nodes->nodes[i].did_another)
			continue;
		say(nodes->nodes[i].name, "another restore was completed there: going back would start the "
		                          "old cluster next to the new one");
		return CLI_FAILED;
	}
	return CLI_OK;
}

/* A restore that is done is none that concerns this one. */
static int read_state(const struct restorenodes *nodes, struct restorenode *node)
{
	const json_t *state = json_object_get(node->survey, "state");
	enum restore_phase phase;

	node->phase = RESTORE_NONE;
	if (!restorephase_parse(field_string(state, "phase"), &phase)) {
		say(node->name, "its answer has no phase: is fairlead of the same version there?");
		return CLI_FAILED;
	}
	node->did_another = false;
	if (phase != RESTORE_NONE && strcmp(field_string(state, "token"), nodes->token) == 0)
		node->phase = phase;
	else if (phase != RESTORE_NONE && phase != RESTORE_DONE)
		return refuse_other(node, state);
	else
		node->did_another = phase == RESTORE_DONE;
	return CLI_OK;
}

static int read_member(struct restorenodes *nodes, struct restorenode *node)
{
	const char *name = field_string(node->survey, "member");
	const struct newcluster_member *member = newcluster_find(nodes->cluster, name);
	const struct restorenode *other;
	size_t index;

	if (member == NULL) {
		AUTO(free)
		char *why =
		    xasprintf("none of its addresses is that of a member (%s)", nodes->initial_cluster);

		say(node->name, why);
		return CLI_FAILED;
	}
	index = (size_t) (member - nodes->cluster->members);
	other = restorenodes_of(nodes, index);
	if (other != NULL && other != node) {
		AUTO(free) char *why = xasprintf("it is member '%s', as is %s", name, other->name);

		say(node->name, why);
		return CLI_FAILED;
	}
	node->member = index;
	return CLI_OK;
}

static int read_answer(struct restorenodes *nodes, struct restorenode *node,
                       const struct remote_answer *answer)
{
	const char *why = reason_of(answer);
	int code;

	free(node->why);
	node->why = why != NULL ? xstrdup(why) : NULL;
	node->reached = why == NULL;
	if (answer->outcome == REMOTE_DONE && why != NULL) {
		say(node->name, why);
		return CLI_FAILED;
	}
	if (why != NULL)
		return CLI_OK;
	json_decref(node->survey);
	node->survey = json_incref(json_array_get(answer->objects, 0));
	code = read_member(nodes, node);
	return code == CLI_OK ? read_state(nodes, node) : code;
}

/* --nodes with names, of which one is missing or is not reached. */
static int check_members(const struct restorenodes *nodes)
{
	for (size_t i = 0; i < nodes->cluster->n_members; i++) {
		const char *name = nodes->cluster->members[i].name;

		if (nodes->excused[i] && restorenodes_of(nodes, i) != NULL) {
			say(name, "it is reached, and so takes part: leave --without away");
			return CLI_USAGE;
		}
		if (nodes->excused[i] || restorenodes_of(nodes, i) != NULL)
			continue;
		for (size_t k = 0; k < nodes->n; k++) {
			if (!nodes->nodes[k].reached)
				say(nodes->nodes[k].name, nodes->nodes[k].why);
		}
		(void) fprintf(stderr,
		               "fairlead: no node was reached that is member '%s': name its node in "
		               "--nodes, or, if it cannot be reached, --without %s\n",
		               name, name);
		return CLI_UNREACHABLE;
	}
	return CLI_OK;
}

int restorenodes_survey(struct restorenodes *nodes)
{
	AUTO(free) const char **names = xcalloc(nodes->n + 1, sizeof(*names));
	AUTO(free) struct remote_answer *answers = xcalloc(nodes->n + 1, sizeof(*answers));
	struct texts words = {0};
	int code = CLI_OK;

	for (size_t i = 0; i < nodes->n; i++)
		names[i] = nodes->nodes[i].name;
	add_words(&words, step);
	texts_add(&words, "survey");
	texts_add_option(&words, "--initial-cluster", nodes->initial_cluster);
	texts_add_option(&words, "--token", nodes->token);
	texts_add_all(&words, nodes->options);
	if (remote_run(nodes->remote, names, nodes->n, &words, NULL, 0, SURVEY_TIMEOUT_US, NULL, NULL,
	               answers) < 0)
		code = CLI_FAILED;
	for (size_t i = 0; i < nodes->n; i++) {
		int here = read_answer(nodes, &nodes->nodes[i], &answers[i]);

		code = code == CLI_OK ? here : code;
	}
	remote_answers_fini(answers, nodes->n);
	texts_fini(&words);
	if (code == CLI_OK)
		code = check_members(nodes);
	if (code == CLI_OK)
		code = check_plans(nodes);
	return code == CLI_OK ? check_way_back(nodes) : code;
}

struct restoredecide restorenodes_next(const struct restorenodes *nodes, bool go_back)
{
	struct restoredecide_node by_member[RESTORE_NODES_MAX];

	for (size_t i = 0; i < nodes->cluster->n_members; i++) {
		const struct restorenode *node = restorenodes_of(nodes, i);

		by_member[i] = (struct restoredecide_node){
		    .excused = nodes->excused[i],
		    .reached = node != NULL && node->reached,
		    .phase = node != NULL ? node->phase : RESTORE_NONE,
		};
	}
	return restoredecide_next(by_member, nodes->cluster->n_members, go_back);
}

/* --- restorehealth --- */

/* A revision is what a member has applied, so members differ while clients write. Equal revisions
 * may never be seen; one that all have reached will be. */

#define TIMEOUT_US (180 * US_PER_S)
#define STEP_TIMEOUT_US (60 * US_PER_S)
#define POLL_MS 500

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
		return xasprintf("it is not healthy: %s", field_string(said, "reason"));
	if (strcmp(field_string(said, "cluster_id"), cluster_id) != 0)
		return xasprintf("it is in the cluster %s, and not in %s", field_string(said, "cluster_id"),
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
	return cli_fail("%s: %s; see the log of etcd there, then repeat the command with --resume",
	                node, why);
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
