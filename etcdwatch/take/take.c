/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	OPENING ── file is open ──► STREAMING ── digest came, stream is over ──► FINISHING ──► OVER
 *	   │                           │                                           │           ▲
 *	   └───────────────────────────┴─────────────── any fault ─────────────────┴─► FAILING ┘
 *
 * Whatever touches the disk is a task of the disk's thread: open, write, finish, discard. In
 * FAILING the stream is gone; the discard is given as the last task, so that it comes behind every
 * write.
 *
 * What belongs to whom: buffers go round between loop and thread, each with the task that carries
 * it; the fields under "the thread's" are touched by tasks alone, and read by the loop when the
 * last of them is over.
 */
#include "etcdwatch/take/take.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fsm.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/cluster/doubt.h"
#include "etcdwatch/cluster/view.h"
#include "etcdwatch/store/leftover.h"
#include "web/digest.h"

#define BUFFER_BYTES ((size_t) 384 << 10)
/* One is filled while the other is written. */
#define N_BUFFERS 2
/* etcd sends pieces of 32 KiB. */
#define PIECE_BYTES_MAX ((size_t) 128 << 10)
/* How much is written between two looks at the free space. */
#define CHECK_BYTES ((uint64_t) 16 << 20)

enum take_state {
	TAKE_OPENING,
	TAKE_STREAMING,
	TAKE_FINISHING,
	TAKE_FAILING,
	TAKE_OVER,
};

static const struct fsm_state states[] = {
    [TAKE_OPENING] = {"opening", FSM_TO(TAKE_STREAMING) | FSM_TO(TAKE_FAILING)},
    [TAKE_STREAMING] = {"streaming", FSM_TO(TAKE_FINISHING) | FSM_TO(TAKE_FAILING)},
    [TAKE_FINISHING] = {"finishing", FSM_TO(TAKE_OVER) | FSM_TO(TAKE_FAILING)},
    [TAKE_FAILING] = {"failing", FSM_TO(TAKE_OVER)},
    [TAKE_OVER] = {"over", 0},
};

struct buffer {
	struct disk_task task;
	struct take *take;
	size_t len;
	bool is_away;
	int r; /* set by the thread: how the disk is, after this one */
	char *data;
};

struct take {
	struct etcd *etcd;
	struct disk *disk;
	char *directory, *job, *endpoint, *path;
	uint64_t expected_bytes, reserve_bytes;
	unsigned stall_ms;
	take_opened_fn opened;
	take_done_fn done;
	void *userdata;
	enum take_state state;
	int64_t started_us;

	struct etcd_snapshot *stream;
	struct buffer buffers[N_BUFFERS];
	struct buffer *filling;              /* NULL: all are away */
	uint64_t total_bytes, offset;        /* of the database, and what has come of it */
	uint8_t digest[DIGEST_SHA256_BYTES]; /* that came last */
	bool wants_next; /* a blob has been taken, and the next has not been asked for */
	char version[TAKE_VERSION_MAX];
	struct disk_task step; /* open, finish or discard: one at a time */
	int r;                 /* why it fails */
	char reason[TAKE_REASON_MAX];

	/* The thread's. */
	int fd;
	struct digest *hash;
	uint64_t written, checked_at;
	int io_r;
	char io_reason[TAKE_REASON_MAX];
	char db_sha256[DIGEST_HEX_MAX];
	char file_sha256[DIGEST_HEX_MAX];
};

static void change_state(struct take *t, enum take_state state)
{
	fsm_check(states, ARRAY_SIZE(states), t->state, state);
	log_debug("take_state", "job=%s old=%s new=%s", t->job, states[t->state].name,
	          states[state].name);
	t->state = state;
}

static void free_buffers(struct take *t)
{
	for (size_t i = 0; i < N_BUFFERS; i++) {
		free(t->buffers[i].data);
		t->buffers[i].data = NULL;
	}
}

