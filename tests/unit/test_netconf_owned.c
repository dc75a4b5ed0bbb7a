/* SPDX-License-Identifier: Apache-2.0 */
/* What is ours without a mark: adopted, expected, found again after a restart, and let go. */
#include "netconf/owned/owned.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/mem.h"
#include "check.h"

static struct prefix prefix(const char *text)
{
	struct prefix parsed = {0};

	CHECK_EQ_INT(prefix_parse(text, &parsed), 0);
	return parsed;
}

static struct link *link_of(struct model *m, const char *name, enum link_kind kind, int ifindex)
{
	struct link *link = model_add_link(m, name, kind);

	link->ifindex = ifindex;
	link->owner = OWNER_FOREIGN;
	return link;
}

static struct address *address(struct model *m, const char *link, const char *text)
{
	const struct prefix parsed = prefix(text);
	struct address *added = model_add_address(m, link, &parsed);

	added->valid_s = added->preferred_s = ADDRESS_FOREVER;
	added->owner = OWNER_FOREIGN;
	return added;
}

static struct route *route(struct model *m, const char *dst, const char *gateway, uint8_t protocol)
{
	const struct prefix parsed = prefix(dst);
	struct route *added = model_add_route(m, &parsed);

	CHECK_EQ_INT(addr_parse(gateway, &added->gateway), 0);
	(void) snprintf(added->link, sizeof(added->link), "eth0");
	added->protocol = protocol;
	added->owner = OWNER_FOREIGN;
	return added;
}

static struct rule *rule(struct model *m, uint32_t priority, uint8_t protocol)
{
	struct rule *added = model_add_rule(m, AF_INET, priority);

	added->src = prefix("10.0.0.0/24");
	added->action = FR_ACT_TO_TBL;
	added->table = 100;
	added->protocol = protocol;
	added->owner = OWNER_FOREIGN;
	return added;
}

/* eth0 is number 2, br0 number 3; of each kind one by hand and one of another program's. */
static struct model *network(void)
{
	struct model *m = model_new();

	link_of(m, "eth0", LINK_PHYSICAL, 2);
	link_of(m, "br0", LINK_BRIDGE, 3);
	link_of(m, "br1", LINK_BRIDGE, 4)->group = 100;
	address(m, "eth0", "10.0.0.2/24");
	address(m, "eth0", "10.0.0.3/24")->protocol = 0xf1;
	address(m, "eth0", "10.0.0.4/24")->valid_s = 60;
	address(m, "eth0", "fd00::2/64");
	route(m, "0.0.0.0/0", "10.0.0.1", RTPROT_STATIC);
	route(m, "10.1.0.0/16", "10.0.0.1", RTPROT_BOOT);
	route(m, "10.2.0.0/16", "10.0.0.1", RTPROT_BIRD);
	rule(m, 100, RTPROT_STATIC);
	rule(m, 101, 99);
	model_normalise(m);
	return m;
}

/* What is wanted never ends. */
static struct model *wanted(void)
{
	struct model *m = network();

	for (size_t i = 0; i < m->n_addresses; i++)
		m->addresses[i].valid_s = ADDRESS_FOREVER;
	return m;
}

static size_t count_ours(const struct model *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n_links; i++)
		n += m->links[i].owner == OWNER_OURS;
	for (size_t i = 0; i < m->n_addresses; i++)
		n += m->addresses[i].owner == OWNER_OURS;
	for (size_t i = 0; i < m->n_routes; i++)
		n += m->routes[i].owner == OWNER_OURS;
	for (size_t i = 0; i < m->n_rules; i++)
		n += m->rules[i].owner == OWNER_OURS;
	return n;
}

static bool is_ours(const struct model *m, const char *text)
{
	const struct prefix parsed = prefix(text);
	const struct address *found = model_find_address(m, "eth0", &parsed);

	return found != NULL && found->owner == OWNER_OURS;
}

static struct route *route_to(struct model *m, const char *dst)
{
	const struct prefix parsed = prefix(dst);

	for (size_t i = 0; i < m->n_routes; i++) {
		if (prefix_equal(&m->routes[i].dst, &parsed))
			return &m->routes[i];
	}
	abort();
}

/* br0, 10.0.0.2, fd00::2, the routes and the rule by hand. */
#define ADOPTED 6

