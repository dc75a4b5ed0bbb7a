/* SPDX-License-Identifier: Apache-2.0 */
/* A process counts only while the variable names a file that can be shared. */
#include "tests/fault/disk_calls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

static struct disk_faults *faults;
static const char *hang_directory;
static char hang_file[DISK_PATH_MAX];

int __real_open(const char *path, int flags, mode_t mode);
DIR *__real_opendir(const char *path);
struct dirent *__real_readdir(DIR *dir);
ssize_t __real_read(int fd, void *buffer, size_t len);
ssize_t __real_pread(int fd, void *buffer, size_t len, off_t offset);
ssize_t __real_write(int fd, const void *data, size_t len);
int __real_fsync(int fd);
int __real_close(int fd);
int __real_fchmod(int fd, mode_t mode);
int __real_mkdir(const char *path, mode_t mode);
int __real_rename(const char *from, const char *to);
int __real_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
int __real_unlink(const char *path);
int __real_unlinkat(int dir, const char *name, int flags);
int __real_access(const char *path, int mode);
int __real_stat(const char *path, struct stat *st);
int __real_statvfs(const char *path, struct statvfs *st);

int __wrap_open(const char *path, int flags, ...);
DIR *__wrap_opendir(const char *path);
struct dirent *__wrap_readdir(DIR *dir);
ssize_t __wrap_read(int fd, void *buffer, size_t len);
ssize_t __wrap___read_chk(int fd, void *buffer, size_t len, size_t room);
ssize_t __wrap_pread(int fd, void *buffer, size_t len, off_t offset);
ssize_t __wrap_write(int fd, const void *data, size_t len);
int __wrap_fsync(int fd);
int __wrap_close(int fd);
int __wrap_fchmod(int fd, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_rename(const char *from, const char *to);
int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
int __wrap_unlink(const char *path);
int __wrap_unlinkat(int dir, const char *name, int flags);
int __wrap_access(const char *path, int mode);
int __wrap_stat(const char *path, struct stat *st);
int __wrap_statvfs(const char *path, struct statvfs *st);

__attribute__((constructor)) static void find_faults(void)
{
	const char *path = getenv(DISK_FAULTS_ENV);
	int fd = path != NULL ? __real_open(path, O_RDWR | O_CLOEXEC, 0) : -1;
	void *shared;

	hang_directory = getenv(DISK_HANG_ENV);
	if (hang_directory != NULL)
		(void) snprintf(hang_file, sizeof(hang_file), "%s.hang", hang_directory);
	if (fd < 0)
		return;
	shared = mmap(NULL, sizeof(*faults), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void) __real_close(fd);
	if (shared != MAP_FAILED)
		faults = shared;
}

/* What this call is to do. DISK_KILL does not return; what cannot be halved is not. */
static enum disk_action meet(enum disk_call call, const char *path)
{
	enum disk_action action = DISK_COUNT;
	unsigned n;

	if (faults == NULL || strncmp(path, faults->directory, strlen(faults->directory)) != 0)
		return DISK_COUNT;
	n = atomic_fetch_add(&faults->n_calls, 1);
	if (n < DISK_CALLS_MAX) {
		faults->calls[n].call = call;
		(void) snprintf(faults->calls[n].name, sizeof(faults->calls[n].name), "%s",
		                path + strlen(faults->directory));
	}
	if (n == faults->at)
		action = faults->action;
	if (action == DISK_COUNT || (action == DISK_SHORT && call != DISK_READ && call != DISK_WRITE))
		return DISK_COUNT;
	atomic_store(&faults->reached, true);
	if (action == DISK_KILL)
		(void) raise(SIGKILL);
	errno = faults->error;
	return action;
}

static bool find_path(int fd, char path[static DISK_PATH_MAX])
{
	char link[32];
	ssize_t n;

	(void) snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, DISK_PATH_MAX - 1);
	if (n < 0)
		return false;
	path[n] = '\0';
	return true;
}

static enum disk_action meet_fd(enum disk_call call, int fd)
{
	char path[DISK_PATH_MAX];

	return faults != NULL && find_path(fd, path) ? meet(call, path) : DISK_COUNT;
}

