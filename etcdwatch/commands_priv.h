/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the commands share that take time: each is an object that embeds a `struct command`, known
 * to commands.c from its beginning to its end, so that it can be given up when the daemon stops.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "base/control.h"
#include "etcdwatch/commands.h"
#include "etcdwatch/daemon.h"
#include "etcdwatch/job/job.h"

/* One more is told to come again: each may have a worker for each target. */
#define COMMANDS_OPEN_MAX 8

struct command {
	struct commands *commands;
	struct control_request *request;
	void (*give_up)(struct command *command); /* frees it; the request is invalid then */
	LIST_ENTRY(command) entry;
};

/* false, and the request is over: there are too many. */
bool command_begin(struct commands *commands, struct command *command,
                   struct control_request *request, void (*give_up)(struct command *command));
/* Before it is freed by itself, or by give_up(). */
void command_end(struct command *command);

struct daemon *commands_daemon(struct commands *commands);

/* NULL, and the request is over: there is no such job. */
struct job *commands_find_job(struct control_request *request, const struct daemon *daemon,
                              const char *name);
/* The one that is named, or without a name the only one; NULL, and the request is over. */
struct job *commands_one_job(struct control_request *request, const struct daemon *daemon,
                             const char *name);
/* The one that is named, or without a name all. How many; 0, and the request is over. */
size_t commands_jobs(struct control_request *request, const struct daemon *daemon, const char *name,
                     struct job *ret_jobs[static CONFIG_JOBS_MAX]);

/* --- the commands, for the table of commands.c: control_fn's, whose userdata is the struct
 * commands --- */
void memberscommand_fn(struct control_request *request, int argc, char **argv, void *userdata);
void statuscommand_fn(struct control_request *request, int argc, char **argv, void *userdata);
void alarmscommand_fn(struct control_request *request, int argc, char **argv, void *userdata);
void forfeitcommand_fn(struct control_request *request, int argc, char **argv, void *userdata);
void leavecommand_fn(struct control_request *request, int argc, char **argv, void *userdata);
void removecommand_fn(struct control_request *request, int argc, char **argv, void *userdata);
void disarmcommand_fn(struct control_request *request, int argc, char **argv, void *userdata);
void defragcommand_fn(struct control_request *request, int argc, char **argv, void *userdata);
void recovercommand_fn(struct control_request *request, int argc, char **argv, void *userdata);
void notifystatuscommand_fn(struct control_request *request, int argc, char **argv, void *userdata);
void notifytestcommand_fn(struct control_request *request, int argc, char **argv, void *userdata);
void listcommand_fn(struct control_request *request, int argc, char **argv, void *userdata);
void savecommand_fn(struct control_request *request, int argc, char **argv, void *userdata);
void deletecommand_fn(struct control_request *request, int argc, char **argv, void *userdata);
void prunecommand_fn(struct control_request *request, int argc, char **argv, void *userdata);
void takeovercommand_fn(struct control_request *request, int argc, char **argv, void *userdata);
void acceptcommand_fn(struct control_request *request, int argc, char **argv, void *userdata);
