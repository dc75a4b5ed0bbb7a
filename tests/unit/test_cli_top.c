/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `fairlead top` shows: whole screens of several sizes, characters and what each means, to the
 * cell (tests/screens; with an argument, "update", they are written anew); what is an event; what
 * of a daemon that does not answer is kept.
 */
#include "cli/top/layout.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/fileio.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/top/grid.h"
#include "tests/unit/check.h"

#define WALL_US (INT64_C(1767225600) * US_PER_S) /* 2026-01-01T00:00:00Z */
#define BEGAN_US (1000 * US_PER_S)

static bool is_update;

/* --- answers --- */

#define VIPS                                                                                       \
	"{\"vip\":\"10.0.0.5\",\"node\":\"n1\",\"state\":\"owner\",\"owner\":\"n1\",\"etcd_ok\":true," \
	"\"bound_ms\":3100,\"fence_window_ms\":3000,\"fence_left_ms\":2250,\"confirm_rtt_ms\":1.8,"    \
	"\"health\":\"good\",\"candidates\":[{\"node\":\"n1\"},{\"node\":\"n2\"}],\"last_move\":{"     \
	"\"from\":"                                                                                    \
	"\"n2\",\"to\":\"n1\",\"reason\":\"owner silent\",\"time\":\"2025-12-31T23:50:00Z\"}}\n"       \
	"{\"vip\":\"fd00::5\",\"node\":\"n1\",\"state\":\"standby\",\"owner\":\"n2\",\"etcd_ok\":"     \
	"true,"                                                                                        \
	"\"bound_ms\":3100,\"fence_window_ms\":3000,\"fence_left_ms\":null,\"health\":\"good\","       \
	"\"candidates\":[{},{}]}\n"
#define PRISM                                                                                  \
	"{\"usable\":2,\"upstreams\":3,\"connections\":12,\"max_connections\":30000,\"failed\":0," \
	"\"bytes_up\":1200000,\"bytes_down\":34000000,\"checks\":true,\"probing\":true}\n"         \
	"{\"upstream\":\"10.0.0.11:6443\",\"state\":\"ready\",\"usable\":true,\"since_s\":7200,"   \
	"\"rtt_ms\":%.1f,\"connections\":9}\n"                                                     \
	"{\"upstream\":\"10.0.0.12:6443\",\"state\":\"ready\",\"usable\":true,\"since_s\":7200,"   \
	"\"rtt_ms\":1.5,\"connections\":3}\n"                                                      \
	"{\"upstream\":\"10.0.0.13:6443\",\"state\":\"%s\",\"usable\":false,\"since_s\":90,"       \
	"\"rtt_ms\":null,\"reason\":\"refused\",\"connections\":0}\n"
#define HEALTH                                                                            \
	"{\"status\":\"warning\",\"members\":3,\"answer\":2}\n"                               \
	"{\"id\":\"member-down\",\"severity\":\"warning\",\"subject\":\"n3\",\"since_s\":"    \
	"1767225510,\"sentence\":\"n3 does not answer on any of its client URLs\",\"to_do\":" \
	"\"See whether its node and its etcd run.\"}\n"
#define MEMBERS                                                                            \
	"{\"node\":\"n1\",\"local\":true,\"leads\":true,\"db_bytes\":420000000,"               \
	"\"quota_bytes\":2147483648,\"raft_index\":90210,\"raft_applied_index\":90210,"        \
	"\"serves\":true,\"read_ms\":1.2,\"version\":\"3.5.16\"}\n"                            \
	"{\"node\":\"n2\",\"leads\":false,\"db_bytes\":1900000000,\"quota_bytes\":2147483648," \
	"\"raft_index\":90210,\"raft_applied_index\":90190,\"serves\":true,\"read_ms\":2.0}\n" \
	"{\"node\":\"n3\",\"error\":\"connection refused\"}\n"
