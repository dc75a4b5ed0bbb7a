/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at the files and services of a host, and keeps what it saw as JSON and back. */
#include "netconf/host/hoststate.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"
#include "netconf/host/hoststate_priv.h"
#include "netconf/host/hosttext.h"

#define DROP_IN "90-fairlead.conf"

/* Of chrony it depends on its configuration. */
static const char *const fixed_paths[HOST_PATHS] = {
    [HOST_PATH_NAME] = "/etc/hostname",
    [HOST_PATH_HOSTS] = "/etc/hosts",
    [HOST_PATH_RESOLV] = "/etc/resolv.conf",
    [HOST_PATH_RESOLVED_DIR] = "/etc/systemd/resolved.conf.d",
    [HOST_PATH_RESOLVED] = "/etc/systemd/resolved.conf.d/" DROP_IN,
    [HOST_PATH_TIMESYNCD_DIR] = "/etc/systemd/timesyncd.conf.d",
    [HOST_PATH_TIMESYNCD] = "/etc/systemd/timesyncd.conf.d/" DROP_IN,
};

static const char *const chrony_confs[] = {"/etc/chrony/chrony.conf", "/etc/chrony.conf"};

static int fail(int r, const char *path, char **ret_error)
{
	*ret_error = xasprintf("cannot read %s: %s", path, strerror(-r));
	return r;
}

static int read_path(const struct host_machine *machine, const char *path, struct hostfile *ret)
{
	AUTO(free) char *full = xasprintf("%s%s", machine->root, path);

	return hostfile_read(full, ret);
}

static int find_chrony(const struct host_machine *machine, struct hoststate *state,
                       char **ret_error)
{
	for (size_t i = 0; i < ARRAY_SIZE(chrony_confs); i++) {
		struct hostfile conf;
		char *dir;
		int r = read_path(machine, chrony_confs[i], &conf);

		if (r < 0)
			return fail(r, chrony_confs[i], ret_error);
		if (conf.kind != HOSTFILE_REGULAR) {
			hostfile_fini(&conf);
			continue;
		}
		dir = hosttext_chrony_directory(conf.data);
		hostfile_fini(&conf);
		if (dir == NULL) {
			state->chrony_conf = xstrdup(chrony_confs[i]);
			return 0;
		}
		state->paths[HOST_PATH_CHRONY_DIR] = dir;
		state->paths[HOST_PATH_CHRONY] = xasprintf("%s/" DROP_IN, dir);
		return 0;
	}
	return 0;
}

/* Asking takes longer than all the rest. */
static bool needs_services(const struct hoststate *state, const struct host *want)
{
	static const enum host_path drop_ins[] = {HOST_PATH_RESOLVED, HOST_PATH_TIMESYNCD,
	                                          HOST_PATH_CHRONY};

	for (size_t i = 0; i < ARRAY_SIZE(drop_ins); i++) {
		if (state->files[drop_ins[i]].kind != HOSTFILE_ABSENT)
			return true;
	}
	return (want->has & (HOST_RESOLVERS | HOST_SEARCH | HOST_TIME)) != 0;
}

int hoststate_observe(const struct host_machine *machine, const struct host *want,
                      struct hoststate **ret_state, char **ret_error)
{
	AUTO(hoststate_free) struct hoststate *state = NEW0(struct hoststate);
	char *error = NULL;
	int r;

	for (size_t i = 0; i < HOST_PATHS; i++)
		state->paths[i] = fixed_paths[i] != NULL ? xstrdup(fixed_paths[i]) : NULL;
	r = find_chrony(machine, state, ret_error);
	if (r < 0)
		return r;
	for (size_t i = 0; i < HOST_PATHS; i++) {
		r = state->paths[i] != NULL ? read_path(machine, state->paths[i], &state->files[i]) : 0;
		if (r < 0)
			return fail(r, state->paths[i], ret_error);
	}
	r = machine->ops->get_name(state->name, machine->userdata);
	if (r < 0) {
		*ret_error = xasprintf("cannot read the host's name: %s", strerror(-r));
		return r;
	}
	if (needs_services(state, want))
		r = machine->ops->get_units(state->units, &error, machine->userdata);
	if (r < 0) {
		*ret_error = error != NULL ? error : xasprintf("cannot ask the service manager");
		return r;
	}
	/* One may be the other's alias. */
	if (state->units[HOST_SERVICE_CHRONY].known)
		state->units[HOST_SERVICE_CHRONYD] = (struct host_unit){0};
	*ret_state = TAKE_PTR(state);
	return 0;
}

