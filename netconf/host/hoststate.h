/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The host's side of a network: its name, who resolves names, /etc/hosts, who tells the time. The
 * same way as the kernel's side: observe, plan (pure), carry out, observe again.
 *
 *	hoststate_observe(config, before) -> hoststate_to_json (checkpoint, with the target)
 *	hoststate_want(before, config, HOST_ALL) -> hoststate_plan(before, target) -> hoststep_carry_out
 *	undo: hoststate_observe(now) -> hoststate_back(now, before, after) -> hoststate_plan -> ...
 *
 * A state is every file that netconf may write, byte by byte, and the services behind them; so to
 * undo is to plan towards what was there. What others wrote stays: in shared files ours is a marked
 * block (hosttext.h), elsewhere a drop-in of our own. Where another program owns the file, that is
 * a problem, and nothing of the plan may be carried out.
 *
 * No step loses a frame, so all are hitless (OP_HITLESS). A state owns what it points to.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/conf.h"
#include "netconf/model/host.h"
#include "netconf/host/hostfile.h"

enum host_path {
	HOST_PATH_NAME,  /* /etc/hostname */
	HOST_PATH_HOSTS, /* /etc/hosts */
	HOST_PATH_RESOLV,
	HOST_PATH_RESOLVED_DIR, /* a directory stands before what is in it */
	HOST_PATH_RESOLVED,
	HOST_PATH_TIMESYNCD_DIR,
	HOST_PATH_TIMESYNCD,
	HOST_PATH_CHRONY_DIR,
	HOST_PATH_CHRONY,
	HOST_PATHS, /* how many */
};

enum host_service {
	HOST_SERVICE_RESOLVED,
	HOST_SERVICE_TIMESYNCD,
	HOST_SERVICE_CHRONY,
	HOST_SERVICE_CHRONYD, /* as some distributions name it */
	/* Others that keep the time: never touched. */
	HOST_SERVICE_NTPSEC,
	HOST_SERVICE_NTP,
	HOST_SERVICE_OPENNTPD,
	HOST_SERVICES, /* how many */
};

struct host_unit {
	bool known; /* there is such a unit, and it is not masked */
	bool enabled;
	bool active;
};

#define HOST_KERNEL_NAME_MAX 65 /* __NEW_UTS_LEN and a NUL */

enum host_verb {
	HOST_VERB_ENABLE,
	HOST_VERB_DISABLE,
	HOST_VERB_START,
	HOST_VERB_STOP,
	HOST_VERB_RELOAD, /* or restart, if it is active */
};

/* The machine. An error that is returned may come with a sentence, which the caller frees. */
struct host_ops {
	int (*get_name)(char ret_name[static HOST_KERNEL_NAME_MAX], void *userdata);
	int (*set_name)(const char *name, void *userdata);
	/* All of enum host_service. A machine without a service manager has none. */
	int (*get_units)(struct host_unit ret_units[static HOST_SERVICES], char **ret_error,
	                 void *userdata);
	int (*command)(enum host_service service, enum host_verb verb, char **ret_error,
	               void *userdata);
};

struct host_machine {
	const char *root; /* before every path; "" */
	const struct host_ops *ops;
	void *userdata;
	bool starts_later; /* a service that was told to start need not be active yet */
};

/* This one: uname(2), proc(5), systemctl(1). */
extern const struct host_machine host_this_machine;
/* The same, for whoever the boot waits for: a service may have to start after the network, which
 * is to say after the caller, so that it would be waited for in vain. */
extern const struct host_machine host_booting_machine;
const char *host_service_unit(enum host_service service); /* "chrony.service" */

/* --- observing --- */

struct hoststate;

/* `want`: what will be asked for. Only if it needs them, or a file of ours may have to go, are the
 * services asked for. 0 or -errno, then with a sentence that the caller frees. */
int hoststate_observe(const struct host_machine *machine, const struct host *want,
                      struct hoststate **ret_state, char **ret_error);
void hoststate_free(struct hoststate *state);
DEFINE_AUTO(struct hoststate, hoststate_free);

/* A new reference; and back, or -EBADMSG. */
json_t *hoststate_to_json(const struct hoststate *state);
int hoststate_from_json(const json_t *json, struct hoststate **ret_state);

/* --- planning: pure --- */

/* What `want` makes of `have`, of these parts (enum host_attr); the others stay as they are. Each
 * problem is a sentence that names the file; with one, the target is not to be planned for. Notes
 * are odd but harmless. Both may have entries already. */
struct hoststate *hoststate_want(const struct hoststate *have, const struct host *want,
                                 unsigned parts, struct conf_strings *problems,
                                 struct conf_strings *notes);

/* The way back from a plan from `before` to `after`: what that changed is as before, and everything
 * else as it is now: also what others have written into shared files meanwhile. */
struct hoststate *hoststate_back(const struct hoststate *have, const struct hoststate *before,
                                 const struct hoststate *after);

struct hoststep {
	enum hoststep_kind {
		HOSTSTEP_FILE,
		HOSTSTEP_NAME,
		HOSTSTEP_SERVICE,
	} kind;
	char *path; /* HOSTSTEP_FILE; without the root */
	struct hostfile from, to;
	char name[HOST_KERNEL_NAME_MAX]; /* HOSTSTEP_NAME: the kernel's, uname(2) */
	enum host_service service;
	enum host_verb verb;
};

struct hostplan {
	struct hoststep *steps;
	size_t n; /* 0: all is as it should be */
};

void hoststate_plan(const struct hoststate *have, const struct hoststate *target,
                    struct hostplan *ret_plan);
void hostplan_fini(struct hostplan *plan);

/* "write /etc/resolv.conf", "reload systemd-resolved.service" */
#define HOSTSTEP_TEXT_MAX 256
const char *hoststep_format(const struct hoststep *step, char buf[static HOSTSTEP_TEXT_MAX]);

/* --- carrying out --- */

/* Blocking; a service has 30 s. 0, or -errno with a sentence that the caller frees. -ESTALE: the
 * file is no longer what was observed, and was left as it is. */
int hoststep_carry_out(const struct host_machine *machine, const struct hoststep *step,
                       char **ret_error);

/*
 * Runs a program to its end and takes what it says. Blocking, with a time limit, for the few short
 * questions and orders to the service manager that a transaction needs.
 */

#define COMMAND_OUTPUT_MAX 16384

/*
 * argv[0] is looked up in PATH; the array ends with NULL. Its output and errors, together and cut
 * at COMMAND_OUTPUT_MAX, are the caller's to free. 0: it ended with status 0; -EREMOTEIO: it ended
 * otherwise; -ETIMEDOUT: it was killed when limit_us was over; or another -errno with no output.
 */
int command_run(const char *const *argv, int64_t limit_us, char **ret_output);
