/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer of the record with its thread, on a real directory: what is put is on the disk, and is
 * found again after whatever a crash leaves; segments are closed, removed, and name each other; a
 * disk without room is told, and nothing that was synced is lost by it.
 */
#include "etcdwatch/record/recordwriter.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/mem.h"
#include "etcdwatch/record/recorddir.h"
#include "tests/unit/recordfile.h"
#include "tests/unit/scratch.h"
#include "tests/unit/turn.h"

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

static atomic_bool sync_fails;
static pthread_mutex_t sync_gate = PTHREAD_MUTEX_INITIALIZER; /* held: a sync waits */

int __wrap_fdatasync(int fd)
{
	pthread_mutex_lock(&sync_gate);
	pthread_mutex_unlock(&sync_gate);
	if (!atomic_load(&sync_fails))
		return __real_fdatasync(fd);
	errno = EIO;
	return -1;
}

static struct ev_loop *ev;
static struct recordwriter *writer;
static struct recordwriter_found found;
static int64_t found_last; /* of its history */
static char found_damage[RECORDDIR_REASON_MAX];
static unsigned n_opened, n_failed, n_room, n_closed;
static int failed_r;
static int64_t base_revision;

static void opened_cb(struct recordwriter_found *f, void *userdata UNUSED)
{
	n_opened++;
	found = *f;
	found_last = f->history != NULL ? recordhistory_last(f->history) : 0;
	(void) snprintf(found_damage, sizeof(found_damage), "%s", f->damage);
}

static void failed_cb(int r, const char *reason, void *userdata UNUSED)
{
	n_failed++;
	failed_r = r;
	CHECK(reason[0] != '\0');
}

static void room_cb(void *userdata UNUSED)
{
	n_room++;
}

static void closed_cb(void *userdata UNUSED)
{
	n_closed++;
}

static int64_t base_cb(uint64_t cluster_id, void *userdata UNUSED)
{
	CHECK_EQ_INT(cluster_id, 0xc1);
	return base_revision;
}

static const struct recordwriter_callbacks callbacks = {
    .opened = opened_cb,
    .failed = failed_cb,
    .room = room_cb,
    .closed = closed_cb,
    .base_revision = base_cb,
};

static struct recordwriter_options options;

static void begin(void)
{
	options.ev = ev;
	n_opened = n_failed = n_room = n_closed = 0;
	CHECK_EQ_INT(recordwriter_new(&options, &callbacks, NULL, &writer), 0);
	recordwriter_open(writer);
	CHECK_EQ_INT(n_opened, 0);
	CHECK(TURN_UNTIL(ev, n_opened + n_failed == 1));
}

static void begin_anew(const char *directory)
{
	options = (struct recordwriter_options){
	    .directory = directory,
	    .keep_us = 3600 * US_PER_S,
	    .max_bytes = UINT64_C(1) << 30,
	    .segment_bytes = UINT64_C(1) << 30,
	    .segment_us = 3600 * US_PER_S,
	};
	base_revision = 0;
	begin();
}

static void end(void)
{
	recordwriter_free(TAKE_PTR(writer));
}

/* As recorder.c goes on: from what was found, or anew behind `revision`. */
static void go_on(int64_t revision)
{
	recordwriter_begin(writer, &(struct recordwriter_chain){
	                               .cluster_id = 0xc1,
	                               .member_id = 0xa,
	                               .member = "cp1",
	                               .first_revision = revision + 1,
	                               .begins = !found.has_chain || found.last_revision != revision,
	                           });
}

static void put(int64_t revision, size_t value_bytes)
{
	AUTO(free) uint8_t *value = xcalloc(1, value_bytes + 1);
	struct record_event event = {.key = bytes_of_text("k"),
	                             .create_revision = 1,
	                             .version = revision,
	                             .value = {.data = value, .len = value_bytes}};

	CHECK_EQ_INT(recordwriter_put(writer, &(struct record_frame){.type = RECORD_EVENTS,
	                                                             .revision = revision,
	                                                             .wall_us = 1000000 * revision,
	                                                             .events = &event,
	                                                             .n_events = 1}),
	             0);
}

static bool is_synced(int64_t revision)
{
	struct recordwriter_figures figures = recordwriter_figures(writer);

	return figures.last_revision == revision && figures.reached_us == 1000000 * revision;
}

