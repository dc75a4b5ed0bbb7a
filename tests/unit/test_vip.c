/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One VIP on a real link, with a kernel that refuses when it is told to, and an etcd that never
 * answers: what is on the link, what is logged and what the status warns of. What becomes of it
 * with a living etcd is told by tests/netns.
 */
#include "vipd/vip.h"

#include <curl/curl.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mono.h"
#include "tests/unit/check.h"
#include "tests/unit/netns.h"
#include "tests/unit/turn.h"
#include "vipd/fence.h"

#define MS(n) (INT64_C(n) * US_PER_MS)
#define VIP "10.9.0.5"

static struct ev_loop *ev;
static struct rtnl *rtnl;
static struct nftgate *gate;
static struct etcd *etcd;
static struct clusterid *cluster;

static bool refuse_removal; /* of addresses */

ssize_t sendto(int fd, const void *buf, size_t len, int flags, const struct sockaddr *to,
               socklen_t to_len)
{
	const struct nlmsghdr *nlh = buf;

	if (refuse_removal && len >= sizeof(*nlh) && nlh->nlmsg_type == RTM_DELADDR) {
		errno = EPERM;
		return -1;
	}
	return syscall(SYS_sendto, fd, buf, len, flags, to, to_len);
}

/* Only a VIP of the cloud's asks for it. */
CURLM *curl_multi_init(void)
{
	return NULL;
}

static unsigned owned_cb(void *ctx UNUSED)
{
	return 0;
}

static void kept_changed_cb(void *ctx UNUSED)
{
}

static void name_taken_cb(const char *other_instance UNUSED, void *ctx UNUSED)
{
}

static void stopped_cb(void *ctx)
{
	++*(unsigned *) ctx;
}

static void cluster_changed_cb(void *userdata UNUSED)
{
}

static int64_t cluster_fence_us(void *userdata UNUSED)
{
	return 0;
}

static const struct clusterid_callbacks cluster_callbacks = {
    .changed = cluster_changed_cb,
    .fence_us = cluster_fence_us,
};

struct stage {
	struct vip_env env;
	struct config_vip config;
	struct vip *vip;
	unsigned n_stopped;
};

/* Of the VIPs to come. */
static enum config_announce announce;
static struct config_hcloud *hcloud;
static enum config_fence fence_wanted;
static int64_t fence_window_us;
static int gate_error;

static void set_stage(struct stage *s, const char *link, const struct keep_vip *kept)
{
	memset(s, 0, sizeof(*s));
	s->env = (struct vip_env){
	    .ev = ev,
	    .etcd = etcd,
	    .cluster = cluster,
	    .rtnl = rtnl,
	    .gate = gate,
	    .gate_error = gate_error,
	    .node_name = "n1",
	    .instance = "0123456789abcdef0123456789abcdef",
	    .key_prefix = "fairlead/v1/",
	    .lease_ttl_us = 10 * US_PER_S,
	    .owned = owned_cb,
	    .kept_changed = kept_changed_cb,
	    .name_taken = name_taken_cb,
	    .stopped = stopped_cb,
	    .ctx = &s->n_stopped,
	};
	CHECK_EQ_INT(addr_parse(VIP, &s->config.addr), 0);
	(void) snprintf(s->config.link, sizeof(s->config.link), "%s", link);
	s->config.policy.priority = 100;
	s->config.policy.announce = announce;
	s->config.policy.fence = fence_wanted;
	s->config.policy.fence_window_us = fence_window_us;
	s->config.hcloud = hcloud;
	s->vip = vip_new(&s->env, &s->config, 0, kept);
}

/* As the process before us would have left it. */
static struct keep_vip leave_behind(const char *link)
{
	struct keep_vip kept = {
	    .ifindex = (int) if_nametoindex(link),
	    .epoch = 7,
	    .rev = 1234,
	    .deadline_us = mono_now_us() + MS(20000),
	    .window_us = MS(30000),
	};
	struct fence *f;

