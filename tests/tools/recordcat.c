/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints a record for the stories: recordcat DIRECTORY. A line for each segment, in the order of
 * their names, `segment NAME begins|continues`, for each change `put|delete REVISION TIME_US KEY`,
 * and for each other frame `KIND REVISION TIME_US`; `end` and `open`, `torn` or `damaged` behind
 * each.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "etcdwatch/record/segment.h"

static void print_frame(const struct record_frame *frame)
{
	static const char *const kinds[] = {
	    [RECORD_EVENTS] = "events", [RECORD_PROGRESS] = "progress",   [RECORD_LEASE] = "lease",
	    [RECORD_HASH] = "hash",     [RECORD_COMPACTED] = "compacted", [RECORD_GAP] = "gap",
	    [RECORD_END] = "end",
	};

	if (frame->type != RECORD_EVENTS)
		(void) printf("%s %" PRId64 " %" PRId64 "\n", kinds[frame->type], frame->revision,
		              frame->wall_us);
	for (size_t i = 0; i < frame->n_events; i++)
		(void) printf("%s %" PRId64 " %" PRId64 " %.*s\n",
		              frame->events[i].is_delete ? "delete" : "put", frame->revision,
		              frame->wall_us, (int) frame->events[i].key.len,
		              (const char *) frame->events[i].key.data);
}

static void print_segment(const char *path, const char *name)
{
	AUTO(record_reader_free) struct record_reader *reader = NULL;
	char fault[RECORD_FAULT_MAX];
	struct record_frame frame;
	int r = record_reader_open(path, &reader, fault);

	if (r < 0) {
		(void) printf("%s %s\n", r == -ENODATA ? "torn" : "damaged", fault);
		return;
	}
	(void) printf("segment %s %s\n", name,
	              record_begins_chain(record_reader_header(reader)) ? "begins" : "continues");
	while ((r = record_reader_next(reader, &frame)) > 0)
		print_frame(&frame);
	if (r < 0)
		(void) printf("damaged %s\n", record_reader_fault(reader));
	else if (record_reader_tail(reader) != RECORD_TAIL_CLOSED)
		(void) puts(record_reader_tail(reader) == RECORD_TAIL_OPEN ? "open" : "torn");
}

int main(int argc, char **argv)
{
	struct dirent **names = NULL;
	int n = argc == 2 ? scandir(argv[1], &names, NULL, alphasort) : -1;

	if (n < 0) {
		perror("recordcat DIRECTORY");
		return EXIT_FAILURE;
	}
	for (int i = 0; i < n; i++) {
		AUTO(free) char *path = xasprintf("%s/%s", argv[1], names[i]->d_name);
		struct record_header header;

		if (record_name_parse(names[i]->d_name, &header))
			print_segment(path, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	return EXIT_SUCCESS;
}
