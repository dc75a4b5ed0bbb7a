/* SPDX-License-Identifier: Apache-2.0 */
/* The whole program against a real control server in a child: what it prints, and its exit codes.
 */
#include "cli/common/cli.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/control.h"
#include "base/mem.h"
#include "base/mono.h"
#include "tests/unit/check.h"
#include "tests/unit/clirun.h"

/* --- vipd's part --- */

static void cmd_status(struct control_request *request, int argc, char **argv,
                       void *userdata UNUSED)
{
	if (argc == 1 && strcmp(argv[0], "10.0.0.5") != 0) {
		control_fail(request, CONTROL_NOTFOUND, "no VIP '%s'", argv[0]);
		return;
	}
	control_reply(request, json_pack("{s:s, s:s}", "vip", "10.0.0.5", "state", "owner"));
	control_ok(request);
}

static void cmd_move(struct control_request *request, int argc, char **argv, void *userdata UNUSED)
{
	const char *owner = "n2";

	if (argc == 3 && strcmp(argv[2], "nowhere") == 0) {
		control_fail(request, CONTROL_FAILED, "no such node");
		return;
	}
	/* "elsewhere" is there and does not take it. */
	if (argc == 3 && strcmp(argv[2], "elsewhere") != 0)
		owner = argv[2];
	control_reply(request, json_pack("{s:s, s:i}", "owner", owner, "duration_ms", 85));
	control_ok(request);
}

static void cmd_ok(struct control_request *request, int argc UNUSED, char **argv UNUSED,
                   void *userdata UNUSED)
{
	control_ok(request);
}

static void cmd_unhold(struct control_request *request, int argc UNUSED, char **argv UNUSED,
                       void *userdata UNUSED)
{
	control_fail(request, CONTROL_DENIED, "for root only");
}

static void cmd_metrics(struct control_request *request, int argc UNUSED, char **argv UNUSED,
                        void *userdata UNUSED)
{
	control_reply(request, json_pack("{s:s}", "metrics", "# TYPE x gauge\nx 1\n"));
	control_ok(request);
}

/* --- prism's part --- */

static void cmd_prism_status(struct control_request *request, int argc UNUSED, char **argv UNUSED,
                             void *userdata UNUSED)
{
	control_reply(request, json_pack("{s:[], s:i}", "listeners", "connections", 5));
	control_reply(request, json_pack("{s:s, s:s}", "upstream", "10.0.0.5:6443", "state", "ready"));
	control_ok(request);
}

static void cmd_drain(struct control_request *request, int argc, char **argv, void *userdata UNUSED)
{
	if (argc != 1 || strcmp(argv[0], "10.0.0.5:6443") != 0) {
		control_fail(request, CONTROL_NOTFOUND, "no upstream");
		return;
	}
	control_reply(request, json_pack("{s:s, s:i}", "upstream", argv[0], "connections", 4));
	control_ok(request);
}

static const struct control_command prism_commands[] = {
    {"prism status", false, cmd_prism_status, "", ""},
    {"prism drain", false, cmd_drain, "UPSTREAM", ""},
    {"prism undrain", false, cmd_drain, "UPSTREAM", ""},
    {"metrics", false, cmd_metrics, "", ""},
};

static const struct control_command commands[] = {
    {"vip status", false, cmd_status, "[ADDRESS]", ""},
    {"vip move", false, cmd_move, "ADDRESS [to NODE]", ""},
    {"vip hold", false, cmd_ok, "", ""},
    {"vip unhold", false, cmd_unhold, "", ""},
    {"metrics", false, cmd_metrics, "", ""},
};

/* Both daemons, as one process. */
static NORETURN void serve(const char *vipd_path, const char *prism_path)
{
	struct ev_loop *ev = ev_loop_new(EVFLAG_AUTO);
	struct control *vipd, *prism;

	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void) signal(SIGPIPE, SIG_IGN);
	if (control_new(ev, prism_path, NULL, prism_commands, ARRAY_SIZE(prism_commands), NULL,
	                &prism) < 0 ||
	    control_new(ev, vipd_path, NULL, commands, ARRAY_SIZE(commands), NULL, &vipd) < 0)
		_exit(1);
	(void) ev_run(ev, 0);
	_exit(0);
}