#define ALARMS "{\"node\":\"n2\",\"alarm\":\"NOSPACE\"}\n"
#define JOBS                                                                                       \
	"{\"job\":\"hourly\",\"state\":\"taking\",\"taken_bytes\":150,\"taken_of_bytes\":200,"         \
	"\"last_good_age_s\":3500,\"snapshots\":24,\"targets\":[{\"target\":\"far\",\"state\":"        \
	"\"retrying\",\"pending\":2,\"error\":\"no route to host\"},{"                                 \
	"\"target\":\"near\",\"state\":\"sending\",\"pending\":1,\"sent_bytes\":30,\"sent_of_bytes\":" \
	"40,\"sent_bytes_per_s\":2}],\"drill\":{\"phase\":null,"                                       \
	"\"failed\":false,\"overdue\":false,\"last_good_age_s\":90000}}\n"
#define RECORD "{\"state\":\"recording\",\"recoverable_age_ms\":700,\"bytes\":12000000}\n"
#define NET                                                                                \
	"{\"change\":{\"id\":\"7f\",\"phase\":\"awaiting\",\"left_s\":42.0},\"blocked\":null," \
	"\"confirmed\":true,\"drift\":{\"state\":\"off\"},\"leases\":[{\"link\":\"eth1\","     \
	"\"family\":4,\"running\":true,\"addresses\":[\"192.0.2.7/24\"],\"left_s\":3000}]}\n"

static void take(struct model *model, enum node_question question, const char *lines,
                 int64_t after_us)
{
	AUTO(free) char *text = xasprintf("%sok\n", lines);
	struct client_answer *answer = NULL;

	if (CHECK_EQ_INT(client_parse_answer(text, &answer), 0))
		model_take(model, question, 0, answer, BEGAN_US + after_us, WALL_US + after_us);
}

static void take_prism(struct model *model, double rtt_ms, const char *third, int64_t after_us)
{
	AUTO(free) char *lines = xasprintf(PRISM, rtt_ms, third);

	take(model, NODE_PRISM, lines, after_us);
}

/* A node with this and that, after 40 s. */
static void fill(struct model *model)
{
	take(model, NODE_VIP, VIPS, 0);
	for (int i = 0; i < 40; i++)
		take_prism(model, 1 + i % 9, i < 20 ? "ready" : "down", i * US_PER_S);
	take(model, NODE_HEALTH, "{\"status\":\"ok\",\"members\":3,\"answer\":3}\n", 0);
	take(model, NODE_HEALTH, HEALTH, 30 * US_PER_S);
	take(model, NODE_MEMBERS, MEMBERS, 30 * US_PER_S);
	take(model, NODE_ALARMS, ALARMS, 30 * US_PER_S);
	take(model, NODE_JOBS, JOBS, 39 * US_PER_S);
	take(model, NODE_RECORD, RECORD, 39 * US_PER_S);
	take(model, NODE_NET, NET, 39 * US_PER_S);
	take(model, NODE_VIP, VIPS, 40 * US_PER_S);
	for (int i = NODE_VIP_PORT; i <= NODE_NET_PORT; i++)
		take(model, (enum node_question) i, "{\"metrics\":\"\",\"port\":null}\n", 39 * US_PER_S);
}

/* --- screens --- */

static void put_utf8(FILE *out, uint32_t c)
{
	if (c < 0x80) {
		(void) fputc((int) c, out);
		return;
	}
	if (c >= 0x800)
		(void) fputc((int) (0xe0 | c >> 12), out);
	(void) fputc((int) (c >= 0x800 ? 0x80 | (c >> 6 & 0x3f) : 0xc0 | c >> 6), out);
	(void) fputc((int) (0x80 | (c & 0x3f)), out);
}

