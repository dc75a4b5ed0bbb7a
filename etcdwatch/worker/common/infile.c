/* SPDX-License-Identifier: Apache-2.0 */
/* In pieces that are large enough for a disk and small enough to be cancelled between. */
#include "etcdwatch/worker/common/infile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "etcdwatch/worker/common/cancel.h"
#include "etcdwatch/worker/common/pace.h"

#define BUFFER_BYTES (256 * 1024)

int infile_open(const char *path, struct problem *problem, int *ret_fd, mode_t *ret_mode,
                uint64_t *ret_bytes)
{
	AUTO(close) int fd = -1;
	struct stat st;

	/* A pipe in the file's place must not hold us up. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0)
		return problem_set_errno(problem, -errno, "cannot read '%s'", path);
	if (!S_ISREG(st.st_mode))
		return problem_set(problem, -EINVAL, "NOT_FOUND", "'%s' is not a regular file", path);
	(void) posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	*ret_mode = st.st_mode & 07777;
	*ret_bytes = (uint64_t) st.st_size;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int infile_feed(int fd, const char *path, const char *step, struct sink *sink,
                struct problem *problem)
{
	AUTO(free) char *buffer = xcalloc(1, BUFFER_BYTES);
	struct stat st = {0};
	struct pace pace;
	uint64_t n_bytes = 0;

	(void) fstat(fd, &st);
	pace_begin(&pace, step, (uint64_t) st.st_size);
	for (;;) {
		ssize_t n;
		int r;

		if (cancel_is_wanted())
			return problem_set(problem, -ECANCELED, "CANCELLED", "cancelled");
		n = read(fd, buffer, BUFFER_BYTES);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return problem_set_errno(problem, -errno, "cannot read '%s'", path);
		if (n == 0)
			return 0;
		r = sink_write(sink, buffer, (size_t) n);
		if (r < 0)
			return r;
		n_bytes += (uint64_t) n;
		pace_tell(&pace, n_bytes);
	}
}