	CHECK_EQ_INT(addr_parse(VIP, &kept.vip), 0);
	f = fence_new(rtnl, gate, &kept.vip);
	fence_set_link(f, kept.ifindex);
	CHECK_EQ_INT(fence_hold(f, kept.deadline_us), 0);
	fence_free(f);
	return kept;
}

static bool warns(const struct vip *v, const char *text)
{
	struct vip_report_room room;
	struct vip_report report;

	vip_fill_report(v, &room, &report);
	for (size_t i = 0; i < report.n_warnings; i++) {
		if (strcmp(report.warnings[i], text) == 0)
			return true;
	}
	return false;
}

/* --- what is logged --- */

static int real_stderr;
static FILE *log_file;

static void log_begin(void)
{
	log_file = tmpfile();
	real_stderr = dup(STDERR_FILENO);
	CHECK(dup2(fileno(log_file), STDERR_FILENO) >= 0);
}

/* Does a line with both of these stand in the log? Ends it. */
static bool log_had(const char *a, const char *b)
{
	char line[1024];
	bool had = false;

	CHECK(dup2(real_stderr, STDERR_FILENO) >= 0);
	(void) close(real_stderr);
	rewind(log_file);
	while (fgets(line, sizeof(line), log_file) != NULL)
		had = had || (strstr(line, a) != NULL && strstr(line, b) != NULL);
	(void) fclose(log_file);
	return had;
}

/* --- stories --- */

static void test_adopted(void)
{
	struct keep_vip kept = leave_behind("v0"), again;
	struct stage s;

	log_begin();
	set_stage(&s, "v0", &kept);
	CHECK(log_had("<5>event=vip_state vip=" VIP " old=taking new=owner", "epoch=7 rev=1234"));
	CHECK(vip_keep(s.vip, &again));
	CHECK_EQ_INT(again.deadline_us, kept.deadline_us);
	CHECK(!vip_is_off(s.vip));
	log_begin();
	vip_stop(s.vip, "stopping");
	CHECK(log_had("<5>event=vip_state", "new=yielding reason=\"stopping\""));
	CHECK(vip_is_off(s.vip));
	vip_free(s.vip);
}

/* `journalctl -p warning` shows the failures, and no move that was planned. */
static void test_failures_are_warnings(void)
{
	static const struct health_view good = {.state = HEALTH_GOOD, .reason = "readyz 200"};
	static const struct health_view bad = {.state = HEALTH_BAD, .reason = "connection refused"};
	struct keep_vip kept = leave_behind("v0");
	struct stage s;

	set_stage(&s, "v0", &kept);
	log_begin();
	vip_set_health(s.vip, &good);
	CHECK(log_had("<6>event=health vip=" VIP " state=good", "readyz 200"));
	log_begin();
	vip_set_health(s.vip, &bad);
	CHECK(log_had("<4>event=health vip=" VIP " state=bad", "connection refused"));
	log_begin();
	vip_set_health(s.vip, &good);
	CHECK(log_had("<5>event=health vip=" VIP " state=good", "readyz 200"));
	log_begin();
	s.env.gate_error = -EPERM;
	vip_on_gate_refused(s.vip);
	CHECK(log_had("<4>event=vip_state", "old=owner new=yielding reason=\"nftables refuses"));
	vip_free(s.vip);
}

/* Where the API server does not tell whether it is ready, etcd of the same node does. */
static void test_second_hand(void)
{
	static const struct health_view alive = {.state = HEALTH_GOOD, .reason = "readyz 401"};
	static const struct health_view unknown = {
	    .state = HEALTH_GOOD, .is_unknown = true, .reason = "readyz 401"};
	struct vip_report_room room;
	struct vip_report report;
	struct stage s;

	set_stage(&s, "v0", NULL);
	s.config.policy.health.enabled = true;
	vip_set_health(s.vip, &alive);
	vip_set_member(s.vip, false, true);
	vip_fill_report(s.vip, &room, &report);
	CHECK_EQ_INT(report.health, HEALTH_GOOD);
	vip_set_member(s.vip, false, false);
	log_begin();
	vip_set_health(s.vip, &unknown);
	CHECK(log_had("<4>event=readiness_unknown vip=" VIP, "readyz 401"));
	log_begin();
	vip_set_member(s.vip, false, true);
	CHECK(log_had("<4>event=health vip=" VIP " state=bad", "etcd member does not answer"));
	vip_fill_report(s.vip, &room, &report);
	CHECK(report.health == HEALTH_BAD && report.readiness_unknown);
	log_begin();
	vip_set_member(s.vip, false, false);
	CHECK(log_had("<5>event=health vip=" VIP " state=good", "readyz 401"));
	vip_free(s.vip);
}