static void test_adoption(void)
{
	AUTO(model_free) struct model *want = wanted(), *have = network(), *other = network();
	AUTO(model_free) struct model *changed = network();
	AUTO(owned_free) struct owned *owned = owned_new();

	owned_settle(owned, NULL, have);
	CHECK_EQ_INT(owned_count(owned), 0);
	owned_settle(owned, want, have);
	CHECK_EQ_INT(owned_count(owned), ADOPTED);
	owned_judge(owned, have);
	CHECK_EQ_INT(count_ours(have), ADOPTED);
	CHECK(is_ours(have, "10.0.0.2/24"));
	CHECK(!is_ours(have, "10.0.0.3/24"));
	CHECK(!is_ours(have, "10.0.0.4/24"));
	/* Somebody has given it more than we have words for. */
	route_to(changed, "10.1.0.0/16")->is_opaque = true;
	owned_judge(owned, changed);
	CHECK_EQ_INT(count_ours(changed), ADOPTED - 1);
	/* Adopted stays adopted, wanted or not, until it is gone. */
	owned_settle(owned, NULL, have);
	CHECK_EQ_INT(owned_count(owned), ADOPTED);
	model_remove_address(have, 0);
	owned_settle(owned, NULL, have);
	CHECK_EQ_INT(owned_count(owned), ADOPTED - 1);
	/* Another interface of that name is another's, and so is what is on it. */
	model_find_link(other, "eth0")->ifindex = 7;
	model_find_link(other, "br0")->ifindex = 8;
	owned_judge(owned, other);
	CHECK_EQ_INT(count_ours(other), 1);
	CHECK_EQ_INT(other->rules[0].owner, OWNER_OURS);
}

/* What is there otherwise than wanted is not adopted. */
static void test_only_the_same(void)
{
	AUTO(model_free) struct model *want = wanted(), *have = network();
	AUTO(owned_free) struct owned *owned = owned_new();

	model_find_link(want, "br0")->has = LINK_HAS_STP;
	model_find_link(want, "br0")->stp = true;
	model_find_link(have, "br0")->has = LINK_HAS_STP;
	want->addresses[0].priority = 7;
	want->routes[0].mtu = 1400;
	have->routes[1].is_opaque = true;
	want->rules[0].table = 101;
	model_normalise(want);
	model_normalise(have);
	owned_settle(owned, want, have);
	owned_judge(owned, have);
	CHECK_EQ_INT(count_ours(have), 1);
	CHECK(is_ours(have, "fd00::2/64"));
}

/* A kernel that keeps no mark of addresses: those that were about to be added are ours, even if
 * nobody could write down afterwards that they were. */
static void test_expected(void)
{
	AUTO(model_free) struct model *before = network(), *after = network();
	AUTO(owned_free) struct owned *owned = owned_new(), *marked = owned_new();
	struct prefix loopback = {0};
	struct op ops[2] = {{.kind = OP_ADDRESS_ADD}, {.kind = OP_ADDRESS_ADD}};
	struct plan plan = {.ops = ops, .n_ops = 2};

	CHECK_EQ_INT(prefix_parse("::1/128", &loopback), 0);
	ops[0].address = *address(after, "eth0", "10.9.0.2/24");
	ops[0].address.owner = OWNER_OURS;
	ops[0].address.protocol = NETCONF_PROTOCOL;
	/* Put back for another program. */
	ops[1].address = *address(after, "eth0", "10.9.0.3/24");
	model_normalise(after);
	for (size_t i = 0; i < before->n_addresses; i++)
		before->addresses[i].protocol = IFAPROT_UNSPEC;
	owned_expect(owned, &plan, before);
	owned_judge(owned, after);
	CHECK(is_ours(after, "10.9.0.2/24"));
	CHECK_EQ_INT(count_ours(after), 1);
	owned_settle(owned, NULL, after);
	CHECK_EQ_INT(owned_count(owned), 1);
	/* One that does: what somebody adds in the place of ours is not ours. */
	model_add_address(before, "lo", &loopback)->protocol = IFAPROT_KERNEL_LO;
	owned_expect(marked, &plan, before);
	CHECK_EQ_INT(owned_count(marked), 0);
	/* A list from before that was known. */
	for (size_t i = 0; i < after->n_addresses; i++) {
		if (after->addresses[i].owner == OWNER_OURS)
			after->addresses[i].protocol = NETCONF_PROTOCOL;
	}
	owned_settle(owned, NULL, after);
	CHECK_EQ_INT(owned_count(owned), 0);
}

/* A VLAN that becomes another is a link with another number: what it has then is ours, too. */
static void test_made_anew(void)
{
	AUTO(model_free) struct model *before = network(), *after = network();
	AUTO(owned_free) struct owned *owned = owned_new();
	struct op ops[3] = {
	    {.kind = OP_LINK_DELETE}, {.kind = OP_LINK_CREATE}, {.kind = OP_ADDRESS_ADD}};
	struct plan plan = {.ops = ops, .n_ops = 3};

	(void) link_of(before, "v5", LINK_VLAN, 7);
	(void) link_of(after, "v5", LINK_VLAN, 8);
	for (size_t i = 0; i < 2; i++)
		(void) snprintf(ops[i].link.name, sizeof(ops[i].link.name), "v5");
	ops[2].address = *address(after, "v5", "10.9.0.2/24");
	ops[2].address.owner = OWNER_OURS;
	for (size_t k = 0; k < before->n_addresses; k++)
		before->addresses[k].protocol = IFAPROT_UNSPEC;
	model_normalise(before);
	model_normalise(after);
	owned_expect(owned, &plan, before);
	owned_judge(owned, after);
	CHECK_EQ_INT(count_ours(after), 1);
	/* One that comes later under that name is another's. */
	owned_settle(owned, NULL, after);
	model_find_link(after, "v5")->ifindex = 9;
	for (size_t i = 0; i < after->n_addresses; i++)
		after->addresses[i].owner = OWNER_FOREIGN;
	owned_judge(owned, after);
	CHECK_EQ_INT(count_ours(after), 0);
}

