/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One segment is open at the most. How far it is synced is remembered past a failure: when writing
 * begins again, nothing behind that is believed, as the kernel may have dropped what it could not
 * write.
 */
#include "etcdwatch/record/recordfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/record/recorddir.h"

#define NAMELESS "new" /* until its header is synced */

struct recordfile {
	struct recordwriter_options options;
	struct recorddir dir; /* the segments that are closed */
	int fd;               /* of the open one; -1: there is none */
	char *path;           /* of that, or of the last one that was written to */
	struct record_writer *segment;
	struct record_header header;
	uint64_t written, synced; /* bytes of it */
	uint64_t sequence;        /* of the next one */
	bool can_go_on;           /* the last closed one does not end its chain */
	struct recordchain_drop dropped;
	uint64_t n_unsent;
};

struct recordfile *recordfile_new(const struct recordwriter_options *options)
{
	struct recordfile *f = NEW0(struct recordfile);

	f->options = *options;
	f->fd = -1;
	f->sequence = 1;
	return f;
}

static void leave_segment(struct recordfile *f)
{
	if (f->fd >= 0)
		(void) close(TAKE_FD(f->fd));
	record_writer_free(TAKE_PTR(f->segment));
}

void recordfile_free(struct recordfile *f)
{
	if (f == NULL)
		return;
	leave_segment(f);
	recorddir_fini(&f->dir);
	free(f->path);
	free(f);
}

/* --- opening --- */

int recordfile_open(struct recordfile *f, char ret_reason[static RECORDWRITER_REASON_MAX])
{
	struct recorddir_certain certain = {.path = f->path, .bytes = f->synced};
	struct recorddir dir;
	int r;

	leave_segment(f);
	r = recorddir_open(f->options.directory, &certain, &dir, ret_reason);
	if (r < 0)
		return r;
	free(TAKE_PTR(f->path));
	recorddir_fini(&f->dir);
	f->dir = dir;
	f->can_go_on = dir.n > 0 && dir.segments[dir.n - 1].closed && !dir.has_gap;
	f->sequence = dir.n > 0 ? dir.segments[dir.n - 1].header.sequence + 1 : 1;
	/* What is written next follows the file that is lost. */
	f->sequence = MAX(f->sequence, dir.lost.sequence);
	return 0;
}

static uint64_t closed_bytes(const struct recordfile *f)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < f->dir.n; i++)
		bytes += f->dir.segments[i].bytes;
	return bytes;
}

void recordfile_found(struct recordfile *f, struct recordwriter_found *ret_found,
                      struct recordwriter_figures *ret_figures)
{
	struct recorddir *dir = &f->dir;
	struct recordwriter_figures figures = {
	    .n_segments = dir->n,
	    .n_chains = recordchain_count(dir->segments, dir->n),
	    .bytes = closed_bytes(f),
	};

	*ret_found =
	    (struct recordwriter_found){.n_cut = dir->n_cut, .damage = dir->damage, .lost = dir->lost};
	if (f->can_go_on) {
		const struct record_segment *last = &dir->segments[dir->n - 1];
		const struct record_segment *first =
		    &dir->segments[recordchain_newest(dir->segments, dir->n)];

		ret_found->has_chain = true;
		ret_found->cluster_id = last->header.cluster_id;
		ret_found->last_revision = last->last_revision;
		ret_found->history = TAKE_PTR(dir->history);
		figures.first_revision = first->header.first_revision;
		figures.first_us = first->header.wall_us;
		figures.begins = record_begins_chain(&first->header);
		figures.last_revision = last->last_revision;
		figures.reached_us = dir->reached_us;
	}
	*ret_figures = figures;
}

/* --- a batch --- */

static void fail(struct recordfile *f, struct recordfile_work *work, int r, const char *what)
{
	if (work->r < 0)
		return;
	work->r = r;
	(void) snprintf(work->reason, sizeof(work->reason), "%s '%.300s': %s", what,
	                f->path != NULL ? f->path : f->options.directory, strerror(-r));
}

static void check_room(struct recordfile *f, struct recordfile_work *work)
{
	struct statvfs fs;
	uint64_t free_bytes;

	if (statvfs(f->options.directory, &fs) < 0) {
		fail(f, work, -errno, "cannot tell the free space for");
		return;
	}
	free_bytes = (uint64_t) fs.f_bavail * fs.f_frsize;
	if (free_bytes >= f->options.reserve_bytes + work->frames.len)
		return;
	work->r = -ENOSPC;
	(void) snprintf(work->reason, sizeof(work->reason),
	                "%llu MiB are free in '%.300s', and %llu MiB are to stay free",
	                (unsigned long long) (free_bytes >> 20), f->options.directory,
	                (unsigned long long) (f->options.reserve_bytes >> 20));
}

static void write_pending(struct recordfile *f, struct recordfile_work *work)
{
	struct bytes pending = record_writer_pending(f->segment);

	while (work->r == 0 && pending.len > 0) {
		ssize_t n = write(f->fd, pending.data, pending.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			fail(f, work, n < 0 ? -errno : -EIO, "cannot write");
			return;
		}
		pending.data += n;
		pending.len -= (size_t) n;
		f->written += (uint64_t) n;
	}
	record_writer_written(f->segment);
}

/* The header is synced before the file has its name: one that has its name and no header was
 * damaged. */