/* --- tests --- */

static void test_writes(void)
{
	begin_anew("first");
	CHECK(!found.has_chain && found.n_cut == 0 && found_damage[0] == '\0');
	go_on(4);
	put(5, 10);
	put(6, 10);
	CHECK(TURN_UNTIL(ev, is_synced(6)));
	CHECK_EQ_STR(recordfile_content("first"), "*5-6 ");
	CHECK_EQ_INT(recordwriter_figures(writer).first_revision, 5);
	recordwriter_close(writer);
	put(7, 10);
	CHECK(TURN_UNTIL(ev, is_synced(7)));
	CHECK_EQ_INT(n_closed, 1);
	CHECK_EQ_STR(recordfile_content("first"), "*5-6. 7-7 ");
	CHECK_EQ_INT(recordwriter_figures(writer).n_segments, 2);
	CHECK_EQ_INT(recordwriter_figures(writer).n_chains, 1);
	end();

	/* It goes on, behind an end that it has written itself. */
	begin();
	CHECK(found.has_chain && found.cluster_id == 0xc1 && found.last_revision == 7);
	CHECK(found_last == found.last_revision && found.n_cut == 0);
	CHECK_EQ_STR(recordfile_content("first"), "*5-6. 7-7. ");
	go_on(7);
	put(8, 10);
	CHECK(TURN_UNTIL(ev, is_synced(8)));
	CHECK_EQ_STR(recordfile_content("first"), "*5-6. 7-7. 8-8 ");
	CHECK_EQ_INT(recordwriter_figures(writer).first_revision, 5);
	CHECK_EQ_INT(n_failed, 0);
	end();
}

/* How far it reaches is what was seen, not when a segment was closed or begun. */
static void test_reaches(void)
{
	AUTO(record_reader_free) struct record_reader *reader = NULL;
	AUTO(free) char *path = NULL;
	char fault[RECORD_FAULT_MAX], name[RECORD_NAME_MAX];

	begin_anew("reach");
	go_on(0);
	put(1, 10);
	CHECK(TURN_UNTIL(ev, is_synced(1)));
	end();
	/* Left open, then closed, then without anything in it. */
	for (uint64_t i = 2; i <= 4; i++) {
		begin();
		CHECK_EQ_INT(recordwriter_figures(writer).reached_us, 1000000);
		/* What it ends with is known, though it is in the first. */
		CHECK(found_last == found.last_revision);
		go_on(1);
		recordwriter_close(writer);
		CHECK_EQ_INT(
		    recordwriter_put(writer, &(struct record_frame){.type = RECORD_LEASE, .lease = 1}), 0);
		CHECK(TURN_UNTIL(ev, recordwriter_figures(writer).n_segments == i));
		end();
	}
	/* A clock that was ahead once does not count for ever. */
	begin();
	go_on(1);
	CHECK_EQ_INT(recordwriter_put(writer, &(struct record_frame){.type = RECORD_PROGRESS,
	                                                             .revision = 1,
	                                                             .wall_us = INT64_MAX}),
	             0);
	put(2, 10);
	CHECK(TURN_UNTIL(ev, is_synced(2)));
	end();
	path = xasprintf(
	    "reach/%s",
	    record_name(&(struct record_header){.cluster_id = 0xc1, .first_revision = 2, .sequence = 3},
	                name));
	if (CHECK_EQ_INT(record_reader_open(path, &reader, fault), 0))
		CHECK_EQ_INT(record_reader_header(reader)->wall_us, 1000000);
}

/* A gap ends the chain: nothing goes on from it, also after a start. */
static void test_gap(void)
{
	begin_anew("gap");
	go_on(0);
	put(1, 10);
	CHECK_EQ_INT(
	    recordwriter_put(writer, &(struct record_frame){.type = RECORD_GAP,
	                                                    .revision = 2,
	                                                    .last_lost = 9,
	                                                    .reason = bytes_of_text("compacted")}),
	    0);
	recordwriter_close(writer);
	CHECK(TURN_UNTIL(ev, n_closed == 1));
	end();
	begin();
	CHECK(!found.has_chain);
	go_on(9);
	put(10, 10);
	CHECK(TURN_UNTIL(ev, is_synced(10)));
	CHECK_EQ_STR(recordfile_content("gap"), "*1-1!. *10-10 ");
	CHECK_EQ_INT(recordwriter_figures(writer).n_chains, 2);
	end();
}