/* What is on it, and below that what each cell means, a letter each; no blanks at the ends. */
static char *text_of(const struct grid *grid)
{
	static const char letters[] = " .sgwBTC";
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	for (int pass = 0; pass < 2; pass++) {
		for (size_t row = 0; row < grid_rows(grid); row++) {
			size_t pending = 0;

			for (size_t k = 0; k < grid_columns(grid); k++) {
				const struct grid_cell *cell = grid_at(grid, row, k);
				uint32_t c = pass == 0 ? cell->character : (uint32_t) letters[cell->ink];

				pending++;
				if (c == ' ')
					continue;
				(void) fprintf(out, "%*s", (int) pending - 1, "");
				put_utf8(out, c);
				pending = 0;
			}
			(void) fputc('\n', out);
		}
		(void) fputs(pass == 0 ? "---\n" : "", out);
	}
	(void) fclose(out);
	return text;
}

static void check_screen(const char *name, struct layout *layout, const struct model *model,
                         size_t rows, size_t columns)
{
	AUTO(free) char *path = xasprintf("tests/screens/%s.txt", name);
	AUTO(grid_free)
	struct grid *grid = layout_draw(layout, model, rows, columns, BEGAN_US + 41 * US_PER_S,
	                                WALL_US + 41 * US_PER_S);
	AUTO(free) char *got = text_of(grid);
	AUTO(free) char *want = NULL;
	size_t len;

	if (is_update) {
		FILE *out = fopen(path, "we");

		CHECK(out != NULL && fputs(got, out) >= 0 && fclose(out) == 0);
		return;
	}
	CHECK_EQ_INT(file_read(path, 1 << 20, &want, &len), 0);
	if (!CHECK(want != NULL && strcmp(got, want) == 0))
		(void) fprintf(stderr, "%s is\n%s", path, got);
}

static void test_screens(void)
{
	struct model model = {0};
	struct layout layout = {0};

	check_screen("asking", &layout, &model, 24, 80);
	fill(&model);
	check_screen("80x24", &layout, &model, 24, 80);
	layout.chosen = PANEL_ETCD;
	check_screen("120x40", &layout, &model, 40, 120);
	layout.is_ascii = true;
	check_screen("60x15", &layout, &model, 15, 60);
	layout.has_help = true;
	check_screen("help", &layout, &model, 15, 60);
	layout.has_help = false;
	layout.has_details = true;
	layout.scroll = SIZE_MAX / 2;
	check_screen("details", &layout, &model, 24, 80);
	layout.has_details = false;
	check_screen("small", &layout, &model, 14, 60);
	/* Two daemons are gone, and one hangs. */
	layout.is_paused = true;
	model_take(&model, NODE_PRISM, -ECONNREFUSED, NULL, BEGAN_US + 41 * US_PER_S,
	           WALL_US + 41 * US_PER_S);
	model_take(&model, NODE_NET, -ETIMEDOUT, NULL, BEGAN_US + 41 * US_PER_S,
	           WALL_US + 41 * US_PER_S);
	check_screen("stale", &layout, &model, 24, 80);
	model_fini(&model);
}

/* At any size something is drawn, and never beyond it; where there is room, all of it. */
static void test_sizes(void)
{
	struct model model = {0};
	struct layout layout = {0};

	fill(&model);
	for (size_t rows = 1; rows < 50; rows++) {
		for (size_t columns = 1; columns < 140; columns += 7) {
			AUTO(grid_free)
			struct grid *grid = layout_draw(&layout, &model, rows, columns, BEGAN_US, WALL_US);
			AUTO(free) char *text = text_of(grid);
			bool fits = rows >= LAYOUT_ROWS_MIN && columns >= LAYOUT_COLUMNS_MIN;

			CHECK_EQ_INT(grid_rows(grid), rows);
			CHECK_EQ_INT(grid_columns(grid), columns);
			for (size_t i = 0; i < PANELS && fits; i++)
				CHECK(strstr(text, panel_kinds[i].title) != NULL);
		}
	}
	model_fini(&model);
}

/* --- pieces --- */

static void check_row(const struct grid *grid, size_t row, const char *want)
{
	AUTO(free) char *text = text_of(grid);
	const char *line = text;

	for (size_t i = 0; i < row; i++)
		line = strchr(line, '\n') + 1;
	if (!CHECK(strncmp(line, want, strlen(want)) == 0 && line[strlen(want)] == '\n'))
		(void) fprintf(stderr, "  %.*s, want\n  %s\n", (int) strcspn(line, "\n"), line, want);
}

