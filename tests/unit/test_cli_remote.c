/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands on other nodes: the command lines, what is made of the answers, and the children, with a
 * program `ssh` in PATH that runs here what the real one would run there.
 */
#include "cli/nodes/remote.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/cli.h"
#include "cli/nodes/answer.h"
#include "cli/nodes/transport.h"
#include "tests/unit/clirun.h"
#include "tests/unit/scratch.h"

#define LONG_US (60 * US_PER_S)

/* --- names --- */

static void test_names(void)
{
	static const struct {
		const char *name;
		bool is_typed, is_untyped;
	} cases[] = {
	    {"cp-1", true, true},
	    {"cp-1.example.org", true, true},
	    {"10.0.0.1", true, true},
	    {"fe80::1%eth0", true, true},
	    {"root@cp-1", true, false},
	    {"", false, false},
	    {"-oProxyCommand=id", false, false},
	    {"-", false, false},
	    {"root@-oProxyCommand=id", false, false},
	    {"@cp-1", false, false},
	    {"root@", false, false},
	    {"a@b@c", false, false},
	    {"cp 1", false, false},
	    {"cp\n1", false, false},
	    {"cp\t1", false, false},
	    {"cp\0331", false, false},
	    {"$(id)", false, false},
	    {"`id`", false, false},
	    {"a;id", false, false},
	    {"a'b", false, false},
	    {"ssh://a", false, false},
	    {"a/b", false, false},
	    {"n\xc3\xb6", false, false},
	};
	char *longest = xcalloc(258, 1);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (!CHECK_EQ_INT(transport_name_is_good(cases[i].name, true), cases[i].is_typed) ||
		    !CHECK_EQ_INT(transport_name_is_good(cases[i].name, false), cases[i].is_untyped))
			(void) fprintf(stderr, "  '%s'\n", cases[i].name);
	}
	memset(longest, 'a', 255);
	CHECK(transport_name_is_good(longest, false));
	memset(longest, 'a', 256);
	CHECK(!transport_name_is_good(longest, false));
	free(longest);
}

static void test_here(void)
{
	char host[256] = "";

	CHECK_EQ_INT(gethostname(host, sizeof(host) - 1), 0);
	CHECK(transport_is_here("localhost"));
	CHECK(transport_is_here(host));
	CHECK(!transport_is_here("some-other-node"));
}

/* --- command lines --- */

/* How `via` is split, with "|" between the words; or the beginning of its error. */
static void check_via(const char *via, const char *want)
{
	struct transport transport;
	struct texts words = {0};
	struct texts command = {0};
	AUTO(free) char *error = NULL;
	AUTO(free) char *got = xstrdup("");

	texts_add(&words, "status");
	if (transport_init(&transport, via, &error) < 0) {
		if (!CHECK(strncmp(error, want, strlen(want)) == 0))
			(void) fprintf(stderr, "  %s\n", error);
	} else {
		transport_command(&transport, "n1", &words, LONG_US, &command);
		for (size_t i = 0; i < command.n; i++) {
			AUTO(free) char *before = got;

			got = xasprintf("%s%s%s", before, i > 0 ? "|" : "", command.items[i]);
		}
		CHECK_EQ_STR(got, want);
	}
	texts_fini(&words);
	texts_fini(&command);
	transport_fini(&transport);
}

static void test_via(void)
{
	AUTO(free) char *many = xstrdup("x {}");

	check_via("ip netns exec {}", "ip|netns|exec|n1|fairlead|status");
	check_via("  kubectl  debug node/{} --x={}:{} ",
	          "kubectl|debug|node/n1|--x=n1:n1|fairlead|status");
	check_via("a \"b c\" \"d \\\" {}\"", "a|b c|d \" n1|fairlead|status");
	check_via("a $(id) ; {} > x", "a|$(id)|;|n1|>|x|fairlead|status");
	check_via("ip netns exec", "--via does not say where the node's name goes");
	check_via("{} exec", "--via does not say where the node's name goes");
	check_via("  ", "--via does not say where the node's name goes");
	check_via("a \"{}", "--via has an open or misplaced \"");
	check_via("a\n{}", "--via has an open or misplaced \"");
	for (int i = 0; i < 64; i++) {
		AUTO(free) char *before = many;

		many = xasprintf("%s x", before);
	}
	check_via(many, "--via has more than 64 words");
}

