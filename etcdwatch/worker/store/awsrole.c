/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of the sources of keys: the name of each in the JSON, what must be there, and how it is
 * asked. Answers are bounded, and are overwritten when the keys have been taken from them;
 * sentences have a server's own code at most, never its text.
 */
#include "etcdwatch/worker/store/awsrole.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/conf_check.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "etcdwatch/worker/store/awskeys.h"
#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/common/filter.h"
#include "etcdwatch/worker/common/sink.h"
#include "web/s3xml.h"
#include "web/sigv4.h"
#include "web/webask.h"

#define CODE "CREDENTIALS"
#define ANSWER_BYTES_MAX ((size_t) 64 << 10)
#define TOKEN_BYTES_MAX (64 << 10)
#define NEAR_TIMEOUT_MS 5000
#define STS_TIMEOUT_MS 30000
#define PROCESS_LIMIT_MS 60000
#define WORDS_MAX 32
#define ATTEMPTS 3
#define PAUSE_MS 1000

#define METADATA "http://169.254.169.254"
#define METADATA_ROLES "/latest/meta-data/iam/security-credentials/"
#define CONTAINER_HOST "http://169.254.170.2"

struct provider;

struct awsrole {
	json_t *json;
	const json_t *part; /* of it: what the provider's name has */
	const struct provider *provider;
	char *ca_file;
	char *proxy;
};

struct provider {
	const char *name;
	bool (*check)(const json_t *part);
	int (*fetch)(const struct awsrole *role, struct problem *problem, struct awsfile *ret_keys);
};

static void forget(char *text, size_t len)
{
	if (text != NULL)
		explicit_bzero(text, len);
	free(text);
}

/* --- asking --- */

/* A server that errs may not do so in a second. */
static bool is_passing(int r, const struct webask_answer *answer)
{
	return r == -ECONNREFUSED || r == -EHOSTUNREACH || r == -ETIMEDOUT || r == -EKEYREJECTED ||
	       r == -EIO || (r == 0 && (answer->status >= 500 || answer->status == 429));
}

#define ERROR_CODE_MAX 64

/* A word as AWS's codes are; anything else is not repeated. */
static void keep_code(char ret_code[static ERROR_CODE_MAX], const char *text)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.");

	if (len > 0 && text[len] == '\0' && len < ERROR_CODE_MAX - 1)
		(void) snprintf(ret_code, ERROR_CODE_MAX, " %s", text);
}

static int error_element(const char *path, const char *text, void *userdata)
{
	if (strcmp(path, "ErrorResponse/Error/Code") == 0)
		keep_code(userdata, text);
	return 0;
}

/* What the server calls it, in JSON (a container's) or in XML (of STS), with a space in front; ""
 * without. */
static void error_code(const struct webask_answer *answer, char ret_code[static ERROR_CODE_MAX])
{
	json_t *object = json_loadb(answer->body, answer->body_len, 0, NULL);
	const char *code = json_string_value(json_object_get(object, "code"));

	ret_code[0] = '\0';
	if (code != NULL)
		keep_code(ret_code, code);
	else
		(void) s3xml_parse(answer->body, answer->body_len, error_element, ret_code);
	json_decref(object);
}

/* Status 200, or an error. `what` is named in it. */
static int ask(const struct webask_request *request, const char *what, struct problem *problem,
               struct webask_answer *ret_answer)
{
	const struct timespec pause = {.tv_sec = PAUSE_MS / 1000};
	char error[WEBASK_ERROR_MAX] = "", code[ERROR_CODE_MAX];
	int r = 0;

	for (unsigned i = 0; i < ATTEMPTS; i++) {
		struct webask_answer answer = {0};

		if (i > 0)
			(void) nanosleep(&pause, NULL);
		if (cancel_is_wanted())
			return problem_set(problem, -ECANCELED, "CANCELLED", "cancelled");
		r = webask(request, error, &answer);
		if (r == 0 && answer.status == 200) {
			*ret_answer = answer;
			return 0;
		}
		if (r == 0) {
			error_code(&answer, code);
			(void) snprintf(error, sizeof(error), "it answers %d%s", answer.status, code);
		}
		forget(answer.body, answer.body_len);
		if (!is_passing(r, &answer))
			break;
	}
	return problem_set(problem, r < 0 ? r : -EACCES, CODE, "%s: %s: %s", what, request->url, error);
}

