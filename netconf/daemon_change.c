/* SPDX-License-Identifier: Apache-2.0 */
/* The one change that may be under way: who asked for it, and what came of it. */
#include "netconf/daemon_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"

/* Whoever asked gets an answer, and then there is nobody to answer. */
static void tell(struct daemon *daemon, int r, const char *reason)
{
	daemon_told_fn told = daemon->told;
	json_t *lines = TAKE_PTR(daemon->lines);

	daemon->told = NULL;
	if (told != NULL)
		told(r, reason, lines, daemon->told_userdata);
	json_decref(lines);
}

static void on_ready(void *userdata)
{
	tell(userdata, 0, "");
}

static void on_over(struct config *config, void *userdata)
{
	struct daemon *daemon = userdata;

	daemon->transaction = NULL;
	if (config != NULL) {
		config_free(daemon->config);
		daemon->config = config;
		daemon_adopt(daemon);
	}
	statedir_read_outcome(daemon->start->state_dir, &daemon->last);
	daemon_keep(daemon);
	/* It ended before it had begun. */
	tell(daemon, -ECANCELED, daemon->last.reason);
}

static struct transaction_host host_of(struct daemon *daemon)
{
	return (struct transaction_host){
	    .ev = daemon_ev(daemon),
	    .kernel = daemon->kernel,
	    .ledger = daemon->ledger,
	    .clients = daemon->clients,
	    .program = daemon->start->program,
	    .runtime_dir = daemon->start->runtime_dir,
	    .state_dir = daemon->start->state_dir,
	    .ready = on_ready,
	    .over = on_over,
	    .userdata = daemon,
	};
}

/* It is so already, and so it may be confirmed at once. */
static void take_over(struct daemon *daemon, struct transaction_parts *parts)
{
	int r = statedir_confirm(daemon->start->state_dir, parts->text);

	if (r < 0) {
		tell(daemon, r, "the state directory cannot be written");
		return;
	}
	drift_watch(daemon->drift, NULL, NULL);
	config_free(daemon->config);
	daemon->config = TAKE_PTR(parts->config);
	daemon_adopt(daemon);
	drift_watch(daemon->drift, daemon->ledger, daemon->config);
	log_notice("confirmed", "reason=\"the network is as this configuration wants it already\"");
	tell(daemon, 0, "");
}

/* A confirmation that could not be written to its end: its files are about to be replaced, and a
 * later start would take it for newer than what is confirmed now. */
static int finish_earlier(struct daemon *daemon)
{
	const char *state_dir = daemon->start->state_dir;
	AUTO(free) char *dir = statedir_path(state_dir, STATEDIR_TRANSACTION);
	struct checkpoint_state state;
	int r = checkpoint_read_state(dir, &state);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (state.phase != PHASE_CONFIRMED)
		return 0;
	r = statedir_finish_confirmed(state_dir, &state);
	if (r == 0)
		statedir_read_outcome(state_dir, &daemon->last);
	return r;
}

static void on_begun(const struct begin_result *result, void *userdata)
{
	struct daemon *daemon = userdata;
	struct transaction_host host = host_of(daemon);
	int r;

	daemon->begin = NULL;
	daemon->lines = json_deep_copy(result->lines);
	if (result->r < 0) {
		tell(daemon, result->r, result->reason);
		return;
	}
	r = finish_earlier(daemon);
	if (r < 0) {
		tell(daemon, r, "an earlier confirmation cannot be finished");
		return;
	}
	if (result->is_nothing) {
		take_over(daemon, result->parts);
		return;
	}
	r = statedir_confirm_first(host.state_dir);
	if (r < 0) {
		tell(daemon, r, "the state directory cannot be written, so nothing was begun");
		return;
	}
	/* What the change makes of the network is no drift. */
	drift_watch(daemon->drift, NULL, NULL);
	r = transaction_begin(&host, result->parts, &daemon->transaction);
	if (r < 0) {
		(void) log_error_errno(r, "checkpoint_failed", "dir=%s", host.state_dir);
		daemon_keep(daemon);
		tell(daemon, r, "the checkpoint cannot be written, so nothing was begun");
	}
}

int daemon_apply(struct daemon *daemon, const struct begin_request *request, daemon_told_fn told,
                 void *userdata)
{
	struct begin_request with_paths = *request;

	if (left_is_blocked(daemon->left))
		return -EUCLEAN;
	if (daemon->begin != NULL || daemon->transaction != NULL)
		return -EBUSY;
	if (with_paths.n_paths == 0) {
		with_paths.paths = daemon->start->paths;
		with_paths.n_paths = daemon->start->n_paths;
	}
	with_paths.owned = ledger_owned(daemon->ledger);
	with_paths.runtime_dir = daemon->start->runtime_dir;
	with_paths.clients = daemon->clients;
	with_paths.probe_program = daemon->start->probe_program;
	daemon->told = told;
	daemon->told_userdata = userdata;
	daemon->begin = begin_start(daemon_ev(daemon), daemon->kernel, &with_paths, on_begun, daemon);
	return 0;
}

/* Whether there is a change, and it is the one that is meant. */
static int find(const struct daemon *daemon, const char *id)
{
	if (left_is_blocked(daemon->left))
		return -EUCLEAN;
	if (daemon->transaction == NULL)
		return -ENOENT;
	return id == NULL || strcmp(transaction_state(daemon->transaction)->id, id) == 0 ? 0 : -ESTALE;
}

int daemon_confirm(struct daemon *daemon, const char *id)
{
	int r = find(daemon, id);

	return r < 0 ? r : transaction_confirm(daemon->transaction);
}

int daemon_abandon(struct daemon *daemon, const char *id)
{
	int r = find(daemon, id);

	return r < 0 ? r : transaction_abandon(daemon->transaction, "the operator asked for it");
}

int daemon_discard(struct daemon *daemon, const char *id)
{
	int r;

	if (left_is_blocked(daemon->left))
		return left_discard(daemon->left, id);
	r = find(daemon, id);
	return r < 0 ? r : transaction_discard(daemon->transaction);
}

void daemon_resume(struct daemon *daemon, const struct checkpoint_state *state)
{
	struct transaction_host host = host_of(daemon);

	daemon->transaction = transaction_resume(&host, state);
}
