/* SPDX-License-Identifier: Apache-2.0 */
/* Whole passes, as what is asked and what is answered; and what answers mean. How they are asked
 * for is told by tests/netns/hcloud_vip.sh. */
#include "vipd/hcloud_plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mono.h"
#include "tests/unit/check.h"

#define STEPS_MAX 12
#define S(n) (INT64_C(n) * US_PER_S)

#define SERVER(id, aliases)                                                              \
	"{\"id\":" id ",\"private_net\":[{\"network\":9,\"ip\":\"10.9.0.2\",\"alias_ips\":[" \
	"\"10.1.0.5\"]},{\"network\":3,\"ip\":\"10.1.0.2\",\"alias_ips\":[" aliases "]}]}"
#define ONE(id, aliases) "{\"server\":" SERVER(id, aliases) "}"
#define LAST_PAGE "\"meta\":{\"pagination\":{\"page\":2,\"next_page\":null}}"
#define FIRST_PAGE "\"meta\":{\"pagination\":{\"page\":1,\"next_page\":2}}"
#define NETWORK(id, range) "{\"network\":{\"id\":" id ",\"ip_range\":\"" range "\"}}"

/* What is asked, "PATH BODY", and its answer; NULL as the answer: it was a change, and is done. */
struct exchange {
	const char *ask;
	const char *answer;
};

static const struct pass_case {
	const char *name;
	const char *vip;
	int64_t me;
	struct exchange steps[STEPS_MAX];
	const char *end; /* "" for as it should be; else what is wrong begins with this */
} passes[] = {
    {"a floating IP of another server",
     "203.0.113.7",
     0,
     {{"", "42\n"},
      {"/floating_ips?per_page=50&page=1",
       "{\"floating_ips\":[{\"id\":5,\"ip\":\"203.0.113.5\",\"server\":7}]," FIRST_PAGE "}"},
      {"/floating_ips?per_page=50&page=2",
       "{\"floating_ips\":[{\"id\":7,\"ip\":\"203.0.113.7\",\"server\":7}]," LAST_PAGE "}"},
      {"/floating_ips/7/actions/assign {\"server\":42}", NULL},
      {"/floating_ips/7", "{\"floating_ip\":{\"id\":7,\"ip\":\"203.0.113.7\",\"server\":42}}"}},
     ""},
    {"nobody's, and of IPv6",
     "2001:db8::5",
     42,
     {{"/floating_ips?per_page=50&page=1",
       "{\"floating_ips\":[{\"id\":5,\"ip\":\"2001:db8:1::/64\",\"server\":42},"
       "{\"id\":6,\"ip\":\"2001:db8::/64\",\"server\":null}]}"},
      {"/floating_ips/6/actions/assign {\"server\":42}", NULL},
      {"/floating_ips/6", "{\"floating_ip\":{\"id\":6,\"ip\":\"2001:db8::/64\",\"server\":42}}"}},
     ""},
    {"ours already",
     "203.0.113.7",
     42,
     {{"/floating_ips?per_page=50&page=1",
       "{\"floating_ips\":[{\"id\":7,\"ip\":\"203.0.113.7\",\"server\":42}]}"}},
     ""},
    {"not of this project",
     "203.0.113.7",
     42,
     {{"/floating_ips?per_page=50&page=1", "{\"floating_ips\":[]}"}},
     "the project of this token has no floating IP 203.0.113.7"},
    {"somebody moves it back again and again",
     "203.0.113.7",
     42,
     {{"/floating_ips?per_page=50&page=1",
       "{\"floating_ips\":[{\"id\":7,\"ip\":\"203.0.113.7\",\"server\":7}]}"},
      {"/floating_ips/7/actions/assign {\"server\":42}", NULL},
      {"/floating_ips/7", "{\"floating_ip\":{\"id\":7,\"server\":7}}"},
      {"/floating_ips/7/actions/assign {\"server\":42}", NULL},
      {"/floating_ips/7", "{\"floating_ip\":{\"id\":7,\"server\":7}}"},
      {"/floating_ips/7/actions/assign {\"server\":42}", NULL},
      {"/floating_ips/7", "{\"floating_ip\":{\"id\":7,\"server\":7}}"},
      {"/floating_ips/7/actions/assign {\"server\":42}", NULL},
      {"/floating_ips/7", "{\"floating_ip\":{\"id\":7,\"server\":7}}"}},
     "assigned, and yet it is server 7's"},
    {"an alias IP, with others on both servers",
     "10.1.0.5",
     42,
     {{"/servers/42", ONE("42", "\"10.1.0.8\"")},
      {"/networks/9", NETWORK("9", "10.9.0.0/16")},
      {"/networks/3", NETWORK("3", "10.1.0.0/16")},
      {"/servers/42", ONE("42", "\"10.1.0.8\"")},
      {"/servers?per_page=50&page=1",
       "{\"servers\":[" SERVER("42", "\"10.1.0.8\"") "]," FIRST_PAGE "}"},
      {"/servers?per_page=50&page=2",
       "{\"servers\":[{\"id\":1,\"private_net\":[]}," SERVER(
           "7", "\"10.1.0.6\",\"10.1.0.5\",\"10.1.0.7\"") "]," LAST_PAGE "}"},
      {"/servers/7/actions/change_alias_ips "
       "{\"network\":3,\"alias_ips\":[\"10.1.0.6\",\"10.1.0.7\"]}",
       NULL},
      {"/servers/42", ONE("42", "\"10.1.0.8\",\"10.1.0.9\"")},
      {"/servers?per_page=50&page=1", "{\"servers\":[" SERVER("7", "\"10.1.0.6\"") "]}"},
      {"/servers/42/actions/change_alias_ips "
       "{\"network\":3,\"alias_ips\":[\"10.1.0.8\",\"10.1.0.9\",\"10.1.0.5\"]}",
       NULL},
      {"/servers/42", ONE("42", "\"10.1.0.5\",\"10.1.0.8\",\"10.1.0.9\"")}},
     ""},
    {"in no network of this server",
     "10.7.0.5",
     42,
     {{"/servers/42", ONE("42", "")},
      {"/networks/9", NETWORK("9", "10.9.0.0/16")},
      {"/networks/3", NETWORK("3", "10.1.0.0/16")}},
     "10.7.0.5 is private, and no private network of server 42"},
};

