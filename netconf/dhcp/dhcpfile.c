/* SPDX-License-Identifier: Apache-2.0 */
/* Names and small files. A process is known by its number and its start together. */
#include "netconf/dhcp/dhcpfile.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"

#define LEASE_BYTES_MAX 65536

#define LEASE_OF_OTHERS "lease-"
#define HASH_FIRST 2166136261U /* FNV-1a */
#define HASH_FACTOR 16777619U

static const char *const suffixes[] = {"conf", "lease", "pid", "down"};

char *dhcpfile_path(const char *runtime_dir, const char *link, sa_family_t family,
                    const char *suffix)
{
	return xasprintf("%s/dhcp%d-%s.%s", runtime_dir, family == AF_INET ? 4 : 6, link, suffix);
}

char *dhcpfile_lease_path(const char *runtime_dir, const char *link, const struct config_dhcp *dhcp)
{
	uint32_t hash = HASH_FIRST;
	char suffix[32];

	if (dhcp->client_id == CONFIG_CLIENT_ID_MAC)
		return dhcpfile_path(runtime_dir, link, dhcp->family, "lease");
	for (const char *c = dhcp->duid; dhcp->client_id == CONFIG_CLIENT_ID_DUID && *c != '\0'; c++)
		hash = (hash ^ (uint8_t) *c) * HASH_FACTOR;
	(void) snprintf(suffix, sizeof(suffix), LEASE_OF_OTHERS "%08" PRIx32, hash);
	return dhcpfile_path(runtime_dir, link, dhcp->family, suffix);
}

static bool is_lease(const char *suffix)
{
	return strcmp(suffix, "lease") == 0 ||
	       strncmp(suffix, LEASE_OF_OTHERS, sizeof(LEASE_OF_OTHERS) - 1) == 0;
}

/* A link's name may have dots of its own. */
bool dhcpfile_parse(const char *name, char ret_link[static IFNAMSIZ], sa_family_t *ret_family)
{
	const char *dot = strrchr(name, '.');
	bool v4 = strncmp(name, "dhcp4-", 6) == 0;
	size_t len;

	if ((!v4 && strncmp(name, "dhcp6-", 6) != 0) || dot == NULL || dot <= name + 6)
		return false;
	len = (size_t) (dot - name) - 6;
	if (len >= IFNAMSIZ)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		if (strcmp(dot + 1, suffixes[i]) != 0 && !is_lease(dot + 1))
			continue;
		(void) snprintf(ret_link, IFNAMSIZ, "%.*s", (int) len, name + 6);
		*ret_family = v4 ? AF_INET : AF_INET6;
		return true;
	}
	return false;
}

int dhcpfile_read_lease(const char *path, sa_family_t family, int64_t now_us,
                        struct lease *ret_lease)
{
	AUTO(free) char *text = NULL;
	struct lease lease;
	size_t len;
	int r;

	r = file_read(path, LEASE_BYTES_MAX, &text, &len);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	r = lease_read(text, len, family, &lease);
	if (r < 0)
		return r;
	if (r != LEASE_TAKEN)
		return 0;
	if (lease.ends_us <= now_us) {
		lease_fini(&lease);
		return 0;
	}
	*ret_lease = lease;
	return 1;
}

/* --- processes --- */

/* proc(5): a process's stat, and its fields from the third on; the name, which is the second, may
 * have anything in it. 0: there is no such process. */
#define STAT_GROUP 5
#define STAT_START 22

static uint64_t field_of(const char *stat, int wanted)
{
	const char *at = strrchr(stat, ')');

	for (int field = 2; at != NULL && field < wanted; field++)
		at = strchr(at + 1, ' ');
	return at != NULL ? strtoull(at, NULL, 10) : 0;
}

static char *stat_of(const char *pid)
{
	AUTO(free) char *path = xasprintf("/proc/%s/stat", pid);
	char *text = NULL;
	size_t len;

	return file_read(path, 4096, &text, &len) == 0 ? text : NULL;
}

/* In clock ticks since the boot. */
static uint64_t start_of(pid_t pid)
{
	AUTO(free) char *number = xasprintf("%d", (int) pid);
	AUTO(free) char *stat = stat_of(number);

	return stat != NULL ? field_of(stat, STAT_START) : 0;
}

/* Whether there are clients' helpers of this group, which have outlived its head. */
static bool has_helpers(pid_t group)
{
	DIR *dir = opendir("/proc");
	const struct dirent *process;
	bool found = false;

	while (dir != NULL && !found && (process = readdir(dir)) != NULL) {
		AUTO(free) char *stat = NULL;

		if (!isdigit((unsigned char) process->d_name[0]))
			continue;
		stat = stat_of(process->d_name);
		found = stat != NULL && strstr(stat, "(dhcpcd)") != NULL &&
		        field_of(stat, STAT_GROUP) == (uint64_t) group;
	}
	if (dir != NULL)
		(void) closedir(dir);
	return found;
}

