/* SPDX-License-Identifier: Apache-2.0 */
/* What `fairlead status` makes of given answers, to the byte. test_cli_status.c has the program. */
#include "cli/status/board.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/common/table.h"
#include "tests/unit/check.h"
#include "tests/unit/nodeanswers.h"

/* Answers, or -errno in the place of one; NULL: an answer without objects. */
struct said {
	int r;
	const char *lines;
};

static void take(struct node_reply replies[static NODE_QUESTIONS],
                 const struct said said[static NODE_QUESTIONS])
{
	for (size_t i = 0; i < NODE_QUESTIONS; i++) {
		AUTO(free)
		char *text = xasprintf("%s%s", said[i].lines != NULL ? said[i].lines : "",
		                       said[i].lines == NULL || said[i].lines[0] != 'e' ? "ok\n" : "");

		replies[i] = (struct node_reply){.r = said[i].r};
		if (said[i].r == 0)
			CHECK_EQ_INT(client_parse_answer(text, &replies[i].answer), 0);
	}
}

static size_t longest_line(const char *text)
{
	size_t longest = 0;

	for (; *text != '\0'; text += strcspn(text, "\n") + 1) {
		AUTO(free) char *line = xstrndup(text, strcspn(text, "\n"));

		longest = MAX(longest, table_width(line));
	}
	return longest;
}

static size_t count_lines(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text++)
		n += *text == '\n' ? 1 : 0;
	return n;
}

static void check_board(const struct said said[static NODE_QUESTIONS], int want_exit,
                        const char *want)
{
	struct node_reply replies[NODE_QUESTIONS];
	struct board board = {0};
	AUTO(free) char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	take(replies, said);
	board_fill(&board, replies, NOW_US);
	board_print(out, &board, 80);
	(void) fclose(out);
	CHECK_EQ_STR(text, want);
	CHECK(longest_line(text) <= 80);
	CHECK(count_lines(text) <= 24);
	CHECK_EQ_INT(board_exit(&board), want_exit);
	board_fini(&board);
	node_replies_fini(replies);
}

static void test_well(void)
{
	static const struct said said[NODE_QUESTIONS] = {
	    {0, VIP},  {0, PRISM}, {0, HEALTH}, {0, MEMBERS},
	    {0, NULL}, {0, JOBS},  {0, RECORD}, {0, NET},
	};

	check_board(said, CLI_OK,
	            "node n1: all is well\n"
	            "\n"
	            "ok       vip        10.0.0.5 on eth0: n1 (this node); fence in 2.5s; bound 3.1s\n"
	            "ok       prism      1 of 1 upstreams good; 5 of 30000 connections\n"
	            "ok       etcd       3 of 3 members answer; n1 leads; n2 at 21% of its 2.0 GB; no\n"
	            "                    alarm\n"
	            "ok       snapshot   hourly: last verified 12m ago; next in 47m; far has all;\n"
	            "                    drill passed 2d ago\n"
	            "ok       record     recording; whole until 0.8 s ago; 12 MB\n"
	            "ok       network    as it was confirmed\n");
}

/* Not a matter by itself: what is wrong with the target is. */
static void test_waiting(void)
{
	static const char jobs[] = "{\"job\":\"hourly\",\"last_good_age_s\":750,\"next_due_s\":2850,"
	                           "\"waiting\":3,\"unsent\":2,\"targets\":[{\"target\":\"far\","
	                           "\"pending\":5}]}\n";
	static const struct said said[NODE_QUESTIONS] = {
	    {0, VIP},  {0, PRISM}, {0, HEALTH}, {0, MEMBERS},
	    {0, NULL}, {0, jobs},  {0, RECORD}, {0, NET},
	};

	check_board(said, CLI_OK,
	            "node n1: all is well\n"
	            "\n"
	            "ok       vip        10.0.0.5 on eth0: n1 (this node); fence in 2.5s; bound 3.1s\n"
	            "ok       prism      1 of 1 upstreams good; 5 of 30000 connections\n"
	            "ok       etcd       3 of 3 members answer; n1 leads; n2 at 21% of its 2.0 GB; no\n"
	            "                    alarm\n"
	            "ok       snapshot   hourly: last verified 12m ago; next in 47m; far lacks 5; 3\n"
	            "                    wait for a target; 2 removed unsent\n"
	            "ok       record     recording; whole until 0.8 s ago; 12 MB\n"
	            "ok       network    as it was confirmed\n");
}

