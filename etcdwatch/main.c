/* SPDX-License-Identifier: Apache-2.0 */
/*
 * etcdwatch: takes snapshots of etcd on schedule, proves them and keeps them. This file is the
 * command line and what is checked before a start; the work is daemon.c's.
 */
#include <malloc.h>
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/service.h"
#include "etcd/connect.h"
#include "etcdwatch/config/config.h"
#include "etcdwatch/daemon.h"
#include "etcdwatch/signing.h"

#define RUNTIME_DIR "/run/fairlead/etcdwatch"

static struct {
	bool print_jobs;
	bool print_etcd;
} settings;

static const struct options_own own[] = {
    {"print-jobs", NULL, "print where each job has its snapshots, as JSON, and exit", NULL,
     &settings.print_jobs},
    {"print-etcd", NULL, "print how etcd is reached, as options in JSON, and exit", NULL,
     &settings.print_etcd},
    {0},
};

static void print_jobs(const struct config *config, FILE *out)
{
	AUTO(signature_key_free) struct signature_key *key = NULL;
	AUTO(free) char *path = signing_path();

	(void) signature_key_load(path, &key);
	config_print_jobs(config, key != NULL ? signature_key_public(key) : NULL, out);
}

static int mode(const struct service *service)
{
	if (settings.print_jobs)
		return service_print(service, print_jobs);
	return settings.print_etcd ? service_print(service, config_print_etcd) : -1;
}

/* What one thread allocates another one frees, gRPC's, the loop and the disk's: an arena for each
 * would keep its own holes. */
static void begin(void)
{
	(void) mallopt(M_ARENA_MAX, 1);
}

/* The files that it names. */
static int try(const struct config *config, conf_message_fn error)
{
	return connect_check(&config->etcd, error);
}

static const struct conf_strings *notes(const struct config *config)
{
	return &config->notes;
}

/* The daemon starts without them, and may be another user. */
static void print_unread(const char *sentence, void *userdata UNUSED)
{
	const struct passwd *user = getpwuid(geteuid());

	(void) printf("note: %s (read as user %s)\n", sentence,
	              user != NULL ? user->pw_name : "without a name");
}

static void print_checked(const struct config *config)
{
	config_look_at_files(config, print_unread, NULL);
	(void) printf("ok: %zu job%s\n", config->n_jobs, config->n_jobs == 1 ? "" : "s");
}

static const struct service_helper worker = {
    .program = "etcdwatch-worker",
    .option = {.name = "worker",
               .value = "PATH",
               .help = "what does the heavy work (default: etcdwatch-worker beside\netcdwatch)"},
};

static const struct service_ops ops = {
    .program = "etcdwatch",
    .summary = "Takes snapshots of etcd on schedule, proves them and keeps them.",
    .closing = "Signals: TERM gives up what is under way and exits; HUP reads the "
               "configuration anew. See\n"
               "etcdwatch(8).",
    .runtime_dir = {.name = "runtime-dir",
                    .value = "DIR",
                    .help = "control socket (default: " RUNTIME_DIR ")"},
    .runtime_dir_path = RUNTIME_DIR,
    .needs_runtime_dir = true,
    .helper = &worker,
    .own = own,
    .mode = mode,
    .begin = begin,
    .load = config_load,
    .try = try,
    .notes = notes,
    .print = config_print,
    .print_checked = print_checked,
    .free_config = config_free,
    .create = daemon_new,
    .destroy = daemon_free,
    .stop = daemon_stop,
    .reload = daemon_reload,
    .metrics = daemon_metrics,
    .wants_exec = daemon_wants_exec,
};

int main(int argc, char **argv)
{
	return service_main(&ops, argc, argv);
}
