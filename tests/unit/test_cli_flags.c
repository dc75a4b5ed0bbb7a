/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every flag and every optional text of an answer changes what is printed: each sample is printed
 * again with one boolean turned over, or one text null. What a renderer leaves out is listed with
 * its sample, and is an error once it is shown. The word "warning: " does not count: a sentence
 * that stands there for both values says nothing, with or without it.
 */
#include "cli/common/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/restore/restoreoptions.h"
#include "cli/snapshot/drill.h"
#include "cli/snapshot/jobs_render.h"
#include "cli/status/board.h"
#include "tests/unit/check.h"

#define NOW_US (INT64_C(1767225600) * US_PER_S) /* 2026-01-01T00:00:00Z */
#define WIDTH 80

/* --- renderers of one object, and the parts of `status` --- */

static void render_drill(FILE *out, const json_t *objects, int64_t now_us UNUSED)
{
	drill_render_result(out, json_array_get(objects, 0));
}

static void render_rebuilt(FILE *out, const json_t *objects, int64_t now_us UNUSED)
{
	restorerebuild_print(out, json_array_get(objects, 0));
}

static void render_histories(FILE *out, const json_t *objects, int64_t now_us UNUSED)
{
	restorerebuild_print_histories(out, objects);
}

static void print_board(FILE *out, struct board *board)
{
	board_print(out, board, WIDTH);
	board_fini(board);
}

static void board_of_vip(FILE *out, const json_t *objects, int64_t now_us UNUSED)
{
	struct board board = {0};

	board_vip(&board, objects);
	print_board(out, &board);
}

static void board_of_prism(FILE *out, const json_t *objects, int64_t now_us UNUSED)
{
	struct board board = {0};

	board_prism(&board, objects);
	print_board(out, &board);
}

static void board_of_members(FILE *out, const json_t *objects, int64_t now_us)
{
	struct board board = {0};
	json_t *health = json_loads("[{\"members\":1,\"answer\":1}]", 0, NULL);

	board_etcd(&board, health, objects, NULL, now_us);
	json_decref(health);
	print_board(out, &board);
}

static void board_of_jobs(FILE *out, const json_t *objects, int64_t now_us UNUSED)
{
	struct board board = {0};

	board_snapshots(&board, objects, NULL);
	print_board(out, &board);
}

static void board_of_record(FILE *out, const json_t *objects, int64_t now_us UNUSED)
{
	struct board board = {0};

	board_record(&board, objects);
	print_board(out, &board);
}

static void board_of_net(FILE *out, const json_t *objects, int64_t now_us UNUSED)
{
	struct board board = {0};

	board_net(&board, objects);
	print_board(out, &board);
}

/* --- the samples, with all flags of docs/control.md --- */

#define MEMBERS                                                                                 \
	"[{\"node\":\"cp1\",\"members\":[{\"id\":\"a1\",\"hostname\":\"cp1\",\"learner\":false}]}," \
	"{\"node\":\"cp2\",\"error\":\"no route\"}]"

#define STATUS                                                                                 \
	"[{\"node\":\"cp1\",\"member\":\"a1\",\"learner\":false,\"local\":true,\"leads\":true,"    \
	"\"leader\":\"a1\",\"version\":\"3.6.0\",\"storage_version\":\"3.6\",\"errors\":\"full\"," \
	"\"serves\":false,\"serves_error\":\"no quorum\"},"                                        \
	"{\"node\":\"cp2\",\"member\":\"a2\",\"error\":\"no route\"}]"

#define HEALTH                                                                  \
	"[{\"status\":\"ok\",\"members\":3,\"answer\":3,\"compared_s\":1767220000," \
	"\"compared_same\":true},"                                                  \
	"{\"id\":\"disk-slow\",\"severity\":\"warning\",\"sentence\":\"slow\",\"to_do\":\"look\"}]"

#define RECORD                                                                                   \
	"[{\"state\":\"recording\",\"directory\":\"/r\",\"error\":\"disk full\",\"member\":\"cp1\"," \
	"\"recoverable_until\":\"2026-01-01T00:00:00Z\",\"since\":\"2025-12-31T00:00:00Z\","         \
	"\"more_than_max_size\":false,\"gaps\":1,\"last_gap\":{\"first_revision\":7,"                \
	"\"at\":\"2025-12-31T12:00:00Z\",\"reason\":\"compacted\"},"                                 \
	"\"removed_unsent\":2,\"targets\":[{\"job\":\"hourly\",\"target\":\"s3\","                   \
	"\"state\":\"idle\",\"last_revision\":9,"                                                    \
	"\"recoverable_until\":\"2026-01-01T00:00:00Z\",\"recoverable_age_ms\":9000,"                \
	"\"is_late\":false,"                                                                         \
	"\"uploaded_bytes\":9000,\"error\":\"timeout\",\"error_at\":\"2026-01-01T00:00:00Z\","       \
	"\"not_uploaded\":\"'x.rec' has no end\"}]}]"