static void test_troubled(void)
{
	static const struct said said[NODE_QUESTIONS] = {
	    [NODE_VIP] = {0, "{\"vip\":\"10.0.0.5\",\"link\":\"eth0\",\"node\":\"n1\",\"state\":"
	                     "\"standby\",\"owner\":null,\"bound_ms\":3100,\"hold\":true,\"etcd_ok\":"
	                     "true,\"candidates\":[{}],\"warnings\":[\"odd \\u001b[31m\"]}\n"},
	    [NODE_PRISM] = {-ETIMEDOUT, NULL},
	    [NODE_HEALTH] = {0, "{\"status\":\"critical\",\"members\":3,\"answer\":2}\n"
	                        "{\"id\":\"no-space\",\"severity\":\"critical\",\"since_s\":1767225480,"
	                        "\"sentence\":\"n1 is full\",\"to_do\":\"Make room.\"}\n"},
	    [NODE_MEMBERS] = {-ETIMEDOUT, NULL},
	    [NODE_ALARMS] = {0, "{\"node\":\"n1\",\"alarm\":\"NOSPACE\"}\n"},
	    [NODE_JOBS] = {0, "{\"job\":\"hourly\",\"state\":\"taking\",\"taken_bytes\":50,"
	                      "\"taken_of_bytes\":200}\n"},
	    [NODE_RECORD] = {0, "error notfound nothing is recorded\n"},
	    [NODE_NET] = {0, "{\"change\":{\"id\":\"7f\",\"phase\":\"awaiting\",\"left_s\":42.7},"
	                     "\"blocked\":null,\"confirmed\":true,\"drift\":{\"state\":\"off\"}}\n"},
	};

	check_board(said, CLI_FAILED,
	            "node n1: 3 failed, 4 warnings\n"
	            "\n"
	            "FAILED   vip        10.0.0.5 on eth0: nobody; bound 3.1s; standby here\n"
	            "FAILED   prism      does not answer: it hangs, or has too much to do\n"
	            "FAILED   etcd       2 of 3 members answer; they have not told their figures in\n"
	            "                    time; alarm NOSPACE of n1; 1 finding\n"
	            "WARNING  network    a change is not confirmed: 42 s left\n"
	            "ok       snapshot   hourly: none on this node; taking, 25%\n"
	            "\n"
	            "FAILED   10.0.0.5: nobody owns it\n"
	            "         See why no node takes it: fairlead vip status, on each of them\n"
	            "FAILED   prism does not answer\n"
	            "         systemctl status fairlead-prism; journalctl -u fairlead-prism\n"
	            "FAILED   n1 is full (no-space, for 2m)\n"
	            "         Make room.\n"
	            "WARNING  10.0.0.5: this node is on hold\n"
	            "         When the maintenance is over: fairlead vip unhold\n"
	            "WARNING  10.0.0.5: no other node could take it over\n"
	            "         See that vipd runs on the other nodes\n"
	            "WARNING  10.0.0.5: odd ?[31m\n"
	            "WARNING  the change 7f is undone in 42 s unless it is confirmed\n"
	            "         If all is well: fairlead net confirm 7f\n");
}

/* Nothing is said of what etcd alone knows: who owns it, and who could. */
static void test_vip_without_etcd(void)
{
	static const struct said said[NODE_QUESTIONS] = {
	    {0,
	     "{\"vip\":\"10.0.0.5\",\"link\":\"eth0\",\"node\":\"n1\",\"state\":\"standby\",\"owner\":"
	     "null,\"etcd_ok\":false,\"etcd_endpoint\":\"e\",\"candidates\":[]}\n"},
	    {0, PRISM},
	    {0, HEALTH},
	    {0, MEMBERS},
	    {0, NULL},
	    {0, JOBS},
	    {0, RECORD},
	    {0, NET},
	};

	check_board(said, CLI_FAILED,
	            "node n1: 1 failed, 0 warnings\n"
	            "\n"
	            "FAILED   vip        10.0.0.5 on eth0: owner not known; standby here\n"
	            "ok       prism      1 of 1 upstreams good; 5 of 30000 connections\n"
	            "ok       etcd       3 of 3 members answer; n1 leads; n2 at 21% of its 2.0 GB; no\n"
	            "                    alarm\n"
	            "ok       snapshot   hourly: last verified 12m ago; next in 47m; far has all;\n"
	            "                    drill passed 2d ago\n"
	            "ok       record     recording; whole until 0.8 s ago; 12 MB\n"
	            "ok       network    as it was confirmed\n"
	            "\n"
	            "FAILED   10.0.0.5: etcd does not answer vipd; the last endpoint tried is e\n"
	            "         See whether etcd runs and has a quorum: fairlead etcd health\n");
}

