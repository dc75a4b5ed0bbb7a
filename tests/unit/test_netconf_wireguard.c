/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WireGuard's messages: what is written for each difference, that a kernel which keeps them has
 * what was wanted, and what a dump in several messages reads as. Then a real one, where there is
 * one.
 */
#include "netconf/kernel/wireguard_netlink.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/wireguard.h>
#include <stdlib.h>

#include "base/fileio.h"
#include "base/mem.h"
#include "check.h"
#include "netconf/kernel/kernel.h"
#include "netconf/config/config.h"
#include "netns.h"

#define FAMILY 31

static struct wireguard_key key(uint8_t fill)
{
	struct wireguard_key k;

	memset(k.bytes, fill, sizeof(k.bytes));
	return k;
}

static struct prefix prefix(const char *text)
{
	struct prefix parsed = {0};

	CHECK_EQ_INT(prefix_parse(text, &parsed), 0);
	return parsed;
}

static struct wireguard_peer *peer(struct wireguard *wg, uint8_t fill, const char *endpoint,
                                   const char *allowed)
{
	struct wireguard_peer *added = wireguard_add_peer(wg);
	const struct prefix parsed = prefix(allowed);

	added->public_key = key(fill);
	if (endpoint[0] != '\0')
		CHECK_EQ_INT(endpoint_parse(endpoint, 0, &added->endpoint), 0);
	wireguard_peer_allow(added, &parsed);
	return added;
}

static struct wireguard *device(void)
{
	struct wireguard *wg = wireguard_new();

	wg->has = WIREGUARD_PRIVATE_KEY | WIREGUARD_LISTEN_PORT | WIREGUARD_FWMARK | WIREGUARD_PEERS;
	wg->private_key = key(1);
	wg->listen_port = 51820;
	peer(wg, 10, "192.0.2.1:51820", "10.1.0.0/16")->keepalive_s = 25;
	peer(wg, 11, "[2001:db8::1]:51821", "fd01::/64");
	peer(wg, 12, "", "10.3.0.0/16");
	wireguard_normalise(wg);
	return wg;
}

/* --- a device that keeps what it is told --- */

struct told {
	struct wireguard *wg;
	unsigned messages, removed, keys;
};

static void take_removal(const struct nlattr *attr, struct told *told)
{
	const struct nlattr *table[WGPEER_A_MAX + 1];
	uint32_t flags;

	attr_read_nested(attr, table, WGPEER_A_MAX + 1);
	flags = attr_u32(table[WGPEER_A_FLAGS], 0);
	if ((flags & WGPEER_F_REMOVE_ME) == 0)
		return;
	for (size_t i = 0; i < told->wg->n_peers; i++) {
		if (memcmp(&told->wg->peers[i].public_key, attr_data(table[WGPEER_A_PUBLIC_KEY]),
		           WG_KEY_LEN) != 0)
			continue;
		free(told->wg->peers[i].allowed);
		told->wg->peers[i] = told->wg->peers[--told->wg->n_peers];
		told->removed++;
		return;
	}
	CHECK(false);
}

/* Before it is told anew, what it has of that peer goes if the message says so. */
static void take_replacement(const struct nlattr *attr, struct told *told)
{
	const struct nlattr *table[WGPEER_A_MAX + 1];

	attr_read_nested(attr, table, WGPEER_A_MAX + 1);
	for (size_t i = 0; i < told->wg->n_peers; i++) {
		struct wireguard_peer at = told->wg->peers[i];

		if (memcmp(&at.public_key, attr_data(table[WGPEER_A_PUBLIC_KEY]), WG_KEY_LEN) != 0)
			continue;
		if ((attr_u32(table[WGPEER_A_FLAGS], 0) & WGPEER_F_REPLACE_ALLOWEDIPS) != 0)
			at.n_allowed = 0;
		/* A continued one is the last one that was told of. */
		told->wg->peers[i] = told->wg->peers[told->wg->n_peers - 1];
		told->wg->peers[told->wg->n_peers - 1] = at;
		return;
	}
}

static void tell(struct told *told, struct message *m)
{
	const struct nlattr *table[WGDEVICE_A_MAX + 1], *peer;
	struct genlmsghdr header;
	char link[16];
	unsigned has = told->wg->has;

	CHECK_EQ_INT(message_check(m), 0);
	CHECK_EQ_INT(message_header(m)->nlmsg_type, FAMILY);
	CHECK(attr_read(message_header(m), &header, sizeof(header), table, WGDEVICE_A_MAX + 1));
	CHECK_EQ_INT(header.cmd, WG_CMD_SET_DEVICE);
	CHECK_EQ_STR(attr_text(table[WGDEVICE_A_IFNAME], link, sizeof(link)), "wg0");
	told->messages++;
	told->keys += table[WGDEVICE_A_PRIVATE_KEY] != NULL;
	ATTR_FOR_EACH(peer, table[WGDEVICE_A_PEERS])
	take_replacement(peer, told);
	wireguard_decode(message_header(m), told->wg);
	ATTR_FOR_EACH(peer, table[WGDEVICE_A_PEERS])
	take_removal(peer, told);
	told->wg->has = has;
}

