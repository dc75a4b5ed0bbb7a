/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What else changes something that is still there when the program is not: nothing of it is chosen
 * to fail. Between two of these a program that dies leaves the same world behind.
 */
#include "tests/fault/nth_call.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define PASSED_ON(type, name, parameters, ...) \
	type name parameters                       \
	{                                          \
		fault_note_effect(CALLER);             \
		return REAL(name)(__VA_ARGS__);        \
	}

PASSED_ON(int, unlink, (const char *path), path)
PASSED_ON(int, unlinkat, (int dir, const char *path, int flags), dir, path, flags)
PASSED_ON(int, remove, (const char *path), path)
PASSED_ON(int, rmdir, (const char *path), path)
PASSED_ON(int, mkdirat, (int dir, const char *path, mode_t mode), dir, path, mode)
PASSED_ON(int, symlink, (const char *target, const char *path), target, path)
PASSED_ON(int, symlinkat, (const char *target, int dir, const char *path), target, dir, path)
PASSED_ON(int, ftruncate, (int fd, off_t len), fd, len)
PASSED_ON(int, truncate, (const char *path, off_t len), path, len)
PASSED_ON(int, chmod, (const char *path, mode_t mode), path, mode)
PASSED_ON(int, fchmod, (int fd, mode_t mode), fd, mode)
PASSED_ON(int, fchown, (int fd, uid_t uid, gid_t gid), fd, uid, gid)
PASSED_ON(int, lchown, (const char *path, uid_t uid, gid_t gid), path, uid, gid)
PASSED_ON(int, mkstemp, (char *path), path)
PASSED_ON(char *, mkdtemp, (char *path), path)
PASSED_ON(int, kill, (pid_t pid, int signo), pid, signo)
PASSED_ON(int, shutdown, (int fd, int how), fd, how)

/* One in memory is gone with the program. */
static void note_stream(FILE *file, uintptr_t caller)
{
	int saved = errno;

	if (file == NULL || fileno(file) >= 0)
		fault_note_effect(caller);
	errno = saved;
}

int fclose(FILE *file)
{
	note_stream(file, CALLER);
	return REAL(fclose)(file);
}

int fflush(FILE *file)
{
	note_stream(file, CALLER);
	return REAL(fflush)(file);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *argument;

	va_start(ap, request);
	argument = va_arg(ap, void *);
	va_end(ap);
	fault_note_effect(CALLER);
	return REAL(ioctl)(fd, request, argument);
}

/* What libraries send: declared as far as arguments are passed on. */
int grpc_call_start_batch(void *call, const void *ops, size_t n_ops, void *tag, void *reserved);
int grpc_call_cancel(void *call, void *reserved);
int curl_multi_add_handle(void *multi, void *easy);
int curl_multi_socket_action(void *multi, int fd, int events, int *ret_running);
int curl_easy_perform(void *easy);

PASSED_ON(int, grpc_call_start_batch,
          (void *call, const void *ops, size_t n_ops, void *tag, void *reserved), call, ops, n_ops,
          tag, reserved)
PASSED_ON(int, grpc_call_cancel, (void *call, void *reserved), call, reserved)
PASSED_ON(int, curl_multi_add_handle, (void *multi, void *easy), multi, easy)
PASSED_ON(int, curl_multi_socket_action, (void *multi, int fd, int events, int *ret_running), multi,
          fd, events, ret_running)
PASSED_ON(int, curl_easy_perform, (void *easy), easy)