static void make_segment(struct recordfile *f, struct recordfile_work *work)
{
	AUTO(free) char *nameless = xasprintf("%s/" NAMELESS, f->options.directory);
	int r;

	if (unlink(nameless) < 0 && errno != ENOENT) {
		fail(f, work, -errno, "cannot make");
		return;
	}
	f->fd = open(nameless, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (f->fd < 0) {
		fail(f, work, -errno, "cannot make");
		return;
	}
	write_pending(f, work);
	if (work->r == 0 && (fsync(f->fd) < 0 || link(nameless, f->path) < 0))
		fail(f, work, -errno, "cannot make");
	(void) unlink(nameless);
	if (work->r < 0)
		return;
	f->synced = f->written;
	f->sequence++;
	r = recorddir_sync(f->options.directory);
	if (r < 0)
		fail(f, work, r, "cannot sync the directory of");
}

static void begin_segment(struct recordfile *f, struct recordfile_work *work)
{
	char name[RECORD_NAME_MAX];

	f->header = work->header;
	f->header.sequence = f->sequence;
	memset(f->header.previous, 0, sizeof(f->header.previous));
	if (!work->begins_chain && f->can_go_on)
		memcpy(f->header.previous, f->dir.segments[f->dir.n - 1].digest,
		       sizeof(f->header.previous));
	free(f->path);
	f->path = xasprintf("%s/%s", f->options.directory, record_name(&f->header, name));
	f->written = f->synced = 0;
	f->segment = record_writer_new(&f->header);
	make_segment(f, work);
}

static void sync_segment(struct recordfile *f, struct recordfile_work *work)
{
	int64_t began_us = mono_now_us();

	if (work->r < 0)
		return;
	if (fdatasync(f->fd) < 0) {
		fail(f, work, -errno, "cannot sync");
		return;
	}
	f->synced = f->written;
	work->synced_us = mono_now_us() - began_us;
}

static void drop_old(struct recordfile *f, const struct recordfile_work *work)
{
	struct recordchain_rules rules = {
	    .now_us = wall_now_us(),
	    .keep_us = f->options.keep_us,
	    .max_bytes = f->options.max_bytes,
	    .base_revision = work->base_revision,
	    .base_cluster_id = work->header.cluster_id,
	    .unsent_sequence = work->unsent_sequence,
	};
	char reason[RECORDDIR_REASON_MAX];

	f->dropped = recordchain_drop(f->dir.segments, f->dir.n, &rules);
	f->n_unsent += f->dropped.n_unsent;
	/* What cannot be removed takes room, of which there may be enough. */
	(void) recorddir_drop(&f->dir, f->options.directory, f->dropped.n, reason);
}

static bool has_gap(struct bytes frames)
{
	while (frames.len > 0) {
		size_t bytes = RECORD_BARE_HEAD_BYTES + bytes_le32(frames.data);

		if (frames.data[4] == RECORD_GAP)
			return true;
		frames.data += bytes;
		frames.len -= bytes;
	}
	return false;
}

static void close_segment(struct recordfile *f, struct recordfile_work *work, bool gap)
{
	struct record_segment s = {
	    .header = f->header,
	    .closed = true,
	    .last_revision = work->last_revision,
	    .end_us = wall_now_us(),
	};

	record_writer_end(f->segment, s.last_revision, s.end_us, s.digest);
	write_pending(f, work);
	sync_segment(f, work);
	if (work->r < 0)
		return;
	s.bytes = f->written;
	recorddir_add(&f->dir, &s);
	f->can_go_on = !gap;
	leave_segment(f);
	drop_old(f, work);
}

static void write_frames(struct recordfile *f, struct recordfile_work *work)
{
	struct bytes frames = {.data = work->frames.data, .len = work->frames.len};

	/* It may be for want of room that none is open. */
	if (f->fd < 0)
		drop_old(f, work);
	check_room(f, work);
	if (work->r == 0 && f->fd < 0)
		begin_segment(f, work);
	if (work->r < 0)
		return;
	record_writer_add(f->segment, frames);
	write_pending(f, work);
}

static void count(const struct recordfile *f, struct recordfile_work *work)
{
	bool is_open = f->fd >= 0;

	work->segment_bytes = is_open ? f->written : 0;
	work->open_segment[0] = '\0';
	if (is_open)
		(void) record_name(&f->header, work->open_segment);
	work->open_bytes = is_open ? f->synced : 0;
	work->bytes = closed_bytes(f) + work->segment_bytes;
	work->is_too_much = f->dropped.is_too_much;
	work->is_held = f->dropped.is_held;
	work->n_unsent = f->n_unsent;
	work->n_segments = f->dir.n + is_open;
	work->n_chains = recordchain_count(f->dir.segments, f->dir.n);
	/* The open one goes on from the last, or begins another. */
	if (is_open && record_begins_chain(&f->header))
		work->n_chains++;
}

void recordfile_do(struct recordfile *f, struct recordfile_work *work)
{
	work->r = 0;
	work->synced_us = -1;
	if (work->frames.len > 0)
		write_frames(f, work);
	if (work->r == 0 && f->fd < 0) {
		work->synced_us = 0; /* all that there was is in segments that are closed */
	} else if (work->r == 0) {
		if (work->closes)
			close_segment(
			    f, work,
			    has_gap((struct bytes){.data = work->frames.data, .len = work->frames.len}));
		else if (work->syncs)
			sync_segment(f, work);
	}
	if (work->r < 0)
		leave_segment(f);
	count(f, work);
}
