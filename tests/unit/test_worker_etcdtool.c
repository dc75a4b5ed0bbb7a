/* SPDX-License-Identifier: Apache-2.0 */
/* etcd's own tool: which version can what, how it is found, what it is told, and what is made of
 * its end. That it restores is for the stories; here a script stands in for it. */
#include "etcdwatch/worker/restore/etcdtool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "tests/unit/check.h"

static void test_versions(void)
{
	static const struct {
		const char *text;
		int r;
		struct etcdtool_info info;
	} cases[] = {
	    {"etcdctl version: 3.4.23\nAPI version: 3.4\n",
	     0,
	     {ETCDTOOL_ETCDCTL, 3, 4, 23, true, false, true}},
	    {"etcdctl version: 3.4.26\n", 0, {ETCDTOOL_ETCDCTL, 3, 4, 26, true, false, true}},
	    {"etcdctl version: 3.4.27\n", 0, {ETCDTOOL_ETCDCTL, 3, 4, 27, true, true, true}},
	    {"etcdutl version: 3.5.9\n", 0, {ETCDTOOL_ETCDUTL, 3, 5, 9, true, false, true}},
	    {"etcdutl version: 3.5.10\n", 0, {ETCDTOOL_ETCDUTL, 3, 5, 10, true, true, true}},
	    {"etcdctl version: 3.5.16\n", 0, {ETCDTOOL_ETCDCTL, 3, 5, 16, true, true, true}},
	    {"etcdutl version: 3.6.0-rc.2\nAPI version: 3.6\n",
	     0,
	     {ETCDTOOL_ETCDUTL, 3, 6, 0, true, true, true}},
	    {"etcdctl version: 3.6.0\n", 0, {ETCDTOOL_ETCDCTL, 3, 6, 0, false, true, false}},
	    {"etcdutl version: 4.0.0\n", 0, {ETCDTOOL_ETCDUTL, 4, 0, 0, true, true, true}},
	    {"etcdctl version: 3.3.25\n", 0, {ETCDTOOL_ETCDCTL, 3, 3, 25, true, false, true}},
	    {"", -EBADMSG, {0}},
	    {"etcd Version: 3.5.16\n", -EBADMSG, {0}},
	    {"etcdutl version: 3.5\n", -EBADMSG, {0}},
	    {"etcdutl version: unknown\n", -EBADMSG, {0}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct etcdtool_info *want = &cases[i].info;
		struct etcdtool_info info = {0};

		if (!CHECK_EQ_INT(etcdtool_parse_version(cases[i].text, &info), cases[i].r) ||
		    !CHECK(info.kind == want->kind && info.major == want->major &&
		           info.minor == want->minor && info.patch == want->patch &&
		           info.can_restore == want->can_restore && info.can_bump == want->can_bump &&
		           info.can_skip_hash_check == want->can_skip_hash_check))
			(void) fprintf(stderr, "  '%s'\n", cases[i].text);
	}
}

/* A program that answers `version` with `said`, and to all else does what `then` says. */
static char *make_tool(const char *dir, const char *name, const char *said, const char *then)
{
	char *path = xasprintf("%s/%s", dir, name);
	AUTO(free)
	char *script =
	    xasprintf("#!/bin/sh\nif [ \"$1\" = version ]; then echo '%s'; exit; fi\n%s\n", said, then);

	CHECK_EQ_INT(file_write_atomic(path, script, strlen(script), 0755, FILE_VOLATILE), 0);
	return path;
}

static void test_find(const char *dir)
{
	AUTO(free) char *none = xasprintf("%s/none", dir), *one = xasprintf("%s/one", dir);
	AUTO(free) char *two = xasprintf("%s/two", dir);
	AUTO(free) char *both = xasprintf(":%s:%s:%s", none, one, two);
	AUTO(free) char *before = xstrdup(getenv("PATH"));
	AUTO(free) char *ctl = NULL, *utl = NULL;
	AUTO(etcdtool_free) struct etcdtool *found = NULL, *named = NULL, *known = NULL;
	struct etcdtool *tool = NULL;
	struct problem problem = {0};

	CHECK(mkdir(none, 0700) == 0 && mkdir(one, 0700) == 0 && mkdir(two, 0700) == 0);
	ctl = make_tool(one, "etcdctl", "etcdctl version: 3.4.23", "");
	utl = make_tool(two, "etcdutl", "etcdutl version: 3.5.16", "");
	(void) setenv("PATH", none, 1);
	CHECK_EQ_INT(etcdtool_find(NULL, NULL, &problem, &tool), -ENOENT);
	CHECK_EQ_STR(problem.code, "ETCDTOOL_MISSING");
	problem = (struct problem){0};
	CHECK_EQ_INT(etcdtool_find("/nowhere/etcdutl", NULL, &problem, &tool), -ENOENT);
	CHECK_EQ_STR(problem.code, "ETCDTOOL_MISSING");
	problem = (struct problem){0};
	/* etcdutl comes first, wherever it is. */
	(void) setenv("PATH", both, 1);
	CHECK_EQ_INT(etcdtool_find(NULL, NULL, &problem, &found), 0);
	CHECK_EQ_INT(etcdtool_find(ctl, NULL, &problem, &named), 0);
	(void) setenv("PATH", before, 1);
	if (found != NULL)
		CHECK_EQ_STR(etcdtool_path(found), utl);
	if (named != NULL)
		CHECK_EQ_INT(etcdtool_info(named)->patch, 23);
	if (found == NULL)
		return;
	CHECK_EQ_STR(etcdtool_says(found), "etcdutl version: 3.5.16");
	/* It is not asked again. */
	CHECK_EQ_INT(unlink(utl), 0);
	CHECK_EQ_INT(etcdtool_find(utl, etcdtool_says(found), &problem, &known), 0);
	if (known != NULL)
		CHECK(etcdtool_info(known)->minor == 5 && etcdtool_info(known)->can_bump);
}

static void test_no_tool(const char *dir)
{
	static const struct {
		const char *said;
		const char *reason;
	} cases[] = {
	    {"etcdctl version: 3.6.1", "cannot restore any more"},
	    {"busybox", "asked for its version it says 'busybox"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) char *path = make_tool(dir, "tool", cases[i].said, "");
		struct etcdtool *tool = NULL;
		struct problem problem = {0};

		CHECK(etcdtool_find(path, NULL, &problem, &tool) < 0 && tool == NULL);
		CHECK_EQ_STR(problem.code, "ETCDTOOL");
		CHECK(strstr(problem.reason, cases[i].reason) != NULL);
	}
}

static const struct etcdtool_restore wanted = {
    .snapshot = "-a b.db",
    .data_dir = "/var/lib/etcd",
    .name = "n1",
    .peer_urls = "https://10.0.0.1:2380",
    .initial_cluster = "n1=https://10.0.0.1:2380",
    .token = "t-1",
    .limit_ms = 1000,
};

static int restore(const char *dir, const char *said, const char *then,
                   const struct etcdtool_restore *request, struct problem *problem)
{
	AUTO(free) char *path = make_tool(dir, "tool", said, then);
	AUTO(etcdtool_free) struct etcdtool *tool = NULL;

	*problem = (struct problem){0};
	if (!CHECK_EQ_INT(etcdtool_find(path, NULL, problem, &tool), 0))
		return 0;
	return etcdtool_restore(tool, request, problem);
}

#define PLAIN_WORDS                                                             \
	"snapshot\nrestore\n--data-dir\n/var/lib/etcd\n--name\nn1\n"                \
	"--initial-advertise-peer-urls\nhttps://10.0.0.1:2380\n--initial-cluster\n" \
	"n1=https://10.0.0.1:2380\n--initial-cluster-token\nt-1\n"

static void test_words(const char *dir)
{
	AUTO(free) char *then = xasprintf("printf '%%s\\n' \"$@\" api=$ETCDCTL_API >%s/words", dir);
	AUTO(free) char *file = xasprintf("%s/words", dir);
	struct etcdtool_restore request = wanted;
	AUTO(free) char *words = NULL, *more = NULL;
	struct problem problem;
	size_t len;

	(void) setenv("ETCDCTL_API", "2", 1);
	CHECK_EQ_INT(restore(dir, "etcdctl version: 3.4.23", then, &request, &problem), 0);
	CHECK_EQ_INT(file_read(file, 4096, &words, &len), 0);
	CHECK_EQ_STR(words, PLAIN_WORDS "--\n-a b.db\napi=3\n");
	request.skip_hash_check = true;
	request.bump_revision = 1000000000;
	CHECK_EQ_INT(restore(dir, "etcdctl version: 3.4.23", then, &request, &problem), -ENOTSUP);
	CHECK(strstr(problem.reason, "3.4.23 cannot raise the revision") != NULL);
	CHECK_EQ_INT(restore(dir, "etcdutl version: 3.5.16", then, &request, &problem), 0);
	CHECK_EQ_INT(file_read(file, 4096, &more, &len), 0);
	CHECK(more != NULL && strstr(more, "--data-dir\n/var/lib/etcd\n--name\nn1\n") != NULL &&
	      strstr(more, "--skip-hash-check\n--bump-revision\n1000000000\n--mark-compacted\n--\n") !=
	          NULL);
}

static void test_ends(const char *dir)
{
	static const struct {
		const char *then;
		const char *reason;
	} cases[] = {
	    {"echo log >&2; echo 'Error: data-dir exists' >&2; exit 1", "failed: Error: data-dir exi"},
	    {"yes much | head -c 100000 >&2; echo the end >&2; exit 1", "failed: the end"},
	    {"exit 3", "did not say why"},
	    {"kill -KILL $$", "killed by signal 9"},
	    {"exec sleep 60", "1 s"},
	    {"while :; do echo log >&2; sleep 0.1; done", "took too long"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t began_us = mono_now_us();
		struct problem problem;

		CHECK(restore(dir, "etcdutl version: 3.5.16", cases[i].then, &wanted, &problem) < 0);
		CHECK_EQ_STR(problem.code, "ETCDTOOL");
		if (!CHECK(strstr(problem.reason, cases[i].reason) != NULL))
			(void) fprintf(stderr, "  '%s' lacks '%s'\n", problem.reason, cases[i].reason);
		CHECK(mono_now_us() - began_us < 50 * US_PER_S);
	}
}

/* The program makes half of the database and waits until somebody has said so, and so on. */
static void test_growth(const char *dir)
{
	AUTO(free) char *snapshot = xasprintf("%s/whole.db", dir), *said = xasprintf("%s/said", dir);
	AUTO(free)
	char *then =
	    xasprintf("d=%s/new/member/snap; mkdir -p $d; cd $d\n"
	              "for n in 1000 3096; do head -c $n /dev/zero >>db; "
	              "until grep -q \"bytes.:$(stat -c %%s db),\" %s; do sleep 0.1; done; done",
	              dir, said);
	AUTO(free) char *data_dir = xasprintf("%s/new", dir);
	AUTO(free) char *text = NULL;
	AUTO(close) int out = open(said, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct etcdtool_restore request = wanted;
	struct problem problem;
	char zeros[4096 + 32] = "";
	int before = dup(STDOUT_FILENO);
	size_t len;

	request.snapshot = snapshot;
	request.data_dir = data_dir;
	request.limit_ms = 60000;
	CHECK_EQ_INT(file_write_atomic(snapshot, zeros, sizeof(zeros), 0600, FILE_VOLATILE), 0);
	(void) fflush(stdout);
	CHECK(dup2(out, STDOUT_FILENO) >= 0);
	CHECK_EQ_INT(restore(dir, "etcdutl version: 3.5.16", then, &request, &problem), 0);
	CHECK(dup2(before, STDOUT_FILENO) >= 0 && close(before) == 0);
	CHECK_EQ_INT(file_read(said, 1 << 20, &text, &len), 0);
	CHECK(strstr(text, "{\"doing\":\"restore\",\"bytes\":1000,\"of_bytes\":4096}\n") != NULL);
	CHECK(strstr(text, "{\"doing\":\"restore\",\"bytes\":4096,\"of_bytes\":4096}\n") != NULL);
}

int main(void)
{
	char dir[] = "/tmp/fairlead-test-XXXXXX"; /* programs are run from it */
	AUTO(free) char *remove_all = NULL;

	if (mkdtemp(dir) == NULL)
		return EXIT_FAILURE;
	test_versions();
	test_find(dir);
	test_no_tool(dir);
	test_words(dir);
	test_ends(dir);
	test_growth(dir);
	remove_all = xasprintf("rm -r %s", dir);
	CHECK_EQ_INT(system(remove_all), 0);
	return check_result();
}