static bool has_word(const struct texts *command, const char *word)
{
	for (size_t i = 0; i < command->n; i++) {
		if (strcmp(command->items[i], word) == 0)
			return true;
	}
	(void) fprintf(stderr, "  no word %s\n", word);
	return false;
}

static void test_ssh_command(void)
{
	AUTO(free) char *dir = xasprintf("%s/run", clirun_dir);
	AUTO(free) char *control = xasprintf("-oControlPath=%s/fairlead-ssh-%u/%%C", dir, geteuid());
	AUTO(free) char *expanded = xasprintf("%s/%%h", clirun_dir);
	AUTO(free) char *made = xasprintf("%s/fairlead-ssh-%u", dir, geteuid());
	struct transport transport;
	struct texts words = {0};
	struct texts command = {0};
	AUTO(free) char *error = NULL;
	struct stat st;

	CHECK_EQ_INT(mkdir(dir, 0755), 0);
	CHECK_EQ_INT(setenv("XDG_RUNTIME_DIR", dir, 1), 0);
	CHECK_EQ_INT(transport_init(&transport, NULL, &error), 0);
	texts_add(&words, "it's; $(id)");
	transport_command(&transport, "cp-1", &words, 3 * US_PER_S, &command);
	CHECK_EQ_STR(command.items[0], "ssh");
	CHECK_EQ_STR(command.items[command.n - 3], "--");
	CHECK_EQ_STR(command.items[command.n - 2], "cp-1");
	CHECK(strstr(command.items[command.n - 1], " sh fairlead 'it'\\''s; $(id)'") != NULL);
	CHECK(has_word(&command, "BatchMode=yes"));
	CHECK(has_word(&command, "ForwardAgent=no"));
	CHECK(has_word(&command, "ClearAllForwardings=yes"));
	CHECK(has_word(&command, "-oConnectTimeout=3"));
	CHECK(has_word(&command, "-oControlMaster=auto"));
	CHECK(has_word(&command, control));
	CHECK(stat(made, &st) == 0 && (st.st_mode & 0777) == 0700);
	texts_fini(&command);
	transport_fini(&transport);

	/* Others may write there: there is no control socket. */
	CHECK_EQ_INT(chmod(made, 0770), 0);
	CHECK_EQ_INT(transport_init(&transport, "", &error), 0);
	CHECK(transport.control_dir == NULL);
	transport_fini(&transport);
	CHECK_EQ_INT(chmod(made, 0700), 0);

	/* ssh would expand it. */
	CHECK_EQ_INT(mkdir(expanded, 0755), 0);
	CHECK_EQ_INT(setenv("XDG_RUNTIME_DIR", expanded, 1), 0);
	CHECK_EQ_INT(transport_init(&transport, "", &error), 0);
	CHECK(transport.control_dir == NULL);
	transport_fini(&transport);
	CHECK_EQ_INT(setenv("XDG_RUNTIME_DIR", dir, 1), 0);
	texts_fini(&words);
}

/* --- what is made of an answer --- */

struct judged {
	const char *out, *err;
	int exit_code;
	enum transport_kind kind;
	enum remote_outcome cut;
	enum remote_outcome want;
	size_t want_objects;
	const char *want_error; /* the beginning; NULL: none */
};

