/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a port is taken is asked of bind(2), which changes nothing for anybody. */
#include "etcdwatch/worker/restore/hostfacts.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "base/conf_check.h"
#include "base/endpoint.h"
#include "base/fileio.h"
#include "base/jsonval.h"
#include "base/mem.h"
#include "bolt/dbinfo.h"
#include "etcdwatch/worker/source/prove.h"

#define MANIFEST_BYTES_MAX ((size_t) 1 << 20)
#define HOST_MAX 256
#define READ_TRIES 10
#define API_SERVER "kube-apiserver"
#define COMM_BYTES_MAX ((size_t) 64) /* the kernel gives 15 characters */

/* --- who it is --- */

static void add_address(json_t *array, const struct sockaddr *address)
{
	struct endpoint endpoint;
	char text[ADDR_TEXT_MAX];

	if (address != NULL && endpoint_from_sockaddr(address, &endpoint) == 0 &&
	    !addr_is_loopback(&endpoint.addr) && !addr_is_linklocal(&endpoint.addr))
		(void) json_array_append_new(array, json_string(addr_format(&endpoint.addr, text)));
}

json_t *hostfacts_self(void)
{
	json_t *addresses = json_array();
	struct ifaddrs *list = NULL;
	char host[HOST_MAX] = "";

	if (gethostname(host, sizeof(host) - 1) < 0)
		host[0] = '\0';
	if (getifaddrs(&list) == 0) {
		for (const struct ifaddrs *i = list; i != NULL; i = i->ifa_next)
			add_address(addresses, i->ifa_addr);
		freeifaddrs(list);
	}
	return json_pack("{s:o, s:o}", "host", jsonval_text(host), "addresses", addresses);
}

/* --- peer URLs --- */

/* Not by bind(2), which takes any address where ip_nonlocal_bind is set, as keepalived needs it. */
static bool is_own(const struct sockaddr *where)
{
	struct ifaddrs *list = NULL;
	struct endpoint wanted, own;
	bool found;

	if (endpoint_from_sockaddr(where, &wanted) < 0)
		return false;
	found = addr_is_loopback(&wanted.addr);
	if (getifaddrs(&list) < 0)
		return found;
	for (const struct ifaddrs *i = list; i != NULL && !found; i = i->ifa_next)
		found = i->ifa_addr != NULL && endpoint_from_sockaddr(i->ifa_addr, &own) == 0 &&
		        addr_equal(&own.addr, &wanted.addr);
	freeifaddrs(list);
	return found;
}

/* EADDRINUSE: it is taken. */
static int try_to_bind(const struct addrinfo *where)
{
	AUTO(close) int fd = socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int yes = 1;

	if (fd < 0)
		return -errno;
	/* Connections that have ended stand in nobody's way. */
	(void) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	return bind(fd, where->ai_addr, where->ai_addrlen) < 0 ? -errno : 0;
}

static const char *port_of(const char *url)
{
	const char *colon = strrchr(url, ':');

	return colon != NULL ? colon + 1 : "";
}

static json_t *look_at_peer(const char *url)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	json_t *object = json_pack("{s:o}", "url", jsonval_text(url));
	struct addrinfo *list = NULL;
	bool local = false, listening = false;
	struct conf_url parsed;

	if (conf_parse_url(url, &parsed) != NULL ||
	    getaddrinfo(parsed.host, port_of(url), &hints, &list) != 0)
		return object;
	for (const struct addrinfo *i = list; i != NULL; i = i->ai_next) {
		local |= is_own(i->ai_addr);
		listening |= try_to_bind(i) == -EADDRINUSE;
	}
	freeaddrinfo(list);
	(void) json_object_set_new(object, "local", json_boolean(local));
	(void) json_object_set_new(object, "listening", json_boolean(listening));
	return object;
}

json_t *hostfacts_peers(const char *urls)
{
	json_t *array = json_array();
	AUTO(free) char *copy = xstrdup(urls);
	char *rest = copy, *url;

	while ((url = strsep(&rest, ",")) != NULL)
		(void) json_array_append_new(array, look_at_peer(url));
	return array;
}

/* --- static pods --- */

/* Whether the path is in the text, and not only the beginning of a longer name. */
static bool names_path(const char *text, const char *path)
{
	for (const char *p = strstr(text, path); p != NULL; p = strstr(p + 1, path)) {
		char behind = p[strlen(path)];

		if (!isalnum((unsigned char) behind) && (behind == '\0' || !strchr("-_.", behind)))
			return true;
	}
	return false;
}

json_t *hostfacts_manifests(const char *directory, const char *data_dir)
{
	json_t *array = json_array();
	DIR *stream = opendir(directory);
	const struct dirent *entry;

	if (stream == NULL)
		return array;
	while ((entry = readdir(stream)) != NULL) {
		AUTO(free) char *path = xasprintf("%s/%s", directory, entry->d_name);
		AUTO(free) char *text = NULL;
		size_t len;

		/* kubelet passes over hidden files too. */
		if (entry->d_name[0] != '.' && file_read(path, MANIFEST_BYTES_MAX, &text, &len) == 0 &&
		    names_path(text, data_dir))
			(void) json_array_append_new(array, jsonval_text(path));
	}
	(void) closedir(stream);
	return array;
}

/* --- API servers --- */

static bool has_network_of(const struct stat *own, const char *pid)
{
	AUTO(free) char *path = xasprintf("/proc/%s/ns/net", pid);
	struct stat st;

	return stat(path, &st) == 0 && st.st_dev == own->st_dev && st.st_ino == own->st_ino;
}

json_t *hostfacts_api_servers(void)
{
	json_t *array = json_array();
	DIR *stream = opendir("/proc");
	const struct dirent *entry;
	struct stat own;

	while (stream != NULL && stat("/proc/self/ns/net", &own) == 0 &&
	       (entry = readdir(stream)) != NULL) {
		AUTO(free) char *path = xasprintf("/proc/%s/comm", entry->d_name);
		AUTO(free) char *name = NULL;
		size_t len;

		if (isdigit((unsigned char) entry->d_name[0]) &&
		    file_read(path, COMM_BYTES_MAX, &name, &len) == 0 &&
		    strcmp(name, API_SERVER "\n") == 0 && has_network_of(&own, entry->d_name))
			(void) json_array_append_new(array, json_integer(strtoll(entry->d_name, NULL, 10)));
	}
	if (stream != NULL)
		(void) closedir(stream);
	return array;
}

/* --- members --- */

static int read_members(const char *db, json_t **ret_members)
{
	AUTO(dbinfo_free) struct dbinfo *info = NULL;
	AUTO(bolt_close) struct bolt *bolt = NULL;
	AUTO(close) int fd = open(db, O_RDONLY | O_CLOEXEC);
	struct bolt_fault fault;
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	r = bolt_open(fd, (uint64_t) st.st_size, &fault, &bolt);
	if (r == 0)
		r = dbinfo_read(bolt, &info);
	if (r == 0)
		*ret_members = membersjson_make(info);
	return r;
}

/* A transaction that ends meanwhile may reuse pages that were just read, which shows as damage. */
json_t *hostfacts_members(const char *db)
{
	json_t *members = NULL;
	int r = -EBADMSG;

	for (unsigned i = 0; r == -EBADMSG && i < READ_TRIES; i++)
		r = read_members(db, &members);
	return r == 0 ? members : json_null();
}
