/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of other nodes' snapshots, from the keys in etcd and from the entries in targets.
 */
#include "etcdwatch/job/others.h"

#include <string.h>

#include "base/macro.h"
#include "tests/unit/check.h"
#include "tests/unit/entries.h"

static void done(struct others *o, const char *value)
{
	others_add_done(o, "n1", value, strlen(value));
}

static void entry(struct others *o, const char *node, int64_t finished_s, const char *agreed)
{
	struct catalog_entry *e = entries_new("a", 1, finished_s - 1, 500);

	entries_set(&e->node, node);
	e->hashkv_verified = agreed != NULL ? xstrdup(agreed) : NULL;
	others_add_entry(o, "n1", e);
	catalog_entry_free(e);
}

static void expect(const struct others_one *one, const char *node, int64_t finished_s,
                   int64_t revision)
{
	CHECK_EQ_STR(one->node, node);
	CHECK_EQ_INT(one->finished_s, finished_s);
	CHECK_EQ_INT(one->revision, revision);
}

static void test_newest(void)
{
	struct others o = {0};

	done(&o, "{\"node\":\"n2\",\"id\":\"x\",\"finished\":100,\"revision\":7,\"agreed\":\"n3\"}");
	done(&o, "{\"node\":\"n2\",\"id\":\"w\",\"finished\":90,\"revision\":6,\"agreed\":null}");
	done(&o, "{\"node\":\"n1\",\"id\":\"y\",\"finished\":200,\"revision\":8}");
	entry(&o, "n1", 300, NULL);
	entry(&o, "n3", 80, NULL);
	entry(&o, "n3", 110, "n2");
	if (!CHECK_EQ_INT(o.n, 2))
		return;
	expect(&o.items[0], "n2", 100, 7);
	CHECK(o.items[0].agreed_is_known);
	CHECK_EQ_STR(o.items[0].agreed, "n3");
	expect(&o.items[1], "n3", 110, 500);
	CHECK_EQ_STR(o.items[1].agreed, "n2");
	/* A newer one in a target, which was not compared. */
	entry(&o, "n2", 150, NULL);
	expect(&o.items[0], "n2", 150, 500);
	CHECK(o.items[0].agreed_is_known);
	CHECK_EQ_STR(o.items[0].agreed, "");
}

/* An older version recorded less; the entry of the same snapshot says it. */
static void test_old_record(void)
{
	struct catalog_entry *e = entries_new("a", 1, 100, 500);
	AUTO(free)
	char *value = xasprintf("{\"node\":\"n2\",\"id\":\"%s\",\"finished\":105}", e->id);
	struct others o = {0};

	entries_set(&e->node, "n2");
	done(&o, value);
	expect(&o.items[0], "n2", 105, 0);
	CHECK(!o.items[0].agreed_is_known);
	others_add_entry(&o, "n1", e);
	CHECK_EQ_INT(o.n, 1);
	expect(&o.items[0], "n2", 101, 500);
	CHECK(o.items[0].agreed_is_known);
	catalog_entry_free(e);
}

/* Others write into etcd and into targets too. */
static void test_passed_over(void)
{
	static const char *const values[] = {
	    "",
	    "7",
	    "[]",
	    "{}",
	    "{\"node\":\"n2\"}",
	    "{\"id\":\"x\",\"finished\":1}",
	    "{\"node\":7,\"id\":\"x\"}",
	};
	struct catalog_entry *e = entries_new("a", 1, 100, 500);
	struct others o = {0};
	char value[64];

	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		done(&o, values[i]);
	entries_set(&e->node, "n2");
	e->tree_verified = false;
	others_add_entry(&o, "n1", e);
	CHECK_EQ_INT(o.n, 0);
	for (int i = 0; i < OTHERS_NODES_MAX + 5; i++) {
		(void) snprintf(value, sizeof(value), "{\"node\":\"m%d\",\"id\":\"x\"}", i);
		done(&o, value);
	}
	CHECK_EQ_INT(o.n, OTHERS_NODES_MAX);
	catalog_entry_free(e);
}

int main(void)
{
	test_newest();
	test_old_record();
	test_passed_over();
	return check_result();
}
