/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration is loaded twice: from its files, for what there is to say about them, and from
 * the text that is kept, which is the one that counts from then on.
 */
#include "netconf/change/begin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "netconf/change/explain.h"
#include "netconf/change/look.h"
#include "netconf/config/config.h"
#include "netconf/model/segment.h"
#include "netconf/probe/arpask.h"
#include "netconf/probe/probe.h"

/* A plan this young is as good as a new one: more time than that passes before its first step. */
#define FRESH_US (100 * US_PER_MS)

struct begin {
	struct ev_loop *ev;
	struct kernel *kernel;
	const struct owned *owned;
	const char *runtime_dir;
	const struct dhcpclients *clients;
	const char *probe_program;
	bool is_nothing, has_clients;
	begin_done_fn done;
	void *userdata;
	ev_timer later;
	int64_t planned_us;
	struct addr operator_addr;
	bool even_without_quorum;
	struct quorumguard *guard;
	struct arpask *ask; /* who else has the new addresses; NULL: nobody, or it is known */
	bool has_questions, is_learning;
	struct config *files; /* as it stands in its files: what is said of it names these */
	char management[IFNAMSIZ];
	struct transaction_parts parts;
	json_t *lines;
	int r;
	char reason[CHECKPOINT_REASON_MAX];
};

static void parts_fini(struct transaction_parts *parts)
{
	probes_free(parts->probes);
	plan_free(parts->plan);
	beside_free(parts->beside);
	model_free(parts->before);
	config_free(parts->config);
	free(parts->text);
	*parts = (struct transaction_parts){0};
}

void begin_free(struct begin *begin)
{
	if (begin == NULL)
		return;
	ev_timer_stop(begin->ev, &begin->later);
	quorumguard_free(begin->guard);
	arpask_free(begin->ask);
	parts_fini(&begin->parts);
	config_free(begin->files);
	json_decref(begin->lines);
	free(begin);
}

static int refuse(struct begin *begin, int r, const char *reason)
{
	begin->r = r;
	(void) snprintf(begin->reason, sizeof(begin->reason), "%s", reason);
	return r;
}

/* The first is the sentence of the refusal, and all are lines of the answer. */
static void on_error(const char *message, void *userdata)
{
	struct begin *begin = userdata;

	if (begin->r == 0)
		(void) refuse(begin, -EINVAL, message);
	(void) json_array_append_new(begin->lines,
	                             json_pack("{s:o}", "error", json_string_nocheck(message)));
}

static int load(struct begin *begin, const struct begin_request *request)
{
	struct transaction_parts *parts = &begin->parts;
	int r = config_load(request->paths, request->n_paths, on_error, begin, &begin->files);

	if (r < 0)
		return r;
	r = sources_read(&begin->files->files, &parts->text);
	if (r < 0)
		return refuse(begin, r, "the configuration's files cannot be read once more");
	r = config_load_text("the configuration", parts->text, strlen(parts->text), NULL, on_error,
	                     begin, &parts->config);
	if (r == 0)
		parts->confirm_us =
		    request->confirm_us != 0 ? request->confirm_us : parts->config->policy.confirm_us;
	return r;
}

/* --- who else has a new address --- */

/* Where its link leads elsewhere only after the change, it is asked then. */
static bool is_to_ask(const struct op *op, const struct model *before, const struct model *after)
{
	return op->kind == OP_ADDRESS_ADD && !op->is_restoring &&
	       op->address.prefix.addr.family == AF_INET &&
	       !segment_had_address(before, after, &op->address) &&
	       segment_is_open(before, after, op->address.link);
}

/* Once, and not again when the plan is made anew. */
static void find_questions(struct begin *begin, const struct model *want)
{
	const struct transaction_parts *parts = &begin->parts;
	AUTO(model_free) struct model *after = NULL;
	char where[MODEL_ORIGIN_TEXT_MAX];
	size_t n = 0;
	int r;

	if (begin->has_questions || !parts->config->policy.probe_duplicates)
		return;
	begin->has_questions = true;
	after = plan_foresee(parts->plan, parts->before);
	for (size_t i = 0; i < parts->plan->n_ops; i++)
		n += is_to_ask(&parts->plan->ops[i], parts->before, after);
	if (n == 0)
		return;
	r = arpask_new(begin->ev, parts->before, &begin->ask);
	if (r < 0)
		(void) log_warning_errno(r, "arp_not_asked", "addresses=%zu", n);
	for (size_t i = 0; r == 0 && i < parts->plan->n_ops; i++) {
		const struct address *address = &parts->plan->ops[i].address;

		if (!is_to_ask(&parts->plan->ops[i], parts->before, after))
			continue;
		(void) model_format_origin(want, &address->origin, where);
		arpask_add(begin->ask, address->link, &address->prefix.addr, where);
	}
}

/* --- the plan --- */