static void hang(int fd)
{
	const struct timespec while_it_does = {.tv_nsec = 10000000};
	char path[DISK_PATH_MAX];

	if (hang_directory == NULL || !find_path(fd, path) ||
	    strncmp(path, hang_directory, strlen(hang_directory)) != 0)
		return;
	while (__real_access(hang_file, F_OK) == 0)
		(void) nanosleep(&while_it_does, NULL);
}

int __wrap_open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if ((flags & O_CREAT) != 0)
		mode = va_arg(ap, mode_t);
	va_end(ap);
	if (meet((flags & O_CREAT) != 0 ? DISK_CREATE : DISK_OPEN, path) == DISK_FAIL)
		return -1;
	return __real_open(path, flags, mode);
}

DIR *__wrap_opendir(const char *path)
{
	return meet(DISK_OPENDIR, path) == DISK_FAIL ? NULL : __real_opendir(path);
}

struct dirent *__wrap_readdir(DIR *dir)
{
	return meet_fd(DISK_READDIR, dirfd(dir)) == DISK_FAIL ? NULL : __real_readdir(dir);
}

static size_t half_of(enum disk_action action, size_t len)
{
	return action == DISK_SHORT ? (len + 1) / 2 : len;
}

ssize_t __wrap_read(int fd, void *buffer, size_t len)
{
	enum disk_action action = meet_fd(DISK_READ, fd);

	return action == DISK_FAIL ? -1 : __real_read(fd, buffer, half_of(action, len));
}

/* What it is called when the compiler knows the buffer's size. */
ssize_t __wrap___read_chk(int fd, void *buffer, size_t len, size_t room)
{
	(void) room;
	return __wrap_read(fd, buffer, len);
}

ssize_t __wrap_pread(int fd, void *buffer, size_t len, off_t offset)
{
	enum disk_action action = meet_fd(DISK_READ, fd);

	return action == DISK_FAIL ? -1 : __real_pread(fd, buffer, half_of(action, len), offset);
}

ssize_t __wrap_write(int fd, const void *data, size_t len)
{
	enum disk_action action = meet_fd(DISK_WRITE, fd);

	hang(fd);
	return action == DISK_FAIL ? -1 : __real_write(fd, data, half_of(action, len));
}

int __wrap_fsync(int fd)
{
	hang(fd);
	return meet_fd(DISK_FSYNC, fd) == DISK_FAIL ? -1 : __real_fsync(fd);
}

int __wrap_close(int fd)
{
	enum disk_action action = meet_fd(DISK_CLOSE, fd);
	int error = errno, r = __real_close(fd);

	if (action != DISK_FAIL)
		return r;
	errno = error;
	return -1;
}

int __wrap_fchmod(int fd, mode_t mode)
{
	return meet_fd(DISK_FCHMOD, fd) == DISK_FAIL ? -1 : __real_fchmod(fd, mode);
}

int __wrap_mkdir(const char *path, mode_t mode)
{
	return meet(DISK_MKDIR, path) == DISK_FAIL ? -1 : __real_mkdir(path, mode);
}

int __wrap_rename(const char *from, const char *to)
{
	return meet(DISK_RENAME, from) == DISK_FAIL ? -1 : __real_rename(from, to);
}

int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	if (meet(DISK_RENAME, from) == DISK_FAIL)
		return -1;
	return __real_renameat2(from_dir, from, to_dir, to, flags);
}

int __wrap_unlink(const char *path)
{
	return meet(DISK_UNLINK, path) == DISK_FAIL ? -1 : __real_unlink(path);
}

int __wrap_unlinkat(int dir, const char *name, int flags)
{
	return meet_fd(DISK_UNLINK, dir) == DISK_FAIL ? -1 : __real_unlinkat(dir, name, flags);
}

int __wrap_access(const char *path, int mode)
{
	return meet(DISK_STAT, path) == DISK_FAIL ? -1 : __real_access(path, mode);
}

int __wrap_stat(const char *path, struct stat *st)
{
	return meet(DISK_STAT, path) == DISK_FAIL ? -1 : __real_stat(path, st);
}

int __wrap_statvfs(const char *path, struct statvfs *st)
{
	return meet(DISK_STAT, path) == DISK_FAIL ? -1 : __real_statvfs(path, st);
}
