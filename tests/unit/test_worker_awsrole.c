/* SPDX-License-Identifier: Apache-2.0 */
/* The sources of temporary keys, each before a server or a program that says what the test wants:
 * what they are asked, what is taken from their answers, and that no error repeats a secret. */
#include "etcdwatch/worker/store/awsrole.h"

#include <errno.h>
#include <jansson.h>

#include "etcdwatch/worker/store/awskeys.h"
#include "tests/unit/s3fake.h"
#include "tests/unit/scratch.h"

#define KEYS "\"AccessKeyId\":\"AKID\",\"SecretAccessKey\":\"SECRETOFALL\""
#define GIVEN                                           \
	"{\"Code\":\"Success\",\"Type\":\"AWS-HMAC\"," KEYS \
	",\"Token\":\"TOKENOFALL==\",\"Expiration\":\"2026-11-28T03:00:00Z\"}"
#define EXPIRES_S INT64_C(1795834800)
#define STS(inner)                                                                            \
	"<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">" \
	"<AssumeRoleWithWebIdentityResult><AssumedRoleUser><Arn>a</Arn></AssumedRoleUser>"        \
	"<Credentials>" inner "</Credentials></AssumeRoleWithWebIdentityResult>"                  \
	"</AssumeRoleWithWebIdentityResponse>"
#define STS_KEYS "<AccessKeyId>AKID</AccessKeyId><SecretAccessKey>SECRETOFALL</SecretAccessKey>"
#define STS_GIVEN                                            \
	STS(STS_KEYS "<SessionToken>TOKENOFALL==</SessionToken>" \
	             "<Expiration>2026-11-28T03:00:00Z</Expiration>")

static struct problem problem;
static struct awsfile keys;

static int fetch(const char *json)
{
	AUTO(awsrole_free) struct awsrole *role = NULL;
	int r;

	problem = (struct problem){0};
	awsfile_fini(&keys);
	r = awsrole_new(json, NULL, NULL, &problem, &role);
	return r < 0 ? r : awsrole_fetch(role, &problem, &keys);
}

static void gives(const char *json, int64_t expires)
{
	if (!CHECK_EQ_INT(fetch(json), 0)) {
		(void) fprintf(stderr, "  %s: %s\n", json, problem.reason);
		return;
	}
	CHECK_EQ_STR(keys.access_key, "AKID");
	CHECK_EQ_STR(keys.secret_key, "SECRETOFALL");
	if (CHECK(keys.session_token != NULL))
		CHECK_EQ_STR(keys.session_token, "TOKENOFALL==");
	CHECK_EQ_INT(keys.expires_s, expires);
}

static void refuses(const char *json, const char *code, const char *text)
{
	CHECK(fetch(json) < 0);
	CHECK_EQ_STR(problem.code, code);
	if (!CHECK(strstr(problem.reason, text) != NULL))
		(void) fprintf(stderr, "  '%s' lacks '%s'\n", problem.reason, text);
	CHECK(strstr(problem.reason, "OFALL") == NULL);
	CHECK(keys.access_key == NULL && keys.secret_key == NULL && keys.session_token == NULL);
}

/* --- what is said --- */

static void test_json_bad(void)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
	    {"", "is not a JSON object"},
	    {"[]", "is not a JSON object"},
	    {"{", "is not a JSON object"},
	    {"{\"Code\":\"AssumeRoleUnauthorizedAccess\"," KEYS "}", "Code that is not Success"},
	    {"{\"Code\":\"Success\"}", "no AccessKeyId"},
	    {"{\"AccessKeyId\":\"\",\"SecretAccessKey\":\"s\"}", "no AccessKeyId"},
	    {"{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"SECRET OFALL\"}", "no SecretAccessKey"},
	    {"{\"AccessKeyId\":\"A\",\"SecretAccessKey\":1}", "no SecretAccessKey"},
	    {"{" KEYS ",\"Token\":\"TOKENOFALL\\r\\nx: y\"}", "a token that cannot be one"},
	    {"{" KEYS ",\"Expiration\":\"soon\"}", "not a time"},
	    {"{" KEYS "," KEYS "}", "is not a JSON object"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *why = "", *text = cases[i].text;

		CHECK_EQ_INT(awsanswer_parse_json(AWSANSWER_METADATA, text, strlen(text), &keys, &why),
		             -EBADMSG);
		if (!CHECK(strstr(why, cases[i].why) != NULL))
			(void) fprintf(stderr, "  %s: '%s'\n", text, why);
		CHECK(keys.access_key == NULL);
	}
}

