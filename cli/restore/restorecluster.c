/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One loop: survey, decide, act. A step that fails on any node ends the command, with what the
 * operator can do next; nothing is undone by itself.
 *
 * Before the first new member starts, no owner of the old cluster may hold a VIP: vipd gives its
 * addresses up by itself when etcd is gone, which is looked at on the nodes that are reached, and
 * for the others the longest fence is waited for (restoredecide.h).
 */
#include "cli/restore/restorecluster.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "base/mono.h"
#include "cli/common/fields.h"
#include "cli/common/table.h"
#include "cli/restore/restorestate.h"
#include "cli/restore/restorerender.h"
#include "cli/restore/restoredecide.h"
#include "cli/restore/restorenodes.h"
#include "cli/restore/restoreprepare.h"

/* The worker's place for the snapshot; the data directory of this node is left alone. */
#define SNAPSHOT_PLACE RESTORESTATE_DIR "/snapshot"
#define PREPARE_TIMEOUT_US (3600 * US_PER_S)
#define STEP_TIMEOUT_US (180 * US_PER_S)
#define ASK_TIMEOUT_US (20 * US_PER_S)
#define GIVE_UP_TIMEOUT_US (30 * US_PER_S)
#define POLL_MS 500

struct acting {
	struct restoring *r;
	struct remote *remote;
	struct restorenodes nodes;
	struct newcluster *cluster;
	json_t *state; /* of one node, for --resume and --back; NULL */
	size_t n_told; /* nodes that told theirs */
	bool is_over;  /* all told that there is nothing to go back from */
	struct texts options;
	struct texts without;
	const char *data_dir;
	char *claim;        /* JSON (restorestate.h) */
	char *plan;         /* of this command (restoreprepare_plan()); NULL: without a snapshot */
	int64_t stopped_us; /* when all were first seen stopped; 0: not yet */
	struct restorehealth health;
};

static bool is_for_people(const struct acting *a)
{
	return a->r->cli.output == CLI_TABLE;
}

static void nap(void)
{
	const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};

	(void) nanosleep(&pause, NULL);
}

/* --- what is already under way --- */

static bool is_active(const json_t *state)
{
	const char *phase = field_string(state, "phase");

	return phase[0] != '\0' && strcmp(phase, restorephase_name(RESTORE_NONE)) != 0 &&
	       strcmp(phase, restorephase_name(RESTORE_DONE)) != 0;
}

/* One that is done counts where no node has more to do. */
static void on_state(const struct remote_answer *answer, void *userdata)
{
	struct acting *a = userdata;
	json_t *state = json_array_get(answer->objects, 0);

	a->n_told += answer->outcome == REMOTE_DONE && answer->exit_code == CLI_OK;
	if (field_string(state, "token")[0] == '\0' || (a->state != NULL && !is_active(state)))
		return;
	if (a->state != NULL && is_active(a->state))
		return;
	json_decref(a->state);
	a->state = json_incref(state);
}

/* The nodes of "all" are those of this node's own state. */
static int ask_for_state(struct acting *a)
{
	AUTO(restorestate_free) struct restorestate *own = NULL;
	struct restorenodes named = {.remote = a->remote};
	const struct restoreoptions *o = &a->r->options;
	const char *list = o->nodes;
	int code = restorestate_open(RESTORESTATE_DIR, false, &own);

	if (code != CLI_OK)
		return code;
	if (strcmp(list, "all") == 0) {
		if (own->phase != RESTORE_NONE)
			a->state = restorestate_json(own);
		return CLI_OK;
	}
	code = restorenodes_name_all(&named, &a->r->cli);
	if (code == CLI_OK)
		restorenodes_ask_state(&named, ASK_TIMEOUT_US, on_state, a);
	a->is_over = o->back && a->state == NULL && code == CLI_OK && a->n_told == named.n;
	restorenodes_fini(&named);
	return code;
}

