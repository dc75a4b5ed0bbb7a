/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files with keys and certificates that a configuration names besides those by which etcd is
 * reached, looked at one by one. What is in them is for whoever uses them; whether they can be read
 * and have something is told here, since nobody else would tell before they are needed.
 */
#include "etcdwatch/config/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"

struct look {
	config_file_fn fn;
	void *userdata;
};

/* 0, or -errno; -ENODATA: it is empty. */
static int try(const char *path)
{
	/* A FIFO that nobody writes to would hold this up. */
	AUTO(close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char byte;
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, &byte, 1);
	if (n < 0)
		return -errno;
	return n == 0 ? -ENODATA : 0;
}

static void look_at(const struct look *look, const char *whose, const char *key, const char *path)
{
	AUTO(free) char *message = NULL;
	int r = path != NULL ? try(path) : 0;

	if (r == 0)
		return;
	message = xasprintf(
	    "%s: %s: '%s' %s%s", whose, key, path,
	    r == -ENODATA ? "is empty" : "cannot be read: ", r == -ENODATA ? "" : strerror(-r));
	look->fn(message, look->userdata);
}

static void look_at_target(const struct look *look, const char *job, const struct config_target *t)
{
	AUTO(free) char *whose = xasprintf("job %s, target %s", job, t->name);

	look_at(look, whose, "caFile", t->ca_file);
	look_at(look, whose, "accessKeyFile", t->access_key_file);
	look_at(look, whose, "secretKeyFile", t->secret_key_file);
	look_at(look, whose, "sessionTokenFile", t->session_token_file);
	look_at(look, whose, "credentialsFile", t->credentials_file);
	look_at(look, whose, "credentials.webIdentity.tokenFile", t->web_token_file);
	look_at(look, whose, "serverSideEncryption.customerKeyFile", t->customer_key_file);
}

void config_look_at_files(const struct config *config, config_file_fn fn, void *userdata)
{
	const struct config_notify *notify = &config->watch.notify;
	const struct look look = {fn, userdata};

	for (size_t i = 0; i < config->n_jobs; i++) {
		const struct config_job *job = &config->jobs[i];
		AUTO(free) char *whose = xasprintf("job %s", job->name);

		look_at(&look, whose, "recipientsFile", job->recipients_file);
		if (job->drill.enabled)
			look_at(&look, whose, "identityFile", job->drill.identity_file);
		for (size_t k = 0; k < job->n_targets; k++)
			look_at_target(&look, job->name, &job->targets[k]);
	}
	look_at(&look, "notify", "urlFile", notify->url_file);
	look_at(&look, "notify", "secretFile", notify->secret_file);
	look_at(&look, "notify", "caFile", notify->ca_file);
	look_at(&look, "notify", "certFile", notify->cert_file);
	look_at(&look, "notify", "keyFile", notify->key_file);
}
