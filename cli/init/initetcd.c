/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One table of the options that matter, and a reader for each place where they may stand. Places
 * are read from what runs to what would run at the next start.
 */
#include "cli/init/initfacts.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "cli/init/initfiles.h"

#define COMMAND_LINE_MAX (128 << 10)
#define OPTION_MAX 64

static const char *const options[INITETCD_N_OPTIONS] = {
    [INITETCD_DATA_DIR] = "data-dir",  [INITETCD_LISTEN] = "listen-client-urls",
    [INITETCD_CERT] = "cert-file",     [INITETCD_KEY] = "key-file",
    [INITETCD_CA] = "trusted-ca-file", [INITETCD_CLUSTER] = "initial-cluster",
};

void initetcd_fini(struct initetcd *etcd)
{
	for (size_t i = 0; i < ARRAY_SIZE(etcd->values); i++)
		free(etcd->values[i]);
	*etcd = (struct initetcd){0};
}

static void take(struct initetcd *etcd, const char *option, const char *value, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		if (strcmp(options[i], option) == 0 && etcd->values[i] == NULL && len > 0)
			etcd->values[i] = xstrndup(value, len);
	}
}

/* --- words --- */

void initetcd_take_words(struct initetcd *etcd, const struct texts *words)
{
	for (size_t i = 0; i < words->n; i++) {
		const char *word = words->items[i];
		const char *equals = strchr(word, '=');
		char option[OPTION_MAX];

		if (word[0] != '-')
			continue;
		word += strspn(word, "-");
		(void) snprintf(option, sizeof(option), "%.*s",
		                (int) (equals != NULL ? equals - word : (ptrdiff_t) strlen(word)), word);
		if (equals != NULL)
			take(etcd, option, equals + 1, strlen(equals + 1));
		else if (i + 1 < words->n)
			take(etcd, option, words->items[i + 1], strlen(words->items[i + 1]));
	}
}

void initetcd_pod_words(const struct conf_node *pod, struct texts *ret_words)
{
	static const char *const keys[] = {"command", "args"};

	for (size_t k = 0; k < ARRAY_SIZE(keys); k++) {
		const struct conf_node *list =
		    initfiles_find(pod, "spec", "containers", "0", keys[k], NULL);

		for (size_t i = 0; list != NULL && list->shape == CONF_LIST && i < list->n; i++) {
			if (list->values[i]->shape == CONF_SCALAR)
				texts_add(ret_words, "%s", list->values[i]->text);
		}
	}
}

void initetcd_take_pod(struct initetcd *etcd, const struct conf_node *pod)
{
	struct texts words = {0};

	initetcd_pod_words(pod, &words);
	initetcd_take_words(etcd, &words);
	texts_fini(&words);
}

/* --- its process --- */

/* The real user, whom a set-uid program does not change: its name and its arguments are those of
 * who started it. The kernel escapes what is in front of that line. */
static bool find_user(const char *root, const char *pid, unsigned long *ret_uid)
{
	static const char begin[] = "\nUid:\t";
	AUTO(free) char *path = xasprintf("/proc/%s/status", pid);
	AUTO(free) char *text = initfiles_text(root, path);
	const char *line = text != NULL ? strstr(text, begin) : NULL;

	if (line == NULL || !isdigit((unsigned char) line[strlen(begin)]))
		return false;
	*ret_uid = strtoul(line + strlen(begin), NULL, 10);
	return true;
}

/* Of a set-uid program the real user tells nothing: sudo makes it root before it asks for the
 * password. To be asked when that is known: what has come to be root in this way may run another
 * program afterwards, and is root. Root that may not look (in a container) believes nobody;
 * somebody else, who may not either, goes by the user alone, and writes down nothing that root has
 * not read. */
static bool is_set_uid(const char *root, const char *pid)
{
	AUTO(free) char *path = xasprintf("/proc/%s/exe", pid);
	AUTO(free) char *at = initfiles_at(root, path);
	struct stat st;

	if (stat(at, &st) < 0)
		return errno != EACCES || geteuid() == 0;
	return (st.st_mode & S_ISUID) != 0;
}

/* Whether root has started it, or etcd's own user. Anybody may have a process of this name, and
 * what stands in its command line is what root is going to trust. */