/* Whatever is left of the last file: it goes on from the last whole change. */
static void test_crash(void)
{
	static const struct {
		const char *what; /* shell, on the last file $f */
		int64_t last;
		bool damaged;
		const char *content;
	} cases[] = {
	    {"truncate -s -3 $f", 6, false, "*5-5. 6-6. "},
	    {"printf x >>$f", 7, false, "*5-5. 6-7. "},
	    {"head -c 500 /dev/zero >>$f", 7, false, "*5-5. 6-7. "},
	    {"truncate -s 40 $f; mv $f crash/new", 5, false, "*5-5. "}, /* before it had its name */
	    /* In the first of its two changes: both are cut. */
	    {"printf x | dd of=$f bs=1 seek=140 conv=notrunc 2>/dev/null", 5, true, "*5-5. 6-5. "},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		(void) scratch_shell("rm -rf crash");
		begin_anew("crash");
		go_on(4);
		put(5, 10);
		recordwriter_close(writer);
		put(6, 10);
		put(7, 10);
		CHECK(TURN_UNTIL(ev, is_synced(7)));
		end();
		(void) scratch_shell("f=$(ls crash/* | tail -n 1); %s", cases[i].what);
		begin();
		if (!CHECK(found.has_chain) || !CHECK_EQ_INT(found.last_revision, cases[i].last) ||
		    !CHECK_EQ_INT(found_damage[0] != '\0', cases[i].damaged) ||
		    !CHECK_EQ_INT(found.lost.sequence, 0) ||
		    !CHECK_EQ_STR(recordfile_content("crash"), cases[i].content))
			(void) fprintf(stderr, "  after: %s (%s)\n", cases[i].what, found_damage);
		go_on(found.last_revision);
		put(found.last_revision + 1, 10);
		CHECK(TURN_UNTIL(ev, is_synced(cases[i].last + 1)));
		CHECK_EQ_INT(recordwriter_figures(writer).n_chains, 1);
		end();
	}
}

/* Only what was synced before it failed is believed. */
static void test_no_room(void)
{
	begin_anew("full");
	go_on(0);
	put(1, 10);
	CHECK(TURN_UNTIL(ev, is_synced(1)));
	end();
	options.reserve_bytes = UINT64_C(1) << 60;
	begin();
	CHECK_EQ_INT(n_failed, 0);
	go_on(1);
	put(2, 10);
	CHECK(TURN_UNTIL(ev, n_failed == 1));
	CHECK_EQ_INT(failed_r, -ENOSPC);
	recordwriter_open(writer);
	CHECK(TURN_UNTIL(ev, n_opened == 2));
	CHECK_EQ_INT(found.last_revision, 1);
	end();
	options.reserve_bytes = 0;
	begin();
	go_on(1);
	put(2, 10);
	CHECK(TURN_UNTIL(ev, is_synced(2)));
	CHECK_EQ_STR(recordfile_content("full"), "*1-1. 2-2 ");
	end();
}

/* What was written and could not be synced is not believed, though it can be read. */
static void test_sync_fails(void)
{
	begin_anew("sync");
	go_on(0);
	put(1, 10);
	CHECK(TURN_UNTIL(ev, is_synced(1)));
	atomic_store(&sync_fails, true);
	put(2, 10);
	CHECK(TURN_UNTIL(ev, n_failed == 1));
	CHECK_EQ_INT(failed_r, -EIO);
	CHECK(is_synced(1));
	CHECK_EQ_STR(recordfile_content("sync"), "*1-2 ");
	atomic_store(&sync_fails, false);
	recordwriter_open(writer);
	CHECK(TURN_UNTIL(ev, n_opened == 2));
	CHECK_EQ_INT(found.last_revision, 1);
	CHECK_EQ_STR(recordfile_content("sync"), "*1-1. ");
	end();
}

static void test_cannot_open(void)
{
	begin_anew("nowhere/at/all");
	CHECK_EQ_INT(n_failed, 1);
	CHECK_EQ_INT(failed_r, -ENOENT);
	end();
}

