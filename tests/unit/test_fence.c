/* SPDX-License-Identifier: Apache-2.0 */
/* One address on a real link, with the gate and with the lifetime alone: held, renewed, dropped,
 * left behind, taken away by others. */
#include "tests/unit/fenceworld.h"
#include "tests/unit/oldnft.h"

/* --- holding and dropping --- */

static const struct kind_case {
	const char *name;
	bool with_gate;
	const char *vip;
	uint32_t valid_s; /* for a deadline in FAR_US */
	uint32_t preferred_s;
} kinds[] = {
    {"gate, IPv4", true, "10.9.0.5", 21, 21},
    {"gate, IPv6", true, "fd00::5", 21, 0},
    {"lifetime, IPv4", false, "10.9.1.5", 18, 18},
    {"lifetime, IPv6", false, "fd01::5", 18, 0},
};

static void test_hold_and_drop(const struct kind_case *k)
{
	const struct addr vip = addr_of(k->vip);
	AUTO(fence_free) struct fence *f = new_fence(k->with_gate, &vip);
	const bool ipv6 = vip.family == AF_INET6;
	struct seen s;

	CHECK_EQ_INT(fence_kind(f), k->with_gate ? FENCE_NFTABLES : FENCE_LIFETIME);
	CHECK_EQ_INT(fence_arm(f), 0);
	CHECK(!fence_is_held(f));
	if (k->with_gate)
		CHECK(is_guarded(&vip) && live_us(&vip) == 0);
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	s = look(&vip);
	CHECK_EQ_INT(s.n, 1);
	CHECK_EQ_INT(s.last.prefix.len, ipv6 ? 128 : 32);
	CHECK_EQ_INT(s.last.proto, FENCE_ADDR_PROTO);
	/* The kernel may have begun to count. */
	CHECK(s.last.valid_s == k->valid_s || s.last.valid_s == k->valid_s - 1);
	CHECK(s.last.preferred_s == k->preferred_s || s.last.preferred_s + 1 == k->preferred_s);
	CHECK(s.last.no_prefix_route);
	CHECK_EQ_INT(s.last.no_dad, ipv6);
	CHECK(fence_is_held(f));
	if (k->with_gate)
		CHECK(live_us(&vip) > FAR_US - US_PER_S && live_us(&vip) <= FAR_US);
	/* Renewed: the later deadline counts, and the address never goes. */
	(void) removed();
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + 2 * FAR_US), 0);
	s = look(&vip);
	CHECK_EQ_INT(s.n, 1);
	CHECK(s.last.valid_s >= k->valid_s + FAR_US / US_PER_S - 1);
	if (k->with_gate)
		CHECK(live_us(&vip) > 2 * FAR_US - US_PER_S);
	/* Silent, but there. */
	CHECK_EQ_INT(fence_silence(f), 0);
	CHECK_EQ_INT(removed(), 0);
	CHECK(is_on_link(&vip));
	if (k->with_gate)
		CHECK_EQ_INT(live_us(&vip), 0);
	CHECK_EQ_INT(fence_drop(f), 0);
	CHECK(!is_on_link(&vip) && !fence_is_held(f));
	CHECK_EQ_INT(fence_drop(f), 0);
	if (k->with_gate)
		CHECK_EQ_INT(live_us(&vip), 0);
	/* And once more. */
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	CHECK(is_on_link(&vip));
	CHECK_EQ_INT(fence_drop(f), 0);
	CHECK_EQ_STR(fence_error_text(f), "");
}

static void test_too_late(const struct kind_case *k)
{
	const struct addr vip = addr_of(k->vip);
	AUTO(fence_free) struct fence *f = new_fence(k->with_gate, &vip);
	const int64_t late_us[] = {0, MS(-1), -FAR_US, k->with_gate ? MS(3) : MS(2200)};

	for (size_t i = 0; i < ARRAY_SIZE(late_us); i++) {
		CHECK_EQ_INT(fence_hold(f, mono_now_us() + late_us[i]), -ETIME);
		CHECK(!is_on_link(&vip));
		/* Also where it is held already. */
		CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
		CHECK_EQ_INT(fence_hold(f, mono_now_us() + late_us[i]), -ETIME);
		CHECK(!is_on_link(&vip) && !fence_is_held(f));
		if (k->with_gate)
			CHECK_EQ_INT(live_us(&vip), 0);
	}
}