/* The watchdog takes its time until it is sure: what is so now is said before, and then once. */
static void test_silent_member(void)
{
	struct said said[NODE_QUESTIONS] = {
	    {0, VIP},
	    {0, PRISM},
	    {0, "{\"status\":\"ok\",\"members\":2,\"answer\":2}\n"},
	    {0, "{\"node\":\"n1\",\"leads\":true}\n{\"node\":\"n2\",\"error\":\"refused\"}\n"},
	    {0, NULL},
	    {0, JOBS},
	    {0, RECORD},
	    {0, NET},
	};

	check_board(said, CLI_WARNED,
	            "node n1: 0 failed, 1 warning\n"
	            "\n"
	            "WARNING  etcd       1 of 2 members answer; n1 leads; no alarm\n"
	            "ok       vip        10.0.0.5 on eth0: n1 (this node); fence in 2.5s; bound 3.1s\n"
	            "ok       prism      1 of 1 upstreams good; 5 of 30000 connections\n"
	            "ok       snapshot   hourly: last verified 12m ago; next in 47m; far has all;\n"
	            "                    drill passed 2d ago\n"
	            "ok       record     recording; whole until 0.8 s ago; 12 MB\n"
	            "ok       network    as it was confirmed\n"
	            "\n"
	            "WARNING  n2 does not answer: refused\n"
	            "         If that lasts: see whether its node and its etcd run\n");
	said[NODE_HEALTH].lines =
	    "{\"status\":\"warning\",\"members\":2,\"answer\":1}\n"
	    "{\"id\":\"member-down\",\"severity\":\"warning\",\"subject\":\"n2\",\"since_s\":"
	    "1767225480,\"sentence\":\"n2 is down\",\"to_do\":\"Start it.\"}\n";
	check_board(said, CLI_WARNED,
	            "node n1: 0 failed, 1 warning\n"
	            "\n"
	            "WARNING  etcd       1 of 2 members answer; n1 leads; no alarm; 1 finding\n"
	            "ok       vip        10.0.0.5 on eth0: n1 (this node); fence in 2.5s; bound 3.1s\n"
	            "ok       prism      1 of 1 upstreams good; 5 of 30000 connections\n"
	            "ok       snapshot   hourly: last verified 12m ago; next in 47m; far has all;\n"
	            "                    drill passed 2d ago\n"
	            "ok       record     recording; whole until 0.8 s ago; 12 MB\n"
	            "ok       network    as it was confirmed\n"
	            "\n"
	            "WARNING  n2 is down (member-down, for 2m)\n"
	            "         Start it.\n");
}

/* What etcdwatch leaves open is not well. */
static void test_not_told(void)
{
	static const struct said said[NODE_QUESTIONS] = {
	    {0, VIP},
	    {0, PRISM},
	    {0, HEALTH},
	    {0, MEMBERS},
	    {0, "error failed no member of etcd answers\n"},
	    {-ETIMEDOUT, NULL},
	    {-EBADMSG, NULL},
	    {0, NET},
	};

	check_board(said, CLI_WARNED,
	            "node n1: 0 failed, 3 warnings\n"
	            "\n"
	            "WARNING  alarms     not known\n"
	            "WARNING  snapshot   not known\n"
	            "WARNING  record     not known\n"
	            "ok       vip        10.0.0.5 on eth0: n1 (this node); fence in 2.5s; bound 3.1s\n"
	            "ok       prism      1 of 1 upstreams good; 5 of 30000 connections\n"
	            "ok       etcd       3 of 3 members answer; n1 leads; n2 at 21% of its 2.0 GB\n"
	            "ok       network    as it was confirmed\n"
	            "\n"
	            "WARNING  etcdwatch does not tell the alarms: no member of etcd answers\n"
	            "         journalctl -u fairlead-etcdwatch may say more\n"
	            "WARNING  etcdwatch does not tell how its snapshots are: no answer in time\n"
	            "         journalctl -u fairlead-etcdwatch may say more\n"
	            "WARNING  etcdwatch does not tell how the record is: its answer was cut off\n"
	            "         journalctl -u fairlead-etcdwatch may say more\n");
}

