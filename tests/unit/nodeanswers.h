/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the daemons of a node say on which all is well, question by question. */

#include "base/mono.h"

#define NOW_US (INT64_C(1767225600) * US_PER_S)

#define VIP                                                                                    \
	"{\"vip\":\"10.0.0.5\",\"link\":\"eth0\",\"node\":\"n1\",\"state\":\"owner\",\"owner\":"   \
	"\"n1\","                                                                                  \
	"\"bound_ms\":3100,\"fence_left_ms\":2457,\"health\":\"good\",\"hold\":false,\"etcd_ok\":" \
	"true,"                                                                                    \
	"\"foreign_mac\":null,\"candidates\":[{},{},{}],\"warnings\":[]}\n"
#define PRISM                                                                         \
	"{\"usable\":2,\"connections\":5,\"max_connections\":30000,\"accepting\":true,"   \
	"\"checks\":true,\"probing\":true,\"sources\":[{\"source\":\"static\",\"error\":" \
	"null}],\"notes\":[]}\n"                                                          \
	"{\"upstream\":\"10.0.0.1:6443\",\"state\":\"ready\",\"usable\":true}\n"
#define HEALTH "{\"status\":\"ok\",\"critical\":0,\"warning\":0,\"members\":3,\"answer\":3}\n"
#define MEMBERS                                                                              \
	"{\"node\":\"n1\",\"local\":true,\"leads\":true,\"db_bytes\":200000000,\"quota_bytes\":" \
	"2000000000}\n"                                                                          \
	"{\"node\":\"n2\",\"leads\":false,\"db_bytes\":420000000,\"quota_bytes\":2000000000}\n"
#define JOBS                                                                                   \
	"{\"job\":\"hourly\",\"state\":\"idle\",\"last_good_age_s\":750,\"next_due_s\":2850,"      \
	"\"error\":null,\"frozen\":null,\"set_aside\":0,\"taken_of_bytes\":0,\"targets\":[{"       \
	"\"target\":\"far\",\"pending\":0,\"error\":null,\"frozen\":null}],\"drill\":{\"failed\":" \
	"false,\"overdue\":false,\"phase\":null,\"last_good_age_s\":200000}}\n"
#define RECORD                                                                                     \
	"{\"state\":\"recording\",\"recoverable_age_ms\":800,\"bytes\":12000000,\"gaps\":0,\"error\":" \
	"null}\n"
#define NET "{\"change\":null,\"blocked\":null,\"confirmed\":true,\"drift\":{\"state\":\"none\"}}\n"
