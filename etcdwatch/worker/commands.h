/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The subcommands. Each takes its own words (argv[0] is its name), prints its last line
 * (result.h) and returns the exit code.
 */

int command_pack(int argc, char **argv);
int command_unpack(int argc, char **argv);
int command_open(int argc, char **argv);
int command_newest(int argc, char **argv);
int command_s3(int argc, char **argv);
int command_drill(int argc, char **argv);
int command_notify(int argc, char **argv);
int command_restore(int argc, char **argv);
int command_health(int argc, char **argv);
int command_rebuild(int argc, char **argv);
int command_record(int argc, char **argv);