static void free_take(struct take *t)
{
	free_buffers(t);
	if (t->fd >= 0)
		(void) close(t->fd);
	digest_free(t->hash);
	free(t->directory);
	free(t->job);
	free(t->endpoint);
	free(t->path);
	free(t);
}

/* --- on the thread --- */

static void io_fail(struct take *t, int r, const char *what)
{
	if (t->io_r < 0)
		return;
	t->io_r = r;
	(void) snprintf(t->io_reason, sizeof(t->io_reason), "%s '%s': %s", what, t->path, strerror(-r));
}

/* Whether `more` bytes can be written and the reserve stays. */
static void check_room(struct take *t, uint64_t more)
{
	struct statvfs fs;
	uint64_t free_bytes;

	if (t->io_r < 0)
		return;
	if (statvfs(t->directory, &fs) < 0) {
		io_fail(t, -errno, "cannot tell the free space for");
		return;
	}
	free_bytes = (uint64_t) fs.f_bavail * fs.f_frsize;
	if (free_bytes >= more && free_bytes - more >= t->reserve_bytes)
		return;
	t->io_r = -ENOSPC;
	(void) snprintf(t->io_reason, sizeof(t->io_reason),
	                "%llu MiB are free in '%s': it takes %llu MiB, and %llu MiB are to stay free",
	                (unsigned long long) (free_bytes >> 20), t->directory,
	                (unsigned long long) (more >> 20),
	                (unsigned long long) (t->reserve_bytes >> 20));
}

