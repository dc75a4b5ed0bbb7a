/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom a control-plane node talks to: the members of etcd, as the kernel's list of connections has
 * them (proc(5)), and the API server, as kubelet's kubeconfig says. What is on this machine proves
 * nothing about the network and is passed over.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "netconf/probe/probe_priv.h"

#define PEER_PORT 2380
#define ESTABLISHED 1 /* TCP_ESTABLISHED of net/tcp_states.h */

/* Eight hexadecimal digits are four bytes as a number of this machine. */
static bool read_address(const char *hex, struct addr *ret_addr)
{
	size_t words = strlen(hex) / 8;
	uint8_t bytes[16];

	if (words != 1 && words != 4)
		return false;
	for (size_t i = 0; i < words; i++) {
		uint32_t word;

		if (sscanf(hex + 8 * i, "%8x", &word) != 1)
			return false;
		memcpy(bytes + 4 * i, &word, sizeof(word));
	}
	return addr_from_bytes(words == 1 ? AF_INET : AF_INET6, bytes, 4 * words, ret_addr) == 0;
}

/* IPv4 in IPv6's list, too. */
static struct addr plain(const struct addr *addr)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	struct addr v4;

	if (addr->family == AF_INET6 && memcmp(addr->bytes, mapped, sizeof(mapped)) == 0 &&
	    addr_from_bytes(AF_INET, addr->bytes + sizeof(mapped), 4, &v4) == 0)
		return v4;
	return *addr;
}

static bool is_known(const struct endpoint *peers, size_t n, const struct endpoint *peer)
{
	for (size_t i = 0; i < n; i++) {
		if (endpoint_equal(&peers[i], peer))
			return true;
	}
	return false;
}

size_t probe_etcd_peers(const char *text, struct endpoint ret_peers[static PROBE_PEERS_MAX])
{
	size_t n = 0;

	for (const char *line = text; line != NULL && n < PROBE_PEERS_MAX;) {
		char local[33], remote[33];
		unsigned local_port, remote_port, state;
		struct addr here, there;
		struct endpoint peer;

		if (sscanf(line, " %*u: %32[0-9A-F]:%x %32[0-9A-F]:%x %x", local, &local_port, remote,
		           &remote_port, &state) == 5 &&
		    remote_port == PEER_PORT && state == ESTABLISHED && read_address(local, &here) &&
		    read_address(remote, &there)) {
			peer = (struct endpoint){plain(&there), PEER_PORT};
			if (!addr_equal(&here, &there) && !addr_is_loopback(&peer.addr) &&
			    !is_known(ret_peers, n, &peer))
				ret_peers[n++] = peer;
		}
		line = strchr(line, '\n');
		if (line != NULL)
			line++;
	}
	return n;
}

char *probe_api_server(const char *text)
{
	static const char key[] = "server: ", scheme[] = "https://";
	const char *at = strstr(text, key);
	AUTO(free) char *host = NULL;
	struct endpoint endpoint;
	size_t len;

	if (at == NULL)
		return NULL;
	at += strlen(key);
	at += strspn(at, "\"' ");
	if (strncmp(at, scheme, strlen(scheme)) != 0)
		return NULL;
	at += strlen(scheme);
	len = strcspn(at, "/\"' \r\n");
	host = xstrndup(at, len);
	if (endpoint_parse(host, 443, &endpoint) == 0 && addr_is_loopback(&endpoint.addr))
		return NULL;
	if (strncmp(host, "localhost", strlen("localhost")) == 0)
		return NULL;
	return TAKE_PTR(host);
}
