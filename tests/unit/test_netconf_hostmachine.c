/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This machine, as the host's plans are carried out on it: programs that are run, what systemctl(1)
 * says and is told, and the kernel's name, of a UTS namespace.
 */
#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/syscall.h>

#include "base/fileio.h"
#include "base/mono.h"
#include "netconf/host/hoststate.h"
#include "tests/unit/scratch.h"

#define LOG_BYTES_MAX 4096

static void test_commands(void)
{
	static const char *const says[] = {"sh", "-c", "echo one; echo two >&2", NULL};
	static const char *const fails[] = {"sh", "-c", "echo why; exit 3", NULL};
	static const char *const hangs[] = {"sh", "-c", "echo here; sleep 600", NULL};
	static const char *const goes_on[] = {"sh", "-c", "exec >&- 2>&-; sleep 600", NULL};
	static const char *const missing[] = {"/nonexistent/program", NULL};
	AUTO(free) char *a = NULL, *b = NULL, *c = NULL, *d = NULL, *e = NULL;

	CHECK_EQ_INT(command_run(says, 60 * US_PER_S, &a), 0);
	CHECK_EQ_STR(a, "one\ntwo\n");
	CHECK_EQ_INT(command_run(fails, 60 * US_PER_S, &b), -EREMOTEIO);
	CHECK_EQ_STR(b, "why\n");
	CHECK_EQ_INT(command_run(hangs, 200 * US_PER_MS, &c), -ETIMEDOUT);
	CHECK_EQ_INT(command_run(goes_on, 200 * US_PER_MS, &d), -ETIMEDOUT);
	CHECK_EQ_INT(command_run(missing, 60 * US_PER_S, &e), -ENOENT);
	CHECK(e == NULL);
}

/* What systemctl(1) of Debian 12 says of an enabled and active unit, a static one, one that is not
 * there, a masked one; and what it is told to do. */
static void test_systemctl(void)
{
	const struct host_ops *ops = host_this_machine.ops;
	struct host_unit units[HOST_SERVICES];
	char *error = NULL;
	AUTO(free) char *log = NULL;
	char path[1024];
	size_t len;

	scratch_enter();
	if (!CHECK_EQ_INT(unshare(CLONE_NEWNS), 0))
		return;
	(void) scratch_shell("mount --make-rprivate / && mount -t tmpfs none /run");
	CHECK_EQ_INT(ops->get_units(units, &error, NULL), 0);
	CHECK(!units[HOST_SERVICE_RESOLVED].known);

	(void) scratch_shell("mkdir -p /run/systemd/system bin");
	(void) scratch_shell(
	    "cat >bin/systemctl <<'END'\n"
	    "#!/bin/sh\n"
	    "echo \"$*\" >>%s/log\n"
	    "[ \"$1\" = show ] || { echo 'Job for it failed.'; exit 1; }\n"
	    "printf 'LoadState=loaded\\nActiveState=active\\nUnitFileState=enabled\\n\\n'\n"
	    "printf 'LoadState=loaded\\nActiveState=inactive\\nUnitFileState=static\\n\\n'\n"
	    "printf 'LoadState=not-found\\nActiveState=inactive\\nUnitFileState=\\n\\n'\n"
	    "printf 'LoadState=masked\\nActiveState=inactive\\nUnitFileState=masked\\n'\n"
	    "END\n"
	    "chmod 755 bin/systemctl",
	    scratch_dir);
	(void) snprintf(path, sizeof(path), "%s/bin:%s", scratch_dir, getenv("PATH"));
	(void) setenv("PATH", path, 1);
	CHECK_EQ_INT(ops->get_units(units, &error, NULL), 0);
	CHECK(units[HOST_SERVICE_RESOLVED].known && units[HOST_SERVICE_RESOLVED].enabled &&
	      units[HOST_SERVICE_RESOLVED].active);
	CHECK(units[HOST_SERVICE_TIMESYNCD].known && units[HOST_SERVICE_TIMESYNCD].enabled &&
	      !units[HOST_SERVICE_TIMESYNCD].active);
	CHECK(!units[HOST_SERVICE_CHRONY].known && !units[HOST_SERVICE_CHRONYD].known);
	CHECK_EQ_INT(ops->command(HOST_SERVICE_CHRONY, HOST_VERB_RELOAD, &error, NULL), -EREMOTEIO);
	CHECK_EQ_STR(error, "Job for it failed.");
	free(error);
	/* A boot is not to wait for what waits for it; what stops does not. */
	ops = host_booting_machine.ops;
	CHECK_EQ_INT(ops->command(HOST_SERVICE_CHRONY, HOST_VERB_START, &error, NULL), -EREMOTEIO);
	free(error);
	CHECK_EQ_INT(ops->command(HOST_SERVICE_CHRONY, HOST_VERB_STOP, &error, NULL), -EREMOTEIO);
	free(error);
	CHECK_EQ_INT(file_read("log", LOG_BYTES_MAX, &log, &len), 0);
	CHECK_EQ_STR(log, "show --property=LoadState,ActiveState,UnitFileState "
	                  "systemd-resolved.service systemd-timesyncd.service chrony.service "
	                  "chronyd.service ntpsec.service ntp.service openntpd.service\n"
	                  "--quiet --no-ask-password try-restart chrony.service\n"
	                  "--quiet --no-ask-password --no-block start chrony.service\n"
	                  "--quiet --no-ask-password stop chrony.service\n");
	scratch_leave();
}

/* As the unit of the daemon leaves them. */
static void drop_capability(unsigned which)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	CHECK_EQ_INT(syscall(SYS_capget, &header, data), 0);
	data[which / 32].effective &= ~(1u << which % 32);
	CHECK_EQ_INT(syscall(SYS_capset, &header, data), 0);
}

static void test_kernel_name(void)
{
	const struct hoststep step = {.kind = HOSTSTEP_NAME, .name = "cp1-of-the-test"};
	const struct host_ops *ops = host_this_machine.ops;
	char name[HOST_KERNEL_NAME_MAX];
	char *error = NULL;

	if (!CHECK_EQ_INT(unshare(CLONE_NEWUTS), 0))
		return;
	drop_capability(CAP_SYS_ADMIN);
	CHECK_EQ_INT(sethostname("x", 1), -1);
	CHECK_EQ_INT(hoststep_carry_out(&host_this_machine, &step, &error), 0);
	CHECK_EQ_INT(ops->get_name(name, NULL), 0);
	CHECK_EQ_STR(name, "cp1-of-the-test");
}

int main(void)
{
	test_commands();
	test_systemctl();
	test_kernel_name();
	return check_result();
}
