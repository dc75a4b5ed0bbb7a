/* SPDX-License-Identifier: Apache-2.0 */
/* What one vipd leaves to the next: read back as it was, and not read at all when it is stale,
 * damaged or somebody else's. */
#include "vipd/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "tests/unit/check.h"

#define INSTANCE "0123456789abcdef0123456789abcdef"

static char dir[] = "/tmp/fairlead-keep-XXXXXX";
static char *state_path;
static char *lock_path;

static struct addr addr_of(const char *text)
{
	struct addr a = {0};

	CHECK_EQ_INT(addr_parse(text, &a), 0);
	return a;
}

static struct keep sample(void)
{
	struct keep k = {.lease = INT64_C(7587868061234567890), .on_hold = true, .n_vips = 2};

	(void) strcpy(k.instance, INSTANCE);
	k.cluster_id = UINT64_C(0xd411b112bfface22);
	k.n_endpoints = 2;
	(void) strcpy(k.endpoints[0], "https://127.0.0.1:2379");
	(void) strcpy(k.endpoints[1], "https://[fd00::1]:2379");
	k.vips[0] = (struct keep_vip){.vip = addr_of("10.0.0.5"),
	                              .ifindex = 3,
	                              .epoch = 7,
	                              .rev = INT64_C(1) << 40,
	                              .deadline_us = INT64_C(123456789012345),
	                              .window_us = 3000000};
	k.vips[1] = (struct keep_vip){.vip = addr_of("fd00::5"),
	                              .ifindex = 4,
	                              .epoch = 1,
	                              .rev = 2,
	                              .deadline_us = 3,
	                              .window_us = 5000000};
	return k;
}

static void check_equal(const struct keep *got, const struct keep *want)
{
	CHECK_EQ_STR(got->instance, want->instance);
	CHECK_EQ_INT(got->lease, want->lease);
	CHECK_EQ_INT(got->on_hold, want->on_hold);
	CHECK_EQ_INT(got->n_vips, want->n_vips);
	CHECK_EQ_INT(got->cluster_id, want->cluster_id);
	CHECK_EQ_INT(got->n_endpoints, want->n_endpoints);
	for (size_t i = 0; i < want->n_endpoints; i++)
		CHECK_EQ_STR(got->endpoints[i], want->endpoints[i]);
	for (size_t i = 0; i < want->n_vips; i++) {
		const struct keep_vip *w = &want->vips[i];
		const struct keep_vip *g = keep_find(got, &w->vip);

		if (!CHECK(g != NULL))
			continue;
		CHECK_EQ_INT(g->ifindex, w->ifindex);
		CHECK_EQ_INT(g->epoch, w->epoch);
		CHECK_EQ_INT(g->rev, w->rev);
		CHECK_EQ_INT(g->deadline_us, w->deadline_us);
		CHECK_EQ_INT(g->window_us, w->window_us);
	}
}

static void test_round_trip(void)
{
	const struct addr other = addr_of("10.0.0.6");
	struct keep want = sample(), got = {0};
	struct stat st;

	CHECK_EQ_INT(keep_load(dir, &got), -ENOENT);
	CHECK_EQ_INT(keep_save(dir, &want), 0);
	CHECK_EQ_INT(stat(state_path, &st), 0);
	CHECK_EQ_INT(st.st_mode & 0777, 0600);
	CHECK_EQ_INT(keep_load(dir, &got), 0);
	check_equal(&got, &want);
	CHECK(keep_find(&got, &other) == NULL);
	/* Replaced as a whole. */
	want.n_vips = 0;
	want.on_hold = false;
	want.lease = 0;
	CHECK_EQ_INT(keep_save(dir, &want), 0);
	CHECK_EQ_INT(keep_load(dir, &got), 0);
	check_equal(&got, &want);
	want.n_vips = CONFIG_VIPS_MAX;
	for (size_t i = 0; i < CONFIG_VIPS_MAX; i++) {
		want.vips[i] = sample().vips[0];
		want.vips[i].vip.bytes[3] = (uint8_t) i;
		want.vips[i].rev = (int64_t) i;
	}
	CHECK_EQ_INT(keep_save(dir, &want), 0);
	CHECK_EQ_INT(keep_load(dir, &got), 0);
	check_equal(&got, &want);
	CHECK_EQ_INT(keep_save("/nowhere/at/all", &want), -ENOENT);
}