static const struct judged judged[] = {
    {"{\"a\":1}\n{\"b\":2}\n", "", 0, TRANSPORT_SSH, REMOTE_DONE, REMOTE_DONE, 2, NULL},
    {"{\"a\":1}", "warning: chatter\n", 0, TRANSPORT_SSH, REMOTE_DONE, REMOTE_DONE, 1, NULL},
    {"", "", 0, TRANSPORT_SSH, REMOTE_DONE, REMOTE_DONE, 0, NULL},
    {"{\"a\":1}\n", "hm\nfairlead: vipd does not answer\nmore\n", 3, TRANSPORT_SSH, REMOTE_DONE,
     REMOTE_DONE, 1, "vipd does not answer"},
    {"{\"a\":1}\n", "", 5, TRANSPORT_VIA, REMOTE_DONE, REMOTE_DONE, 1, NULL},
    {"", "a\r\nb\033[31m\xff\r\n\r\n", 1, TRANSPORT_VIA, REMOTE_DONE, REMOTE_DONE, 0, "b?[31m?"},
    {"hello\n", "", 0, TRANSPORT_SSH, REMOTE_DONE, REMOTE_GARBLED, 0,
     "line 1 of what it prints is no JSON object: 'hello'"},
    {"{}\n[1]\n", "", 0, TRANSPORT_SSH, REMOTE_DONE, REMOTE_GARBLED, 1, "line 2 of"},
    {"{}\n\n", "", 0, TRANSPORT_SSH, REMOTE_DONE, REMOTE_GARBLED, 1, "line 2 of"},
    {"{}\n{\"a\"", "", 0, TRANSPORT_SSH, REMOTE_DONE, REMOTE_GARBLED, 1, "line 2 of"},
    {"\033]0;x\n", "", 0, TRANSPORT_SSH, REMOTE_DONE, REMOTE_GARBLED, 0,
     "line 1 of what it prints is no JSON object: '?]0;x'"},
    {"", "ssh: connect to host n1 port 22: Connection refused\r\n", 255, TRANSPORT_SSH, REMOTE_DONE,
     REMOTE_UNREACHABLE, 0, "ssh: connect to host n1 port 22: Connection refused"},
    {"", "", 255, TRANSPORT_SSH, REMOTE_DONE, REMOTE_UNREACHABLE, 0, "ssh ended without a message"},
    {"{}\n{\"a", "Connection to n1 closed by remote host.\r\n", 255, TRANSPORT_SSH, REMOTE_DONE,
     REMOTE_UNREACHABLE, 1, "Connection to n1 closed"},
    {"", "root@n1: Permission denied (publickey).\r\n", 255, TRANSPORT_SSH, REMOTE_DONE,
     REMOTE_DENIED, 0, "root@n1: Permission denied (publickey)."},
    {"", "Host key verification failed.\r\n", 255, TRANSPORT_SSH, REMOTE_DONE, REMOTE_DENIED, 0,
     "ssh does not know its host key: log in once with ssh n1"},
    {"",
     "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\r\nHost key verification failed.\r\n",
     255, TRANSPORT_SSH, REMOTE_DONE, REMOTE_DENIED, 0, "its host key is not the one"},
    {"", "", 127, TRANSPORT_SSH, REMOTE_DONE, REMOTE_NO_PROGRAM, 0, "fairlead is not installed"},
    {"", "sudo: a password is required\n", 1, TRANSPORT_SSH, REMOTE_DONE, REMOTE_DENIED, 0,
     "sudo does not let"},
    {"", "Sorry, user a is not allowed to execute 'x' as root on n1.\n", 1, TRANSPORT_SSH,
     REMOTE_DONE, REMOTE_DENIED, 0, "sudo does not let"},
    {"", "fairlead: unrecognized option '--new'\n", 2, TRANSPORT_SSH, REMOTE_DONE, REMOTE_DONE, 0,
     "unrecognized option '--new'"},
    /* Of other transports 255 has no meaning. */
    {"", "x\n", 255, TRANSPORT_VIA, REMOTE_DONE, REMOTE_DONE, 0, "x"},
    {"{}\n{\"half", "", 143, TRANSPORT_SSH, REMOTE_TIMEOUT, REMOTE_TIMEOUT, 1,
     "no whole answer within 2.5 s"},
    {"{}\nhello\n", "", 143, TRANSPORT_SSH, REMOTE_TIMEOUT, REMOTE_TIMEOUT, 1, "no whole answer"},
    {"{}\n", "", 143, TRANSPORT_SSH, REMOTE_INTERRUPTED, REMOTE_INTERRUPTED, 1, "interrupted"},
    {"{}\n", "", 143, TRANSPORT_SSH, REMOTE_TOO_MUCH, REMOTE_TOO_MUCH, 1,
     "it prints more than 8 MiB"},
};