static bool is_trusted(const char *root, const char *pid)
{
	const struct passwd *etcd = getpwnam("etcd");
	unsigned long uid;

	return find_user(root, pid, &uid) && (uid == 0 || (etcd != NULL && uid == etcd->pw_uid)) &&
	       !is_set_uid(root, pid);
}

static bool take_process(struct initetcd *etcd, const char *root, const char *pid, bool *ret_runs)
{
	AUTO(free) char *comm_path = xasprintf("/proc/%s/comm", pid);
	AUTO(free) char *line_path = xasprintf("/proc/%s/cmdline", pid);
	AUTO(free) char *at = initfiles_at(root, line_path);
	AUTO(free) char *comm = initfiles_text(root, comm_path);
	AUTO(free) char *line = NULL;
	struct texts words = {0};
	size_t len;

	if (comm == NULL || strcmp(comm, "etcd\n") != 0)
		return false;
	*ret_runs = true;
	if (!is_trusted(root, pid) || file_read(at, COMMAND_LINE_MAX, &line, &len) < 0)
		return false;
	for (const char *p = line; p < line + len; p += strlen(p) + 1)
		texts_add(&words, "%s", p);
	initetcd_take_words(etcd, &words);
	texts_fini(&words);
	return true;
}

/* Whether there is one whose words are taken; ret_runs: whether there is any. */
static bool take_processes(struct initetcd *etcd, const char *root, bool *ret_runs)
{
	AUTO(free) char *at = initfiles_at(root, "/proc");
	DIR *dir = opendir(at);
	struct dirent *entry;
	bool found = false;

	while (dir != NULL && !found && (entry = readdir(dir)) != NULL) {
		if (isdigit((unsigned char) entry->d_name[0]))
			found = take_process(etcd, root, entry->d_name, ret_runs);
	}
	if (dir != NULL)
		(void) closedir(dir);
	return found;
}

/* --- files --- */

/* ETCD_CERT_FILE="/x" is the option cert-file. */
static void take_environment_line(struct initetcd *etcd, const char *line, size_t len)
{
	const char *equals = memchr(line, '=', len);
	char option[OPTION_MAX];
	const char *value;
	size_t i, value_len;

	while (len > 0 && isspace((unsigned char) line[len - 1]))
		len--;
	if (equals == NULL || strncmp(line, "ETCD_", 5) != 0 ||
	    (size_t) (equals - line) >= sizeof(option) || equals >= line + len)
		return;
	for (i = 5; line + i < equals; i++)
		option[i - 5] = line[i] == '_' ? '-' : (char) tolower((unsigned char) line[i]);
	option[i - 5] = '\0';
	value = equals + 1;
	value_len = (size_t) (line + len - value);
	if (value_len >= 2 && (value[0] == '"' || value[0] == '\'') &&
	    value[value_len - 1] == value[0]) {
		value++;
		value_len -= 2;
	}
	take(etcd, option, value, value_len);
}

static bool take_environment_file(struct initetcd *etcd, const char *root, const char *path)
{
	AUTO(free) char *text = initfiles_text(root, path);

	for (const char *p = text; p != NULL && *p != '\0';) {
		size_t len = strcspn(p, "\n");

		take_environment_line(etcd, p + strspn(p, " \t"), len - MIN(len, strspn(p, " \t")));
		p += len + (p[len] == '\n' ? 1 : 0);
	}
	return text != NULL;
}

/* The arguments in ExecStart=, which may go on in further lines. */
static bool take_unit(struct initetcd *etcd, const char *root, const char *path)
{
	static const char begin[] = "\nExecStart=";
	AUTO(free) char *text = initfiles_text(root, path);
	char *start = text != NULL ? strstr(text, begin) : NULL;
	struct texts words = {0};
	char *word, *rest;

	if (start == NULL)
		return false;
	start += strlen(begin);
	for (char *end = start; (end = strchr(end, '\n')) != NULL;) {
		if (end == start || end[-1] != '\\') {
			*end = '\0';
			break;
		}
		end[-1] = end[0] = ' ';
	}
	for (word = strtok_r(start, " \t", &rest); word != NULL; word = strtok_r(NULL, " \t", &rest))
		texts_add(&words, "%s", word);
	initetcd_take_words(etcd, &words);
	texts_fini(&words);
	return true;
}

