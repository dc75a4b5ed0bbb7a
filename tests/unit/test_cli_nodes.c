/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `fairlead --nodes`: which nodes a list means, which commands it is for, and how the answers are
 * printed. A program `ssh` in PATH says what each node answers.
 */
#include "cli/nodes/nodelist.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "base/control.h"
#include "base/mono.h"
#include "cli/commands.h"
#include "cli/nodes/fanout.h"
#include "tests/unit/clirun.h"

/* --- the file of groups --- */

/* `want`: "a=x,y b=z", or the errors, one a line. */
static void check_groups(const char *text, const char *want)
{
	struct nodelist_groups groups = {0};
	struct texts errors = {0};
	AUTO(free) char *got = NULL;
	size_t len;
	FILE *f = open_memstream(&got, &len);

	nodelist_parse_groups(text, "F", &groups, &errors);
	for (size_t i = 0; i < errors.n; i++)
		(void) fprintf(f, "%s\n", errors.items[i]);
	for (size_t i = 0; errors.n == 0 && i < groups.n; i++) {
		(void) fprintf(f, "%s%s=", i > 0 ? " " : "", groups.groups[i].name);
		for (size_t k = 0; k < groups.groups[i].nodes.n; k++)
			(void) fprintf(f, "%s%s", k > 0 ? "," : "", groups.groups[i].nodes.items[k]);
	}
	(void) fclose(f);
	if (!CHECK(strncmp(got, want, strlen(want)) == 0) || !CHECK(want[0] != '\0' || len == 0))
		(void) fprintf(stderr, "  %s\n", got);
	nodelist_groups_fini(&groups);
	texts_fini(&errors);
}

static void test_groups(void)
{
	check_groups("", "");
	check_groups("# nothing\n\n \t\n", "");
	check_groups("a: x y\nb:z # last\n", "a=x,y b=z");
	check_groups("\ta : x\t root@y x \r\n", "a=x,root@y");
	check_groups("a: fe80::1%eth0", "a=fe80::1%eth0");
	check_groups("a x y\n",
	             "F:1: a line is GROUP: NAME NAME ..., and this has no ':' behind its first "
	             "word: 'a x y'\n");
	check_groups("a: x\n-b: y\n",
	             "F:2: not the name of a group: letters, digits and ._- make one: '-b'");
	check_groups(": y\n", "F:1: not the name of a group");
	check_groups("a: x\na: y\n",
	             "F:2: this group is there already: write its nodes in one line: 'a'");
	check_groups("a:\n", "F:1: a group without a node: 'a'\n");
	check_groups("a: x,y -z\nb: ok\nc: $(id)\n",
	             "F:1: not the name of a node: letters, digits and ._:%- make one, with USER@ "
	             "before it or not: 'x,y'\n"
	             "F:1: not the name of a node: letters, digits and ._:%- make one, with USER@ "
	             "before it or not: '-z'\n"
	             "F:3: not the name of a node");
}

/* --- exit codes --- */

static void test_worse(void)
{
	static const int from_good_to_bad[] = {0, 5, 1, 4, 3, 2};

	for (size_t i = 0; i < ARRAY_SIZE(from_good_to_bad); i++) {
		for (size_t k = i; k < ARRAY_SIZE(from_good_to_bad); k++) {
			CHECK_EQ_INT(fanout_worse(from_good_to_bad[i], from_good_to_bad[k]),
			             from_good_to_bad[k]);
			CHECK_EQ_INT(fanout_worse(from_good_to_bad[k], from_good_to_bad[i]),
			             from_good_to_bad[k]);
		}
	}
	CHECK_EQ_INT(fanout_worse(0, 137), CLI_FAILED);
}

/* --- a world of nodes --- */

/* It writes down each node that is asked, and what. */
static const char fake_ssh[] =
    "#!/bin/sh\n"
    "while [ \"$1\" != -- ]; do shift; done\n"
    "host=$2\n"
    "eval \"set -- $3\"\n"
    "shift 5\n"
    "printf '%s:' \"$host\" >>\"$DIR/asked.$host\"; printf ' <%s>' \"$@\" >>\"$DIR/asked.$host\"\n"
    "case $host/$* in\n"
    "dead/*) echo 'ssh: connect to host dead port 22: No route to host' >&2; exit 255 ;;\n"
    "odd/*json*) printf 'Willkommen\\n' ;;\n"
    "stopped/*) echo 'fairlead: vipd does not answer' >&2; exit 3 ;;\n"
    "warned/*json*) echo '{\"status\":\"warn\",\"node\":\"cp-9\"}'; exit 5 ;;\n"
    "warned/*) printf 'it is \\033[2Jso so\\n'; exit 5 ;;\n"
    "*/*json*) printf '{\"b\":1,\"a\":[2]}\\n{\"b\":2}\\n' ;;\n"
    "*) printf 'A  B\\n1  2\\n' ;;\n"
    "esac\n";

