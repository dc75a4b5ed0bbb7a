/* SPDX-License-Identifier: Apache-2.0 */
/* XML of S3: what is read, what is refused, and that nothing small becomes large. */
#include "web/s3xml.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "tests/unit/check.h"

struct seen {
	char text[512];
	size_t len;
	int stop_at; /* the n-th element answers with -ECANCELED */
};

static int element(const char *path, const char *text, void *userdata)
{
	struct seen *seen = userdata;

	seen->len += (size_t) snprintf(seen->text + seen->len, sizeof(seen->text) - seen->len, "%s=%s|",
	                               path, text);
	/* The longest texts are of no interest. */
	seen->len = MIN(seen->len, sizeof(seen->text) - 1);
	return --seen->stop_at == 0 ? -ECANCELED : 0;
}

static void test_read(void)
{
	static const struct {
		const char *xml;
		int r;
		const char *seen;
	} cases[] = {
	    {"<a/>", 0, "a=|"},
	    {" \r\n\t <?xml version=\"1.0\"?> \n <a> x </a>", 0, "a= x |"},
	    {"<a xmlns=\"http://n/\" b='c'><d>e &amp; &#65;<!-- f --></d><d/></a>", 0,
	     "a/d=e & A|a/d=|a=|"},
	    {"<a>one<b>two</b>three</a>", 0, "a/b=two|a=three|"},
	    {"<a><![CDATA[<b>]]></a>", 0, "a=<b>|"},
	    {"", -EBADMSG, ""},
	    {"  ", -EBADMSG, ""},
	    {"a", -EBADMSG, ""},
	    {"<a>", -EBADMSG, ""},
	    {"<a></b>", -EBADMSG, ""},
	    {"<a/><b/>", -EBADMSG, "a=|"},
	    {"<a>&b;</a>", -EBADMSG, ""},
	    {"<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>", -EBADMSG, ""},
	    {"<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>", -EBADMSG, ""},
	    {"<1><2><3/></2></1>", -EBADMSG, ""},
	    {"<a><a><a><a><a><a><a><a>8</a></a></a></a></a></a></a></a>", 0,
	     "a/a/a/a/a/a/a/a=8|a/a/a/a/a/a/a=|a/a/a/a/a/a=|a/a/a/a/a=|a/a/a/a=|a/a/a=|a/a=|a=|"},
	    {"<a><a><a><a><a><a><a><a><a>9</a></a></a></a></a></a></a></a></a>", -EBADMSG, ""},
	    {"<a>\xff</a>", -EBADMSG, ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct seen seen = {.text = ""};

		if (!CHECK_EQ_INT(s3xml_parse(cases[i].xml, strlen(cases[i].xml), element, &seen),
		                  cases[i].r) ||
		    !CHECK_EQ_STR(seen.text, cases[i].seen))
			(void) fprintf(stderr, "  '%s'\n", cases[i].xml);
	}
}

static void test_limits(void)
{
	AUTO(free) char *xml = xcalloc(1, 3 * S3XML_TEXT_MAX);
	AUTO(free) char *long_text = xcalloc(1, S3XML_TEXT_MAX + 1);
	struct seen seen = {.text = ""};

	memset(long_text, 'x', S3XML_TEXT_MAX - 1);
	(void) sprintf(xml, "<a>%s</a>", long_text);
	CHECK_EQ_INT(s3xml_parse(xml, strlen(xml), element, &seen), 0);
	long_text[S3XML_TEXT_MAX - 1] = 'x';
	(void) sprintf(xml, "<a>%s</a>", long_text);
	CHECK_EQ_INT(s3xml_parse(xml, strlen(xml), element, &seen), -EBADMSG);
	(void) sprintf(xml, "<%.126s/>", long_text);
	CHECK_EQ_INT(s3xml_parse(xml, strlen(xml), element, &seen), 0);
	(void) sprintf(xml, "<%.128s/>", long_text);
	CHECK_EQ_INT(s3xml_parse(xml, strlen(xml), element, &seen), -EBADMSG);
	/* The callback's own word. */
	seen = (struct seen){.stop_at = 2};
	CHECK_EQ_INT(s3xml_parse("<a><b/><c/><d/></a>", 19, element, &seen), -ECANCELED);
	CHECK_EQ_STR(seen.text, "a/b=|a/c=|");
}

static void test_errors(void)
{
	static const struct {
		const char *xml;
		int r;
		const char *code;
		const char *message;
	} cases[] = {
	    {"<Error><Code>NoSuchKey</Code><Message>It is not\nthere\x1b[2J</Message></Error>",
	     -EBADMSG, "NoSuchKey", ""},
	    {"<Error><Code>NoSuchKey</Code><Message>It is not\nth\xc3\xa4re</Message></Error>", 0,
	     "NoSuchKey", "It is not?th??re"},
	    {"<Error><Message>only</Message></Error>", 0, "", "only"},
	    {"<Error><Code>LongerThanItCanBe</Code></Error>", 0, "LongerThanItCan", ""},
	    {"<Result><Error><Code>X</Code></Error></Result>", -ENOMSG, "", ""},
	    {"<html>502</html>", -ENOMSG, "", ""},
	    {"502 Bad Gateway", -EBADMSG, "", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char code[16], message[32];

		CHECK_EQ_INT(s3xml_parse_error(cases[i].xml, strlen(cases[i].xml), code, sizeof(code),
		                               message, sizeof(message)),
		             cases[i].r);
		CHECK_EQ_STR(code, cases[i].code);
		CHECK_EQ_STR(message, cases[i].message);
	}
}

int main(void)
{
	test_read();
	test_limits();
	test_errors();
	return check_result();
}