/* A port that somebody else has; one that is open, none, and an older daemon that does not tell. */
static void test_ports(void)
{
	static const struct said said[NODE_QUESTIONS] = {
	    {0, VIP},
	    {0, PRISM},
	    {0, HEALTH},
	    {0, MEMBERS},
	    {0, NULL},
	    {0, JOBS},
	    {0, RECORD},
	    {0, NET},
	    {0, "{\"metrics\":\"\",\"port\":{\"listen\":\"0.0.0.0:9650\",\"open\":false,"
	        "\"error\":\"Address already in use\"}}\n"},
	    {0, "{\"metrics\":\"\",\"port\":{\"listen\":\"0.0.0.0:9651\",\"open\":true,\"error\":"
	        "null}}\n"},
	    {0, "{\"metrics\":\"\",\"port\":null}\n"},
	    {0, "{\"metrics\":\"\"}\n"},
	};

	check_board(said, CLI_WARNED,
	            "node n1: 0 failed, 1 warning\n"
	            "\n"
	            "WARNING  metrics    the port of vipd, 0.0.0.0:9650, is not open\n"
	            "ok       vip        10.0.0.5 on eth0: n1 (this node); fence in 2.5s; bound 3.1s\n"
	            "ok       prism      1 of 1 upstreams good; 5 of 30000 connections\n"
	            "ok       etcd       3 of 3 members answer; n1 leads; n2 at 21% of its 2.0 GB; no\n"
	            "                    alarm\n"
	            "ok       snapshot   hourly: last verified 12m ago; next in 47m; far has all;\n"
	            "                    drill passed 2d ago\n"
	            "ok       record     recording; whole until 0.8 s ago; 12 MB\n"
	            "ok       network    as it was confirmed\n"
	            "\n"
	            "WARNING  nobody can scrape vipd: its port 0.0.0.0:9650 is not open: Address\n"
	            "         already in use\n"
	            "         ss -ltnp tells who has it; 'metrics' of NodeConfig names it\n");
}

static void test_nobody(void)
{
	struct said said[NODE_QUESTIONS];

	for (size_t i = 0; i < NODE_QUESTIONS; i++)
		said[i] = (struct said){-ENOENT, NULL};
	check_board(said, CLI_UNREACHABLE,
	            "node -: no daemon answers\n"
	            "\n"
	            "-        vipd       does not run here: it has no socket\n"
	            "-        prism      does not run here: it has no socket\n"
	            "-        etcdwatch  does not run here: it has no socket\n"
	            "-        netconf    does not run here: it has no socket\n");
	said[NODE_NET].r = -EACCES;
	check_board(said, CLI_DENIED,
	            "node -: no daemon answers\n"
	            "\n"
	            "FAILED   netconf    is not for this user\n"
	            "-        vipd       does not run here: it has no socket\n"
	            "-        prism      does not run here: it has no socket\n"
	            "-        etcdwatch  does not run here: it has no socket\n"
	            "\n"
	            "FAILED   netconf was not asked: its socket is not for this user\n"
	            "         Be root, or join the group of its socket: usermod -aG fairlead USER\n");
}