/* And waits until it answers. */
static pid_t start_server(void)
{
	AUTO(free) char *path = xasprintf("%s/vipd.sock", clirun_dir);
	AUTO(free) char *prism_path = xasprintf("%s/prism.sock", clirun_dir);
	pid_t pid = fork();

	if (pid == 0)
		serve(path, prism_path);
	for (int i = 0; i < 3000; i++) {
		AUTO(client_answer_free) struct client_answer *answer = NULL;

		if (client_ask(path, (const char *const[]){"help"}, 1, 10 * US_PER_S, &answer) == 0)
			return pid;
		(void) usleep(10 * 1000);
	}
	(void) fprintf(stderr, "the server does not answer\n");
	_exit(1);
}

static void stop_server(pid_t pid)
{
	(void) kill(pid, SIGKILL);
	(void) waitpid(pid, NULL, 0);
}

/* --- the program's part --- */

static void test_answers(void)
{
	static const char table[] = "node -\nVIP       LINK  STATE";
	static const char json[] = "{\"vip\":\"10.0.0.5\",\"state\":\"owner\"}\n";

	clirun_check("vip status", CLI_OK, table, "");
	clirun_check("vip status 10.0.0.5", CLI_OK, table, "");
	clirun_check("-o json vip status", CLI_OK, json, "");
	clirun_check("vip status 10.0.0.5 --output=json", CLI_OK, json, "");
	clirun_check("vip status 10.0.0.6", CLI_FAILED, "", "fairlead: no VIP '10.0.0.6'\n");
	clirun_check("vip move 10.0.0.5", CLI_OK, "10.0.0.5: n2 owns it now, after 85 ms\n", "");
	clirun_check("vip move 10.0.0.5 to n3", CLI_OK, "10.0.0.5: n3 owns it now, after 85 ms\n", "");
	clirun_check("vip move 10.0.0.5 to \"n 3\" -o json", CLI_OK,
	             "{\"owner\":\"n 3\",\"duration_ms\":85}\n", "");
	/* What would turn a terminal's text round. */
	clirun_check("vip move 10.0.0.5 to n\xe2\x80\xae -o json", CLI_OK,
	             "{\"owner\":\"n\\u202e\",\"duration_ms\":85}\n", "");
	clirun_check("vip move 10.0.0.5 to n\xe2\x80\xae -o yaml", CLI_OK,
	             "---\nowner: \"n\\u202e\"\nduration_ms: 85\n", "");
	clirun_check("vip move 10.0.0.5 to elsewhere", CLI_FAILED,
	             "10.0.0.5: n2 owns it now, after 85 ms\n",
	             "fairlead: that is not 'elsewhere', which did not take it: ");
	clirun_check("vip move 10.0.0.5 to elsewhere -o json", CLI_FAILED,
	             "{\"owner\":\"n2\",\"duration_ms\":85}\n", "fairlead: that is not 'elsewhere'");
	clirun_check("vip move 10.0.0.5 to nowhere", CLI_FAILED, "", "fairlead: no such node\n");
	clirun_check("vip hold", CLI_OK, "on hold: ", "");
	clirun_check("vip unhold", CLI_DENIED, "", "fairlead: for root only\n");
	clirun_check("metrics vipd", CLI_OK, "# TYPE x gauge\nx 1\n", "");
	clirun_check("metrics vipd -o json", CLI_OK, "{\"metrics\":\"# TYPE x gauge\\nx 1\\n\"}\n", "");
}

static void test_prism(void)
{
	clirun_check("prism status", CLI_OK, "not listening; 5 of 0 connections; checks on\nUPSTREAM ",
	             "");
	clirun_check("-o json prism status", CLI_OK,
	             "{\"listeners\":[],\"connections\":5}\n"
	             "{\"upstream\":\"10.0.0.5:6443\",\"state\":\"ready\"}\n",
	             "");
	clirun_check(
	    "prism drain 10.0.0.5:6443", CLI_OK,
	    "10.0.0.5:6443: drained: new connections go elsewhere while another upstream can take "
	    "them; 4 are open\n",
	    "");
	clirun_check("prism undrain 10.0.0.5:6443", CLI_OK, "10.0.0.5:6443: no longer drained: ", "");
	clirun_check("prism drain 10.0.0.5:6443 -o json", CLI_OK,
	             "{\"upstream\":\"10.0.0.5:6443\",\"connections\":4}\n", "");
	clirun_check("prism undrain 10.0.0.5:6443 -o json", CLI_OK,
	             "{\"upstream\":\"10.0.0.5:6443\",\"connections\":4}\n", "");
	clirun_check("prism drain 10.0.0.6:6443", CLI_FAILED, "", "fairlead: no upstream\n");
	clirun_check("metrics prism", CLI_OK, "# TYPE x gauge\nx 1\n", "");
}

