/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose URL is this machine's: that of an address that it has, whatever it may bind. And the member
 * list: all of it, or none.
 */
#include "etcdwatch/cluster/view.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "check.h"
#include "netns.h"

/* --- etcd, which answers with `listed` --- */

#define LISTED_MAX (VIEW_MEMBERS_MAX + 1)
#define URLS_MAX (VIEW_LISTED_URLS_MAX + 1)

static struct etcd_member listed[LISTED_MAX];
static size_t n_listed;
static int list_r;
static etcd_members_fn members_fn;
static etcd_alarms_fn alarms_fn;
static void *members_userdata, *alarms_userdata;
static struct view got;

int etcd_member_list(struct etcd *etcd UNUSED, etcd_members_fn fn, void *userdata,
                     struct etcd_call **ret_call)
{
	members_fn = fn;
	members_userdata = userdata;
	*ret_call = NULL;
	return 0;
}

int etcd_alarm_list(struct etcd *etcd UNUSED, etcd_alarms_fn fn, void *userdata,
                    struct etcd_call **ret_call)
{
	alarms_fn = fn;
	alarms_userdata = userdata;
	*ret_call = NULL;
	return 0;
}

size_t etcd_endpoints(const struct etcd *etcd UNUSED, const char *const **ret_endpoints)
{
	*ret_endpoints = NULL;
	return 0;
}

int etcd_endpoint_status(struct etcd *etcd UNUSED, const char *endpoint UNUSED,
                         etcd_status_fn fn UNUSED, void *userdata UNUSED,
                         struct etcd_call **ret_call UNUSED)
{
	return -EINVAL;
}

void etcd_call_cancel(struct etcd_call *call UNUSED)
{
}

static void done_cb(const struct view *view, void *userdata UNUSED)
{
	got = *view;
}

static void look(void)
{
	const struct etcd_outcome outcome = {
	    .r = list_r, .text = list_r < 0 ? "permission denied" : "", .cluster_id = 7};

	memset(&got, 0, sizeof(got));
	(void) view_start(NULL, done_cb, NULL);
	members_fn(&outcome, listed, list_r < 0 ? 0 : n_listed, members_userdata);
	alarms_fn(&outcome, NULL, 0, alarms_userdata);
}

static void test_list(void)
{
	static const char *const peers[] = {"https://10.0.0.1:2380", "https://[fd00::1]:2380"};
	static const char *const clients[] = {"https://10.0.0.1:2379"};

	n_listed = 2;
	listed[0] = (struct etcd_member){.id = 1,
	                                 .name = "a",
	                                 .peer_urls = peers,
	                                 .n_peer_urls = 2,
	                                 .client_urls = clients,
	                                 .n_client_urls = 1};
	listed[1] = (struct etcd_member){
	    .id = 2, .name = "", .peer_urls = peers, .n_peer_urls = 1, .learner = true};
	look();
	if (CHECK_EQ_INT(got.n_list, 2)) {
		CHECK(got.list[0].id == 1 && !got.list[0].learner);
		CHECK_EQ_STR(got.list[0].name, "a");
		CHECK_EQ_STR(got.list[0].peer_urls, "https://10.0.0.1:2380,https://[fd00::1]:2380");
		CHECK_EQ_STR(got.list[0].client_urls, "https://10.0.0.1:2379");
		CHECK(got.list[1].id == 2 && got.list[1].learner);
		CHECK_EQ_STR(got.list[1].name, "");
		CHECK_EQ_STR(got.list[1].client_urls, "");
	}
	CHECK_EQ_STR(got.denied, "");
	list_r = -EHOSTUNREACH;
	look();
	CHECK_EQ_STR(got.denied, "");
	CHECK_EQ_INT(got.n_list, 0);
	CHECK(!got.listed);
	list_r = -EACCES;
	look();
	CHECK_EQ_STR(got.denied, "refuses this node's user (permission denied): give the user of "
	                         "EtcdClientConfig, or else the CN of its certificate, the role root "
	                         "in etcd");
	list_r = 0;
}

/* One byte, one URL and one member within each limit, and one beyond it. */
static void test_list_limits(void)
{
	static char name[VIEW_LISTED_NAME_MAX + 1], url[VIEW_LISTED_URLS_TEXT_MAX + 1];
	static const char *urls[URLS_MAX];

	for (size_t more = 0; more <= 1; more++) {
		for (int what = 0; what < 4; what++) {
			n_listed = what == 0 ? VIEW_MEMBERS_MAX + more : 1;
			for (size_t i = 0; i < n_listed; i++)
				listed[i] = (struct etcd_member){.id = i + 1, .name = "m"};
			memset(name, 0, sizeof(name));
			memset(url, 0, sizeof(url));
			memset(name, 'n', VIEW_LISTED_NAME_MAX - 1 + more);
			memset(url, 'u', VIEW_LISTED_URLS_TEXT_MAX - 1 + more);
			for (size_t i = 0; i < URLS_MAX; i++)
				urls[i] = what == 2 ? url : "u";
			if (what == 1)
				listed[0].name = name;
			if (what > 1) {
				listed[0].client_urls = urls;
				listed[0].n_client_urls = what == 2 ? 1 : VIEW_LISTED_URLS_MAX + more;
			}
			look();
			if (!CHECK_EQ_INT(got.n_list, more == 0 ? n_listed : 0))
				(void) fprintf(stderr, "  limit %d\n", what);
			CHECK(got.listed);
		}
	}
}

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

	test_list();
	test_list_limits();
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
