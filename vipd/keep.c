/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and reads the state file, JSON on tmpfs, replaced atomically at each confirmation. */
#include "vipd/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "base/fileio.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "vipd/fence.h"

#define BOOT_ID_PATH "/proc/sys/kernel/random/boot_id"
#define FILE_MAX_BYTES (64 * 1024)

DEFINE_AUTO(json_t, json_decref);

/* The text is ours and stays. Read once: a state file is written with every confirmation. */
static int get_boot_id(const char **ret_id)
{
	static char *id;
	size_t len;
	int r;

	if (id == NULL) {
		r = file_read(BOOT_ID_PATH, 256, &id, &len);
		if (r < 0)
			return r;
		id[strcspn(id, "\n")] = '\0';
	}
	*ret_id = id;
	return 0;
}

int keep_lock(const char *runtime_dir, bool create)
{
	AUTO(free) char *path = xasprintf("%s/vipd.lock", runtime_dir);
	AUTO(close) int fd = -1;

	fd = open(path, O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0), 0600);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	return TAKE_FD(fd);
}

static int parse_vip(json_t *object, struct keep_vip *ret_vip)
{
	const char *address = NULL;
	json_int_t epoch = 0, rev = 0, deadline = 0, window = 0;
	struct keep_vip v = {0};
	int r;

	r = json_unpack(object, "{s:s, s:i, s:I, s:I, s:I, s:I}", "vip", &address, "ifindex",
	                &v.ifindex, "epoch", &epoch, "rev", &rev, "deadlineUs", &deadline, "windowUs",
	                &window);
	if (r < 0)
		return -EINVAL;
	v.epoch = epoch;
	v.rev = rev;
	v.deadline_us = deadline;
	v.window_us = window;
	r = addr_parse(address, &v.vip);
	if (r < 0)
		return r;
	*ret_vip = v;
	return 0;
}

static int parse_cluster(json_t *object, struct keep *ret_keep)
{
	const json_t *endpoints = json_object_get(object, "endpoints");
	const char *id = json_string_value(json_object_get(object, "cluster"));

	/* A vipd from before it was remembered left none. */
	if (id == NULL)
		return 0;
	if (json_array_size(endpoints) > ETCD_ENDPOINTS_MAX)
		return -EINVAL;
	for (size_t i = 0; i < json_array_size(endpoints); i++) {
		const char *url = json_string_value(json_array_get(endpoints, i));

		if (url == NULL || strlen(url) > KEEP_ENDPOINT_MAX)
			return -EINVAL;
		(void) strcpy(ret_keep->endpoints[i], url);
	}
	ret_keep->n_endpoints = json_array_size(endpoints);
	return record_id_parse(id, &ret_keep->cluster_id);
}

static int parse(json_t *object, const char *boot_id, struct keep *ret_keep)
{
	const char *boot = NULL, *instance = NULL;
	json_int_t lease = 0;
	json_t *vips = NULL, *vip;
	int on_hold = 0;
	size_t i;

	if (json_unpack(object, "{s:s, s:s, s:I, s:b, s:o}", "boot", &boot, "instance", &instance,
	                "lease", &lease, "onHold", &on_hold, "vips", &vips) < 0 ||
	    !json_is_array(vips) || strlen(instance) != RECORD_INSTANCE_LEN ||
	    json_array_size(vips) > CONFIG_VIPS_MAX)
		return -EINVAL;
	if (strcmp(boot, boot_id) != 0)
		return -ESTALE;
	memcpy(ret_keep->instance, instance, RECORD_INSTANCE_LEN + 1);
	ret_keep->lease = lease;
	ret_keep->on_hold = on_hold != 0;
	json_array_foreach(vips, i, vip)
	{
		int r = parse_vip(vip, &ret_keep->vips[i]);

		if (r < 0)
			return r;
	}
	ret_keep->n_vips = json_array_size(vips);
	return parse_cluster(object, ret_keep);
}

