/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `fairlead etcd restore step NAME`: one step of a restore of the whole cluster on this node, for
 * the command with --nodes that runs on one of them or elsewhere (restorecluster.c). Whether the
 * other nodes are ready for it is that command's to know; this node refuses what does not follow
 * its own phase, and any other token than its own. A step that was interrupted is repeated.
 */
#include "cli/restore/restorestep.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/jsonval.h"
#include "base/mono.h"
#include "cli/common/cli.h"
#include "cli/common/table.h"
#include "cli/restore/restorestate.h"
#include "cli/restore/restoreprepare.h"
#include "cli/restore/restoreservice.h"

/* kubelet notices that a manifest is gone within 20 s, and gives a pod 30 s to end. */
#define STOP_TIMEOUT_US (120 * US_PER_S)
#define STOP_POLL_MS 250

struct stepping {
	struct restoring *r;
	struct restorestate *state;
	json_t *claim; /* of the command that takes the step; NULL: it has none */
};

static const char *text_of(const struct stepping *s, const char *field)
{
	return restorestate_text(s->state, field);
}

static bool is_under_way(const struct stepping *s)
{
	return s->state->phase != RESTORE_NONE && s->state->phase != RESTORE_DONE;
}

static const json_t *services_of(const struct stepping *s)
{
	return json_object_get(s->state->fields, "services");
}

/* The words `restore NAME --data-dir DIR`. */
static void worker_words(const struct stepping *s, const char *name, struct texts *ret_words)
{
	texts_add(ret_words, "restore");
	texts_add(ret_words, "%s", name);
	texts_add_option(ret_words, "--data-dir", text_of(s, "data_dir"));
}

static int exchange(struct stepping *s, const char *name)
{
	struct texts words = {0};
	json_t *last = NULL;
	int code;

	worker_words(s, name, &words);
	texts_add(&words, "--inode");
	texts_add(&words, "%" JSON_INTEGER_FORMAT,
	          json_integer_value(json_object_get(s->state->fields, "inode")));
	texts_add(&words, "--old-inode");
	texts_add(&words, "%" JSON_INTEGER_FORMAT,
	          json_integer_value(json_object_get(s->state->fields, "old_inode")));
	texts_add_option(&words, "--aside", text_of(s, "aside"));
	code = restoring_ask(s->r, &words, &last);
	json_decref(last);
	return code;
}

/* Removes what is left of the preparation. */
static int clean(struct stepping *s)
{
	AUTO(free) char *incoming = restoreprepare_incoming(text_of(s, "data_dir"));
	struct texts words = {0};
	json_t *last = NULL;
	int code;

	(void) unlink(incoming);
	worker_words(s, "clean", &words);
	code = restoring_ask(s->r, &words, &last);
	json_decref(last);
	return code;
}

/* --- is it stopped --- */

/* The data directory as it is now. */
static int look(struct stepping *s)
{
	s->r->options.wish.data_dir = text_of(s, "data_dir");
	s->r->options.manifests = text_of(s, "manifests");
	return restoring_look_at_host(s->r, text_of(s, "peer_urls"));
}

/* What still runs; NULL: nothing does. An API server would write to the new etcd what it knows of
 * the old one. */
static const char *runs_still(const struct stepping *s)
{
	const json_t *peers = json_object_get(s->r->host, "peers");

	if (json_is_true(json_object_get(json_object_get(s->r->host, "data_dir"), "in_use")))
		return "etcd has its database locked";
	for (size_t i = 0; i < json_array_size(peers); i++) {
		if (json_is_true(json_object_get(json_array_get(peers, i), "listening")))
			return "etcd listens on its peer port";
	}
	if (restoreservice_has_api_pod(services_of(s)) &&
	    json_array_size(json_object_get(s->r->host, "api_servers")) > 0)
		return "kube-apiserver runs";
	return NULL;
}