static int take_json(const struct webask_answer *answer, const char *what, struct problem *problem,
                     struct awsfile *ret_keys)
{
	const char *why = "";
	int r =
	    awsanswer_parse_json(AWSANSWER_METADATA, answer->body, answer->body_len, ret_keys, &why);

	return r < 0 ? problem_set(problem, r, CODE, "%s: the answer %s", what, why) : 0;
}

/* --- the role of an instance --- */

static bool is_true(const json_t *part)
{
	return json_is_true(part);
}

/* A session of IMDSv2: its token is a header of all further requests. */
static int open_session(const char *base, struct problem *problem, char **ret_header)
{
	AUTO(free) char *url = xasprintf("%s/latest/api/token", base);
	const struct webask_request request = {
	    .method = "PUT",
	    .url = url,
	    .header = "X-aws-ec2-metadata-token-ttl-seconds: 300",
	    .timeout_ms = NEAR_TIMEOUT_MS,
	    .max_body_bytes = 1024,
	};
	struct webask_answer answer;
	int r = ask(&request, "no session of the instance's metadata service", problem, &answer);

	if (r < 0)
		return r;
	if (answer.body_len == 0 || strpbrk(answer.body, " \r\n") != NULL)
		r = problem_set(problem, -EBADMSG, CODE,
		                "the instance's metadata service gave no token that can be one");
	else
		*ret_header = xasprintf("X-aws-ec2-metadata-token: %s", answer.body);
	forget(answer.body, answer.body_len);
	return r;
}

static int ask_metadata(const char *base, const char *role, const char *header,
                        struct problem *problem, struct webask_answer *ret_answer)
{
	AUTO(free) char *url = xasprintf("%s" METADATA_ROLES "%s", base, role);
	const struct webask_request request = {
	    .method = "GET",
	    .url = url,
	    .header = header,
	    .timeout_ms = NEAR_TIMEOUT_MS,
	    .max_body_bytes = ANSWER_BYTES_MAX,
	};

	return ask(&request, "the instance has no role, or does not tell it", problem, ret_answer);
}

/* The name of the role, in the URL's encoding. */
static int find_role(const char *base, const char *header, struct problem *problem, char **ret_role)
{
	AUTO(free) char *name = NULL;
	struct webask_answer answer;
	int r = ask_metadata(base, "", header, problem, &answer);

	if (r < 0)
		return r;
	name = xstrndup(answer.body, strcspn(answer.body, "\r\n"));
	free(answer.body);
	if (name[0] == '\0' || strlen(name) > 128 || strchr(name, '/') != NULL)
		return problem_set(problem, -EBADMSG, CODE, "the instance names no role");
	*ret_role = sigv4_encode_path(name);
	return 0;
}

static int fetch_instance(const struct awsrole *role UNUSED, struct problem *problem,
                          struct awsfile *ret_keys)
{
	const char *elsewhere = getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");
	const char *base = elsewhere != NULL && elsewhere[0] != '\0' ? elsewhere : METADATA;
	AUTO(free) char *header = NULL;
	AUTO(free) char *name = NULL;
	struct webask_answer answer;
	int r = open_session(base, problem, &header);

	if (r == 0)
		r = find_role(base, header, problem, &name);
	if (r == 0)
		r = ask_metadata(base, name, header, problem, &answer);
	if (r < 0)
		return r;
	r = take_json(&answer, "the instance's metadata service", problem, ret_keys);
	forget(answer.body, answer.body_len);
	return r;
}

/* --- the role of a container --- */

/* Without TLS only to where no network is between: loopback, and the addresses of ECS and of EKS.
 */
static bool is_near(const char *url)
{
	static const char *const hosts[] = {"169.254.170.2", "169.254.170.23", "fd00:ec2::23", "::1",
	                                    "localhost"};
	struct conf_url parsed;

	if (conf_parse_url(url, &parsed) != NULL)
		return false;
	if (parsed.https || (parsed.is_address && strncmp(parsed.host, "127.", 4) == 0))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		if (strcmp(parsed.host, hosts[i]) == 0)
			return true;
	}
	return false;
}

