/* SPDX-License-Identifier: Apache-2.0 */
/* From options, files and the environment to a client. */
#include "etcdwatch/worker/s3target.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fileio.h"
#include "base/mem.h"
#include "etcdwatch/worker/cancel.h"

#define SECRET_BYTES_MAX 8192
#define ATTEMPTS_MAX 100
#define STALL_MAX_S 3600

struct secrets {
	char *access_key;
	char *secret_key;
	char *session_token;
};

void s3target_options(struct s3target *t, struct options_entry ret[static S3TARGET_OPTIONS])
{
	const struct options_entry entries[S3TARGET_OPTIONS] = {
	    {.name = "--endpoint", .text = &t->endpoint},
	    {.name = "--bucket", .text = &t->bucket},
	    {.name = "--region", .text = &t->region},
	    {.name = "--virtual-host", .flag = &t->virtual_host},
	    {.name = "--ca-file", .text = &t->ca_file},
	    {.name = "--access-key-file", .text = &t->access_key_file},
	    {.name = "--secret-key-file", .text = &t->secret_key_file},
	    {.name = "--session-token-file", .text = &t->session_token_file},
	    {.name = "--attempts", .text = &t->attempts},
	    {.name = "--stall-timeout", .text = &t->stall_timeout},
	};

	memcpy(ret, entries, sizeof(entries));
}

static void forget(char *secret)
{
	if (secret != NULL)
		explicit_bzero(secret, strlen(secret));
	free(secret);
}

/* The first line of the file, or the variable; NULL when there is neither. */
static int read_secret(const char *file, const char *variable, struct problem *problem, char **ret)
{
	const char *value = getenv(variable);
	size_t len;
	int r;

	if (file == NULL) {
		*ret = value != NULL && value[0] != '\0' ? xstrdup(value) : NULL;
		return 0;
	}
	r = file_read(file, SECRET_BYTES_MAX, ret, &len);
	if (r < 0)
		return problem_set_errno(problem, r, "cannot read '%s'", file);
	(*ret)[strcspn(*ret, "\r\n")] = '\0';
	return 0;
}

static int read_secrets(const struct s3target *t, struct problem *problem, struct secrets *secrets)
{
	int r;

	r = read_secret(t->access_key_file, "AWS_ACCESS_KEY_ID", problem, &secrets->access_key);
	if (r == 0)
		r = read_secret(t->secret_key_file, "AWS_SECRET_ACCESS_KEY", problem, &secrets->secret_key);
	if (r == 0)
		r = read_secret(t->session_token_file, "AWS_SESSION_TOKEN", problem,
		                &secrets->session_token);
	if (r == 0 && (secrets->access_key == NULL || secrets->secret_key == NULL))
		r = problem_set(
		    problem, -EINVAL, "USAGE",
		    "there is no access key or no secret key: neither a file nor the environment "
		    "has it");
	return r;
}

static int open_client(const struct s3target *t, const struct secrets *secrets,
                       struct problem *problem, struct s3 **ret_s3)
{
	struct s3_config config = {
	    .endpoint = t->endpoint,
	    .bucket = t->bucket,
	    .region = t->region,
	    .virtual_host = t->virtual_host,
	    .access_key = secrets->access_key,
	    .secret_key = secrets->secret_key,
	    .session_token = secrets->session_token,
	    .ca_file = t->ca_file,
	    .is_cancelled = cancel_is_wanted,
	};
	unsigned long attempts = 0, stall_s = 0;
	const char *why = "";
	int r = 0;

	if (t->attempts != NULL)
		r = options_number("--attempts", t->attempts, 1, ATTEMPTS_MAX, &attempts, problem);
	if (r == 0 && t->stall_timeout != NULL)
		r = options_number("--stall-timeout", t->stall_timeout, 1, STALL_MAX_S, &stall_s, problem);
	if (r < 0)
		return r;
	config.attempts = (unsigned) attempts;
	config.stall_timeout_ms = (unsigned) stall_s * 1000;
	r = s3_new(&config, &why, ret_s3);
	return r < 0 ? problem_set(problem, r, "USAGE", "%s", why) : 0;
}

int s3target_open(const struct s3target *t, struct problem *problem, struct s3 **ret_s3)
{
	struct secrets secrets = {0};
	int r;

	if (t->endpoint == NULL || t->bucket == NULL)
		return problem_set(problem, -EINVAL, "USAGE", "--endpoint and --bucket are needed");
	r = read_secrets(t, problem, &secrets);
	if (r == 0)
		r = open_client(t, &secrets, problem, ret_s3);
	forget(secrets.access_key);
	forget(secrets.secret_key);
	forget(secrets.session_token);
	return r;
}

int s3target_fail(const struct s3 *s3, int r, struct problem *problem)
{
	const struct s3_error *error = s3_get_error(s3);
	char code[PROBLEM_CODE_MAX];

	if (error->failure == S3_CANCELLED)
		return problem_set(problem, r, "CANCELLED", "cancelled");
	(void) snprintf(code, sizeof(code), "S3_%s", s3_failure_name(error->failure));
	for (char *p = code; *p != '\0'; p++)
		*p = (char) (*p == '-' ? '_' : toupper((unsigned char) *p));
	return problem_set(problem, r, code, "%s", error->reason);
}