/* A renewal that comes to nothing leaves what is there, until the deadline that it had. */
static void test_renewed_in_vain(void)
{
	const struct addr vip = addr_of("10.9.1.6");
	struct fence *f = new_fence(false, &vip);
	int64_t until_us = mono_now_us() + MS(2000);

	/* Nothing is there yet: too late is too late. */
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + MS(2200)), -ETIME);
	until_us = mono_now_us() + MS(2900);
	CHECK_EQ_INT(fence_hold(f, until_us), 0);
	(void) removed();
	(void) usleep(750000);
	/* Too little for a whole second with its slack, but later than the one that runs. */
	CHECK_EQ_INT(fence_hold(f, until_us), FENCE_KEPT);
	CHECK_EQ_INT(fence_hold(f, until_us + MS(50)), FENCE_KEPT);
	CHECK(fence_is_held(f));
	CHECK_EQ_INT(removed(), 0);
	/* It is not made longer by being asked for less. */
	CHECK_EQ_INT(fence_hold(f, until_us - MS(100)), -ETIME);
	CHECK(!is_on_link(&vip));
	/* The gate refuses who is held up. */
	fence_free(f);
	f = new_fence(true, &vip);
	hold_up = true;
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), -EAGAIN);
	CHECK(!is_on_link(&vip));
	hold_up = false;
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	(void) removed();
	hold_up = true;
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + 2 * FAR_US), FENCE_KEPT);
	hold_up = false;
	CHECK(is_on_link(&vip) && removed() == 0);
	CHECK(live_us(&vip) > FAR_US - 5 * US_PER_S && live_us(&vip) < FAR_US);
	/* With the tables gone nothing is in force that could be kept. */
	netns_run("nft flush ruleset");
	hold_up = true;
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + 2 * FAR_US), -EAGAIN);
	hold_up = false;
	CHECK(!is_on_link(&vip));
	fence_free(f);
	f = new_fence(false, &vip);
	/* One that the kernel was told, and may have been told too late, leaves nothing. */
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	hold_up = true;
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + 2 * FAR_US), -ETIME);
	hold_up = false;
	CHECK(!is_on_link(&vip));
	/* A process that goes on where another one was. */
	until_us = mono_now_us() + MS(2900);
	CHECK_EQ_INT(fence_hold(f, until_us), 0);
	fence_free(f);
	f = new_fence(false, &vip);
	CHECK(fence_adopt(f, until_us));
	(void) usleep(750000);
	CHECK_EQ_INT(fence_hold(f, until_us), FENCE_KEPT);
	CHECK(is_on_link(&vip));
	CHECK_EQ_INT(fence_drop(f), 0);
	CHECK(!fence_adopt(f, until_us));
	fence_free(f);
}

