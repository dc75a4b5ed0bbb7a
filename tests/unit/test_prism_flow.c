/* SPDX-License-Identifier: Apache-2.0 */
/* One direction of a connection between real sockets: every byte, in order, whatever the sink does.
 */
#include "prism/flow.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tests/unit/check.h"
#include "tests/unit/sockets.h"

#define SMALL_BUFFER 4096

/* writer == from --flow--> to == reader */
struct bench {
	struct flow_room room;
	struct flow flow;
	int writer, from, to, reader;
	uint64_t written, read;
};

static struct bench bench_new(int buffer)
{
	struct bench b = {0};
	int fds[2];

	flow_room_init(&b.room, pipes_new(8));
	sockets_pair(fds, 0);
	b.writer = fds[0];
	b.from = fds[1];
	sockets_pair(fds, buffer);
	b.to = fds[0];
	b.reader = fds[1];
	return b;
}

static void bench_end(struct bench *b)
{
	flow_fini(&b->flow, &b->room);
	CHECK_EQ_INT(b->room.held, 0);
	flow_room_fini(&b->room);
	(void) close(b->writer);
	(void) close(b->from);
	(void) close(b->to);
	(void) close(b->reader);
}

/* Until `total` bytes in all were written, and `unread` of them wait to be moved. */
static void arrive(struct bench *b, uint64_t total, size_t unread)
{
	for (int i = 0; i < 1000 && (b->written < total || sockets_unread(b->from) < unread); i++) {
		CHECK(stream_write(b->writer, &b->written, total));
		(void) poll(NULL, 0, 1);
	}
	CHECK_EQ_INT(sockets_unread(b->from), unread);
}

static bool is_over(const struct bench *b)
{
	return b->flow.state == FLOW_ENDED || b->flow.state == FLOW_BROKEN;
}

static enum flow_break move(struct bench *b, size_t *ret_moved)
{
	enum flow_break broke = flow_move(&b->flow, &b->room, b->from, b->to, true, ret_moved);

	flow_finish(&b->flow, b->to);
	return broke;
}

/* Moves and reads, `step` bytes at a time, until the reader's end; the order of both is what a loop
 * would do. */
static enum stream_end run(struct bench *b, uint64_t total, size_t step)
{
	enum stream_end end = STREAM_GOES_ON;
	size_t moved;

	for (int i = 0; i < 1000000 && end == STREAM_GOES_ON; i++) {
		if (!stream_write(b->writer, &b->written, total))
			break;
		if (b->written == total)
			(void) shutdown(b->writer, SHUT_WR);
		CHECK_EQ_INT(move(b, &moved), FLOW_FINE);
		end = stream_read(b->reader, &b->read, step);
	}
	return end;
}

/* --- small --- */

static void test_small_data_passes_at_once(void)
{
	struct bench b = bench_new(0);
	size_t moved;

	CHECK(stream_write(b.writer, &b.written, 100));
	CHECK(sockets_wait(b.from, POLLIN));
	CHECK_EQ_INT(move(&b, &moved), FLOW_FINE);
	CHECK_EQ_INT(moved, 100);
	CHECK(!flow_is_pending(&b.flow));
	CHECK_EQ_INT(pipes_count(b.room.pipes), 0);
	CHECK_EQ_INT(stream_read(b.reader, &b.read, 1000), STREAM_GOES_ON);
	CHECK_EQ_INT(b.read, 100);
	/* Nothing there: nothing happens. */
	CHECK_EQ_INT(move(&b, &moved), FLOW_FINE);
	CHECK_EQ_INT(moved, 0);
	CHECK_EQ_INT(b.flow.state, FLOW_OPEN);
	/* Not even when it was bulk: then it is that no more. */
	b.flow.bulk = true;
	CHECK_EQ_INT(move(&b, &moved), FLOW_FINE);
	CHECK_EQ_INT(moved, 0);
	CHECK(!b.flow.bulk);
	CHECK_EQ_INT(b.flow.state, FLOW_OPEN);
	bench_end(&b);
}

#define PAGE_MIN_BYTES 4096

/* Pages of the buffer that are memory. */
static size_t buffer_pages(const struct bench *b, size_t page_bytes)
{
	unsigned char in[FLOW_BUFFER_BYTES / PAGE_MIN_BYTES + 2] = {0};
	uintptr_t first = (uintptr_t) b->room.buffer & ~(uintptr_t) (page_bytes - 1);
	uintptr_t end = (uintptr_t) b->room.buffer + FLOW_BUFFER_BYTES;
	size_t n = 0;

	CHECK_EQ_INT(mincore((void *) first, end - first, in), 0);
	for (size_t i = 0; i < sizeof(in); i++)
		n += in[i] & 1;
	return n;
}