static void test_sts_bad(void)
{
	static const char *const cases[] = {
	    "",
	    "<a/>",
	    STS(""),
	    STS("<AccessKeyId>A</AccessKeyId>"),
	    STS(STS_KEYS "<Expiration>soon</Expiration>"),
	    STS(STS_KEYS STS_KEYS),
	    "<GetSessionTokenResponse><Credentials>" STS_KEYS
	    "</Credentials></GetSessionTokenResponse>",
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *why = "";

		CHECK_EQ_INT(awsanswer_parse_sts(cases[i], strlen(cases[i]), &keys, &why), -EBADMSG);
		CHECK(why[0] != '\0' && keys.access_key == NULL);
	}
}

/* --- an instance --- */

#define INSTANCE "{\"instanceRole\":true}"
#define SESSION ANSWER("200 OK", "", "SESSIONOFALL")
#define ROLE ANSWER("200 OK", "", "my role")

static void test_instance(void)
{
	AUTO(free) char *here = xasprintf("http://127.0.0.1:%d", port);

	CHECK(setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", here, 1) == 0);
	/* It is near, and asked without the proxy of the environment. */
	CHECK(setenv("http_proxy", "http://127.0.0.1:1", 1) == 0);
	START(SESSION, ROLE, ANSWER("200 OK", "", GIVEN));
	gives(INSTANCE, EXPIRES_S);
	(void) asked(0, "PUT /latest/api/token HTTP/1.1\r\n");
	(void) asked(0, "\r\nX-aws-ec2-metadata-token-ttl-seconds: 300\r\n");
	(void) asked(1, "GET /latest/meta-data/iam/security-credentials/ HTTP/1.1\r\n");
	(void) asked(1, "\r\nX-aws-ec2-metadata-token: SESSIONOFALL\r\n");
	(void) asked(2, "GET /latest/meta-data/iam/security-credentials/my%20role HTTP/1.1\r\n");
	(void) asked(2, "\r\nX-aws-ec2-metadata-token: SESSIONOFALL\r\n");
	/* An error that passes. */
	START(ANSWER("503 Busy", "", ""), SESSION, ROLE, ANSWER("200 OK", "", GIVEN));
	gives(INSTANCE, EXPIRES_S);
	/* IMDSv1 alone is not spoken. */
	START(ANSWER("404 Not Found", "", ""));
	refuses(INSTANCE, "CREDENTIALS", "no session of the instance's metadata service");
	CHECK_EQ_INT(heard->n, 1);
	START(ANSWER("200 OK", "", "SESSION OFALL"));
	refuses(INSTANCE, "CREDENTIALS", "no token that can be one");
	START(SESSION, ANSWER("404 Not Found", "", "<html/>"));
	refuses(INSTANCE, "CREDENTIALS", "the instance has no role, or does not tell it");
	START(SESSION, ANSWER("200 OK", "", ""));
	refuses(INSTANCE, "CREDENTIALS", "names no role");
	START(SESSION, ROLE, ANSWER("200 OK", "", "{\"Code\":\"Failed\"," KEYS "}"));
	refuses(INSTANCE, "CREDENTIALS", "has a Code that is not Success");
	CHECK(unsetenv("AWS_EC2_METADATA_SERVICE_ENDPOINT") == 0 && unsetenv("http_proxy") == 0);
}

/* --- a container --- */

#define CONTAINER "{\"container\":true}"

static void test_container(void)
{
	static const char *const far[] = {"http://example.org/x",        "http://10.0.0.1/x",
	                                  "http://169.254.169.254/x",    "ftp://127.0.0.1/x",
	                                  "http://127.example.org/x",    "/relative",
	                                  "http://user@169.254.170.2/x", "http://[fd00:ec2::24]/x"};
	AUTO(free) char *here = xasprintf("http://127.0.0.1:%d/v1/credentials", port);

	refuses(CONTAINER, "CREDENTIALS", "is in the environment");
	CHECK(setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", here, 1) == 0);
	(void) scratch_shell("printf 'BEAROFALL\\n' >token");
	CHECK(setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "OTHEROFALL", 1) == 0);
	START(ANSWER("200 OK", "", GIVEN));
	gives(CONTAINER, EXPIRES_S);
	(void) asked(0, "GET /v1/credentials HTTP/1.1\r\n");
	(void) asked(0, "\r\nAuthorization: OTHEROFALL\r\n");
	/* A file, which rotates, comes first. */
	CHECK(setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "token", 1) == 0);
	START(ANSWER("200 OK", "", GIVEN));
	gives(CONTAINER, EXPIRES_S);
	(void) asked(0, "\r\nAuthorization: BEAROFALL\r\n");
	START(ANSWER("403 Forbidden", "", "{\"code\":\"AccessDenied\",\"message\":\"SECRETOFALL\"}"));
	refuses(CONTAINER, "CREDENTIALS", "it answers 403 AccessDenied");
	START(ANSWER("403 Forbidden", "", "{\"code\":\"TOKEN OFALL\"}"));
	refuses(CONTAINER, "CREDENTIALS", "it answers 403");
	CHECK(setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "none", 1) == 0);
	refuses(CONTAINER, "NOT_FOUND", "cannot read 'none'");
	for (size_t i = 0; i < ARRAY_SIZE(far); i++) {
		CHECK(setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", far[i], 1) == 0);
		refuses(CONTAINER, "CREDENTIALS", "is neither https nor");
	}
	CHECK(unsetenv("AWS_CONTAINER_CREDENTIALS_FULL_URI") == 0 &&
	      unsetenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") == 0 &&
	      unsetenv("AWS_CONTAINER_AUTHORIZATION_TOKEN") == 0);
}

