/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials files of the AWS tools: what is found in them, and that no error repeats them. */
#include "etcdwatch/worker/store/awskeys.h"

#include <errno.h>

#include "base/macro.h"
#include "tests/unit/check.h"

#define KEYS "aws_access_key_id=A\naws_secret_access_key=S\n"

static void test_good(void)
{
	static const struct {
		const char *text;
		const char *access_key;
		const char *secret_key;
		const char *session_token;
	} cases[] = {
	    {"[default]\n" KEYS, "A", "S", NULL},
	    {"[default]\r\naws_access_key_id = A\r\naws_secret_access_key = S", "A", "S", NULL},
	    {"# one\n; two\n\n [ default ] \n\taws_access_key_id\t=\tA \n  aws_secret_access_key= "
	     "a=b/c+d "
	     "\naws_session_token =t==\n",
	     "A", "a=b/c+d", "t=="},
	    {"aws_access_key_id=X\n[other]\naws_access_key_id=Y\nnonsense\n[default]\n" KEYS
	     "region = eu-central-1\n[third]\naws_session_token=Z\n",
	     "A", "S", NULL},
	    {"[default]\naws_access_key_id=A\n[other]\n" KEYS
	     "[default]\nAWS_SECRET_ACCESS_KEY=S2\n#aws_session_token=Z\n",
	     "A", "S2", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct awsfile keys = {0};
		const char *why = "";
		unsigned line;

		if (!CHECK_EQ_INT(awsfile_parse(cases[i].text, strlen(cases[i].text), &keys, &why, &line),
		                  0)) {
			(void) fprintf(stderr, "  %s in line %u:\n%s\n", why, line, cases[i].text);
			continue;
		}
		CHECK_EQ_STR(keys.access_key, cases[i].access_key);
		CHECK_EQ_STR(keys.secret_key, cases[i].secret_key);
		CHECK((keys.session_token == NULL) == (cases[i].session_token == NULL));
		if (keys.session_token != NULL && cases[i].session_token != NULL)
			CHECK_EQ_STR(keys.session_token, cases[i].session_token);
		awsfile_fini(&keys);
		CHECK(keys.access_key == NULL && keys.secret_key == NULL && keys.session_token == NULL);
	}
}

#define TEXT(text) text, sizeof(text) - 1

static void test_bad(void)
{
	static const struct {
		const char *text;
		size_t len;
		unsigned line;
		const char *why;
	} cases[] = {
	    {TEXT(""), 0, "no aws_access_key_id"},
	    {TEXT(KEYS), 0, "no aws_access_key_id"},
	    {TEXT("[Default]\n" KEYS), 0, "no aws_access_key_id"},
	    {TEXT("[default]\naws_secret_access_key=SECRET\n"), 0, "no aws_access_key_id"},
	    {TEXT("[default]\naws_access_key_id=A\n[x]\naws_secret_access_key=SECRET\n"), 0,
	     "no aws_secret_access_key"},
	    {TEXT("[default]\n" KEYS "aws_secret_access_key=SECRET\n"), 4, "a second time"},
	    {TEXT("[default]\n" KEYS "aws_session_token = \n"), 4, "empty"},
	    {TEXT("[default]\naws_secret_access_key SECRET\n"), 2, "neither"},
	    {TEXT("\n[default\n" KEYS), 2, "without a ']'"},
	    {TEXT("["), 1, "without a ']'"},
	    {TEXT("[default]\n" KEYS "\0"), 0, "not a text"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct awsfile keys = {0};
		const char *why = "";
		unsigned line = 99;

		CHECK_EQ_INT(awsfile_parse(cases[i].text, cases[i].len, &keys, &why, &line), -EBADMSG);
		CHECK_EQ_INT(line, cases[i].line);
		CHECK(keys.access_key == NULL && keys.secret_key == NULL);
		if (!CHECK(strstr(why, cases[i].why) != NULL))
			(void) fprintf(stderr, "  '%s' lacks '%s'\n", why, cases[i].why);
		CHECK(strstr(why, "SECRET") == NULL);
	}
}

int main(void)
{
	test_good();
	test_bad();
	return check_result();
}