/* What one thing alone comes to, and the first thing that is then said. */
static const struct {
	enum node_question question;
	const char *lines;
	enum board_level level;
	const char *what; /* NULL: nothing */
} rows[] = {
    {NODE_VIP, "", BOARD_OK, NULL},
    {NODE_VIP, "{\"vip\":\"v\",\"owner\":\"n2\",\"etcd_ok\":false}\n", BOARD_FAILED,
     "v: etcd has not answered vipd yet"},
    {NODE_VIP,
     "{\"vip\":\"v\",\"owner\":null,\"etcd_ok\":false,\"etcd_endpoint\":\"https://e:2379\","
     "\"candidates\":[]}\n",
     BOARD_FAILED, "v: etcd does not answer vipd; the last endpoint tried is https://e:2379"},
    {NODE_VIP, "{\"vip\":\"v\",\"owner\":\"n2\",\"state\":\"down\",\"reason\":\"no link\"}\n",
     BOARD_WARNED, "v: this node takes no part: no link"},
    {NODE_VIP, "{\"vip\":\"v\",\"owner\":\"n2\",\"health\":\"bad\",\"health_reason\":\"x\"}\n",
     BOARD_WARNED, "v: the API server of this node is not healthy: x"},
    {NODE_VIP,
     "{\"vip\":\"v\",\"owner\":\"n2\",\"in_use\":true,\"foreign_mac\":\"02::1\","
     "\"foreign_node\":\"n3\"}\n",
     BOARD_FAILED, "v: a host that is not the owner has claimed it: 02::1, node n3"},
    {NODE_VIP,
     "{\"vip\":\"v\",\"state\":\"down\",\"reason\":\"no link\",\"owner\":null,\"etcd_ok\":false,"
     "\"link_problem\":\"link e9 does not exist\"}\n",
     BOARD_FAILED, "v: link e9 does not exist"},
    {NODE_VIP,
     "{\"vip\":\"v\",\"owner\":\"n2\",\"etcd_ok\":true,\"link_problem\":\"outside\","
     "\"warnings\":[\"outside\"]}\n",
     BOARD_WARNED, "v: outside"},
    {NODE_VIP, "{\"vip\":\"v\",\"owner\":\"n2\",\"foreign_mac\":\"02::1\"}\n", BOARD_WARNED,
     "v: a host that is not the owner has claimed it: 02::1"},
    {NODE_PRISM, "{\"usable\":0}\n", BOARD_FAILED,
     "no API server is in good order, or none is known"},
    {NODE_PRISM, "{\"usable\":1,\"accepting\":false}\n", BOARD_WARNED,
     "there is no room for another connection"},
    {NODE_PRISM, "{\"usable\":1,\"checks\":true,\"probing\":false}\n", BOARD_WARNED,
     "the probe process does not run: health is judged by traffic alone"},
    {NODE_PRISM, "{\"usable\":1,\"sources\":[{\"source\":\"dns\",\"error\":\"no\"}]}\n",
     BOARD_WARNED, "source dns cannot be read: no"},
    {NODE_PRISM,
     "{\"usable\":1}\n{\"upstream\":\"a\",\"state\":\"down\",\"since_s\":61.5,\"reason\":\"r\"}\n",
     BOARD_WARNED, "upstream a has been down for 1m: r"},
    {NODE_PRISM, "{\"usable\":1}\n{\"upstream\":\"a\",\"state\":\"down\",\"drained\":true}\n",
     BOARD_OK, NULL},
    {NODE_PRISM,
     "{\"usable\":1,\"checks\":false}\n{\"upstream\":\"a\",\"state\":\"unknown\",\"usable\":true}"
     "\n",
     BOARD_OK, NULL},
    {NODE_PRISM,
     "{\"usable\":1}\n{\"upstream\":\"a\",\"state\":\"alive\",\"reason\":\"r\","
     "\"readiness_unknown\":true}\n",
     BOARD_WARNED, "an API server does not tell whether it is ready: r"},
    {NODE_JOBS, "{\"job\":\"j\",\"error\":\"no\"}\n", BOARD_WARNED, "job j: no"},
    {NODE_JOBS, "{\"job\":\"j\",\"frozen\":\"small\"}\n", BOARD_WARNED, "job j: small"},
    {NODE_JOBS, "{\"job\":\"j\",\"targets\":[{\"target\":\"t\",\"error\":\"no\"}]}\n", BOARD_WARNED,
     "job j, target t: no"},
    {NODE_JOBS, "{\"job\":\"j\",\"set_aside\":1}\n", BOARD_WARNED,
     "job j: snapshots that did not pass their proof are in 'rejected'"},
    {NODE_JOBS, "{\"job\":\"j\",\"drill\":{\"failed\":true,\"reason\":\"r\"}}\n", BOARD_WARNED,
     "job j: r"},
    {NODE_RECORD, "{\"error\":\"no disk\"}\n", BOARD_WARNED, "nothing is recorded: no disk"},
    {NODE_NET, "{\"blocked\":{\"id\":\"7\",\"reason\":\"files\"}}\n", BOARD_WARNED,
     "netconf changes nothing: files"},
    {NODE_NET, "{\"change\":{\"id\":\"7\",\"phase\":\"half-undone\",\"left_undone\":\"x\"}}\n",
     BOARD_FAILED, "the change 7 could not be undone: x"},
    {NODE_NET, "{\"change\":{\"id\":\"7\",\"phase\":\"rolling-back\",\"reason\":\"r\"}}\n",
     BOARD_WARNED, "the change 7 is being undone: r"},
    {NODE_NET, "{\"change\":{\"id\":\"7\",\"phase\":\"probing\",\"left_s\":3}}\n", BOARD_OK, NULL},
    {NODE_NET, "{\"drift\":{\"state\":\"fight\",\"steps\":2,\"first\":\"f\"}}\n", BOARD_WARNED,
     "the network differs by 2 steps, and somebody sets it back, the first: f"},
    {NODE_NET,
     "{\"leases\":[{\"link\":\"eth0\",\"family\":4,\"running\":true,\"addresses\":[]}]}\n",
     BOARD_WARNED, "DHCP on eth0 has no IPv4 lease"},
    {NODE_NET, "{}\n", BOARD_OK, NULL},
};

