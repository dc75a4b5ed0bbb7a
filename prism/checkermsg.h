/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The messages between prism and its probe process, prism's side: written, and read with the
 * distrust that a process deserves which talks to the network. Pure. checker.h has the format.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "prism/config.h"
#include "prism/endpoints.h"
#include "prism/judge.h"

/* New objects: the caller owns them. */
json_t *checkermsg_settings(const struct config *config, bool debug);
json_t *checkermsg_probe(uint64_t id, const struct endpoint *endpoint);
json_t *checkermsg_forget(const struct endpoint *endpoint);

enum checkermsg_type {
	CHECKERMSG_VERDICT,
	CHECKERMSG_ENDPOINTS, /* `list` */
	CHECKERMSG_ERROR,     /* of a source: `text` */
};

struct checkermsg {
	enum checkermsg_type type;
	uint64_t id;
	enum judge_evidence evidence;
	int64_t rtt_us;
	enum endpoints_source source;
	struct endpoints_list list;
	char text[READYZ_REASON_MAX]; /* the reason, or the error; cut, never empty as an error */
};

/* 0, or -EBADMSG: not such a message. */
int checkermsg_parse(const char *data, size_t len, struct checkermsg *ret_message);
