/* SPDX-License-Identifier: Apache-2.0 */
/* From options, files and the environment to a client. */
#include "etcdwatch/worker/store/s3target.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "etcdwatch/worker/store/awskeys.h"
#include "etcdwatch/worker/store/awsrole.h"
#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/store/storeprogram.h"

/* A session token has one or two thousand; files of the AWS tools may have many profiles. */
#define SECRET_BYTES_MAX (64 << 10)
#define ATTEMPTS_MAX 100
#define STALL_MAX_S 3600
#define BACKOFF_MAX_MS 60000

#define TEXT(name, member) OPTION(name, TEXT, struct s3target, member)

const struct options_entry s3target_options[S3TARGET_OPTIONS] = {
    TEXT("--command", command),
    TEXT("--endpoint", endpoint),
    TEXT("--bucket", bucket),
    TEXT("--region", region),
    OPTION("--virtual-host", FLAG, struct s3target, virtual_host),
    TEXT("--ca-file", ca_file),
    TEXT("--access-key-file", access_key_file),
    TEXT("--secret-key-file", secret_key_file),
    TEXT("--session-token-file", session_token_file),
    TEXT("--credentials-file", credentials_file),
    TEXT("--credentials", credentials),
    TEXT("--proxy", proxy),
    TEXT("--kms-key", kms_key),
    TEXT("--customer-key-file", customer_key_file),
    OPTION_NUMBER("--attempts", struct s3target, attempts, 1, ATTEMPTS_MAX, 0),
    OPTION_NUMBER("--stall-timeout", struct s3target, stall_s, 1, STALL_MAX_S, 0),
    OPTION_NUMBER("--backoff", struct s3target, backoff_ms, 1, BACKOFF_MAX_MS, 0),
};

/* --- keys --- */

static int read_file(const char *path, struct problem *problem, char **ret_text, size_t *ret_len)
{
	int r = file_read(path, SECRET_BYTES_MAX, ret_text, ret_len);

	return r < 0 ? problem_set_errno(problem, r, "cannot read '%s'", path) : 0;
}

/* The first line of the file. */
static int read_line(const char *path, struct problem *problem, char **ret_line)
{
	char *text = NULL;
	size_t len = 0;
	int r = read_file(path, problem, &text, &len);

	if (r < 0)
		return r;
	*ret_line = xstrndup(text, strcspn(text, "\r\n"));
	explicit_bzero(text, len);
	free(text);
	return 0;
}

/* All of them, of files; the environment may be about someone else. */
static int read_lines(const struct s3target *t, struct problem *problem, struct awsfile *keys)
{
	int r;

	if (t->access_key_file == NULL || t->secret_key_file == NULL)
		return problem_set(problem, -EINVAL, "USAGE",
		                   "--access-key-file and --secret-key-file go together");
	r = read_line(t->access_key_file, problem, &keys->access_key);
	if (r == 0)
		r = read_line(t->secret_key_file, problem, &keys->secret_key);
	if (r == 0 && t->session_token_file != NULL)
		r = read_line(t->session_token_file, problem, &keys->session_token);
	return r;
}

static int read_credentials(const char *path, struct problem *problem, struct awsfile *keys)
{
	const char *why = "";
	char *text = NULL;
	unsigned line = 0;
	size_t len = 0;
	int r = read_file(path, problem, &text, &len);

	if (r < 0)
		return r;
	r = awsfile_parse(text, len, keys, &why, &line);
	explicit_bzero(text, len);
	free(text);
	if (r < 0 && line > 0)
		return problem_set(problem, r, "CREDENTIALS", "line %u of '%s' %s", line, path, why);
	return r < 0 ? problem_set(problem, r, "CREDENTIALS", "'%s' %s", path, why) : 0;
}

static char *of_environment(const char *variable)
{
	const char *value = getenv(variable);

	return value != NULL && value[0] != '\0' ? xstrdup(value) : NULL;
}

static int read_environment(struct problem *problem, struct awsfile *keys)
{
	keys->access_key = of_environment("AWS_ACCESS_KEY_ID");
	keys->secret_key = of_environment("AWS_SECRET_ACCESS_KEY");
	keys->session_token = of_environment("AWS_SESSION_TOKEN");
	if (keys->access_key == NULL || keys->secret_key == NULL)
		return problem_set(problem, -EINVAL, "USAGE",
		                   "there is no access key or no secret key: neither a file nor the "
		                   "environment has it");
	return 0;
}

static int read_keys(const struct s3target *t, const struct awsrole *role, struct problem *problem,
                     struct awsfile *keys)
{
	bool single =
	    t->access_key_file != NULL || t->secret_key_file != NULL || t->session_token_file != NULL;

