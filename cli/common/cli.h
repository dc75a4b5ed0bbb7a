/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the commands of `fairlead` share: the global options, the exit codes, and the one way in
 * which a daemon is asked and its refusal explained. A command returns its exit code.
 *
 * JSON as YAML: blocks for what has something in it, and every text in quotes, which YAML reads as
 * JSON does.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/common/client.h"
#include "cli/common/table.h"

/* Stable: fairlead(1) lists them. */
enum cli_exit {
	CLI_OK = 0,
	CLI_FAILED = 1,      /* it did not work, is damaged or different, or there is no such thing */
	CLI_USAGE = 2,       /* the command line is wrong */
	CLI_UNREACHABLE = 3, /* the daemon does not answer */
	CLI_DENIED = 4,      /* not for this user */
	CLI_WARNED = 5,      /* it works, and something wants attention */
};

enum cli_output {
	CLI_TABLE,
	CLI_JSON, /* an object a line */
	CLI_YAML, /* the same as documents */
};

/* What completes a word of the command line, for shells: these, or the words that there are. */
#define CLI_FILES "@files"
#define CLI_DIRECTORIES "@directories"
#define CLI_DAEMONS "vipd prism etcdwatch netconf"

struct cli_option;

/* Puts a value where it belongs in `into`, which is what the option's table is about: CLI_OK, or it
 * says what is wrong and returns CLI_USAGE. The value is NULL for an option that takes none, and
 * borrowed for as long as the program runs. */
typedef int (*cli_set_fn)(void *into, const struct cli_option *option, const char *value);

struct cli_option {
	const char *name;
	char letter;           /* 0: none */
	const char *value;     /* what its value is called: "DIR"; NULL: it takes none */
	const char *help;      /* in lines */
	const char *completes; /* its value; NULL: nobody knows */
	cli_set_fn set;
	size_t offset; /* of its field in what it is set into, for set functions that look there */
};

/* For a `bool`, and for a `const char *`. */
int cli_set_flag(void *into, const struct cli_option *option, const char *value);
int cli_set_text(void *into, const struct cli_option *option, const char *value);

/* An option of a command's own table, as it was given. */
struct cli_given {
	const struct cli_option *option;
	const char *value;
};

struct cli {
	const char *runtime_dir;
	enum cli_output output;
	enum color_when color;
	const char *nodes; /* NULL or "": this node */
	const char *via;   /* NULL or "": ssh */
	bool watch;
	bool no_digest;
	int64_t revision; /* 0: not given */
	bool prefix;
	unsigned depth; /* 0: not given */
	bool local;
	bool force;
	bool dry_run;
	bool yes;
	bool corrupt_too;
	bool unchecked;
	bool all;
	const char *target;         /* NULL: not given */
	const char *confirm_within; /* NULL: not given */
	bool even_without_quorum;
	const struct cli_given *given; /* of the command's own options, in their order */
	size_t n_given;
};

/* Sets all options of the command's own table that were given: CLI_OK, or it has said what is
 * wrong. */
int cli_set_own(const struct cli *cli, void *into);

/* The whole program: its exit code. */
int cli_main(int argc, char **argv);

/* argv[0..argc) are the words behind the command's name. */
typedef int (*cli_command_fn)(const struct cli *cli, int argc, char **argv);

/* How long the command may wait before it answers, by its options; -1: one of them is wrong, which
 * it has said. */
typedef int64_t (*cli_waits_fn)(const struct cli *cli);

/* The tables of commands' own options. */
extern const struct cli_option cli_init_options[];
extern const struct cli_option cli_support_options[];
extern const struct cli_option cli_health_options[];
extern const struct cli_option cli_etcd_drill_options[];
extern const struct cli_option cli_etcd_restore_options[];
extern const struct cli_option cli_etcd_snapshot_options[]; /* of common/snapshotoptions.h */

