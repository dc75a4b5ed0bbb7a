/* SPDX-License-Identifier: Apache-2.0 */
#include "base/containerlink.h"

#include <ctype.h>
#include <string.h>

#include "base/macro.h"

#define DOCKER_ID_DIGITS 12

/* A bridge of Docker: "br-" and the first digits of its network's id. Others call theirs br-lan. */
static bool is_docker_bridge(const char *name)
{
	size_t n = 3;

	if (strncmp(name, "br-", 3) != 0)
		return false;
	while (isxdigit((unsigned char) name[n]))
		n++;
	return name[n] == '\0' && n == 3 + DOCKER_ID_DIGITS;
}

bool containerlink_is(const char *name)
{
	static const char *const beginnings[] = {"docker", "veth",   "cali",  "tunl",        "flannel",
	                                         "cni",    "cilium", "lxc",   "kube-",       "virbr",
	                                         "podman", "antrea", "weave", "nodelocaldns"};

	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++) {
		if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	}
	return is_docker_bridge(name);
}
