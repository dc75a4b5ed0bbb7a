/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One table of what is asked of the system, and of units' logs. Nothing of it changes anything; a
 * program that is not installed is noted, and so is one that fails or hangs.
 */
#include "cli/support/collect.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/output.h"

#define TIMEOUT_US (5 * US_PER_S)
#define LOG_TIMEOUT_US (20 * US_PER_S)
#define BYTES_MAX (8u << 20)
#define LOG_LINES "--lines=20000"

static const struct {
	const char *path;
	const char *words[12];
} commands[] = {
    {"network/address.json", {"ip", "-json", "-details", "address"}},
    {"network/link.json", {"ip", "-json", "-details", "-statistics", "link"}},
    {"network/route.json", {"ip", "-json", "route", "show", "table", "all"}},
    {"network/route6.json", {"ip", "-6", "-json", "route", "show", "table", "all"}},
    {"network/rule.json", {"ip", "-json", "rule"}},
    {"network/rule6.json", {"ip", "-6", "-json", "rule"}},
    {"network/neighbour.json", {"ip", "-json", "-statistics", "neighbour"}},
    {"network/bridge-link.json", {"bridge", "-json", "link"}},
    {"network/bridge-vlan.json", {"bridge", "-json", "vlan"}},
    {"network/bridge-fdb.json", {"bridge", "-json", "fdb"}},
    {"network/nftables.txt", {"nft", "list", "ruleset"}},
    {"network/sockets.txt", {"ss", "--listening", "--tcp", "--udp", "--numeric"}},
    {"network/bonds.txt", {"sh", "-c", "tail -n +1 /proc/net/bonding/* 2>&1"}},
    {"network/ethtool.txt",
     {"sh", "-c",
      "for link in /sys/class/net/*; do if [ -e \"$link/device\" ]; then "
      "ethtool \"${link##*/}\"; ethtool -S \"${link##*/}\" | grep -v ': 0$'; fi; done 2>&1"}},
    {"network/sysctl.txt", {"sysctl", "net.ipv4.conf", "net.ipv6.conf", "net.ipv4.ip_forward"}},
    {"system/kernel.txt", {"uname", "-a"}},
    {"system/os-release.txt", {"cat", "/etc/os-release"}},
    {"system/time.txt", {"sh", "-c", "date -u; date; uptime; timedatectl; chronyc tracking"}},
    {"system/disks.txt", {"df", "-h", "-x", "tmpfs", "-x", "overlay", "-x", "squashfs"}},
    {"system/memory.txt", {"cat", "/proc/meminfo", "/proc/pressure/io", "/proc/pressure/cpu"}},
    {"system/packages.txt", {"dpkg-query", "--list", "fairlead", "etcd*", "iproute2", "kube*"}},
    {"system/files.txt", {"ls", "-lAR", "/etc/fairlead", "/run/fairlead", "/var/lib/fairlead"}},
    {"system/units.txt",
     {"systemctl", "--no-pager", "--all", "list-units", "fairlead*", "kubelet*", "etcd*",
      "containerd*"}},
    {"system/units-detail.txt",
     {"systemctl", "show", "fairlead-*",
      "--property=Id,ActiveState,SubState,Result,NRestarts,ExecMainStatus,MemoryCurrent,"
      "MemoryPeak,CPUUsageNSec,ActiveEnterTimestamp,DropInPaths,UnitFileState"}},
};

static const char *const units[] = {
    "fairlead-vipd",         "fairlead-prism",        "fairlead-etcdwatch", "fairlead-netconf",
    "fairlead-netconf-boot", "fairlead-netconf-late", "fairlead-vipd-sleep"};

/* Of a text: what failed says why there. */
static int first_line(const char *text)
{
	return (int) strcspn(text, "\n");
}

static void run(const struct collect *c, const char *path, const char *const *words,
                int64_t timeout_us, size_t max_bytes)
{
	struct output output;
	int r;

	if (c->is_stopped())
		return;
	if (c->progress != NULL)
		c->progress(path);
	r = output_run(words, timeout_us, max_bytes, &output);
	if (r == -ENOENT)
		stage_note(c->stage, "%s: '%s' is not installed", path, words[0]);
	else if (r == -ETIMEDOUT)
		stage_note(c->stage, "%s: '%s' did not end within %lld s", path, words[0],
		           (long long) (timeout_us / US_PER_S));
	else if (r < 0)
		stage_note(c->stage, "%s: '%s': %s", path, words[0], strerror(-r));
	else if (output.exit_code != 0)
		stage_note(c->stage, "%s: '%s' failed (%d): %.*s", path, words[0], output.exit_code,
		           first_line(output.text), output.text);
	if (output.is_cut)
		stage_note(c->stage, "%s: there was more", path);
	if (output.len > 0)
		stage_add(c->stage, path, output.text, output.len, BLANK_PLAIN);
	output_fini(&output);
}

static void collect_logs(const struct collect *c)
{
	AUTO(free) char *since = xasprintf("--since=%s", c->since);
	const char *const kernel[] = {
	    "journalctl", "--no-pager",         "--quiet", "--output=short-iso-precise",
	    "--dmesg",    "--priority=warning", LOG_LINES, since,
	    NULL};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		AUTO(free) char *path = xasprintf("logs/%s.log", units[i]);
		AUTO(free) char *unit = xasprintf("--unit=%s", units[i]);
		const char *const words[] = {
		    "journalctl", "--no-pager", "--quiet", "--output=short-iso-precise",
		    LOG_LINES,    since,        unit,      NULL};

		run(c, path, words, LOG_TIMEOUT_US, STAGE_FILE_BYTES_MAX);
	}
	run(c, "logs/kernel.log", kernel, LOG_TIMEOUT_US, BYTES_MAX);
}

void collect_commands(const struct collect *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		run(c, commands[i].path, commands[i].words, TIMEOUT_US, BYTES_MAX);
	if (c->with_logs)
		collect_logs(c);
	else
		stage_note(c->stage, "logs: not asked for (--no-logs)");
}
