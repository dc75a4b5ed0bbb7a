/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for what the CLI is answered by a daemon, in which there are names and
 * sentences of whoever writes to etcd, to a target, or on the LAN. The first byte says who shows
 * it. Whatever it is, it is refused or shown, and nothing is shown that a terminal acts on.
 * max_len: 16384
 */
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "cli/common/client.h"
#include "cli/common/cli.h"
#include "cli/snapshot/drill.h"
#include "cli/snapshot/jobs_render.h"
#include "cli/snapshot/usage.h"
#include "cli/status/board.h"
#include "cli/top/model.h"

DEFINE_AUTO(json_t, json_decref);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW_US INT64_C(1780000000000000)

typedef void (*render_fn)(FILE *out, const json_t *objects, int64_t wall_now_us);

static void show_drill(FILE *out, const json_t *objects, int64_t wall_now_us UNUSED)
{
	const json_t *object;
	size_t i;

	json_array_foreach(objects, i, object)
	{
		drill_render_phase(out, object);
		drill_render_result(out, object);
		drill_render_notes(out, object);
	}
}

static void show_usage(FILE *out, const json_t *objects, int64_t wall_now_us UNUSED)
{
	const json_t *snapshot = usage_find_newest(objects);

	if (snapshot == NULL)
		return;
	usage_render(out, snapshot);
	json_decref(usage_parts(snapshot));
}

static void show_net_change(FILE *out, const json_t *objects, int64_t wall_now_us)
{
	json_t *status = json_pack("[{s:O}]", "change", json_array_get(objects, 0));

	net_render_diff(out, objects, wall_now_us);
	net_render_status(out, status, wall_now_us);
	json_decref(status);
}

/* As if every question had been answered so. */
static void show_board(FILE *out, const json_t *objects, int64_t wall_now_us)
{
	struct client_answer answer = {.objects = (json_t *) (uintptr_t) objects, .fd = -1};
	struct node_reply replies[NODE_QUESTIONS];
	struct board board = {0};

	for (size_t i = 0; i < NODE_QUESTIONS; i++)
		replies[i] = (struct node_reply){.answer = &answer};
	board_fill(&board, replies, wall_now_us);
	board_print(out, &board, 80);
	json_decref(board_json(&board));
	board_fini(&board);
}

/* What `top` makes of it: first nothing was there, then this, then nothing again. */
static void show_events(FILE *out, const json_t *objects, int64_t wall_now_us)
{
	AUTO(json_decref) json_t *nothing = json_array();
	struct events events = {.n = 0};

	for (int q = 0; q < NODE_QUESTIONS; q++) {
		events_compare(&events, (enum node_question) q, NULL, objects, wall_now_us);
		events_compare(&events, (enum node_question) q, nothing, objects, wall_now_us);
		events_compare(&events, (enum node_question) q, objects, nothing, wall_now_us);
	}
	if (events.n > EVENTS_MAX)
		abort();
	(void) out;
	events_fini(&events);
}

static const render_fn renders[] = {
    vip_render_status,
    prism_render_status,
    health_render,
    cluster_render_members,
    cluster_render_status,
    cluster_render_alarms,
    notify_render_status,
    notify_render_test,
    record_render,
    net_render_status,
    etcdwatch_render_jobs,
    etcdwatch_render_list,
    etcdwatch_render_prune,
    show_usage,
    etcdwatch_render_deleted,
    show_net_change,
    etcdwatch_render_accepted,
    show_drill,
    show_board,
    show_events,
};

/* In UTF-8, the second control characters are two bytes: c2, and 80 to 9f. */
static void check_visible(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char) text[i];

		if ((c < 0x20 && c != '\n') || c == 0x7f ||
		    (c == 0xc2 && i + 1 < len && ((unsigned char) text[i + 1] & 0xe0) == 0x80))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	AUTO(free) char *text = NULL;
	AUTO(free) char *shown = NULL;
	size_t len;
	FILE *out;

	if (size == 0)
		return 0;
	text = xstrndup((const char *) data + 1, size - 1);
	if (client_parse_answer(text, &answer) < 0)
		return 0;
	if ((answer->error != NULL) != (answer->sentence != NULL) || answer->fd >= 0)
		abort();
	out = open_memstream(&shown, &len);
	renders[data[0] % ARRAY_SIZE(renders)](out, answer->objects, NOW_US);
	(void) fclose(out);
	check_visible(shown, len);
	return 0;
}
