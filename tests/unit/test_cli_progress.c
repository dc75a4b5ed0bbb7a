/* SPDX-License-Identifier: Apache-2.0 */
/* What the line about progress says, to the byte, how fast something is, and that commands show it
 * on a terminal and nowhere else. */
#include "cli/common/progress.h"

#include <errno.h>
#include <pty.h>
#include <stdlib.h>

#include "base/macro.h"
#include "base/mono.h"
#include "cli/common/table.h"
#include "tests/unit/clirun.h"
#include "tests/unit/scripted.h"

#define MB 1000000

static const struct {
	struct progress_state state;
	size_t width;
	const char *text;
} rows[] = {
    {{"taking", 120 * MB, 240 * MB, true, 10 * MB, 12 * US_PER_S, 0, NULL},
     80,
     "taking [##########..........]  50% 120 MB of 240 MB, 10 MB/s, 12s left"},
    {{"taking", 0, 240 * MB, true, 0, US_PER_S, 0, NULL},
     80,
     "taking [....................]   0% 0 B of 240 MB, 1s"},
    {{"taking", 240 * MB, 240 * MB, true, 10 * MB, US_PER_S, 0, NULL},
     80,
     "taking [###################.]  99% 240 MB of 240 MB, 1s"},
    {{"taking", INT64_C(2399) * MB / 10, 240 * MB, true, 10 * MB, US_PER_S, 0, NULL},
     80,
     "taking [###################.]  99% 240 MB of 240 MB, 10 MB/s, 0s left"},
    /* More than was thought: nothing is said of the rest. */
    {{"taking", 300 * MB, 240 * MB, true, 10 * MB, 30 * US_PER_S, 0, NULL},
     80,
     "taking 300 MB, 10 MB/s, 30s"},
    {{"rebuilding", 5000, 9000, false, 100, 50 * US_PER_S, 0, NULL},
     80,
     "rebuilding [###########.........]  55% 5000 of 9000, 100/s, 40s left"},
    {{"unpacking", 7 * MB, 0, true, MB, 7 * US_PER_S, 0, NULL},
     80,
     "unpacking 7.0 MB, 1.0 MB/s, 7s"},
    {{"proving", -1, 0, false, 0, 61 * US_PER_S, 0, NULL}, 80, "proving 1m01s"},
    {{"proving", -1, 500, false, 0, 61 * US_PER_S, 0, NULL}, 80, "proving 1m01s"},
    {{"taking", 40 * MB, 240 * MB, true, MB, US_PER_S, 0, NULL},
     80,
     "taking [###.................]  16% 40 MB of 240 MB, 1.0 MB/s, 3m20s left"},
    {{"taking", 0, INT64_C(7500) * MB, true, MB, US_PER_S, 0, NULL},
     80,
     "taking [....................]   0% 0 B of 7.5 GB, 1.0 MB/s, 2h05m left"},
    /* What says nothing of itself may be expected to take as long as another; no longer than that.
     */
    {{"writing", -1, 0, false, 0, 4 * US_PER_S, 12 * US_PER_S, "the rate of n1"},
     80,
     "writing 4s, about 8s left by the rate of n1"},
    {{"writing", -1, 0, false, 0, 12 * US_PER_S, 12 * US_PER_S, "the rate of n1"},
     80,
     "writing 12s"},
    /* Where there is less room. */
    {{"taking", 120 * MB, 240 * MB, true, 10 * MB, US_PER_S, 0, NULL},
     50,
     "taking 120 MB of 240 MB, 10 MB/s, 12s left"},
    {{"taking", 120 * MB, 240 * MB, true, 10 * MB, US_PER_S, 0, NULL}, 10, "taking 120"},
    {{"n\u00e9", -1, 0, false, 0, 0, 0, NULL}, 2, "n\u00e9"},
};

static void test_text(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO(free) char *text = progress_text(&rows[i].state, rows[i].width);

		if (!CHECK_EQ_STR(text, rows[i].text) || !CHECK(table_width(text) <= rows[i].width))
			(void) fprintf(stderr, "  row %zu\n", i);
	}
}

