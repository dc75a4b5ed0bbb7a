/* SPDX-License-Identifier: Apache-2.0 */
/* What `fairlead etcd members`, `status` and `alarms` print for given objects, to the byte; and
 * JSON as YAML. */
#include "cli/common/cli.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "tests/unit/check.h"

typedef void (*render_fn)(FILE *out, const json_t *objects, int64_t wall_now_us);

static void check_text(render_fn render, const char *objects, const char *want)
{
	json_t *json = json_loads(objects, 0, NULL);
	AUTO(free) char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	CHECK(json != NULL);
	if (render != NULL)
		render(out, json, 0);
	else
		yaml_print(out, json);
	(void) fclose(out);
	json_decref(json);
	CHECK_EQ_STR(text, want);
}

#define N1                                                                                       \
	"{\"id\":\"a1\",\"hostname\":\"n1\",\"peer_urls\":[\"p1\"],\"client_urls\":[\"c1\",\"d1\"]," \
	"\"learner\":false}"
#define N2 \
	"{\"id\":\"b2\",\"hostname\":\"\",\"peer_urls\":[\"p2\"],\"client_urls\":[],\"learner\":true}"

static void test_members(void)
{
	check_text(
	    cluster_render_members,
	    "[{\"node\":\"n1\",\"members\":[" N1 "," N2 "]},{\"node\":\"n2\",\"members\":[" N1
	    "]},{\"node\":\"n3\",\"error\":\"it \\u001b hangs\"},{\"node\":\"n4\",\"members\":[" N1
	    "," N2 "]}]",
	    "NODE   ID  HOSTNAME  PEER URLS  CLIENT URLS  LEARNER\n"
	    "n1,n4  a1  n1        p1         c1,d1        false\n"
	    "n1,n4  b2  -         p2                      true\n"
	    "n2     a1  n1        p1         c1,d1        false\n"
	    "n3     -   -         -          -            -\n"
	    "warning: n3: it ? hangs\n");
}

static void test_status(void)
{
	check_text(
	    cluster_render_status,
	    "[{\"node\":\"n1\",\"member\":\"a1\",\"db_bytes\":25000000,\"in_use_bytes\":18000000,"
	    "\"leader\":\"a1\",\"raft_index\":123,\"raft_term\":12,\"raft_applied_index\":122,"
	    "\"learner\":false,\"version\":\"3.5.16\",\"storage_version\":\"\",\"errors\":\"\","
	    "\"serves\":true},"
	    "{\"node\":\"n2\",\"member\":\"b2\",\"error\":\"no answer within 1000 ms\"},"
	    "{\"node\":\"n3\",\"member\":\"c3\",\"learner\":false,\"errors\":\"etcdserver: no leader\","
	    "\"serves\":false,\"serves_error\":\"etcdserver: no leader\"}]",
	    "NODE  MEMBER  DB SIZE          IN USE  LEADER  RAFT INDEX  RAFT TERM  RAFT APPLIED INDEX  "
	    "LEARNER  PROTOCOL  STORAGE  ERRORS\n"
	    "n1    a1        25 MB  18 MB (72.00%)  a1             123         12                 122  "
	    "false    3.5.16    -\n"
	    "n2    b2            -               -  -                -          -                   -  "
	    "-        -         -        no answer within 1000 ms\n"
	    "n3    c3          0 B             0 B  -                0          0                   0  "
	    "false    -         -        etcdserver: no leader\n"
	    "warning: n3: it gives no read that the others agree with: etcdserver: no leader\n");
	check_text(cluster_render_status,
	           "[{\"node\":\"n1\",\"quota_bytes\":2147483648,\"growth_bytes_per_hour\":62914560,"
	           "\"quota_runway_s\":51600},"
	           "{\"node\":\"n2\",\"quota_bytes\":2147483648,\"growth_bytes_per_hour\":-5,"
	           "\"quota_runway_s\":null}]",
	           "NODE  MEMBER  DB SIZE  IN USE  LEADER  RAFT INDEX  RAFT TERM  RAFT APPLIED INDEX  "
	           "LEARNER  PROTOCOL  STORAGE  ERRORS\n"
	           "n1    -           0 B     0 B  -                0          0                   0  "
	           "false    -         -\n"
	           "n2    -           0 B     0 B  -                0          0                   0  "
	           "false    -         -\n"
	           "n1: grows by 63 MB an hour; its quota of 2.1 GB is reached in 14h\n");
	check_text(cluster_render_status, "[{}]",
	           "NODE  MEMBER  DB SIZE  IN USE  LEADER  RAFT INDEX  RAFT TERM  RAFT APPLIED INDEX  "
	           "LEARNER  PROTOCOL  STORAGE  ERRORS\n"
	           "-     -           0 B     0 B  -                0          0                   0  "
	           "false    -         -\n");
}

static void test_alarms(void)
{
	check_text(cluster_render_alarms,
	           "[{\"node\":\"n1\",\"member\":\"a1\",\"alarm\":\"NOSPACE\"},{\"node\":null,"
	           "\"member\":\"b2\",\"alarm\":\"CORRUPT\"}]",
	           "NODE  MEMBER  ALARM\nn1    a1      NOSPACE\n-     b2      CORRUPT\n");
	check_text(cluster_render_alarms, "[]", "NODE  MEMBER  ALARM\n");
}

static void test_yaml(void)
{
	check_text(NULL,
	           "{\"node\":\"n1\",\"none\":null,\"n\":1.5,\"empty\":[],\"nothing\":{},"
	           "\"list\":[\"a\",{\"b\":true,\"c\":[1,2]},[3]],\"text\":\"a: \\\"b\\\"\\n\"}",
	           "---\n"
	           "node: \"n1\"\n"
	           "none: null\n"
	           "\"n\": 1.5\n"
	           "empty: []\n"
	           "nothing: {}\n"
	           "list:\n"
	           "  - \"a\"\n"
	           "  - b: true\n"
	           "    c:\n"
	           "      - 1\n"
	           "      - 2\n"
	           "  - - 3\n"
	           "text: \"a: \\\"b\\\"\\n\"\n");
}

int main(void)
{
	test_members();
	test_status();
	test_alarms();
	test_yaml();
	return check_result();
}
