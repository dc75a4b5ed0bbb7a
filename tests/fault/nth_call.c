/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets the n-th call of one kind fail, in a program that knows nothing of it: preloaded, in front
 * of the C library, and of the sanitizers' too. Counted is what the program itself calls, and
 * what libev and libnl call for it: these run on its loop. Forked children go on counting with
 * their parents. Of files, sockets and pipes only; what is written to stderr is left alone. From
 * the environment:
 *
 *   FAULT_PROGRAM  which program: the end of its path
 *   FAULT_STATE    a file of zeroes as large as `struct state`, or larger
 *   FAULT_CALL     the kind (call_names); without it all are counted only
 *   FAULT_N        which one, from 1 on; or @HASH.K, the K-th of those with the same callers, which
 *                  is the same one however many others there were before
 *   FAULT_ERROR    how it fails: the name of an errno, or "short": half of it is read or written
 *   FAULT_SITES    a file for a line of each call that is counted while none is to fail: its kind,
 *                  its number, a hash of who called whom, how much had been done by then that
 *                  outlives the program, what carries it (carrier_names) or how a copy ended; and
 *                  of the one that fails: who called
 *   FAULT_COPIES   set: while none is to fail, mallocs fail in copies of the program (nth_copy.c),
 *                  of those with the same callers a few
 *
 * tests/fault/run is who sets it.
 */
#include "tests/fault/nth_call.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fault/nth_copy.h"

#define RANGES_MAX 8
#define FRAMES_MAX 24
#define LINE_BYTES 1024
#define COPIES_OF_ONE 3
#define LOOK_BYTES 16384
#define LOOK_MAX_MS 1000

static const char *const call_names[N_CALLS] = {
    [CALL_MALLOC] = "malloc", [CALL_OPEN] = "open",     [CALL_READ] = "read",
    [CALL_WRITE] = "write",   [CALL_FSYNC] = "fsync",   [CALL_RENAME] = "rename",
    [CALL_SOCKET] = "socket", [CALL_BIND] = "bind",     [CALL_CONNECT] = "connect",
    [CALL_ACCEPT] = "accept", [CALL_SEND] = "send",     [CALL_RECV] = "recv",
    [CALL_EPOLL] = "epoll",   [CALL_TIMER] = "timerfd", [CALL_MAP] = "mmap",
    [CALL_PIPE] = "pipe",     [CALL_FORK] = "fork",
};

/* What whoever chose the fault reads, as native 32-bit numbers. */
struct state {
	atomic_uint reached;
	atomic_uint counts[N_CALLS];
	atomic_uint effects;
	atomic_uint of_site; /* calls of the chosen callers */
};

/* Which errors a call can meet goes by what it is about. */
enum carrier {
	CARRIER_NONE, /* something else is done */
	CARRIER_STREAM,
	CARRIER_WHOLE,   /* a stream of which there is a byte at most */
	CARRIER_PACKETS, /* of a connection */
	CARRIER_DATAGRAMS,
	CARRIER_OLD_FILE, /* it is opened, and must be there */
};

/* Who called whom. */
struct trace {
	uintptr_t offsets[FRAMES_MAX];
	unsigned n;
	uint64_t hash;
};

static const char *const carrier_names[] = {
    [CARRIER_NONE] = "-",          [CARRIER_STREAM] = "stream",       [CARRIER_WHOLE] = "whole",
    [CARRIER_PACKETS] = "packets", [CARRIER_DATAGRAMS] = "datagrams", [CARRIER_OLD_FILE] = "old",
};

struct range {
	uintptr_t base, from, to;
};

static struct state *state;
static struct range ranges[RANGES_MAX]; /* the program's own is the first */
static unsigned n_ranges;
static enum call chosen = N_CALLS;
static unsigned chosen_n;
static uint64_t chosen_hash; /* 0: it goes by its number */
static int chosen_errno;
static bool chosen_short;
static const char *sites_path;
static bool copies;

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

/* Whose calls are counted. */
static int add_range(struct dl_phdr_info *info, size_t size, void *userdata)
{
	bool program = info->dlpi_name[0] == '\0' && n_ranges == 0;

	(void) size;
	(void) userdata;
	if (!program && strstr(info->dlpi_name, "/libev.so") == NULL &&
	    strstr(info->dlpi_name, "/libnl-") == NULL)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD || (segment->p_flags & PF_X) == 0 || n_ranges == RANGES_MAX)
			continue;
		ranges[n_ranges++] = (struct range){info->dlpi_addr, from, from + segment->p_memsz};
	}
	return 0;
}

static const struct range *find_range(uintptr_t address)
{
	for (unsigned i = 0; i < n_ranges; i++) {
		if (address >= ranges[i].from && address < ranges[i].to)
			return &ranges[i];
	}
	return NULL;
}