int dhcpfile_write_pid(const char *runtime_dir, const char *link, sa_family_t family, pid_t pid)
{
	AUTO(free) char *path = dhcpfile_path(runtime_dir, link, family, "pid");
	AUTO(free) char *text = xasprintf("%d %" PRIu64 "\n", (int) pid, start_of(pid));

	return file_write_atomic(path, text, strlen(text), 0600, FILE_VOLATILE);
}

bool dhcpfile_end_left(const char *runtime_dir, const char *link, sa_family_t family)
{
	AUTO(free) char *path = dhcpfile_path(runtime_dir, link, family, "pid");
	AUTO(free) char *text = NULL;
	unsigned long long start;
	uint64_t now;
	size_t len;
	int pid;

	if (file_read(path, 64, &text, &len) < 0 || sscanf(text, "%d %llu", &pid, &start) != 2 ||
	    pid <= 0 || start == 0)
		return false;
	(void) unlink(path);
	/* Its number is its group's too, which nobody else can have while one of them is there. */
	now = start_of(pid);
	if (now == start || (now == 0 && has_helpers(pid)))
		return kill(-pid, SIGKILL) == 0;
	return false;
}

void dhcpfile_remove_other_leases(const char *runtime_dir, const char *link, sa_family_t family,
                                  const char *path)
{
	DIR *dir = opendir(runtime_dir);
	const struct dirent *file;

	while (dir != NULL && (file = readdir(dir)) != NULL) {
		AUTO(free) char *other = xasprintf("%s/%s", runtime_dir, file->d_name);
		char its_link[IFNAMSIZ];
		sa_family_t its_family;

		if (dhcpfile_parse(file->d_name, its_link, &its_family) && strcmp(its_link, link) == 0 &&
		    its_family == family && is_lease(strrchr(file->d_name, '.') + 1) &&
		    strcmp(other, path) != 0)
			(void) unlink(other);
	}
	if (dir != NULL)
		(void) closedir(dir);
}

void dhcpfile_remove(const char *runtime_dir, const char *link, sa_family_t family)
{
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		AUTO(free) char *path = dhcpfile_path(runtime_dir, link, family, suffixes[i]);

		(void) unlink(path);
	}
	dhcpfile_remove_other_leases(runtime_dir, link, family, "");
}

/* --- the configuration of one dhcpcd --- */

/*
 * dhcpcd gets leases and does nothing else here: `noconfigure` keeps its hands off the system, and
 * what it knows goes to the hook. Without `persistent` it takes an address away, when it ends, that
 * was there already when it began.
 */

/* RFC 2132, section 9.14: the hardware's type, and its address. RFC 8415, section 11.4: DUID-LL. */
static const char mac_id_prefix[] = "01";
static const char mac_duid_prefix[] = "00:03:00:01";

static void put_id(FILE *out, const struct dhcpconf *conf)
{
	bool v4 = conf->dhcp->family == AF_INET;
	char mac[MAC_TEXT_MAX];

	switch (conf->dhcp->client_id) {
	case CONFIG_CLIENT_ID_NONE:
		break; /* dhcpcd's own choice: for IPv4 no identifier */
	case CONFIG_CLIENT_ID_MAC:
		(void) fprintf(out, "%s %s:%s\n", v4 ? "clientid" : "duid",
		               v4 ? mac_id_prefix : mac_duid_prefix, mac_format(&conf->mac, mac));
		break;
	case CONFIG_CLIENT_ID_DUID:
		(void) fprintf(out, "%s %s\n", v4 ? "clientid" : "duid", conf->dhcp->duid);
		break;
	}
}

char *dhcpconf_text(const struct dhcpconf *conf)
{
	bool v4 = conf->dhcp->family == AF_INET;
	char *text = NULL;
	size_t size;
	FILE *out = xmemstream_open(&text, &size);
	(void) fprintf(out,
	               "# fairlead wrote this file (netconf); changes are lost.\n"
	               "noconfigure\n"
	               "persistent\n"
	               "script %s\n"
	               "env fairlead_lease=%s\n"
	               "timeout 0\n"
	               "hostname\n",
	               conf->hook, conf->lease);
	if (v4) {
		(void) fputs("noipv4ll\n"
		             "require dhcp_server_identifier\n"
		             "option classless_static_routes, routers\n"
		             "option domain_name_servers, domain_name, domain_search\n",
		             out);
		if (!conf->dhcp->ignore_hostname)
			(void) fputs("option host_name\n", out);
	} else {
		(void) fprintf(out, "env fairlead_down=%s\n", conf->down);
		/* Routers and their announcements are the kernel's. */
		(void) fputs("noipv6rs\n"
		             "ia_na\n"
		             "option dhcp6_name_servers, dhcp6_domain_search\n",
		             out);
	}
	put_id(out, conf);
	xmemstream_close(out);
	return text;
}
