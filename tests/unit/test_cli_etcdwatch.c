/* SPDX-License-Identifier: Apache-2.0 */
/* What `fairlead etcd snapshot jobs` and `etcd snapshot list` print for given objects, to the byte.
 */
#include "cli/common/cli.h"
#include "cli/snapshot/jobs_render.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "tests/unit/check.h"

typedef void (*render_fn)(FILE *out, const json_t *objects, int64_t wall_now_us);

static void check_text(render_fn render, const char *objects, const char *want)
{
	json_t *json = json_loads(objects, 0, NULL);
	AUTO(free) char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	CHECK(json != NULL);
	render(out, json, 0);
	(void) fclose(out);
	json_decref(json);
	CHECK_EQ_STR(text, want);
}

static void test_status(void)
{
	check_text(
	    etcdwatch_render_jobs,
	    "[{\"job\":\"hourly\",\"state\":\"idle\",\"done_by\":\"n2\",\"last_good_age_s\":7300,"
	    "\"snapshots\":12,\"bytes\":123456789,\"next_due_s\":1800,\"period_done\":true,"
	    "\"error\":null,\"frozen\":null,\"set_aside\":0,\"waiting\":2,\"unsent\":1,"
	    "\"odd_first\":null},"
	    "{\"job\":\"daily\",\"state\":\"taking\",\"done_by\":null,\"snapshots\":0,\"bytes\":0,"
	    "\"next_due_s\":-20,\"period_done\":false,\"taken_bytes\":250,"
	    "\"taken_of_bytes\":1000,\"error\":\"disk \\u001b[31m full\",\"set_aside\":1}]",
	    "JOB     STATE       DONE BY  LAST HERE  HERE    SIZE     DUE\n"
	    "hourly  idle        n2              2h    12  123 MB  in 30m\n"
	    "daily   taking 25%  -                -     0     0 B     now\n"
	    "warning: hourly: kept beyond retention until each target has a copy: 2\n"
	    "warning: hourly: removed since etcdwatch was started though a target had no copy: 1\n"
	    "warning: daily: disk ?[31m full\n"
	    "warning: daily: snapshots that did not pass their proof are in 'rejected'\n");
}

static void test_targets(void)
{
	check_text(
	    etcdwatch_render_jobs,
	    "[{\"job\":\"hourly\",\"state\":\"idle\",\"period_done\":true,\"next_due_s\":60,"
	    "\"targets\":[{\"target\":\"site\",\"state\":\"sending\",\"last_age_s\":7300,"
	    "\"sent_bytes\":30,\"sent_of_bytes\":200,\"pending\":1,\"snapshots\":7,\"error\":"
	    "null},{\"target\":\"near\",\"state\":\"sending\",\"last_age_s\":60,\"sent_bytes\":30,"
	    "\"sent_of_bytes\":200,\"sent_bytes_per_s\":10,\"pending\":1,\"snapshots\":7,"
	    "\"error\":null},{\"target\":\"far\",\"state\":\"retrying\","
	    "\"last_age_s\":null,\"pending\":3,\"error\":\"no route\"}]},"
	    "{\"job\":\"daily\",\"targets\":[]}]",
	    "JOB     STATE  DONE BY  LAST HERE  HERE  SIZE    DUE\n"
	    "hourly  idle   -                -     0   0 B  in 1m\n"
	    "daily   -      -                -     0   0 B    now\n"
	    "\n"
	    "JOB     TARGET  STATE                          LAST STORED  PENDING  THERE\n"
	    "hourly  site    sending 15%                             2h        1      7\n"
	    "hourly  near    sending 15%, 10 B/s, 17s left           1m        1      7\n"
	    "hourly  far     retrying                                 -        3      -\n"
	    "warning: hourly: far: no route\n");
}