static void test_rate(void)
{
	struct progress_meter meter = {0};

	CHECK(progress_rate(&meter) == 0);
	progress_measure(&meter, 0, 100);
	CHECK(progress_rate(&meter) == 0);
	/* Too soon after the last one. */
	progress_measure(&meter, US_PER_S / 3, 5000);
	CHECK(progress_rate(&meter) == 0);
	progress_measure(&meter, US_PER_S, 200);
	CHECK(progress_rate(&meter) == 100);
	/* What is long ago does not count: now it is slow, then it stands. */
	for (int i = 2; i < 20; i++)
		progress_measure(&meter, i * US_PER_S, 200 + i);
	CHECK(progress_rate(&meter) == 1);
	for (int i = 20; i < 40; i++)
		progress_measure(&meter, i * US_PER_S, 219);
	CHECK(progress_rate(&meter) == 0);
}

/* A test's standard error is no terminal when it is recorded, and it may be one: nothing is shown
 * either way. */
static void test_unseen(void)
{
	AUTO(progress_free) struct progress *progress = progress_new(false);

	CHECK(!progress_is_seen(progress));
	progress_show(progress, "taking", 1, 2, true);
	progress_clear();
}

/* --- commands --- */

#define ENTRY "{\"id\":\"id-1\",\"revision\":7,\"where\":[\"local\"]}\nok\n"
#define STEP "\"step\":\"defragment\",\"node\":\"n1\",\"text\":\"write n1 anew\""

static const struct scripted_row daemons[] = {
    {"etcdwatch", "etcd snapshot save", ENTRY},
    {"etcdwatch", "etcd snapshot save --progress",
     "{\"progress\":\"taking\",\"bytes\":25,\"of_bytes\":100}\n"
     "{\"progress\":\"proving\",\"bytes\":0,\"of_bytes\":0}\n"
     "{\"progress\":\"proving\",\"doing\":\"tree\",\"bytes\":50,\"of_bytes\":100}\n" ENTRY},
    {"etcdwatch", "etcd defrag n1 --dry-run", "{" STEP ",\"state\":\"planned\"}\nok\n"},
    {"etcdwatch", "etcd defrag n1 --progress",
     "{\"progress\":\"defragment\"," STEP "}\n"
     "{\"progress\":\"defragment\",\"in_use_bytes\":402000000," STEP "}\n"
     "{" STEP ",\"state\":\"done\",\"took_ms\":50000,\"bytes_after\":200000000}\n"
     "{\"progress\":\"defragment\",\"in_use_bytes\":402000000," STEP "}\nok\n"},
    {"etcdwatch", "etcd drill --progress",
     "{\"progress\":\"restore\"}\nerror failed it did not start\n"},
};

static int run_command(const char *words)
{
	AUTO(free) char *line = xasprintf("fairlead -r %s %s", clirun_dir, words);
	char *argv[16];
	int argc = words_split(line, argv, ARRAY_SIZE(argv) - 1);

	argv[argc] = NULL;
	return cli_main(argc, argv);
}

/* Everything that it writes to a terminal of 80 columns. */
static char *on_terminal(int (*run)(const char *words), const char *words)
{
	struct winsize size = {.ws_row = 24, .ws_col = 80};
	char *text = xcalloc(65536, 1);
	size_t len = 0;
	ssize_t n;
	int fd, status;
	pid_t pid = forkpty(&fd, NULL, NULL, &size);

	if (pid == 0) {
		(void) setenv("TERM", "vt100", 1);
		exit(run(words));
	}
	/* Its end is an error (EIO) when the last one there has closed it. */
	while ((n = read(fd, text + len, 65535 - len)) > 0 || (n < 0 && errno == EINTR))
		len += n > 0 ? (size_t) n : 0;
	(void) close(fd);
	(void) waitpid(pid, &status, 0);
	return text;
}

static void check_terminal(const char *words, const char *shown, const char *behind)
{
	AUTO(free) char *text = on_terminal(run_command, words);
	const char *at = strstr(text, shown);

	/* The line is gone before anything else comes. */
	if (!CHECK(at != NULL) || !CHECK(strstr(at, behind) != NULL))
		(void) fprintf(stderr, "  fairlead %s shows\n%s\n", words, text);
}