/* --- a web identity --- */

static void test_web_identity(void)
{
	AUTO(free)
	char *json =
	    xasprintf("{\"webIdentity\":{\"roleARN\":\"arn:aws:iam::1:role/x\",\"tokenFile\":\"jwt\","
	              "\"sessionName\":\"fairlead\",\"endpoint\":\"http://127.0.0.1:%d\"}}",
	              port);

	(void) scratch_shell("printf 'a.b+c/JWTOFALL=\\n' >jwt");
	START(ANSWER("200 OK", "", STS_GIVEN));
	gives(json, EXPIRES_S);
	(void) asked(0, "POST / HTTP/1.1\r\n");
	(void) asked(0, "\r\nContent-Type: application/x-www-form-urlencoded\r\n");
	(void) asked(
	    0, "\r\n\r\nAction=AssumeRoleWithWebIdentity&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fx&"
	       "RoleSessionName=fairlead&Version=2011-06-15&"
	       "WebIdentityToken=a.b%2Bc%2FJWTOFALL%3D");
	START(ANSWER("400 Bad Request", "",
	             "<ErrorResponse><Error><Type>Sender</Type><Code>ExpiredTokenException</Code>"
	             "<Message>a.b+c/JWTOFALL= is old</Message></Error></ErrorResponse>"));
	refuses(json, "CREDENTIALS", "it answers 400 ExpiredTokenException");
	START(ANSWER("200 OK", "", "<html/>"));
	refuses(json, "CREDENTIALS", "the answer has no AccessKeyId");
	(void) scratch_shell("rm jwt");
	refuses(json, "NOT_FOUND", "cannot read 'jwt'");
}

/* --- a program --- */

static void run_shell(const char *shell, char **ret_json)
{
	json_t *json = json_pack("{s:[s, s, s]}", "process", "/bin/sh", "-c", shell);

	*ret_json = json_dumps(json, 0);
	json_decref(json);
}

static void test_process(void)
{
	static const struct {
		const char *shell, *text;
	} cases[] = {
	    {"echo '{\"Version\":2," KEYS "}'", "is not of Version 1"},
	    {"echo '{" KEYS "}'", "is not of Version 1"},
	    {"echo SECRETOFALL", "is not a JSON object"},
	    {"echo '{\"Version\":1," KEYS "}'; echo 'no ticket' >&2; exit 1", "failed: no ticket"},
	    {"head -c 100000 /dev/zero", "is too long"},
	};
	AUTO(free) char *good = NULL;
	AUTO(free) char *forever = NULL;

	run_shell("echo '{\"Version\":1," KEYS ",\"SessionToken\":\"TOKENOFALL==\","
	          "\"Expiration\":\"2026-11-28T04:00:00+01:00\"}'",
	          &good);
	gives(good, EXPIRES_S);
	run_shell("test $# = 0; echo '{\"Version\":1," KEYS "}'", &forever);
	CHECK_EQ_INT(fetch(forever), 0);
	CHECK(keys.session_token == NULL);
	CHECK_EQ_INT(keys.expires_s, 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) char *json = NULL;

		run_shell(cases[i].shell, &json);
		refuses(json, "CREDENTIALS", cases[i].text);
	}
	refuses("{\"process\":[\"/none\"]}", "CREDENTIALS", "cannot run the program '/none'");
}

static void test_choice(void)
{
	static const char *const bad[] = {
	    "",
	    "{}",
	    "{\"instanceRole\":false}",
	    "{\"instanceRole\":true,\"container\":true}",
	    "{\"process\":[]}",
	    "{\"process\":[1]}",
	    "{\"process\":\"/bin/sh\"}",
	    "{\"webIdentity\":{\"roleARN\":\"a\",\"tokenFile\":\"t\",\"sessionName\":\"s\"}}",
	    "{\"other\":true}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		refuses(bad[i], "USAGE", "--credentials takes JSON");
}

int main(void)
{
	fake_up();
	scratch_enter();
	test_json_bad();
	test_sts_bad();
	test_instance();
	test_container();
	test_web_identity();
	test_process();
	test_choice();
	stop_server();
	awsfile_fini(&keys);
	scratch_leave();
	return check_result();
}
