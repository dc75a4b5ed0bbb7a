/* SPDX-License-Identifier: Apache-2.0 */
/* The values of the keys: what is written, that it is read back, and what is refused. */
#include "vipd/record.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "tests/unit/check.h"

#define INSTANCE "0123456789abcdef0123456789abcdef"
#define NAME63 "n23456789012345678901234567890123456789012345678901234567890123"

static const struct record_owner sample = {
    .node = "cp-1.example",
    .instance = INSTANCE,
    .epoch = 7,
    .window_us = 3 * US_PER_S,
    .late_us = 100 * US_PER_MS,
    .released = true,
    .successor = "cp-2",
    .reason = "preempted by priority",
    .wall_us = INT64_C(1767225600) * US_PER_S,
    .stamp_us = 1234567890123,
    .cluster_id = UINT64_C(0x2870320269150f65),
};

static void test_owner_text(void)
{
	AUTO(free) char *text = record_owner_format(&sample);

	CHECK_EQ_STR(text, "{\"node\":\"cp-1.example\",\"instance\":\"" INSTANCE
	                   "\",\"epoch\":7,\"windowMs\":3000,\"lateMs\":100,\"released\":true,"
	                   "\"successor\":\"cp-2\",\"reason\":\"preempted by priority\","
	                   "\"time\":\"2026-01-01T00:00:00Z\",\"stampUs\":1234567890123,\"cluster\":"
	                   "\"2870320269150f65\"}");
}

static void test_owner_round_trip(void)
{
	struct record_owner owners[] = {sample, sample, sample};

	(void) strcpy(owners[1].node, NAME63);
	(void) strcpy(owners[1].successor, NAME63);
	(void) strcpy(owners[1].reason, NAME63);
	owners[1].epoch = INT64_C(1) << 40;
	owners[1].released = false;
	owners[2].successor[0] = '\0';
	owners[2].reason[0] = '\0';
	owners[2].late_us = 0;
	owners[1].cluster_id = UINT64_MAX;
	owners[2].cluster_id = 0;
	for (size_t i = 0; i < ARRAY_SIZE(owners); i++) {
		AUTO(free) char *text = record_owner_format(&owners[i]);
		struct record_owner o;

		/* Everything is written, also what is zero. */
		memset(&o, 0x55, sizeof(o));
		CHECK_EQ_INT(record_owner_parse(text, strlen(text), &o), 0);
		CHECK_EQ_STR(o.node, owners[i].node);
		CHECK_EQ_STR(o.instance, owners[i].instance);
		CHECK_EQ_INT(o.epoch, owners[i].epoch);
		CHECK_EQ_INT(o.stamp_us, owners[i].stamp_us);
		CHECK_EQ_INT(o.window_us, owners[i].window_us);
		CHECK_EQ_INT(o.late_us, owners[i].late_us);
		CHECK_EQ_INT(o.released, owners[i].released);
		CHECK_EQ_STR(o.successor, owners[i].successor);
		CHECK_EQ_STR(o.reason, owners[i].reason);
		CHECK_EQ_INT(o.wall_us, owners[i].wall_us);
		CHECK_EQ_INT(o.cluster_id, owners[i].cluster_id);
	}
}

#define OWNER(node, instance, epoch, window, late, released)                                \
	"{\"node\":" node ",\"instance\":" instance ",\"epoch\":" epoch ",\"windowMs\":" window \
	",\"lateMs\":" late ",\"released\":" released "}"
#define PLAIN OWNER("\"n\"", "\"i\"", "1", "3000", "100", "false")
#define WITH(members)                                                   \
	"{\"node\":\"n\",\"instance\":\"i\",\"epoch\":1,\"windowMs\":3000," \
	"\"lateMs\":100,\"released\":false," members "}"

