/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vipd: elects the owner of shared IP addresses through etcd and announces them. This file is the
 * command line and what is checked before a start; the work is daemon.c's.
 */
#include <stdio.h>

#include "base/service.h"
#include "etcd/connect.h"
#include "vipd/config.h"
#include "vipd/daemon.h"
#include "vipd/onlink.h"

#define RUNTIME_DIR "/run/fairlead/vipd"

static struct {
	bool ungate;
	bool yes;
} settings;

static const struct options_own own[] = {
    {"ungate", NULL, "say what the gate of a dead vipd silences; with --yes remove it", NULL,
     &settings.ungate},
    {"yes", NULL, "of --ungate: do it", NULL, &settings.yes},
    {0},
};

static int mode(const struct service *service)
{
	return settings.ungate ? daemon_ungate(service->runtime_dir, settings.yes) : -1;
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

static void print_checked(const struct config *config)
{
	(void) printf("ok: %zu VIP%s\n", config->n_vips, config->n_vips == 1 ? "" : "s");
}

static const struct service_ops ops = {
    .program = "vipd",
    .summary = "Elects the owner of shared IP addresses through etcd and announces them.",
    .closing =
        "Signals: TERM hands every VIP over and exits; HUP reloads; USR2 exits and keeps the\n"
        "addresses for the next start. See vipd(8).",
    .runtime_dir = {.name = "runtime-dir",
                    .value = "DIR",
                    .help = "control socket and state (default: " RUNTIME_DIR ")"},
    .runtime_dir_path = RUNTIME_DIR,
    .needs_runtime_dir = true,
    .own = own,
    .mode = mode,
    .load = config_load,
    .try = try,
    .look = onlink_check,
    .notes = notes,
    .print = config_print,
    .print_checked = print_checked,
    .free_config = config_free,
    .create = daemon_new,
    .destroy = daemon_free,
    .stop = daemon_stop,
    .reload = daemon_reload,
    .leave = daemon_leave,
    .metrics = daemon_metrics,
    .wants_exec = daemon_wants_exec,
};

int main(int argc, char **argv)
{
	return service_main(&ops, argc, argv);
}