static void test_judge(void)
{
	static char n1[] = "n1";

	for (size_t i = 0; i < ARRAY_SIZE(judged); i++) {
		const struct judged *c = &judged[i];
		struct remote_answer a = {.node = n1};
		const struct answer_output o = {.out = c->out,
		                                .out_len = strlen(c->out),
		                                .err = c->err,
		                                .err_len = strlen(c->err),
		                                .exit_code = c->exit_code};

		answer_judge(&a, c->kind, false, c->cut, 2500 * US_PER_MS, &o);
		if (!CHECK_EQ_STR(remote_outcome_name(a.outcome), remote_outcome_name(c->want)) ||
		    !CHECK_EQ_INT(json_array_size(a.objects), c->want_objects) ||
		    !CHECK_EQ_INT(a.error != NULL, c->want_error != NULL) ||
		    !CHECK(a.error == NULL || strncmp(a.error, c->want_error, strlen(c->want_error)) == 0))
			(void) fprintf(stderr, "  case %zu: %s\n", i, a.error != NULL ? a.error : "");
		json_decref(a.objects);
		free(a.error);
	}
}

static void test_judge_limits(void)
{
	static char n1[] = "n1";
	struct remote_answer a = {.node = n1};
	char *lines = xcalloc(REMOTE_LINES_MAX + 1, 3);
	struct answer_output o = {.out = lines, .err = "", .out_len = (REMOTE_LINES_MAX + 1) * 3};

	for (size_t i = 0; i <= REMOTE_LINES_MAX; i++)
		memcpy(lines + i * 3, "{}\n", 3);
	answer_judge(&a, TRANSPORT_SSH, false, REMOTE_DONE, LONG_US, &o);
	CHECK_EQ_INT(a.outcome, REMOTE_TOO_MUCH);
	CHECK_EQ_INT(json_array_size(a.objects), REMOTE_LINES_MAX);
	json_decref(a.objects);
	free(a.error);

	/* Text is taken line by line, and is printable then. */
	a = (struct remote_answer){.node = n1};
	o = (struct answer_output){.out = "a\033[2J\n\nb \xff", .err = "", .out_len = 10};
	answer_judge(&a, TRANSPORT_SSH, true, REMOTE_DONE, LONG_US, &o);
	CHECK_EQ_INT(a.outcome, REMOTE_DONE);
	CHECK_EQ_INT(json_array_size(a.objects), 3);
	CHECK_EQ_STR(json_string_value(json_array_get(a.objects, 0)), "a?[2J");
	CHECK_EQ_STR(json_string_value(json_array_get(a.objects, 1)), "");
	CHECK_EQ_STR(json_string_value(json_array_get(a.objects, 2)), "b ?");
	json_decref(a.objects);
	free(lines);
}

/* --- children --- */

/* What the node called $host does with the command $remote. `fairlead` there is the next script. */
static const char fake_ssh[] =
    "#!/bin/sh\n"
    "while [ \"$1\" != -- ]; do shift; done\n"
    "host=$2 remote=$3\n"
    "case $host in\n"
    "dead) echo 'ssh: connect to host dead port 22: No route to host' >&2; exit 255 ;;\n"
    "hangs) echo '{\"begins\":true}'; (trap '' TERM; exec sleep 60) & echo $! >\"$DIR/hangs.pid\"; "
    "wait ;;\n"
    "stubborn) echo $$ >\"$DIR/stubborn.pid\"; trap '' TERM; while :; do sleep 60; done ;;\n"
    "floods) exec yes '{}' ;;\n"
    "greets) echo Welcome ;;\n"
    "bare) PATH=/nowhere; exec /bin/sh -c \"$remote\" ;;\n"
    "leaves) sleep 60 & echo $! >\"$DIR/leaves.pid\"; echo '{\"left\":1}' ;;\n"
    "count*) echo \"$host\" >>\"$DIR/running\"; until [ -e \"$DIR/go\" ]; do sleep 0.01; done\n"
    "    echo \"{\\\"host\\\":\\\"$host\\\"}\" ;;\n"
    "*) export host FAIRLEAD_NODES=good; PATH=$DIR/there:$PATH; exec sh -c \"$remote\" ;;\n"
    "esac\n";