void hoststate_free(struct hoststate *state)
{
	if (state == NULL)
		return;
	for (size_t i = 0; i < HOST_PATHS; i++) {
		free(state->paths[i]);
		hostfile_fini(&state->files[i]);
	}
	free(state->chrony_conf);
	free(state);
}

struct hoststate *hoststate_copy(const struct hoststate *state)
{
	struct hoststate *copy = xmemdup(state, sizeof(*state));

	for (size_t i = 0; i < HOST_PATHS; i++) {
		copy->paths[i] = state->paths[i] != NULL ? xstrdup(state->paths[i]) : NULL;
		hostfile_copy(&state->files[i], &copy->files[i]);
	}
	copy->chrony_conf = state->chrony_conf != NULL ? xstrdup(state->chrony_conf) : NULL;
	return copy;
}

/* --- as JSON --- */

json_t *hoststate_to_json(const struct hoststate *state)
{
	json_t *files = json_array(), *units = json_array();

	for (size_t i = 0; i < HOST_PATHS; i++) {
		(void) json_array_append_new(files, json_pack("{s:s?, s:o}", "path", state->paths[i],
		                                              "file", hostfile_to_json(&state->files[i])));
	}
	for (size_t i = 0; i < HOST_SERVICES; i++) {
		const struct host_unit *unit = &state->units[i];

		(void) json_array_append_new(units, json_pack("{s:s, s:b, s:b, s:b}", "unit",
		                                              host_service_unit((enum host_service) i),
		                                              "known", unit->known, "enabled",
		                                              unit->enabled, "active", unit->active));
	}
	return json_pack("{s:o, s:o, s:o, s:s?}", "name", jsonval_text(state->name), "files", files,
	                 "services", units, "chrony", state->chrony_conf);
}

static int read_file(const json_t *json, struct hoststate *state, size_t i)
{
	const char *path = json_string_value(json_object_get(json, "path"));

	/* Only these are ever written, whatever a file says. */
	if (fixed_paths[i] != NULL && (path == NULL || strcmp(path, fixed_paths[i]) != 0))
		return -EBADMSG;
	state->paths[i] = path != NULL ? xstrdup(path) : NULL;
	return hostfile_from_json(json_object_get(json, "file"), &state->files[i]);
}

static int read_unit(const json_t *json, struct hoststate *state, size_t i)
{
	const char *name;
	int known, enabled, active;

	if (json_unpack((json_t *) (uintptr_t) json, "{s:s, s:b, s:b, s:b}", "unit", &name, "known",
	                &known, "enabled", &enabled, "active", &active) < 0 ||
	    strcmp(name, host_service_unit((enum host_service) i)) != 0)
		return -EBADMSG;
	state->units[i] =
	    (struct host_unit){.known = known != 0, .enabled = enabled != 0, .active = active != 0};
	return 0;
}

int hoststate_from_json(const json_t *json, struct hoststate **ret_state)
{
	AUTO(hoststate_free) struct hoststate *state = NEW0(struct hoststate);
	const char *name, *chrony = json_string_value(json_object_get(json, "chrony"));
	json_t *files, *units;
	int r = 0;

	if (json_unpack((json_t *) (uintptr_t) json, "{s:s, s:o, s:o}", "name", &name, "files", &files,
	                "services", &units) < 0 ||
	    json_array_size(files) != HOST_PATHS || json_array_size(units) != HOST_SERVICES ||
	    strlen(name) >= HOST_KERNEL_NAME_MAX)
		return -EBADMSG;
	(void) snprintf(state->name, sizeof(state->name), "%s", name);
	state->chrony_conf = chrony != NULL ? xstrdup(chrony) : NULL;
	for (size_t i = 0; i < HOST_PATHS && r == 0; i++)
		r = read_file(json_array_get(files, i), state, i);
	for (size_t i = 0; i < HOST_SERVICES && r == 0; i++)
		r = read_unit(json_array_get(units, i), state, i);
	if (r < 0)
		return r;
	*ret_state = TAKE_PTR(state);
	return 0;
}

/* --- steps --- */

/* From one state of a host to another: the steps in their order, and one of them for real. */

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
