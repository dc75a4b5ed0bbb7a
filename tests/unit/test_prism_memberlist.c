/* SPDX-License-Identifier: Apache-2.0 */
/* etcd's member list, as etcdctl prints it and as a daemon answers with it. */
#include "prism/probe/members.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "tests/unit/check.h"

#define NO_MEMBERS "the list has no members"
#define NO_ADDRESS "no member has an address in its URLs"
#define NOT_THAT "it is not what 'etcdctl member list -w json' prints"
#define NOT_LINES "a line of the answer is not a JSON object"

/* What etcdctl 3.4 and 3.5 print; ids go up to 2^64. */
#define HEADER \
	"\"header\":{\"cluster_id\":17237436991929493444,\"member_id\":9372538179322589801,\
\"raft_term\":2}"

struct line {
	const char *text;
	const char *want; /* "10.0.0.1:6443 ", or the error */
};

static const struct line files[] = {
    {"{" HEADER ",\"members\":["
     "{\"ID\":9372538179322589801,\"name\":\"n1\",\"peerURLs\":[\"https://10.0.0.1:2380\"],"
     "\"clientURLs\":[\"https://10.0.0.1:2379\"]},"
     "{\"ID\":10501334649042878790,\"name\":\"n2\",\"peerURLs\":[\"https://10.0.0.2:2380\"],"
     "\"clientURLs\":[\"https://127.0.0.1:2379\",\"https://10.0.0.2:2379\"]},"
     "{\"ID\":18249187646912138824,\"name\":\"n3\",\"peerURLs\":[\"https://[fd00::3]:2380\"],"
     "\"clientURLs\":[\"https://[fd00::3]:2379\"],\"isLearner\":true}]}\n",
     "10.0.0.1:6443 10.0.0.2:6443 [fd00::3]:6443 "},
    /* Client URLs of the node itself only: the peer URL says where it is. */
    {"{\"members\":[{\"peerURLs\":[\"https://10.0.0.1:2380\"],\"clientURLs\":"
     "[\"https://127.0.0.1:2379\",\"unix:///run/etcd.sock\"]}]}",
     "10.0.0.1:6443 "},
    /* Not started yet: neither a name nor client URLs. */
    {"{\"members\":[{\"ID\":1,\"peerURLs\":[\"http://10.0.0.1:2380\"]}]}", "10.0.0.1:6443 "},
    {"{\"members\":[{\"clientURLs\":[\"https://10.0.0.1:2379\",\"https://10.0.0.1:2379/\"],"
     "\"peerURLs\":[\"https://10.9.0.1:2380\"]}]}",
     "10.0.0.1:6443 "},
    {"{\"members\":[{\"clientURLs\":[\"https://10.0.0.1\",\"https://[fd00::1]/\"]}]}",
     "10.0.0.1:6443 [fd00::1]:6443 "},
    {"{\"members\":[{\"clientURLs\":[\"https://etcd-0.etcd:2379\"]}]}", NO_ADDRESS},
    {"{\"members\":[{\"clientURLs\":[\"10.0.0.1:2379\",\"https://\",\"://\",\"https://10.0.0.1:0\","
     "\"https://10.0.0.1:x\",\"https://a@10.0.0.1:1\",\"https://fd00::1:2379x\"]}]}",
     NO_ADDRESS},
    {"{\"members\":[{\"clientURLs\":[1,null,{},[]],\"peerURLs\":\"https://10.0.0.1:1\"},null,1,"
     "\"x\"]}",
     NO_ADDRESS},
    {"{\"members\":[{\"clientURLs\":[\"https://0.0.0.0:2379\",\"https://[::]:2379\","
     "\"https://[fe80::1]:2379\",\"https://[::1]:2379\"]}]}",
     NO_ADDRESS},
    /* A daemon's keys are not etcdctl's. */
    {"{\"members\":[{\"client_urls\":[\"https://10.0.0.1:2379\"]}]}", NO_ADDRESS},
    {"{\"members\":[]}", NO_MEMBERS},
    {"{\"members\":null}", NOT_THAT},
    {"{\"members\":{}}", NOT_THAT},
    {"{}", NOT_THAT},
    {"[]", NOT_THAT},
    {"", NOT_THAT},
    {"{\"members\":[", NOT_THAT},
    {"n1, started, n1, https://10.0.0.1:2380, https://10.0.0.1:2379, false\n", NOT_THAT},
};

static const struct line answers[] = {
    {"{\"name\":\"n1\",\"client_urls\":[\"https://10.0.0.1:2379\"],\"peer_urls\":[]}\n"
     "{\"name\":\"n2\",\"client_urls\":[],\"peer_urls\":[\"https://10.0.0.2:2380\"]}\n",
     "10.0.0.1:6443 10.0.0.2:6443 "},
    {"{\"name\":\"n1\",\"id\":10501334649042878790,\"client_urls\":[\"https://10.0.0.1:2379\"]}\n",
     "10.0.0.1:6443 "},
    {"{\"client_urls\":[\"https://10.0.0.1:2379\"]}", "10.0.0.1:6443 "},
    {"{\"clientURLs\":[\"https://10.0.0.1:2379\"]}\n", NO_ADDRESS},
    {"", NO_MEMBERS},
    {"\n", NOT_LINES},
    {"{}\n\n", NOT_LINES},
    {"[]\n", NOT_LINES},
    {"{\n}\n", NOT_LINES},
    {"{\"client_urls\":[\"https://10.0.0.1:2379\"]}\nok\n", NOT_LINES},
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

static void check_one(const struct line *line, int r, const struct endpoints_list *list,
                      const char *error)
{
	AUTO(free) char *got = r == 0 ? format(list) : xstrdup(error);

	if (!CHECK_EQ_STR(got, line->want))
		(void) fprintf(stderr, "  %s\n", line->text);
	CHECK(r == 0 ? list->n > 0 : r == -EBADMSG && list->n == 99);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct endpoints_list list = {.n = 99};
		const char *error = "";
		int r = memberlist_parse(files[i].text, strlen(files[i].text), 6443, &list, &error);

		check_one(&files[i], r, &list, error);
	}
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		struct endpoints_list list = {.n = 99};
		const char *error = "";
		int r = memberlist_parse_lines(answers[i].text, 6443, &list, &error);

		check_one(&answers[i], r, &list, error);
	}
	return check_result();
}