int keep_load(const char *runtime_dir, struct keep *ret_keep)
{
	AUTO(free) char *path = xasprintf("%s/vipd.state", runtime_dir);
	AUTO(free) char *text = NULL;
	const char *boot_id;
	AUTO(json_decref) json_t *object = NULL;
	struct keep k = {0};
	size_t len;
	int r;

	r = file_read(path, FILE_MAX_BYTES, &text, &len);
	if (r < 0)
		return r;
	r = get_boot_id(&boot_id);
	if (r < 0)
		return r;
	object = json_loadb(text, len, 0, NULL);
	if (object == NULL)
		return -EINVAL;
	r = parse(object, boot_id, &k);
	if (r < 0)
		return r;
	*ret_keep = k;
	return 0;
}

int keep_save(const char *runtime_dir, const struct keep *k)
{
	AUTO(free) char *path = xasprintf("%s/vipd.state", runtime_dir);
	const char *boot_id;
	AUTO(free) char *text = NULL;
	AUTO(json_decref) json_t *object = NULL;
	json_t *vips, *endpoints;
	int r;

	r = get_boot_id(&boot_id);
	if (r < 0)
		return r;
	vips = json_array();
	for (size_t i = 0; i < k->n_vips; i++) {
		const struct keep_vip *v = &k->vips[i];
		char address[ADDR_TEXT_MAX];

		(void) json_array_append_new(
		    vips, json_pack("{s:s, s:i, s:I, s:I, s:I, s:I}", "vip", addr_format(&v->vip, address),
		                    "ifindex", v->ifindex, "epoch", (json_int_t) v->epoch, "rev",
		                    (json_int_t) v->rev, "deadlineUs", (json_int_t) v->deadline_us,
		                    "windowUs", (json_int_t) v->window_us));
	}
	endpoints = json_array();
	for (size_t i = 0; i < k->n_endpoints; i++)
		(void) json_array_append_new(endpoints, json_string(k->endpoints[i]));
	object =
	    json_pack("{s:s, s:s, s:I, s:b, s:o, s:s, s:o}", "boot", boot_id, "instance", k->instance,
	              "lease", (json_int_t) k->lease, "onHold", k->on_hold ? 1 : 0, "vips", vips,
	              "cluster", record_id_format(k->cluster_id), "endpoints", endpoints);
	text = json_dumps(object, JSON_INDENT(1));
	if (text == NULL)
		return -EINVAL;
	return file_write_atomic(path, text, strlen(text), 0600, FILE_VOLATILE);
}

const struct keep_vip *keep_find(const struct keep *k, const struct addr *vip)
{
	for (size_t i = 0; i < k->n_vips; i++) {
		if (addr_equal(&k->vips[i].vip, vip))
			return &k->vips[i];
	}
	return NULL;
}

/* --- what nobody goes on with --- */

/*
 * Looks for what bears vipd's mark, leaves what the configuration still has, and removes the rest.
 * Called once, as the daemon starts or reloads.
 */

struct sweep {
	struct rtnl *rtnl;
	const struct config *config;
	const struct keep *keep;
	struct rtnl_addr addrs[CONFIG_VIPS_MAX];
	size_t n_addrs;
	struct rtnl_link links[CONFIG_VIPS_MAX];
	bool in_use[CONFIG_VIPS_MAX]; /* of links: by somebody else */
	size_t n_links;
};

/* --- addresses --- */

/* Will a VIP of the configuration go on with it? Not one that belongs on another link by now. */
static bool will_be_adopted(const struct sweep *s, const struct rtnl_addr *a)
{
	const struct keep_vip *kept = keep_find(s->keep, &a->prefix.addr);

	for (size_t i = 0; i < s->config->n_vips && kept != NULL; i++) {
		const struct config_vip *c = &s->config->vips[i];
		const struct rtnl_link *link = rtnl_link_by_name(s->rtnl, c->link);

		if (addr_equal(&c->addr, &a->prefix.addr))
			return kept->ifindex == a->ifindex && link != NULL && link->ifindex == a->ifindex;
	}
	return false;
}

