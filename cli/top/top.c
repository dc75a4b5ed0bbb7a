/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `fairlead top`: asks every daemon again and again, none of them more than once at a time, and
 * draws what is known ten times a second. All of it is on one loop; a daemon that hangs holds up
 * its own question and nothing else. Whatever ends it, the terminal is given back first.
 */
#include "cli/common/cli.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/client.h"
#include "cli/top/layout.h"
#include "cli/top/screen.h"

#define TIMEOUT_US (3 * US_PER_S)
#define DRAW_US (100 * US_PER_MS)
#define KEYS_MAX 64 /* typed at once; the rest has its turn */

struct top;

struct asker {
	struct top *top;
	enum node_question question;
	char *path;
	struct query *query; /* under way */
	ev_timer again;
};

struct top {
	struct loop *loop;
	struct screen *screen;
	struct model model;
	struct layout layout;
	struct asker askers[NODE_QUESTIONS];
	const char *units;                 /* node_units() */
	int64_t paused_us, paused_wall_us; /* the time that stands still */
	int signal;                        /* that ended it; 0: none */
	ev_io keys;
	ev_timer draw;
};

/* How long after an answer it is asked again. Those for which etcdwatch asks all members are rarer,
 * and so is what hardly ever changes. */
static const int64_t pauses_us[NODE_QUESTIONS] = {
    [NODE_VIP] = 500 * US_PER_MS,    [NODE_PRISM] = US_PER_S,
    [NODE_HEALTH] = 2 * US_PER_S,    [NODE_MEMBERS] = 5 * US_PER_S,
    [NODE_ALARMS] = 5 * US_PER_S,    [NODE_JOBS] = US_PER_S,
    [NODE_RECORD] = 2 * US_PER_S,    [NODE_NET] = US_PER_S,
    [NODE_VIP_PORT] = 5 * US_PER_S,  [NODE_PRISM_PORT] = 5 * US_PER_S,
    [NODE_ETCD_PORT] = 5 * US_PER_S, [NODE_NET_PORT] = 5 * US_PER_S,
};

/* --- asking --- */

static void answered_cb(int r, struct client_answer *answer, void *userdata)
{
	struct asker *asker = userdata;
	struct top *top = asker->top;

	asker->query = NULL;
	r = node_judge(r, node_questions[asker->question].daemon, top->units);
	model_take(&top->model, asker->question, r, answer, mono_now_us(), wall_now_us());
	ev_timer_set(&asker->again, mono_to_ev(pauses_us[asker->question]), 0);
	ev_timer_start(loop_ev(top->loop), &asker->again);
}

static void ask_cb(struct ev_loop *loop, ev_timer *timer, int events UNUSED)
{
	struct asker *asker = CONTAINER_OF(timer, struct asker, again);
	const struct node_asked *asked = &node_questions[asker->question];

	/* While it is paused the timer comes again. */
	if (asker->top->layout.is_paused) {
		ev_timer_set(timer, mono_to_ev(DRAW_US), 0);
		ev_timer_start(loop, timer);
		return;
	}
	asker->query = query_start(loop, asker->path, asked->words, asked->n_words, TIMEOUT_US,
	                           answered_cb, asker);
}

/* --- drawing --- */

static void draw(struct top *top)
{
	bool is_paused = top->layout.is_paused;
	AUTO(grid_free) struct grid *grid = NULL;
	size_t rows, columns;

	screen_size(top->screen, &rows, &columns);
	grid = layout_draw(&top->layout, &top->model, rows, columns,
	                   is_paused ? top->paused_us : mono_now_us(),
	                   is_paused ? top->paused_wall_us : wall_now_us());
	screen_show(top->screen, grid);
}

static void draw_cb(struct ev_loop *loop UNUSED, ev_timer *timer, int events UNUSED)
{
	draw(CONTAINER_OF(timer, struct top, draw));
}

/* --- keys and signals --- */

static void choose(struct layout *layout, size_t forward)
{
	layout->chosen = (enum panel)(((size_t) layout->chosen + forward) % PANELS);
}

static void scroll(struct layout *layout, enum screen_key key, size_t page)
{
	size_t up = key == SCREEN_UP ? 1 : key == SCREEN_PAGE_UP ? page : 0;

	if (key == SCREEN_HOME)
		layout->scroll = 0;
	else if (key == SCREEN_END)
		layout->scroll = SIZE_MAX / 2; /* the layout knows how much there is */
	else if (up > 0)
		layout->scroll -= MIN(up, layout->scroll);
	else
		layout->scroll += key == SCREEN_PAGE_DOWN ? page : 1;
}

static void move(struct layout *layout, enum screen_key key)
{
	if (layout->has_details || layout->has_help)
		scroll(layout, key, LAYOUT_ROWS_MIN);
	else if (key == SCREEN_UP)
		choose(layout, PANELS - 1);
	else if (key == SCREEN_DOWN)
		choose(layout, 1);
}

static void toggle_pause(struct top *top)
{
	top->layout.is_paused = !top->layout.is_paused;
	top->paused_us = mono_now_us();
	top->paused_wall_us = wall_now_us();
}