static void test_commands(void)
{
	AUTO(free) char *line = xasprintf("-r %s etcd snapshot save", clirun_dir);
	pid_t pid = scripted_start(clirun_dir, daemons, ARRAY_SIZE(daemons));

	check_terminal("etcd snapshot save",
	               "\r\033[Ktaking [#####...............]  25% 25 B of 100 B, 0s\r\033[Kproving 0s"
	               "\r\033[Kproving: tree [##########..........]  50% 50 B of 100 B, 0s",
	               "\r\033[KSNAPSHOT");
	/* What is still to be written, and for how long only when another has been. */
	check_terminal("etcd defrag --yes n1",
	               "\r\033[Kwrite n1 anew 0s\r\033[Kdefragment n1: 402 MB to write 0s",
	               "\r\033[Kdone:  write n1 anew (50000 ms");
	check_terminal("etcd defrag --yes n1", "\r\033[Kdone:",
	               "\r\033[Kdefragment n1: 402 MB to write 0s, about 1m40s left by the rate of n1");
	check_terminal("etcd drill", "\r\033[Krestore 0s", "\r\033[Kfairlead: it did not start");
	check_terminal("-o json etcd snapshot save", "{\"id\"", "");
	clirun_check(line, CLI_OK, "SNAPSHOT", "");
	scripted_stop(pid);
}

/* A part that is sent again, as a target has lost it: the line stands until there is more. */
static int go_back(const char *words UNUSED)
{
	AUTO(progress_free) struct progress *progress = progress_new(true);
	int64_t until_us = mono_now_us() + US_PER_S / 2;

	progress_show(progress, "sending", 50, 100, false);
	while (mono_now_us() < until_us)
		progress_show(progress, "sending", 20, 100, false);
	progress_show(progress, "sending", 70, 100, false);
	return 0;
}

/* Whoever reads what is printed is no person. */
static int print_to_file(const char *words UNUSED)
{
	AUTO(progress_free) struct progress *progress = NULL;

	if (freopen("/dev/null", "w", stdout) == NULL)
		return 1;
	progress = progress_new(true);
	progress_show(progress, "sending", 50, 100, false);
	return 0;
}

static void test_line(void)
{
	AUTO(free) char *back = on_terminal(go_back, "");
	AUTO(free) char *file = on_terminal(print_to_file, "");

	CHECK(strstr(back, " 50% 50 of 100, 0s") != NULL);
	CHECK(strstr(back, "20 of 100") == NULL && strstr(back, "20%") == NULL);
	CHECK_EQ_STR(file, "");
}

/* Daemons that do not know --progress yet are asked again without it, and about nothing else. */
static void test_older_daemon(void)
{
	static const struct scripted_row older[] = {
	    {"etcdwatch", "etcd snapshot save --progress",
	     "error usage etcd snapshot save [JOB] [--plain]\n"},
	    {"etcdwatch", "etcd snapshot save", ENTRY},
	    {"etcdwatch", "etcd drill --progress", "error notfound no job '--progress'\n"},
	    {"etcdwatch", "etcd drill", "error failed it was rehearsed\n"},
	    {"etcdwatch", "etcd snapshot save j --progress", "error notfound no job 'j'\n"},
	    {"etcdwatch", "etcd snapshot save j", "error failed it was asked again\n"},
	};
	pid_t pid = scripted_start(clirun_dir, older, ARRAY_SIZE(older));

	check_terminal("etcd snapshot save", "SNAPSHOT", "id-1");
	check_terminal("etcd drill", "fairlead: it was rehearsed", "");
	check_terminal("etcd snapshot save j", "fairlead: no job 'j'", "");
	scripted_stop(pid);
}

int main(void)
{
	clirun_begin();
	test_text();
	test_rate();
	test_unseen();
	test_line();
	test_commands();
	test_older_daemon();
	clirun_end();
	return check_result();
}