static int learn(struct acting *a)
{
	struct restoreoptions *o = &a->r->options;
	const json_t *without;
	int code = ask_for_state(a);

	if (code != CLI_OK || a->is_over)
		return code;
	if (a->state == NULL)
		return cli_fail("no node that was reached (%s) knows of a restore of the whole "
		                "cluster%s",
		                o->nodes, strcmp(o->nodes, "all") == 0 ? ": name the nodes" : "");
	without = json_object_get(a->state, "without");
	for (size_t i = 0; i < json_array_size(without); i++)
		texts_add(&a->without, "%s", json_string_value(json_array_get(without, i)));
	o->wish.token = field_string(a->state, "token");
	o->wish.token_is_new = false;
	o->wish.initial_cluster = field_string(a->state, "initial_cluster");
	a->data_dir = field_string(a->state, "data_dir");
	if (o->manifests == NULL)
		o->manifests = field_string(a->state, "manifests");
	return CLI_OK;
}

/* --- the plan --- */

/* The members that the plan is of; without a snapshot, those of the state. */
static int make_cluster(struct acting *a)
{
	struct restoreoptions *o = &a->r->options;
	const char *members =
	    a->r->plan != NULL ? a->r->plan->initial_cluster : o->wish.initial_cluster;
	AUTO(free) char *why = NULL;

	if (a->r->plan != NULL && (a->r->plan->against.n > 0 || members == NULL)) {
		restorecluster_print_against(stderr, a->r->plan);
		return CLI_FAILED;
	}
	why = newcluster_parse(members, o->wish.token, &a->cluster);
	if (why != NULL)
		(void) fprintf(stderr, "fairlead: '%s': %s\n", members, why);
	return why != NULL ? CLI_FAILED : CLI_OK;
}

/* Where etcd is on the nodes, as it was said here. */
static void make_options(struct acting *a)
{
	const struct restoreoptions *o = &a->r->options;

	texts_add_option(&a->options, "--data-dir", a->data_dir);
	texts_add_option(&a->options, "--tool", o->tool);
	texts_add_option(&a->options, "--manifests", o->manifests);
	texts_add_option(&a->options, "--unit", o->unit);
	texts_add_option(&a->options, "--config", o->from.config);
	texts_add_option(&a->options, "--claim", a->claim);
}

static int begin(struct acting *a)
{
	struct restoreoptions *o = &a->r->options;
	AUTO(restorestate_free) struct restorestate *own = NULL;
	int code = remote_new(a->r->cli.via, &a->remote);

	a->data_dir = o->wish.data_dir;
	o->wish.data_dir = SNAPSHOT_PLACE;
	o->wish.of_cluster = true;
	if (code == CLI_OK && (o->resume || o->back))
		code = learn(a);
	if (code != CLI_OK || a->is_over)
		return code;
	if (o->from.source != NULL) {
		/* Makes the place for it. */
		code = restorestate_open(RESTORESTATE_DIR, true, &own);
		restorestate_free(TAKE_PTR(own));
	}
	if (code == CLI_OK && o->from.source != NULL)
		code = restoring_plan(a->r);
	if (code == CLI_OK)
		code = make_cluster(a);
	if (code != CLI_OK)
		return code;
	make_options(a);
	texts_add_all(&a->without, &o->without);
	if (a->r->plan != NULL)
		a->plan = restoreprepare_plan(field_string(a->r->found, "sha256"),
		                              a->r->plan->bump_revision, a->r->plan->initial_cluster);
	a->nodes = (struct restorenodes){
	    .remote = a->remote,
	    .cluster = a->cluster,
	    .initial_cluster =
	        a->r->plan != NULL ? a->r->plan->initial_cluster : o->wish.initial_cluster,
	    .token = o->wish.token,
	    .plan = a->plan,
	    .go_back = o->back,
	    .options = &a->options,
	};
	return restorenodes_init(&a->nodes, &a->r->cli, &a->without);
}

/* --- steps --- */

static int step(struct acting *a, uint64_t who, const char *name)
{
	struct texts words = {0};
	int code;

	texts_add(&words, "%s", name);
	texts_add_option(&words, "--token", a->nodes.token);
	code = restorenodes_step(&a->nodes, who, &words, NULL, 0, STEP_TIMEOUT_US, NULL, NULL);
	texts_fini(&words);
	return code;
}

