/* SPDX-License-Identifier: Apache-2.0 */
/* EndpointSlices as the API lists them, and as nobody should. */
#include "prism/probe/slices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "tests/unit/check.h"

/* Shortened to what is looked at, and a little around it. */
#define SLICE(type, ports, endpoints)                                                       \
	"{\"addressType\":\"" type "\",\"metadata\":{\"name\":\"kubernetes\"},\"ports\":" ports \
	",\"endpoints\":" endpoints "}"
#define LIST(slices)                                                          \
	"{\"kind\":\"EndpointSliceList\",\"apiVersion\":\"discovery.k8s.io/v1\"," \
	"\"metadata\":{\"resourceVersion\":\"1234\"},\"items\":[" slices "]}"
#define HTTPS "[{\"name\":\"https\",\"port\":6443,\"protocol\":\"TCP\"}]"
#define AT(addresses) "{\"addresses\":[" addresses "],\"conditions\":{\"ready\":true}}"
#define ONE(addresses) LIST(SLICE("IPv4", HTTPS, "[" AT(addresses) "]"))
#define PORTS(ports) LIST(SLICE("IPv4", ports, "[" AT("\"10.0.0.5\"") "]"))
#define WITH(more) LIST(SLICE("IPv4", HTTPS, "[{\"addresses\":[\"10.0.0.5\"]" more "}]"))

#define NOT_JSON "the answer is not JSON"
#define NOT_LIST "the answer is not a list of EndpointSlices"
#define NOBODY "no API server is in the EndpointSlices"

static const struct {
	const char *text;
	const char *want; /* "10.0.0.5:6443 ", or the error */
} cases[] = {
    {ONE("\"10.0.0.5\""), "10.0.0.5:6443 "},
    {LIST(SLICE("IPv4", HTTPS, "[" AT("\"10.0.0.5\"") "," AT("\"10.0.0.6\"") "]") "," SLICE(
         "IPv6", HTTPS, "[" AT("\"fd00::5\"") "]")),
     "10.0.0.5:6443 10.0.0.6:6443 [fd00::5]:6443 "},
    {ONE("\"10.0.0.5\",\"10.0.0.5\",\"10.0.0.6\""), "10.0.0.5:6443 10.0.0.6:6443 "},

    /* ready: absent and null are yes. */
    {WITH(""), "10.0.0.5:6443 "},
    {WITH(",\"conditions\":{}"), "10.0.0.5:6443 "},
    {WITH(",\"conditions\":{\"ready\":null}"), "10.0.0.5:6443 "},
    {WITH(",\"conditions\":null"), "10.0.0.5:6443 "},
    {WITH(",\"conditions\":{\"ready\":true,\"serving\":true,\"terminating\":false}"),
     "10.0.0.5:6443 "},
    {WITH(",\"conditions\":{\"ready\":false}"), NOBODY},
    {WITH(",\"conditions\":{\"ready\":\"false\"}"), "10.0.0.5:6443 "},

    /* The port. */
    {PORTS("[{\"name\":\"metrics\",\"port\":1},{\"name\":\"https\",\"port\":2}]"), "10.0.0.5:2 "},
    {PORTS("[{\"name\":\"a\",\"port\":1},{\"name\":\"b\",\"port\":2}]"), "10.0.0.5:1 "},
    {PORTS("[{\"port\":6443}]"), "10.0.0.5:6443 "},
    {PORTS("[{\"port\":1,\"protocol\":\"UDP\"},{\"port\":2,\"protocol\":\"TCP\"}]"), "10.0.0.5:2 "},
    {PORTS("[{\"name\":\"https\",\"port\":0},{\"port\":65535}]"), "10.0.0.5:65535 "},
    {PORTS("[{\"name\":\"https\"}]"), NOBODY},
    {PORTS("[{\"port\":65536}]"), NOBODY},
    {PORTS("[{\"port\":-1}]"), NOBODY},
    {PORTS("[{\"port\":\"6443\"}]"), NOBODY},
    {PORTS("[{\"port\":6443.5}]"), NOBODY},
    {PORTS("[]"), NOBODY},
    {PORTS("null"), NOBODY},
    {PORTS("{\"port\":6443}"), NOBODY},
    {PORTS("[6443,null,[]]"), NOBODY},

    /* Addresses that cannot be another host's, or are none. */
    {ONE("\"127.0.0.1\""), NOBODY},
    {ONE("\"0.0.0.0\""), NOBODY},
    {ONE("\"169.254.1.1\""), NOBODY},
    {ONE("\"224.0.0.1\",\"10.0.0.5\""), "10.0.0.5:6443 "},
    {ONE("\"10.0.0.256\",\"10.0.0\",\"\",\"10.0.0.5/24\",\"10.0.0.5:6443\""), NOBODY},
    {ONE("1,null,{},[\"10.0.0.5\"]"), NOBODY},
    {ONE("\"fd00::5\""), NOBODY},
    {LIST(SLICE("IPv6", HTTPS, "[" AT("\"10.0.0.5\",\"::1\",\"::\",\"fe80::1\",\"ff02::1\"") "]")),
     NOBODY},
    {LIST(SLICE("IPv6", HTTPS, "[" AT("\"::ffff:10.0.0.5\"") "]")), NOBODY},
    {LIST(SLICE("FQDN", HTTPS, "[" AT("\"10.0.0.5\"") "]")), NOBODY},
    {LIST(SLICE("ipv4", HTTPS, "[" AT("\"10.0.0.5\"") "]")), NOBODY},

    /* Other shapes. */
    {LIST(""), NOBODY},
    {LIST("1,null,\"x\",[]"), NOBODY},
    {LIST(SLICE("IPv4", HTTPS, "null")), NOBODY},
    {LIST(SLICE("IPv4", HTTPS, "[null,1,\"10.0.0.5\",{\"addresses\":\"10.0.0.5\"}]")), NOBODY},
    {"{\"items\":null}", NOT_LIST},
    {"{\"items\":{}}", NOT_LIST},
    {"{\"kind\":\"Status\",\"code\":403}", NOT_LIST},
    {"[]", NOT_LIST},
    {"", NOT_JSON},
    {"null", NOT_JSON},
    {"{", NOT_JSON},
    {"{} {}", NOT_JSON},
    {"<html>", NOT_JSON},
    {"{\"items\":[],\"items\":[]}", NOT_JSON},
    {"{\"items\":[{\"addressType\":\"\\u0000\"}]}", NOT_JSON},
    {"{\"items\":[\"\xff\"]}", NOT_JSON},
};