/* Until etcd has answered; but not for ever. */
static void test_settling(void)
{
	struct keep_vip kept = leave_behind("v0");
	struct stage s;

	set_stage(&s, "v0", &kept);
	CHECK(vip_is_settling(s.vip));
	vip_stop(s.vip, "stopping");
	CHECK(!vip_is_settling(s.vip));
	vip_free(s.vip);
	fence_window_us = MS(100);
	set_stage(&s, "v0", NULL);
	fence_window_us = 0;
	CHECK(vip_is_settling(s.vip));
	CHECK(TURN_UNTIL(ev, !vip_is_settling(s.vip)));
	vip_free(s.vip);
}

/* It is down, but its address is not off: who takes the gate away now lets it speak. */
static void test_not_removed(void)
{
	struct keep_vip kept = leave_behind("v0");
	struct stage s;

	set_stage(&s, "v0", &kept);
	refuse_removal = true;
	vip_stop(s.vip, "stopping");
	CHECK_EQ_INT(s.n_stopped, 1);
	CHECK(vip_is_down(s.vip) && !vip_is_off(s.vip));
	CHECK(!vip_take_off(s.vip));
	refuse_removal = false;
	netns_run("ip addr flush dev v0");
	CHECK(vip_is_off(s.vip));
	vip_free(s.vip);
}

/* The kernel had no memory for it, and has again. */
static void test_removed_at_last(void)
{
	struct keep_vip kept = leave_behind("v0");
	struct stage s;

	set_stage(&s, "v0", &kept);
	refuse_removal = true;
	vip_stop(s.vip, "stopping");
	refuse_removal = false;
	CHECK(!vip_is_off(s.vip));
	CHECK(vip_take_off(s.vip));
	CHECK(vip_is_off(s.vip));
	vip_free(s.vip);
}

/* Room for one descriptor more, which is the timer's: a VIP without that is none. */
static void leave_one_descriptor(const struct rlimit *all)
{
	int lowest = dup(STDERR_FILENO);
	const struct rlimit one = {.rlim_cur = (rlim_t) lowest + 1, .rlim_max = all->rlim_max};

	CHECK(lowest >= 0);
	(void) close(lowest);
	CHECK_EQ_INT(setrlimit(RLIMIT_NOFILE, &one), 0);
}

static void test_cannot_announce(void)
{
	static const char warning[] = "cannot announce on v0: Too many open files";
	struct rlimit all;
	struct stage s;

	CHECK_EQ_INT(getrlimit(RLIMIT_NOFILE, &all), 0);
	leave_one_descriptor(&all);
	set_stage(&s, "v0", NULL);
	CHECK(warns(s.vip, warning));
	CHECK_EQ_INT(setrlimit(RLIMIT_NOFILE, &all), 0);
	CHECK(TURN_UNTIL(ev, !warns(s.vip, warning)));
	vip_free(s.vip);
}

/* Where a routing daemon announces it: on a link without carrier, and silently. */
static void test_routed(void)
{
	static const char down[] = "link v2 is down or has no carrier";
	struct rlimit all;
	struct stage s;

	CHECK_EQ_INT(getrlimit(RLIMIT_NOFILE, &all), 0);
	set_stage(&s, "v2", NULL);
	CHECK(warns(s.vip, down));
	vip_free(s.vip);
	announce = CONFIG_ANNOUNCE_BGP;
	leave_one_descriptor(&all);
	set_stage(&s, "v2", NULL);
	CHECK(!warns(s.vip, down));
	CHECK(!warns(s.vip, "cannot announce on v2: Too many open files"));
	CHECK_EQ_INT(setrlimit(RLIMIT_NOFILE, &all), 0);
	vip_free(s.vip);
	announce = CONFIG_ANNOUNCE_LAYER2;
}