static void test_owner_parse(void)
{
	static const struct {
		const char *name;
		const char *text;
		int want;
	} cases[] = {
	    {"the least", PLAIN, 0},
	    {"members that are not known", WITH("\"colour\":{\"a\":[1]}"), 0},
	    {"a time that is none", WITH("\"time\":\"yesterday\""), 0},
	    {"a cluster", WITH("\"cluster\":\"ffffffffffffffff\""), 0},
	    {"a cluster of 17 digits", WITH("\"cluster\":\"10000000000000000\""), -EINVAL},
	    {"a cluster that is no number", WITH("\"cluster\":\"0x12\""), -EINVAL},
	    {"an empty cluster", WITH("\"cluster\":\"\""), -EINVAL},
	    {"a cluster that is no text", WITH("\"cluster\":12"), -EINVAL},
	    {"largest window", OWNER("\"n\"", "\"i\"", "1", "600000", "600000", "true"), 0},
	    {"smallest window", OWNER("\"n\"", "\"i\"", "1", "1", "0", "true"), 0},
	    {"nothing", "", -EINVAL},
	    {"not JSON", "owner", -EINVAL},
	    {"cut off", "{\"node\":\"n\"", -EINVAL},
	    {"something behind it", PLAIN "x", -EINVAL},
	    {"an array", "[" PLAIN "]", -EINVAL},
	    {"a string", "\"n\"", -EINVAL},
	    {"an empty object", "{}", -EINVAL},
	    {"a member twice", WITH("\"epoch\":2"), -EINVAL},
	    {"node missing",
	     "{\"instance\":\"i\",\"epoch\":1,\"windowMs\":1,\"lateMs\":1,"
	     "\"released\":true}",
	     -EINVAL},
	    {"released missing",
	     "{\"node\":\"n\",\"instance\":\"i\",\"epoch\":1,\"windowMs\":1,"
	     "\"lateMs\":1}",
	     -EINVAL},
	    {"node empty", OWNER("\"\"", "\"i\"", "1", "3000", "100", "false"), -EINVAL},
	    {"node a number", OWNER("1", "\"i\"", "1", "3000", "100", "false"), -EINVAL},
	    {"node null", OWNER("null", "\"i\"", "1", "3000", "100", "false"), -EINVAL},
	    {"node of 64", OWNER("\"" NAME63 "4\"", "\"i\"", "1", "3000", "100", "false"), -EINVAL},
	    {"node with a quote", OWNER("\"a\\\"b\"", "\"i\"", "1", "3000", "100", "false"), -EINVAL},
	    {"node with a backslash", OWNER("\"a\\\\b\"", "\"i\"", "1", "3000", "100", "false"),
	     -EINVAL},
	    {"node with a newline", OWNER("\"a\\nb\"", "\"i\"", "1", "3000", "100", "false"), -EINVAL},
	    {"node with a NUL", OWNER("\"a\\u0000b\"", "\"i\"", "1", "3000", "100", "false"), -EINVAL},
	    {"node with a DEL", OWNER("\"a\\u007f\"", "\"i\"", "1", "3000", "100", "false"), -EINVAL},
	    {"node beyond ASCII", OWNER("\"\xc3\xa4\"", "\"i\"", "1", "3000", "100", "false"), -EINVAL},
	    {"node not UTF-8", OWNER("\"\xff\"", "\"i\"", "1", "3000", "100", "false"), -EINVAL},
	    {"instance empty", OWNER("\"n\"", "\"\"", "1", "3000", "100", "false"), -EINVAL},
	    {"instance of 33", OWNER("\"n\"", "\"" INSTANCE "0\"", "1", "3000", "100", "false"),
	     -EINVAL},
	    {"epoch 0", OWNER("\"n\"", "\"i\"", "0", "3000", "100", "false"), -EINVAL},
	    {"epoch negative", OWNER("\"n\"", "\"i\"", "-1", "3000", "100", "false"), -EINVAL},
	    {"epoch that has no next",
	     OWNER("\"n\"", "\"i\"", "9223372036854775807", "3000", "100", "false"), -EINVAL},
	    {"epoch too large for a number",
	     OWNER("\"n\"", "\"i\"", "9223372036854775808", "3000", "100", "false"), -EINVAL},
	    {"epoch a fraction", OWNER("\"n\"", "\"i\"", "1.5", "3000", "100", "false"), -EINVAL},
	    {"epoch a string", OWNER("\"n\"", "\"i\"", "\"1\"", "3000", "100", "false"), -EINVAL},
	    {"window 0", OWNER("\"n\"", "\"i\"", "1", "0", "100", "false"), -EINVAL},
	    {"window negative", OWNER("\"n\"", "\"i\"", "1", "-3000", "100", "false"), -EINVAL},
	    {"window too long", OWNER("\"n\"", "\"i\"", "1", "600001", "100", "false"), -EINVAL},
	    {"window that wraps", OWNER("\"n\"", "\"i\"", "1", "18446744073709551", "100", "false"),
	     -EINVAL},
	    {"late negative", OWNER("\"n\"", "\"i\"", "1", "3000", "-1", "false"), -EINVAL},
	    {"late too long", OWNER("\"n\"", "\"i\"", "1", "3000", "600001", "false"), -EINVAL},
	    {"released a number", OWNER("\"n\"", "\"i\"", "1", "3000", "100", "0"), -EINVAL},
	    {"released a string", OWNER("\"n\"", "\"i\"", "1", "3000", "100", "\"false\""), -EINVAL},
	    {"successor a number", WITH("\"successor\":5"), -EINVAL},
	    {"successor of 64", WITH("\"successor\":\"" NAME63 "4\""), -EINVAL},
	    {"reason of 64", WITH("\"reason\":\"" NAME63 "4\""), -EINVAL},
	    {"reason with an escape", WITH("\"reason\":\"\\u001b[2J\""), -EINVAL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		/* A copy of its own, so that reading beyond it is seen. */
		size_t len = strlen(cases[i].text);
		AUTO(free) char *value = len > 0 ? xmemdup(cases[i].text, len) : NULL;
		struct record_owner o = {.epoch = -77};

		if (!CHECK_EQ_INT(record_owner_parse(value, len, &o), cases[i].want) ||
		    !CHECK_EQ_INT(o.epoch == -77, cases[i].want < 0))
			(void) fprintf(stderr, "case: %s\n", cases[i].name);
	}
}

/* A value of the largest size is read, one byte more is not. */
static void test_owner_size(void)
{
	const char *front = "{\"pad\":\"", *back = "\",";
	const char *rest = PLAIN;
	AUTO(free) char *text = xcalloc(1, RECORD_VALUE_MAX + 2);
	struct record_owner o;

	for (size_t len = RECORD_VALUE_MAX; len <= RECORD_VALUE_MAX + 1; len++) {
		size_t pad = len - strlen(front) - strlen(back) - (strlen(rest) - 1);

		(void) snprintf(text, RECORD_VALUE_MAX + 2, "%s%*s%s%s", front, (int) pad, "", back,
		                rest + 1);
		CHECK_EQ_INT(strlen(text), len);
		CHECK_EQ_INT(record_owner_parse(text, len, &o), len > RECORD_VALUE_MAX ? -EINVAL : 0);
	}
}

static void test_node_round_trip(void)
{
	static const struct record_node nodes[] = {
	    {.instance = INSTANCE,
	     .priority = 100,
	     .health = HEALTH_GOOD,
	     .ready = true,
	     .eligible = true,
	     .has_mac = true,
	     .mac = {{2, 0, 0, 0, 0, 0xa}}},
	    {.instance = INSTANCE,
	     .health = HEALTH_BAD,
	     .etcd_leader = true,
	     .has_mac = true,
	     .owned = 64,
	     .answered = -1},
	    {.instance = INSTANCE,
	     .priority = 1000,
	     .health = HEALTH_UNKNOWN,
	     .eligible = true,
	     .etcd_leader = true,
	     .owned = 3,
	     .answered = INT64_C(1) << 60},
	    {.instance = "i", .priority = 1, .health = HEALTH_UNCHECKED},
	    {.instance = "i", .looked_epoch = 7, .failed_epoch = 6},
	    {.instance = "i", .looked_epoch = INT64_C(1) << 53, .reached = true},
	};
	AUTO(free) char *first = record_node_format(&nodes[0]);
	AUTO(free) char *older = record_node_format(&nodes[3]);
	AUTO(free) char *looking = record_node_format(&nodes[4]);

	CHECK_EQ_STR(first,
	             "{\"instance\":\"" INSTANCE "\",\"priority\":100,\"health\":\"good\","
	             "\"ready\":true,\"eligible\":true,\"etcdLeader\":false,\"owned\":0,\"answered\":0,"
	             "\"mac\":\"02:00:00:00:00:0a\"}");
	CHECK_EQ_STR(
	    older,
	    "{\"instance\":\"i\",\"priority\":1,\"health\":\"unchecked\","
	    "\"ready\":false,\"eligible\":false,\"etcdLeader\":false,\"owned\":0,\"answered\":0}");
	CHECK_EQ_STR(
	    looking,
	    "{\"instance\":\"i\",\"priority\":0,\"health\":\"unknown\","
	    "\"ready\":false,\"eligible\":false,\"etcdLeader\":false,\"owned\":0,\"answered\":0,"
	    "\"lookedEpoch\":7,\"reached\":false,\"failedEpoch\":6}");
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		AUTO(free) char *text = record_node_format(&nodes[i]);
		struct record_node n = {.node = "from the key"};

		CHECK_EQ_INT(record_node_parse(text, strlen(text), &n), 0);
		CHECK_EQ_STR(n.node, "from the key");
		CHECK_EQ_STR(n.instance, nodes[i].instance);
		CHECK_EQ_INT(n.priority, nodes[i].priority);
		CHECK_EQ_INT(n.health, nodes[i].health);
		CHECK_EQ_INT(n.ready, nodes[i].ready);
		CHECK_EQ_INT(n.eligible, nodes[i].eligible);
		CHECK_EQ_INT(n.etcd_leader, nodes[i].etcd_leader);
		CHECK_EQ_INT(n.has_mac, nodes[i].has_mac);
		CHECK(!n.has_mac || mac_equal(&n.mac, &nodes[i].mac));
		CHECK_EQ_INT(n.owned, nodes[i].owned);
		CHECK_EQ_INT(n.answered, nodes[i].answered);
		CHECK_EQ_INT(n.looked_epoch, nodes[i].looked_epoch);
		CHECK_EQ_INT(n.reached, nodes[i].reached);
		CHECK_EQ_INT(n.failed_epoch, nodes[i].failed_epoch);
	}
}

