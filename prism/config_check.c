/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single values: listeners, hosts, URLs, files. Pure: NULL, or what is wrong with the text and
 * perhaps what to write instead.
 */
#include "prism/config_priv.h"

#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "base/conf_check.h"

#define URL_PATH_BYTES_MAX 255
#define API_URL_PORT 443 /* of https, and so of a control-plane endpoint without a port */

/* --- files and paths --- */

const char *config_check_file(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                              const char **ret_hint)
{
	if (strlen(text) > CONFIG_FILE_BYTES_MAX)
		return "is longer than 255 characters";
	return conf_check_file(text, scratch, ret_hint);
}

const char *config_check_socket(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                                const char **ret_hint)
{
	/* unix(7): the path and its NUL must fit. */
	if (strlen(text) >= sizeof(((struct sockaddr_un *) NULL)->sun_path))
		return "is longer than the 107 characters of a socket's name";
	return conf_check_file(text, scratch, ret_hint);
}

const char *config_check_url_path(const char *text, char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                                  const char **ret_hint)
{
	*ret_hint = "such as /readyz or /readyz?exclude=etcd";
	if (text[0] != '/')
		return "does not begin with '/'";
	if (strlen(text) > URL_PATH_BYTES_MAX)
		return "is longer than 255 characters";
	for (const char *p = text; *p != '\0'; p++) {
		if (*p <= ' ' || *p >= 0x7f)
			return "has a space or a character beyond ASCII";
	}
	return strchr(text, '#') != NULL ? "has a fragment" : NULL;
}

/* --- addresses --- */

static const char not_an_endpoint[] = "is not an address with a port from 1 to 65535";

/* What nothing can listen on or connect to. */
static const char *check_sort(const struct addr *addr)
{
	static const uint8_t broadcast[4] = {255, 255, 255, 255};

	if (addr_is_multicast(addr))
		return "is a multicast address";
	if (addr->family == AF_INET6 && addr_is_linklocal(addr))
		return "is a link-local address, which means nothing without its link";
	if (addr->family == AF_INET && memcmp(addr->bytes, broadcast, sizeof(broadcast)) == 0)
		return "is the broadcast address";
	return NULL;
}

/* The port is what stands behind the last ':', unless that is part of an IPv6 address. */
static bool has_port(const char *text)
{
	const char *colon = strrchr(text, ':');
	struct addr addr;

	return colon != NULL && colon[1] != '\0' && strchr(colon, ']') == NULL &&
	       addr_parse(text, &addr) < 0;
}

const char *config_parse_listener(const char *text, struct endpoint *ret_endpoint,
                                  const char **ret_hint)
{
	struct endpoint endpoint;
	const char *wrong;

	*ret_hint = "such as 127.0.0.1:7445 or [::1]:7445";
	if (endpoint_parse(text, 0, &endpoint) < 0)
		return has_port(text) ? not_an_endpoint : "has no port";
	wrong = check_sort(&endpoint.addr);
	if (wrong != NULL)
		return wrong;
	*ret_endpoint = endpoint;
	return NULL;
}

/* --- hosts --- */

static const char *check_name(const char *name, const char **ret_hint)
{
	struct addr addr;

	if (strlen(name) > CONFIG_HOST_MAX)
		return "has a host name that is too long";
	if (conf_has_upper_case(name)) {
		*ret_hint = "write it in lower case";
		return "has upper-case letters";
	}
	if (!conf_is_dns_name(name))
		return "is neither an address nor a DNS name";
	/* An address that is good by itself is here because of what stands behind it. */
	if (addr_parse(name, &addr) >= 0)
		return "has no valid port";
	/* 10.0.0 or 10.0.0.256: a name of digits alone is a mistyped address. */
	if (name[strspn(name, "0123456789.")] == '\0')
		return "is not a whole IPv4 address";
	return NULL;
}

static const char *parse_port(const char *text, uint16_t *ret_port)
{
	int64_t port;

	if (conf_parse_int(text, &port) < 0 || port < 1 || port > UINT16_MAX)
		return "has no valid port";
	*ret_port = (uint16_t) port;
	return NULL;
}

static const char *parse_named(const char *text, uint16_t default_port,
                               struct config_host *ret_host, const char **ret_hint)
{
	struct config_host host = {.port = default_port};
	size_t len = strcspn(text, ":");
	const char *wrong;

	if (strchr(text, '[') != NULL || strchr(text, ']') != NULL ||
	    (text[len] == ':' && strchr(text + len + 1, ':') != NULL))
		return not_an_endpoint;
	if (len > CONFIG_HOST_MAX)
		return "has a host name that is too long";
	memcpy(host.name, text, len);
	wrong = check_name(host.name, ret_hint);
	if (wrong == NULL && text[len] == ':')
		wrong = parse_port(text + len + 1, &host.port);
	if (wrong == NULL)
		*ret_host = host;
	return wrong;
}

const char *config_parse_host(const char *text, uint16_t default_port, struct config_host *ret_host,
                              const char **ret_hint)
{
	struct config_host host = {0};
	struct endpoint endpoint;
	const char *wrong;

	*ret_hint = "such as 10.0.0.11, [fd00::11]:6443 or cp1.example.org";
	if (endpoint_parse(text, default_port, &endpoint) < 0)
		return parse_named(text, default_port, ret_host, ret_hint);
	wrong = check_sort(&endpoint.addr);
	if (wrong == NULL && addr_is_unspecified(&endpoint.addr))
		wrong = "is the unspecified address, not one to connect to";
	if (wrong != NULL)
		return wrong;
	(void) addr_format(&endpoint.addr, host.name);
	host.port = endpoint.port;
	*ret_host = host;
	return NULL;
}

const char *config_parse_url(const char *text, struct config_host *ret_host, const char **ret_hint)
{
	static const char scheme[] = "https://";
	char authority[CONFIG_HOST_MAX + sizeof("[]:65535")];
	const char *wrong, *host = text + strlen(scheme);
	size_t len;

	*ret_hint = "such as https://cp.example.org:6443";
	if (strncmp(text, scheme, strlen(scheme)) != 0)
		return "does not begin with https://";
	len = strcspn(host, "/?#");
	if (len == 0)
		return "has no host";
	if (memchr(host, '@', len) != NULL)
		return "has a user name in it";
	if (len >= sizeof(authority))
		return "has a host name that is too long";
	memcpy(authority, host, len);
	authority[len] = '\0';
	/* RFC 3986, section 3.2.2: only in brackets is it clear which ':' the port's is. */
	if (authority[0] != '[' && strchr(authority, ':') != strrchr(authority, ':'))
		return "has an IPv6 address without brackets";
	wrong = config_parse_host(authority, API_URL_PORT, ret_host, ret_hint);
	if (wrong != NULL)
		*ret_hint = "such as https://cp.example.org:6443";
	return wrong;
}

bool config_host_is_address(const struct config_host *host, struct endpoint *ret_endpoint)
{
	struct endpoint endpoint = {.port = host->port};

	if (addr_parse(host->name, &endpoint.addr) < 0)
		return false;
	*ret_endpoint = endpoint;
	return true;
}
