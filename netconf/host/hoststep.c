/* SPDX-License-Identifier: Apache-2.0 */
/* From one state of a host to another: the steps in their order, and one of them for real. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "netconf/host/hoststate_priv.h"

/* Which service reads a file; HOST_SERVICES: nobody needs to be told. */
static const struct {
	enum host_path path;
	enum host_service service;
} readers[] = {
    {HOST_PATH_RESOLVED, HOST_SERVICE_RESOLVED},
    {HOST_PATH_TIMESYNCD, HOST_SERVICE_TIMESYNCD},
    {HOST_PATH_CHRONY, HOST_SERVICE_CHRONY},
    {HOST_PATH_CHRONY, HOST_SERVICE_CHRONYD},
};

static struct hoststep *add(struct hostplan *plan, enum hoststep_kind kind)
{
	plan->steps = xreallocarray(plan->steps, plan->n + 1, sizeof(*plan->steps));
	plan->steps[plan->n] = (struct hoststep){.kind = kind};
	return &plan->steps[plan->n++];
}

static bool differs(const struct hoststate *have, const struct hoststate *target, enum host_path at)
{
	return have->paths[at] != NULL && !hostfile_equal(&have->files[at], &target->files[at]);
}

static void add_file(struct hostplan *plan, const struct hoststate *have,
                     const struct hoststate *target, enum host_path at)
{
	struct hoststep *step;

	if (!differs(have, target, at))
		return;
	step = add(plan, HOSTSTEP_FILE);
	step->path = xstrdup(have->paths[at]);
	hostfile_copy(&have->files[at], &step->from);
	hostfile_copy(&target->files[at], &step->to);
}

static void add_verb(struct hostplan *plan, enum host_service service, enum host_verb verb)
{
	struct hoststep *step = add(plan, HOSTSTEP_SERVICE);

	step->service = service;
	step->verb = verb;
}

static void add_service(struct hostplan *plan, const struct hoststate *have,
                        const struct hoststate *target, enum host_service service)
{
	const struct host_unit *from = &have->units[service], *to = &target->units[service];

	if (!from->known)
		return;
	if (from->enabled != to->enabled)
		add_verb(plan, service, to->enabled ? HOST_VERB_ENABLE : HOST_VERB_DISABLE);
	if (from->active != to->active)
		add_verb(plan, service, to->active ? HOST_VERB_START : HOST_VERB_STOP);
	for (size_t i = 0; i < ARRAY_SIZE(readers) && from->active && to->active; i++) {
		if (readers[i].service == service && differs(have, target, readers[i].path))
			add_verb(plan, service, HOST_VERB_RELOAD);
	}
}

void hoststate_plan(const struct hoststate *have, const struct hoststate *target,
                    struct hostplan *ret_plan)
{
	struct hostplan plan = {0};

	/* A directory comes before what is in it, and goes after. */
	for (size_t i = 0; i < HOST_PATHS; i++) {
		if (target->files[i].kind != HOSTFILE_ABSENT)
			add_file(&plan, have, target, (enum host_path) i);
	}
	for (size_t i = HOST_PATHS; i-- > 0;) {
		if (target->files[i].kind == HOSTFILE_ABSENT)
			add_file(&plan, have, target, (enum host_path) i);
	}
	if (strcmp(have->name, target->name) != 0)
		(void) snprintf(add(&plan, HOSTSTEP_NAME)->name, HOST_KERNEL_NAME_MAX, "%s", target->name);
	for (size_t i = 0; i < HOST_SERVICES; i++)
		add_service(&plan, have, target, (enum host_service) i);
	*ret_plan = plan;
}

void hostplan_fini(struct hostplan *plan)
{
	for (size_t i = 0; i < plan->n; i++) {
		free(plan->steps[i].path);
		hostfile_fini(&plan->steps[i].from);
		hostfile_fini(&plan->steps[i].to);
	}
	free(plan->steps);
	*plan = (struct hostplan){0};
}

static const char *verb_name(enum host_verb verb)
{
	switch (verb) {
	case HOST_VERB_ENABLE:
		return "enable";
	case HOST_VERB_DISABLE:
		return "disable";
	case HOST_VERB_START:
		return "start";
	case HOST_VERB_STOP:
		return "stop";
	case HOST_VERB_RELOAD:
		return "reload";
	}
	return "";
}

const char *hoststep_format(const struct hoststep *step, char buf[static HOSTSTEP_TEXT_MAX])
{
	switch (step->kind) {
	case HOSTSTEP_FILE:
		(void) snprintf(buf, HOSTSTEP_TEXT_MAX, "%s %s",
		                step->to.kind == HOSTFILE_ABSENT      ? "remove"
		                : step->to.kind == HOSTFILE_DIRECTORY ? "make"
		                                                      : "write",
		                step->path);
		break;
	case HOSTSTEP_NAME:
		(void) snprintf(buf, HOSTSTEP_TEXT_MAX, "name the host %s", step->name);
		break;
	case HOSTSTEP_SERVICE:
		(void) snprintf(buf, HOSTSTEP_TEXT_MAX, "%s %s", verb_name(step->verb),
		                host_service_unit(step->service));
		break;
	}
	return buf;
}

/* --- carrying out --- */

static int replace_file(const struct host_machine *machine, const struct hoststep *step)
{
	AUTO(free) char *path = xasprintf("%s%s", machine->root, step->path);

	return hostfile_replace(path, &step->from, &step->to);
}

int hoststep_carry_out(const struct host_machine *machine, const struct hoststep *step,
                       char **ret_error)
{
	AUTO(free) char *said = NULL;
	char text[HOSTSTEP_TEXT_MAX];
	int r = -EINVAL;

	switch (step->kind) {
	case HOSTSTEP_FILE:
		r = replace_file(machine, step);
		break;
	case HOSTSTEP_NAME:
		r = machine->ops->set_name(step->name, machine->userdata);
		break;
	case HOSTSTEP_SERVICE:
		r = machine->ops->command(step->service, step->verb, &said, machine->userdata);
		break;
	}
	if (r < 0)
		*ret_error = xasprintf("cannot %s: %s", hoststep_format(step, text),
		                       r == -ESTALE   ? "somebody has changed it in the meantime"
		                       : said != NULL ? said
		                                      : strerror(-r));
	return r < 0 ? r : 0;
}