/* A daemon of another version: nothing is taken for granted. */
static void test_strange(void)
{
	check_text(etcdwatch_render_jobs, "[{}, {\"job\":1,\"bytes\":\"x\",\"error\":7}]",
	           "JOB  STATE  DONE BY  LAST HERE  HERE  SIZE  DUE\n"
	           "-    -      -                -     0   0 B  now\n"
	           "-    -      -                -     0   0 B  now\n");
	check_text(etcdwatch_render_list, "[]",
	           "SNAPSHOT  REVISION  KEYS  SIZE  AGREED  SIGNED  WHERE\n");
}

static void test_list(void)
{
	check_text(
	    etcdwatch_render_list,
	    "[{\"id\":\"20261121T203000Z-hourly-n1-r8123\",\"revision\":8123,\"live_keys\":700,"
	    "\"file_bytes\":1536000,\"verified\":{\"hashkv\":\"n2\"},\"signed\":\"yes\","
	    "\"where\":[\"local\",\"site\"]},"
	    "{\"id\":\"x\",\"revision\":1,\"live_keys\":2,\"file_bytes\":999,"
	    "\"verified\":{\"hashkv\":null}},"
	    "{\"id\":\"y\",\"revision\":1,\"live_keys\":2,\"file_bytes\":999,"
	    "\"member\":{\"name\":\"n2\"},\"verified\":{\"hashkv\":\"n2\"}},"
	    "{\"job\":\"hourly\",\"node\":\"n2\",\"newest\":\"z\",\"age_s\":7300,\"revision\":9,"
	    "\"agreed\":\"n3\",\"compared\":true,\"targets\":[\"site\"]},"
	    "{\"job\":\"hourly\",\"node\":\"n3\",\"newest\":\"w\",\"age_s\":60,\"revision\":8,"
	    "\"agreed\":null,\"compared\":false,\"targets\":[]},"
	    "{\"job\":\"hourly\",\"node\":\"n4\",\"newest\":\"v\",\"age_s\":60,\"revision\":null,"
	    "\"agreed\":null,\"compared\":null,\"targets\":[]},"
	    "{\"job\":\"hourly\",\"target\":\"far\",\"error\":\"no route\"}]",
	    "SNAPSHOT                          REVISION  KEYS    SIZE  AGREED  SIGNED  WHERE\n"
	    "20261121T203000Z-hourly-n1-r8123      8123   700  1.5 MB  n2      yes     local site\n"
	    "x                                        1     2   999 B  -       -       -\n"
	    "y                                        1     2   999 B  alone   -       -\n"
	    "\n"
	    "JOB     NODE  NEWEST THERE  AGE  REVISION  AGREED  TARGETS\n"
	    "hourly  n2    z              2h         9  n3      site\n"
	    "hourly  n3    w              1m         8  -       -\n"
	    "hourly  n4    v              1m         ?  ?       -\n"
	    "warning: hourly: cannot ask far: no route\n");
}

static void test_prune(void)
{
	check_text(etcdwatch_render_prune,
	           "[{\"job\":\"hourly\",\"where\":\"local\",\"id\":\"a\",\"kept_for\":null,"
	           "\"goes\":true},{\"job\":\"hourly\",\"where\":\"site\",\"id\":\"b\","
	           "\"kept_for\":\"last newest\",\"goes\":false},"
	           "{\"job\":\"hourly\",\"where\":\"site\",\"frozen\":\"it shrank\"}]",
	           "JOB     WHERE  SNAPSHOT  KEPT FOR\n"
	           "hourly  local  a         - it goes\n"
	           "hourly  site   b         last newest\n"
	           "warning: hourly: site: it shrank\n");
	check_text(etcdwatch_render_deleted, "[{\"job\":\"hourly\",\"id\":\"a\",\"where\":\"local\"}]",
	           "deleted a from local\n");
	check_text(etcdwatch_render_accepted, "[{\"job\":\"hourly\",\"revision\":17}]",
	           "hourly: accepted as it is from revision 17 on\n");
}

int main(void)
{
	test_prune();
	test_status();
	test_targets();
	test_strange();
	test_list();
	return check_result();
}