static const char fake_fairlead[] =
    "#!/bin/sh\n"
    "[ \"$1\" != input ] || { n=$(wc -c); echo \"{\\\"input\\\":$n}\"; exit 0; }\n"
    "[ \"$1\" != early ] || exit 5\n"
    "printf '{\"nodes\":\"%s\",\"sudo\":\"%s\",\"n\":%d,\"last\":\"%s\"}\\n' \\\n"
    "    \"$FAIRLEAD_NODES\" \"$SUDO\" $# \"$2\"\n";

static const char fake_sudo[] =
    "#!/bin/sh\n"
    "[ \"$1 $2\" = '-n --' ] || exit 9\n"
    "[ \"$host\" != asks ] || { echo 'sudo: a password is required' >&2; exit 1; }\n"
    "shift 2\n"
    "SUDO=yes exec \"$@\"\n";

static void write_script(const char *name, const char *text)
{
	AUTO(free) char *path = xasprintf("%s/%s", clirun_dir, name);

	CHECK_EQ_INT(file_write_atomic(path, text, strlen(text), 0755, FILE_VOLATILE), 0);
}

static void make_world(void)
{
	AUTO(free) char *path = xasprintf("%s/bin:%s", clirun_dir, getenv("PATH"));
	AUTO(free) char *bin = xasprintf("%s/bin", clirun_dir);
	AUTO(free) char *there = xasprintf("%s/there", clirun_dir);

	CHECK_EQ_INT(mkdir(bin, 0755), 0);
	CHECK_EQ_INT(mkdir(there, 0755), 0);
	write_script("bin/ssh", fake_ssh);
	write_script("there/fairlead", fake_fairlead);
	/* The login is not root there, and becomes it by this. */
	write_script("there/id", "#!/bin/sh\necho 1000\n");
	write_script("there/sudo", fake_sudo);
	(void) setenv("PATH", path, 1);
	(void) setenv("DIR", clirun_dir, 1);
}

static void ask(const char *via, const char *const *nodes, size_t n, const struct texts *words,
                int64_t timeout_us, struct remote_answer *ret)
{
	AUTO(remote_free) struct remote *remote = NULL;

	CHECK_EQ_INT(remote_new(via, &remote), CLI_OK);
	CHECK_EQ_INT(remote_run(remote, nodes, n, words, NULL, 0, timeout_us, NULL, NULL, ret), 0);
}

static void check_answer(const struct remote_answer *a, const char *node,
                         enum remote_outcome outcome, const char *objects)
{
	AUTO(free) char *got = json_dumps(a->objects, JSON_COMPACT);

	CHECK_EQ_STR(a->node, node);
	CHECK_EQ_STR(got, objects);
	if (!CHECK_EQ_STR(remote_outcome_name(a->outcome), remote_outcome_name(outcome)))
		(void) fprintf(stderr, "  %s: %s\n", node, a->error != NULL ? a->error : "");
}

