/* SPDX-License-Identifier: Apache-2.0 */
/* What the recorder asks of its daemon. */
#include "etcdwatch/recording.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mono.h"
#include "etcdwatch/catalog/catalog.h"
#include "etcdwatch/record/recordbase.h"
#include "etcdwatch/signing.h"
#include "etcdwatch/store/store.h"
#include "etcdwatch/target/storing.h"

/* The entry has the revision of the last change; etcd, which of an empty database says 1, may have
 * compacted behind it. */
static int64_t revision_of(const struct catalog_entry *entry)
{
	return MAX(MAX(entry->revision, entry->compact_revision), INT64_C(1));
}

/* The one that was taken last, of the history of the chain that goes on. */
static const struct catalog_entry *newest_snapshot(const struct daemon *d, uint64_t cluster_id)
{
	const struct catalog_entry *newest = NULL;
	struct recorder_report report;
	struct recordbase_chain chain;

	recorder_fill_report(daemon_recorder(d), &report);
	chain = (struct recordbase_chain){.first_revision = report.figures.first_revision,
	                                  .first_us = report.figures.first_us,
	                                  .begins = report.figures.begins};
	for (size_t i = 0; i < daemon_n_jobs(d); i++) {
		const struct store *store = job_store(daemon_job(d, i));

		for (size_t k = 0; k < store_n(store); k++) {
			const struct catalog_entry *entry = store_get(store, k);

			if (entry->cluster_id == cluster_id && catalog_is_good(entry) &&
			    recordbase_fits(entry->started_s, revision_of(entry), &chain) &&
			    (newest == NULL || entry->started_s >= newest->started_s))
				newest = entry;
		}
	}
	return newest;
}

static int64_t base_cb(uint64_t cluster_id, void *userdata)
{
	const struct catalog_entry *entry = newest_snapshot(userdata, cluster_id);

	return entry != NULL ? revision_of(entry) : 0;
}

static void saved_cb(const struct job_saved *saved, void *userdata)
{
	const struct daemon *d = userdata;

	if (saved->id != NULL) {
		log_info("record_has_base", "id=%s", saved->id);
		return;
	}
	log_warning("record_without_base", "reason=\"%s\"", saved->reason);
	recorder_snapshot_failed(daemon_recorder(d));
}

static bool needs_cb(int64_t revision, void *userdata)
{
	struct daemon *d = userdata;

	for (size_t i = 0; i < daemon_n_jobs(d); i++) {
		if (job_save(daemon_job(d, i), NULL, saved_cb, d) < 0)
			continue;
		log_info("record_asks_for_base", "job=%s rev=%" PRId64, job_config(daemon_job(d, i))->name,
		         revision);
		return true;
	}
	if (daemon_n_jobs(d) > 0)
		return false; /* each is at one, which may be too old */
	log_warning("record_without_base",
	            "rev=%" PRId64
	            " reason=\"there is no job: the record is of no use without snapshots\"",
	            revision);
	return true;
}

/* --- the targets --- */

static uint64_t unsent_cb(void *userdata)
{
	const struct daemon *d = userdata;
	uint64_t unsent = 0;

	for (size_t i = 0; i < daemon_n_recordstores(d); i++) {
		struct recordstore_report report;

		recordstore_fill_report(daemon_recordstore(d, i), &report);
		if (unsent == 0 || report.sent_sequence + 1 < unsent)
			unsent = report.sent_sequence + 1;
	}
	return unsent;
}

static struct recordwriter_figures figures_cb(void *userdata)
{
	const struct daemon *d = userdata;
	struct recorder_report report;

	recorder_fill_report(daemon_recorder(d), &report);
	return report.figures;
}

static bool oldest_cb(const struct config_job *config, const struct config_target *target,
                      uint64_t *ret_cluster_id, int64_t *ret_revision, void *userdata)
{
	const struct daemon *d = userdata;

	for (size_t i = 0; i < daemon_n_jobs(d); i++) {
		const struct storing *storing = job_storing(daemon_job(d, i));

		for (size_t k = 0; job_config(daemon_job(d, i)) == config && k < storing_n(storing); k++) {
			struct target_report report;

			target_fill_report(storing_target(storing, k), &report);
			if (target_options(storing_target(storing, k))->target != target ||
			    report.found->oldest_revision == 0)
				continue;
			*ret_cluster_id = report.found->oldest_cluster_id;
			*ret_revision = report.found->oldest_revision;
			return true;
		}
	}
	return false;
}