static void write_text(const char *name, const char *text)
{
	AUTO(free) char *path = xasprintf("%s/%s", clirun_dir, name);

	CHECK_EQ_INT(file_write_atomic(path, text, strlen(text), 0755, FILE_VOLATILE), 0);
}

static void make_folder(const char *name)
{
	AUTO(free) char *path = xasprintf("%s/%s", clirun_dir, name);

	CHECK_EQ_INT(mkdir(path, 0755), 0);
}

static void make_world(void)
{
	AUTO(free) char *path = xasprintf("%s/bin:%s", clirun_dir, getenv("PATH"));
	AUTO(free) char *config = xasprintf("%s/config", clirun_dir);

	make_folder("bin");
	make_folder("config");
	make_folder("config/fairlead");
	write_text("bin/ssh", fake_ssh);
	(void) setenv("PATH", path, 1);
	(void) setenv("DIR", clirun_dir, 1);
	(void) setenv("XDG_CONFIG_HOME", config, 1);
	(void) setenv("XDG_RUNTIME_DIR", clirun_dir, 1);
	(void) setenv("FAIRLEAD_RUNTIME_DIR", clirun_dir, 1);
}

/* All that is printed, and not only its beginning. */
static void check_out(const char *line, int want_code, const char *want)
{
	AUTO(free) char *out = NULL;
	AUTO(free) char *err = NULL;

	if (!CHECK_EQ_INT(clirun(line, &out, &err), want_code) || !CHECK_EQ_STR(out, want) ||
	    !CHECK_EQ_STR(err, ""))
		(void) fprintf(stderr, "  fairlead %s\n", line);
}

static void check_asked(const char *host, const char *want)
{
	AUTO(free) char *name = xasprintf("asked.%s", host);
	AUTO(free) char *got = clirun_contents(name);
	AUTO(free) char *path = xasprintf("%s/%s", clirun_dir, name);

	CHECK_EQ_STR(got, want);
	(void) unlink(path);
}

/* --- how it is printed --- */

static void test_table(void)
{
	check_out("--nodes n1,n2 vip status", CLI_OK, "== n1 ==\nA  B\n1  2\n\n== n2 ==\nA  B\n1  2\n");
	check_out("vip status --nodes=n1,warned,dead,stopped,n2", CLI_UNREACHABLE,
	          "== n1 ==\nA  B\n1  2\n\n"
	          "== warned ==\nit is ?[2Jso so\n\n"
	          "== n2 ==\nA  B\n1  2\n\n"
	          "NODE     OUTCOME      ERROR\n"
	          "dead     unreachable  ssh: connect to host dead port 22: No route to host\n"
	          "stopped  exit 3       vipd does not answer\n");
	check_out("vip status --nodes warned", CLI_WARNED, "== warned ==\nit is ?[2Jso so\n");
}

static void test_json(void)
{
	check_out("--nodes n2,n1,n2 -o json vip status", CLI_OK,
	          "{\"node\":\"n2\",\"b\":1,\"a\":[2]}\n{\"node\":\"n2\",\"b\":2}\n"
	          "{\"node\":\"n1\",\"b\":1,\"a\":[2]}\n{\"node\":\"n1\",\"b\":2}\n");
	check_out("--nodes dead,warned,odd,stopped -o json vip status", CLI_UNREACHABLE,
	          "{\"node\":\"dead\",\"outcome\":\"unreachable\","
	          "\"error\":\"ssh: connect to host dead port 22: No route to host\"}\n"
	          "{\"node\":\"warned\",\"status\":\"warn\",\"own_node\":\"cp-9\"}\n"
	          "{\"node\":\"warned\",\"outcome\":\"done\",\"error\":null,\"exit_code\":5}\n"
	          "{\"node\":\"odd\",\"outcome\":\"garbled\","
	          "\"error\":\"line 1 of what it prints is no JSON object: 'Willkommen'\"}\n"
	          "{\"node\":\"stopped\",\"outcome\":\"done\",\"error\":\"vipd does not answer\","
	          "\"exit_code\":3}\n");
	check_out("--nodes n1 -o yaml vip status", CLI_OK,
	          "---\nnode: \"n1\"\nb: 1\na:\n  - 2\n---\nnode: \"n1\"\nb: 2\n");
}

/* --- what a node is told --- */