static void test_text(void)
{
	AUTO(grid_free) struct grid *grid = grid_new(1, 12);

	/* Escapes, what joins or is wide, broken UTF-8: one cell each. */
	(void) grid_put(grid, 0, 0, GRID_PLAIN, "a\033b\302\233c\u00e9d\u4e2de\377f and more");
	check_row(grid, 0, "a?b?c\u00e9d?e?f");
	grid_add_text(grid, 2, GRID_PLAIN, "words and longerthantherow");
	check_row(grid, 1, "  words and");
	check_row(grid, 2, "  longerthan");
}

static void test_graphs(void)
{
	static const struct {
		double part;
		const char *bar, *ascii;
	} bars[] = {
	    {0, "\u2591\u2591", "--"},       {1, "\u2588\u2588", "##"},
	    {2, "\u2588\u2588", "##"},       {-1, "\u2591\u2591", "--"},
	    {0.5, "\u2588\u2591", "#-"},     {0.25, "\u258c\u2591", "#-"},
	    {1. / 16, "\u258f\u2591", "--"}, {15. / 16, "\u2588\u2589", "##"},
	};
	static const double samples[] = {100, -1, 0, 4, 8};

	for (size_t i = 0; i < ARRAY_SIZE(bars); i++) {
		AUTO(grid_free) struct grid *grid = grid_new(2, 2);

		CHECK_EQ_INT(graph_bar(grid, 0, 0, 2, bars[i].part, GRID_GOOD, false), 2);
		(void) graph_bar(grid, 1, 0, 2, bars[i].part, GRID_GOOD, true);
		check_row(grid, 0, bars[i].bar);
		check_row(grid, 1, bars[i].ascii);
	}
	for (size_t width = 0; width < 8; width += 4) {
		AUTO(grid_free) struct grid *grid = grid_new(2, 8);

		CHECK_EQ_INT(graph_spark(grid, 0, 1, width, samples, 5, GRID_PLAIN, false), 1 + width);
		(void) graph_spark(grid, 1, 1, width, samples, 5, GRID_PLAIN, true);
		/* The highest that is shown, not the one before, is the measure. */
		check_row(grid, 0, width == 0 ? "" : "  \u2581\u2585\u2588");
		check_row(grid, 1, width == 0 ? "" : "  _=#");
	}
}

/* --- events --- */

static const struct {
	enum node_question question;
	const char *before, *now;
	enum board_level level;
	const char *text; /* NULL: nothing has happened */
} changes[] = {
    {NODE_VIP, "{\"vip\":\"v\",\"owner\":\"n1\"}\n", "{\"vip\":\"v\",\"owner\":null}\n",
     BOARD_FAILED, "vip v: owner: n1 -> none"},
    {NODE_VIP, "{\"vip\":\"v\",\"hold\":false}\n", "{\"vip\":\"v\",\"hold\":true}\n", BOARD_OK,
     "vip v: hold: no -> yes"},
    {NODE_VIP, "{\"vip\":\"v\",\"epoch\":1}\n", "{\"vip\":\"v\",\"epoch\":2}\n", BOARD_OK, NULL},
    {NODE_PRISM, "{}\n{\"upstream\":\"a\",\"state\":\"ready\"}\n",
     "{}\n{\"upstream\":\"a\",\"state\":\"hung\"}\n", BOARD_WARNED,
     "prism a: state: ready -> hung"},
    {NODE_PRISM, "{}\n", "{}\n{\"upstream\":\"a\",\"state\":\"hung\"}\n", BOARD_OK,
     "prism a: a new upstream"},
    {NODE_PRISM, "{}\n{\"upstream\":\"a\"}\n", "{}\n", BOARD_OK, "prism a: no longer an upstream"},
    {NODE_MEMBERS, "{\"node\":\"n1\"}\n", "{\"node\":\"n1\",\"error\":\"refused\"}\n", BOARD_WARNED,
     "etcd n1: error: none -> refused"},
    {NODE_HEALTH, "{}\n",
     "{}\n{\"id\":\"no-space\",\"severity\":\"critical\",\"sentence\":\"s\"}\n", BOARD_FAILED,
     "etcd: no-space: s"},
    {NODE_HEALTH, "{}\n{\"id\":\"no-space\"}\n", "{}\n", BOARD_OK, "etcd: no-space is over"},
    {NODE_HEALTH, "{}\n{\"id\":\"x\",\"subject\":\"n1\"}\n",
     "{}\n{\"id\":\"x\",\"subject\":\"n1\"}\n", BOARD_OK, NULL},
    {NODE_JOBS, "{\"job\":\"j\",\"drill\":{\"failed\":false}}\n",
     "{\"job\":\"j\",\"drill\":{\"failed\":true}}\n", BOARD_FAILED,
     "snapshot j: drill failed: no -> yes"},
    {NODE_NET, "{\"change\":null}\n", "{\"change\":{\"phase\":\"awaiting\"}}\n", BOARD_OK,
     "network: change phase: none -> awaiting"},
    {NODE_NET, NULL, "{\"last\":{\"id\":\"7\",\"how\":\"rolled-back\",\"reason\":\"r\"}}\n",
     BOARD_WARNED, "network: change 7: rolled-back r"},
};

