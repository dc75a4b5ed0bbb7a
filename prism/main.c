/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prism: a local, health-aware TCP balancer in front of the Kubernetes API servers. This file is
 * the command line and what a process begins with; the work is daemon.c's.
 */
#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "base/service.h"
#include "prism/config.h"
#include "prism/daemon.h"
#include "prism/handover.h"

#define RUNTIME_DIR "/run/fairlead/prism"

/* What the image before this one left, until the daemon has it; NULL: nothing. */
static struct handover *handover;

static void begin(void)
{
	int r;

	r = handover_open(&handover);
	if (r < 0 && r != -ENOENT)
		log_error_errno(r, "handover_unreadable", "reason=\"all connections are closed\"");
}

static void handover_config_cb(const char *yaml, size_t len, void *userdata)
{
	(void) config_load_text("the running configuration", yaml, len, NULL, conf_message_log, NULL,
	                        userdata);
}

/*
 * Started in place of a process that carries connections, prism must not fail for a file that
 * became wrong since it was checked: then the configuration that was in force goes on.
 */
static struct config *load_old(void)
{
	static const struct handover_reader_ops reader = {.config = handover_config_cb};
	struct config *config = NULL;

	if (handover != NULL)
		handover_read(handover, &reader, &config);
	if (config != NULL)
		log_error("config_kept",
		          "reason=\"the files have errors; the configuration before goes on\"");
	return config;
}

static const struct conf_strings *notes(const struct config *config)
{
	return &config->notes;
}

static void print_checked(const struct config *config)
{
	char text[ENDPOINT_TEXT_MAX];

	(void) printf("ok: listens on");
	for (size_t i = 0; i < config->n_listen; i++)
		(void) printf(" %s", endpoint_format(&config->listen[i], text));
	(void) printf("\n");
}

static int create(struct service *service, struct config *config, struct daemon **ret_daemon)
{
	int r = daemon_new(service, config, handover, ret_daemon);

	handover_free(TAKE_PTR(handover));
	return r;
}

static const struct service_helper probe = {
    .program = "prism-probe",
    .option = {.name = "probe-program",
               .value = "PATH",
               .help = "the probe process (default: prism-probe beside prism)"},
};

static const struct service_ops ops = {
    .program = "prism",
    .summary = "Balances connections of this node to the Kubernetes API servers.",
    .closing = "Signals: TERM lets connections end and exits; HUP reads the configuration anew "
               "and starts\n"
               "the program anew, in place: connections stay. See prism(8).",
    .runtime_dir = {.name = "runtime-dir",
                    .value = "DIR",
                    .help = "control socket (default: " RUNTIME_DIR ")"},
    .runtime_dir_path = RUNTIME_DIR,
    .helper = &probe,
    .begin = begin,
    .load = config_load,
    .load_other = load_old,
    .notes = notes,
    .print = config_print,
    .print_checked = print_checked,
    .free_config = config_free,
    .create = create,
    .destroy = daemon_free,
    .stop = daemon_stop,
    .reload = daemon_reload,
    .metrics = daemon_metrics,
    .wants_exec = daemon_wants_exec,
    .exec = daemon_exec,
};

int main(int argc, char **argv)
{
	return service_main(&ops, argc, argv);
}