	if (role != NULL && (t->credentials_file != NULL || single))
		return problem_set(problem, -EINVAL, "USAGE",
		                   "--credentials is in place of files with keys");
	if (role != NULL)
		return awsrole_fetch(role, problem, keys);
	if (t->credentials_file != NULL && single)
		return problem_set(problem, -EINVAL, "USAGE",
		                   "--credentials-file is in place of the files of single keys");
	if (t->credentials_file != NULL)
		return read_credentials(t->credentials_file, problem, keys);
	return single ? read_lines(t, problem, keys) : read_environment(problem, keys);
}

/* 32 bytes in base64. */
static int read_customer_key(const struct s3target *t, struct problem *problem, char **ret_key)
{
	char *line = NULL, *key = NULL;
	size_t len = 0;
	int r;

	if (strncmp(t->endpoint, "https:", 6) != 0)
		return problem_set(problem, -EINVAL, "USAGE",
		                   "--customer-key-file: the key goes to the server with each request, "
		                   "and '%s' is not https",
		                   t->endpoint);
	r = read_line(t->customer_key_file, problem, &line);
	if (r < 0)
		return r;
	r = base64_decode(line, &key, &len);
	explicit_bzero(line, strlen(line));
	free(line);
	if (r < 0 || len != S3_CUSTOMER_KEY_BYTES) {
		free(key);
		return problem_set(problem, -EBADMSG, "CREDENTIALS",
		                   "'%s' is not a key of 32 bytes in base64, such as `openssl rand "
		                   "-base64 32` makes",
		                   t->customer_key_file);
	}
	*ret_key = key;
	return 0;
}

static struct s3_keys keys_of(const struct awsfile *keys)
{
	return (struct s3_keys){keys->access_key, keys->secret_key, keys->session_token,
	                        keys->expires_s};
}

static int renew(struct s3 *s3, char ret_reason[static S3_REASON_MAX], void *userdata)
{
	struct problem problem = {0};
	struct awsfile file = {0};
	struct s3_keys keys;
	int r = awsrole_fetch(userdata, &problem, &file);

	if (r == 0) {
		keys = keys_of(&file);
		r = s3_set_keys(s3, &keys);
	}
	awsfile_fini(&file);
	(void) snprintf(ret_reason, S3_REASON_MAX, "%.*s", S3_REASON_MAX - 1, problem.reason);
	return r;
}

static void free_role(void *userdata)
{
	awsrole_free(userdata);
}

/* --- the client --- */

/* Takes *role when it succeeds. */
static int open_client(const struct s3target *t, const struct awsfile *keys, struct awsrole **role,
                       const char *customer_key, struct problem *problem, struct s3 **ret_s3)
{
	const struct s3_config config = {
	    .endpoint = t->endpoint,
	    .bucket = t->bucket,
	    .region = t->region,
	    .virtual_host = t->virtual_host,
	    .keys = keys_of(keys),
	    .renew = *role != NULL ? renew : NULL,
	    .renew_userdata = *role,
	    .renew_free = free_role,
	    .ca_file = t->ca_file,
	    .proxy = t->proxy,
	    .kms_key = t->kms_key,
	    .customer_key = (const uint8_t *) customer_key,
	    .is_cancelled = cancel_is_wanted,
	    .attempts = (unsigned) t->attempts,
	    .stall_timeout_ms = (unsigned) t->stall_s * 1000,
	    .backoff_ms = (unsigned) t->backoff_ms,
	};
	const char *why = "";
	int r = s3_new(&config, &why, ret_s3);

	if (r < 0)
		return problem_set(problem, r, "USAGE", "%s", why);
	*role = NULL;
	return 0;
}

bool s3target_is_named(const struct s3target *t)
{
	return t->command != NULL || t->endpoint != NULL || t->bucket != NULL;
}

int s3target_open(const struct s3target *t, struct problem *problem, struct s3 **ret_s3)
{
	AUTO(awsrole_free) struct awsrole *role = NULL;
	struct awsfile keys = {0};
	char *customer_key = NULL;
	int r = 0;

	if (t->command != NULL && (t->endpoint != NULL || t->bucket != NULL))
		return problem_set(problem, -EINVAL, "USAGE",
		                   "--command is in place of --endpoint and --bucket");
	if (t->command != NULL)
		return storeprogram_open(t->command, problem, ret_s3);
	if (t->endpoint == NULL || t->bucket == NULL)
		return problem_set(problem, -EINVAL, "USAGE", "--endpoint and --bucket are needed");
	if (t->credentials != NULL)
		r = awsrole_new(t->credentials, t->ca_file, t->proxy, problem, &role);
	if (r == 0)
		r = read_keys(t, role, problem, &keys);
	if (r == 0 && t->customer_key_file != NULL)
		r = read_customer_key(t, problem, &customer_key);
	if (r == 0)
		r = open_client(t, &keys, &role, customer_key, problem, ret_s3);
	awsfile_fini(&keys);
	if (customer_key != NULL)
		explicit_bzero(customer_key, S3_CUSTOMER_KEY_BYTES);
	free(customer_key);
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
