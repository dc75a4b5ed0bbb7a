/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in place of the calls that can fail: each asks nth_call.c first. */
#include "tests/fault/nth_call.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* --- memory --- */

void *malloc(size_t size)
{
	return fault_meet(CALL_MALLOC, CALLER) == FAULT_FAIL ? NULL : REAL(malloc)(size);
}

void *calloc(size_t n, size_t size)
{
	return fault_meet(CALL_MALLOC, CALLER) == FAULT_FAIL ? NULL : REAL(calloc)(n, size);
}

void *realloc(void *p, size_t size)
{
	return fault_meet(CALL_MALLOC, CALLER) == FAULT_FAIL ? NULL : REAL(realloc)(p, size);
}

void *reallocarray(void *p, size_t n, size_t size)
{
	return fault_meet(CALL_MALLOC, CALLER) == FAULT_FAIL ? NULL : REAL(reallocarray)(p, n, size);
}

char *strdup(const char *s)
{
	return fault_meet(CALL_MALLOC, CALLER) == FAULT_FAIL ? NULL : REAL(strdup)(s);
}

char *strndup(const char *s, size_t n)
{
	return fault_meet(CALL_MALLOC, CALLER) == FAULT_FAIL ? NULL : REAL(strndup)(s, n);
}

int vasprintf(char **ret, const char *format, va_list ap)
{
	return fault_meet(CALL_MALLOC, CALLER) == FAULT_FAIL ? -1 : REAL(vasprintf)(ret, format, ap);
}

FILE *open_memstream(char **ret, size_t *ret_size)
{
	return fault_meet(CALL_MALLOC, CALLER) == FAULT_FAIL ? NULL
	                                                     : REAL(open_memstream)(ret, ret_size);
}

void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	if (fault_meet(CALL_MAP, CALLER) == FAULT_FAIL)
		return MAP_FAILED;
	return REAL(mmap)(addr, len, prot, flags, fd, offset);
}

/* --- files --- */