static int wait_until_stopped(struct stepping *s)
{
	const struct timespec nap = {.tv_nsec = STOP_POLL_MS * 1000000L};
	int64_t settle_us = restoreservice_settle_us(services_of(s));
	int64_t quiet_us = mono_now_us(), deadline_us = quiet_us + STOP_TIMEOUT_US + settle_us;
	const char *sign = NULL;
	bool is_settled;
	int code;

	do {
		code = look(s);
		sign = code == CLI_OK ? runs_still(s) : NULL;
		if (sign != NULL)
			quiet_us = mono_now_us();
		is_settled = sign == NULL && mono_now_us() - quiet_us >= settle_us;
		if (code == CLI_OK && !is_settled)
			(void) nanosleep(&nap, NULL);
	} while (code == CLI_OK && !is_settled && mono_now_us() < deadline_us);
	if (sign == NULL)
		return code;
	(void) fprintf(
	    stderr,
	    "fairlead: %s %d s after it was told to stop: stop it on this node, then repeat the "
	    "command with --resume\n",
	    sign, (int) (STOP_TIMEOUT_US / US_PER_S));
	return CLI_FAILED;
}

/* --- the steps --- */

static int advance(struct stepping *s, enum restore_phase phase)
{
	return restorestate_advance(s->state, phase);
}

static int step_stop(struct stepping *s)
{
	int code;

	if (s->state->phase == RESTORE_STOPPED)
		return CLI_OK;
	code = advance(s, RESTORE_STOPPING);
	if (code == CLI_OK)
		code = restoreservice_hold_all(services_of(s));
	if (code == CLI_OK)
		code = wait_until_stopped(s);
	return code == CLI_OK ? advance(s, RESTORE_STOPPED) : code;
}

/* Again, once the old database is settled: a member may have joined since `prepare`. */
static int check_present(const struct stepping *s)
{
	AUTO(newcluster_free) struct newcluster *cluster = NULL;
	AUTO(free)
	char *why = newcluster_parse(text_of(s, "initial_cluster"), text_of(s, "token"), &cluster);
	const json_t *left_out = json_object_get(s->state->fields, "without");
	struct texts without = {0}, against = {0};
	bool is_good;

	for (size_t i = 0; i < json_array_size(left_out); i++)
		texts_add(&without, "%s", json_string_value(json_array_get(left_out, i)));
	if (cluster != NULL)
		restorepresent_check(json_object_get(s->r->host, "members"), cluster, &without, &against);
	else
		texts_add(&against, "%s", why);
	for (size_t i = 0; i < against.n; i++)
		table_line(stderr, "fairlead: %s; --back returns to the old cluster", against.items[i]);
	is_good = against.n == 0;
	texts_fini(&without);
	texts_fini(&against);
	return is_good ? CLI_OK : CLI_FAILED;
}

static int step_exchange(struct stepping *s)
{
	int code = CLI_OK;

	/* Before anything is moved, as the move is not to be taken back when this is refused. */
	if (!restorephase_allows(s->state->phase, RESTORE_EXCHANGED))
		return advance(s, RESTORE_EXCHANGED);
	code = look(s);
	if (code == CLI_OK && runs_still(s) != NULL) {
		(void) fprintf(
		    stderr,
		    "fairlead: %s on this node, where it was stopped: stop it again, then repeat "
		    "the command with --resume\n",
		    runs_still(s));
		code = CLI_FAILED;
	}
	if (code == CLI_OK)
		code = check_present(s);
	if (code == CLI_OK)
		code = exchange(s, "put");
	return code == CLI_OK ? advance(s, RESTORE_EXCHANGED) : code;
}

static int step_start(struct stepping *s)
{
	int code = advance(s, RESTORE_STARTED);

	return code == CLI_OK ? restoreservice_release_all(services_of(s), true) : code;
}

static int step_finish(struct stepping *s)
{
	int code = CLI_OK;

	if (!restorephase_allows(s->state->phase, RESTORE_DONE))
		return advance(s, RESTORE_DONE);
	code = restoreservice_release_all(services_of(s), false);
	if (code == CLI_OK)
		code = clean(s);
	return code == CLI_OK ? advance(s, RESTORE_DONE) : code;
}

