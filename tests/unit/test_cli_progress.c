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
    {{"taking", 120 * MB, 240 * MB, true, 10 * MB, 12 * US_PER_S},
     80,
     "taking [##########..........]  50% 120 MB of 240 MB, 10 MB/s, 12s left"},
    {{"taking", 0, 240 * MB, true, 0, US_PER_S},
     80,
     "taking [....................]   0% 0 B of 240 MB, 1s"},
    {{"taking", 240 * MB, 240 * MB, true, 10 * MB, US_PER_S},
     80,
     "taking [####################] 100% 240 MB of 240 MB, 10 MB/s, 1s"},
    /* More than was thought: nothing is said of the rest. */
    {{"taking", 300 * MB, 240 * MB, true, 10 * MB, 30 * US_PER_S},
     80,
     "taking [####################] 100% 300 MB of 240 MB, 10 MB/s, 30s"},
    {{"rebuilding", 5000, 9000, false, 100, 50 * US_PER_S},
     80,
     "rebuilding [###########.........]  55% 5000 of 9000, 100/s, 40s left"},
    {{"unpacking", 7 * MB, 0, true, MB, 7 * US_PER_S}, 80, "unpacking 7.0 MB, 1.0 MB/s, 7s"},
    {{"proving", -1, 0, false, 0, 61 * US_PER_S}, 80, "proving 1m"},
    {{"proving", -1, 500, false, 0, 61 * US_PER_S}, 80, "proving 1m"},
    /* Where there is less room. */
    {{"taking", 120 * MB, 240 * MB, true, 10 * MB, US_PER_S},
     50,
     "taking 120 MB of 240 MB, 10 MB/s, 12s left"},
    {{"taking", 120 * MB, 240 * MB, true, 10 * MB, US_PER_S}, 10, "taking 120"},
    {{"n\u00e9", -1, 0, false, 0, 0}, 2, "n\u00e9"},
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
	progress_measure(&meter, US_PER_S - 1, 5000);
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

/* --- commands -----------------------------------------------------------------------------------
 */

#define ENTRY "{\"id\":\"id-1\",\"revision\":7,\"where\":[\"local\"]}\nok\n"
#define STEP "\"step\":\"defragment\",\"text\":\"write n1 anew\""

static const struct scripted_row daemons[] = {
    {"etcdwatch", "etcd snapshot save", ENTRY},
    {"etcdwatch", "etcd snapshot save --progress",
     "{\"progress\":\"taking\",\"bytes\":25,\"of_bytes\":100}\n"
     "{\"progress\":\"proving\",\"bytes\":0,\"of_bytes\":0}\n" ENTRY},
    {"etcdwatch", "etcd defrag n1 --dry-run", "{" STEP ",\"state\":\"planned\"}\nok\n"},
    {"etcdwatch", "etcd defrag n1 --progress",
     "{\"progress\":\"defragment\"," STEP "}\n{" STEP ",\"state\":\"done\",\"took_ms\":5}\nok\n"},
    {"etcdwatch", "etcd drill --progress",
     "{\"progress\":\"restore\"}\nerror failed it did not start\n"},
};

/* Everything that it writes to a terminal of 80 columns. */
static char *on_terminal(const char *words)
{
	AUTO(free) char *line = xasprintf("fairlead -r %s %s", clirun_dir, words);
	struct winsize size = {.ws_row = 24, .ws_col = 80};
	char *text = xcalloc(65536, 1);
	size_t len = 0;
	ssize_t n;
	int fd, status;
	pid_t pid = forkpty(&fd, NULL, NULL, &size);

	if (pid == 0) {
		char *argv[16];
		int argc = words_split(line, argv, ARRAY_SIZE(argv) - 1);

		argv[argc] = NULL;
		(void) setenv("TERM", "vt100", 1);
		exit(cli_main(argc, argv));
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
	AUTO(free) char *text = on_terminal(words);
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
	               "\r\033[Ktaking [#####...............]  25% 25 B of 100 B, 0s\r\033[Kproving 0s",
	               "\r\033[KSNAPSHOT");
	check_terminal("etcd defrag --yes n1", "\r\033[Kwrite n1 anew 0s",
	               "\r\033[Kdone:  write n1 anew (5 ms)");
	check_terminal("etcd drill", "\r\033[Krestore 0s", "\r\033[Kfairlead: it did not start");
	check_terminal("-o json etcd snapshot save", "{\"id\"", "");
	clirun_check(line, CLI_OK, "SNAPSHOT", "");
	scripted_stop(pid);
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
	test_commands();
	test_older_daemon();
	clirun_end();
	return check_result();
}
