/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemons answer, the configuration, and what programs of the system print. Nothing of it
 * changes anything. A source that fails, hangs or is not there is noted. Of each only what may be
 * shown is kept (show.h): a row of `commands` says what that is of a program.
 */
#include "cli/support/collect.h"

#include <dirent.h>
#include <errno.h>
#include <ev.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/conf.h"
#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/output.h"
#include "cli/common/client.h"

#define TIMEOUT_US (5 * US_PER_S)
#define LOG_TIMEOUT_US (20 * US_PER_S)
#define BYTES_MAX (8u << 20)
#define LOG_BYTES_MAX (16u << 20)
#define LOG_LINES "--lines=20000"

static void keep(const struct collect *c, const char *path, enum show_kind kind,
                 const char *pattern, const char *text, size_t len)
{
	AUTO(free) char *shown = show_text(kind, pattern, text, len, c->n_hidden);

	stage_add(c->stage, path, shown);
}

/* --- daemons --- */

static const struct node_asked more[] = {
    {"etcdwatch", {"etcd", "members"}, 2},
    {"etcdwatch", {"etcd", "snapshot", "list"}, 3},
    {"etcdwatch", {"etcd", "notify", "status"}, 3},
    {"netconf", {"net", "diff"}, 2},
};

/* "vipd: vip status"; to be freed. */
static char *describe(const struct node_asked *asked)
{
	char *text = xasprintf("%s:", asked->daemon);

	for (size_t i = 0; i < asked->n_words; i++) {
		char *longer = xasprintf("%s %s", text, asked->words[i]);

		free(text);
		text = longer;
	}
	return text;
}

/* "daemons/vipd-vip-status.json"; to be freed. */
static char *file_of(const struct node_asked *asked, const char *end)
{
	AUTO(free) char *text = describe(asked);

	for (char *p = text; *p != '\0'; p++) {
		if (p[0] == ':' && p[1] == ' ')
			memmove(p, p + 1, strlen(p));
		if (*p == ' ')
			*p = '-';
	}
	return xasprintf("daemons/%s.%s", text, end);
}

static const char *reason_of(int r)
{
	switch (r) {
	case -ENOENT:
		return "it does not run here";
	case -ECONNREFUSED:
		return "it does not run";
	case -EACCES:
		return "this user may not ask it: run this as root";
	case -ETIMEDOUT:
		return "no answer in time: it hangs";
	default:
		return strerror(-r);
	}
}

static void keep_reply(const struct collect *c, const struct node_asked *asked,
                       const struct node_reply *reply)
{
	AUTO(free) char *what = describe(asked);
	AUTO(free) char *path = NULL, *lines = NULL;
	const char *metrics;
	json_t *object;
	size_t i, len;
	FILE *out;

	if (reply->answer == NULL) {
		stage_note(c->stage, "%s: %s", what, reason_of(reply->r));
		return;
	}
	if (reply->answer->error != NULL)
		stage_note(c->stage, "%s: %s", what, reply->answer->sentence);
	metrics =
	    json_string_value(json_object_get(json_array_get(reply->answer->objects, 0), "metrics"));
	path = file_of(asked, metrics != NULL ? "prom" : "json");
	if (metrics != NULL) {
		keep(c, path, SHOW_METRICS, NULL, metrics, strlen(metrics));
		return;
	}
	out = xmemstream_open(&lines, &len);
	json_array_foreach(reply->answer->objects, i,
	                   object)(void)(json_dumpf(object, out, JSON_COMPACT), fputc('\n', out));
	xmemstream_close(out);
	if (len > 0)
		stage_add(c->stage, path, lines);
}

/* From here on nobody sees more of it than may be shown; but for the page of metrics, which is taken
 * apart when it is kept. */
static void show_reply(const struct collect *c, const struct node_reply *reply)
{
	struct client_answer *answer = reply->answer;
	json_t *shown;
	char *sentence;

	if (answer != NULL && answer->sentence != NULL) {
		sentence = show_sentence(answer->sentence, c->n_hidden);
		free(answer->sentence);
		answer->sentence = sentence;
	}
	if (answer == NULL || json_object_get(json_array_get(answer->objects, 0), "metrics") != NULL)
		return;
	shown = show_answer(answer->objects, c->n_hidden);
	json_decref(answer->objects);
	answer->objects = shown;
}