static void test_words(void)
{
	check_out("--color never vip status --nodes n3 -o table 10.0.0.5", CLI_OK,
	          "== n3 ==\nA  B\n1  2\n");
	check_asked("n3", "n3: <vip> <status> <--> <10.0.0.5>");
	clirun_check("--nodes n3 -o json -r /x etcd snapshot list --local \"a'; b\"", CLI_OK, "{", "");
	check_asked("n3", "n3: <--output> <json> <etcd> <snapshot> <list> <--runtime-dir> </x> "
	                  "<--local> <--> <a'; b>");
	/* From the environment; the option is stronger, and an empty one means here. */
	(void) setenv("FAIRLEAD_NODES", "n4", 1);
	clirun_check("vip status", CLI_OK, "== n4 ==\n", "");
	clirun_check("vip status --nodes n3", CLI_OK, "== n3 ==\n", "");
	clirun_check("vip status --nodes \"\"", CLI_UNREACHABLE, "", "fairlead: vipd does not answer");
	clirun_check("vip hold", CLI_USAGE, "",
	             "fairlead: 'vip hold' runs on this node only, and not with $FAIRLEAD_NODES: "
	             "fairlead --nodes '' vip hold runs it here\n");
	(void) setenv("FAIRLEAD_VIA", "sh -c \"echo {} $FAIRLEAD_NODES $*\" x", 1);
	clirun_check("vip status", CLI_OK, "== n4 ==\nn4 fairlead vip status\n", "");
	(void) unsetenv("FAIRLEAD_NODES");
	clirun_check("vip status --nodes n5 --via \"\"", CLI_OK, "== n5 ==\nA ", "");
	(void) unsetenv("FAIRLEAD_VIA");
	clirun_check("vip status --nodes n5 --via \"echo x\"", CLI_USAGE, "",
	             "fairlead: --via does not say where the node's name goes");
	clirun_check("vip status --via \"echo {}\"", CLI_USAGE, "",
	             "fairlead: --via says how nodes are reached: it needs --nodes\n");
}

/* A command that waits has so much longer. */
static void test_waits(void)
{
	const struct cli_given given = {&cli_health_options[0], "90s"};
	const struct cli cli = {.given = &given, .n_given = 1};
	const struct cli plain = {0};

	CHECK_EQ_INT(cli_health_waits(&cli), 90 * US_PER_S);
	CHECK_EQ_INT(cli_health_waits(&plain), 300 * US_PER_S);
	check_out("health --nodes n6 --wait-timeout 90s", CLI_OK, "== n6 ==\nA  B\n1  2\n");
	check_asked("n6", "n6: <health> <--wait-timeout> <90s>");
	clirun_check("health --nodes n6 --wait-timeout soon", CLI_USAGE, "",
	             "fairlead: --wait-timeout must be");
	check_asked("n6", "<nothing>");
}

/* Every command either takes it or refuses it, and says so before anything is done. */
static void test_which_commands(void)
{
	size_t n_reads = 0;

	for (size_t i = 0; i < cli_commands_n; i++) {
		const struct cli_command *c = &cli_commands[i];
		AUTO(free)
		char *line = xasprintf("%s%s --nodes dead", c->name,
		                       c->min_words == 0   ? ""
		                       : c->min_words == 1 ? " x"
		                                           : " x y");
		AUTO(free)
		char *want =
		    xasprintf("fairlead: '%s' runs on this node only, and not with --nodes", c->name);

		if ((c->takes & CLI_READS) != 0) {
			clirun_check(line, CLI_UNREACHABLE, "NODE  OUTCOME", "");
			n_reads++;
		} else if ((c->takes & CLI_OWN_NODES) == 0) {
			clirun_check(line, CLI_USAGE, "", want);
		}
	}
	CHECK(n_reads > 10);
	clirun_check("vip status -w --nodes n1", CLI_USAGE, "", "fairlead: --watch shows one node");
}

/* --- which nodes --- */

static const char *members, *candidates; /* JSON; NULL: the daemon is not there */

static void cmd_members(struct control_request *request, int argc UNUSED, char **argv UNUSED,
                        void *userdata UNUSED)
{
	control_reply(request, json_loads(members, 0, NULL));
	control_ok(request);
}

static void cmd_vip_status(struct control_request *request, int argc UNUSED, char **argv UNUSED,
                           void *userdata UNUSED)
{
	control_reply(request, json_loads(candidates, 0, NULL));
	control_ok(request);
}

static const struct control_command etcdwatch_commands[] = {
    {"etcd members", false, cmd_members, "", ""},
};

static const struct control_command vipd_commands[] = {
    {"vip status", false, cmd_vip_status, "", ""},
};