static void test_outcomes(void)
{
	static const char *const nodes[] = {"good", "dead",      "greets", "bare", "-oEvil=id",
	                                    "good", "localhost", "leaves", "asks"};
	struct remote_answer answers[ARRAY_SIZE(nodes)];
	struct texts words = {0};
	int64_t began_us = mono_now_us();

	texts_add(&words, "status");
	texts_add(&words, "it's $(echo x); `id`");
	ask(NULL, nodes, ARRAY_SIZE(nodes), &words, LONG_US, answers);
	check_answer(&answers[0], "good", REMOTE_DONE,
	             "[{\"nodes\":\"\",\"sudo\":\"yes\",\"n\":2,\"last\":\"it's $(echo x); `id`\"}]");
	check_answer(&answers[1], "dead", REMOTE_UNREACHABLE, "[]");
	check_answer(&answers[2], "greets", REMOTE_GARBLED, "[]");
	check_answer(&answers[3], "bare", REMOTE_NO_PROGRAM, "[]");
	check_answer(&answers[4], "-oEvil=id", REMOTE_UNREACHABLE, "[]");
	check_answer(&answers[6], "localhost", REMOTE_DONE, "[{\"here\":\"status\"}]");
	CHECK_EQ_INT(answers[6].exit_code, CLI_WARNED);
	/* What it left behind holds its output open, and is not waited for. */
	check_answer(&answers[7], "leaves", REMOTE_DONE, "[{\"left\":1}]");
	CHECK(mono_now_us() - began_us < LONG_US / 2);
	check_answer(&answers[8], "asks", REMOTE_DENIED, "[]");
	remote_answers_fini(answers, ARRAY_SIZE(nodes));
	(void) scratch_shell("kill $(cat %s/leaves.pid)", clirun_dir);
	ask("no-such-program-here {}", nodes, 1, &words, LONG_US, answers);
	check_answer(&answers[0], "good", REMOTE_UNREACHABLE, "[]");
	CHECK(strncmp(answers[0].error, "cannot run 'no-such-program-here' here: ", 40) == 0);
	remote_answers_fini(answers, 1);
	texts_fini(&words);
}

/* Soon: who has inherited a killed process has to reap it. */
static void check_gone(const char *file)
{
	AUTO(free) char *text = clirun_contents(file);
	int pid = atoi(text);

	CHECK(pid > 0);
	for (int i = 0; i < 1000 && kill(pid, 0) == 0; i++)
		(void) usleep(10 * 1000);
	if (!CHECK(kill(pid, 0) < 0))
		(void) fprintf(stderr, "  %s: %d\n", file, pid);
}

static void test_deadline(void)
{
	static const char *const nodes[] = {"hangs", "stubborn", "good"};
	struct remote_answer answers[ARRAY_SIZE(nodes)];
	struct texts words = {0};
	int64_t began_us = mono_now_us();

	texts_add(&words, "status");
	ask(NULL, nodes, ARRAY_SIZE(nodes), &words, 2 * US_PER_S, answers);
	check_answer(&answers[0], "hangs", REMOTE_TIMEOUT, "[{\"begins\":true}]");
	check_answer(&answers[1], "stubborn", REMOTE_TIMEOUT, "[]");
	check_answer(&answers[2], "good", REMOTE_DONE,
	             "[{\"nodes\":\"\",\"sudo\":\"yes\",\"n\":1,\"last\":\"\"}]");
	CHECK(mono_now_us() - began_us < LONG_US / 2);
	check_gone("hangs.pid");
	check_gone("stubborn.pid");
	remote_answers_fini(answers, ARRAY_SIZE(nodes));
	texts_fini(&words);
}

static void test_flood(void)
{
	static const char *const nodes[] = {"floods"};
	struct remote_answer answer;
	struct texts words = {0};

	texts_add(&words, "status");
	ask(NULL, nodes, 1, &words, LONG_US, &answer);
	CHECK_EQ_STR(remote_outcome_name(answer.outcome), "too-much");
	CHECK_EQ_INT(json_array_size(answer.objects), REMOTE_LINES_MAX);
	remote_answers_fini(&answer, 1);
	texts_fini(&words);
}

