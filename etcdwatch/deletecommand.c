/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `etcd snapshot delete ID [--local | --target NAME] [--force]`: from everywhere, or from one
 * place. First it is found out where it is, and whether it may go from there: where it is the last
 * good one of its cluster, it takes --force. Only then anything is removed, everywhere at once.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/commands_priv.h"
#include "etcdwatch/looks.h"
#include "etcdwatch/target/removal.h"
#include "etcdwatch/target/storing.h"

#define USAGE "etcd snapshot delete ID [--local | --target NAME] [--force]"
#define PLACES_MAX (CONFIG_JOBS_MAX * (CONFIG_TARGETS_MAX + 1))

struct delete;

struct place {
	struct delete *delete;
	struct job *job;
	struct target *target; /* NULL: the job's directory */
	struct removal *removal;
};

struct delete
{
	struct command command;
	char *id;
	char *only_target;
	bool only_local, force;
	struct job *jobs[CONFIG_JOBS_MAX];
	size_t n_jobs;
	struct looks *looks;
	struct place places[PLACES_MAX];
	size_t n_places, n_left;
	char *failure; /* the first */
};

static const char *name_of(const struct place *place)
{
	return place->target != NULL ? target_options(place->target)->target->name : LISTING_LOCAL;
}

static void free_delete(struct delete *d)
{
	command_end(&d->command);
	looks_free(d->looks);
	for (size_t i = 0; i < d->n_places; i++)
		removal_abandon(d->places[i].removal);
	free(d->id);
	free(d->only_target);
	free(d->failure);
	free(d);
}

static void give_up(struct command *command)
{
	free_delete(CONTAINER_OF(command, struct delete, command));
}

static void finish(struct delete *d, enum control_error error)
{
	if (d->failure != NULL)
		control_fail(d->command.request, error, "%s", d->failure);
	else
		control_ok(d->command.request);
	free_delete(d);
}

/* --- removing --- */

static void removed(struct place *place, int r, const char *reason)
{
	struct delete *d = place->delete;
	const char *job = job_config(place->job)->name;

	if (r < 0) {
		if (d->failure == NULL)
			d->failure = xasprintf("%s: %s", name_of(place), reason);
	} else {
		log_notice("snapshot_deleted", "job=%s id=%s where=%s reason=\"an operator says so\"", job,
		           d->id, name_of(place));
		control_reply(d->command.request, json_pack("{s:s, s:s, s:s}", "job", job, "id", d->id,
		                                            "where", name_of(place)));
	}
	if (--d->n_left == 0)
		finish(d, CONTROL_FAILED);
}

static void local_cb(int r, const char *reason, void *userdata)
{
	struct place *place = userdata;

	job_release(place->job);
	removed(place, r, reason);
}

static void target_cb(int r, const char *reason, size_t n UNUSED, void *userdata)
{
	struct place *place = userdata;

	place->removal = NULL;
	removed(place, r, reason);
}

static void begin(struct place *place, const struct catalog_entry *entry)
{
	const char *id = place->delete->id;

	place->delete->n_left++;
	if (place->target == NULL) {
		store_remove(job_store(place->job), &id, 1, local_cb, place);
	} else {
		const struct target_options *t = target_options(place->target);
		const struct removal_options options = {
		    .ev = t->ev,
		    .unfinished = target_unfinished(place->target),
		    .target = t->target,
		    .worker = t->worker,
		    .entries = &entry,
		    .n = 1,
		};

		place->removal = removal_start(&options, target_cb, place);
	}
}

/* --- where it is --- */

/* What is found in a place: its entries there. */
struct found {
	const struct catalog_entry *entry;
	const struct catalog_entry *const *all;
	size_t n;
};

static void PRINTF_LIKE(2, 3) refuse(struct delete *d, const char *fmt, ...)
{
	va_list ap;

	if (d->failure != NULL)
		return;
	va_start(ap, fmt);
	d->failure = xvasprintf(fmt, ap);
	va_end(ap);
}

static void add(struct delete *d, struct job *job, struct target *target, struct found *ret_found,
                const struct catalog_entry *entry, const struct catalog_entry *const *all, size_t n)
{
	if (entry == NULL || d->n_places == PLACES_MAX)
		return;
	ret_found[d->n_places] = (struct found){.entry = entry, .all = all, .n = n};
	d->places[d->n_places++] = (struct place){.delete = d, .job = job, .target = target};
}