/* How many messages it took; the device is then as wanted, and a second time takes none. */
static struct told bring(struct wireguard *have, const struct wireguard *want)
{
	struct told told = {.wg = have};

	for (int round = 0; round < 2; round++) {
		AUTO(wireguard_free) struct wireguard *before = wireguard_copy(have);
		struct wireguard_writer writer = {
		    .link = "wg0", .want = want, .have = before, .family = FAMILY};
		unsigned so_far = told.messages;
		AUTO(message_free) struct message *m = message_new();

		while (wireguard_writer_next(&writer, m))
			tell(&told, m);
		wireguard_normalise(have);
		CHECK_EQ_INT(wireguard_differs(want, have), 0);
		CHECK(round == 0 || told.messages == so_far);
	}
	return told;
}

static void test_write_all(void)
{
	AUTO(wireguard_free) struct wireguard *want = device(), *have = wireguard_new();
	struct told told;

	have->has = want->has;
	told = bring(have, want);
	CHECK_EQ_INT(told.messages, 4);
	CHECK_EQ_INT(told.removed, 0);
	CHECK_EQ_INT(have->peers[0].keepalive_s, 25);
	CHECK(endpoint_equal(&have->peers[1].endpoint, &want->peers[1].endpoint));
}

/* Only what differs: a peer that stays as it is is in no message. */
static void test_write_changes(void)
{
	AUTO(wireguard_free) struct wireguard *want = device(), *have = device();
	struct prefix more = prefix("10.9.0.0/16");
	struct told told;

	want->fwmark = 7;
	wireguard_peer_allow(&want->peers[0], &more);
	want->peers[1].has_preshared_key = true;
	want->peers[1].preshared_key = key(99);
	free(want->peers[2].allowed);
	want->n_peers = 2;
	wireguard_normalise(want);
	told = bring(have, want);
	CHECK_EQ_INT(told.messages, 4);
	CHECK_EQ_INT(told.removed, 1);
	CHECK_EQ_INT(told.keys, 0);
	CHECK(have->peers[1].has_preshared_key);
	/* And without it again. */
	want->peers[1].has_preshared_key = false;
	want->peers[1].preshared_key = key(0);
	told = bring(have, want);
	CHECK_EQ_INT(told.messages, 1);
	CHECK(!have->peers[1].has_preshared_key);
}

/* What is not asked for is left: the port that the kernel took, peers that wg(8) added. */
static void test_left_alone(void)
{
	AUTO(wireguard_free) struct wireguard *want = device(), *have = device();
	struct told told;

	want->has = WIREGUARD_PRIVATE_KEY | WIREGUARD_LISTEN_PORT;
	want->listen_port = 0;
	want->private_key = key(2);
	wireguard_normalise(want);
	have->peers[0].keepalive_s = 1;
	told = bring(have, want);
	CHECK_EQ_INT(told.messages, 1);
	CHECK_EQ_INT(told.keys, 1);
	CHECK_EQ_INT(have->listen_port, 51820);
	CHECK_EQ_INT(have->n_peers, 3);
}

/* More than fits into one message. */
static void test_many_allowed(void)
{
	AUTO(wireguard_free) struct wireguard *want = device(), *have = device();
	struct told told;

	for (unsigned i = 0; i < 300; i++) {
		char text[32];
		struct prefix p;

		(void) snprintf(text, sizeof(text), "10.%u.%u.0/24", 100 + i / 256, i % 256);
		p = prefix(text);
		wireguard_peer_allow(&want->peers[1], &p);
	}
	wireguard_normalise(want);
	told = bring(have, want);
	CHECK_EQ_INT(told.messages, 3);
	CHECK_EQ_INT(have->peers[1].n_allowed, 301);
}

/* Cut anywhere, it is read as far as it goes, and not beyond. */
static void test_decode_cut(void)
{
	AUTO(wireguard_free) struct wireguard *want = device(), *none = wireguard_new();
	struct wireguard_writer writer = {.link = "wg0", .want = want, .have = none, .family = FAMILY};
	AUTO(message_free) struct message *m = message_new();

	while (wireguard_writer_next(&writer, m)) {
		for (uint32_t len = NLMSG_HDRLEN; len <= message_header(m)->nlmsg_len; len++) {
			AUTO(wireguard_free) struct wireguard *read = wireguard_new();
			AUTO(free) struct nlmsghdr *cut = xmemdup(message_header(m), len);

			cut->nlmsg_len = len;
			wireguard_decode(cut, read);
			CHECK(read->n_peers <= 1);
		}
	}
}

/* --- key files --- */