static void done_cb(int r, struct client_answer *answer, void *userdata)
{
	*(struct node_reply *) userdata = (struct node_reply){.r = r, .answer = answer};
}

/* Whether the daemon has answered anything so far. */
static bool is_silent(const char *daemon, const struct node_reply replies[static NODE_QUESTIONS])
{
	for (size_t i = 0; i < NODE_QUESTIONS; i++) {
		if (replies[i].r < 0 && strcmp(node_questions[i].daemon, daemon) == 0)
			return true;
	}
	return false;
}

void collect_daemons(const struct collect *c, struct node_reply replies[static NODE_QUESTIONS])
{
	struct node_reply others[ARRAY_SIZE(more)] = {0};
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);

	if (c->progress != NULL)
		c->progress("the daemons' status and metrics");
	node_ask(c->runtime_dir, TIMEOUT_US, replies);
	for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
		AUTO(free) char *path = xasprintf("%s/%s.sock", c->runtime_dir, more[i].daemon);

		if (!is_silent(more[i].daemon, replies))
			(void) query_start(loop, path, more[i].words, more[i].n_words, TIMEOUT_US, done_cb,
			                   &others[i]);
	}
	(void) ev_run(loop, 0);
	ev_loop_destroy(loop);
	for (size_t i = 0; i < NODE_QUESTIONS; i++) {
		show_reply(c, &replies[i]);
		keep_reply(c, &node_questions[i], &replies[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
		show_reply(c, &others[i]);
		if (!is_silent(more[i].daemon, replies))
			keep_reply(c, &more[i], &others[i]);
		client_answer_free(others[i].answer);
	}
}

/* --- the configuration --- */

static int select_yaml(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot != NULL && dot != entry->d_name && strcmp(dot, ".yaml") == 0;
}

static void add_path(const char *path, bool may_be_missing, struct texts *files)
{
	struct dirent **entries = NULL;
	struct stat st;
	int n;

	errno = 0;
	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)) {
		if (!may_be_missing || errno != ENOENT)
			texts_add(files, "%s", path);
		return;
	}
	n = scandir(path, &entries, select_yaml, alphasort);
	for (int i = 0; i < n; i++) {
		if (files->n < CONF_FILES_MAX)
			texts_add(files, "%s/%s", path, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
}

void collect_find_config(const struct texts *paths, struct texts *ret_files)
{
	static const char *const defaults[] = {CONF_DEFAULT_FILE, CONF_DEFAULT_DIRECTORY};

	for (size_t i = 0; i < paths->n; i++)
		add_path(paths->items[i], false, ret_files);
	for (size_t i = 0; i < ARRAY_SIZE(defaults) && paths->n == 0; i++)
		add_path(defaults[i], true, ret_files);
}

void collect_config(const struct collect *c, const struct texts *files)
{
	for (size_t i = 0; i < files->n; i++) {
		AUTO(free)
		char *name = xasprintf("config/%s", files->items[i] + (files->items[i][0] == '/' ? 1 : 0));
		AUTO(free) char *text = NULL;
		size_t len;
		int r;

		if (strstr(name, "..") != NULL)
			continue;
		r = file_read(files->items[i], CONF_FILE_BYTES_MAX, &text, &len);
		if (r < 0)
			stage_note(c->stage, "%s: %s", files->items[i], strerror(-r));
		else
			keep(c, name, SHOW_CONFIG, NULL, text, len);
	}
}

/* --- programs --- */

/* Words that a pattern lets a program fill in. */
#define NAME "[A-Za-z0-9._@:+-]+"
#define PATH "[A-Za-z0-9._@:+/-]*"
#define PLAIN "[][A-Za-z0-9 ._@:+/,()%#~!-]*"
#define UNITS                                                                                    \
	"^[ *●]*[A-Za-z0-9@._:-]+ +(loaded|not-found|masked|error|bad-setting) +[a-z-]+ +[a-z-]+ " \
	"*" PLAIN "$"

/* `lines`: what a line has to be; NULL: it prints JSON. */
static const struct {
	const char *path, *lines;
	const char *words[12];
} commands[] = {
    {"network/address.json", NULL, {"ip", "-json", "-details", "address"}},
    {"network/link.json", NULL, {"ip", "-json", "-details", "-statistics", "link"}},
    {"network/route.json", NULL, {"ip", "-json", "route", "show", "table", "all"}},
    {"network/route6.json", NULL, {"ip", "-6", "-json", "route", "show", "table", "all"}},
    {"network/rule.json", NULL, {"ip", "-json", "rule"}},
    {"network/rule6.json", NULL, {"ip", "-6", "-json", "rule"}},
    {"network/neighbour.json", NULL, {"ip", "-json", "-statistics", "neighbour"}},
    {"network/bridge-link.json", NULL, {"bridge", "-json", "link"}},
    {"network/bridge-vlan.json", NULL, {"bridge", "-json", "vlan"}},
    {"network/bridge-fdb.json", NULL, {"bridge", "-json", "fdb"}},
    /* Only names of links are quoted, and no rule has a comment. */
    {"network/nftables.txt",
     "^[ \t]*(table|chain|set|map|type|typeof|flags|elements|timeout|gc-interval|size|hook|policy|"
     "ip6?|icmp(v6|x)?|arp|ether|tcp|udp|th|meta|ct|fib|[io]if(name)?|counter|drop|accept|return|"
     "jump|goto|reject|limit|mark|masquerade|[sd]nat|numgen|[0-9a-f.:/]+|[{}])?"
     "([][A-Za-z0-9 \t.:/_,{}!=<>&|@*+;%#()-]|(name|[io]if) (\\{ )?(\"[A-Za-z0-9._@*-]{1,15}\"(, "
     ")?)+)*$",
     {"nft", "list", "ruleset"}},
    {"network/sockets.txt",
     "^(Netid +State|(tcp|udp) +(LISTEN|UNCONN) +[0-9]+ +[0-9]+ )"
     "[][A-Za-z0-9 .:*%_-]*$",
     {"ss", "--listening", "--tcp", "--udp", "--numeric"}},
    {"network/bonds.txt",
     "^==> " PATH " <==$|^[ \t]*[A-Z][A-Za-z0-9 ()/-]*: *" PLAIN "$|^802\\.3ad info$",
     {"sh", "-c", "tail -n +1 /proc/net/bonding/* 2>&1"}},
    {"network/ethtool.txt",
     "^(Settings for " NAME "|NIC statistics):$|^[ \t]+[A-Z][A-Za-z -]*: *" PLAIN "$|"
     "^[ \t]+[A-Za-z0-9_.() -]+: *[0-9]+$|^[ \t]+[0-9]+base[A-Za-z0-9/ ]*$",
     {"sh", "-c",
      "for link in /sys/class/net/*; do if [ -e \"$link/device\" ]; then "
      "ethtool \"${link##*/}\"; ethtool -S \"${link##*/}\" | grep -v ': 0$'; fi; done 2>&1"}},
    {"network/sysctl.txt",
     "^net\\.ipv[46]\\.[A-Za-z0-9._/@:-]+ = -?[0-9]+$",
     {"sysctl", "net.ipv4.conf", "net.ipv6.conf", "net.ipv4.ip_forward"}},
    {"system/kernel.txt", "^Linux " PLAIN "$", {"uname", "-a"}},
    {"system/os-release.txt",
     "^(PRETTY_)?(NAME|ID|ID_LIKE|VERSION|VERSION_ID|VERSION_CODENAME)=\"?" PLAIN "\"?$",
     {"cat", "/etc/os-release"}},
    {"system/time.txt",
     "^[A-Z][a-z]{2} [A-Z][a-z]{2} +[0-9]+ [0-9: APM]+ [A-Z0-9+-]+ [0-9]{4}$|"
     "^ *[0-9:]+ up [0-9a-z:, ]+ load average: [0-9., ]+$|"
     "^ *((Local|Universal|RTC|System|Ref) time( \\(UTC\\))?|Time zone|System clock synchronized|"
     "NTP service|RTC in local TZ|Reference ID|Stratum|(Last|RMS) offset|(Residual f|F)req(uency)?|"
     "Skew|Root (delay|dispersion)|Update interval|Leap status) *: " PLAIN "$",
     {"sh", "-c", "date -u; date; uptime; timedatectl; chronyc tracking"}},
    {"system/disks.txt",
     "^Filesystem +Size +Used +Avail +Use% +Mounted on$|^" PATH
     "( +[0-9.]+[KMGTP]?){3} +[0-9]+% " PATH "$",
     {"df", "-h", "-x", "tmpfs", "-x", "overlay", "-x", "squashfs"}},
    {"system/memory.txt",
     "^[A-Za-z0-9_()]+: +[0-9]+( kB)?$|^(some|full)( (avg[0-9]+|total)=[0-9.]+)+$",
     {"cat", "/proc/meminfo", "/proc/pressure/io", "/proc/pressure/cpu"}},
    {"system/packages.txt",
     "^[a-z]{2}[A-Z]? +[a-z0-9:+.-]+ +[A-Za-z0-9:+.~<>-]+ +[a-z0-9<>]+ +" PLAIN "$",
     {"dpkg-query", "--list", "fairlead", "etcd*", "iproute2", "kube*"}},
    {"system/files.txt",
     "^total [0-9]+$|^/" PATH ":$|^[bcdlps-][rwxstST-]{9}[.+]? +[0-9]+ " NAME " +" NAME
     " +[0-9]+ [A-Z][a-z]{2} +[0-9]+ +[0-9:]+ " NAME "( -> " PATH ")?$",
     {"ls", "-lAR", "/etc/fairlead", "/run/fairlead", "/var/lib/fairlead"}},
    {"system/units.txt",
     UNITS,
     {"systemctl", "--no-pager", "--all", "list-units", "fairlead*", "kubelet*", "etcd*",
      "containerd*"}},
    {"system/units-detail.txt",
     "^[A-Za-z]+=" PLAIN "$",
     {"systemctl", "show", "fairlead-*",
      "--property=Id,ActiveState,SubState,Result,NRestarts,ExecMainStatus,MemoryCurrent,"
      "MemoryPeak,CPUUsageNSec,ActiveEnterTimestamp,DropInPaths,UnitFileState"}},
};

static const char *const units[] = {
    "fairlead-vipd",         "fairlead-prism",        "fairlead-etcdwatch", "fairlead-netconf",
    "fairlead-netconf-boot", "fairlead-netconf-late", "fairlead-vipd-sleep"};

static void run(const struct collect *c, const char *path, const char *const *words,
                enum show_kind kind, const char *lines)
{
	bool is_log = kind == SHOW_LOG;
	int64_t timeout_us = is_log ? LOG_TIMEOUT_US : TIMEOUT_US;
	struct output output;
	int r;

	if (c->is_stopped())
		return;
	if (c->progress != NULL)
		c->progress(path);
	r = output_run(words, timeout_us, is_log ? LOG_BYTES_MAX : BYTES_MAX, &output);
	if (r == -ENOENT)
		stage_note(c->stage, "%s: '%s' is not installed", path, words[0]);
	else if (r == -ETIMEDOUT)
		stage_note(c->stage, "%s: '%s' did not end within %lld s", path, words[0],
		           (long long) (timeout_us / US_PER_S));
	else if (r < 0)
		stage_note(c->stage, "%s: '%s': %s", path, words[0], strerror(-r));
	else if (output.exit_code != 0)
		stage_note(c->stage, "%s: '%s' failed (%d)", path, words[0], output.exit_code);
	if (output.is_cut)
		stage_note(c->stage, "%s: there was more", path);
	if (output.len > 0)
		keep(c, path, kind, lines, output.text, output.len);
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

		run(c, path, words, SHOW_LOG, NULL);
	}
	run(c, "logs/kernel.log", kernel, SHOW_LOG, NULL);
}

void collect_commands(const struct collect *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		run(c, commands[i].path, commands[i].words,
		    commands[i].lines != NULL ? SHOW_LINES : SHOW_KERNEL, commands[i].lines);
	if (c->with_logs)
		collect_logs(c);
	else
		stage_note(c->stage, "logs: not asked for (--no-logs)");
}

char *collect_units(size_t *n_hidden)
{
	static const char *const words[] = {"systemctl", "--no-pager", "--no-legend", "--plain",
	                                    "--all",     "list-units", "fairlead*",   NULL};
	struct output output;
	char *shown = NULL;

	if (output_run(words, TIMEOUT_US, BYTES_MAX, &output) == 0 && output.exit_code == 0)
		shown = show_text(SHOW_LINES, UNITS, output.text, output.len, n_hidden);
	output_fini(&output);
	return shown;
}
