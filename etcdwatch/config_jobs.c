/* SPDX-License-Identifier: Apache-2.0 */
/* The jobs as JSON lines, for `fairlead etcd restore`, which works where no daemon does. */
#include <jansson.h>

#include "base/jsonval.h"
#include "etcdwatch/config.h"

static json_t *describe_target(const struct config_target *t)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o}", "name",
	                 jsonval_text(t->name), "endpoint", jsonval_text(t->endpoint), "bucket",
	                 jsonval_text(t->bucket), "prefix", jsonval_text(t->prefix), "region",
	                 jsonval_text(t->region), "path_style", (int) t->path_style, "ca_file",
	                 jsonval_text(t->ca_file), "access_key_file", jsonval_text(t->access_key_file),
	                 "secret_key_file", jsonval_text(t->secret_key_file), "session_token_file",
	                 jsonval_text(t->session_token_file), "credentials_file",
	                 jsonval_text(t->credentials_file));
}

static json_t *describe_job(const struct config_job *job)
{
	json_t *targets = json_array();

	for (size_t i = 0; i < job->n_targets; i++)
		(void) json_array_append_new(targets, describe_target(&job->targets[i]));
	return json_pack("{s:o, s:o, s:o, s:o}", "name", jsonval_text(job->name), "directory",
	                 jsonval_text(job->directory), "identity_file",
	                 jsonval_text(job->drill.identity_file), "targets", targets);
}

void config_print_jobs(const struct config *config, FILE *out)
{
	for (size_t i = 0; i < config->n_jobs; i++) {
		json_t *job = describe_job(&config->jobs[i]);

		(void) json_dumpf(job, out, JSON_COMPACT);
		(void) fputc('\n', out);
		json_decref(job);
	}
}