/* It is made, also a second time; a kernel without dummies is told of in the status. */
static void test_makes_link(void)
{
	static const char refused[] = "link d9 could not be made: Operation not supported; make it "
	                              "yourself: a dummy, or a bridge without ports";
	struct stage s;

	set_stage(&s, "d9", NULL);
	CHECK(if_nametoindex("d9") == 0 && !warns(s.vip, refused));
	vip_free(s.vip);

	announce = CONFIG_ANNOUNCE_BGP;
	set_stage(&s, "d9", NULL);
	if (if_nametoindex("d9") == 0) {
		CHECK(warns(s.vip, refused));
		netns_run("ip link add d9 type bridge; ip link set d9 up");
	}
	CHECK(TURN_UNTIL(ev, rtnl_link_by_name(rtnl, "d9") != NULL));
	vip_on_link_changed(s.vip);
	CHECK(!warns(s.vip, refused) && !warns(s.vip, "takes no part: link d9 does not exist"));
	vip_free(s.vip);
	announce = CONFIG_ANNOUNCE_LAYER2;
}

/* The gate is refused at first: no part, not even with what the process before us left; then it is
 * there, guards the address before anybody could hold it, and carries the promise. */
static void test_gate_refused(void)
{
	static const char refused[] =
	    "takes no part: nftables refuses the gate: Operation not permitted";
	static const char again[] =
	    "the gate is tried again by itself; does another program own a table "
	    "fairlead-vip (nft list tables), or may vipd not change nftables?";
	static const char no_nftables[] =
	    "no nftables in this kernel: the address lifetime is the only fence";
	struct keep_vip kept = leave_behind("v0"), none;
	struct nftgate *ours = gate;
	struct vip_report_room room;
	struct vip_report report;
	bool guarded = false;
	int64_t left_us;
	struct stage s;

	CHECK_EQ_INT(nftgate_unguard(ours, &kept.vip), 0);
	gate = NULL;
	gate_error = -EPERM;
	set_stage(&s, "v0", &kept);
	CHECK(vip_is_off(s.vip) && !vip_keep(s.vip, &none));
	vip_free(s.vip);
	set_stage(&s, "v0", NULL);
	CHECK(vip_is_down(s.vip));
	CHECK(warns(s.vip, refused) && warns(s.vip, again));
	/* It would hold nothing, so nothing is fenced by the lifetime; and there are nftables. */
	CHECK(!warns(s.vip, no_nftables));
	gate = ours;
	gate_error = 0;
	s.env.gate = gate;
	s.env.gate_error = 0;
	vip_on_gate_made(s.vip);
	CHECK(!warns(s.vip, refused) && !warns(s.vip, again));
	vip_fill_report(s.vip, &room, &report);
	CHECK_EQ_STR(report.fence, "nftables");
	CHECK_EQ_INT(nftgate_query(gate, &kept.vip, &guarded, &left_us), 0);
	CHECK(guarded);
	CHECK_EQ_INT(left_us, 0);
	vip_free(s.vip);

	/* Who asked for the lifetime alone has nothing to do with it. */
	CHECK_EQ_INT(nftgate_unguard(gate, &kept.vip), 0);
	fence_wanted = CONFIG_FENCE_LIFETIME;
	gate_error = -EPERM;
	set_stage(&s, "v0", NULL);
	CHECK(!warns(s.vip, refused) && !warns(s.vip, again));
	s.env.gate_error = gate_error = 0;
	vip_on_gate_made(s.vip);
	CHECK_EQ_INT(nftgate_query(gate, &kept.vip, &guarded, &left_us), 0);
	CHECK(!guarded);
	vip_free(s.vip);
	fence_wanted = CONFIG_FENCE_AUTO;
}