static void choose(const char *call, const char *n, const char *error)
{
	for (unsigned i = 0; i < N_CALLS; i++) {
		if (strcmp(call, call_names[i]) == 0)
			chosen = (enum call) i;
	}
	if (sscanf(n, "@%lx.%u", &chosen_hash, &chosen_n) != 2)
		chosen_n = (unsigned) atoi(n);
	chosen_short = strcmp(error, "short") == 0;
	for (int e = 1; e < 134; e++) {
		const char *name = strerrorname_np(e);

		if (name != NULL && strcmp(name, error) == 0)
			chosen_errno = e;
	}
	if (chosen == N_CALLS || chosen_n == 0 || (!chosen_short && chosen_errno == 0)) {
		(void) fprintf(stderr, "nth_call: no such fault: %s %s %s\n", call, n, error);
		_exit(125);
	}
}

__attribute__((constructor)) static void begin(void)
{
	const char *program = getenv("FAULT_PROGRAM"), *path = getenv("FAULT_STATE");
	const char *call = getenv("FAULT_CALL"), *n = getenv("FAULT_N"), *error = getenv("FAULT_ERROR");
	char self[512];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	void *shared;
	int fd;

	if (program == NULL || path == NULL || len < 0)
		return;
	self[len] = '\0';
	if (!ends_with(self, program))
		return;
	(void) dl_iterate_phdr(add_range, NULL);
	if (call != NULL)
		choose(call, n != NULL ? n : "", error != NULL ? error : "");
	sites_path = getenv("FAULT_SITES");
	copies = call == NULL && getenv("FAULT_COPIES") != NULL;
	fd = REAL(open)(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	shared = REAL(mmap)(NULL, sizeof(*state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void) close(fd);
	if (shared == MAP_FAILED)
		return;
	state = shared;
	/* Where a path has several programs, or one again, each leaves something of its own. */
	(void) atomic_fetch_add(&state->effects, 1);
}

/* The frames that are the program's own. */
static void take_trace(struct trace *t)
{
	void *frames[FRAMES_MAX];
	int n = backtrace(frames, FRAMES_MAX);

	*t = (struct trace){.hash = 14695981039346656037u};
	for (int i = 0; i < n; i++) {
		uintptr_t at = (uintptr_t) frames[i];

		if (n_ranges == 0 || at < ranges[0].from || at >= ranges[0].to)
			continue;
		t->offsets[t->n++] = at - ranges[0].base;
		t->hash = (t->hash ^ (at - ranges[0].base)) * 1099511628211u;
	}
}

/* One line. */
static void note_site(enum call call, unsigned n, const struct trace *t, const char *how)
{
	char line[LINE_BYTES];
	size_t len = (size_t) snprintf(line, sizeof(line), "%s %u", call_names[call], n);
	int fd = REAL(open)(sites_path, O_WRONLY | O_APPEND | O_CLOEXEC);

	if (fd < 0)
		return;
	if (chosen == N_CALLS)
		len += (size_t) snprintf(line + len, sizeof(line) - len, " %016lx %u %s", t->hash,
		                         atomic_load(&state->effects), how);
	for (unsigned i = 0; chosen != N_CALLS && i < t->n && len < sizeof(line) - 24; i++)
		len += (size_t) snprintf(line + len, sizeof(line) - len, " %#zx", t->offsets[i] - 1);
	line[len++] = '\n';
	(void) !REAL(write)(fd, line, len);
	(void) close(fd);
}

/* What becomes of it is the same each time, and copies are slow. Who shares a slot has the fewer.
 */
static bool is_to_be_copied(const struct trace *t)
{
	static atomic_ushort n_copied[1 << 16];

	return atomic_fetch_add(&n_copied[t->hash % (1 << 16)], 1) < COPIES_OF_ONE;
}

/* Of what the program reads, sets up for itself, or asks the kernel for, nothing is left when it
 * dies. */
static bool outlives(enum call call)
{
	switch (call) {
	case CALL_WRITE:
	case CALL_FSYNC:
	case CALL_RENAME:
	case CALL_BIND:
	case CALL_CONNECT:
	case CALL_ACCEPT:
	case CALL_SEND:
	case CALL_FORK:
		return true;
	case CALL_MALLOC:
	case CALL_OPEN:
	case CALL_READ:
	case CALL_SOCKET:
	case CALL_RECV:
	case CALL_EPOLL:
	case CALL_TIMER:
	case CALL_MAP:
	case CALL_PIPE:
	case N_CALLS:
		return false;
	}
	return false;
}

void fault_note_effect(uintptr_t caller)
{
	if (state != NULL && find_range(caller) != NULL)
		(void) atomic_fetch_add(&state->effects, 1);
}

static bool can_fail_so(enum carrier carrier)
{
	if (chosen_short)
		return carrier == CARRIER_STREAM;
	if (carrier == CARRIER_DATAGRAMS)
		return chosen_errno != ECONNRESET && chosen_errno != EPIPE;
	return carrier != CARRIER_OLD_FILE || chosen_errno != ENOSPC;
}

/* How many there were before of any callers, as of timers and of whoever asks, is another number
 * each time. */
static bool is_chosen(unsigned n, const struct trace *t)
{
	if (chosen_hash == 0)
		return n == chosen_n;
	return t->hash == chosen_hash && atomic_fetch_add(&state->of_site, 1) + 1 == chosen_n;
}

/* Counts a call, and says what is to become of it. */
static enum fate meet(enum call call, uintptr_t caller, enum carrier carrier)
{
	const char *how = carrier_names[carrier];
	struct trace trace = {0};
	int saved = errno;
	unsigned n;
	bool now;

	if (state == NULL || find_range(caller) == NULL)
		return FAULT_NONE;
	n = atomic_fetch_add(&state->counts[call], 1) + 1;
	/* In one place: how many callers of a deep stack are left goes by how deep this is itself. */
	if (chosen == N_CALLS ? sites_path != NULL
	                      : call == chosen && (chosen_hash != 0 || n == chosen_n))
		take_trace(&trace);
	now = call == chosen && is_chosen(n, &trace) && can_fail_so(carrier);
	if (now)
		atomic_store(&state->reached, 1);
	if (sites_path != NULL && (now || chosen == N_CALLS)) {
		if (copies && call == CALL_MALLOC && is_to_be_copied(&trace)) {
			enum copy copy = copy_without_memory();

			if (copy == COPY_IS_THIS) {
				state = NULL;
				errno = ENOMEM;
				return FAULT_FAIL;
			}
			how = copy == COPY_ABORTED ? "aborted" : "other";
		}
		note_site(call, n, &trace, how);
	}
	if (outlives(call))
		(void) atomic_fetch_add(&state->effects, 1);
	errno = now && !chosen_short ? chosen_errno : saved;
	return !now ? FAULT_NONE : chosen_short ? FAULT_HALVE : FAULT_FAIL;
}

enum fate fault_meet(enum call call, uintptr_t caller)
{
	return meet(call, caller, CARRIER_NONE);
}

enum fate fault_meet_open(bool creates, uintptr_t caller)
{
	if (creates)
		fault_note_effect(caller);
	return meet(CALL_OPEN, caller, creates ? CARRIER_NONE : CARRIER_OLD_FILE);
}

/* By a look at it, as files of the kernel's do not tell how long they are. */
static size_t left_in_file(int fd, size_t len, off_t offset)
{
	char data[LOOK_BYTES];
	ssize_t n;

	if (offset == FAULT_AT_POSITION)
		offset = lseek(fd, 0, SEEK_CUR);
	n = REAL(pread)(fd, data, len < sizeof(data) ? len : sizeof(data), offset);
	return n < 0 ? 0 : (size_t) n;
}

/* Who would wait for it does so here. */
static size_t arrived(int fd, size_t len)
{
	struct pollfd readable = {.fd = fd, .events = POLLIN};
	int n = 0;

	if ((fcntl(fd, F_GETFL) & O_NONBLOCK) == 0)
		(void) poll(&readable, 1, LOOK_MAX_MS);
	if (ioctl(fd, FIONREAD, &n) < 0 || n < 0)
		return 0;
	return (size_t) n < len ? (size_t) n : len;
}

/* A stream: how much of it the call would move, as far as somebody asks. */
static enum fate meet_stream(enum call call, int fd, size_t *len, off_t offset, uintptr_t caller)
{
	int saved = errno;
	size_t there = *len;
	enum fate fate;

	if (chosen == N_CALLS || (call == chosen && chosen_short)) {
		if (call == CALL_READ)
			there = left_in_file(fd, *len, offset);
		else if (call == CALL_RECV)
			there = arrived(fd, *len);
	}
	errno = saved;
	fate = meet(call, caller, there > 1 ? CARRIER_STREAM : CARRIER_WHOLE);
	if (fate == FAULT_HALVE)
		*len = there / 2;
	return fate;
}

enum fate fault_meet_fd(int fd, bool writes, size_t *len, off_t offset, uintptr_t caller)
{
	struct stat st;
	socklen_t type_len = sizeof(int);
	int type = 0, saved = errno;

	if (state == NULL || fd == STDERR_FILENO || find_range(caller) == NULL || fstat(fd, &st) < 0)
		return FAULT_NONE;
	if (S_ISREG(st.st_mode))
		return meet_stream(writes ? CALL_WRITE : CALL_READ, fd, len, offset, caller);
	if (S_ISFIFO(st.st_mode))
		return meet_stream(writes ? CALL_SEND : CALL_RECV, fd, len, offset, caller);
	if (!S_ISSOCK(st.st_mode))
		return FAULT_NONE;
	(void) getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len);
	errno = saved;
	if (type == SOCK_STREAM)
		return meet_stream(writes ? CALL_SEND : CALL_RECV, fd, len, offset, caller);
	return meet(writes ? CALL_SEND : CALL_RECV, caller,
	            type == SOCK_SEQPACKET ? CARRIER_PACKETS : CARRIER_DATAGRAMS);
}