#define NOTIFY                                                                                   \
	"[{\"to\":\"https://hook\",\"state\":\"waiting\",\"delivered_at\":\"2026-01-01T00:00:00Z\"," \
	"\"error\":\"refused\",\"error_at\":\"2026-01-01T00:00:00Z\"}]"

#define JOBS                                                                               \
	"[{\"job\":\"hourly\",\"state\":\"idle\",\"period_done\":false,\"next_due_s\":-1,"     \
	"\"done_by\":\"n2\",\"error\":\"disk\",\"frozen\":\"smaller\",\"odd_first\":\"x.db\"," \
	"\"targets\":[{\"target\":\"s3\",\"state\":\"idle\",\"error\":\"timeout\","            \
	"\"frozen\":\"few\"}],"                                                                \
	"\"drill\":{\"failed\":true,\"overdue\":false,\"alarm\":true,\"reason\":\"HashKV\"}}]"

#define SNAPSHOTS                                                                     \
	"[{\"id\":\"a\",\"verified\":{\"digest\":true,\"tree\":true,\"hashkv\":\"n2\"}}," \
	"{\"target\":\"s3\",\"error\":\"timeout\"}]"

#define PRUNED                                                                                   \
	"[{\"job\":\"hourly\",\"where\":\"s3\",\"id\":\"a\",\"goes\":false,\"kept_for\":\"daily\"}," \
	"{\"job\":\"hourly\",\"where\":\"local\",\"frozen\":\"smaller\"}]"

#define DRILL "[{\"checks\":[{\"check\":\"keys\",\"ok\":true}],\"versions\":{\"etcd\":\"3.6.0\"}}]"

#define NET                                                                                   \
	"[{\"change\":null,\"blocked\":null,\"preparing\":false,\"confirmed\":false,"             \
	"\"drift\":{\"state\":\"differs\",\"first\":\"add\",\"duplicate\":\"fd00::1 eth0\","      \
	"\"left_alone\":[{\"step\":\"set eth0 up\",\"by\":\"pid 7 (other)\"}]},"                  \
	"\"leases\":[{\"link\":\"eth0\",\"family\":4,\"running\":true,\"server\":\"10.0.0.1\"}]," \
	"\"last\":{\"how\":\"rolled-back\",\"reason\":\"no gateway\",\"left_undone\":\"mtu\"}}]"

#define HISTORY                                                                                   \
	"{\"history\":2,\"cluster_id\":\"c1\",\"first\":101,\"last\":300,"                            \
	"\"from\":\"2025-12-31T22:00:00Z\",\"until\":\"2025-12-31T23:00:00Z\",\"segment\":\"a.rec\"," \
	"\"base\":\"20251231T220000Z-hourly-n1-r120\"}"

#define REBUILT                                                                                   \
	"[{\"file\":\"/var/lib/etcd.rebuilt.db\",\"revision\":170,\"time\":\"2025-12-31T22:30:00Z\"," \
	"\"base\":{\"origin\":\"a.db\",\"revision\":120},\"history\":" HISTORY ",\"histories\":2,"    \
	"\"record\":{\"last\":300,\"until\":\"2025-12-31T23:00:00Z\"},\"events\":50}]"

#define STEPS                                                                                \
	"[{\"op\":\"address add\",\"class\":\"add\"},{\"note\":\"slow\"},{\"error\":\"wrong\"}," \
	"{\"obstacle\":\"eth9\",\"at\":\"a.yaml:1\",\"reason\":\"no link\"}]"

#define PRISM                                                                               \
	"[{\"listeners\":[{\"endpoint\":\"127.0.0.1:7445\",\"open\":true}],\"accepting\":true," \
	"\"checks\":true,\"probing\":true,\"usable\":1,"                                        \
	"\"sources\":[{\"source\":\"dns\",\"error\":\"no answer\"}]},"                          \
	"{\"upstream\":\"10.0.0.1:6443\",\"state\":\"not_ready\",\"reason\":\"starts\","        \
	"\"usable\":true,\"drained\":false,\"local\":true}]"

#define PRISM_UNCHECKED                                                       \
	"[{\"accepting\":true,\"checks\":false,\"probing\":false,\"usable\":1},"  \
	"{\"upstream\":\"10.0.0.1:6443\",\"state\":\"unknown\",\"usable\":false," \
	"\"drained\":false}]"

#define VIP                                                                                    \
	"[{\"vip\":\"10.0.0.5\",\"link\":\"eth0\",\"link_problem\":\"no subnet\",\"node\":\"n1\"," \
	"\"state\":\"down\",\"reason\":\"link missing\",\"owner\":\"n2\",\"health\":\"bad\","      \
	"\"health_reason\":\"readyz 500\",\"hold\":false,\"etcd_leader\":false,"                   \
	"\"etcd_endpoint\":\"https://127.0.0.1:2379\",\"etcd_ok\":false,\"in_use\":false,"         \
	"\"foreign_mac\":\"02:00:00:00:00:01\",\"foreign_node\":\"n3\","                           \
	"\"last_move\":{\"from\":\"n3\",\"reason\":\"silent\",\"time\":\"2025-12-31T23:00:00Z\"}}]"