void recording_start_stores(struct daemon *daemon, const struct cluster_env *env,
                            const struct config_record *config, const char *worker,
                            struct recordstore *ret_stores[static CONFIG_RECORD_TARGETS_MAX],
                            size_t *ret_n)
{
	static const struct recordstore_callbacks callbacks = {
	    .figures = figures_cb,
	    .oldest = oldest_cb,
	};
	AUTO(free) char *key = daemon_own_key(daemon) != NULL ? signing_path() : NULL;
	size_t n = 0;

	for (size_t i = 0; config->enabled && i < config->n_targets; i++) {
		const struct config_job *job = NULL;

		for (size_t k = 0; k < daemon_n_jobs(daemon); k++) {
			if (strcmp(job_config(daemon_job(daemon, k))->name, config->targets[i].job) == 0)
				job = job_config(daemon_job(daemon, k));
		}
		if (job == NULL)
			continue;
		ret_stores[n++] = recordstore_new(&(struct recordstore_options){
		    .ev = env->ev,
		    .job = job,
		    .target = config_find_target(job, config->targets[i].target),
		    .worker = worker,
		    .node = env->node_name,
		    .directory = config->directory,
		    .signing_key = key,
		    .signed_by = daemon_own_key(daemon),
		    .every_us = config->upload_every_us,
		    .callbacks = &callbacks,
		    .userdata = daemon,
		});
	}
	*ret_n = n;
}

/* --- beginning --- */

int recording_start(struct daemon *daemon, const struct cluster_env *env,
                    const struct config_record *config, struct recorder **ret_recorder)
{
	static const struct recorder_callbacks callbacks = {
	    .base_revision = base_cb,
	    .needs_snapshot = needs_cb,
	    .unsent_sequence = unsent_cb,
	};
	const struct recorder_options options = {
	    .ev = env->ev,
	    .etcd = env->etcd,
	    .directory = config->directory,
	    .keep_us = config->keep_us,
	    .max_bytes = (uint64_t) config->max_bytes,
	    .reserve_bytes = (uint64_t) config->reserve_bytes,
	    .hash_every_us = config->hash_every_us,
	};

	*ret_recorder = NULL;
	return config->enabled ? recorder_new(&options, &callbacks, daemon, ret_recorder) : 0;
}

static void look_at_targets(const struct daemon *daemon, struct observation_record *ret)
{
	for (size_t i = 0; i < daemon_n_recordstores(daemon); i++) {
		struct observation_record_target *t = &ret->targets[ret->n_targets++];
		struct recordstore_report report;

		recordstore_fill_report(daemon_recordstore(daemon, i), &report);
		(void) snprintf(t->name, sizeof(t->name), "%s/%s", report.job, report.target);
		t->error = report.error;
		t->until_s = report.until_us / US_PER_S;
		t->limit_s = report.limit_us / US_PER_S;
	}
}

void recording_look(const struct daemon *daemon, struct observation_record *ret)
{
	const struct catalog_entry *entry;
	struct recorder_report report;

	if (daemon_recorder(daemon) == NULL)
		return;
	recorder_fill_report(daemon_recorder(daemon), &report);
	entry = newest_snapshot(daemon, report.cluster_id);
	*ret = (struct observation_record){
	    .enabled = true,
	    .reached_s = report.figures.reached_us / US_PER_S,
	    .error = report.error,
	    .first_revision = report.figures.first_revision,
	};
	look_at_targets(daemon, ret);
	if (entry != NULL)
		ret->base_revision = revision_of(entry);
	if (report.gap.wall_us == 0 || report.figures.first_us < report.gap.wall_us)
		return;
	(void) snprintf(ret->lost_why, sizeof(ret->lost_why), "%.255s", report.gap.reason);
	ret->first_lost = report.gap.first;
	ret->last_lost = report.gap.last;
}