/* A file is sent along, decrypted and unpacked; what is in a store each node fetches itself. */
static void prepare_words(const struct acting *a, struct texts *words)
{
	const struct restoring *r = a->r;

	texts_add(words, "prepare");
	texts_add_option(words, "--token", a->nodes.token);
	texts_add_option(words, "--sha256", field_string(r->found, "sha256"));
	texts_add_option(words, "--initial-cluster", a->nodes.initial_cluster);
	texts_add(words, "--bump-revision");
	texts_add(words, "%" PRIu64, r->plan->bump_revision);
	for (size_t i = 0; i < a->without.n; i++)
		texts_add_option(words, "--without", a->without.items[i]);
	if (!json_is_true(json_object_get(r->found, "digest")))
		texts_add(words, "--skip-hash-check");
	if (r->options.wish.source_is_local)
		texts_add(words, "--from-stdin");
	else
		texts_add_all(words, &r->source_words);
}

static int prepare(struct acting *a, uint64_t who)
{
	const char *path = field_string(a->r->found, "file");
	struct texts words = {0};
	AUTO(close) int fd = -1;
	struct stat st = {0};
	void *data = NULL;
	int code;

	if (a->r->plan == NULL) {
		AUTO(free) char *names = restorenodes_names(&a->nodes, who);

		return cli_fail("%s %s not prepared: repeat the command with the snapshot and "
		                "--resume, or go back with --back",
		                names, strchr(names, ',') != NULL ? "are" : "is");
	}
	if (a->r->options.wish.source_is_local) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &st) < 0 || st.st_size == 0 ||
		    (data = mmap(NULL, (size_t) st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) == MAP_FAILED) {
			return cli_fail("cannot read '%s': %s", path, strerror(errno));
		}
	}
	prepare_words(a, &words);
	code = restorenodes_step(&a->nodes, who, &words, data, (size_t) st.st_size, PREPARE_TIMEOUT_US,
	                         NULL, NULL);
	texts_fini(&words);
	if (data != NULL)
		(void) munmap(data, (size_t) st.st_size);
	return code;
}

/* --- the VIPs --- */

struct vips {
	json_t *all;
	struct texts holders;
};

static void on_vips(const struct remote_answer *answer, void *userdata)
{
	struct vips *vips = userdata;

	(void) json_array_extend(vips->all, answer->objects);
	restorefence_look(answer->node, answer->objects, &vips->holders);
}

static void ask_vips(struct acting *a, struct vips *vips)
{
	struct texts words = {0};

	texts_add(&words, "-o");
	texts_add(&words, "json");
	texts_add(&words, "vip");
	texts_add(&words, "status");
	texts_fini(&vips->holders);
	restorenodes_ask(&a->nodes, &words, ASK_TIMEOUT_US, on_vips, vips);
	texts_fini(&words);
}

/* All old members have stopped. */
static int wait_for_vips(struct acting *a)
{
	struct vips vips = {.all = json_array()};
	int64_t give_up_us = mono_now_us() + GIVE_UP_TIMEOUT_US;
	int64_t over_us;
	int code = CLI_OK;

	ask_vips(a, &vips);
	over_us = a->stopped_us + restorefence_wait_us(vips.all);
	while (code == CLI_OK && (vips.holders.n > 0 || mono_now_us() < over_us)) {
		if (mono_now_us() >= give_up_us && vips.holders.n > 0) {
			(void) fprintf(stderr,
			               "fairlead: %s, although etcd is stopped: see 'fairlead vip status' "
			               "there, then --resume\n",
			               vips.holders.items[0]);
			code = CLI_FAILED;
			break;
		}
		nap();
		if (vips.holders.n > 0)
			ask_vips(a, &vips);
	}
	texts_fini(&vips.holders);
	json_decref(vips.all);
	return code;
}

/* --- the claim --- */

/* Those that may go: of commands that are known to have ended, or all. */
static void add_replaced(const struct acting *a, struct texts *words)
{
	for (size_t i = 0; i < a->nodes.n; i++) {
		const json_t *claim = json_object_get(a->nodes.nodes[i].survey, "claim");

		if (claim != NULL && (a->r->options.take_over || restoreclaim_is_dead(claim)))
			texts_add_option(words, "--replaces", field_string(claim, "id"));
	}
}

