/* SPDX-License-Identifier: Apache-2.0 */
/* How far a step has come is a line now and then, and none of what takes less. */
#include "etcdwatch/worker/common/result.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fileio.h"
#include "base/mono.h"
#include "tests/unit/check.h"

#define HOUR_US (3600 * US_PER_S)

int main(void)
{
	char path[] = "/tmp/fairlead-pace-XXXXXX";
	int fd = mkstemp(path);
	AUTO(free) char *text = NULL;
	struct pace pace;
	size_t len;

	CHECK(fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0);
	pace_begin(&pace, "fetch", 1000);
	pace.told_us += HOUR_US; /* whatever the machine does now, it is too early */
	pace_tell(&pace, 10);
	pace.told_us -= 2 * HOUR_US;
	pace_tell(&pace, 20);
	pace.told_us += HOUR_US;
	pace_tell(&pace, 30);
	pace.told_us -= 2 * HOUR_US;
	pace_tell(&pace, 40);
	/* A part behind 30, which begins again. */
	pace.before_bytes = 30;
	for (int i = 0; i < 3; i++) {
		pace.told_us -= 2 * HOUR_US;
		pace_sent_cb((uint64_t[]){20, 5, 25}[i], &pace);
	}
	/* Each pass over a file is a step of its own, and too soon to be told of when it begins. */
	pace_pass_cb("tree", 0, 500, &pace);
	pace.told_us += HOUR_US;
	pace_pass_cb("tree", 100, 500, &pace);
	pace.told_us -= 2 * HOUR_US;
	pace_pass_cb("tree", 200, 500, &pace);
	pace_pass_cb("keys", 0, 0, &pace);
	pace.told_us -= HOUR_US;
	pace_pass_cb("keys", 7, 0, &pace);
	CHECK_EQ_INT(file_read(path, 4096, &text, &len), 0);
	CHECK_EQ_STR(text, "{\"doing\":\"fetch\",\"bytes\":20,\"of_bytes\":1000}\n"
	                   "{\"doing\":\"fetch\",\"bytes\":40,\"of_bytes\":1000}\n"
	                   "{\"doing\":\"fetch\",\"bytes\":50,\"of_bytes\":1000}\n"
	                   "{\"doing\":\"fetch\",\"bytes\":55,\"of_bytes\":1000}\n"
	                   "{\"doing\":\"tree\",\"bytes\":200,\"of_bytes\":500}\n"
	                   "{\"doing\":\"keys\",\"bytes\":7,\"of_bytes\":0}\n");
	(void) unlink(path);
	return check_result();
}
