/* SPDX-License-Identifier: Apache-2.0 */
/* From the configuration to a command line. The entry of a local snapshot is read by the worker, as
 * it lies on the disk; that of another one is told. */
#include "etcdwatch/drill/drillwords.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/target/inventory.h"

static void option_if_set(struct s3words *words, const char *name, const char *value)
{
	if (value != NULL)
		s3words_option(words, name, value);
}

static void add_source(struct drillwords *d, const struct config_job *job,
                       const struct catalog_entry *entry)
{
	if (job->drill.source == NULL) {
		d->file = xasprintf("%s/%s", job->directory, entry->file);
		d->entry = xasprintf("%s/%s.json", job->directory, entry->id);
		s3words_option(&d->words, "--catalog", d->entry);
		return;
	}
	d->file = inventory_file_key(job->drill.source, entry);
	d->entry = catalog_print(entry);
	s3words_option(&d->words, "--entry", d->entry);
	s3words_target(&d->words, job->drill.source);
}

void drillwords_init(struct drillwords *d, const char *worker, const struct config_job *job,
                     const struct catalog_entry *entry)
{
	const struct config_drill *drill = &job->drill;

	(void) snprintf(d->timeout, sizeof(d->timeout), "%lld",
	                (long long) (drill->timeout_us / US_PER_S));
	(void) snprintf(d->reserve, sizeof(d->reserve), "%lld", (long long) job->reserve_bytes);
	s3words_start(&d->words, worker, "drill");
	add_source(d, job, entry);
	s3words_option(&d->words, "--directory", drill->directory);
	s3words_option(&d->words, "--timeout", d->timeout);
	s3words_option(&d->words, "--reserve", d->reserve);
	option_if_set(&d->words, "--identity", drill->identity_file);
	/* What lies here is this node's own, perhaps from before keys were configured. */
	for (size_t i = 0;
	     drill->source != NULL && job->trusted_keys != NULL && i < job->trusted_keys->n; i++)
		s3words_option(&d->words, "--trust", job->trusted_keys->items[i]);
	if (job->encrypted)
		s3words_option(&d->words, "--encrypted", NULL);
	option_if_set(&d->words, "--etcd", drill->etcd);
	option_if_set(&d->words, "--etcdutl", drill->etcdutl);
	s3words_add(&d->words, d->file);
}

void drillwords_fini(struct drillwords *d)
{
	free(d->file);
	free(d->entry);
}