/* Damages the file by a shell command; `got` must stay as it was. */
static void test_damaged(void)
{
	static const struct {
		const char *name;
		const char *command; /* on $f */
		int want;
	} cases[] = {
	    {"untouched", ":", 0},
	    {"another boot", "sed -i 's/\"boot\": \"./\"boot\": \"X/' $f", -ESTALE},
	    {"no boot", "sed -i '/\"boot\"/d' $f", -EINVAL},
	    {"empty", ": >$f", -EINVAL},
	    {"cut off", "truncate -s 100 $f", -EINVAL},
	    {"something behind it", "echo x >>$f", -EINVAL},
	    {"an array", "echo '[]' >$f", -EINVAL},
	    {"instance too short", "sed -i 's/\"" INSTANCE "\"/\"0123\"/' $f", -EINVAL},
	    {"instance too long", "sed -i 's/\"" INSTANCE "\"/\"" INSTANCE "0\"/' $f", -EINVAL},
	    {"lease a string", "sed -i 's/\"lease\": \\([0-9]*\\)/\"lease\": \"\\1\"/' $f", -EINVAL},
	    {"no VIPs", "sed -i 's/\"vips\"/\"other\"/' $f", -EINVAL},
	    {"an address that is none", "sed -i 's/10.0.0.5/10.0.0.555/' $f", -EINVAL},
	    {"no deadline", "sed -i '0,/deadlineUs/s/deadlineUs/other/' $f", -EINVAL},
	    {"a revision with a fraction", "sed -i '0,/\"rev\": /s/\"rev\": /&1.5e-/' $f", -EINVAL},
	    {"from before the cluster was remembered", "sed -i 's/\"cluster\"/\"other\"/' $f", 0},
	    {"a cluster that is none", "sed -i 's/d411b112bfface22/D411/' $f", -EINVAL},
	    {"endpoints that are none", "sed -i 's,\"https://127.0.0.1:2379\",7,' $f", -EINVAL},
	    {"an endpoint too long", "sed -i \"s,127.0.0.1,$(printf %0400d 1),\" $f", -EINVAL},
	    {"endpoints too many",
	     "sed -i \"s;\\\"https://127.0.0.1:2379\\\";$(yes '\"u\"' | head -16 | paste -sd,);\" $f",
	     -EINVAL},
	    {"too large", "head -c 70000 /dev/zero | tr '\\0' ' ' >>$f", -EFBIG},
	};
	const struct keep k = sample();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) char *command = xasprintf("f=%s; %s", state_path, cases[i].command);
		struct keep got = {.lease = -77};
		int r;

		CHECK_EQ_INT(keep_save(dir, &k), 0);
		CHECK_EQ_INT(system(command), 0);
		r = keep_load(dir, &got);
		if (!CHECK_EQ_INT(r, cases[i].want) || !CHECK_EQ_INT(got.lease == -77, r < 0))
			(void) fprintf(stderr, "case: %s\n", cases[i].name);
	}
}

/* More VIPs than there is room for. */
static void test_too_many(void)
{
	const char *vip = "{\"vip\":\"10.0.0.5\",\"ifindex\":1,\"epoch\":1,\"rev\":1,\"deadlineUs\":1,"
	                  "\"windowUs\":1}";
	AUTO(free) char *boot = NULL;
	struct keep got;
	size_t len;
	FILE *f;

	CHECK_EQ_INT(file_read("/proc/sys/kernel/random/boot_id", 256, &boot, &len), 0);
	boot[strcspn(boot, "\n")] = '\0';
	for (size_t n = CONFIG_VIPS_MAX; n <= CONFIG_VIPS_MAX + 1; n++) {
		f = fopen(state_path, "we");
		(void) fprintf(f,
		               "{\"boot\":\"%s\",\"instance\":\"" INSTANCE
		               "\",\"lease\":0,\"onHold\":false,\"vips\":[",
		               boot);
		for (size_t i = 0; i < n; i++)
			(void) fprintf(f, "%s%s", i > 0 ? "," : "", vip);
		(void) fprintf(f, "]}");
		(void) fclose(f);
		CHECK_EQ_INT(keep_load(dir, &got), n > CONFIG_VIPS_MAX ? -EINVAL : 0);
	}
}

static void test_lock(void)
{
	int fd = keep_lock(dir, true);
	struct stat st;
	int status = -1;
	pid_t child;

	CHECK(fd >= 0);
	CHECK_EQ_INT(stat(lock_path, &st), 0);
	CHECK_EQ_INT(st.st_mode & 0777, 0600);
	CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
	CHECK_EQ_INT(keep_lock(dir, true), -EWOULDBLOCK);
	(void) close(fd);
	/* It ends with its process, however that ends. */
	child = fork();
	if (child == 0) {
		if (keep_lock(dir, true) < 0)
			_exit(1);
		abort();
	}
	CHECK_EQ_INT(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status));
	fd = keep_lock(dir, false);
	CHECK(fd >= 0);
	(void) close(fd);
	CHECK_EQ_INT(keep_lock("/nowhere/at/all", true), -ENOENT);
}

int main(void)
{
	if (mkdtemp(dir) == NULL)
		return 1;
	state_path = xasprintf("%s/vipd.state", dir);
	lock_path = xasprintf("%s/vipd.lock", dir);
	test_round_trip();
	test_damaged();
	test_too_many();
	test_lock();
	(void) unlink(state_path);
	(void) unlink(lock_path);
	CHECK_EQ_INT(rmdir(dir), 0);
	free(state_path);
	free(lock_path);
	return check_result();
}