static int step_return(struct stepping *s)
{
	int code;

	if (s->state->phase == RESTORE_RETURNED)
		return CLI_OK;
	code = advance(s, RESTORE_RETURNING);
	/* Before that nothing was exchanged, and the old etcd may run. */
	if (code == CLI_OK && restorestate_was(s->state, RESTORE_STOPPED))
		code = exchange(s, "back");
	if (code == CLI_OK)
		code = clean(s);
	return code == CLI_OK ? advance(s, RESTORE_RETURNED) : code;
}

static int step_revive(struct stepping *s)
{
	int code = CLI_OK;

	if (!restorephase_allows(s->state->phase, RESTORE_NONE))
		return advance(s, RESTORE_NONE);
	if (restorestate_was(s->state, RESTORE_STOPPING))
		code = restoreservice_release_all(services_of(s), true);
	if (code == CLI_OK && restorestate_was(s->state, RESTORE_STOPPING))
		code = restoreservice_release_all(services_of(s), false);
	return code == CLI_OK ? advance(s, RESTORE_NONE) : code;
}

/* --- what is asked of a node --- */

static void print(const struct stepping *s, json_t *object)
{
	cli_print(&s->r->cli, object);
	json_decref(object);
}

/* Which member this node is in the cluster that the options name; what it has for a restore. */
static int step_survey(struct stepping *s)
{
	const struct restoreplan_wish *wish = &s->r->options.wish;
	AUTO(newcluster_free) struct newcluster *cluster = NULL;
	AUTO(free) char *why = NULL;
	const struct newcluster_member *self;
	json_t *services = NULL, *claim = NULL;

	if (wish->initial_cluster == NULL || wish->token == NULL)
		return CLI_USAGE;
	why = newcluster_parse(wish->initial_cluster, wish->token, &cluster);
	if (cluster == NULL) {
		(void) fprintf(stderr, "fairlead: --initial-cluster: %s\n", why);
		return CLI_USAGE;
	}
	if (!is_under_way(s))
		services = restoreprepare_services(s->r);
	else if (look(s) == CLI_OK)
		services = json_incref(json_object_get(s->state->fields, "services"));
	if (services == NULL || restoreclaim_read(RESTORESTATE_DIR, &claim) != CLI_OK) {
		json_decref(services);
		return CLI_FAILED;
	}
	self = restoreplan_find_self(cluster, s->r->host);
	print(s, json_pack("{s:o, s:o, s:O, s:o, s:o*}", "member",
	                   jsonval_text(self != NULL ? self->name : NULL), "state",
	                   restorestate_json(s->state), "host", s->r->host, "services", services,
	                   "claim", claim));
	return CLI_OK;
}

/* Whether the member that was restored here answers, by the access that etcdwatch has. */
static int step_health(struct stepping *s)
{
	struct texts words = {0};
	json_t *last = NULL;
	int code;

	texts_add(&words, "health");
	texts_add_option(&words, "--member-id", text_of(s, "member_id"));
	code = restoring_add_access(s->r, &words);
	if (code != CLI_OK)
		return code;
	code = restoring_ask(s->r, &words, &last);
	if (code == CLI_OK)
		print(s, json_incref(last));
	json_decref(last);
	return code;
}

/* --- the claim --- */

static int step_claim(struct stepping *s)
{
	if (s->claim == NULL) {
		(void) fputs("fairlead: the step 'claim' needs --claim JSON\n", stderr);
		return CLI_USAGE;
	}
	return restoreclaim_take(RESTORESTATE_DIR, s->claim, &s->r->options.replaces);
}

static int step_unclaim(struct stepping *s)
{
	return restoreclaim_drop(RESTORESTATE_DIR, s->claim);
}

/* --- all --- */