static void test_events(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		struct model model = {0};
		size_t had;

		if (changes[i].before != NULL)
			take(&model, changes[i].question, changes[i].before, 0);
		had = model.events.n;
		take(&model, changes[i].question, changes[i].now, US_PER_S);
		if (!CHECK_EQ_INT(model.events.n, had + (changes[i].text != NULL ? 1 : 0)) ||
		    (changes[i].text != NULL &&
		     (!CHECK_EQ_STR(model.events.items[0].text, changes[i].text) ||
		      !CHECK_EQ_INT(model.events.items[0].level, changes[i].level))))
			(void) fprintf(stderr, "  row %zu\n", i);
		model_fini(&model);
	}
}

static void test_many_events(void)
{
	struct events events = {0};

	for (int i = 0; i < EVENTS_MAX + 10; i++)
		events_add(&events, 1000 + i, BOARD_OK, "event %d", i);
	events_add(&events, 5, BOARD_OK, "from before");
	CHECK_EQ_INT(events.n, EVENTS_MAX);
	CHECK_EQ_STR(events.items[0].text, "from before");
	CHECK_EQ_STR(events.items[1].text, "event 11");
	events_fini(&events);
}

/* A daemon that goes and comes is two events, however often it is asked meanwhile. */
static void test_stale(void)
{
	struct model model = {0};

	take(&model, NODE_VIP, VIPS, 0);
	CHECK_EQ_INT(model.events.n, 1); /* the move that it knows of */
	CHECK(!model_is_stale(&model, NODE_VIP));
	for (int i = 0; i < 3; i++)
		model_take(&model, NODE_VIP, -ETIMEDOUT, NULL, BEGAN_US + US_PER_S, WALL_US + US_PER_S);
	CHECK(model_is_stale(&model, NODE_VIP));
	CHECK(model_objects(&model, NODE_VIP) != NULL);
	CHECK_EQ_STR(model_trouble(&model, NODE_VIP), "does not answer");
	take(&model, NODE_VIP, VIPS, 2 * US_PER_S);
	CHECK(!model_is_stale(&model, NODE_VIP));
	CHECK_EQ_INT(model.events.n, 3);
	CHECK_EQ_STR(model.events.items[1].text, "vipd: does not answer");
	CHECK_EQ_STR(model.events.items[2].text, "vipd: answers again");
	model_fini(&model);
}