static bool take_yaml(struct initetcd *etcd, const char *root, const char *path)
{
	AUTO(conf_free) struct conf *conf = NULL;
	const struct conf_node *file = initfiles_yaml(root, path, &conf);

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		const struct conf_node *value = initfiles_find(file, options[i], NULL);

		if (value == NULL)
			value = initfiles_find(file, "client-transport-security", options[i], NULL);
		if (value != NULL && value->shape == CONF_SCALAR)
			take(etcd, options[i], value->text, strlen(value->text));
	}
	return file != NULL;
}

bool initetcd_take_service(struct initetcd *etcd, const char *root, const char **ret_stopped)
{
	static const char *const units[] = {"/etc/systemd/system/etcd.service",
	                                    "/usr/lib/systemd/system/etcd.service",
	                                    "/lib/systemd/system/etcd.service"};
	static const char *const environments[] = {"/etc/default/etcd", "/etc/etcd.env",
	                                           "/etc/etcd/etcd.conf", "/etc/sysconfig/etcd"};
	static const char *const yamls[] = {"/etc/etcd/etcd.conf.yml", "/etc/etcd/etcd.conf.yaml",
	                                    "/etc/etcd/etcd.yaml", "/etc/etcd/config.yaml"};
	bool runs = false;
	bool found = take_processes(etcd, root, &runs);
	const char *unit = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(units) && unit == NULL; i++)
		unit = take_unit(etcd, root, units[i]) ? units[i] : NULL;
	*ret_stopped = NULL;
	/* A package may be there for its tools alone. An image has no processes. */
	if (!runs && initfiles_exist(root, "/proc/1")) {
		*ret_stopped = unit;
		initetcd_fini(etcd);
		return false;
	}
	found = found || unit != NULL;
	for (size_t i = 0; i < ARRAY_SIZE(environments); i++)
		found = take_environment_file(etcd, root, environments[i]) || found;
	for (size_t i = 0; i < ARRAY_SIZE(yamls); i++)
		found = take_yaml(etcd, root, yamls[i]) || found;
	return found;
}

/* --- what follows --- */

/* One on loopback goes before others: it is there whatever addresses the node has. */
static const char *choose_url(const char *urls)
{
	const char *chosen = urls;

	for (const char *p = urls; *p != '\0'; p += strcspn(p, ",") + (strchr(p, ',') != NULL)) {
		if (strncmp(p, "https://127.", 12) == 0 || strncmp(p, "http://127.", 11) == 0)
			chosen = p;
	}
	return chosen;
}

char *initetcd_endpoint(const struct initetcd *etcd)
{
	static const char *const everywhere[] = {"://0.0.0.0:", "://[::]:", "://localhost:"};
	const char *urls = etcd->values[INITETCD_LISTEN];
	const char *url;
	size_t len;

	if (urls == NULL)
		return xstrdup(etcd->values[INITETCD_CERT] != NULL ? "https://127.0.0.1:2379"
		                                                   : "http://127.0.0.1:2379");
	url = choose_url(urls);
	len = strcspn(url, ", ");
	for (size_t i = 0; i < ARRAY_SIZE(everywhere); i++) {
		const char *host = strstr(url, everywhere[i]);

		if (host == NULL || host >= url + len)
			continue;
		return xasprintf("%.*s://127.0.0.1:%.*s", (int) (host - url), url,
		                 (int) (url + len - host - (ptrdiff_t) strlen(everywhere[i])),
		                 host + strlen(everywhere[i]));
	}
	return xstrndup(url, len);
}

void initetcd_hosts(const struct initetcd *etcd, struct texts *ret_hosts)
{
	const char *list = etcd->values[INITETCD_CLUSTER];

	for (const char *p = list; p != NULL && *p != '\0';) {
		size_t len = strcspn(p, ",");
		const char *host = memmem(p, len, "://", 3);

		if (host != NULL) {
			host += 3;
			texts_add(ret_hosts, "%.*s",
			          (int) (*host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/,")), host);
		}
		p += len + (p[len] == ',' ? 1 : 0);
	}
}
