/* SPDX-License-Identifier: Apache-2.0 */
/* `fairlead status`, the whole program, against daemons that answer, hang, are cut off, are gone.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cli/status/board.h"
#include "tests/unit/clirun.h"
#include "tests/unit/nodeanswers.h"
#include "tests/unit/scripted.h"

static const struct scripted_row healthy[] = {
    {"vipd", "vip status", VIP "ok\n"},
    {"prism", "prism status", PRISM "ok\n"},
    {"etcdwatch", "etcd health", HEALTH "ok\n"},
    {"etcdwatch", "etcd status", MEMBERS "ok\n"},
    {"etcdwatch", "etcd alarms", "ok\n"},
    {"etcdwatch", "etcd snapshot jobs", JOBS "ok\n"},
    {"etcdwatch", "etcd record status", RECORD "ok\n"},
    {"netconf", "net status", NET "ok\n"},
};

static void test_program(void)
{
	AUTO(free) char *line = xasprintf("-r %s status", clirun_dir);
	AUTO(free) char *as_json = xasprintf("-r %s status -o json", clirun_dir);
	AUTO(free) char *as_yaml = xasprintf("-r %s status -o yaml", clirun_dir);
	pid_t pid = scripted_start(clirun_dir, healthy, ARRAY_SIZE(healthy));

	clirun_check(line, CLI_OK, "node n1: all is well\n", "");
	clirun_check(as_json, CLI_OK,
	             "{\"node\":\"n1\",\"status\":\"ok\",\"parts\":[{\"part\":\"vip\",", "");
	clirun_check(as_yaml, CLI_OK, "---\nnode: \"n1\"\nstatus: \"ok\"\nparts:\n", "");
	scripted_stop(pid);
	clirun_check(line, CLI_FAILED, "node -: 4 failed, 0 warnings\n", "");
}

/* One that hangs and one that is cut off are lines, and the others are there. */
static void test_trouble(void)
{
	static const struct scripted_row troubled[] = {
	    {"vipd", NULL, VIP "ok\n"},
	    {"prism", NULL, NULL},
	    {"etcdwatch", NULL, HEALTH},
	    {"netconf", NULL, "error busy too many clients\n"},
	};
	struct node_reply replies[NODE_QUESTIONS];
	struct board board = {0};
	pid_t pid = scripted_start(clirun_dir, troubled, ARRAY_SIZE(troubled));

	/* Long enough for those that answer, on any machine. */
	node_ask(clirun_dir, 5 * US_PER_S, replies);
	CHECK_EQ_INT(replies[NODE_PRISM].r, -ETIMEDOUT);
	CHECK_EQ_INT(replies[NODE_HEALTH].r, -EBADMSG);
	CHECK(node_objects(&replies[NODE_VIP]) != NULL);
	CHECK(node_objects(&replies[NODE_NET]) == NULL);
	board_fill(&board, replies, NOW_US);
	CHECK_EQ_INT(board.n_matters, 3);
	CHECK_EQ_STR(board.matters[2].what, "netconf: too many clients");
	board_fini(&board);
	node_replies_fini(replies);
	scripted_stop(pid);
}

/* One that has no socket and is enabled has failed; one that is neither is not of this node. */
static void test_enabled(void)
{
	AUTO(free) char *wants = xasprintf("%s/multi-user.target.wants", clirun_dir);
	AUTO(free) char *link = xasprintf("%s/fairlead-prism.service", wants);
	AUTO(free) char *target = xasprintf("%s/fairlead.target", wants);
	AUTO(free) char *masked = xasprintf("%s/fairlead-netconf.service", clirun_dir);
	AUTO(free) char *gone = xasprintf("%s/fairlead-vipd.service", wants);
	struct node_reply replies[NODE_QUESTIONS];
	struct board board = {0};

	CHECK_EQ_INT(mkdir(wants, 0700), 0);
	CHECK_EQ_INT(symlink("/dev/null", link), 0);
	CHECK_EQ_INT(symlink("/nowhere/at/all", gone), 0);
	CHECK_EQ_INT(node_judge(-ENOENT, "prism", clirun_dir), -ESRCH);
	CHECK_EQ_INT(node_judge(-ENOENT, "vipd", clirun_dir), -ENOENT);
	CHECK_EQ_INT(node_judge(-ENOENT, "netconf", clirun_dir), -ENOENT);
	CHECK_EQ_INT(node_judge(-ENOENT, "prism", NULL), -ENOENT);
	CHECK_EQ_INT(node_judge(-EACCES, "prism", clirun_dir), -EACCES);
	/* The target takes those along that are not masked. */
	CHECK_EQ_INT(symlink("/dev/null", target), 0);
	CHECK_EQ_INT(symlink("/dev/null", masked), 0);
	CHECK_EQ_INT(node_judge(-ENOENT, "vipd", clirun_dir), -ESRCH);
	CHECK_EQ_INT(node_judge(-ENOENT, "netconf", clirun_dir), -ENOENT);
	CHECK(node_units(clirun_dir) == NULL);
	node_ask(wants, 5 * US_PER_S, replies);
	replies[NODE_PRISM].r = -ESRCH;
	board_fill(&board, replies, NOW_US);
	CHECK_EQ_INT(board_exit(&board), CLI_FAILED);
	CHECK_EQ_INT(board.n_matters, 1);
	CHECK_EQ_STR(board.matters[0].what, "prism does not run, and should");
	board_fini(&board);
	node_replies_fini(replies);
}

int main(void)
{
	AUTO(free) char *nobody = NULL;

	clirun_begin();
	nobody = xasprintf("-r %s status", clirun_dir);
	clirun_check(nobody, CLI_UNREACHABLE, "node -: no daemon answers\n",
	             "fairlead: no daemon runs");
	test_program();
	test_trouble();
	test_enabled();
	clirun_end();
	return check_result();
}
