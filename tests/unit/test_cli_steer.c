/* SPDX-License-Identifier: Apache-2.0 */
/* What was shown is what is asked for: the second request names the member by its ID. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/unixsock.h"
#include "tests/unit/clirun.h"

#define PLANNED "\"node\":\"n1\",\"text\":\"do it\",\"state\":\"planned\""

/* In a child: a plan to each of so many requests, whose lines go into the file "asked". */
static void serve(int listener, const char *plan, int n)
{
	AUTO(free) char *path = xasprintf("%s/asked", clirun_dir);
	FILE *asked = fopen(path, "w");

	CHECK(asked != NULL);
	for (int i = 0; i < n; i++) {
		AUTO(free) char *answer = xasprintf("%sok\n", plan);
		char line[512] = "";
		int fd;

		/* The listener does not block, and here it should. */
		while ((fd = accept(listener, NULL, NULL)) < 0)
			(void) usleep(1000);
		(void) !read(fd, line, sizeof(line) - 1);
		(void) fputs(line, asked);
		(void) !write(fd, answer, strlen(answer));
		(void) close(fd);
	}
	(void) fclose(asked);
}

static void check_asked(const char *words, const char *plan, int n, const char *want,
                        const char *want_out)
{
	AUTO(free) char *path = xasprintf("%s/etcdwatch.sock", clirun_dir);
	AUTO(free) char *line = xasprintf("-r %s --yes %s", clirun_dir, words);
	AUTO(free) char *out = NULL;
	AUTO(free) char *err = NULL;
	AUTO(free) char *asked = NULL;
	int listener = unixsock_listen(path, NULL, 4);
	pid_t pid;

	CHECK(listener >= 0);
	pid = fork();
	if (pid == 0) {
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(listener, plan, n);
		_exit(0);
	}
	(void) close(listener);
	CHECK_EQ_INT(clirun(line, &out, &err), CLI_OK);
	(void) waitpid(pid, NULL, 0);
	asked = clirun_contents("asked");
	CHECK_EQ_STR(asked, want);
	if (want_out != NULL)
		CHECK_EQ_STR(out, want_out);
}

int main(void)
{
	clirun_begin();
	check_asked("etcd remove-member n1",
	            "{\"step\":\"move-leader\",\"member\":\"b2\"," PLANNED "}\n"
	            "{\"step\":\"remove\",\"member\":\"a1\"," PLANNED "}\n",
	            2, "etcd remove-member n1 --dry-run\netcd remove-member a1\n", NULL);
	check_asked("etcd leave", "{\"step\":\"remove\",\"member\":\"a1\"," PLANNED "}\n", 2,
	            "etcd leave --dry-run\netcd leave\n", NULL);
	check_asked("etcd remove-member n1", "", 1, "etcd remove-member n1 --dry-run\n", NULL);
	check_asked("-o yaml etcd recover-space --dry-run", "{\"step\":\"compact\"," PLANNED "}\n", 1,
	            "etcd recover-space --dry-run\n",
	            "---\nstep: \"compact\"\nnode: \"n1\"\ntext: \"do it\"\nstate: \"planned\"\n");
	clirun_end();
	return check_result();
}
