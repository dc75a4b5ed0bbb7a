/* SPDX-License-Identifier: Apache-2.0 */
/* When the LAN is asked, and which answers are reported: the LAN is a table of who has what. */
#include "vipd/announce.h"

#include "base/macro.h"
#include "tests/unit/check.h"
#include "tests/unit/patient.h"
#include "tests/unit/turn.h"

#define MS(n) (INT64_C(n) * US_PER_MS)
#define PROBES_MAX 64

static struct ev_loop *ev;
static const struct mac host = {{2, 0, 0, 0, 0, 1}}, other = {{2, 0, 0, 0, 0, 2}};

static struct {
	struct asker *asker;
	struct addr vip;
	const struct mac *of_vip;      /* who answers; NULL: nobody */
	const struct mac *of_controls; /* the same for all other addresses */
	bool only_the_first;           /* of the controls */
	struct addr probed[PROBES_MAX];
	int64_t at_us[PROBES_MAX];
	size_t n_probed, n_forgotten, n_claims;
	struct mac claimed_by;
} lan;

static void probe_cb(const struct addr *addr, void *userdata UNUSED)
{
	const bool is_vip = addr_equal(addr, &lan.vip);
	const struct mac *answers = is_vip ? lan.of_vip : lan.of_controls;

	if (!CHECK(lan.n_probed < PROBES_MAX))
		return;
	lan.probed[lan.n_probed] = *addr;
	lan.at_us[lan.n_probed++] = mono_now_us();
	if (!is_vip && lan.only_the_first && lan.n_forgotten == 0 && lan.of_controls != NULL)
		lan.of_controls = NULL;
	if (answers != NULL)
		asker_on_claim(lan.asker, addr, answers);
}

static void forget_cb(const struct addr *addr UNUSED, void *userdata UNUSED)
{
	lan.n_forgotten++;
}

static void claimed_cb(const struct mac *from, void *userdata UNUSED)
{
	lan.n_claims++;
	lan.claimed_by = *from;
}

static const struct asker_callbacks callbacks = {
    .probe = probe_cb, .forget = forget_cb, .claimed = claimed_cb};

static void begin(const char *vip, const struct mac *of_vip, const struct mac *of_controls)
{
	memset(&lan, 0, sizeof(lan));
	CHECK_EQ_INT(addr_parse(vip, &lan.vip), 0);
	lan.of_vip = of_vip;
	lan.of_controls = of_controls;
	lan.asker = asker_new(ev, &lan.vip, &callbacks, NULL);
}

static void wait_for(int64_t us)
{
	const int64_t end_us = mono_now_us() + us;

	while (mono_now_us() < end_us)
		turn_once(ev);
}

static void test_pace(void)
{
	begin("10.0.0.5", NULL, NULL);
	asker_set_interval(lan.asker, 0);
	wait_for(MS(20));
	CHECK_EQ_INT(lan.n_probed, 0);
	CHECK_EQ_INT(asker_done_us(lan.asker), 0);
	asker_set_interval(lan.asker, MS(400));
	CHECK_EQ_INT(lan.n_probed, 1);
	CHECK(asker_done_us(lan.asker) > mono_now_us() + ASKER_ROUND_US - MS(20));
	asker_set_interval(lan.asker, MS(400));
	CHECK_EQ_INT(lan.n_probed, 1);
	wait_for(ASKER_ROUND_US + MS(50));
	CHECK_EQ_INT(lan.n_probed, ASKER_ROUNDS);
	CHECK(asker_done_us(lan.asker) <= mono_now_us());
	wait_for(MS(400));
	CHECK_EQ_INT(lan.n_probed, ASKER_ROUNDS + 1);
	CHECK(lan.at_us[3] - lan.at_us[2] >= MS(390));
	asker_set_interval(lan.asker, 0);
	wait_for(MS(500));
	CHECK_EQ_INT(lan.n_probed, ASKER_ROUNDS + 1);
	CHECK_EQ_INT(lan.n_claims, 0);
	asker_free(lan.asker);
}

