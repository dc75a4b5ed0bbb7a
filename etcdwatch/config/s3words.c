/* SPDX-License-Identifier: Apache-2.0 */
/* From a target of the configuration to the worker's options
 * (etcdwatch/worker/store/s3target.h). */
#include "etcdwatch/config/s3words.h"

#include <assert.h>
#include <string.h>

/* Of each request, within one run of the worker: who runs it tries again later. */
#define ATTEMPTS "3"

static void push(struct s3words *w, const char *word)
{
	assert(w->n < CHILD_ARGS_MAX);
	w->argv[w->n++] = word;
	w->argv[w->n] = NULL;
}

void s3words_option(struct s3words *w, const char *name, const char *value)
{
	push(w, name);
	if (value != NULL)
		push(w, value);
}

void s3words_option_if_set(struct s3words *w, const char *name, const char *value)
{
	if (value != NULL)
		s3words_option(w, name, value);
}

void s3words_start(struct s3words *w, const char *worker, const char *command)
{
	*w = (struct s3words){.n = 0};
	push(w, worker);
	push(w, command);
}

void s3words_target(struct s3words *w, const struct config_target *t)
{
	if (t->type == CONFIG_TARGET_COMMAND) {
		s3words_option(w, "--command", t->command_json);
		return;
	}
	s3words_option(w, "--endpoint", t->endpoint);
	s3words_option(w, "--bucket", t->bucket);
	s3words_option(w, "--region", t->region);
	if (!t->path_style)
		s3words_option(w, "--virtual-host", NULL);
	s3words_option_if_set(w, "--ca-file", t->ca_file);
	s3words_option_if_set(w, "--access-key-file", t->access_key_file);
	s3words_option_if_set(w, "--secret-key-file", t->secret_key_file);
	s3words_option_if_set(w, "--session-token-file", t->session_token_file);
	s3words_option_if_set(w, "--credentials-file", t->credentials_file);
	s3words_option_if_set(w, "--credentials", t->credentials_json);
	s3words_option_if_set(w, "--proxy", t->proxy);
	s3words_option_if_set(w, "--kms-key", t->kms_key);
	s3words_option_if_set(w, "--customer-key-file", t->customer_key_file);
	s3words_option(w, "--attempts", ATTEMPTS);
}

void s3words_owner(struct s3words *w, const struct config_target *t)
{
	if (t->owner == NULL)
		return;
	s3words_option(w, "--owner", t->owner->id);
	s3words_option(w, "--owner-node", t->owner->node);
	s3words_option(w, "--owner-prefix", t->prefix);
}

void s3words_begin(struct s3words *w, const char *worker, const char *subcommand,
                   const struct config_target *t)
{
	s3words_start(w, worker, "s3");
	push(w, subcommand);
	s3words_target(w, t);
	s3words_owner(w, t);
}

void s3words_add(struct s3words *w, const char *word)
{
	if (!w->only_words)
		push(w, "--");
	w->only_words = true;
	push(w, word);
}