static bool creates(int flags)
{
	return (flags & (O_CREAT | O_TRUNC)) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if (creates(flags))
		mode = va_arg(ap, mode_t);
	va_end(ap);
	return fault_meet_open(creates(flags), CALLER) == FAULT_FAIL ? -1
	                                                             : REAL(open)(path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if (creates(flags))
		mode = va_arg(ap, mode_t);
	va_end(ap);
	return fault_meet_open(creates(flags), CALLER) == FAULT_FAIL
	           ? -1
	           : REAL(openat)(dir, path, flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
	return fault_meet_open(mode[0] != 'r', CALLER) == FAULT_FAIL ? NULL : REAL(fopen)(path, mode);
}

DIR *opendir(const char *path)
{
	return fault_meet_open(false, CALLER) == FAULT_FAIL ? NULL : REAL(opendir)(path);
}

int mkdir(const char *path, mode_t mode)
{
	return fault_meet_open(true, CALLER) == FAULT_FAIL ? -1 : REAL(mkdir)(path, mode);
}

ssize_t read(int fd, void *buffer, size_t len)
{
	enum fate fate = fault_meet_fd(fd, false, &len, FAULT_AT_POSITION, CALLER);

	return fate == FAULT_FAIL ? -1 : REAL(read)(fd, buffer, len);
}

ssize_t pread(int fd, void *buffer, size_t len, off_t offset)
{
	enum fate fate = fault_meet_fd(fd, false, &len, offset, CALLER);

	return fate == FAULT_FAIL ? -1 : REAL(pread)(fd, buffer, len, offset);
}

ssize_t write(int fd, const void *data, size_t len)
{
	enum fate fate = fault_meet_fd(fd, true, &len, FAULT_AT_POSITION, CALLER);

	return fate == FAULT_FAIL ? -1 : REAL(write)(fd, data, len);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
{
	enum fate fate = fault_meet_fd(fd, true, &len, offset, CALLER);

	return fate == FAULT_FAIL ? -1 : REAL(pwrite)(fd, data, len, offset);
}

int fsync(int fd)
{
	return fault_meet(CALL_FSYNC, CALLER) == FAULT_FAIL ? -1 : REAL(fsync)(fd);
}

int fdatasync(int fd)
{
	return fault_meet(CALL_FSYNC, CALLER) == FAULT_FAIL ? -1 : REAL(fdatasync)(fd);
}

int syncfs(int fd)
{
	return fault_meet(CALL_FSYNC, CALLER) == FAULT_FAIL ? -1 : REAL(syncfs)(fd);
}

int rename(const char *from, const char *to)
{
	return fault_meet(CALL_RENAME, CALLER) == FAULT_FAIL ? -1 : REAL(rename)(from, to);
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	return fault_meet(CALL_RENAME, CALLER) == FAULT_FAIL
	           ? -1
	           : REAL(renameat2)(from_dir, from, to_dir, to, flags);
}

/* --- sockets --- */

int socket(int family, int type, int protocol)
{
	return fault_meet(CALL_SOCKET, CALLER) == FAULT_FAIL ? -1
	                                                     : REAL(socket)(family, type, protocol);
}

int socketpair(int family, int type, int protocol, int fds[2])
{
	return fault_meet(CALL_SOCKET, CALLER) == FAULT_FAIL
	           ? -1
	           : REAL(socketpair)(family, type, protocol, fds);
}

int bind(int fd, const struct sockaddr *address, socklen_t len)
{
	return fault_meet(CALL_BIND, CALLER) == FAULT_FAIL ? -1 : REAL(bind)(fd, address, len);
}

int listen(int fd, int backlog)
{
	return fault_meet(CALL_BIND, CALLER) == FAULT_FAIL ? -1 : REAL(listen)(fd, backlog);
}

int connect(int fd, const struct sockaddr *address, socklen_t len)
{
	return fault_meet(CALL_CONNECT, CALLER) == FAULT_FAIL ? -1 : REAL(connect)(fd, address, len);
}

int accept4(int fd, struct sockaddr *restrict address, socklen_t *restrict len, int flags)
{
	return fault_meet(CALL_ACCEPT, CALLER) == FAULT_FAIL ? -1
	                                                     : REAL(accept4)(fd, address, len, flags);
}

ssize_t send(int fd, const void *data, size_t len, int flags)
{
	enum fate fate = fault_meet_fd(fd, true, &len, FAULT_AT_POSITION, CALLER);

	return fate == FAULT_FAIL ? -1 : REAL(send)(fd, data, len, flags);
}

ssize_t sendto(int fd, const void *data, size_t len, int flags, const struct sockaddr *to,
               socklen_t to_len)
{
	enum fate fate = fault_meet_fd(fd, true, &len, FAULT_AT_POSITION, CALLER);

	return fate == FAULT_FAIL ? -1 : REAL(sendto)(fd, data, len, flags, to, to_len);
}

#define PARTS_MAX 64

static size_t message_len(const struct msghdr *message)
{
	size_t len = 0;

	for (size_t i = 0; i < message->msg_iovlen; i++)
		len += message->msg_iov[i].iov_len;
	return len;
}

/* The first len bytes of its parts. */
static void message_cut(struct msghdr *message, struct iovec parts[static PARTS_MAX], size_t len)
{
	size_t n = 0;

	for (; n < message->msg_iovlen && n < PARTS_MAX && len > 0; n++) {
		parts[n] = message->msg_iov[n];
		if (parts[n].iov_len > len)
			parts[n].iov_len = len;
		len -= parts[n].iov_len;
	}
	message->msg_iov = parts;
	message->msg_iovlen = n;
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	size_t len = message_len(message);
	enum fate fate = fault_meet_fd(fd, true, &len, FAULT_AT_POSITION, CALLER);
	struct iovec parts[PARTS_MAX];
	struct msghdr cut = *message;

	if (fate == FAULT_HALVE)
		message_cut(&cut, parts, len);
	return fate == FAULT_FAIL ? -1 : REAL(sendmsg)(fd, &cut, flags);
}

ssize_t recv(int fd, void *buffer, size_t len, int flags)
{
	enum fate fate = fault_meet_fd(fd, false, &len, FAULT_AT_POSITION, CALLER);

	return fate == FAULT_FAIL ? -1 : REAL(recv)(fd, buffer, len, flags);
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	size_t len = message_len(message);
	enum fate fate = fault_meet_fd(fd, false, &len, FAULT_AT_POSITION, CALLER);
	struct iovec *whole = message->msg_iov, parts[PARTS_MAX];
	size_t n_whole = message->msg_iovlen;
	ssize_t n;

	if (fate == FAULT_HALVE)
		message_cut(message, parts, len);
	n = fate == FAULT_FAIL ? -1 : REAL(recvmsg)(fd, message, flags);
	message->msg_iov = whole;
	message->msg_iovlen = n_whole;
	return n;
}

ssize_t splice(int in, off64_t *in_offset, int out, off64_t *out_offset, size_t len, unsigned flags)
{
	enum fate fate = fault_meet_fd(in, false, &len, FAULT_AT_POSITION, CALLER);

	fault_note_effect(CALLER);
	return fate == FAULT_FAIL ? -1 : REAL(splice)(in, in_offset, out, out_offset, len, flags);
}

/* --- the loop, and children --- */

int epoll_create1(int flags)
{
	return fault_meet(CALL_EPOLL, CALLER) == FAULT_FAIL ? -1 : REAL(epoll_create1)(flags);
}

int epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
	return fault_meet(CALL_EPOLL, CALLER) == FAULT_FAIL ? -1
	                                                    : REAL(epoll_ctl)(epoll, op, fd, event);
}

/* Setting one takes nothing that could be missing. */
int timerfd_create(int clock, int flags)
{
	return fault_meet(CALL_TIMER, CALLER) == FAULT_FAIL ? -1 : REAL(timerfd_create)(clock, flags);
}

int pipe2(int fds[2], int flags)
{
	return fault_meet(CALL_PIPE, CALLER) == FAULT_FAIL ? -1 : REAL(pipe2)(fds, flags);
}

pid_t fork(void)
{
	return fault_meet(CALL_FORK, CALLER) == FAULT_FAIL ? -1 : REAL(fork)();
}

int posix_spawn(pid_t *restrict ret_pid, const char *restrict path,
                const posix_spawn_file_actions_t *restrict actions,
                const posix_spawnattr_t *restrict attributes, char *const argv[restrict],
                char *const envp[restrict])
{
	if (fault_meet(CALL_FORK, CALLER) == FAULT_FAIL)
		return errno;
	return REAL(posix_spawn)(ret_pid, path, actions, attributes, argv, envp);
}

int posix_spawnp(pid_t *restrict ret_pid, const char *restrict file,
                 const posix_spawn_file_actions_t *restrict actions,
                 const posix_spawnattr_t *restrict attributes, char *const argv[restrict],
                 char *const envp[restrict])
{
	if (fault_meet(CALL_FORK, CALLER) == FAULT_FAIL)
		return errno;
	return REAL(posix_spawnp)(ret_pid, file, actions, attributes, argv, envp);
}

int pthread_create(pthread_t *restrict ret, const pthread_attr_t *restrict attributes,
                   void *(*start)(void *), void *restrict userdata)
{
	if (fault_meet(CALL_FORK, CALLER) == FAULT_FAIL)
		return errno;
	return REAL(pthread_create)(ret, attributes, start, userdata);
}