/* The first of all, as memory that somebody else has used before is there anyway. */
static void test_the_buffer_is_memory_as_far_as_it_was_filled(void)
{
	size_t page_bytes = (size_t) sysconf(_SC_PAGESIZE);
	struct bench b = bench_new(0);
	size_t moved;

	/* One at each edge, which it shares with others, and one that the allocator may fill. */
	CHECK(buffer_pages(&b, page_bytes) <= 3);
	for (uint64_t i = 1; i <= 100; i++) {
		CHECK(stream_write(b.writer, &b.written, 100 * i));
		CHECK(sockets_wait(b.from, POLLIN));
		CHECK_EQ_INT(move(&b, &moved), FLOW_FINE);
	}
	CHECK(buffer_pages(&b, page_bytes) <= 3);
	arrive(&b, 10000 + 40000, 40000);
	CHECK_EQ_INT(move(&b, &moved), FLOW_FINE);
	CHECK(buffer_pages(&b, page_bytes) >= 40000 / page_bytes);
	bench_end(&b);
}

static void test_what_is_not_taken_is_held(void)
{
	struct bench b = bench_new(SMALL_BUFFER);
	size_t moved, taken = 0;

	arrive(&b, 50000, 50000);
	CHECK_EQ_INT(move(&b, &moved), FLOW_FINE);
	taken += moved;
	CHECK(b.flow.held != NULL && b.flow.pipe == NULL);
	CHECK(moved < 50000);
	CHECK_EQ_INT(b.room.held, 50000 - moved);

	/* Meanwhile nothing more is read. */
	arrive(&b, 50010, 10);
	CHECK_EQ_INT(move(&b, &moved), FLOW_FINE);
	taken += moved;
	CHECK_EQ_INT(sockets_unread(b.from), 10);

	for (int i = 0; i < 10000 && b.read < 50010; i++) {
		CHECK_EQ_INT(stream_read(b.reader, &b.read, 700), STREAM_GOES_ON);
		CHECK_EQ_INT(move(&b, &moved), FLOW_FINE);
		taken += moved;
	}
	CHECK_EQ_INT(b.read, 50010);
	CHECK_EQ_INT(taken, 50010);
	CHECK(!flow_is_pending(&b.flow));
	bench_end(&b);
}

static void test_plenty_of_held_bytes_means_small_reads(void)
{
	struct bench b = bench_new(0);
	size_t moved;

	arrive(&b, 50000, 50000);
	b.room.held = 64 * 1024 * 1024;
	CHECK_EQ_INT(move(&b, &moved), FLOW_FINE);
	CHECK_EQ_INT(moved, 4096);
	b.room.held = 0;
	bench_end(&b);
}

/* --- bulk --- */