static void write_text(const char *path, const char *text)
{
	CHECK_EQ_INT(file_write_atomic(path, text, strlen(text), 0600, FILE_VOLATILE), 0);
}

static void test_file(void)
{
	char dir[] = "/tmp/test_netconf_owned.XXXXXX";
	AUTO(model_free) struct model *want = wanted(), *have = network(), *again = network();
	AUTO(owned_free) struct owned *owned = owned_new(), *read = NULL;
	AUTO(free) char *path = NULL;
	AUTO(free) char *text = NULL;
	AUTO(model_free) struct model *nothing = model_new();
	struct stat written, now;
	size_t len;

	if (!CHECK(mkdtemp(dir) != NULL))
		return;
	path = xasprintf("%s/owned.json", dir);
	CHECK_EQ_INT(owned_load(path, &read), 0);
	CHECK_EQ_INT(owned_count(read), 0);
	owned_settle(owned, want, have);
	CHECK_EQ_INT(owned_save(owned, path), 0);
	owned_free(TAKE_PTR(read));
	CHECK_EQ_INT(owned_load(path, &read), 0);
	CHECK_EQ_INT(owned_count(read), ADOPTED);
	owned_judge(read, again);
	CHECK_EQ_INT(count_ours(again), ADOPTED);
	/* What the file has already is not written: it stays the same file. */
	CHECK_EQ_INT(stat(path, &written), 0);
	CHECK_EQ_INT(owned_save(owned, path), 0);
	CHECK_EQ_INT(stat(path, &now), 0);
	CHECK(now.st_ino == written.st_ino);
	CHECK_EQ_INT(owned_save(read, path), 0);
	CHECK_EQ_INT(stat(path, &now), 0);
	CHECK(now.st_ino == written.st_ino);
	owned_settle(read, NULL, nothing);
	CHECK_EQ_INT(owned_save(read, path), 0);
	owned_free(TAKE_PTR(read));
	CHECK_EQ_INT(owned_load(path, &read), 0);
	CHECK_EQ_INT(owned_count(read), 0);

	/* Of another boot; then no such file at all. */
	CHECK_EQ_INT(file_read(path, 1 << 20, &text, &len), 0);
	CHECK(strstr(text, "\"boot\": \"") != NULL);
	strstr(text, "\"boot\": \"")[strlen("\"boot\": \"")] ^= 1;
	write_text(path, text);
	owned_free(TAKE_PTR(read));
	CHECK_EQ_INT(owned_load(path, &read), 0);
	CHECK_EQ_INT(owned_count(read), 0);
	write_text(path, "{\"boot\":");
	CHECK_EQ_INT(owned_load(path, &read), -EBADMSG);
	(void) unlink(path);
	(void) rmdir(dir);
}

/* Each line is wrong in one thing; all of the rest is right. */
static void test_bad_files(void)
{
	static const char *const bad[][2] = {
	    {"\"protocol\": 4", "\"protocol\": 256"},
	    {"\"ifindex\": 2", "\"ifindex\": \"2\""},
	    {"\"10.0.0.2/24\"", "\"10.0.0.2/33\""},
	    {"\"gateway\": \"10.0.0.1\"", "\"gateway\": \"10.0.0\""},
	    {"\"table\": 254", "\"table\": -1"},
	    {"\"name\": \"br0\"", "\"name\": \"a-name-that-is-too-long\""},
	    {"\"family\": 2", "\"family\": 3"},
	    {"\"rules\"", "\"rulers\""},
	};
	char dir[] = "/tmp/test_netconf_owned.XXXXXX";
	AUTO(model_free) struct model *want = wanted();
	AUTO(owned_free) struct owned *owned = owned_new(), *read = NULL;
	AUTO(free) char *path = NULL;
	AUTO(free) char *text = NULL;
	size_t len;

	if (!CHECK(mkdtemp(dir) != NULL))
		return;
	path = xasprintf("%s/owned.json", dir);
	owned_settle(owned, want, want);
	CHECK_EQ_INT(owned_save(owned, path), 0);
	CHECK_EQ_INT(file_read(path, 1 << 20, &text, &len), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		AUTO(free) char *broken = NULL;
		const char *at = strstr(text, bad[i][0]);

		if (!CHECK(at != NULL))
			continue;
		broken = xasprintf("%.*s%s%s", (int) (at - text), text, bad[i][1], at + strlen(bad[i][0]));
		write_text(path, broken);
		if (!CHECK_EQ_INT(owned_load(path, &read), -EBADMSG))
			(void) fprintf(stderr, "taken: %s\n", bad[i][1]);
	}
	(void) unlink(path);
	(void) rmdir(dir);
}

int main(void)
{
	test_adoption();
	test_only_the_same();
	test_expected();
	test_made_anew();
	test_file();
	test_bad_files();
	return check_result();
}