static char *format(const struct endpoints_list *list)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	for (size_t i = 0; i < list->n; i++) {
		char buf[ENDPOINT_TEXT_MAX];

		(void) fprintf(out, "%s ", endpoint_format(&list->items[i], buf));
	}
	(void) fclose(out);
	return text;
}

static void test_cases(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct endpoints_list list = {.n = 99};
		const char *error = "";
		int r = slicelist_parse(cases[i].text, strlen(cases[i].text), &list, &error);
		AUTO(free) char *got = r == 0 ? format(&list) : xstrdup(error);

		if (!CHECK_EQ_STR(got, cases[i].want))
			(void) fprintf(stderr, "  %s\n", cases[i].text);
		CHECK(r == 0 ? list.n > 0 : r == -EBADMSG && list.n == 99);
	}
}

/* As many as there is room for, and a text that is cut anywhere. */
static void test_sizes(void)
{
	AUTO(free) char *text = NULL;
	struct endpoints_list list = {.n = 0};
	const char *error;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	(void) fputs("{\"items\":[{\"addressType\":\"IPv4\",\"ports\":" HTTPS ",\"endpoints\":[", out);
	for (int i = 0; i < 1000; i++)
		(void) fprintf(out, "%s" AT("\"10.0.%d.%d\""), i > 0 ? "," : "", i / 250, i % 250 + 1);
	(void) fputs("]}]}", out);
	(void) fclose(out);
	CHECK_EQ_INT(slicelist_parse(text, len, &list, &error), 0);
	CHECK_EQ_INT(list.n, ENDPOINTS_MAX);
	for (size_t cut = 0; cut < len; cut += 97)
		CHECK_EQ_INT(slicelist_parse(text, cut, &list, &error), -EBADMSG);
}

/* Deeper than any stack should be asked to go. */
static void test_depth(void)
{
	AUTO(free) char *text = xcalloc(200001, 1);
	struct endpoints_list list;
	const char *error = "";

	memset(text, '[', 200000);
	CHECK_EQ_INT(slicelist_parse(text, 200000, &list, &error), -EBADMSG);
	CHECK_EQ_STR(error, NOT_JSON);
}

int main(void)
{
	test_cases();
	test_sizes();
	test_depth();
	return check_result();
}