static const struct step {
	const char *name;
	bool of_this_restore; /* needs the claim of this node and the token of the state file */
	bool tells_state;
	int (*run)(struct stepping *s);
} steps[] = {
    {"survey", false, false, step_survey},   {"claim", false, true, step_claim},
    {"unclaim", false, true, step_unclaim},  {"stop", true, true, step_stop},
    {"exchange", true, true, step_exchange}, {"start", true, true, step_start},
    {"health", true, false, step_health},    {"finish", true, true, step_finish},
    {"return", true, true, step_return},     {"revive", true, true, step_revive},
};

static int check_token(const struct stepping *s)
{
	const char *token = s->r->options.wish.token;

	if (s->state->phase == RESTORE_NONE)
		(void) fputs("fairlead: no restore of the whole cluster is under way on this node\n",
		             stderr);
	else if (token == NULL || strcmp(token, text_of(s, "token")) != 0)
		(void) fprintf(stderr, "fairlead: this node is part of the restore '%s', not of '%s'\n",
		               text_of(s, "token"), token != NULL ? token : "");
	else
		return CLI_OK;
	return CLI_FAILED;
}

/* Repeated, it does nothing. */
static int step_prepare(struct stepping *s, const char *source)
{
	const struct restoreoptions *o = &s->r->options;
	AUTO(free) char *plan = NULL;

	if (o->wish.token == NULL || o->wish.initial_cluster == NULL || o->sha256 == NULL ||
	    !o->wish.bump_is_given || (source == NULL) != o->from_stdin) {
		(void) fputs("fairlead: prepare needs a snapshot or --from-stdin, --token, --sha256, "
		             "--initial-cluster and --bump-revision\n",
		             stderr);
		return CLI_USAGE;
	}
	plan = restoreprepare_plan(o->sha256, o->wish.bump_revision, o->wish.initial_cluster);
	if (!is_under_way(s))
		return restoreprepare_run(s->r, s->state, source);
	if (strcmp(o->wish.token, text_of(s, "token")) == 0 && strcmp(plan, text_of(s, "plan")) == 0)
		return CLI_OK;
	return cli_fail("the restore '%s' is under way on this node ('%s'): continue it with "
	                "--resume, or go back with --back",
	                text_of(s, "token"), restorephase_name(s->state->phase));
}

static int run(struct stepping *s, int argc, char **argv)
{
	int code = CLI_USAGE;

	if (strcmp(argv[0], "prepare") == 0) {
		code = restoreclaim_check(RESTORESTATE_DIR, s->claim);
		if (code == CLI_OK)
			code = step_prepare(s, argc > 1 ? argv[1] : NULL);
		if (code == CLI_OK)
			print(s, restorestate_json(s->state));
		return code;
	}
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		if (argc > 1 || strcmp(argv[0], steps[i].name) != 0)
			continue;
		code = steps[i].of_this_restore ? check_token(s) : CLI_OK;
		if (code == CLI_OK && steps[i].of_this_restore)
			code = restoreclaim_check(RESTORESTATE_DIR, s->claim);
		if (code == CLI_OK)
			code = steps[i].run(s);
		if (code == CLI_OK && steps[i].tells_state)
			print(s, restorestate_json(s->state));
		return code;
	}
	(void) fprintf(stderr, "fairlead: there is no step '%s' of a restore\n", argv[0]);
	return code;
}

int restorestep_run(struct restoring *r, int argc, char **argv)
{
	struct stepping s = {.r = r};
	const char *claim = r->options.claim;
	int code = restorestate_open(RESTORESTATE_DIR, true, &s.state);

	/* It is made for programs. */
	if (r->cli.output == CLI_TABLE)
		r->cli.output = CLI_JSON;
	s.claim = claim != NULL ? json_loads(claim, 0, NULL) : NULL;
	if (code == CLI_OK) {
		code = run(&s, argc, argv);
		restoring_clean_up(r);
	}
	/* The options of what was run may borrow from it. */
	restorestate_free(s.state);
	json_decref(s.claim);
	return code;
}
