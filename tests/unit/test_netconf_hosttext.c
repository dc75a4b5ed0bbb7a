/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of shared files: ours goes in and out, and others' comes back as it was, byte by byte. */
#include <errno.h>

#include "base/mem.h"
#include "check.h"
#include "netconf/host/hosttext.h"

#define BEGIN "# begin fairlead (netconf writes this part)\n"
#define END "# end fairlead\n"
#define ASIDE "# fairlead set aside: "
#define OWN "# fairlead wrote this file (netconf); changes are lost.\n"

static void add_resolver(struct host *host, const char *text)
{
	struct addr addr;

	CHECK_EQ_INT(addr_parse(text, &addr), 0);
	host_add_resolver(host, &addr);
	host->has |= HOST_RESOLVERS;
}

static struct host two_resolvers(void)
{
	struct host host = {0};

	add_resolver(&host, "10.0.0.1");
	add_resolver(&host, "fd00::1");
	host_add_text(&host.search, "example.org");
	host_add_text(&host.search, "lab");
	host.has |= HOST_SEARCH;
	return host;
}

/* Each: others' text, with the block in front of it, and back. */
static void test_join_and_foreign(void)
{
	static const struct {
		const char *block, *foreign, *joined;
	} cases[] = {
	    {"", "", ""},
	    {"", "nameserver 8.8.8.8\n", "nameserver 8.8.8.8\n"},
	    {"nameserver 10.0.0.1\n", "", BEGIN "nameserver 10.0.0.1\n" END},
	    {"nameserver 10.0.0.1\n", "nameserver 8.8.8.8\nsearch a\noptions edns0\n",
	     BEGIN "nameserver 10.0.0.1\n" END ASIDE "nameserver 8.8.8.8\nsearch a\noptions edns0\n"},
	    {"search .\n", "domain a\n  search\tb\nnameserver 8.8.8.8",
	     BEGIN "search .\n" END ASIDE "domain a\n" ASIDE "  search\tb\nnameserver 8.8.8.8"},
	    {"nameserver 10.0.0.1\nsearch x\n", "\n\nnameserver 1.1.1.1\n\nsearch y",
	     BEGIN "nameserver 10.0.0.1\nsearch x\n" END "\n\n" ASIDE "nameserver 1.1.1.1\n\n" ASIDE
	           "search y"},
	    {"10.0.0.5 a b\n", "127.0.0.1 localhost\nsearch no\n#nameserver\n",
	     BEGIN "10.0.0.5 a b\n" END "127.0.0.1 localhost\nsearch no\n#nameserver\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) char *joined = hosttext_join(cases[i].block, cases[i].foreign);
		AUTO(free) char *foreign = NULL;
		AUTO(free) char *block = hosttext_block(joined);
		unsigned line = 0;

		CHECK_EQ_STR(joined, cases[i].joined);
		CHECK_EQ_STR(block, cases[i].block);
		CHECK_EQ_INT(hosttext_foreign(joined, &foreign, &line), 0);
		CHECK_EQ_STR(foreign, cases[i].foreign);
	}
}

/* What looks like one of ours, and says nothing that we would set aside, is another's. */
static void test_not_set_aside(void)
{
	static const char *const texts[] = {
	    ASIDE "# end fairlead\n",
	    ASIDE "options edns0\n",
	    ASIDE ASIDE "nameserver 8.8.8.8\n",
	    ASIDE,
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		AUTO(free) char *foreign = NULL;
		AUTO(free) char *joined = NULL;
		AUTO(free) char *again = NULL;
		unsigned line = 0;

		CHECK_EQ_INT(hosttext_foreign(texts[i], &foreign, &line), 0);
		CHECK_EQ_STR(foreign, texts[i]);
		joined = hosttext_join("nameserver 10.0.0.1\n", foreign);
		CHECK_EQ_INT(hosttext_foreign(joined, &again, &line), 0);
		CHECK_EQ_STR(again, texts[i]);
	}
}

static void test_broken_marks(void)
{
	static const struct {
		const char *text;
		unsigned line;
	} cases[] = {
	    {"a\n" BEGIN "b\n", 2},
	    {"a\n" END, 2},
	    {BEGIN BEGIN END, 2},
	    {BEGIN END END "a\n", 3},
	    {"# begin fairlead (netconf writes this part)", 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *foreign = NULL;
		unsigned line = 0;

		CHECK_EQ_INT(hosttext_foreign(cases[i].text, &foreign, &line), -EBADMSG);
		CHECK_EQ_INT(line, cases[i].line);
		CHECK(foreign == NULL);
	}
}

static void test_resolvers(void)
{
	struct host host = two_resolvers(), none = {.has = HOST_SEARCH}, empty = {0};
	struct host no_servers = {.has = HOST_RESOLVERS};
	AUTO(free) char *block = hosttext_resolv_block(&host);
	AUTO(free) char *drop_in = hosttext_resolved(&host);
	AUTO(free) char *no_search = hosttext_resolv_block(&none);
	AUTO(free) char *no_domains = hosttext_resolved(&none);
	AUTO(free) char *nothing = hosttext_resolv_block(&empty);
	AUTO(free) char *still_nothing = hosttext_resolv_block(&no_servers);

	CHECK_EQ_STR(block, "nameserver 10.0.0.1\nnameserver fd00::1\nsearch example.org lab\n");
	CHECK_EQ_STR(drop_in, OWN "[Resolve]\nDNS=\nDNS=10.0.0.1 fd00::1\n"
	                          "Domains=\nDomains=example.org lab\n");
	CHECK_EQ_STR(no_search, "search .\n");
	CHECK_EQ_STR(no_domains, OWN "[Resolve]\nDomains=\n");
	CHECK_EQ_STR(nothing, "");
	CHECK_EQ_STR(still_nothing, "");
	CHECK(hosttext_resolved(&empty) == NULL);
	CHECK(hosttext_resolved(&no_servers) == NULL);
	CHECK(hosttext_is_ours(drop_in) && !hosttext_is_ours("[Resolve]\n"));
	host_fini(&host);
}

static void test_hosts(void)
{
	struct host host = {.has = HOST_ENTRIES};
	struct addr addr;
	struct host_entry *entry;
	AUTO(free) char *block = NULL;

	CHECK_EQ_INT(addr_parse("10.0.0.5", &addr), 0);
	entry = host_add_entry(&host, &addr);
	host_add_text(&entry->names, "registry.example.org");
	host_add_text(&entry->names, "registry");
	CHECK_EQ_INT(addr_parse("fd00::5", &addr), 0);
	host_add_text(&host_add_entry(&host, &addr)->names, "six");
	block = hosttext_hosts_block(&host);
	CHECK_EQ_STR(block, "10.0.0.5 registry.example.org registry\nfd00::5 six\n");
	host_fini(&host);
}

static void test_time(void)
{
	struct host host = {.has = HOST_TIME, .time_enabled = true};
	AUTO(free) char *timesyncd = NULL;
	AUTO(free) char *chrony = NULL;

	CHECK(hosttext_timesyncd(&host) == NULL && hosttext_chrony(&host) == NULL);
	host_add_text(&host.time_servers, "time.example.org");
	host_add_text(&host.time_servers, "fd00::7b");
	timesyncd = hosttext_timesyncd(&host);
	CHECK_EQ_STR(timesyncd, OWN "[Time]\nNTP=\nNTP=time.example.org fd00::7b\n");
	chrony = hosttext_chrony(&host);
	CHECK_EQ_STR(chrony, OWN "server time.example.org iburst prefer\n"
	                         "server fd00::7b iburst prefer\n");
	host.time_enabled = false;
	CHECK(hosttext_timesyncd(&host) == NULL && hosttext_chrony(&host) == NULL);
	host_fini(&host);

	host = (struct host){.has = HOST_TIME, .time_enabled = true};
	host_add_text(&host.time_servers, "/dev/ptp0");
	free(chrony);
	chrony = hosttext_chrony(&host);
	CHECK_EQ_STR(chrony, OWN "refclock PHC /dev/ptp0 poll 2 prefer\n");
	host_fini(&host);
}

static void test_chrony_directory(void)
{
	static const struct {
		const char *text, *dir;
	} cases[] = {
	    {"# comment\nconfdir /etc/chrony/conf.d\nsourcedir /x\n", "/etc/chrony/conf.d"},
	    {"  confdir\t/a/b /c", "/a/b"},
	    {"#confdir /a\nconfdirs /b\n", NULL},
	    {"confdir", NULL},
	    {"confdir \nsourcedir /x\n", NULL},
	    {"", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) char *dir = hosttext_chrony_directory(cases[i].text);

		CHECK_EQ_STR(dir, cases[i].dir);
	}
}

static void test_generator(void)
{
	static const struct {
		const char *text, *generator;
	} cases[] = {
	    {"# Generated by NetworkManager\nnameserver 1.1.1.1\n", "# Generated by NetworkManager"},
	    {"\n; file generated by resolvconf(8)", "; file generated by resolvconf(8)"},
	    {"# an administrator's\nnameserver 1.1.1.1\n", NULL},
	    {"search generated by me\n", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) char *generator = hosttext_generator(cases[i].text);

		CHECK_EQ_STR(generator, cases[i].generator);
	}
}

int main(void)
{
	test_join_and_foreign();
	test_not_set_aside();
	test_broken_marks();
	test_resolvers();
	test_hosts();
	test_time();
	test_chrony_directory();
	test_generator();
	return check_result();
}
