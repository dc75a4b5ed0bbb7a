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
#include "base/mem.h"

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