static void open_work(struct disk_task *task)
{
	struct take *t = CONTAINER_OF(task, struct take, step);

	if (mkdir(t->directory, 0700) < 0 && errno != EEXIST) {
		io_fail(t, -errno, "cannot make the directory of");
		return;
	}
	/* What cannot be removed takes room, of which there may be enough. */
	(void) leftover_sweep(t->directory, t->job);
	check_room(t, t->expected_bytes);
	if (t->io_r < 0)
		return;
	t->fd = open(t->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (t->fd < 0)
		io_fail(t, -errno, "cannot make");
}

static void write_all(struct take *t, const char *data, size_t len)
{
	while (t->io_r == 0 && len > 0) {
		ssize_t n = write(t->fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			io_fail(t, n < 0 ? -errno : -EIO, "cannot write");
			return;
		}
		data += n;
		len -= (size_t) n;
		t->written += (uint64_t) n;
	}
}

static void write_work(struct disk_task *task)
{
	struct buffer *b = CONTAINER_OF(task, struct buffer, task);
	struct take *t = b->take;

	if (t->written >= t->checked_at) {
		check_room(t, t->total_bytes - t->written);
		/* The disk is to work meanwhile, or all of it is left to the sync in the end, which is the
		 * one that tells of errors. */
		(void) sync_file_range(t->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
		t->checked_at = t->written + CHECK_BYTES;
	}
	if (t->io_r == 0) {
		write_all(t, b->data, b->len);
		digest_update(t->hash, b->data, b->len);
	}
	b->r = t->io_r;
}

/* Everything is written: the digest, and then for good. */
static void finish_work(struct disk_task *task)
{
	struct take *t = CONTAINER_OF(task, struct take, step);
	uint8_t own[DIGEST_BYTES_MAX];

	if (t->io_r < 0)
		return;
	digest_peek(t->hash, own);
	(void) digest_hex(own, DIGEST_SHA256_BYTES, t->db_sha256);
	digest_update(t->hash, t->digest, sizeof(t->digest));
	(void) digest_finish_hex(t->hash, t->file_sha256);
	if (memcmp(own, t->digest, DIGEST_SHA256_BYTES) != 0) {
		t->io_r = -EBADMSG;
		(void) snprintf(t->io_reason, sizeof(t->io_reason),
		                "what came does not have the digest that the member sent behind it");
		return;
	}
	write_all(t, (const char *) t->digest, DIGEST_SHA256_BYTES);
	if (t->io_r == 0 && fsync(t->fd) < 0)
		io_fail(t, -errno, "cannot sync");
	if (t->io_r == 0 && close(TAKE_FD(t->fd)) < 0)
		io_fail(t, -errno, "cannot close");
}

static void discard_work(struct disk_task *task)
{
	struct take *t = CONTAINER_OF(task, struct take, step);

	if (t->fd >= 0)
		(void) close(TAKE_FD(t->fd));
	(void) unlink(t->path);
}

/* --- the end --- */

/* Calls out: last act. */
static void end(struct take *t)
{
	struct take_result result = {
	    .r = t->r,
	    .reason = t->r < 0 ? t->reason : "",
	    .path = t->path,
	    .db_bytes = t->total_bytes,
	    .file_bytes = t->total_bytes + DIGEST_SHA256_BYTES,
	    .took_us = mono_now_us() - t->started_us,
	};

	change_state(t, TAKE_OVER);
	(void) snprintf(result.db_sha256, sizeof(result.db_sha256), "%s", t->db_sha256);
	(void) snprintf(result.file_sha256, sizeof(result.file_sha256), "%s", t->file_sha256);
	(void) snprintf(result.server_version, sizeof(result.server_version), "%s", t->version);
	/* Whoever hears of the end may give back to the system what is free by then (run.c). */
	free_buffers(t);
	t->done(&result, t->userdata);
	free_take(t);
}

static void discarded(struct disk_task *task)
{
	end(CONTAINER_OF(task, struct take, step));
}

/* `step` must not be away. */
static void discard(struct take *t)
{
	t->step = (struct disk_task){.work = discard_work, .done = discarded};
	disk_do(t->disk, &t->step);
}

static void fail(struct take *t, int r, const char *reason)
{
	bool step_is_away = t->state == TAKE_OPENING || t->state == TAKE_FINISHING;

	t->r = r;
	(void) snprintf(t->reason, sizeof(t->reason), "%s", reason);
	etcd_snapshot_cancel(TAKE_PTR(t->stream));
	change_state(t, TAKE_FAILING);
	if (!step_is_away)
		discard(t);
}

/* A step is over: true if it is of no use any more, and all is done about that. */
static bool ended_badly(struct take *t)
{
	if (t->state == TAKE_FAILING) {
		discard(t);
		return true;
	}
	if (t->io_r == 0)
		return false;
	t->r = t->io_r;
	(void) snprintf(t->reason, sizeof(t->reason), "%s", t->io_reason);
	change_state(t, TAKE_FAILING);
	discard(t);
	return true;
}

static void finished(struct disk_task *task)
{
	struct take *t = CONTAINER_OF(task, struct take, step);

	if (!ended_badly(t))
		end(t);
}

/* --- the stream --- */

static struct buffer *find_free(struct take *t)
{
	for (size_t i = 0; i < N_BUFFERS; i++) {
		if (!t->buffers[i].is_away)
			return &t->buffers[i];
	}
	return NULL;
}

static void ask_for_next(struct take *t)
{
	if (t->wants_next && t->filling != NULL) {
		t->wants_next = false;
		etcd_snapshot_next(t->stream);
	}
}

static void written(struct disk_task *task)
{
	struct buffer *b = CONTAINER_OF(task, struct buffer, task);
	struct take *t = b->take;

	b->is_away = false;
	b->len = 0;
	if (t->state != TAKE_STREAMING)
		return;
	if (b->r < 0) {
		fail(t, b->r, t->io_reason);
		return;
	}
	if (t->filling == NULL)
		t->filling = b;
	ask_for_next(t);
}

static void send_away(struct take *t)
{
	struct buffer *b = t->filling;

	if (b != NULL && b->len > 0) {
		b->is_away = true;
		b->task = (struct disk_task){.work = write_work, .done = written};
		disk_do(t->disk, &b->task);
		t->filling = find_free(t);
	}
}

static void blob_cb(const struct etcd_blob *blob, void *userdata)
{
	struct take *t = userdata;

	t->wants_next = true;
	/* Once, before the thread looks at it. */
	if (blob->offset == 0) {
		t->total_bytes = blob->total_bytes;
		(void) snprintf(t->version, sizeof(t->version), "%s", blob->version);
	}
	if (blob->is_digest) {
		assert(blob->len == sizeof(t->digest));
		memcpy(t->digest, blob->data, blob->len);
	} else {
		if (blob->len > PIECE_BYTES_MAX) {
			fail(t, -EPROTO, "the member sends larger pieces than it may");
			return;
		}
		t->offset = blob->offset + blob->len;
		/* There is room: the next was asked for. */
		memcpy(t->filling->data + t->filling->len, blob->data, blob->len);
		t->filling->len += blob->len;
	}
	if (blob->is_digest || t->filling->len > BUFFER_BYTES - PIECE_BYTES_MAX)
		send_away(t);
	ask_for_next(t);
}

static void stream_done_cb(const struct etcd_outcome *outcome, void *userdata)
{
	struct take *t = userdata;
	char reason[TAKE_REASON_MAX];

	t->stream = NULL;
	if (outcome->r < 0) {
		AUTO(free) char *denied = outcome->r == -EACCES ? denied_text(outcome->text) : NULL;

		if (denied != NULL)
			(void) snprintf(reason, sizeof(reason), "%s %s", outcome->endpoint, denied);
		else
			(void) snprintf(reason, sizeof(reason), "the stream from %s broke off: %s",
			                outcome->endpoint, outcome->text);
		fail(t, outcome->r, reason);
		return;
	}
	change_state(t, TAKE_FINISHING);
	t->step = (struct disk_task){.work = finish_work, .done = finished};
	disk_do(t->disk, &t->step);
}

static void open_done(struct disk_task *task)
{
	static const struct etcd_snapshot_callbacks callbacks = {
	    .blob = blob_cb,
	    .done = stream_done_cb,
	};
	struct take *t = CONTAINER_OF(task, struct take, step);
	int r;

	if (ended_badly(t))
		return;
	change_state(t, TAKE_STREAMING);
	r = etcd_snapshot_start(t->etcd, t->endpoint, t->stall_ms, &callbacks, t, &t->stream);
	if (r < 0)
		fail(t, r, "the member is not among the endpoints any more");
	else if (t->opened != NULL)
		t->opened(t->path, t->userdata);
}

struct take *take_start(struct etcd *etcd, struct disk *disk, const struct take_options *options,
                        take_opened_fn opened, take_done_fn done, void *userdata)
{
	struct take *t = NEW0(struct take);

	t->etcd = etcd;
	t->disk = disk;
	t->directory = xstrdup(options->directory);
	t->job = xstrdup(options->job);
	t->endpoint = xstrdup(options->endpoint);
	t->path = leftover_path(t->directory, t->job);
	t->expected_bytes = options->expected_bytes;
	t->reserve_bytes = options->reserve_bytes;
	t->stall_ms = options->stall_ms;
	t->opened = opened;
	t->done = done;
	t->userdata = userdata;
	t->started_us = mono_now_us();
	t->fd = -1;
	t->hash = digest_new(DIGEST_SHA256);
	for (size_t i = 0; i < N_BUFFERS; i++) {
		t->buffers[i].take = t;
		t->buffers[i].data = xcalloc(1, BUFFER_BYTES);
	}
	t->filling = &t->buffers[0];
	t->step = (struct disk_task){.work = open_work, .done = open_done};
	disk_do(disk, &t->step);
	return t;
}

void take_cancel(struct take *t)
{
	if (t->state != TAKE_FAILING)
		fail(t, -ECANCELED, "it was given up");
}

void take_abandon(struct take *t)
{
	if (t == NULL)
		return;
	etcd_snapshot_cancel(t->stream);
	free_take(t);
}

uint64_t take_bytes_so_far(const struct take *t)
{
	return t->offset;
}

uint64_t take_bytes_total(const struct take *t)
{
	return t->total_bytes;
}
