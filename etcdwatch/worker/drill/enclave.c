/* SPDX-License-Identifier: Apache-2.0 */
/* unshare(2), the identity map, and loopback up. */
#include "etcdwatch/worker/drill/enclave.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

#define MAP_MAX 64

/* Each of these has been seen to be the one. */
#define WHAT_TO_SET                                                                            \
	"allow it to: user.max_user_namespaces above 0, kernel.unprivileged_userns_clone=1 and "   \
	"kernel.apparmor_restrict_unprivileged_userns=0 where the kernel has them, and in a unit " \
	"of systemd RestrictNamespaces=user net pid; or run it as root"

static int refuse(struct problem *problem, int r, const char *what)
{
	return problem_set(problem, r, "NAMESPACE",
	                   "the kernel does not let this process have a network of its own (%s: %s): "
	                   "%s",
	                   what, strerror(-r), WHAT_TO_SET);
}

static int write_text(const char *path, const char *text)
{
	AUTO(close) int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	return n < 0 ? -errno : 0;
}

/* One's own ids to themselves, so that one's files stay one's own. */
static int map_ids(uid_t uid, gid_t gid, struct problem *problem)
{
	char uids[MAP_MAX], gids[MAP_MAX];
	int r;

	(void) snprintf(uids, sizeof(uids), "%u %u 1\n", uid, uid);
	(void) snprintf(gids, sizeof(gids), "%u %u 1\n", gid, gid);
	/* A group can be mapped without privilege only when groups cannot be dropped any more. */
	r = write_text("/proc/self/setgroups", "deny");
	if (r == 0)
		r = write_text("/proc/self/gid_map", gids);
	if (r == 0)
		r = write_text("/proc/self/uid_map", uids);
	return r < 0 ? refuse(problem, r, "mapping of ids") : 0;
}

static int raise_loopback(struct problem *problem)
{
	struct ifreq request = {.ifr_name = "lo"};
	AUTO(close) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &request) < 0)
		return refuse(problem, -errno, "loopback");
	request.ifr_flags |= IFF_UP;
	if (ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		return refuse(problem, -errno, "loopback");
	return 0;
}

int enclave_enter(struct problem *problem)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int r = 0;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWPID) == 0) {
		r = map_ids(uid, gid, problem);
	} else {
		int error = errno;

		if (unshare(CLONE_NEWNET | CLONE_NEWPID) < 0)
			return refuse(problem, -error, "user namespace");
	}
	return r < 0 ? r : raise_loopback(problem);
}