static int claim_step(struct acting *a, const char *name)
{
	struct texts words = {0};
	int code;

	texts_add(&words, "%s", name);
	add_replaced(a, &words);
	code = restorenodes_step(&a->nodes, restorenodes_all(&a->nodes), &words, NULL, 0,
	                         ASK_TIMEOUT_US, NULL, NULL);
	texts_fini(&words);
	return code;
}

/* --- the loop --- */

/* What is printed while it is done; the words of the step. */
static const struct {
	const char *doing;
	const char *words;
} steps[] = {
    [RESTORE_PREPARE] = {"preparing", NULL},
    [RESTORE_STOP] = {"stopping API servers and etcd on", "stop"},
    [RESTORE_EXCHANGE] = {"putting the new data in place on", "exchange"},
    [RESTORE_START] = {"starting etcd on", "start"},
    [RESTORE_FINISH] = {"waiting for the cluster, then starting API servers on", "finish"},
    [RESTORE_RETURN] = {"putting the old data back on", "return"},
    [RESTORE_REVIVE] = {"starting the old etcd and API servers on", "revive"},
};

static int act(struct acting *a, const struct restoredecide *next)
{
	AUTO(free) char *names = restorenodes_names(&a->nodes, next->who);
	int code = CLI_OK;

	if ((next->step == RESTORE_EXCHANGE || next->step == RESTORE_START) && a->stopped_us == 0)
		a->stopped_us = mono_now_us();
	if (is_for_people(a))
		table_line(stderr, "%s %s", steps[next->step].doing, names);
	if (next->step == RESTORE_PREPARE)
		return prepare(a, next->who);
	if (next->step == RESTORE_START)
		code = wait_for_vips(a);
	/* A start may have been interrupted when its phase was written. */
	if (next->step == RESTORE_FINISH)
		code = step(a, next->who, steps[RESTORE_START].words);
	if (next->step == RESTORE_FINISH && code == CLI_OK)
		code = restorehealth_wait(&a->nodes, &a->health);
	return code == CLI_OK ? step(a, next->who, steps[next->step].words) : code;
}

/* It cannot go on. */
static int refuse(const struct acting *a, const struct restoredecide *next)
{
	AUTO(free) char *names = restorenodes_names(&a->nodes, next->who);
	const char *why = "";

	switch (next->step) {
	case RESTORE_UNREACHED:
		why = "not reached; every node that takes part must answer";
		break;
	case RESTORE_NO_MAJORITY:
		why = "left out by --without: half of the members or more; the new cluster would have no "
		      "majority, and the old one might";
		break;
	case RESTORE_GOING_BACK:
		why = "already going back to the old data: use --back";
		break;
	case RESTORE_TOO_LATE:
		why = "has started etcd with the new data, so there is no way back: a client may have "
		      "written to it. Continue with --resume; the old data stays in "
		      "*.before-restore-*";
		break;
	case RESTORE_FORGOTTEN:
		why = "knows of no restore, and another node has started etcd with the new data: restored "
		      "once more, this member would forget what it acknowledged. Replace it: etcdctl "
		      "member remove, member add";
		break;
	case RESTORE_PREPARE:
	case RESTORE_STOP:
	case RESTORE_EXCHANGE:
	case RESTORE_START:
	case RESTORE_FINISH:
	case RESTORE_RETURN:
	case RESTORE_REVIVE:
	case RESTORE_NOTHING:
		break;
	}
	table_line(stderr, "fairlead: %s: %s", names, why);
	return next->step == RESTORE_UNREACHED ? CLI_UNREACHABLE : CLI_FAILED;
}