/* The title of a panel and what its first row looks like. */
static void check_title(const struct model *model, const char *title, bool is_dim)
{
	struct layout layout = {.chosen = PANEL_ETCD, .has_details = true, .is_ascii = true};
	AUTO(grid_free)
	struct grid *grid = layout_draw(&layout, model, 40, 80, BEGAN_US + 9 * US_PER_S, WALL_US);
	AUTO(free) char *text = text_of(grid);

	if (!CHECK(strstr(text, title) != NULL))
		(void) fprintf(stderr, "  no '%s' in\n%s", title, text);
	CHECK((grid_at(grid, 2, 1)->ink == GRID_DIM) == is_dim);
}

static void take_error(struct model *model, enum node_question question, const char *status)
{
	struct client_answer *answer = NULL;

	if (CHECK_EQ_INT(client_parse_answer(status, &answer), 0))
		model_take(model, question, 0, answer, BEGAN_US + 5 * US_PER_S, WALL_US);
}

/* Members that are not told any more are old, though the watchdog still answers. */
static void test_stale_members(void)
{
	struct model model = {0};

	take(&model, NODE_HEALTH, "{\"status\":\"ok\",\"members\":3,\"answer\":3}\n", 0);
	take_error(&model, NODE_MEMBERS, "error failed nobody answers\n");
	check_title(&model, " etcd -etcdwatch nobody answers -", false);
	take(&model, NODE_MEMBERS, MEMBERS, 0);
	take(&model, NODE_ALARMS, "", 0);
	check_title(&model, " etcd ---", false);
	take_error(&model, NODE_MEMBERS, "error failed nobody answers\n");
	check_title(&model, " etcd -etcdwatch nobody answers; this is 9s old -", true);
	model_fini(&model);
}

/* A panel alone says how much of it is below the screen, wherever it is scrolled to. */
static void test_more_below(void)
{
	static const struct {
		size_t rows, scroll, scrolled;
		const char *title;
	} cases[] = {
	    {24, 0, 0, " etcd  9 more -"},      {24, 1, 1, " etcd  8 more -"},  {24, 9, 9, " etcd ---"},
	    {24, SIZE_MAX / 2, 9, " etcd ---"}, {15, 0, 0, " etcd  18 more -"}, {33, 0, 0, " etcd ---"},
	    {32, 0, 0, " etcd  1 more -"},
	};
	struct model model = {0};

	take(&model, NODE_HEALTH, "{\"status\":\"ok\",\"members\":3,\"answer\":3}\n", 0);
	take(&model, NODE_MEMBERS, MEMBERS, 0);
	take(&model, NODE_ALARMS, "", 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct layout layout = {
		    .chosen = PANEL_ETCD, .has_details = true, .is_ascii = true, .scroll = cases[i].scroll};
		AUTO(grid_free)
		struct grid *grid = layout_draw(&layout, &model, cases[i].rows, 80, BEGAN_US, WALL_US);
		AUTO(free) char *text = text_of(grid);

		if (!CHECK(strstr(text, cases[i].title) != NULL))
			(void) fprintf(stderr, "  no '%s' in\n%s", cases[i].title, text);
		CHECK_EQ_INT(layout.scroll, cases[i].scrolled);
	}
	model_fini(&model);
}

/* What is no longer configured is neither old nor missing. */
static void test_none(void)
{
	struct model model = {0};

	take(&model, NODE_RECORD, RECORD, 0);
	take_error(&model, NODE_RECORD, "error failed no disk\n");
	CHECK(model_is_stale(&model, NODE_RECORD));
	take_error(&model, NODE_RECORD, "error notfound nothing is recorded\n");
	CHECK(!model_is_stale(&model, NODE_RECORD));
	CHECK(!model_is_missing(&model, NODE_RECORD));
	CHECK(model_objects(&model, NODE_RECORD) == NULL);
	model_fini(&model);
}

int main(int argc, char **argv)
{
	is_update = argc > 1 && strcmp(argv[1], "update") == 0;
	(void) setenv("TZ", "UTC", 1);
	tzset();
	test_screens();
	test_sizes();
	test_text();
	test_graphs();
	test_events();
	test_many_events();
	test_stale();
	test_stale_members();
	test_more_below();
	test_none();
	return check_result();
}