/* The network as it is, and the way from there. */
static int plan(struct begin *begin)
{
	struct transaction_parts *parts = &begin->parts;
	struct plan_options options = {.management_link = begin->management};
	AUTO(free) char *error = NULL;
	json_t *notes;
	char reason[EXPLAIN_REFUSAL_MAX];
	struct look look;
	int r = look_take(begin->kernel, begin->owned, begin->runtime_dir, begin->files, &look);

	if (r < 0)
		return refuse(begin, r, kernel_error_text(begin->kernel));
	begin->planned_us = mono_now_us();
	look_management(look.have, &begin->operator_addr, begin->management);
	plan_free(parts->plan);
	model_free(parts->before);
	beside_free(TAKE_PTR(parts->beside));
	parts->plan = plan_make(look.resolution->model, look.have, &options);
	r = beside_plan(&host_this_machine, look.resolution, look.have, &parts->beside, &error);
	parts->before = TAKE_PTR(look.have);
	json_decref(begin->lines);
	/* Nobody knows yet what a lease will change. */
	begin->has_clients = dhcpclients_have(begin->clients, look.resolution, parts->before);
	begin->is_nothing = parts->plan->n_ops + beside_count(parts->beside) == 0 && begin->has_clients;
	begin->lines = explain_lines(parts->plan, look.resolution, parts->beside);
	notes = explain_notes(parts->plan, look.resolution, parts->beside);
	(void) json_array_extend(begin->lines, notes);
	json_decref(notes);
	if (explain_refusal(parts->plan, look.resolution, reason))
		r = refuse(begin, -EEXIST, reason);
	else if (r < 0)
		r = refuse(begin, r, error);
	else if (beside_problems(parts->beside)->n > 0)
		r = refuse(begin, -EEXIST, beside_problems(parts->beside)->items[0]);
	if (r == 0)
		find_questions(begin, look.resolution->model);
	look_fini(&look);
	return r;
}

/* A lease may bring another address, or another default route. */
static bool is_disruptive(const struct begin *begin)
{
	const struct transaction_parts *parts = &begin->parts;

	return !begin->has_clients || risk_is_disruptive(parts->plan, parts->before, parts->beside);
}

static void finish(struct begin *begin)
{
	const struct plan *plan = begin->parts.plan;
	struct begin_result result = {
	    .r = begin->r,
	    .reason = begin->reason,
	    .parts = &begin->parts,
	    .is_nothing = begin->is_nothing,
	    .lines = begin->lines,
	};

	for (size_t i = 0; begin->r == 0 && i < plan->notes.n; i++)
		log_notice("net_note", "reason=\"%s\"", plan->notes.items[i]);
	begin->parts.management = begin->management;
	begin->done(&result, begin->userdata);
	begin_free(begin);
}

/* If what came between took its time, others may have changed the network meanwhile, and undoing
 * would take back what they did. */
static int freshen(struct begin *begin)
{
	return mono_now_us() - begin->planned_us >= FRESH_US ? plan(begin) : 0;
}

/* It was asked as before a disruptive change, so that the new plan may be as dear as it likes. */
static void on_asked(const char *reason, void *userdata)
{
	struct begin *begin = userdata;

	begin->guard = NULL;
	if (reason != NULL)
		(void) refuse(begin, -EBUSY, reason);
	else
		(void) freshen(begin);
	finish(begin);
}

/* When all are known: what works, and who has which address. */
static void go_on(struct begin *begin)
{
	int r;

	if (begin->is_learning || begin->ask != NULL)
		return;
	r = freshen(begin);
	if (r == 0 && is_disruptive(begin) && !begin->even_without_quorum)
		begin->guard = quorumguard_start(&(struct probe_host){begin->ev, begin->probe_program},
		                                 begin->parts.text, on_asked, begin);
	else
		finish(begin);
}

static void on_known(size_t n_good UNUSED, size_t n_all UNUSED, void *userdata)
{
	struct begin *begin = userdata;

	begin->is_learning = false;
	go_on(begin);
}

static void on_holder(const char *holder, void *userdata)
{
	struct begin *begin = userdata;

	begin->ask = NULL;
	if (holder == NULL) {
		go_on(begin);
		return;
	}
	(void) refuse(begin, -EEXIST, holder);
	finish(begin);
}

static void later_timer_cb(struct ev_loop *ev, ev_timer *timer, int revents UNUSED)
{
	struct begin *begin = CONTAINER_OF(timer, struct begin, later);
	struct transaction_parts *parts = &begin->parts;
	int r = begin->r;

	if (r == 0)
		r = plan(begin);
	if (r == 0 && !begin->is_nothing)
		r = probes_new(&(struct probe_host){ev, begin->probe_program}, parts->config,
		               &parts->probes);
	if (r < 0 || parts->probes == NULL) {
		finish(begin);
		return;
	}
	begin->is_learning = true;
	probes_learn(parts->probes, parts->before, on_known, begin);
	if (begin->ask != NULL)
		arpask_start(begin->ask, on_holder, begin);
}

struct begin *begin_start(struct ev_loop *ev, struct kernel *kernel,
                          const struct begin_request *request, begin_done_fn done, void *userdata)
{
	struct begin *begin = NEW0(struct begin);

	begin->ev = ev;
	begin->kernel = kernel;
	begin->done = done;
	begin->userdata = userdata;
	begin->owned = request->owned;
	begin->runtime_dir = request->runtime_dir;
	begin->clients = request->clients;
	begin->probe_program = request->probe_program;
	begin->operator_addr = request->operator_addr;
	begin->even_without_quorum = request->even_without_quorum;
	begin->lines = json_array();
	(void) load(begin, request);
	ev_timer_init(&begin->later, later_timer_cb, 0., 0.);
	ev_timer_start(ev, &begin->later);
	return begin;
}