/* One answer, and what comes of it. */
static void test_answers(void)
{
	static const struct {
		const char *name, *vip;
		const struct mac *of_vip, *of_controls;
		bool only_the_first;
		bool claimed;
	} cases[] = {
	    {"nobody", "10.0.0.5", NULL, NULL, false, false},
	    {"a host", "10.0.0.5", &host, NULL, false, true},
	    {"a host, and others have the controls", "10.0.0.5", &host, &other, false, true},
	    {"a host that has one control as well", "10.0.0.5", &host, &host, true, true},
	    {"proxy ARP", "10.0.0.5", &host, &host, false, false},
	    {"a host, IPv6", "fd00::5", &host, NULL, false, true},
	    {"a proxy, IPv6", "fd00::5", &host, &host, false, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool ok;

		begin(cases[i].vip, cases[i].of_vip, cases[i].of_controls);
		lan.only_the_first = cases[i].only_the_first;
		asker_set_interval(lan.asker, MS(10000));
		/* It is not done before every answer is checked. */
		ok = CHECK(cases[i].of_vip == NULL ||
		           asker_done_us(lan.asker) >= mono_now_us() + ASKER_CHECK_US - MS(20));
		wait_for(ASKER_CHECK_US - MS(80));
		ok = CHECK_EQ_INT(lan.n_claims, 0) && ok;
		wait_for(MS(130));
		ok = CHECK_EQ_INT(lan.n_claims > 0, cases[i].claimed) && ok;
		ok = CHECK(!cases[i].claimed || mac_equal(&lan.claimed_by, &host)) && ok;
		if (!ok)
			(void) fprintf(stderr, "case: %s\n", cases[i].name);
		asker_free(lan.asker);
	}
}

/* The controls are other hosts of the subnet, and no broadcast address. */
static void test_controls(void)
{
	static const struct {
		const char *vip;
		uint8_t len;
		size_t want;
	} cases[] = {
	    {"10.0.0.5", 24, 2}, {"10.0.0.5", 16, 2}, {"10.0.0.254", 29, 2}, {"10.0.0.1", 29, 2},
	    {"10.0.0.2", 30, 1}, {"10.0.0.3", 31, 0}, {"10.0.0.3", 32, 0},   {"fd00::5", 64, 2},
	};

	for (size_t i = 0; i < 64 * ARRAY_SIZE(cases); i++) {
		const uint8_t len = cases[i / 64].len;
		struct prefix subnet, first;
		bool ok = true;

		begin(cases[i / 64].vip, NULL, NULL);
		subnet = (struct prefix){lan.vip, len};
		prefix_mask(&subnet);
		first = subnet;
		asker_set_subnet(lan.asker, len);
		asker_set_interval(lan.asker, MS(10000));
		asker_on_claim(lan.asker, &lan.vip, &host);
		ok = CHECK_EQ_INT(lan.n_probed, 1 + cases[i / 64].want);
		for (size_t k = 1; k < lan.n_probed; k++) {
			const size_t last = addr_len_bytes(&lan.vip) - 1;
			const uint8_t all = (uint8_t) (len % 8 != 0 ? (1U << (8 - len % 8)) - 1 : 255);

			ok = CHECK(!addr_equal(&lan.probed[k], &lan.vip)) && ok;
			ok = CHECK(!addr_equal(&lan.probed[k], &first.addr)) && ok;
			ok = CHECK((lan.probed[k].bytes[last] & all) != all) && ok;
			ok = CHECK(prefix_contains(&subnet, &lan.probed[k])) && ok;
			ok = CHECK(k == 1 || !addr_equal(&lan.probed[k], &lan.probed[k - 1])) && ok;
		}
		asker_free(lan.asker);
		if (!ok) {
			(void) fprintf(stderr, "case: %s/%u\n", cases[i / 64].vip, len);
			break;
		}
	}
}

static void prepare(void)
{
	ev = ev_default_loop(EVFLAG_AUTO);
}

int main(void)
{
	static const patient_fn tests[] = {test_pace, test_answers, test_controls};

	patiently(&(struct patient){.prepare = prepare}, 1, tests, ARRAY_SIZE(tests));
	return check_result();
}