int cli_status(const struct cli *cli, int argc, char **argv);
int cli_top(const struct cli *cli, int argc, char **argv);
int cli_init(const struct cli *cli, int argc, char **argv);
int cli_support(const struct cli *cli, int argc, char **argv);
int cli_health(const struct cli *cli, int argc, char **argv);
int64_t cli_health_waits(const struct cli *cli);
int cli_vip_move(const struct cli *cli, int argc, char **argv);
int cli_vip_hold(const struct cli *cli, int argc, char **argv);
int cli_vip_unhold(const struct cli *cli, int argc, char **argv);
int cli_vip_ungate(const struct cli *cli, int argc, char **argv);
int cli_prism_drain(const struct cli *cli, int argc, char **argv);
int cli_prism_undrain(const struct cli *cli, int argc, char **argv);
int cli_version(const struct cli *cli, int argc, char **argv);
int cli_metrics(const struct cli *cli, int argc, char **argv);
int cli_etcd_notify_test(const struct cli *cli, int argc, char **argv);
int cli_etcd_snapshot_take_over(const struct cli *cli, int argc, char **argv);
int cli_etcd_forfeit_leadership(const struct cli *cli, int argc, char **argv);
int cli_etcd_leave(const struct cli *cli, int argc, char **argv);
int cli_etcd_remove_member(const struct cli *cli, int argc, char **argv);
int cli_etcd_alarm_disarm(const struct cli *cli, int argc, char **argv);
int cli_etcd_defrag(const struct cli *cli, int argc, char **argv);
int cli_etcd_recover_space(const struct cli *cli, int argc, char **argv);
int cli_etcd_drill(const struct cli *cli, int argc, char **argv);
int cli_etcd_snapshot_list(const struct cli *cli, int argc, char **argv);
int cli_etcd_snapshot_delete(const struct cli *cli, int argc, char **argv);
int cli_etcd_snapshot_prune(const struct cli *cli, int argc, char **argv);
int cli_etcd_snapshot_accept(const struct cli *cli, int argc, char **argv);
int cli_etcd_snapshot_save(const struct cli *cli, int argc, char **argv);
int cli_etcd_snapshot_verify(const struct cli *cli, int argc, char **argv);
int cli_etcd_snapshot_status(const struct cli *cli, int argc, char **argv);
int cli_etcd_snapshot_get(const struct cli *cli, int argc, char **argv);
int cli_etcd_snapshot_usage(const struct cli *cli, int argc, char **argv);
int cli_etcd_snapshot_diff(const struct cli *cli, int argc, char **argv);
int cli_etcd_restore(const struct cli *cli, int argc, char **argv);
int cli_etcd_rescue(const struct cli *cli, int argc, char **argv);
int cli_completion(const struct cli *cli, int argc, char **argv);
int cli_config_validate(const struct cli *cli, int argc, char **argv);
int cli_config_convert(const struct cli *cli, int argc, char **argv);
int cli_config_print(const struct cli *cli, int argc, char **argv);
int cli_net_validate(const struct cli *cli, int argc, char **argv);
int cli_net_convert(const struct cli *cli, int argc, char **argv);
int cli_net_plan(const struct cli *cli, int argc, char **argv);
int cli_net_apply(const struct cli *cli, int argc, char **argv);
int cli_net_confirm(const struct cli *cli, int argc, char **argv);
int cli_net_rollback(const struct cli *cli, int argc, char **argv);
int cli_net_discard(const struct cli *cli, int argc, char **argv);

/*
 * Asks `daemon` and returns CLI_OK with the answer, or says on standard error what is wrong and
 * what to do, and returns the exit code for it.
 */
int cli_ask(const struct cli *cli, const char *daemon, const char *const *words, size_t n_words,
            int64_t timeout_us, struct client_answer **ret_answer);

/* Says on standard error what client_ask()'s -errno means and what to do; the exit code for it. */
int cli_explain_no_answer(int r, const char *daemon, const char *path, int64_t timeout_us);

/* As cli_ask(), and objects are told as client_ask_each() does, also of an answer that ends as an
 * error. If the last word is --progress, and the daemon is too old to know it, it is asked again
 * without. */
int cli_ask_each(const struct cli *cli, const char *daemon, const char *const *words,
                 size_t n_words, int64_t timeout_us, client_object_fn each, void *userdata,
                 struct client_answer **ret_answer);

/* What is not for people: a line of JSON, or a document of YAML. */
void cli_print(const struct cli *cli, const json_t *object);
void cli_print_answer(const struct cli *cli, const struct client_answer *answer);

/* Prints an answer's objects for people. wall_now_us is the reader's clock, for ages. */
typedef void (*cli_render_fn)(FILE *out, const json_t *objects, int64_t wall_now_us);

/* What the answer's objects are worth as an exit code. */
typedef int (*cli_code_fn)(const json_t *objects);

/* Asks and prints the answer, by `render` or as JSON lines; with --watch again every second. `code`
 * may be NULL. */
int cli_show(const struct cli *cli, const char *daemon, const char *const *words, size_t n_words,
             cli_render_fn render, cli_code_fn code);

/* Renderers of single answers: pure but for the stream. A field that is missing shows as "-", so
 * that a CLI and a daemon of different versions get along. */
void vip_render_status(FILE *out, const json_t *objects, int64_t wall_now_us);
void prism_render_status(FILE *out, const json_t *objects, int64_t wall_now_us);
void net_render_status(FILE *out, const json_t *objects, int64_t wall_now_us);
void net_render_diff(FILE *out, const json_t *objects, int64_t wall_now_us);
void cluster_render_members(FILE *out, const json_t *objects, int64_t wall_now_us);
void cluster_render_status(FILE *out, const json_t *objects, int64_t wall_now_us);
void cluster_render_alarms(FILE *out, const json_t *objects, int64_t wall_now_us);
void health_render(FILE *out, const json_t *objects, int64_t wall_now_us);
int health_code(const json_t *objects);
void notify_render_status(FILE *out, const json_t *objects, int64_t wall_now_us);
void notify_render_test(FILE *out, const json_t *objects, int64_t wall_now_us);
void record_render(FILE *out, const json_t *objects, int64_t wall_now_us);
int record_code(const json_t *objects);
void etcdwatch_render_jobs(FILE *out, const json_t *objects, int64_t wall_now_us);
void etcdwatch_render_key(FILE *out, const json_t *objects, int64_t wall_now_us);

/* One document, with the line that begins it. */
void yaml_print(FILE *out, json_t *value);
