/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The commands that show and steer the cluster, for the table of commands.c: control_fn's, whose
 * userdata is the struct commands. docs/control.md describes what they answer. */

struct control_request;

void memberscommand_fn(struct control_request *request, int argc, char **argv, void *userdata);
void statuscommand_fn(struct control_request *request, int argc, char **argv, void *userdata);
void alarmscommand_fn(struct control_request *request, int argc, char **argv, void *userdata);
void forfeitcommand_fn(struct control_request *request, int argc, char **argv, void *userdata);
void leavecommand_fn(struct control_request *request, int argc, char **argv, void *userdata);
void removecommand_fn(struct control_request *request, int argc, char **argv, void *userdata);
void disarmcommand_fn(struct control_request *request, int argc, char **argv, void *userdata);
void defragcommand_fn(struct control_request *request, int argc, char **argv, void *userdata);
void recovercommand_fn(struct control_request *request, int argc, char **argv, void *userdata);
