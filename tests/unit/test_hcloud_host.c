/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the API's addresses is dialled, while answers of the name service come and go. */
#include "vipd/hcloud_host.h"

#include "tests/unit/check.h"
#include "tests/unit/names.h"
#include "tests/unit/turn.h"

#define URL "https://" NAMES_KNOWN "/v1"
#define A 0xc0000201u /* 192.0.2.1 */
#define B 0xc0000202u

static struct ev_loop *ev;
static unsigned looked;

static void looked_cb(void *userdata UNUSED)
{
	looked++;
}

static void look(struct hcloud_host *host)
{
	unsigned before = looked;

	hcloud_host_look(host);
	CHECK(TURN_UNTIL(ev, looked > before));
}

static void check_addr(const struct hcloud_host *host, const char *text)
{
	struct addr addr = hcloud_host_addr(host);
	char is[ADDR_TEXT_MAX];

	CHECK_EQ_STR(addr_format(&addr, is), text);
}

static void test_stays(void)
{
	struct hcloud_host *host;

	names.first = A;
	names.second = B;
	/* Without being asked: whoever takes over finds it known. */
	host = hcloud_host_new(ev, URL, looked_cb, NULL);
	CHECK(TURN_UNTIL(ev, hcloud_host_is_known(host)));
	check_addr(host, "192.0.2.1");
	names.first = B;
	names.second = A;
	look(host);
	check_addr(host, "192.0.2.1");
	hcloud_host_no_answer(host);
	check_addr(host, "192.0.2.2");
	names.first = A;
	names.second = B;
	look(host);
	check_addr(host, "192.0.2.2");
	hcloud_host_no_answer(host);
	check_addr(host, "192.0.2.1");
	/* Not there any more. */
	names.first = B;
	names.second = 0;
	look(host);
	check_addr(host, "192.0.2.2");
	hcloud_host_free(host);
}

static void test_no_name_service(void)
{
	struct hcloud_host *host;
	unsigned asked;

	names.first = 0;
	host = hcloud_host_new(ev, URL, looked_cb, NULL);
	look(host);
	CHECK(!hcloud_host_is_known(host));
	CHECK(hcloud_host_error(host)[0] != '\0');
	names.first = A;
	look(host);
	CHECK_EQ_STR(hcloud_host_error(host), "");
	/* It fails again: what it said is still good. */
	names.first = 0;
	look(host);
	check_addr(host, "192.0.2.1");
	/* It hangs: one thread waits for it, however often it is wanted. */
	names.hangs = true;
	asked = names.asked;
	hcloud_host_look(host);
	CHECK(TURN_UNTIL(ev, names.asked == asked + 1));
	hcloud_host_look(host);
	hcloud_host_look(host);
	check_addr(host, "192.0.2.1");
	names.hangs = false;
	CHECK(TURN_UNTIL(ev, hcloud_host_error(host)[0] != '\0'));
	CHECK_EQ_INT(names.asked, asked + 1);
	hcloud_host_free(host);
}

static void test_address(void)
{
	struct hcloud_host *host = hcloud_host_new(ev, "https://192.0.2.7/v1", looked_cb, NULL);
	unsigned asked = names.asked;

	CHECK(hcloud_host_is_known(host));
	hcloud_host_look(host);
	hcloud_host_no_answer(host);
	CHECK_EQ_INT(hcloud_host_addr(host).family, AF_UNSPEC);
	CHECK_EQ_INT(names.asked, asked);
	hcloud_host_free(host);
}

int main(void)
{
	ev = ev_default_loop(EVFLAG_AUTO);
	test_stays();
	test_no_name_service();
	test_address();
	return check_result();
}