static void leave_or_enter(struct layout *layout, bool may_enter)
{
	bool is_in = layout->has_details || layout->has_help;

	layout->has_help = false;
	layout->has_details = !is_in && may_enter;
	layout->scroll = 0;
}

static void on_key(struct top *top, enum screen_key key)
{
	struct layout *layout = &top->layout;

	switch (key) {
	case SCREEN_NONE:
	case SCREEN_OTHER:
		return;
	case SCREEN_QUIT:
		loop_stop(top->loop, CLI_OK);
		return;
	case SCREEN_NEXT:
	case SCREEN_BEFORE:
		choose(layout, key == SCREEN_NEXT ? 1 : PANELS - 1);
		layout->scroll = 0;
		return;
	case SCREEN_UP:
	case SCREEN_DOWN:
	case SCREEN_PAGE_UP:
	case SCREEN_PAGE_DOWN:
	case SCREEN_HOME:
	case SCREEN_END:
		move(layout, key);
		return;
	case SCREEN_ENTER:
	case SCREEN_BACK:
		leave_or_enter(layout, key == SCREEN_ENTER);
		return;
	case SCREEN_PAUSE:
		toggle_pause(top);
		return;
	case SCREEN_REDRAW:
		screen_redraw(top->screen);
		return;
	case SCREEN_HELP:
		layout->has_help = !layout->has_help;
		layout->scroll = 0;
		return;
	}
}

static bool is_hung_up(void)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

static void keys_cb(struct ev_loop *loop UNUSED, ev_io *io, int events UNUSED)
{
	struct top *top = CONTAINER_OF(io, struct top, keys);
	size_t n = 0;
	enum screen_key key;

	while (n < KEYS_MAX && (key = screen_key(top->screen)) != SCREEN_NONE) {
		on_key(top, key);
		n++;
	}
	/* Something is to be read, and it is no key: the end of a terminal that is gone. */
	if (n == 0 && is_hung_up()) {
		loop_stop(top->loop, CLI_FAILED);
		return;
	}
	draw(top);
}

static void resized_cb(int signo UNUSED, void *userdata)
{
	struct top *top = userdata;

	draw(top);
}

static void end_cb(int signo, void *userdata)
{
	struct top *top = userdata;

	top->signal = signo;
	loop_stop(top->loop, CLI_OK);
}

/* --- from the beginning to the end --- */

static void start(struct top *top, const char *runtime_dir)
{
	static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct ev_loop *loop = loop_ev(top->loop);

	for (size_t i = 0; i < NODE_QUESTIONS; i++) {
		struct asker *asker = &top->askers[i];

		asker->top = top;
		asker->question = (enum node_question) i;
		asker->path = xasprintf("%s/%s.sock", runtime_dir, node_questions[i].daemon);
		ev_timer_init(&asker->again, ask_cb, 0, 0);
		ev_timer_start(loop, &asker->again);
	}
	for (size_t i = 0; i < ARRAY_SIZE(ending); i++)
		loop_on_signal(top->loop, ending[i], end_cb, top);
	loop_on_signal(top->loop, SIGWINCH, resized_cb, top);
	ev_io_init(&top->keys, keys_cb, STDIN_FILENO, EV_READ);
	ev_io_start(loop, &top->keys);
	ev_timer_init(&top->draw, draw_cb, 0, mono_to_ev(DRAW_US));
	ev_timer_start(loop, &top->draw);
}

static void stop(struct top *top)
{
	struct ev_loop *loop = loop_ev(top->loop);

	for (size_t i = 0; i < NODE_QUESTIONS; i++) {
		query_cancel(top->askers[i].query);
		ev_timer_stop(loop, &top->askers[i].again);
		free(top->askers[i].path);
	}
	ev_io_stop(loop, &top->keys);
	ev_timer_stop(loop, &top->draw);
	screen_free(top->screen);
	model_fini(&top->model);
}

int cli_top(const struct cli *cli, int argc UNUSED, char **argv UNUSED)
{
	AUTO(loop_free) struct loop *loop = NULL;
	struct top top = {0};
	int code, r;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		(void) fputs("fairlead: top is for a terminal; 'fairlead status' is for all others\n",
		             stderr);
		return CLI_FAILED;
	}
	r = loop_new(&loop);
	if (r < 0) {
		(void) fprintf(stderr, "fairlead: no event loop: %s\n", strerror(-r));
		return CLI_FAILED;
	}
	r = screen_new(color_is_wanted(cli->color, true, getenv("NO_COLOR"), getenv("TERM")),
	               &top.screen);
	if (r < 0) {
		(void) fprintf(stderr,
		               "fairlead: the terminal '%s' is not known, or cannot do it: TERM=vt100 fits "
		               "most\n",
		               getenv("TERM") != NULL ? getenv("TERM") : "");
		return CLI_FAILED;
	}
	top.loop = loop;
	top.units = node_units(cli->runtime_dir);
	top.layout.is_ascii = screen_is_ascii(top.screen);
	start(&top, cli->runtime_dir);
	code = loop_run(loop);
	stop(&top);
	/* Whoever sent it sees that it was this which ended the program. */
	if (top.signal != 0 && top.signal != SIGINT) {
		(void) signal(top.signal, SIG_DFL);
		(void) raise(top.signal);
	}
	return code;
}