/* Left to themselves. */
static void test_kernel_ends_it(void)
{
	struct fence *fences[ARRAY_SIZE(kinds)];
	/* Silent and gone: known when we had looked. Live and there: when we began to look. */
	int64_t deadline_us[ARRAY_SIZE(kinds)], silent_us[ARRAY_SIZE(kinds)] = {0};
	int64_t gone_us[ARRAY_SIZE(kinds)] = {0}, live_still_us[ARRAY_SIZE(kinds)] = {0};
	int64_t there_still_us[ARRAY_SIZE(kinds)] = {0};
	const int64_t end_us = mono_now_us() + MS(5000);
	size_t waiting = ARRAY_SIZE(kinds);

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct addr vip = addr_of(kinds[i].vip);

		fences[i] = new_fence(kinds[i].with_gate, &vip);
		deadline_us[i] = mono_now_us() + (kinds[i].with_gate ? MS(300) : MS(2300));
		CHECK_EQ_INT(fence_hold(fences[i], deadline_us[i]), 0);
	}
	while (waiting > 0 && mono_now_us() < end_us) {
		(void) usleep(5000);
		for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
			const struct addr vip = addr_of(kinds[i].vip);
			int64_t look_us;

			if (gone_us[i] != 0)
				continue;
			look_us = mono_now_us();
			if (kinds[i].with_gate && silent_us[i] == 0) {
				if (live_us(&vip) == 0)
					silent_us[i] = mono_now_us();
				else
					live_still_us[i] = look_us;
			}
			look_us = mono_now_us();
			if (is_on_link(&vip)) {
				there_still_us[i] = look_us;
				continue;
			}
			gone_us[i] = mono_now_us();
			waiting--;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		bool ok = CHECK(gone_us[i] != 0);

		if (kinds[i].with_gate) {
			/* To the millisecond, but for ticks and for how often we look; then cleaned away. */
			ok = CHECK(silent_us[i] > deadline_us[i] - MS(40)) && ok;
			ok = CHECK(live_still_us[i] < deadline_us[i] + TIMING_LATE_US) && ok;
			ok = CHECK(gone_us[i] > deadline_us[i]) && ok;
		} else {
			ok = CHECK(there_still_us[i] < deadline_us[i] + TIMING_LATE_US) && ok;
		}
		if (!ok)
			(void) fprintf(stderr, "case: %s\n", kinds[i].name);
		CHECK(!fence_is_held(fences[i]));
		/* It is made anew where it was to be renewed. */
		CHECK_EQ_INT(fence_hold(fences[i], mono_now_us() + FAR_US), 0);
		CHECK(fence_is_held(fences[i]));
		CHECK_EQ_INT(fence_drop(fences[i]), 0);
		fence_free(fences[i]);
	}
}

/* An address that is there already becomes ours, with our lifetime and mark. */
static void test_leftovers(const struct kind_case *k)
{
	static const char *const how[] = {"", "valid_lft 900 preferred_lft 800"};
	const struct addr vip = addr_of(k->vip);
	AUTO(fence_free) struct fence *f = new_fence(k->with_gate, &vip);

	for (size_t i = 0; i < ARRAY_SIZE(how); i++) {
		struct seen s;

		netns_run("ip addr add %s/%d dev v0 %s", k->vip, vip.family == AF_INET6 ? 128 : 32, how[i]);
		CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
		s = look(&vip);
		CHECK_EQ_INT(s.n, 1);
		CHECK_EQ_INT(s.last.proto, FENCE_ADDR_PROTO);
		CHECK(s.last.valid_s <= k->valid_s);
		CHECK(s.last.no_prefix_route);
		CHECK_EQ_INT(fence_drop(f), 0);
		CHECK(!is_on_link(&vip));
	}
}

/* What the process before us left is recognised, renewed without a gap, and dropped. */
static void test_adopt(const struct kind_case *k)
{
	const struct addr vip = addr_of(k->vip);
	struct fence *before = new_fence(k->with_gate, &vip);
	AUTO(fence_free) struct fence *f = NULL;
	struct rtnl_addr foreign = {
	    .ifindex = ifindex, .proto = 0x55, .valid_s = 90, .preferred_s = 90, .no_dad = true};
	struct seen s;

	CHECK_EQ_INT(fence_hold(before, mono_now_us() + FAR_US), 0);
	fence_free(before);
	CHECK(is_on_link(&vip));
	(void) removed();
	f = new_fence(k->with_gate, &vip);
	CHECK(fence_is_held(f));
	CHECK_EQ_INT(fence_arm(f), 0);
	if (k->with_gate)
		CHECK(live_us(&vip) > FAR_US - US_PER_S);
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + 2 * FAR_US), 0);
	s = look(&vip);
	CHECK_EQ_INT(s.n, 1);
	CHECK_EQ_INT(removed(), 0);
	CHECK_EQ_INT(fence_drop(f), 0);
	CHECK(!is_on_link(&vip));
	/* One that is to be exported was not added as such before. */
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	fence_free(f);
	f = new_fence(k->with_gate, &vip);
	fence_set_routed(f);
	CHECK(!fence_adopt(f, mono_now_us() + FAR_US));
	CHECK_EQ_INT(fence_drop(f), 0);
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	CHECK(fence_adopt(f, mono_now_us() + FAR_US));
	CHECK_EQ_INT(fence_drop(f), 0);
	CHECK(!is_on_link(&vip));
	/* A mark that is another program's is no address of ours. */
	foreign.prefix = s.last.prefix;
	CHECK_EQ_INT(rtnl_addr_add(rtnl, &foreign), 0);
	CHECK(!fence_is_held(f));
	CHECK_EQ_INT(rtnl_addr_del(rtnl, ifindex, &foreign.prefix), 0);
}

