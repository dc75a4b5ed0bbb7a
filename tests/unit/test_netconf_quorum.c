/* SPDX-License-Identifier: Apache-2.0 */
/* When etcd's quorum hangs on this node, and what is read of etcd's own list of its members. */
#include "netconf/probe/quorum.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "check.h"

/* A letter a member: S self, W another that is well, U one that is unwell; l behind one: a learner;
 * s: this node, and it is unwell. */
static size_t make(const char *text, struct quorum_member *ret_members)
{
	static char url[] = "https://10.0.0.9:2380", names[8][4];
	size_t n = 0;

	for (; *text != '\0'; text++) {
		struct quorum_member *member = &ret_members[n];

		if (*text == 'l') {
			ret_members[n - 1].is_voter = false;
			continue;
		}
		(void) snprintf(names[n], sizeof(names[n]), "m%zu", n + 1);
		*member = (struct quorum_member){
		    .name = names[n],
		    .peer_url = url,
		    .is_voter = true,
		    .is_self = *text == 'S' || *text == 's',
		    .is_well = *text == 'S' || *text == 'W',
		};
		n++;
	}
	return n;
}

static void test_judging(void)
{
	static const struct {
		const char *members;
		bool hangs_on_self;
	} cases[] = {
	    {"", false},      {"S", false}, /* alone: nobody else is unwell */
	    {"WW", false},                  /* not a member */
	    {"WU", false},                  /* the same, and it hangs on another */
	    {"SW", false},                  /* two never do without one, but all are well */
	    {"SU", false},                  /* lost already */
	    {"SWW", false},                 /* two are enough of three */
	    {"SWU", true},                  /* two are left, and one would be */
	    {"USW", true},                  /* in whatever order */
	    {"SUU", false},                 /* lost already */
	    {"sWU", false},                 /* lost already, since this one is unwell */
	    {"sWW", false},                 /* this one is not needed */
	    {"SWWU", true},                 /* three of four are needed */
	    {"SWWW", false},                /* all are well */
	    {"SWWWU", false},               /* three of five are left */
	    {"SWWUU", true},                /* two would be */
	    {"SWUUU", false},               /* lost already */
	    {"SWWUl", false},               /* a learner does not count */
	    {"SWUWl", true},                /* nor does it help */
	    {"SlWWU", false},               /* this one has no vote to lose */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct quorum_member members[8];
		struct quorum quorum = {.members = members, .n = make(cases[i].members, members)};
		char reason[QUORUM_REASON_MAX] = "";

		if (!CHECK_EQ_INT(quorum_hangs_on_self(&quorum, reason), cases[i].hangs_on_self) ||
		    !CHECK_EQ_INT(reason[0] != '\0', cases[i].hangs_on_self))
			(void) fprintf(stderr, "in: %s\n", cases[i].members);
	}
}

static void test_words(void)
{
	struct quorum_member members[8];
	struct quorum quorum = {.members = members, .n = make("SWWUU", members)};
	char reason[QUORUM_REASON_MAX], empty[] = "";

	members[4].name = empty;
	members[4].peer_url = NULL;
	CHECK(quorum_hangs_on_self(&quorum, reason));
	CHECK_EQ_STR(reason,
	             "etcd has 5 members and needs 3, and does not hear from 'm4' "
	             "(https://10.0.0.9:2380), 'a member that never started': if this change "
	             "cut this node off, the quorum would be lost. Mend that first, or apply it "
	             "with --even-without-quorum");
}

static void add_address(struct model *model, const char *text)
{
	struct prefix prefix = {0};

	CHECK_EQ_INT(prefix_parse(text, &prefix), 0);
	(void) model_add_address(model, "eth0", &prefix);
	model_normalise(model);
}

static int read_text(const char *text, const struct model *have, struct quorum *ret_quorum)
{
	return quorum_read(text, strlen(text), have, ret_quorum);
}

static void test_reading(void)
{
	static const char answer[] =
	    "{\"header\":{\"cluster_id\":\"14841639068965178418\",\"member_id\":\"1\"},\"members\":["
	    "{\"ID\":\"10276657743932975437\",\"name\":\"n1\",\"peerURLs\":[\"https://10.0.0.1:2380\"],"
	    "\"clientURLs\":[\"https://127.0.0.1:2379\",\"https://10.0.0.1:2379\"]},"
	    "{\"ID\":\"2\",\"name\":\"n2\",\"peerURLs\":[\"https://[fd00::2]:2380\"],"
	    "\"clientURLs\":[\"https://127.0.0.1:2379\"]},"
	    "{\"ID\":\"3\",\"peerURLs\":[\"https://n3.example.org:2380\"],\"isLearner\":true}]}";
	AUTO(model_free) struct model *have = model_new();
	struct quorum quorum = {0};

	add_address(have, "127.0.0.1/8");
	add_address(have, "10.0.0.1/24");
	CHECK_EQ_INT(read_text(answer, have, &quorum), 0);
	if (!CHECK_EQ_INT(quorum.n, 3))
		return;
	CHECK_EQ_STR(quorum.members[0].client_url, "https://10.0.0.1:2379");
	CHECK_EQ_STR(quorum.members[1].client_url, "https://127.0.0.1:2379");
	CHECK_EQ_STR(quorum.members[2].name, "");
	CHECK(quorum.members[2].client_url == NULL);
	CHECK_EQ_STR(quorum.members[2].peer_url, "https://n3.example.org:2380");
	/* That its client port is on the loopback is so of many nodes. */
	CHECK(quorum.members[0].is_self && !quorum.members[1].is_self && !quorum.members[2].is_self);
	CHECK(quorum.members[0].is_voter && !quorum.members[2].is_voter);
	CHECK(quorum_has_others(&quorum));
	quorum_fini(&quorum);

	CHECK_EQ_INT(read_text("", have, &quorum), -EBADMSG);
	CHECK_EQ_INT(read_text("{\"error\": \"not found\"}", have, &quorum), -EBADMSG);
	CHECK_EQ_INT(read_text("{\"members\": {}}", have, &quorum), -EBADMSG);
	CHECK_EQ_INT(read_text("{\"members\": [{}, 7]}", have, &quorum), -EBADMSG);
	CHECK_EQ_INT(read_text("{\"members\": []}", have, &quorum), 0);
	CHECK(!quorum_has_others(&quorum));
	quorum_fini(&quorum);
}

static void test_endpoints(void)
{
	static const struct {
		const char *url, *endpoint; /* NULL: none */
	} cases[] = {
	    {"https://10.0.0.1:2380", "10.0.0.1:2380"},
	    {"https://10.0.0.1:2380/", "10.0.0.1:2380"},
	    {"http://[fd00::1]:2380", "[fd00::1]:2380"},
	    {"https://10.0.0.1", "10.0.0.1:443"},
	    {"http://10.0.0.1", "10.0.0.1:80"},
	    {"https://n1:2380", NULL},
	    {"unix://10.0.0.1:2380", NULL},
	    {"10.0.0.1:2380", NULL},
	    {"", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct endpoint endpoint;
		char text[ENDPOINT_TEXT_MAX];
		int r = quorum_endpoint(cases[i].url, &endpoint);

		CHECK_EQ_INT(r, cases[i].endpoint != NULL ? 0 : -EINVAL);
		if (r == 0 && cases[i].endpoint != NULL)
			CHECK_EQ_STR(endpoint_format(&endpoint, text), cases[i].endpoint);
	}
}

int main(void)
{
	test_judging();
	test_words();
	test_reading();
	test_endpoints();
	return check_result();
}
