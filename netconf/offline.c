/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that only look. */
#include "netconf/offline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"
#include "netconf/change/beside.h"
#include "netconf/config/config.h"
#include "netconf/kernel/devices.h"
#include "netconf/change/explain.h"
#include "netconf/change/statedir.h"
#include "netconf/change/look.h"

static int load(const struct offline *o, struct config **ret_config)
{
	return config_load(o->paths, o->n_paths, conf_message_print, NULL, ret_config);
}

static int open_kernel(struct kernel **ret_kernel)
{
	int r = kernel_new(NULL, ret_kernel);

	if (r < 0)
		(void) fprintf(stderr, "netconf: cannot speak to the kernel: %s\n", strerror(-r));
	return r;
}

static int finish(bool good)
{
	return fflush(stdout) == 0 && good ? EXIT_SUCCESS : EXIT_FAILURE;
}

static void print_notes(const struct config *config)
{
	for (size_t i = 0; i < config->notes.n; i++)
		(void) printf("note: %s\n", config->notes.items[i]);
}

int offline_check(const struct offline *o)
{
	AUTO(config_free) struct config *config = NULL;

	if (load(o, &config) < 0)
		return EXIT_FAILURE;
	print_notes(config);
	(void) printf("ok: %zu link%s\n", config->n_links, config->n_links == 1 ? "" : "s");
	return finish(true);
}

int offline_print(const struct offline *o)
{
	AUTO(config_free) struct config *config = NULL;

	if (load(o, &config) < 0)
		return EXIT_FAILURE;
	config_print(config, stdout);
	return finish(true);
}

static void print_line(json_t *object)
{
	AUTO(free) char *text = json_dumps(object, JSON_COMPACT);

	printable_write_json(stdout, text != NULL ? text : "null");
	(void) putchar('\n');
	json_decref(object);
}

static void print_json(const struct plan *plan, const struct resolution *resolution,
                       const struct beside *beside)
{
	json_t *notes = explain_notes(plan, resolution, beside), *note;
	size_t i;

	for (i = 0; i < plan->n_ops; i++)
		print_line(explain_step_json(plan, i));
	for (i = 0; i < beside_count(beside); i++)
		print_line(explain_beside_json(plan, beside, i));
	for (i = 0; i < plan->n_obstacles; i++)
		print_line(explain_obstacle_json(plan, resolution->model, i));
	for (i = 0; i < resolution->problems.n; i++)
		print_line(explain_problem_json("contradiction", resolution->problems.items[i]));
	for (i = 0; i < resolution->waiting.n; i++)
		print_line(explain_problem_json("waiting", resolution->waiting.items[i]));
	for (i = 0; i < beside_problems(beside)->n; i++)
		print_line(explain_problem_json("impossible", beside_problems(beside)->items[i]));
	json_array_foreach(notes, i, note) print_line(json_incref(note));
	json_decref(notes);
	print_line(json_pack("{s:I, s:s}", "steps", (json_int_t) (plan->n_ops + beside_count(beside)),
	                     "class", op_class_name(explain_class(plan, beside))));
}

int offline_plan(const struct offline *o)
{
	struct addr ssh = look_ssh_address(getenv("SSH_CONNECTION"));
	AUTO(config_free) struct config *config = NULL;
	AUTO(kernel_free) struct kernel *kernel = NULL;
	AUTO(ledger_free) struct ledger *ledger = NULL;
	AUTO(plan_free) struct plan *plan = NULL;
	AUTO(beside_free) struct beside *beside = NULL;
	AUTO(free) char *error = NULL;
	char management[IFNAMSIZ], reason[EXPLAIN_REFUSAL_MAX];
	struct look look;
	bool is_refused;
	int r;

	if (load(o, &config) < 0 || open_kernel(&kernel) < 0)
		return EXIT_FAILURE;
	/* Which is for root alone; for others the plan says so of each object that it concerns. */
	if (geteuid() == 0)
		ledger = ledger_open(o->state_dir != NULL ? o->state_dir : config->policy.state_dir);
	r = look_take(kernel, ledger_owned(ledger), o->runtime_dir, config, &look);
	if (r < 0) {
		(void) fprintf(stderr, "netconf: the network cannot be observed: %s\n",
		               kernel_error_text(kernel));
		return EXIT_FAILURE;
	}
	look_management(look.have, &ssh, management);
	plan = plan_make(look.resolution->model, look.have,
	                 &(struct plan_options){.management_link = management});
	r = beside_plan(&host_this_machine, look.resolution, look.have, &beside, &error);
	if (r < 0) {
		(void) fprintf(stderr, "netconf: %s\n", error);
		look_fini(&look);
		return EXIT_FAILURE;
	}
	if (o->json) {
		print_json(plan, look.resolution, beside);
	} else {
		print_notes(config);
		explain_plan(stdout, plan, look.resolution, beside);
	}
	is_refused = explain_refusal(plan, look.resolution, reason) || beside_problems(beside)->n > 0;
	look_fini(&look);
	return finish(!is_refused);
}

int offline_convert(const struct offline *o)
{
	AUTO(config_free) struct config *config = NULL;
	AUTO(kernel_free) struct kernel *kernel = NULL;
	AUTO(model_free) struct model *have = NULL;
	AUTO(devices_free) struct devices *devices = NULL;
	const struct device *list;
	size_t n;

	if (load(o, &config) < 0 || open_kernel(&kernel) < 0)
		return EXIT_FAILURE;
	if (kernel_observe(kernel, &have) < 0) {
		(void) fprintf(stderr, "netconf: the network cannot be observed: %s\n",
		               kernel_error_text(kernel));
		return EXIT_FAILURE;
	}
	devices = devices_read(have);
	list = devices_list(devices, &n);
	if (config_convert(config, list, n, conf_message_print, NULL) < 0)
		return EXIT_FAILURE;
	config_print_converted(config, stdout);
	return finish(true);
}

int offline_describe(void)
{
	AUTO(config_free) struct config *config = NULL;
	AUTO(kernel_free) struct kernel *kernel = NULL;
	AUTO(model_free) struct model *have = NULL;
	struct conf_strings left_out = {0};

	if (open_kernel(&kernel) < 0)
		return EXIT_FAILURE;
	if (kernel_observe(kernel, &have) < 0) {
		(void) fprintf(stderr, "netconf: the network cannot be observed: %s\n",
		               kernel_error_text(kernel));
		return EXIT_FAILURE;
	}
	config = config_describe(have, &left_out);
	config_print_converted(config, stdout);
	for (size_t i = 0; i < left_out.n; i++)
		(void) printf("# left out: %s\n", left_out.items[i]);
	conf_strings_fini(&left_out);
	return finish(true);
}