/* Somebody takes the address away under us: the next renewal brings it back while it is ours. */
static void test_deleted_by_others(const struct kind_case *k)
{
	const struct addr vip = addr_of(k->vip);
	AUTO(fence_free) struct fence *f = new_fence(k->with_gate, &vip);

	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	netns_run("ip addr flush dev v0");
	CHECK(!fence_is_held(f));
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	CHECK(fence_is_held(f));
	netns_run("ip addr flush dev v0");
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	CHECK(fence_is_held(f));
	netns_run("ip addr flush dev v0");
	CHECK_EQ_INT(fence_drop(f), 0);
}

static void test_ruleset_flushed(const struct kind_case *k)
{
	const struct addr vip = addr_of(k->vip);
	AUTO(fence_free) struct fence *f = new_fence(true, &vip);

	CHECK_EQ_INT(fence_arm(f), 0);
	netns_run("nft flush ruleset");
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	CHECK(live_us(&vip) > FAR_US - US_PER_S);
	CHECK(is_on_link(&vip));
	netns_run("nft flush ruleset");
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + 2 * FAR_US), 0);
	CHECK(live_us(&vip) > FAR_US);
	netns_run("nft flush ruleset");
	CHECK_EQ_INT(fence_drop(f), 0);
	CHECK(!is_on_link(&vip));
	CHECK_EQ_INT(fence_arm(f), 0);
	CHECK(is_guarded(&vip) && live_us(&vip) == 0);
	/* Nothing is live where there is no gate. */
	netns_run("nft flush ruleset");
	fence_set_link(f, 0);
	CHECK_EQ_INT(fence_drop(f), 0);
	CHECK_EQ_INT(fence_arm(f), 0);
}

static void test_links(const struct kind_case *k)
{
	const struct addr vip = addr_of(k->vip);
	AUTO(fence_free) struct fence *f = new_fence(k->with_gate, &vip);
	AUTO(fence_free) struct fence *elsewhere = new_fence(k->with_gate, &vip);
	int other;

	fence_set_link(f, 0);
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), -ENODEV);
	CHECK(!fence_is_held(f));
	CHECK_EQ_INT(fence_drop(f), 0);
	netns_run("ip link add o0 type veth peer name o1; ip link set o0 up");
	other = (int) if_nametoindex("o0");
	/* What is held on one link is held on no other, and goes with it. */
	fence_set_link(f, other);
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	CHECK(fence_is_held(f) && !fence_is_held(elsewhere));
	netns_run("ip addr add %s/%d dev v0", k->vip, vip.family == AF_INET6 ? 128 : 32);
	fence_set_link(f, ifindex);
	CHECK_EQ_INT(look_at(other, &vip).n, 0);
	if (k->with_gate)
		CHECK_EQ_INT(live_us(&vip), 0);
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	CHECK(look(&vip).last.no_prefix_route);
	fence_set_link(f, 0);
	CHECK(!is_on_link(&vip));
	/* One that has gone and of which we have not heard. */
	fence_set_link(f, other);
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	netns_run("ip link del o0");
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), -ENODEV);
	CHECK_EQ_INT(fence_drop(f), 0);
	if (k->with_gate)
		CHECK_EQ_INT(live_us(&vip), 0);
	fence_set_link(f, ifindex);
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	CHECK(is_on_link(&vip));
	CHECK_EQ_INT(fence_drop(f), 0);
}

