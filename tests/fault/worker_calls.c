/* SPDX-License-Identifier: Apache-2.0 */
/* One counter a call. After the fault, calls go through as before: errors must not need a second
 * one to be handled. */
#include "tests/fault/worker_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned counts[FAULT_CALLS];
static enum fault_call armed_call;
static enum fault_action armed_action;
static unsigned armed_index;
static int armed_error;
static bool reached;
static char order[1024];

int __real_open(const char *path, int flags, mode_t mode);
int __real_openat(int dir, const char *path, int flags, mode_t mode);
ssize_t __real_read(int fd, void *buffer, size_t len);
ssize_t __real_write(int fd, const void *data, size_t len);
int __real_fsync(int fd);
int __real_close(int fd);
int __real_fchmod(int fd, mode_t mode);
int __real_rename(const char *from, const char *to);
int __real_unlink(const char *path);
int __real_pipe2(int fds[2], int flags);
pid_t __real_fork(void);
pid_t __real_waitpid(pid_t pid, int *status, int options);

int __wrap_open(const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...);
ssize_t __wrap_read(int fd, void *buffer, size_t len);
ssize_t __wrap___read_chk(int fd, void *buffer, size_t len, size_t room);
ssize_t __wrap_write(int fd, const void *data, size_t len);
int __wrap_fsync(int fd);
int __wrap_close(int fd);
int __wrap_fchmod(int fd, mode_t mode);
int __wrap_rename(const char *from, const char *to);
int __wrap_unlink(const char *path);
int __wrap_pipe2(int fds[2], int flags);
pid_t __wrap_fork(void);
pid_t __wrap_waitpid(pid_t pid, int *status, int options);

void fault_arm(enum fault_call call, unsigned index, enum fault_action action, int error)
{
	memset(counts, 0, sizeof(counts));
	armed_call = call;
	armed_index = index;
	armed_action = action;
	armed_error = error;
	reached = false;
	order[0] = '\0';
}

unsigned fault_count(enum fault_call call)
{
	return counts[call];
}

bool fault_was_reached(void)
{
	return reached;
}

const char *fault_order(void)
{
	return order;
}

const char *fault_name(enum fault_call call)
{
	static const char *const names[FAULT_CALLS] = {
	    "open",   "read",   "write", "fsync", "close", "fchmod",
	    "rename", "unlink", "pipe",  "fork",  "wait",
	};

	return names[call];
}

static void note(const char *what)
{
	size_t len = strlen(order);

	(void) snprintf(order + len, sizeof(order) - len, "%s\n", what);
}

/* What this call is to do. FAULT_KILL_BEFORE does not return. */
static enum fault_action meet(enum fault_call call)
{
	unsigned index = counts[call]++;

	if (armed_action == FAULT_NONE || call != armed_call || index != armed_index)
		return FAULT_NONE;
	reached = true;
	if (armed_action == FAULT_KILL_BEFORE)
		(void) raise(SIGKILL);
	if (armed_action == FAULT_ERROR)
		errno = armed_error;
	return armed_action;
}

static void part(enum fault_action action)
{
	if (action == FAULT_KILL_AFTER)
		(void) raise(SIGKILL);
}

static mode_t mode_of(int flags, va_list ap)
{
	return (flags & O_CREAT) != 0 ? va_arg(ap, mode_t) : 0;
}

int __wrap_open(const char *path, int flags, ...)
{
	enum fault_action action = meet(FAULT_OPEN);
	va_list ap;
	mode_t mode;
	int fd;

	va_start(ap, flags);
	mode = mode_of(flags, ap);
	va_end(ap);
	if (action == FAULT_ERROR)
		return -1;
	fd = __real_open(path, flags, mode);
	part(action);
	return fd;
}

int __wrap_openat(int dir, const char *path, int flags, ...)
{
	enum fault_action action = meet(FAULT_OPEN);
	va_list ap;
	mode_t mode;
	int fd;

	va_start(ap, flags);
	mode = mode_of(flags, ap);
	va_end(ap);
	if (action == FAULT_ERROR)
		return -1;
	fd = __real_openat(dir, path, flags, mode);
	part(action);
	return fd;
}

ssize_t __wrap_read(int fd, void *buffer, size_t len)
{
	enum fault_action action = meet(FAULT_READ);
	ssize_t n;

	if (action == FAULT_ERROR)
		return -1;
	n = __real_read(fd, buffer, action == FAULT_SHORT ? (len + 1) / 2 : len);
	part(action);
	return n;
}

/* What it is called when the compiler knows the buffer's size. */
ssize_t __wrap___read_chk(int fd, void *buffer, size_t len, size_t room)
{
	(void) room;
	return __wrap_read(fd, buffer, len);
}

ssize_t __wrap_write(int fd, const void *data, size_t len)
{
	enum fault_action action = meet(FAULT_WRITE);
	ssize_t n;

	if (action == FAULT_ERROR)
		return -1;
	n = __real_write(fd, data, action == FAULT_SHORT ? (len + 1) / 2 : len);
	part(action);
	return n;
}

int __wrap_fsync(int fd)
{
	enum fault_action action = meet(FAULT_FSYNC);
	struct stat st;
	int r;

	if (action == FAULT_ERROR)
		return -1;
	note(fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) ? "fsync directory" : "fsync file");
	r = __real_fsync(fd);
	part(action);
	return r;
}

int __wrap_close(int fd)
{
	enum fault_action action = meet(FAULT_CLOSE);
	/* A close that fails has closed. */
	int r = __real_close(fd);

	part(action);
	if (action != FAULT_ERROR)
		return r;
	errno = armed_error;
	return -1;
}

int __wrap_fchmod(int fd, mode_t mode)
{
	enum fault_action action = meet(FAULT_FCHMOD);
	int r;

	if (action == FAULT_ERROR)
		return -1;
	r = __real_fchmod(fd, mode);
	part(action);
	return r;
}

int __wrap_rename(const char *from, const char *to)
{
	enum fault_action action = meet(FAULT_RENAME);
	int r;

	if (action == FAULT_ERROR)
		return -1;
	note("rename");
	r = __real_rename(from, to);
	part(action);
	return r;
}

int __wrap_unlink(const char *path)
{
	enum fault_action action = meet(FAULT_UNLINK);
	int r;

	if (action == FAULT_ERROR)
		return -1;
	r = __real_unlink(path);
	if (r == 0)
		note("unlink");
	part(action);
	return r;
}

int __wrap_pipe2(int fds[2], int flags)
{
	enum fault_action action = meet(FAULT_PIPE);
	int r;

	if (action == FAULT_ERROR)
		return -1;
	r = __real_pipe2(fds, flags);
	part(action);
	return r;
}

pid_t __wrap_fork(void)
{
	enum fault_action action = meet(FAULT_FORK);
	pid_t pid;

	if (action == FAULT_ERROR)
		return -1;
	pid = __real_fork();
	if (pid != 0)
		part(action);
	return pid;
}

pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
	enum fault_action action = meet(FAULT_WAIT);
	pid_t r;

	if (action == FAULT_ERROR)
		return -1;
	r = __real_waitpid(pid, status, options);
	part(action);
	return r;
}