#define KEYS                                                        \
	"[{\"node\":\"n1\",\"key\":\"ed25519:AAAA\",\"trusted\":false," \
	"\"trusted_keys\":[\"ed25519:BBBB\"]}]"

static const struct sample {
	const char *name;
	void (*render)(FILE *out, const json_t *objects, int64_t wall_now_us);
	const char *objects;
	const char *not_shown; /* keys, each between two spaces; of an object, all that is in it */
} samples[] = {
    {"etcd members", cluster_render_members, MEMBERS, ""},
    /* LEADER is the id of the member that leads, and MEMBER the row's own. */
    {"etcd status", cluster_render_status, STATUS, " local leads "},
    {"etcd health", health_render, HEALTH, ""},
    {"etcd record status", record_render, RECORD, ""},
    {"etcd notify status", notify_render_status, NOTIFY, ""},
    /* `alarm` is `failed` or `overdue`. */
    {"etcd snapshot jobs", etcdwatch_render_jobs, JOBS, " alarm "},
    /* Without both of these there is no entry. */
    {"etcd snapshot list", etcdwatch_render_list, SNAPSHOTS, " digest tree "},
    {"etcd snapshot key", etcdwatch_render_key, KEYS, ""},
    {"etcd snapshot prune", etcdwatch_render_prune, PRUNED, ""},
    {"etcd restore, rebuilt", render_rebuilt, REBUILT, " cluster_id "},
    {"etcd restore, histories", render_histories, "[" HISTORY "]", " cluster_id "},
    {"etcd drill", render_drill, DRILL, ""},
    {"net status", net_render_status, NET, ""},
    {"net diff", net_render_diff, STEPS, ""},
    /* `usable` follows from the state, `drained` and the sources. */
    {"prism status", prism_render_status, PRISM, " usable local "},
    {"vip status", vip_render_status, VIP, " etcd_leader "},
    {"status, vip", board_of_vip, VIP, " node etcd_leader last_move "},
    {"status, prism", board_of_prism, PRISM, " listeners usable local "},
    {"status, prism without checks", board_of_prism, PRISM_UNCHECKED, " probing "},
    {"status, etcd", board_of_members, STATUS,
     " member learner local leader version storage_version errors serves serves_error "},
    {"status, snapshots", board_of_jobs, JOBS,
     " alarm overdue period_done done_by odd_first state "},
    {"status, record", board_of_record, RECORD,
     " directory member recoverable_until since last_gap targets "},
    {"status, network", board_of_net, NET, " server last step by "},
};

/* --- turning them over --- */

static char *print(const struct sample *sample, const json_t *objects)
{
	static const char mark[] = "warning: ";
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	sample->render(out, objects, NOW_US);
	(void) fclose(out);
	for (char *at = strstr(text, mark); at != NULL; at = strstr(at, mark))
		memmove(at, at + strlen(mark), strlen(at + strlen(mark)) + 1);
	return text;
}

static json_t *other_than(const json_t *value)
{
	if (json_is_boolean(value))
		return json_boolean(json_is_false(value));
	return json_is_string(value) ? json_null() : NULL;
}

static void check_walk(const struct sample *sample, const char *want, json_t *all, json_t *at);

static void check_member(const struct sample *sample, const char *want, json_t *all, json_t *object,
                         const char *key)
{
	json_t *value = json_incref(json_object_get(object, key)), *other = other_than(value);
	AUTO(free) char *word = xasprintf(" %s ", key);
	bool is_shown = strstr(sample->not_shown, word) == NULL;

	if (other != NULL) {
		AUTO(free) char *got = NULL;

		(void) json_object_set_new(object, key, other);
		got = print(sample, all);
		(void) json_object_set(object, key, value);
		if (!CHECK_EQ_INT(strcmp(got, want) != 0, is_shown))
			(void) fprintf(stderr, "%s: '%s'\n", sample->name, key);
	}
	if (is_shown)
		check_walk(sample, want, all, value);
	json_decref(value);
}

static void check_walk(const struct sample *sample, const char *want, json_t *all, json_t *at)
{
	const char *key;
	json_t *value;
	size_t i;

	json_array_foreach(at, i, value) check_walk(sample, want, all, value);
	json_object_foreach(at, key, value) check_member(sample, want, all, at, key);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		json_t *objects = json_loads(samples[i].objects, 0, NULL);
		AUTO(free) char *want = NULL;

		if (!CHECK(objects != NULL))
			continue;
		want = print(&samples[i], objects);
		check_walk(&samples[i], want, objects, objects);
		json_decref(objects);
	}
	return check_result();
}