/* The kernel refuses to remove it: whoever writes `released` must hear of that, also when its link
 * is not the one that it belongs on any more. */
static void test_refused(const struct kind_case *k)
{
	const struct addr vip = addr_of(k->vip);
	AUTO(fence_free) struct fence *f = new_fence(k->with_gate, &vip);
	int other;

	CHECK(fence_is_off(f));
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	CHECK(!fence_is_off(f));
	refuse_removal = true;
	CHECK_EQ_INT(fence_drop(f), -EPERM);
	CHECK(!fence_is_off(f) && is_on_link(&vip));
	if (k->with_gate)
		CHECK_EQ_INT(live_us(&vip), 0);
	fence_set_link(f, 0);
	CHECK_EQ_INT(fence_drop(f), -EPERM);
	/* Not on two links at once. */
	netns_run("ip link add r0 type veth peer name r1; ip link set r0 up");
	other = (int) if_nametoindex("r0");
	fence_set_link(f, other);
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), -EPERM);
	CHECK_EQ_INT(look_at(other, &vip).n, 0);
	fence_set_link(f, 0);
	CHECK(!fence_is_off(f) && is_on_link(&vip));
	refuse_removal = false;
	CHECK_EQ_INT(fence_drop(f), 0);
	CHECK(fence_is_off(f) && !is_on_link(&vip));
	/* Gone by itself. */
	fence_set_link(f, other);
	CHECK_EQ_INT(fence_hold(f, mono_now_us() + FAR_US), 0);
	refuse_removal = true;
	CHECK_EQ_INT(fence_drop(f), -EPERM);
	CHECK(!fence_is_off(f));
	netns_run("ip link del r0");
	CHECK(fence_is_off(f));
	refuse_removal = false;
	CHECK_EQ_INT(fence_drop(f), 0);
}

static const struct kind_case *kind; /* that is tried */

/* A routing daemon finds the route, and renewing does not lose it; with the address it goes. */
static void test_routed(const struct kind_case *k)
{
	const struct addr vip = addr_of(k->vip);
	AUTO(fence_free) struct fence *f = new_fence(k->with_gate, &vip);
	const bool ipv6 = vip.family == AF_INET6;

	fence_set_routed(f);
	for (int i = 1; i <= 2; i++) {
		CHECK_EQ_INT(fence_hold(f, mono_now_us() + i * FAR_US), 0);
		CHECK(!look(&vip).last.no_prefix_route);
		if (ipv6)
			netns_run("ip -6 route show table main | grep -q '^%s dev '", k->vip);
	}
	CHECK_EQ_INT(fence_drop(f), 0);
	if (ipv6)
		netns_run("! ip -6 route show table main | grep -q '^%s dev '", k->vip);
}

static void test_one_kind(void)
{
	test_hold_and_drop(kind);
	test_routed(kind);
	test_too_late(kind);
	test_leftovers(kind);
	test_adopt(kind);
	test_deleted_by_others(kind);
	if (kind->with_gate)
		test_ruleset_flushed(kind);
	test_links(kind);
	test_refused(kind);
	if (check_failures > 0)
		(void) fprintf(stderr, "with: %s\n", kind->name);
}

int main(void)
{
	struct patient one_kind = {.prepare = world_open, .test = test_one_kind};
	struct patient in_vain = {.prepare = world_open, .test = test_renewed_in_vain};
	struct patient ends = {.prepare = world_open, .test = test_kernel_ends_it};

	/* The ruleset is flushed here, which an owner's tables outlive. */
	oldnft = true;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		kind = &kinds[i];
		patient_begin(&one_kind);
		patient_end(&one_kind);
	}
	/* These take seconds in which little happens. */
	patient_begin(&in_vain);
	patient_begin(&ends);
	patient_end(&in_vain);
	patient_end(&ends);
	return check_result();
}