static void judge(struct board *board, enum node_question question, const json_t *objects)
{
	switch (question) {
	case NODE_VIP:
		board_vip(board, objects);
		break;
	case NODE_PRISM:
		board_prism(board, objects);
		break;
	case NODE_JOBS:
		board_snapshots(board, objects, NULL);
		break;
	case NODE_RECORD:
		board_record(board, objects);
		break;
	case NODE_NET:
		board_net(board, objects);
		break;
	case NODE_VIP_PORT:
	case NODE_PRISM_PORT:
	case NODE_ETCD_PORT:
	case NODE_NET_PORT:
	case NODE_HEALTH:
	case NODE_MEMBERS:
	case NODE_ALARMS:
	case NODE_QUESTIONS:
		break;
	}
}

/* To accept data that have become small is wrong where they are damaged. */
static void test_ways_out(void)
{
	static const struct {
		const char *lines, *to_do;
	} cases[] = {
	    {"{\"job\":\"j\",\"frozen\":\"small\"}\nok\n",
	     "If the data may be so small: fairlead etcd snapshot accept"},
	    {"{\"job\":\"j\",\"frozen\":\"the alarm CORRUPT stands\"}\nok\n",
	     "See what etcd says of its data: fairlead etcd alarms, fairlead etcd health"},
	    {"{\"job\":\"j\",\"targets\":[{\"target\":\"t\",\"frozen\":\"small\"}]}\nok\n",
	     "If the data may be so small: fairlead etcd snapshot accept"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(client_answer_free) struct client_answer *answer = NULL;
		struct board board = {0};

		CHECK_EQ_INT(client_parse_answer(cases[i].lines, &answer), 0);
		board_snapshots(&board, answer->objects, NULL);
		CHECK_EQ_STR(board.n_matters > 0 ? board.matters[0].to_do : NULL, cases[i].to_do);
		board_fini(&board);
	}
}

/* Until the watchdog has a name for it. */
static void test_no_leader(void)
{
	json_t *members = json_pack("[{s:s}]", "node", "n1");
	json_t *health = json_pack("[{s:i, s:i}]", "members", 1, "answer", 1);
	struct board board = {0};

	board_etcd(&board, health, members, NULL, 0);
	CHECK_EQ_INT(board_worst(&board), BOARD_FAILED);
	CHECK_EQ_INT(board.n_matters, 1);
	CHECK_EQ_STR(board.n_matters > 0 ? board.matters[0].what : NULL,
	             "etcd has no leader: it takes no writes");
	board_fini(&board);
	(void) json_array_append_new(health,
	                             json_pack("{s:s, s:s, s:s}", "id", "quorum-lost", "severity",
	                                       "critical", "sentence", "most are gone"));
	board_etcd(&board, health, members, NULL, 0);
	CHECK_EQ_INT(board.n_matters, 1);
	CHECK(board.n_matters > 0 && strncmp(board.matters[0].what, "most are gone", 13) == 0);
	board_fini(&board);
	json_decref(members);
	json_decref(health);
}

static void test_rows(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO(free) char *text = xasprintf("%sok\n", rows[i].lines);
		AUTO(client_answer_free) struct client_answer *answer = NULL;
		struct board board = {0};

		CHECK_EQ_INT(client_parse_answer(text, &answer), 0);
		judge(&board, rows[i].question, answer->objects);
		if (!CHECK_EQ_INT(board_worst(&board), rows[i].level) ||
		    !CHECK_EQ_STR(board.n_matters > 0 ? board.matters[0].what : NULL, rows[i].what))
			(void) fprintf(stderr, "  row %zu\n", i);
		board_fini(&board);
	}
}

int main(void)
{
	test_well();
	test_waiting();
	test_troubled();
	test_vip_without_etcd();
	test_silent_member();
	test_not_told();
	test_ports();
	test_nobody();
	test_ways_out();
	test_no_leader();
	test_rows();
	return check_result();
}