/* The gate is taken from an owner: nothing keeps it silent any more, so the address goes at once.
 */
static void test_gate_refused_later(void)
{
	struct keep_vip kept = leave_behind("v0"), none;
	bool guarded = false;
	int64_t left_us;
	struct stage s;

	set_stage(&s, "v0", &kept);
	CHECK(vip_keep(s.vip, &none) && !vip_is_off(s.vip));
	s.env.gate_error = -EPERM;
	vip_on_gate_refused(s.vip);
	CHECK(vip_is_off(s.vip) && !vip_keep(s.vip, &none));
	CHECK(warns(s.vip, "takes no part: nftables refuses the gate: Operation not permitted"));
	s.env.gate_error = 0;
	vip_on_gate_made(s.vip);
	CHECK(vip_is_off(s.vip));
	CHECK_EQ_INT(nftgate_query(gate, &kept.vip, &guarded, &left_us), 0);
	CHECK(guarded);
	CHECK_EQ_INT(left_us, 0);
	vip_free(s.vip);
}

static void test_not_fenced(void)
{
	static const char warning[] =
	    "not fenced, and may go on answering for the address after this node has lost it: tc "
	    "program on v0; see limits.md, \"before netfilter\"";
	struct stage s;

	set_stage(&s, "v0", NULL);
	CHECK(!warns(s.vip, warning));
	netns_run(
	    "tc qdisc add dev v0 clsact && tc filter add dev v0 ingress bpf da bytecode '1,6 0 0 0,'");
	CHECK(warns(s.vip, warning));
	netns_run("tc qdisc del dev v0 clsact");
	CHECK(!warns(s.vip, warning));
	vip_free(s.vip);
}

static bool open_world(void)
{
	static const struct rtnl_events none;
	static const char *const endpoints[] = {"http://127.0.0.1:1"};
	const struct etcd_options options = {.endpoints = endpoints, .n_endpoints = 1};
	char error[ETCD_ERROR_TEXT_MAX];

	ev = ev_default_loop(EVFLAG_AUTO);
	return CHECK_EQ_INT(rtnl_new(ev, &none, NULL, &rtnl), 0) &&
	       CHECK_EQ_INT(nftgate_new(ev, "fairlead_test", &gate), 0) &&
	       CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
}

/* What a VIP cannot be without ends vipd, and not without a word. In a process of its own, which is
 * made before this one has gRPC's threads. */
static void test_no_cloud_client(void)
{
	static const struct rlimit no_core;
	struct config_hcloud of_cloud = {.endpoint = (char[]){"https://192.0.2.1/v1"}};
	struct stage s;
	int status = 0;
	pid_t pid;

	log_begin();
	pid = fork();
	if (pid == 0) {
		(void) setrlimit(RLIMIT_CORE, &no_core);
		hcloud = &of_cloud;
		if (open_world())
			set_stage(&s, "v0", NULL);
		_exit(1);
	}
	CHECK_EQ_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	CHECK(log_had("event=hcloud_client_failed vip=" VIP, "err="));
}

int main(void)
{
	(void) netns_enter_new();
	netns_run("ip link add v0 type veth peer name v1; ip link set v1 up; ip link set v0 up; "
	          "ip link add v2 type veth peer name v3; ip link set v2 up");
	test_no_cloud_client();
	if (!open_world())
		return check_result();
	cluster = clusterid_new(ev, etcd, "fairlead/v1/", 1, &cluster_callbacks, NULL);
	test_adopted();
	test_failures_are_warnings();
	test_second_hand();
	test_settling();
	test_not_removed();
	test_removed_at_last();
	test_cannot_announce();
	test_routed();
	test_makes_link();
	test_gate_refused();
	test_gate_refused_later();
	test_not_fenced();
	clusterid_free(cluster);
	etcd_free(etcd);
	nftgate_free(gate);
	rtnl_free(rtnl);
	return check_result();
}