static void test_formats(void)
{
	static const char *const lines[] = {
	    "vip status",    "vip move 10.0.0.5",  "vip move 10.0.0.5 to elsewhere",
	    "prism status",  "metrics vipd",       "prism drain 10.0.0.5:6443",
	    "metrics prism", "vip status 10.0.0.5"};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		clirun_check_yaml(lines[i]);
	clirun_check("vip status -o yaml", CLI_OK, "---\nvip: \"10.0.0.5\"\nstate: \"owner\"\n", "");
}

/* Here standard output is no terminal. */
static void test_colors(void)
{
	static const char row[] = "10.0.0.5  -     owner  ";
	AUTO(free) char *out = NULL;
	AUTO(free) char *plain = NULL;
	AUTO(free) char *err = NULL;
	AUTO(free) char *none = NULL;

	CHECK_EQ_INT(clirun("vip status", &plain, &none), CLI_OK);
	CHECK(strstr(plain, row) != NULL && strchr(plain, '\033') == NULL);
	CHECK_EQ_INT(clirun("vip status --color=always", &out, &err), CLI_OK);
	CHECK(strstr(out, "10.0.0.5  -     \033[32mowner\033[0m  ") != NULL);
	clirun_check("vip status --color=never", CLI_OK, plain, "");
	clirun_check("vip status --color=auto", CLI_OK, plain, "");
	/* Programs read that. */
	clirun_check("vip status --color=always -o json", CLI_OK,
	             "{\"vip\":\"10.0.0.5\",\"state\":\"owner\"}\n", "");
}

static void test_usage(void)
{
	static const struct {
		const char *line;
		const char *err;
	} cases[] = {
	    {"", "Usage: fairlead [OPTION]... COMMAND\n"},
	    {"vip",
	     "fairlead: 'vip' is not all of a command: which one?\nUsage: fairlead vip COMMAND\n"},
	    {"vip statsu",
	     "fairlead: unknown command 'vip statsu': did you mean 'fairlead vip status'?\n"},
	    {"reboot", "fairlead: unknown command 'reboot'\nfairlead --help lists them all.\n"},
	    {"vip status a b",
	     "fairlead: too many arguments for 'vip status'\nUsage: fairlead vip status"},
	    {"vip move",
	     "fairlead: too few arguments for 'vip move'\nUsage: fairlead vip move ADDRESS"},
	    {"vip move a b", "fairlead: a node stands behind 'to': fairlead vip move a to b\n"},
	    {"vip move a too b", "fairlead: a node stands behind 'to': fairlead vip move a to b\n"},
	    {"vip hold --watch",
	     "fairlead: 'vip hold' has no option --watch\nUsage: fairlead vip hold\n"},
	    {"prism status x", "fairlead: too many arguments for 'prism status'\n"},
	    {"prism drain", "fairlead: too few arguments for 'prism drain'\n"},
	    {"prism drian x",
	     "fairlead: unknown command 'prism drian x': did you mean 'fairlead prism drain'?\n"},
	    {"prism drain x -w", "fairlead: 'prism drain' has no option --watch\nUsage: "
	                         "fairlead prism drain UPSTREAM\n"},
	    {"-o jsn vip status", "fairlead: no output format 'jsn': did you mean 'json'?\n"},
	    {"-o toml vip status",
	     "fairlead: no output format 'toml': there are 'table', 'json' and 'yaml'\n"},
	    {"-o yaml net convert", "fairlead: 'net convert' has no option --output\n"},
	    {"-o json init", "fairlead: 'init' has no option --output\n"},
	    {"support -o json", "fairlead: 'support' has no option --output\n"},
	    {"--color=sometimes vip status",
	     "fairlead: no time for colours 'sometimes': there are 'auto', 'always' and 'never'\n"},
	    {"--color alwyas vip status", "fairlead: no time for colours 'alwyas': did you mean "},
	    {"etcd defrag", "fairlead: name a member, or say --all\n"},
	    {"etcd defrag --all n1", "fairlead: name a member, or say --all\n"},
	    {"etcd leave --all",
	     "fairlead: 'etcd leave' has no option --all\nUsage: fairlead etcd leave"},
	    {"etcd remove-member", "fairlead: too few arguments for 'etcd remove-member'\n"},
	    {"etcd members --yes", "fairlead: 'etcd members' has no option --yes\n"},
	    {"metrics vip", "fairlead: no daemon 'vip': did you mean 'vipd'?\n"},
	    {"etcd record", "fairlead: 'etcd record' is not all of a command: which one?\n"},
	    {"vip reboot", "fairlead: unknown command 'vip reboot'\nUsage: fairlead vip COMMAND\n"},
	    {"metrics x",
	     "fairlead: no daemon 'x': there are 'vipd', 'prism', 'etcdwatch' and 'netconf'\n"},
	    {"--bad", "fairlead: unrecognized option '--bad'\nfairlead --help lists the commands, "},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		clirun_check(cases[i].line, CLI_USAGE, "", cases[i].err);
	}
}

