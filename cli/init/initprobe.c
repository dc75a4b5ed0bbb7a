/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ARP and neighbour discovery of our own would need a capability; the kernel's own does not. What
 * came of it stands in its table of neighbours.
 */
#include "cli/init/initprobe.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mono.h"
#include "cli/common/fields.h"
#include "cli/common/output.h"

#define DISCARD_PORT 9
#define WAIT_US (2 * US_PER_S)
#define LOOK_AGAIN_US (100 * US_PER_MS)
#define IP_BYTES_MAX 65536

static bool send_datagram(const struct addr *addr)
{
	struct sockaddr_in in4 = {.sin_family = AF_INET, .sin_port = htons(DISCARD_PORT)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(DISCARD_PORT)};
	bool is_4 = addr->family == AF_INET;
	AUTO(close) int fd = socket(addr->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(&in4.sin_addr, addr->bytes, sizeof(in4.sin_addr));
	memcpy(&in6.sin6_addr, addr->bytes, sizeof(in6.sin6_addr));
	return fd >= 0 &&
	       sendto(fd, "", 1, 0, is_4 ? (struct sockaddr *) &in4 : (struct sockaddr *) &in6,
	              is_4 ? sizeof(in4) : sizeof(in6)) >= 0;
}

/* Whether the kernel knows a MAC for it. */
static bool has_neighbour(const char *text, struct mac *ret_mac)
{
	const char *const words[] = {"ip", "-json", "neighbour", "show", "to", text, NULL};
	struct output output;
	json_t *list = NULL;
	const json_t *item;
	const char *mac;
	bool found = false;
	size_t i;

	if (output_run(words, WAIT_US, IP_BYTES_MAX, &output) == 0)
		list = json_loads(output.text, 0, NULL);
	json_array_foreach(list, i, item)
	{
		mac = field_text(item, "lladdr");
		found = found || (mac != NULL && mac_parse(mac, ret_mac) == 0);
	}
	json_decref(list);
	output_fini(&output);
	return found;
}

bool initprobe_is_answered(const struct addr *addr, struct mac *ret_mac)
{
	int64_t deadline_us = mono_now_us() + WAIT_US;
	char text[ADDR_TEXT_MAX];

	(void) addr_format(addr, text);
	if (!send_datagram(addr))
		return false;
	while (!has_neighbour(text, ret_mac)) {
		if (mono_now_us() >= deadline_us)
			return false;
		(void) usleep(LOOK_AGAIN_US);
	}
	return true;
}