static void say_how_to_go_on(const struct acting *a, enum restore_step step)
{
	const struct restoreoptions *o = &a->r->options;
	bool can_go_back = step < RESTORE_FINISH;

	(void) fprintf(stderr,
	               "fairlead: the restore '%s' was interrupted. Where it stands: fairlead "
	               "etcd restore status --nodes %s\n",
	               a->nodes.token, o->nodes);
	if (o->back)
		(void) fprintf(stderr,
		               "fairlead: to continue going back: fairlead etcd restore --nodes "
		               "%s --back --yes\n",
		               o->nodes);
	else
		(void) fprintf(stderr,
		               "fairlead: to continue: fairlead etcd restore --nodes %s --resume --yes%s\n",
		               o->nodes, can_go_back ? "; to go back: --back instead of --resume" : "");
}

static int carry_out(struct acting *a)
{
	struct restoredecide next = {.step = RESTORE_PREPARE}, before = {.step = RESTORE_NOTHING};
	/* Another command may have gone on before this one had its claims. */
	int code = restorenodes_survey(&a->nodes);

	if (code != CLI_OK)
		return code;
	for (;;) {
		next = restorenodes_next(&a->nodes, a->r->options.back);
		if (next.step == RESTORE_NOTHING)
			return CLI_OK;
		if (next.step > RESTORE_NOTHING)
			return refuse(a, &next);
		if (next.step == before.step && next.who == before.who) {
			(void) fputs("fairlead: the nodes did not do it, and do not say why: are all of the "
			             "same version?\n",
			             stderr);
			code = CLI_FAILED;
		}
		if (code == CLI_OK)
			code = act(a, &next);
		if (code == CLI_OK)
			code = restorenodes_survey(&a->nodes);
		if (code != CLI_OK) {
			say_how_to_go_on(a, next.step);
			return code;
		}
		before = next;
	}
}

/* --- all --- */

/* Before they are prepared: then the members of each are compared with the plan. */
static void mind_unread(struct acting *a)
{
	for (size_t i = 0; a->r->plan != NULL && i < a->nodes.n; i++) {
		const struct restorenode *node = &a->nodes.nodes[i];
		const json_t *host = json_object_get(node->survey, "host");

		if (node->reached && node->phase == RESTORE_NONE &&
		    !json_is_array(json_object_get(host, "members")))
			texts_add(&a->r->plan->mind,
			          "%s has no database of etcd that can be read, so members that joined since "
			          "the snapshot are not known there",
			          node->name);
	}
}

static int run(struct acting *a)
{
	const struct restoreoptions *o = &a->r->options;
	struct restoredecide next;
	int code = begin(a);

	if (code == CLI_OK && a->is_over)
		(void) fputs("fairlead: no node has a restore to go back from\n", stderr);
	if (code == CLI_OK && !a->is_over)
		code = restorenodes_survey(&a->nodes);
	if (code != CLI_OK || a->is_over)
		return code;
	next = restorenodes_next(&a->nodes, o->back);
	if (next.step == RESTORE_NOTHING && !o->resume && !o->back)
		return cli_fail("the restore of this token is done already on all nodes: leave "
		                "--token away, or choose another one");
	mind_unread(a);
	restorecluster_print_plan(a->r, &a->nodes, &a->without);
	if (next.step > RESTORE_NOTHING)
		return refuse(a, &next);
	if (!o->yes) {
		if (is_for_people(a))
			(void) printf("\nNothing was done. The same command with --yes does it.\n");
		return CLI_OK;
	}
	code = claim_step(a, "claim");
	if (code == CLI_OK)
		code = carry_out(a);
	(void) claim_step(a, "unclaim");
	if (code == CLI_OK)
		restorecluster_print_result(a->r, &a->nodes, &a->health, &a->without);
	return code;
}

int restorecluster_run(struct restoring *r)
{
	struct acting a = {.r = r, .health.said = json_object()};
	json_t *claim = restoreclaim_new();
	int code;

	a.claim = json_dumps(claim, JSON_COMPACT);
	json_decref(claim);
	code = run(&a);

	restorenodes_fini(&a.nodes);
	remote_free(a.remote);
	newcluster_free(a.cluster);
	json_decref(a.health.said);
	texts_fini(&a.options);
	texts_fini(&a.without);
	free(a.plan);
	free(a.claim);
	/* The options borrow from it. */
	restoring_clean_up(r);
	json_decref(a.state);
	return code;
}
