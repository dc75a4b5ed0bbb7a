/* SPDX-License-Identifier: Apache-2.0 */
/* Whose URL is this machine's: that of an address that it has, whatever it may bind. */
#include "etcdwatch/cluster/view.h"

#include "check.h"
#include "netns.h"

int main(void)
{
	static const struct {
		const char *url;
		bool local;
	} cases[] = {
	    {"https://127.0.0.1:2379", true},     {"https://127.0.0.9:2379", true},
	    {"https://[::1]:2379", true},         {"unix:///run/etcd", true},
	    {"https://192.0.2.1:2379", true},     {"https://192.0.2.2:2379", false},
	    {"https://[2001:db8::1]:2379", true}, {"https://[2001:db8::2]:2379", false},
	    {"https://0.0.0.0:2379", false},      {"https://[::]:2379", false},
	    {"https://node.example:2379", false},
	};

	(void) netns_enter_new();
	netns_sysctl("/proc/sys/net/ipv4/ip_nonlocal_bind", "1");
	netns_sysctl("/proc/sys/net/ipv6/ip_nonlocal_bind", "1");
	netns_run("ip addr add 192.0.2.1/32 dev lo && ip addr add 2001:db8::1/128 dev lo");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (!CHECK(view_is_local_url(cases[i].url) == cases[i].local))
			(void) fprintf(stderr, "  %s\n", cases[i].url);
	}
	return check_result();
}