/* More than may wait is told, and so is that there is room again; then all of it is there. */
static void test_full_queue(void)
{
	int64_t revision = 0;

	begin_anew("queue");
	go_on(0);
	while (!recordwriter_is_full(writer) && CHECK(revision < 1000))
		put(++revision, 1 << 20);
	CHECK(TURN_UNTIL(ev, n_room == 1));
	CHECK(!recordwriter_is_full(writer));
	CHECK(TURN_UNTIL(ev, is_synced(revision)));
	end();
	begin();
	CHECK_EQ_INT(found.last_revision, revision);
	end();
}

/* What makes room may close a segment as well: both are told. */
static void test_full_queue_that_closes(void)
{
	int64_t revision = 1;

	begin_anew("both");
	go_on(0);
	pthread_mutex_lock(&sync_gate);
	put(revision, 10);
	recordwriter_close(writer);
	while (!recordwriter_is_full(writer) && CHECK(revision < 1000))
		put(++revision, 1 << 20);
	recordwriter_close(writer);
	pthread_mutex_unlock(&sync_gate);
	CHECK(TURN_UNTIL(ev, n_closed >= 2 && !recordwriter_is_full(writer)));
	CHECK_EQ_INT(n_room, 1);
	CHECK_EQ_INT(n_failed, 0);
	CHECK(is_synced(revision));
	end();
}

/* By size; and the oldest go, but what the snapshot needs. */
static void test_rolls_and_drops(void)
{
	begin_anew("roll");
	options.segment_bytes = 1000;
	options.max_bytes = 5000;
	end();
	base_revision = 3;
	begin();
	go_on(0);
	for (int64_t i = 1; i <= 9; i++) {
		put(i, 1000);
		CHECK(TURN_UNTIL(ev, n_closed == (unsigned) i));
		CHECK(is_synced(i));
	}
	CHECK_EQ_STR(recordfile_content("roll"), "4-4. 5-5. 6-6. 7-7. 8-8. 9-9. ");
	CHECK(recordwriter_figures(writer).is_too_much);
	base_revision = 7;
	put(10, 1000);
	CHECK(TURN_UNTIL(ev, n_closed == 10));
	CHECK_EQ_STR(recordfile_content("roll"), "7-7. 8-8. 9-9. 10-10. ");
	CHECK(!recordwriter_figures(writer).is_too_much);
	end();
}

/* On a disk that is full room is made first, and what has to stay is told. */
static void test_drops_when_full(void)
{
	begin_anew("drop");
	go_on(0);
	for (int64_t i = 1; i <= 4; i++) {
		put(i, 10);
		recordwriter_close(writer);
	}
	CHECK(TURN_UNTIL(ev, n_closed == 4));
	end();
	options.reserve_bytes = UINT64_C(1) << 60;
	options.max_bytes = 1;
	base_revision = 2;
	begin();
	CHECK(!recordwriter_figures(writer).is_held);
	CHECK(recordwriter_figures(writer).begins);
	go_on(4);
	put(5, 10);
	CHECK(TURN_UNTIL(ev, n_failed == 1));
	CHECK_EQ_INT(failed_r, -ENOSPC);
	CHECK(recordwriter_figures(writer).is_held);
	CHECK_EQ_STR(recordfile_content("drop"), "3-3. 4-4. ");
	base_revision = 4;
	recordwriter_open(writer);
	CHECK(TURN_UNTIL(ev, n_opened == 2));
	/* The segment with which it began is gone. */
	CHECK(!recordwriter_figures(writer).begins);
	go_on(4);
	put(5, 10);
	CHECK(TURN_UNTIL(ev, n_failed == 2));
	CHECK(!recordwriter_figures(writer).is_held);
	CHECK_EQ_STR(recordfile_content("drop"), "4-4. ");
	end();
}

int main(void)
{
	ev = ev_default_loop(0);
	scratch_enter();
	test_writes();
	test_reaches();
	test_gap();
	test_crash();
	test_no_room();
	test_sync_fails();
	test_cannot_open();
	test_full_queue();
	test_full_queue_that_closes();
	test_rolls_and_drops();
	test_drops_when_full();
	scratch_leave();
	return check_result();
}
