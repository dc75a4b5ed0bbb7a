/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row of batches: the first may be away with the thread, the last is being filled. A batch goes
 * away as soon as the one before it is back, so that under load they are large and few, and without
 * it a change is written at once. Each batch says whether it is to be synced, and whether its
 * segment ends with it; a chain never begins in the middle of one.
 *
 * The thread's half is recordfile.c. What belongs to whom: a batch is the thread's while it is
 * away.
 */
#include "etcdwatch/record/recordwriter.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/record/recordfile.h"
#include "etcdwatch/work/disk.h"

struct batch {
	struct disk_task task;
	struct recordwriter *writer;
	struct recordfile_work work;
	TAILQ_ENTRY(batch) entry;
};

struct recordwriter {
	struct recordwriter_options options;
	const struct recordwriter_callbacks *callbacks;
	void *userdata;
	struct disk *disk;
	struct recordfile *file; /* the thread's, while something is away */
	ev_timer tick;

	TAILQ_HEAD(batches, batch) batches;
	bool is_away; /* the first batch, or `opening` */
	bool is_open;
	size_t waiting_bytes;
	struct disk_task opening;
	int open_r;
	char reason[RECORDWRITER_REASON_MAX];

	struct record_header header; /* of the segment that would begin now */
	char member[RECORD_MEMBER_NAME_MAX];
	bool begins_chain;                 /* the next batch does */
	int64_t last_revision, reached_us; /* that were put */
	int64_t synced_at_us;              /* when the last sync was asked for; mono */
	bool has_unsynced;
	int64_t segment_since_us; /* mono; 0: none is open */
	uint64_t segment_bytes;
	struct recordwriter_figures figures;
};

static void free_batch(struct batch *b)
{
	record_buffer_fini(&b->work.frames);
	free(b);
}

static void drop_batches(struct recordwriter *w)
{
	while (!TAILQ_EMPTY(&w->batches)) {
		struct batch *b = TAILQ_FIRST(&w->batches);

		TAILQ_REMOVE(&w->batches, b, entry);
		free_batch(b);
	}
	w->waiting_bytes = 0;
}

/* --- batches --- */

static struct batch *add_batch(struct recordwriter *w)
{
	struct batch *b = NEW0(struct batch);

	b->writer = w;
	b->work.header = w->header;
	b->work.begins_chain = w->begins_chain;
	w->begins_chain = false;
	TAILQ_INSERT_TAIL(&w->batches, b, entry);
	return b;
}

/* The one that can be filled. */
static struct batch *filling(struct recordwriter *w)
{
	struct batch *b = TAILQ_LAST(&w->batches, batches);
	bool is_away = w->is_away && b == TAILQ_FIRST(&w->batches);

	if (b == NULL || is_away || b->work.closes || w->begins_chain)
		return add_batch(w);
	return b;
}

static void work_cb(struct disk_task *task)
{
	struct batch *b = CONTAINER_OF(task, struct batch, task);

	recordfile_do(b->writer->file, &b->work);
}

static void done_cb(struct disk_task *task);

static void send_next(struct recordwriter *w)
{
	struct batch *b = TAILQ_FIRST(&w->batches);
	int64_t now_us = mono_now_us();

	if (b == NULL || w->is_away || !w->is_open)
		return;
	b->work.syncs |= now_us - w->synced_at_us >= RECORDWRITER_SYNC_US;
	if (b->work.syncs || b->work.closes)
		w->synced_at_us = now_us;
	if (b->work.closes || w->segment_since_us == 0) {
		b->work.base_revision = w->callbacks->base_revision(b->work.header.cluster_id, w->userdata);
		if (w->callbacks->unsent_sequence != NULL)
			b->work.unsent_sequence = w->callbacks->unsent_sequence(w->userdata);
	}
	w->is_away = true;
	b->task = (struct disk_task){.work = work_cb, .done = done_cb};
	disk_do(w->disk, &b->task);
}

/* Calls out: last act. */
static void fail(struct recordwriter *w, int r, const char *reason)
{
	drop_batches(w);
	w->is_open = false;
	w->segment_since_us = 0;
	w->callbacks->failed(r, reason, w->userdata);
}

static void take_figures(struct recordwriter *w, const struct recordfile_work *work)
{
	struct recordwriter_figures *f = &w->figures;

	f->n_segments = work->n_segments;
	f->n_chains = work->n_chains;
	f->bytes = work->bytes;
	f->is_too_much = work->is_too_much;
	f->is_held = work->is_held;
	f->n_unsent = work->n_unsent;
	w->segment_bytes = work->segment_bytes;
	if (work->closes)
		w->segment_since_us = 0;
	else if (w->segment_since_us == 0 && work->segment_bytes > 0)
		w->segment_since_us = mono_now_us();
	if (work->begins_chain) {
		f->first_revision = work->header.first_revision;
		f->first_us = work->header.wall_us;
		f->begins = true;
	}
	w->has_unsynced = work->synced_us < 0 || !TAILQ_EMPTY(&w->batches);
	if (work->synced_us < 0)
		return;
	f->sync_us = work->synced_us;
	f->n_syncs++;
	f->last_revision = work->last_revision;
	f->reached_us = work->reached_us;
	memcpy(f->open_segment, work->open_segment, sizeof(f->open_segment));
	f->open_bytes = work->open_bytes;
}