static NORETURN void serve(int ready)
{
	AUTO(free) char *etcdwatch_path = xasprintf("%s/etcdwatch.sock", clirun_dir);
	AUTO(free) char *vipd_path = xasprintf("%s/vipd.sock", clirun_dir);
	struct ev_loop *ev = ev_loop_new(EVFLAG_AUTO);
	struct control *etcdwatch, *vipd;

	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void) signal(SIGPIPE, SIG_IGN);
	if ((members != NULL &&
	     control_new(ev, etcdwatch_path, NULL, etcdwatch_commands, 1, NULL, &etcdwatch) < 0) ||
	    (candidates != NULL && control_new(ev, vipd_path, NULL, vipd_commands, 1, NULL, &vipd) < 0))
		_exit(1);
	(void) !write(ready, "r", 1);
	(void) ev_run(ev, 0);
	_exit(0);
}

/* What `version --nodes LIST` prints while these are what the daemons know. */
static void check_nodes(const char *line, const char *of_etcd, const char *of_vipd, int want_code,
                        const char *want_out, const char *want_err)
{
	AUTO(free)
	char *clean_up = xasprintf("rm -f %s/vipd.sock %s/etcdwatch.sock", clirun_dir, clirun_dir);
	char byte;
	int ready[2];
	pid_t pid;

	members = of_etcd;
	candidates = of_vipd;
	CHECK_EQ_INT(pipe(ready), 0);
	pid = fork();
	if (pid == 0)
		serve(ready[1]);
	(void) close(ready[1]);
	CHECK_EQ_INT(read(ready[0], &byte, 1), 1);
	(void) close(ready[0]);
	clirun_check(line, want_code, want_out, want_err);
	(void) kill(pid, SIGKILL);
	(void) waitpid(pid, NULL, 0);
	CHECK_EQ_INT(system(clean_up), 0);
}

#define MEMBERS "{\"members\":[{\"hostname\":\"n2\"},{\"hostname\":\"n1\"},{\"hostname\":\"\"}]}"
#define RACE "{\"candidates\":[{\"node\":\"n1\"},{\"node\":\"n3\"}]}"

static void test_all(void)
{
	static const char line[] = "version --nodes all --via \"echo {}\"";

	check_nodes(line, MEMBERS, RACE, CLI_OK,
	            "== n2 ==\nn2 fairlead version\n\n== n1 ==\nn1 fairlead version\n\n"
	            "== n3 ==\nn3 fairlead version\n",
	            "");
	check_nodes(line, MEMBERS, NULL, CLI_OK, "== n2 ==\n", "");
	check_nodes(line, NULL, RACE, CLI_OK, "== n1 ==\n",
	            "fairlead: etcdwatch of this node does not know the members of etcd");
	check_nodes(line, NULL, NULL, CLI_UNREACHABLE, "",
	            "fairlead: neither etcdwatch nor vipd of this node knows the nodes");
	check_nodes(line, "{\"members\":[{\"hostname\":\"-oProxyCommand=id\"}]}", RACE, CLI_FAILED, "",
	            "fairlead: '-oProxyCommand=id', as etcd names one of its members, is no name");
	check_nodes(line, "{\"members\":[{\"hostname\":\"root@n1\"}]}", RACE, CLI_FAILED, "",
	            "fairlead: 'root@n1', as");
	check_nodes(line, "{\"members\":[{\"hostname\":\"a\\u001b[2J\"}]}", RACE, CLI_FAILED, "",
	            "fairlead: 'a?[2J', as");
}

static void test_list(void)
{
	write_text("config/fairlead/nodes", "all: w1 w2\ncp: n1 n2 # control plane\n");
	check_out("version --nodes all --via \"echo {}\"", CLI_OK,
	          "== w1 ==\nw1 fairlead version\n\n== w2 ==\nw2 fairlead version\n");
	check_out("version --nodes \"n2, cp,,n3\" --via \"echo {}\"", CLI_OK,
	          "== n2 ==\nn2 fairlead version\n\n== n1 ==\nn1 fairlead version\n\n"
	          "== n3 ==\nn3 fairlead version\n");
	clirun_check("version --nodes n1,-x --via \"echo {}\"", CLI_USAGE, "",
	             "fairlead: --nodes: not the name of a node");
	clirun_check("version --nodes , --via \"echo {}\"", CLI_USAGE, "",
	             "fairlead: --nodes names no node: ','\n");
	write_text("config/fairlead/nodes", "all: w1\ncp n1\n");
	clirun_check("version --nodes w1 --via \"echo {}\"", CLI_USAGE, "",
	             "fairlead: /tmp/fairlead-cli-");
}

int main(int argc, char **argv)
{
	/* As this program is started for a node that is this one. */
	if (argc > 1)
		return cli_main(argc, argv);
	test_groups();
	test_worse();
	clirun_begin();
	make_world();
	test_table();
	test_json();
	test_words();
	test_waits();
	test_which_commands();
	test_all();
	test_list();
	clirun_end();
	return check_result();
}