/* More than a pipe holds; and a node that does not read it. */
static void test_input(void)
{
	static const char *const nodes[] = {"good", "good"};
	AUTO(remote_free) struct remote *remote = NULL;
	AUTO(free) char *input = xcalloc(1000000, 1);
	struct remote_answer answers[ARRAY_SIZE(nodes)];
	struct texts words[ARRAY_SIZE(nodes)] = {0};

	texts_add(&words[0], "input");
	texts_add(&words[1], "early");
	CHECK_EQ_INT(remote_new(NULL, &remote), CLI_OK);
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++)
		CHECK_EQ_INT(remote_run(remote, &nodes[i], 1, &words[i], input, 1000000, LONG_US, NULL,
		                        NULL, &answers[i]),
		             0);
	check_answer(&answers[0], "good", REMOTE_DONE, "[{\"input\":1000000}]");
	check_answer(&answers[1], "good", REMOTE_DONE, "[]");
	CHECK_EQ_INT(answers[1].exit_code, 5);
	remote_answers_fini(answers, ARRAY_SIZE(nodes));
	texts_fini(&words[0]);
	texts_fini(&words[1]);
}

/* --- many --- */

#define MANY 12

static size_t n_lines(const char *file)
{
	AUTO(free) char *text = clirun_contents(file);
	size_t n = 0;

	for (const char *p = text; *p != '\0'; p++)
		n += *p == '\n';
	return n;
}

/* In a child: as many as may run at the same time wait for this. */
static NORETURN void let_go(pid_t parent, int signo)
{
	AUTO(free) char *path = xasprintf("%s/go", clirun_dir);
	size_t n = 0;

	for (int i = 0; i < 3000 && n < REMOTE_AT_ONCE; i++) {
		(void) usleep(10 * 1000);
		n = n_lines("running");
	}
	if (signo != 0)
		(void) kill(parent, signo);
	else
		(void) file_write_atomic(path, "", 0, 0600, FILE_VOLATILE);
	_exit(n == REMOTE_AT_ONCE ? 0 : 1);
}

static void count_answer(const struct remote_answer *answer, void *userdata)
{
	CHECK(answer->node != NULL && answer->objects != NULL);
	(*(size_t *) userdata)++;
}

static void check_many(int signo)
{
	AUTO(remote_free) struct remote *remote = NULL;
	const char *nodes[MANY];
	char names[MANY][16];
	struct remote_answer answers[MANY];
	struct texts words = {0};
	size_t n_told = 0;
	pid_t parent = getpid(), pid;
	int status = -1;

	for (size_t i = 0; i < MANY; i++) {
		(void) snprintf(names[i], sizeof(names[i]), "count%zu", i);
		nodes[i] = names[i];
	}
	(void) scratch_shell("rm -f %s/running %s/go", clirun_dir, clirun_dir);
	texts_add(&words, "status");
	CHECK_EQ_INT(remote_new(NULL, &remote), CLI_OK);
	pid = fork();
	if (pid == 0)
		let_go(parent, signo);
	CHECK_EQ_INT(
	    remote_run(remote, nodes, MANY, &words, NULL, 0, LONG_US, count_answer, &n_told, answers),
	    signo != 0 ? -EINTR : 0);
	(void) waitpid(pid, &status, 0);
	CHECK_EQ_INT(n_told, MANY);
	for (size_t i = 0; i < MANY; i++) {
		AUTO(free) char *want = xasprintf("[{\"host\":\"%s\"}]", names[i]);

		if (signo == 0)
			check_answer(&answers[i], names[i], REMOTE_DONE, want);
		else
			check_answer(&answers[i], names[i], REMOTE_INTERRUPTED, "[]");
	}
	CHECK_EQ_INT(n_lines("running"), signo != 0 ? REMOTE_AT_ONCE : MANY);
	remote_answers_fini(answers, MANY);
	texts_fini(&words);
}

/* --- this program as fairlead on this node --- */

static int be_fairlead(char **argv)
{
	(void) printf("{\"here\":\"%s\"}\n", argv[1]);
	return CLI_WARNED;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return be_fairlead(argv);
	test_names();
	test_here();
	test_via();
	test_judge();
	test_judge_limits();
	clirun_begin();
	test_ssh_command();
	make_world();
	test_outcomes();
	test_deadline();
	test_flood();
	test_input();
	check_many(0);
	check_many(SIGINT);
	clirun_end();
	return check_result();
}
