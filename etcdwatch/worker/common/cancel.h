/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * SIGTERM and SIGINT end what is under way in good order: what is half written is removed. Whoever
 * works for long asks here, at least once a second.
 */

#include <stdbool.h>

/* Takes the two signals, and ignores SIGPIPE. */
void cancel_watch(void);
bool cancel_is_wanted(void);
