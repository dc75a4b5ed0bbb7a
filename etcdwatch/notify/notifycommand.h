/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* `etcd notify status` and `etcd notify test` of the control socket. */

#include "base/control.h"

void notifystatuscommand_fn(struct control_request *request, int argc, char **argv, void *userdata);
void notifytestcommand_fn(struct control_request *request, int argc, char **argv, void *userdata);