static bool is_ours(const struct sweep *s, const struct rtnl_addr *a)
{
	const struct keep_vip *kept = keep_find(s->keep, &a->prefix.addr);

	if (a->proto != 0)
		return a->proto == FENCE_ADDR_PROTO;
	/* Kernels before 5.18 carry no mark: there a VIP with a lifetime is ours. */
	if (a->valid_s == RTNL_LIFETIME_FOREVER)
		return false;
	for (size_t i = 0; i < s->config->n_vips; i++) {
		if (addr_equal(&a->prefix.addr, &s->config->vips[i].addr))
			return true;
	}
	return kept != NULL && kept->ifindex == a->ifindex;
}

static void addr_cb(const struct rtnl_addr *a, void *userdata)
{
	struct sweep *s = userdata;

	if (s->n_addrs < ARRAY_SIZE(s->addrs) && is_ours(s, a) && !will_be_adopted(s, a))
		s->addrs[s->n_addrs++] = *a;
}

static void remove_addrs(const struct sweep *s)
{
	for (size_t i = 0; i < s->n_addrs; i++) {
		const struct rtnl_addr *a = &s->addrs[i];
		char text[PREFIX_TEXT_MAX];
		int r;

		r = rtnl_addr_del(s->rtnl, a->ifindex, &a->prefix);
		log_info("leftover_swept", "addr=%s ifindex=%d ok=%d", prefix_format(&a->prefix, text),
		         a->ifindex, r == 0);
	}
}

/* --- links --- */

static void link_cb(const struct rtnl_link *link, void *userdata)
{
	struct sweep *s = userdata;

	if (!link->is_dummy || link->group != LEFTOVERS_LINK_GROUP)
		return;
	for (size_t i = 0; i < s->config->n_vips; i++) {
		const struct rtnl_link *wanted = rtnl_link_by_name(s->rtnl, s->config->vips[i].link);

		if (wanted != NULL && wanted->ifindex == link->ifindex)
			return;
	}
	if (s->n_links < ARRAY_SIZE(s->links))
		s->links[s->n_links++] = *link;
}

/* A link that is up has its link-local address from the kernel. Before 5.18 what is no VIP of ours
 * counts as somebody else's. */
static void use_cb(const struct rtnl_addr *a, void *userdata)
{
	struct sweep *s = userdata;
	bool by_kernel = a->prefix.addr.family == AF_INET6 && addr_is_linklocal(&a->prefix.addr);

	for (size_t i = 0; i < s->n_links; i++) {
		if (s->links[i].ifindex == a->ifindex && !by_kernel && !is_ours(s, a))
			s->in_use[i] = true;
	}
}

/* A link goes with all that others have put on it. */
static void remove_links(struct sweep *s)
{
	int r = s->n_links > 0 ? rtnl_addr_list(s->rtnl, use_cb, s) : 0;

	if (r < 0) {
		log_warning_errno(r, "vip_links_not_removed", "reason=\"their addresses are not known\"");
		return;
	}
	for (size_t i = 0; i < s->n_links; i++) {
		if (s->in_use[i]) {
			log_info("vip_link_kept",
			         "ifname=%s reason=\"vipd made it, no VIP needs it any more, but it carries an "
			         "address that is not vipd's\"",
			         s->links[i].name);
			continue;
		}
		r = rtnl_link_del(s->rtnl, s->links[i].ifindex);
		log_info("vip_link_removed", "ifname=%s ok=%d", s->links[i].name, r == 0);
	}
}

void leftovers_sweep(struct rtnl *rtnl, const struct config *config, const struct keep *keep)
{
	struct sweep s = {.rtnl = rtnl, .config = config, .keep = keep};

	(void) rtnl_addr_list(rtnl, addr_cb, &s);
	remove_addrs(&s);
	rtnl_link_list(rtnl, link_cb, &s);
	remove_links(&s);
}
