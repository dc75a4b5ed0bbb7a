/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * All that the daemons of this node can be asked about how they are: the questions, and a place for
 * each answer.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/common/client.h"

enum node_question {
	NODE_VIP,
	NODE_PRISM,
	NODE_HEALTH,
	NODE_MEMBERS,
	NODE_ALARMS,
	NODE_JOBS,
	NODE_RECORD,
	NODE_NET,
	/* With the metrics each tells of the port for them. */
	NODE_VIP_PORT,
	NODE_PRISM_PORT,
	NODE_ETCD_PORT,
	NODE_NET_PORT,
	NODE_QUESTIONS, /* how many there are */
};

#define NODE_WORDS_MAX 3

struct node_asked {
	const char *daemon;
	const char *words[NODE_WORDS_MAX];
	size_t n_words;
};

extern const struct node_asked node_questions[NODE_QUESTIONS];

/* What came of a question. Zeroed: it was not asked. */
struct node_reply {
	int r;                        /* < 0: no answer, as node_judge() has it */
	struct client_answer *answer; /* owned; NULL: none */
};

/* The objects of a good answer, borrowed; NULL: there is none. */
const json_t *node_objects(const struct node_reply *reply);

/* The daemon has said that there is none of it here, which is nothing bad. */
bool node_is_none(const struct node_reply *reply);

void node_replies_fini(struct node_reply replies[static NODE_QUESTIONS]);

/* Where links of enabled units are (systemctl(1), "enable"), if the sockets of `runtime_dir` are
 * those of units; else NULL. */
const char *node_units(const char *runtime_dir);

/* What a question came to, by r of client_ask(): of a daemon that has no socket, and whose unit is
 * enabled in `units`, -ESRCH: it should run. units may be NULL. */
int node_judge(int r, const char *daemon, const char *units);

/* Asks all at the same time, and returns when all have answered or after `timeout_us`. */
void node_ask(const char *runtime_dir, int64_t timeout_us,
              struct node_reply replies[static NODE_QUESTIONS]);
