/* SPDX-License-Identifier: Apache-2.0 */
/* What the recorder asks of its daemon. */
#include "etcdwatch/recording.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/macro.h"
#include "etcdwatch/store/store.h"

/* A snapshot in the catalogue has been proven. */
static int64_t base_cb(uint64_t cluster_id, void *userdata)
{
	const struct daemon *d = userdata;
	int64_t revision = 0;

	for (size_t i = 0; i < daemon_n_jobs(d); i++) {
		const struct store *store = job_store(daemon_job(d, i));

		for (size_t k = 0; k < store_n(store); k++) {
			const struct catalog_entry *entry = store_get(store, k);

			if (entry->cluster_id == cluster_id)
				revision = MAX(revision, entry->revision);
		}
	}
	return revision;
}

static void saved_cb(const struct job_saved *saved, void *userdata UNUSED)
{
	if (saved->id == NULL)
		log_warning("record_without_base", "reason=\"%s\"", saved->reason);
	else
		log_info("record_has_base", "id=%s", saved->id);
}

static bool needs_cb(int64_t revision, void *userdata)
{
	const struct daemon *d = userdata;

	for (size_t i = 0; i < daemon_n_jobs(d); i++) {
		if (job_save(daemon_job(d, i), false, saved_cb, NULL) < 0)
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

int recording_start(struct daemon *daemon, const struct cluster_env *env,
                    const struct config_record *config, struct recorder **ret_recorder)
{
	static const struct recorder_callbacks callbacks = {
	    .base_revision = base_cb,
	    .needs_snapshot = needs_cb,
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
