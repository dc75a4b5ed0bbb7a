/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For commands that take long: while one is under way, whoever asked with --progress is told once a
 * second how far it has come, in an object of its own that begins with "progress".
 */

#include <ev.h>
#include <jansson.h>

#include "base/control.h"

#define TELLING_WORD "--progress"

/* The object, to be taken; NULL: nothing to tell now. */
typedef json_t *(*telling_fn)(void *userdata);

struct telling {
	struct ev_loop *ev;
	struct control_request *request;
	telling_fn tell;
	void *userdata;
	ev_timer timer;
};

/* Until telling_stop(), which must come before the request ends. */
void telling_start(struct telling *telling, struct ev_loop *ev, struct control_request *request,
                   telling_fn tell, void *userdata);
/* Also of one that is zeroed. */
void telling_stop(struct telling *telling);