/* Calls out: last act. */
static void done_cb(struct disk_task *task)
{
	struct batch *b = CONTAINER_OF(task, struct batch, task);
	struct recordwriter *w = b->writer;
	bool closed = b->work.closes, was_full = recordwriter_is_full(w), made_room;

	w->is_away = false;
	TAILQ_REMOVE(&w->batches, b, entry);
	w->waiting_bytes -= b->work.frames.len;
	if (b->work.r < 0) {
		int r = b->work.r;

		w->figures.is_held = b->work.is_held;
		(void) snprintf(w->reason, sizeof(w->reason), "%s", b->work.reason);
		free_batch(b);
		fail(w, r, w->reason);
		return;
	}
	take_figures(w, &b->work);
	free_batch(b);
	send_next(w);
	made_room = was_full && !recordwriter_is_full(w);
	if (closed)
		w->callbacks->closed(w->userdata);
	if (made_room)
		w->callbacks->room(w->userdata);
}

/* --- opening --- */

static void open_work(struct disk_task *task)
{
	struct recordwriter *w = CONTAINER_OF(task, struct recordwriter, opening);

	w->open_r = recordfile_open(w->file, w->reason);
}

/* Calls out: last act. */
static void open_done(struct disk_task *task)
{
	struct recordwriter *w = CONTAINER_OF(task, struct recordwriter, opening);
	struct recordwriter_found found;

	w->is_away = false;
	if (w->open_r < 0) {
		fail(w, w->open_r, w->reason);
		return;
	}
	w->is_open = true;
	recordfile_found(w->file, &found, &w->figures);
	w->callbacks->opened(&found, w->userdata);
	recordhistory_free(found.history);
}

void recordwriter_open(struct recordwriter *w)
{
	assert(!w->is_away);
	drop_batches(w);
	w->is_away = true;
	w->opening = (struct disk_task){.work = open_work, .done = open_done};
	disk_do(w->disk, &w->opening);
}

/* --- what is put --- */

void recordwriter_set_member(struct recordwriter *w, uint64_t id, const char *name)
{
	w->header.member_id = id;
	(void) snprintf(w->header.member, sizeof(w->header.member), "%s", name);
}

void recordwriter_begin(struct recordwriter *w, const struct recordwriter_chain *chain)
{
	w->header.cluster_id = chain->cluster_id;
	w->header.first_revision = chain->first_revision;
	/* What came meanwhile was not seen: that it goes on now tells nothing. */
	w->header.wall_us = chain->begins ? wall_now_us() : w->figures.reached_us;
	recordwriter_set_member(w, chain->member_id, chain->member);
	w->begins_chain = chain->begins;
	w->last_revision = chain->first_revision - 1;
	w->reached_us = 0;
}

int recordwriter_put(struct recordwriter *w, const struct record_frame *frame)
{
	struct batch *b = filling(w);
	size_t before = b->work.frames.len;
	int r;

	r = record_encode(&b->work.frames, frame);
	if (r < 0)
		return r;
	w->waiting_bytes += b->work.frames.len - before;
	if (record_tells_time(frame)) {
		w->last_revision = frame->revision;
		w->reached_us = frame->wall_us;
		w->header.first_revision = frame->revision + 1;
		w->header.wall_us = frame->wall_us;
	}
	b->work.last_revision = w->last_revision;
	b->work.reached_us = w->reached_us;
	w->has_unsynced = true;
	send_next(w);
	return 0;
}

bool recordwriter_is_full(const struct recordwriter *w)
{
	return w->waiting_bytes >= RECORDWRITER_WAITING_BYTES_MAX;
}

void recordwriter_close(struct recordwriter *w)
{
	struct batch *b = filling(w);

	b->work.closes = true;
	b->work.last_revision = w->last_revision;
	b->work.reached_us = w->reached_us;
	send_next(w);
}

/* What nothing follows is synced too; and a segment ends in time. */
static void tick_cb(struct ev_loop *ev UNUSED, ev_timer *timer, int revents UNUSED)
{
	struct recordwriter *w = CONTAINER_OF(timer, struct recordwriter, tick);
	bool is_over =
	    w->segment_since_us != 0 && (mono_now_us() - w->segment_since_us >= w->options.segment_us ||
	                                 w->segment_bytes >= w->options.segment_bytes);
	bool is_due = w->has_unsynced && mono_now_us() - w->synced_at_us >= RECORDWRITER_SYNC_US;
	struct batch *b;

	if (!w->is_open || (!is_due && !is_over))
		return;
	b = filling(w);
	b->work.last_revision = w->last_revision;
	b->work.reached_us = w->reached_us;
	b->work.closes |= is_over;
	send_next(w);
}

struct recordwriter_figures recordwriter_figures(const struct recordwriter *w)
{
	return w->figures;
}

/* --- beginning and end --- */

int recordwriter_new(const struct recordwriter_options *options,
                     const struct recordwriter_callbacks *callbacks, void *userdata,
                     struct recordwriter **ret_writer)
{
	struct recordwriter *w = NEW0(struct recordwriter);
	int r;

	w->options = *options;
	w->callbacks = callbacks;
	w->userdata = userdata;
	TAILQ_INIT(&w->batches);
	w->file = recordfile_new(options);
	r = disk_new(options->ev, &w->disk);
	if (r < 0) {
		recordfile_free(w->file);
		free(w);
		return r;
	}
	ev_timer_init(&w->tick, tick_cb, mono_to_ev(RECORDWRITER_SYNC_US / 2),
	              mono_to_ev(RECORDWRITER_SYNC_US / 2));
	ev_timer_start(options->ev, &w->tick);
	*ret_writer = w;
	return 0;
}

void recordwriter_free(struct recordwriter *w)
{
	if (w == NULL)
		return;
	ev_timer_stop(w->options.ev, &w->tick);
	disk_free(w->disk);
	drop_batches(w);
	recordfile_free(w->file);
	free(w);
}