static void test_bulk_is_spliced_byte_by_byte_the_same(void)
{
	static const struct {
		int buffer;
		size_t step;
		uint64_t total;
	} cases[] = {
	    {2 * SMALL_BUFFER + 1, 333, 300001}, {0, 1 << 20, 16 << 20},
	    {SMALL_BUFFER, 5000, 2 << 20},       {64 * 1024, 777, 1 << 20},
	    {0, 100000, (3 << 20) + 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bench b = bench_new(cases[i].buffer);

		CHECK_EQ_INT(run(&b, cases[i].total, cases[i].step), STREAM_ENDED);
		CHECK_EQ_INT(b.read, cases[i].total);
		CHECK_EQ_INT(b.flow.state, FLOW_ENDED);
		CHECK(pipes_count(b.room.pipes) > 0);
		bench_end(&b);
	}
}

static void test_bulk_without_a_pipe_is_copied(void)
{
	struct bench b = bench_new(0);

	pipes_free(b.room.pipes);
	b.room.pipes = pipes_new(0);
	CHECK_EQ_INT(run(&b, 4 << 20, 50000), STREAM_ENDED);
	CHECK_EQ_INT(b.read, 4 << 20);
	bench_end(&b);
}

static void test_one_call_has_a_limit(void)
{
	struct bench b = bench_new(0);
	size_t moved = 0;
	int big = 16 << 20;

	sockets_set(b.writer, SOL_SOCKET, SO_SNDBUFFORCE, big);
	sockets_set(b.from, SOL_SOCKET, SO_RCVBUFFORCE, big);
	sockets_set(b.to, SOL_SOCKET, SO_SNDBUFFORCE, big);
	sockets_set(b.reader, SOL_SOCKET, SO_RCVBUFFORCE, big);
	arrive(&b, 4 << 20, 4 << 20);
	CHECK_EQ_INT(move(&b, &moved), FLOW_FINE);
	CHECK(moved >= 1 << 20);
	CHECK(moved < (1 << 20) + (512 << 10));
	bench_end(&b);
}

static void test_a_pipe_with_a_rest_is_never_pooled(void)
{
	struct bench b = bench_new(SMALL_BUFFER);
	size_t moved;
	struct pipe *pipe;

	for (int i = 0; i < 1000 && b.flow.pipe == NULL; i++) {
		CHECK(stream_write(b.writer, &b.written, 8 << 20));
		CHECK_EQ_INT(move(&b, &moved), FLOW_FINE);
		if (b.flow.held != NULL)
			CHECK_EQ_INT(stream_read(b.reader, &b.read, 10000), STREAM_GOES_ON);
	}
	CHECK(b.flow.pipe != NULL && b.flow.pipe->bytes > 0);
	flow_fini(&b.flow, &b.room);
	CHECK_EQ_INT(pipes_count(b.room.pipes), 0);
	pipe = pipes_get(b.room.pipes);
	CHECK_EQ_INT(sockets_unread(pipe->read_fd), 0);
	pipes_put(b.room.pipes, pipe);
	bench_end(&b);
}

/* Out-of-band data stops splice(2) and recv(2) at its mark. */
static void test_an_urgent_byte_stops_nothing(void)
{
	struct bench b = bench_new(0);
	size_t moved, all = 0;

	arrive(&b, 100000, 100000);
	b.flow.bulk = true;
	CHECK_EQ_INT(send(b.writer, "!", 1, MSG_OOB), 1);
	CHECK(stream_write(b.writer, &b.written, 102000));
	for (int i = 0; i < 1000 && all < 102000; i++) {
		CHECK(sockets_wait(b.from, POLLIN));
		CHECK_EQ_INT(move(&b, &moved), FLOW_FINE);
		all += moved;
	}
	CHECK_EQ_INT(stream_read(b.reader, &b.read, 200000), STREAM_GOES_ON);
	CHECK_EQ_INT(b.read, 102000);
	bench_end(&b);
}

/* --- ends --- */

static void test_the_end_comes_behind_the_last_byte(void)
{
	struct bench b = bench_new(SMALL_BUFFER);
	size_t moved;

	arrive(&b, 40000, 40000);
	(void) shutdown(b.writer, SHUT_WR);
	CHECK_EQ_INT(move(&b, &moved), FLOW_FINE);
	CHECK(flow_is_pending(&b.flow));
	CHECK(!is_over(&b));
	CHECK_EQ_INT(run(&b, 40000, 900), STREAM_ENDED);
	CHECK_EQ_INT(b.read, 40000);
	CHECK_EQ_INT(b.flow.state, FLOW_ENDED);
	CHECK_EQ_INT(move(&b, &moved), FLOW_FINE);
	bench_end(&b);
}

/* What a source says before it breaks is passed on; only then the flow is over. */
static void test_a_source_breaks(void)
{
	static const struct {
		size_t bytes;
		int buffer;
	} cases[] = {{0, 0}, {1000, 0}, {60000, SMALL_BUFFER}, {300000, SMALL_BUFFER}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bench b = bench_new(cases[i].buffer);
		unsigned told = 0;
		size_t moved;

		sockets_set(b.from, SOL_SOCKET, SO_RCVBUFFORCE, 4 << 20);
		arrive(&b, cases[i].bytes, cases[i].bytes);
		sockets_reset(b.writer);
		b.writer = -1;
		for (int k = 0; k < 100000 && !is_over(&b); k++) {
			enum flow_break broke = move(&b, &moved);

			CHECK(broke == FLOW_FINE || broke == FLOW_SOURCE_BROKE);
			told += broke != FLOW_FINE;
			CHECK_EQ_INT(stream_read(b.reader, &b.read, 3000), STREAM_GOES_ON);
		}
		CHECK_EQ_INT(told, 1);
		CHECK_EQ_INT(b.flow.state, FLOW_BROKEN);
		/* The sink's kernel hands the last of it over as the reader makes room. */
		while (b.read < cases[i].bytes && sockets_wait(b.reader, POLLIN))
			CHECK_EQ_INT(stream_read(b.reader, &b.read, 100000), STREAM_GOES_ON);
		CHECK_EQ_INT(b.read, cases[i].bytes);
		bench_end(&b);
	}
}

/* What a sink says before it breaks is still read; and then its end is found. */
static void test_a_sink_breaks(void)
{
	static const bool in_a_pipe[] = {false, true};

	for (size_t i = 0; i < ARRAY_SIZE(in_a_pipe); i++) {
		struct bench b = bench_new(in_a_pipe[i] ? SMALL_BUFFER : 0);
		struct flow back = {0};
		uint64_t said = 0, heard = 0;
		size_t moved;

		for (int k = 0; in_a_pipe[i] && k < 1000 && b.flow.pipe == NULL; k++) {
			CHECK(stream_write(b.writer, &b.written, 8 << 20));
			CHECK_EQ_INT(move(&b, &moved), FLOW_FINE);
			if (b.flow.held != NULL)
				CHECK_EQ_INT(stream_read(b.reader, &b.read, 10000), STREAM_GOES_ON);
		}
		CHECK(stream_write(b.reader, &said, 500));
		CHECK(sockets_wait(b.to, POLLIN));
		sockets_reset(b.reader);
		b.reader = -1;
		CHECK(stream_write(b.writer, &b.written, b.written + 10));
		CHECK(sockets_wait(b.from, POLLIN));
		/* The first send finds it, and says so once. */
		CHECK_EQ_INT(move(&b, &moved), FLOW_SINK_BROKE);
		CHECK_EQ_INT(b.flow.state, FLOW_BROKEN);
		CHECK(!flow_is_pending(&b.flow));
		CHECK_EQ_INT(move(&b, &moved), FLOW_FINE);

		/* The send has taken the error: what is left of it looks like an end in order. */
		back.cut = true;
		CHECK_EQ_INT(flow_move(&back, &b.room, b.to, b.from, true, &moved), FLOW_FINE);
		CHECK_EQ_INT(moved, 500);
		CHECK_EQ_INT(flow_move(&back, &b.room, b.to, b.from, true, &moved), FLOW_SOURCE_BROKE);
		CHECK_EQ_INT(back.state, FLOW_BREAKING);
		CHECK(flow_is_done(&back));
		CHECK(sockets_wait(b.writer, POLLIN));
		CHECK_EQ_INT(stream_read(b.writer, &heard, 500), STREAM_GOES_ON);
		CHECK_EQ_INT(heard, 500);
		bench_end(&b);
	}
}

/* A sink may take nothing more and still be there: then the other direction must not wait for it.
 */
static void test_a_sink_takes_no_more(void)
{
	struct bench b = bench_new(0);
	struct flow back = {0};
	size_t moved;

	(void) shutdown(b.to, SHUT_WR);
	arrive(&b, 10, 10);
	CHECK_EQ_INT(move(&b, &moved), FLOW_SINK_BROKE);
	CHECK_EQ_INT(b.flow.state, FLOW_BROKEN);
	CHECK_EQ_INT(flow_move(&back, &b.room, b.to, b.from, true, &moved), FLOW_FINE);
	CHECK_EQ_INT(back.state, FLOW_ENDING);
	CHECK(flow_is_done(&back));
	bench_end(&b);
}

static void test_break_gives_up_what_is_pending(void)
{
	struct bench b = bench_new(SMALL_BUFFER);
	size_t moved;

	arrive(&b, 40000, 40000);
	CHECK_EQ_INT(move(&b, &moved), FLOW_FINE);
	CHECK(flow_is_pending(&b.flow));
	flow_break(&b.flow, &b.room);
	CHECK(!flow_is_pending(&b.flow));
	CHECK_EQ_INT(b.flow.state, FLOW_BROKEN);
	flow_break(&b.flow, &b.room);
	bench_end(&b);
}

int main(void)
{
	(void) signal(SIGPIPE, SIG_IGN);
	test_the_buffer_is_memory_as_far_as_it_was_filled();
	test_small_data_passes_at_once();
	test_what_is_not_taken_is_held();
	test_plenty_of_held_bytes_means_small_reads();
	test_bulk_is_spliced_byte_by_byte_the_same();
	test_bulk_without_a_pipe_is_copied();
	test_one_call_has_a_limit();
	test_a_pipe_with_a_rest_is_never_pooled();
	test_an_urgent_byte_stops_nothing();
	test_the_end_comes_behind_the_last_byte();
	test_a_source_breaks();
	test_a_sink_breaks();
	test_a_sink_takes_no_more();
	test_break_gives_up_what_is_pending();
	return check_result();
}