static void test_help(void)
{
	clirun_check("--help", CLI_OK, "Usage: fairlead [OPTION]... COMMAND\n", "");
	clirun_check("vip -h", CLI_OK, "Usage: fairlead vip COMMAND\nThe addresses ", "");
	clirun_check("vip move --help", CLI_OK, "Usage: fairlead vip move ADDRESS [to NODE]\nHand ",
	             "");
	clirun_check("vip move a b c d --help", CLI_OK, "Usage: fairlead vip move", "");
	clirun_check("--version", CLI_OK, "fairlead " FAIRLEAD_VERSION "\n", "");
}

static void test_not_reachable(void)
{
	AUTO(free) char *path = xasprintf("%s/vipd.sock", clirun_dir);
	AUTO(free)
	char *sentence = xasprintf("fairlead: vipd does not answer on %s: is it running? "
	                           "systemctl status fairlead-vipd\n",
	                           path);

	/* The socket of a server that is gone, then none. */
	clirun_check("vip status", CLI_UNREACHABLE, "", sentence);
	(void) unlink(path);
	clirun_check("vip hold", CLI_UNREACHABLE, "", sentence);
	clirun_check("-r /nonexistent prism status", CLI_UNREACHABLE, "",
	             "fairlead: prism does not answer on /nonexistent/prism.sock: is it running? "
	             "systemctl status fairlead-prism\n");
	clirun_check("-r /nonexistent vip status", CLI_UNREACHABLE, "",
	             "fairlead: vipd does not answer on /nonexistent/vipd.sock");
}

/* Until the file of this name has grown by n bytes, for half a minute at most. */
static bool grows(const char *name, size_t n)
{
	AUTO(free) char *path = xasprintf("%s/%s", clirun_dir, name);
	struct stat before = {0}, now = {0};

	(void) stat(path, &before);
	for (int i = 0; i < 3000; i++) {
		if (stat(path, &now) == 0 && (size_t) (now.st_size - before.st_size) >= n)
			return true;
		(void) usleep(10 * 1000);
	}
	return false;
}

/* Goes on every second, also when vipd was away; ends with a question that is wrong. */
static void test_watch(void)
{
	static const char line[] = "{\"vip\":\"10.0.0.5\",\"state\":\"owner\"}\n";
	pid_t server = start_server();
	pid_t pid = fork();

	if (pid == 0)
		clirun_become("vip status -w -o json", "watched", "watched-err");
	CHECK(grows("watched", 2 * strlen(line)));
	stop_server(server);
	CHECK(grows("watched-err", 1));
	server = start_server();
	CHECK(grows("watched", strlen(line)));
	CHECK_EQ_INT(waitpid(pid, NULL, WNOHANG), 0);
	(void) kill(pid, SIGTERM);
	(void) waitpid(pid, NULL, 0);
	clirun_check("vip status -w 10.0.0.6", CLI_FAILED, "", "fairlead: no VIP '10.0.0.6'\n");
	stop_server(server);
}

/* A user outside the socket's group. */
static void test_denied(void)
{
	AUTO(free) char *err = NULL;
	int status;
	pid_t pid;

	if (geteuid() != 0)
		return;
	CHECK_EQ_INT(chmod(clirun_dir, 01777), 0);
	pid = fork();
	if (pid == 0) {
		if (setgid(65534) < 0 || setuid(65534) < 0)
			_exit(99);
		clirun_become("vip status", "denied-out", "denied-err");
	}
	(void) waitpid(pid, &status, 0);
	CHECK_EQ_INT(WEXITSTATUS(status), CLI_DENIED);
	err = clirun_contents("denied-err");
	CHECK(strstr(err, "is not for this user: be root, or join the group") != NULL);
}

int main(void)
{
	pid_t server;

	clirun_begin();
	(void) setenv("FAIRLEAD_RUNTIME_DIR", clirun_dir, 1);
	server = start_server();

	test_answers();
	test_prism();
	test_formats();
	test_colors();
	test_usage();
	test_help();
	test_denied();
	stop_server(server);
	test_not_reachable();
	test_watch();

	clirun_end();
	return check_result();
}