static void play(const struct pass_case *c, struct hcloud_seen *seen, struct hcloud_step *step)
{
	hcloud_begin_pass(seen);
	for (size_t i = 0;; i++) {
		const struct exchange *x = &c->steps[i];
		char got[512], text[HCLOUD_TEXT_MAX] = "";

		free(step->body);
		hcloud_next(seen, step);
		if (step->ask == HCLOUD_ASK_DONE || step->ask == HCLOUD_ASK_FAIL) {
			CHECK(i == STEPS_MAX || x->ask == NULL);
			return;
		}
		(void) snprintf(got, sizeof(got), "%s%s%s", step->path, step->body != NULL ? " " : "",
		                step->body != NULL ? step->body : "");
		if (i == STEPS_MAX || !CHECK_EQ_STR(got, x->ask != NULL ? x->ask : "(nothing)"))
			return;
		CHECK_EQ_INT(hcloud_is_change(step->ask), x->answer == NULL);
		CHECK(hcloud_ask_name(step->ask)[0] != '\0');
		if (x->answer == NULL)
			hcloud_changed(seen);
		else if (!CHECK_EQ_INT(hcloud_take(seen, step->ask, x->answer, text), 0))
			return;
	}
}

static void test_passes(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(passes); i++) {
		const struct pass_case *c = &passes[i];
		struct hcloud_seen seen = {.me = c->me};
		struct hcloud_step step = {0};
		unsigned before = check_failures;

		CHECK_EQ_INT(addr_parse(c->vip, &seen.vip), 0);
		play(c, &seen, &step);
		CHECK_EQ_INT(step.ask, c->end[0] == '\0' ? HCLOUD_ASK_DONE : HCLOUD_ASK_FAIL);
		CHECK(strncmp(step.text, c->end, strlen(c->end)) == 0);
		free(step.body);
		if (check_failures > before)
			(void) fprintf(stderr, "in: %s\n", c->name);
	}
}