static char *of_environment(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && value[0] != '\0' ? xstrdup(value) : NULL;
}

/* NULL: none is needed. */
static int container_token(struct problem *problem, char **ret_token)
{
	AUTO(free) char *path = of_environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
	char *text = NULL;
	size_t len = 0;
	int r;

	if (path == NULL) {
		*ret_token = of_environment("AWS_CONTAINER_AUTHORIZATION_TOKEN");
		return 0;
	}
	r = file_read(path, TOKEN_BYTES_MAX, &text, &len);
	if (r < 0)
		return problem_set_errno(problem, r, "cannot read '%s'", path);
	text[strcspn(text, "\r\n")] = '\0';
	*ret_token = text;
	return 0;
}

static int fetch_container(const struct awsrole *role, struct problem *problem,
                           struct awsfile *ret_keys)
{
	AUTO(free) char *relative = of_environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	AUTO(free)
	char *url = relative != NULL && relative[0] == '/'
	                ? xasprintf(CONTAINER_HOST "%s", relative)
	                : of_environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");
	struct webask_request request = {
	    .method = "GET",
	    .url = url,
	    .https = true,
	    .ca_file = role->ca_file,
	    .timeout_ms = NEAR_TIMEOUT_MS,
	    .max_body_bytes = ANSWER_BYTES_MAX,
	};
	struct webask_answer answer;
	char *token = NULL;
	int r;

	if (url == NULL)
		return problem_set(problem, -ENOENT, CODE,
		                   "neither AWS_CONTAINER_CREDENTIALS_RELATIVE_URI nor "
		                   "AWS_CONTAINER_CREDENTIALS_FULL_URI is in the environment: this is no "
		                   "container with a role, or they are not passed on");
	if (!is_near(url))
		return problem_set(problem, -EINVAL, CODE,
		                   "AWS_CONTAINER_CREDENTIALS_FULL_URI: '%s' is neither https nor an "
		                   "address of this machine, of ECS or of EKS",
		                   url);
	r = container_token(problem, &token);
	request.authorization = token;
	if (r == 0)
		r = ask(&request, "no keys of the container's role", problem, &answer);
	forget(token, token != NULL ? strlen(token) : 0);
	if (r < 0)
		return r;
	r = take_json(&answer, "the container's credentials", problem, ret_keys);
	forget(answer.body, answer.body_len);
	return r;
}

/* --- a web identity --- */

static const char *text_of(const json_t *part, const char *key)
{
	return json_string_value(json_object_get(part, key));
}

static bool is_web_identity(const json_t *part)
{
	return text_of(part, "roleARN") != NULL && text_of(part, "tokenFile") != NULL &&
	       text_of(part, "sessionName") != NULL && text_of(part, "endpoint") != NULL;
}

/* The form is encoded as a query is. */
static char *sts_form(const json_t *part, const char *token)
{
	const struct sigv4_pair pairs[] = {
	    {"Action", "AssumeRoleWithWebIdentity"},
	    {"Version", "2011-06-15"},
	    {"RoleArn", text_of(part, "roleARN")},
	    {"RoleSessionName", text_of(part, "sessionName")},
	    {"WebIdentityToken", token},
	};

	return sigv4_encode_query(pairs, ARRAY_SIZE(pairs));
}

static int fetch_web_identity(const struct awsrole *role, struct problem *problem,
                              struct awsfile *ret_keys)
{
	const char *path = text_of(role->part, "tokenFile"), *why = "";
	struct webask_request request = {
	    .method = "POST",
	    .url = text_of(role->part, "endpoint"),
	    .content_type = "application/x-www-form-urlencoded",
	    .https = true,
	    .ca_file = role->ca_file,
	    .proxy = role->proxy,
	    .timeout_ms = STS_TIMEOUT_MS,
	    .max_body_bytes = ANSWER_BYTES_MAX,
	};
	struct webask_answer answer;
	char *token = NULL, *form;
	size_t len = 0;
	int r = file_read(path, TOKEN_BYTES_MAX, &token, &len);