#define NODE(instance, priority, health, eligible)                            \
	"{\"instance\":" instance ",\"priority\":" priority ",\"health\":" health \
	",\"eligible\":" eligible ",\"etcdLeader\":false}"

#define NODE_WITH(member)                                                       \
	"{\"instance\":\"i\",\"priority\":1,\"health\":\"bad\",\"eligible\":false," \
	"\"etcdLeader\":true," member "}"

/* What a version wrote that counts no VIPs, answers no `ask` and does not look. */
static void test_node_of_before(void)
{
	static const char text[] = NODE("\"i\"", "100", "\"good\"", "true");
	struct record_node n = {.ready = true,
	                        .owned = 7,
	                        .answered = 7,
	                        .looked_epoch = 7,
	                        .reached = true,
	                        .failed_epoch = 7};

	CHECK_EQ_INT(record_node_parse(text, strlen(text), &n), 0);
	CHECK_EQ_INT(n.owned, 0);
	CHECK_EQ_INT(n.answered, -1);
	CHECK(!n.ready);
	CHECK_EQ_INT(n.looked_epoch, 0);
	CHECK(!n.reached);
	CHECK_EQ_INT(n.failed_epoch, 0);
}

static void test_node_parse(void)
{
	static const struct {
		const char *name;
		const char *text;
		int want;
	} cases[] = {
	    {"plain", NODE("\"i\"", "100", "\"good\"", "true"), 0},
	    {"members that are not known",
	     "{\"zone\":\"a\",\"instance\":\"i\",\"priority\":1,\"health\":\"bad\",\"eligible\":false,"
	     "\"etcdLeader\":true}",
	     0},
	    {"nothing", "", -EINVAL},
	    {"an empty object", "{}", -EINVAL},
	    {"instance empty", NODE("\"\"", "100", "\"good\"", "true"), -EINVAL},
	    {"instance of 33", NODE("\"" INSTANCE "0\"", "100", "\"good\"", "true"), -EINVAL},
	    {"instance with a quote", NODE("\"\\\"\"", "100", "\"good\"", "true"), -EINVAL},
	    {"priority a string", NODE("\"i\"", "\"100\"", "\"good\"", "true"), -EINVAL},
	    {"priority that wraps", NODE("\"i\"", "4294967396", "\"good\"", "true"), -EINVAL},
	    {"priority negative", NODE("\"i\"", "-1", "\"good\"", "true"), -EINVAL},
	    {"health of no kind", NODE("\"i\"", "100", "\"excellent\"", "true"), -EINVAL},
	    {"health empty", NODE("\"i\"", "100", "\"\"", "true"), -EINVAL},
	    {"eligible a string", NODE("\"i\"", "100", "\"good\"", "\"true\""), -EINVAL},
	    {"mac that is none",
	     "{\"instance\":\"i\",\"priority\":1,\"health\":\"bad\",\"eligible\":false,"
	     "\"etcdLeader\":true,\"mac\":\"02:00\"}",
	     -EINVAL},
	    {"mac a number",
	     "{\"instance\":\"i\",\"priority\":1,\"health\":\"bad\",\"eligible\":false,"
	     "\"etcdLeader\":true,\"mac\":2}",
	     -EINVAL},
	    {"etcdLeader missing",
	     "{\"instance\":\"i\",\"priority\":1,\"health\":\"bad\",\"eligible\":false}", -EINVAL},
	    {"ready that is text", NODE_WITH("\"ready\":\"yes\""), -EINVAL},
	    {"most VIPs", NODE_WITH("\"owned\":64"), 0},
	    {"more than there may be", NODE_WITH("\"owned\":65"), -EINVAL},
	    {"fewer than none", NODE_WITH("\"owned\":-1"), -EINVAL},
	    {"an answer to no ask", NODE_WITH("\"answered\":-2"), -EINVAL},
	    {"an answer that is text", NODE_WITH("\"answered\":\"1\""), -EINVAL},
	    {"a look at no epoch", NODE_WITH("\"lookedEpoch\":-1"), -EINVAL},
	    {"a look at an epoch that cannot be", NODE_WITH("\"lookedEpoch\":9007199254740993"),
	     -EINVAL},
	    {"a look that is text", NODE_WITH("\"lookedEpoch\":1,\"reached\":\"no\""), -EINVAL},
	    {"a failure of no epoch", NODE_WITH("\"failedEpoch\":-1"), -EINVAL},
	    {"a failure of an epoch that cannot be", NODE_WITH("\"failedEpoch\":9007199254740993"),
	     -EINVAL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct record_node n = {.node = "name", .priority = -77};

		if (!CHECK_EQ_INT(record_node_parse(cases[i].text, strlen(cases[i].text), &n),
		                  cases[i].want) ||
		    !CHECK_EQ_INT(n.priority == -77, cases[i].want < 0) || !CHECK_EQ_STR(n.node, "name"))
			(void) fprintf(stderr, "case: %s\n", cases[i].name);
	}
}

static void test_node_name(void)
{
	static const struct {
		const char *text;
		size_t len;
		int want;
	} cases[] = {
	    {"cp-1.example", 12, 0},   {"cp-1/evil", 4, 0},  {NAME63, 63, 0},
	    {NAME63 "4", 64, -EINVAL}, {"", 0, -EINVAL},     {"a\0b", 3, -EINVAL},
	    {"\xff", 1, -EINVAL},      {"a\"b", 3, -EINVAL}, {"a\nb", 3, -EINVAL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct record_node n = {.node = "before"};

		if (!CHECK_EQ_INT(record_node_name_parse(cases[i].text, cases[i].len, &n), cases[i].want))
			(void) fprintf(stderr, "name: '%s'\n", cases[i].text);
		if (cases[i].want < 0)
			CHECK_EQ_STR(n.node, "before");
		else
			CHECK(strlen(n.node) == cases[i].len &&
			      memcmp(n.node, cases[i].text, cases[i].len) == 0);
	}
}

static void test_beat(void)
{
	AUTO(free) char *text = record_beat_format(7, INT64_C(5000000000));

	CHECK_EQ_STR(text, "{\"epoch\":7,\"seq\":5000000000}");
}

static void test_instance(void)
{
	char a[RECORD_INSTANCE_LEN + 1], b[RECORD_INSTANCE_LEN + 1];

	record_new_instance(a);
	record_new_instance(b);
	CHECK_EQ_INT(strlen(a), RECORD_INSTANCE_LEN);
	CHECK_EQ_INT(strspn(a, "0123456789abcdef"), RECORD_INSTANCE_LEN);
	CHECK(strcmp(a, b) != 0);
}

int main(void)
{
	test_owner_text();
	test_owner_round_trip();
	test_owner_parse();
	test_owner_size();
	test_node_round_trip();
	test_node_of_before();
	test_node_parse();
	test_node_name();
	test_beat();
	test_instance();
	return check_result();
}