/* The next passes ask only how it is, until something is not found. */
static void test_later_passes(void)
{
	struct hcloud_seen seen = {.me = 42, .floating = 7};
	struct hcloud_step step;

	CHECK_EQ_INT(addr_parse("203.0.113.7", &seen.vip), 0);
	hcloud_begin_pass(&seen);
	hcloud_next(&seen, &step);
	CHECK_EQ_STR(step.path, "/floating_ips/7");
	hcloud_forget_ids(&seen);
	hcloud_next(&seen, &step);
	CHECK_EQ_STR(step.path, "/floating_ips?per_page=50&page=1");
}

/* What is not as promised is not believed by half: others' alias IPs are at stake. */
static void test_bad_answers(void)
{
	static const struct {
		enum hcloud_ask ask;
		const char *body;
	} cases[] = {
	    {HCLOUD_ASK_ME, ""},
	    {HCLOUD_ASK_ME, "-3"},
	    {HCLOUD_ASK_ME, "42 or so"},
	    {HCLOUD_ASK_ME, "99999999999999999999"},
	    {HCLOUD_ASK_FLOATING_IPS, "[]"},
	    {HCLOUD_ASK_FLOATING_IPS, "{\"floating_ips\":{}}"},
	    {HCLOUD_ASK_FLOATING_IPS, "{\"floating_ips\":[{\"ip\":\"10.1.0.5\",\"server\":1}]}"},
	    {HCLOUD_ASK_FLOATING_IP, "{\"floating_ip\":{\"id\":1}}"},
	    {HCLOUD_ASK_FLOATING_IP, "{\"floating_ip\":{\"id\":1,\"server\":\"1\"}}"},
	    {HCLOUD_ASK_SERVER, ONE("41", "")},
	    {HCLOUD_ASK_SERVER, ONE("42", "\"10.1.0.6\",\"cut")},
	    {HCLOUD_ASK_SERVER, ONE("42", "\"10.1.0.6\",\"nonsense\"")},
	    {HCLOUD_ASK_SERVER, ONE("42", "\"10.1.0.6\",7")},
	    {HCLOUD_ASK_SERVER, "{\"server\":{\"id\":42,\"private_net\":[{\"network\":3}]}}"},
	    {HCLOUD_ASK_SERVER, "{\"server\":{\"id\":42}}"},
	    {HCLOUD_ASK_SERVERS, "{\"servers\":[" SERVER("7", "null") "]}"},
	    {HCLOUD_ASK_SERVERS, "{\"servers\":[{}]}"},
	    {HCLOUD_ASK_NETWORK, NETWORK("0", "10.0.0.0/8")},
	    {HCLOUD_ASK_NETWORK, NETWORK("3", "wide")},
	    {HCLOUD_ASK_ASSIGN, "{}"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct hcloud_seen seen = {.me = 42, .network = 3};
		char text[HCLOUD_TEXT_MAX] = "";

		CHECK_EQ_INT(addr_parse("10.1.0.5", &seen.vip), 0);
		hcloud_begin_pass(&seen);
		if (!CHECK_EQ_INT(hcloud_take(&seen, cases[i].ask, cases[i].body, text), -EBADMSG))
			(void) fprintf(stderr, "of: %s\n", cases[i].body);
		CHECK(text[0] != '\0' && !seen.mine_known && !seen.floating_known);
	}
}

static void test_too_many_aliases(void)
{
	struct hcloud_seen seen = {.me = 42, .network = 3};
	char body[4096] = "", text[HCLOUD_TEXT_MAX];
	size_t len = 0;

	len += (size_t) snprintf(body, sizeof(body),
	                         "{\"server\":{\"id\":42,\"private_net\":[{\"network\":3,"
	                         "\"alias_ips\":[\"10.1.1.1\"");
	for (int i = 0; i < HCLOUD_ALIASES_MAX; i++)
		len += (size_t) snprintf(body + len, sizeof(body) - len, ",\"10.1.0.%d\"", i);
	(void) snprintf(body + len, sizeof(body) - len, "]}]}}");
	CHECK_EQ_INT(hcloud_take(&seen, HCLOUD_ASK_SERVER, body, text), -EBADMSG);
}

static void test_actions(void)
{
	static const struct {
		const char *body;
		int r;
		enum hcloud_progress progress;
		const char *text;
	} cases[] = {
	    {"{\"action\":{\"id\":3,\"status\":\"running\",\"error\":null}}", 0, HCLOUD_RUNNING, NULL},
	    {"{\"action\":{\"id\":3,\"status\":\"success\"}}", 0, HCLOUD_SUCCEEDED, NULL},
	    {"{\"action\":{\"id\":3,\"status\":\"error\",\"error\":{\"code\":\"locked\","
	     "\"message\":\"busy\"}}}",
	     0, HCLOUD_FAILED, "the action failed: locked (busy)"},
	    {"{\"action\":{\"id\":3,\"status\":\"odd\"}}", -EBADMSG, HCLOUD_RUNNING, NULL},
	    {"{\"action\":{\"status\":\"success\"}}", -EBADMSG, HCLOUD_RUNNING, NULL},
	    {"<html>", -EBADMSG, HCLOUD_RUNNING, NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		enum hcloud_progress progress = HCLOUD_RUNNING;
		char text[HCLOUD_TEXT_MAX] = "";
		int64_t id = 0;

		CHECK_EQ_INT(hcloud_take_action(cases[i].body, &id, &progress, text), cases[i].r);
		CHECK_EQ_INT(progress, cases[i].progress);
		CHECK_EQ_INT(id, cases[i].r == 0 ? 3 : 0);
		if (cases[i].text != NULL)
			CHECK_EQ_STR(text, cases[i].text);
	}
}

static void test_words(void)
{
	static const struct {
		int status;
		const char *body, *text;
	} cases[] = {
	    {401, "{\"error\":{\"code\":\"unauthorized\",\"message\":\"who?\"}}",
	     "status 401, unauthorized (who?): is the token right, and still valid?"},
	    {403, "{\"error\":{\"code\":\"token_readonly\",\"message\":\"no\"}}",
	     "status 403, token_readonly (no): the token must be allowed to read and write"},
	    {502, "<html>", "status 502"},
	    {409, "{\"error\":{\"code\":\"conflict\",\"message\":\"again\"}}",
	     "status 409, conflict (again)"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[HCLOUD_TEXT_MAX];

		hcloud_explain(cases[i].status, cases[i].body, text);
		CHECK_EQ_STR(text, cases[i].text);
	}
}

static void test_times(void)
{
	static const struct {
		unsigned n;
		int status;
		unsigned retry_after_s;
		int64_t pause_us;
	} pauses[] = {
	    {1, 0, 0, S(1)},        {2, 500, 0, S(2)}, {5, 0, 0, S(16)},    {6, 0, 0, S(30)},
	    {1000, 0, 0, S(30)},    {1, 429, 0, S(5)}, {1, 429, 40, S(40)}, {1, 503, 7, S(7)},
	    {1, 503, 9999, S(600)}, {3, 401, 0, S(5)}, {4, 401, 0, S(8)},
	};
	static const int64_t checks_s[] = {2, 4, 8, 16, 30, 60, 60};

	for (size_t i = 0; i < ARRAY_SIZE(pauses); i++)
		CHECK_EQ_INT(hcloud_pause_us(pauses[i].n, pauses[i].status, pauses[i].retry_after_s),
		             pauses[i].pause_us);
	for (size_t i = 0; i < ARRAY_SIZE(checks_s); i++)
		CHECK_EQ_INT(hcloud_check_us((unsigned) i + 1, 0), checks_s[i] * US_PER_S);
	/* Taken back again and again. */
	CHECK_EQ_INT(hcloud_check_us(1, 2), S(2));
	CHECK_EQ_INT(hcloud_check_us(1, 3), S(4));
	CHECK_EQ_INT(hcloud_check_us(1, 5), S(16));
	CHECK_EQ_INT(hcloud_check_us(1, 6), S(30));
	CHECK_EQ_INT(hcloud_check_us(1, 1000), S(30));
	CHECK_EQ_INT(hcloud_check_us(2, 3), S(4));
}

int main(void)
{
	test_passes();
	test_later_passes();
	test_bad_answers();
	test_too_many_aliases();
	test_actions();
	test_words();
	test_times();
	return check_result();
}