	if (r < 0)
		return problem_set_errno(problem, r, "cannot read '%s'", path);
	token[strcspn(token, "\r\n")] = '\0';
	form = sts_form(role->part, token);
	forget(token, len);
	request.body = form;
	r = ask(&request, "the web identity gets no keys", problem, &answer);
	forget(form, strlen(form));
	if (r < 0)
		return r;
	r = awsanswer_parse_sts(answer.body, answer.body_len, ret_keys, &why);
	forget(answer.body, answer.body_len);
	return r < 0 ? problem_set(problem, r, CODE, "%s: the answer %s", request.url, why) : 0;
}

/* --- a program --- */

static bool is_words(const json_t *part)
{
	size_t n = json_array_size(part);

	for (size_t i = 0; i < n; i++) {
		if (!json_is_string(json_array_get(part, i)))
			return false;
	}
	return n > 0 && n <= WORDS_MAX;
}

static int fetch_process(const struct awsrole *role, struct problem *problem,
                         struct awsfile *ret_keys)
{
	const char *argv[WORDS_MAX + 1] = {NULL}, *why = "";
	const struct filter_program program = {
	    .argv = argv,
	    .extra_fd = -1,
	    .stall_ms = PROCESS_LIMIT_MS,
	    .limit_ms = PROCESS_LIMIT_MS,
	    .last_words = true,
	    .code = CODE,
	    .missing_code = CODE,
	};
	char *text = xcalloc(1, ANSWER_BYTES_MAX);
	struct sink *filter = NULL;
	struct memsink memory;
	int r;

	for (size_t i = 0; i < json_array_size(role->part); i++)
		argv[i] = json_string_value(json_array_get(role->part, i));
	memsink_init(&memory, text, ANSWER_BYTES_MAX);
	r = filter_new(&program, &memory.sink, problem, &filter);
	if (r == 0)
		r = sink_finish(filter);
	if (r == 0)
		r = awsanswer_parse_json(AWSANSWER_PROCESS, text, memory.len, ret_keys, &why);
	else if (r == -EMSGSIZE)
		why = "is too long";
	if (r < 0)
		(void) problem_set(problem, r, CODE, "what %s prints %s", argv[0], why);
	sink_free(filter);
	forget(text, ANSWER_BYTES_MAX);
	return r;
}

/* --- all of them --- */

static const struct provider providers[] = {
    {"instanceRole", is_true, fetch_instance},
    {"container", is_true, fetch_container},
    {"webIdentity", is_web_identity, fetch_web_identity},
    {"process", is_words, fetch_process},
};

int awsrole_new(const char *text, const char *ca_file, const char *proxy, struct problem *problem,
                struct awsrole **ret_role)
{
	AUTO(awsrole_free) struct awsrole *role = NEW0(struct awsrole);

	role->json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	role->ca_file = ca_file != NULL ? xstrdup(ca_file) : NULL;
	role->proxy = proxy != NULL ? xstrdup(proxy) : NULL;
	for (size_t i = 0; i < ARRAY_SIZE(providers); i++) {
		const json_t *part = json_object_get(role->json, providers[i].name);

		if (part == NULL || json_object_size(role->json) != 1 || !providers[i].check(part))
			continue;
		role->part = part;
		role->provider = &providers[i];
		*ret_role = TAKE_PTR(role);
		return 0;
	}
	return problem_set(problem, -EINVAL, "USAGE",
	                   "--credentials takes JSON with one of {\"instanceRole\":true}, "
	                   "{\"container\":true}, {\"webIdentity\":{\"roleARN\",\"tokenFile\","
	                   "\"sessionName\",\"endpoint\"}}, {\"process\":[WORD...]}");
}

void awsrole_free(struct awsrole *role)
{
	if (role == NULL)
		return;
	json_decref(role->json);
	free(role->ca_file);
	free(role->proxy);
	free(role);
}

int awsrole_fetch(const struct awsrole *role, struct problem *problem, struct awsfile *ret_keys)
{
	return role->provider->fetch(role, problem, ret_keys);
}