static void find(struct delete *d, const struct looks_item *items, size_t n,
                 struct found ret_found[static PLACES_MAX])
{
	for (size_t i = 0; i < d->n_jobs && d->only_target == NULL; i++) {
		const struct store *store = job_store(d->jobs[i]);

		add(d, d->jobs[i], NULL, ret_found, store_find(store, d->id), store_entries(store),
		    store_n(store));
	}
	for (size_t i = 0; i < n; i++) {
		const char *name = target_options(items[i].target)->target->name;
		const struct inventory *there = items[i].there;
		const struct catalog_entry *const *trusted;
		size_t n_trusted;

		if (d->only_target != NULL && strcmp(d->only_target, name) != 0)
			continue;
		if (there == NULL) {
			refuse(d, "cannot ask %s, so nothing is deleted: %s", name, items[i].reason);
			continue;
		}
		trusted = inventory_trusted(there, &n_trusted);
		add(d, items[i].job, items[i].target, ret_found, inventory_find(there, d->id), trusted,
		    n_trusted);
	}
	if (d->n_places == 0)
		refuse(d, "there is no snapshot '%s'", d->id);
}

static void check(struct delete *d, const struct found *found)
{
	for (size_t i = 0; i < d->n_places; i++) {
		const struct place *place = &d->places[i];
		const struct found *f = &found[i];

		if (!d->force && catalog_is_good(f->entry) && catalog_is_newest(f->all, f->n, f->entry))
			refuse(d, "%s is the last good snapshot of its cluster in %s: --force deletes it",
			       d->id, name_of(place));
		if (place->target != NULL && target_is_sending(place->target, d->id))
			refuse(d, "%s is on its way to %s", d->id, name_of(place));
	}
}

/* All that is needed, or none of it. */
static void hold(struct delete *d)
{
	size_t held = 0;

	while (held < d->n_places && d->failure == NULL) {
		if (d->places[held].target == NULL && !job_hold(d->places[held].job))
			refuse(d, "job '%s' is busy with its snapshots: try again",
			       job_config(d->places[held].job)->name);
		else
			held++;
	}
	while (d->failure != NULL && held-- > 0) {
		if (d->places[held].target == NULL)
			job_release(d->places[held].job);
	}
}

static void looked_cb(const struct looks_item *items, size_t n, void *userdata)
{
	struct delete *d = userdata;
	struct found found[PLACES_MAX] = {0};

	d->looks = NULL;
	find(d, items, n, found);
	if (d->failure != NULL) {
		finish(d, d->n_places == 0 ? CONTROL_NOTFOUND : CONTROL_FAILED);
		return;
	}
	check(d, found);
	if (d->failure == NULL)
		hold(d);
	if (d->failure != NULL) {
		finish(d, CONTROL_BUSY);
		return;
	}
	for (size_t i = 0; i < d->n_places; i++)
		begin(&d->places[i], found[i].entry);
}

/* --- the command --- */

static bool parse(struct delete *d, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		if (strcmp(argv[i], "--local") == 0)
			d->only_local = true;
		else if (strcmp(argv[i], "--force") == 0)
			d->force = true;
		else if (strcmp(argv[i], "--target") == 0 && i + 1 < argc && d->only_target == NULL)
			d->only_target = xstrdup(argv[++i]);
		else if (d->id == NULL && argv[i][0] != '-')
			d->id = xstrdup(argv[i]);
		else
			return false;
	}
	return d->id != NULL && !(d->only_local && d->only_target != NULL);
}

void deletecommand_fn(struct control_request *request, int argc, char **argv, void *userdata)
{
	struct delete *d = NEW0(struct delete);

	if (!command_begin(userdata, &d->command, request, give_up)) {
		free(d);
		return;
	}
	if (!parse(d, argc, argv)) {
		control_fail(request, CONTROL_USAGE, "%s", USAGE);
		free_delete(d);
		return;
	}
	d->n_jobs = commands_jobs(request, commands_daemon(userdata), NULL, d->jobs);
	if (d->n_jobs == 0) {
		free_delete(d);
		return;
	}
	if (!d->only_local)
		d->looks = looks_start(d->jobs, d->n_jobs, looked_cb, d);
	if (d->looks == NULL)
		looked_cb(NULL, 0, d);
}