static void on_unread(const char *path, int error, void *userdata)
{
	unsigned *n = userdata;

	CHECK(strstr(path, "/bad") != NULL ? error == -EINVAL : error == -ENOENT);
	(*n)++;
}

static char *write_file(const char *dir, const char *name, const char *text)
{
	char *path = xasprintf("%s/%s", dir, name);

	CHECK_EQ_INT(file_write_atomic(path, text, strlen(text), 0600, FILE_VOLATILE), 0);
	return path;
}

static void test_key_files(void)
{
	static const char good[] = "QEdxb25lLW9mLXRoZS1rZXlzLWZvci10aGUtdGVzdHM=\n";
	char dir[] = "/tmp/test_netconf_wireguard.XXXXXX";
	AUTO(wireguard_free) struct wireguard *wg = device(), *lacking = device(), *have = device();
	AUTO(free) char *key_file = NULL;
	AUTO(free) char *bad_file = NULL;
	struct wireguard_key missing = have->peers[1].public_key;
	unsigned unread = 0;

	if (!CHECK(mkdtemp(dir) != NULL))
		return;
	key_file = write_file(dir, "good", good);
	bad_file = write_file(dir, "bad", "no key\n");
	wg->private_key_file = xstrdup(key_file);
	wg->peers[1].preshared_key_file = xstrdup(key_file);
	wireguard_read_keys(wg, NULL, on_unread, &unread);
	CHECK_EQ_INT(unread, 0);
	CHECK_EQ_INT(wg->private_key.bytes[0], '@');
	CHECK(wg->peers[1].has_preshared_key && !wg->peers[0].has_preshared_key);
	CHECK_EQ_INT(wg->peers[1].preshared_key.bytes[1], 'G');
	/* What cannot be read is left as it is on the link. */
	lacking->private_key_file = xasprintf("%s/none", dir);
	lacking->peers[0].preshared_key_file = xstrdup(bad_file);
	lacking->peers[0].keepalive_s = 7;
	lacking->peers[1].preshared_key_file = xstrdup(bad_file);
	have->peers[0].has_preshared_key = true;
	have->peers[0].preshared_key = key(77);
	wireguard_remove_peer(have, 1);
	wireguard_read_keys(lacking, have, on_unread, &unread);
	CHECK_EQ_INT(unread, 3);
	CHECK_EQ_INT(lacking->has, WIREGUARD_LISTEN_PORT | WIREGUARD_FWMARK | WIREGUARD_PEERS);
	/* The rest of such a peer is as it is wanted; one that is not there is not made without its
	 * key.
	 */
	CHECK_EQ_INT(lacking->n_peers, have->n_peers);
	CHECK(wireguard_find_peer(lacking, &missing) == NULL);
	CHECK(lacking->peers[0].has_preshared_key);
	CHECK_EQ_INT(lacking->peers[0].preshared_key.bytes[0], 77);
	CHECK_EQ_INT(lacking->peers[0].keepalive_s, 7);
	(void) unlink(key_file);
	(void) unlink(bad_file);
	(void) rmdir(dir);
}

/* --- the kernel --- */

static void test_kernel(void)
{
	AUTO(kernel_free) struct kernel *kernel = NULL;
	AUTO(model_free) struct model *model = NULL;
	struct op op = {.kind = OP_LINK_CREATE};
	const struct link *link;

	(void) netns_enter_new();
	CHECK_EQ_INT(kernel_new(NULL, &kernel), 0);
	(void) snprintf(op.link.name, sizeof(op.link.name), "wg0");
	op.link.kind = LINK_WIREGUARD;
	if (kernel_carry_out(kernel, &op) == -EOPNOTSUPP) {
		(void) fprintf(stderr, "no WireGuard in this kernel: only its messages were tested\n");
		return;
	}
	op.kind = OP_WIREGUARD_SET;
	for (unsigned round = 0; round < 2; round++) {
		op.link.wireguard = device();
		op.link.wireguard->n_peers = round == 0 ? 3 : 2;
		CHECK_EQ_INT(kernel_carry_out(kernel, &op), 0);
		CHECK_EQ_STR(kernel_error_text(kernel), "");
		CHECK_EQ_INT(kernel_observe(kernel, &model), 0);
		link = model_find_link(model, "wg0");
		if (CHECK(link != NULL && link->wireguard != NULL)) {
			CHECK_EQ_INT(wireguard_differs(op.link.wireguard, link->wireguard), 0);
			CHECK_EQ_INT(link->wireguard->n_peers, op.link.wireguard->n_peers);
		}
		op.link.wireguard->n_peers = 3;
		wireguard_free(op.link.wireguard);
		model_free(TAKE_PTR(model));
	}
}

int main(void)
{
	test_write_all();
	test_write_changes();
	test_left_alone();
	test_many_allowed();
	test_decode_cut();
	test_key_files();
	test_kernel();
	return check_result();
}
