/* SPDX-License-Identifier: Apache-2.0 */
/* From the configuration to a command line. */
#include "etcdwatch/drillwords.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/mono.h"

static void add(struct drillwords *words, const char *word)
{
	words->argv[words->n++] = word;
}

/* Nothing if there is no value. */
static void add_option(struct drillwords *words, const char *name, const char *value)
{
	if (value == NULL)
		return;
	add(words, name);
	add(words, value);
}

void drillwords_init(struct drillwords *words, const char *worker, const struct config_job *job,
                     const struct catalog_entry *entry)
{
	const struct config_drill *drill = &job->drill;

	*words = (struct drillwords){.n = 0};
	words->file = xasprintf("%s/%s", job->directory, entry->file);
	words->catalog = xasprintf("%s/%s.json", job->directory, entry->id);
	(void) snprintf(words->timeout, sizeof(words->timeout), "%lld",
	                (long long) (drill->timeout_us / US_PER_S));
	(void) snprintf(words->reserve, sizeof(words->reserve), "%lld", (long long) job->reserve_bytes);
	add(words, worker);
	add(words, "drill");
	add(words, words->file);
	add_option(words, "--catalog", words->catalog);
	add_option(words, "--directory", drill->directory);
	add_option(words, "--timeout", words->timeout);
	add_option(words, "--reserve", words->reserve);
	add_option(words, "--identity", drill->identity_file);
	add_option(words, "--etcd", drill->etcd);
	add_option(words, "--etcdutl", drill->etcdutl);
}

void drillwords_fini(struct drillwords *words)
{
	free(words->file);
	free(words->catalog);
}
