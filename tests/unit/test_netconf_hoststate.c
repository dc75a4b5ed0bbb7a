/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host's files in a scratch tree: planned, written, read back, undone. The services are a fake's,
 * and so is the kernel's name; test_netconf_hostmachine.c has the real ones.
 */
#include "netconf/host/hoststate.h"

#include <errno.h>

#include "tests/unit/scratch.h"

#define PLAN_MAX 2048

/* --- the fake machine --- */

struct fake {
	char name[HOST_KERNEL_NAME_MAX];
	struct host_unit units[HOST_SERVICES];
	char log[512];
	bool refuses;
};

static int fake_get_name(char ret_name[static HOST_KERNEL_NAME_MAX], void *userdata)
{
	(void) snprintf(ret_name, HOST_KERNEL_NAME_MAX, "%s", ((struct fake *) userdata)->name);
	return 0;
}

static int fake_set_name(const char *name, void *userdata)
{
	(void) snprintf(((struct fake *) userdata)->name, HOST_KERNEL_NAME_MAX, "%s", name);
	return 0;
}

static int fake_get_units(struct host_unit ret_units[static HOST_SERVICES], char **ret_error UNUSED,
                          void *userdata)
{
	memcpy(ret_units, ((struct fake *) userdata)->units, sizeof(((struct fake *) userdata)->units));
	return 0;
}

static int fake_command(enum host_service service, enum host_verb verb, char **ret_error,
                        void *userdata)
{
	static const char *const verbs[] = {"enable", "disable", "start", "stop", "reload"};
	struct fake *fake = userdata;
	struct host_unit *unit = &fake->units[service];

	if (fake->refuses) {
		*ret_error = xstrdup("Job failed.");
		return -EREMOTEIO;
	}
	(void) snprintf(fake->log + strlen(fake->log), sizeof(fake->log) - strlen(fake->log), "%s %s\n",
	                verbs[verb], host_service_unit(service));
	if (verb == HOST_VERB_ENABLE || verb == HOST_VERB_DISABLE)
		unit->enabled = verb == HOST_VERB_ENABLE;
	if (verb == HOST_VERB_START || verb == HOST_VERB_STOP)
		unit->active = verb == HOST_VERB_START;
	return 0;
}

static const struct host_ops fake_ops = {
    .get_name = fake_get_name,
    .set_name = fake_set_name,
    .get_units = fake_get_units,
    .command = fake_command,
};

static struct fake fake;
static struct host_machine machine;

/* An ordinary machine: its own files, and nothing of ours. */
static void begin(void)
{
	scratch_enter();
	fake = (struct fake){.name = "old"};
	machine = (struct host_machine){.root = scratch_dir, .ops = &fake_ops, .userdata = &fake};
	(void) scratch_shell("mkdir -p etc/systemd etc/chrony/conf.d run");
	(void) scratch_shell("echo old >etc/hostname; chmod 664 etc/hostname");
	(void) scratch_shell("printf '127.0.0.1 localhost\\n' >etc/hosts");
	(void) scratch_shell("printf 'nameserver 8.8.8.8\\noptions edns0' >etc/resolv.conf");
}

static struct hoststate *observe(void)
{
	static const struct host everything = {.has = HOST_RESOLVERS | HOST_TIME};
	struct hoststate *state = NULL;
	char *error = NULL;

	CHECK_EQ_INT(hoststate_observe(&machine, &everything, &state, &error), 0);
	return state;
}

static const char *format_plan(const struct hostplan *plan)
{
	static char text[PLAN_MAX];
	char line[HOSTSTEP_TEXT_MAX];

	text[0] = '\0';
	for (size_t i = 0; i < plan->n; i++)
		(void) snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s\n",
		                hoststep_format(&plan->steps[i], line));
	return text;
}

/* Carries it out, and compares how it reads. */
static void run_plan(const struct hoststate *have, const struct hoststate *target, const char *text)
{
	struct hostplan plan;
	char *error = NULL;

	hoststate_plan(have, target, &plan);
	CHECK_EQ_STR(format_plan(&plan), text);
	for (size_t i = 0; i < plan.n; i++)
		CHECK_EQ_INT(hoststep_carry_out(&machine, &plan.steps[i], &error), 0);
	CHECK_EQ_STR(error, NULL);
	free(error);
	hostplan_fini(&plan);
}

/* The only problem that there is with it; NULL: none. The caller frees it. */
static char *problem_with(const struct host *want)
{
	AUTO(hoststate_free) struct hoststate *have = observe();
	struct conf_strings problems = {0}, notes = {0};
	char *problem = NULL;

	hoststate_free(hoststate_want(have, want, HOST_ALL, &problems, &notes));
	CHECK(problems.n <= 1);
	if (problems.n > 0)
		problem = xstrdup(problems.items[0]);
	conf_strings_fini(&problems);
	conf_strings_fini(&notes);
	return problem;
}

static void check_problem(const struct host *want, const char *text)
{
	AUTO(free) char *problem = problem_with(want);

	CHECK_EQ_STR(problem, text);
}

/* The whole way: plan, carry out, nothing left to do, through JSON, back. The tree is then as it
 * was, down to modes and links. `text` is the plan there. */
static void there_and_back(const struct host *want, const char *text, const char *back)
{
	AUTO(hoststate_free) struct hoststate *before = observe(), *target = NULL, *now = NULL;
	AUTO(hoststate_free) struct hoststate *again = NULL, *undo = NULL, *saved = NULL;
	struct conf_strings problems = {0}, notes = {0};
	json_t *json = hoststate_to_json(before);

	CHECK_EQ_INT(hoststate_from_json(json, &saved), 0);
	json_decref(json);
	(void) scratch_shell("find etc -printf '%%p %%y %%m %%U %%l\\n' -type f -exec sha256sum {} + | "
	                     "sort >../before.%d",
	                     (int) getpid());
	target = hoststate_want(before, want, HOST_ALL, &problems, &notes);
	CHECK_EQ_INT(problems.n, 0);
	run_plan(before, target, text);

	now = observe();
	again = hoststate_want(now, want, HOST_ALL, &problems, &notes);
	run_plan(now, again, "");

	undo = hoststate_back(now, saved, target);
	run_plan(now, undo, back);
	(void) scratch_shell("find etc -printf '%%p %%y %%m %%U %%l\\n' -type f -exec sha256sum {} + | "
	                     "sort | cmp - ../before.%d",
	                     (int) getpid());
	(void) scratch_shell("rm ../before.%d", (int) getpid());
	conf_strings_fini(&problems);
	conf_strings_fini(&notes);
}

static void write_plan(const struct host *want)
{
	AUTO(hoststate_free) struct hoststate *have = observe(), *target = NULL;
	struct conf_strings problems = {0}, notes = {0};
	struct hostplan plan;
	char *error = NULL;

	target = hoststate_want(have, want, HOST_ALL, &problems, &notes);
	CHECK_EQ_INT(problems.n, 0);
	hoststate_plan(have, target, &plan);
	for (size_t i = 0; i < plan.n; i++)
		CHECK_EQ_INT(hoststep_carry_out(&machine, &plan.steps[i], &error), 0);
	hostplan_fini(&plan);
	conf_strings_fini(&problems);
	conf_strings_fini(&notes);
}

static void check_text(const char *path, const char *text)
{
	struct hostfile file = {0};

	CHECK_EQ_INT(hostfile_read(path, &file), 0);
	CHECK_EQ_STR(file.data, text);
	hostfile_fini(&file);
}

static void add_resolver(struct host *host, const char *text)
{
	struct addr addr;

	CHECK_EQ_INT(addr_parse(text, &addr), 0);
	host_add_resolver(host, &addr);
	host->has |= HOST_RESOLVERS;
}

static void add_entry(struct host *host, const char *text, const char *name)
{
	struct addr addr;

	CHECK_EQ_INT(addr_parse(text, &addr), 0);
	host_add_text(&host_add_entry(host, &addr)->names, name);
	host->has |= HOST_ENTRIES;
}

/* --- plain files --- */

static void test_files(void)
{
	struct host want = {.has = HOST_NAME, .name = "cp1"};

	begin();
	add_resolver(&want, "10.0.0.1");
	add_entry(&want, "10.0.0.5", "registry");
	there_and_back(&want,
	               "write /etc/hostname\nwrite /etc/hosts\nwrite /etc/resolv.conf\n"
	               "name the host cp1\n",
	               "write /etc/hostname\nwrite /etc/hosts\nwrite /etc/resolv.conf\n"
	               "name the host old\n");
	CHECK_EQ_STR(fake.name, "old");

	/* What is no longer asked for goes; the name, which has no other, stays. */
	write_plan(&want);
	check_text("etc/resolv.conf", "# begin fairlead (netconf writes this part)\n"
	                              "nameserver 10.0.0.1\n# end fairlead\n"
	                              "# fairlead set aside: nameserver 8.8.8.8\noptions edns0");
	check_text("etc/hostname", "cp1\n");
	CHECK_EQ_STR(fake.name, "cp1");
	(void) scratch_shell("test $(stat -c %%a etc/hostname) = 664");
	host_fini(&want);
	write_plan(&want);
	check_text("etc/resolv.conf", "nameserver 8.8.8.8\noptions edns0");
	check_text("etc/hosts", "127.0.0.1 localhost\n");
	check_text("etc/hostname", "cp1\n");
	scratch_leave();
}

static void test_absent_files(void)
{
	struct host want = {.has = HOST_NAME, .name = "cp1"};

	begin();
	add_resolver(&want, "10.0.0.1");
	(void) scratch_shell("rm etc/hostname etc/resolv.conf");
	there_and_back(&want, "write /etc/hostname\nwrite /etc/resolv.conf\nname the host cp1\n",
	               "remove /etc/resolv.conf\nremove /etc/hostname\nname the host old\n");
	host_fini(&want);
	scratch_leave();
}

/* Others write while a confirmation is awaited; only ours is undone. */
static void test_foreign_meanwhile(void)
{
	AUTO(hoststate_free) struct hoststate *before = NULL, *target = NULL, *now = NULL, *undo = NULL;
	struct host want = {0};
	struct conf_strings problems = {0};

	begin();
	add_entry(&want, "10.0.0.5", "registry");
	add_resolver(&want, "10.0.0.1");
	before = observe();
	target = hoststate_want(before, &want, HOST_ALL, &problems, &problems);
	run_plan(before, target, "write /etc/hosts\nwrite /etc/resolv.conf\n");
	(void) scratch_shell("echo '10.0.0.9 other' >>etc/hosts");
	(void) scratch_shell("echo another >etc/hostname");
	(void) scratch_shell("ln -sf ../run/NetworkManager/resolv.conf etc/resolv.conf");
	now = observe();
	undo = hoststate_back(now, before, target);
	run_plan(now, undo, "write /etc/hosts\n");
	check_text("etc/hosts", "127.0.0.1 localhost\n10.0.0.9 other\n");
	check_text("etc/hostname", "another\n");
	check_text("etc/resolv.conf", "../run/NetworkManager/resolv.conf");
	CHECK_EQ_INT(problems.n, 0);
	host_fini(&want);
	scratch_leave();
}

static void test_changed_since_observed(void)
{
	AUTO(hoststate_free) struct hoststate *have = NULL, *target = NULL;
	struct host want = {0};
	struct conf_strings problems = {0};
	struct hostplan plan;
	char *error = NULL;

	begin();
	add_entry(&want, "10.0.0.5", "registry");
	have = observe();
	target = hoststate_want(have, &want, HOST_ALL, &problems, &problems);
	hoststate_plan(have, target, &plan);
	CHECK_EQ_INT(plan.n, 1);
	(void) scratch_shell("echo '10.0.0.9 other' >>etc/hosts");
	CHECK_EQ_INT(hoststep_carry_out(&machine, &plan.steps[0], &error), -ESTALE);
	CHECK_EQ_STR(error, "cannot write /etc/hosts: somebody has changed it in the meantime");
	check_text("etc/hosts", "127.0.0.1 localhost\n10.0.0.9 other\n");
	free(error);
	hostplan_fini(&plan);
	host_fini(&want);
	scratch_leave();
}

static void test_others_resolv_conf(void)
{
	static const struct {
		const char *command, *problem;
	} cases[] = {
	    {"ln -sf ../run/resolvconf/resolv.conf etc/resolv.conf",
	     "/etc/resolv.conf is a symbolic link to '../run/resolvconf/resolv.conf': resolvconf "
	     "writes it"},
	    {"ln -sf /run/NetworkManager/resolv.conf etc/resolv.conf",
	     "/etc/resolv.conf is a symbolic link to '/run/NetworkManager/resolv.conf': "
	     "NetworkManager writes it"},
	    {"ln -sf /srv/resolv.conf etc/resolv.conf",
	     "/etc/resolv.conf is a symbolic link to '/srv/resolv.conf': another program writes it"},
	    {"rm etc/resolv.conf; printf '# Generated by NetworkManager\\n' >etc/resolv.conf",
	     "/etc/resolv.conf says '# Generated by NetworkManager': that program writes it; remove "
	     "the line if it does so no longer"},
	    {"printf 'a\\000b' >etc/resolv.conf", "/etc/resolv.conf is no text: there is a NUL in it"},
	    {"printf 'a\\n# end fairlead\\n' >etc/resolv.conf",
	     "/etc/resolv.conf:2: fairlead's part has lost its beginning or its end: remove what is "
	     "left of it"},
	    {"rm etc/resolv.conf; mkdir etc/resolv.conf", "/etc/resolv.conf is no regular file"},
	    {"rmdir etc/resolv.conf; ln -s /run/systemd/resolve/stub-resolv.conf etc/resolv.conf",
	     "/etc/resolv.conf leads to systemd-resolved, which is not installed"},
	};
	struct host want = {0};

	begin();
	add_resolver(&want, "10.0.0.1");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		(void) scratch_shell("%s", cases[i].command);
		check_problem(&want, cases[i].problem);
	}
	host_fini(&want);
	/* As long as nothing is wanted of it, it may be what it likes. */
	check_problem(&want, NULL);
	scratch_leave();
}

/* --- systemd-resolved --- */

static void test_resolved(void)
{
	struct host want = {0};

	begin();
	fake.units[HOST_SERVICE_RESOLVED] = (struct host_unit){true, true, true};
	(void) scratch_shell("ln -sf ../run/systemd/resolve/stub-resolv.conf etc/resolv.conf");
	add_resolver(&want, "10.0.0.1");
	there_and_back(&want,
	               "make /etc/systemd/resolved.conf.d\n"
	               "write /etc/systemd/resolved.conf.d/90-fairlead.conf\n"
	               "reload systemd-resolved.service\n",
	               "remove /etc/systemd/resolved.conf.d/90-fairlead.conf\n"
	               "remove /etc/systemd/resolved.conf.d\n"
	               "reload systemd-resolved.service\n");
	CHECK_EQ_STR(fake.log, "reload systemd-resolved.service\nreload systemd-resolved.service\n");

	/* The directory is not ours alone. */
	write_plan(&want);
	(void) scratch_shell("grep -qx DNS=10.0.0.1 etc/systemd/resolved.conf.d/90-fairlead.conf");
	(void) scratch_shell("touch etc/systemd/resolved.conf.d/other.conf");
	host_fini(&want);
	write_plan(&want);
	(void) scratch_shell("test $(ls etc/systemd/resolved.conf.d) = other.conf");

	add_resolver(&want, "10.0.0.1");
	(void) scratch_shell("echo '[Resolve]' >etc/systemd/resolved.conf.d/90-fairlead.conf");
	check_problem(&want, "/etc/systemd/resolved.conf.d/90-fairlead.conf is not fairlead's: another "
	                     "program wrote it");
	host_fini(&want);
	scratch_leave();
}

/* The directory that was made gets another's file before it is undone. */
static void test_directory_in_use(void)
{
	AUTO(hoststate_free) struct hoststate *before = NULL, *target = NULL, *now = NULL, *undo = NULL;
	struct host want = {0};
	struct conf_strings problems = {0};

	begin();
	fake.units[HOST_SERVICE_RESOLVED] = (struct host_unit){true, true, true};
	(void) scratch_shell("ln -sf /run/systemd/resolve/stub-resolv.conf etc/resolv.conf");
	add_resolver(&want, "10.0.0.1");
	before = observe();
	target = hoststate_want(before, &want, HOST_ALL, &problems, &problems);
	run_plan(before, target,
	         "make /etc/systemd/resolved.conf.d\n"
	         "write /etc/systemd/resolved.conf.d/90-fairlead.conf\n"
	         "reload systemd-resolved.service\n");
	(void) scratch_shell("touch etc/systemd/resolved.conf.d/other.conf");
	now = observe();
	undo = hoststate_back(now, before, target);
	run_plan(now, undo,
	         "remove /etc/systemd/resolved.conf.d/90-fairlead.conf\n"
	         "remove /etc/systemd/resolved.conf.d\n"
	         "reload systemd-resolved.service\n");
	(void) scratch_shell("test $(ls etc/systemd/resolved.conf.d) = other.conf");
	host_fini(&want);
	scratch_leave();
}

/* The service manager is asked when it matters: also when what it reads has to go. */
static void test_services_asked(void)
{
	const struct host nothing = {0};
	struct hoststate *state = NULL;
	char *error = NULL;
	json_t *json;

	begin();
	fake.units[HOST_SERVICE_CHRONY] = (struct host_unit){true, true, true};
	for (int i = 0; i < 2; i++) {
		CHECK_EQ_INT(hoststate_observe(&machine, &nothing, &state, &error), 0);
		json = hoststate_to_json(state);
		CHECK_EQ_INT(
		    json_is_true(json_object_get(
		        json_array_get(json_object_get(json, "services"), HOST_SERVICE_CHRONY), "known")),
		    i);
		json_decref(json);
		hoststate_free(state);
		(void) scratch_shell("mkdir -p etc/systemd/timesyncd.conf.d; echo "
		                     ">etc/systemd/timesyncd.conf.d/90-fairlead.conf");
	}
	scratch_leave();
}

/* --- time --- */

static void test_timesyncd(void)
{
	struct host want = {.has = HOST_TIME, .time_enabled = true};

	begin();
	fake.units[HOST_SERVICE_TIMESYNCD] = (struct host_unit){true, true, true};
	host_add_text(&want.time_servers, "time.example.org");
	there_and_back(&want,
	               "make /etc/systemd/timesyncd.conf.d\n"
	               "write /etc/systemd/timesyncd.conf.d/90-fairlead.conf\n"
	               "reload systemd-timesyncd.service\n",
	               "remove /etc/systemd/timesyncd.conf.d/90-fairlead.conf\n"
	               "remove /etc/systemd/timesyncd.conf.d\n"
	               "reload systemd-timesyncd.service\n");
	/* It is off, and shall be on: it reads its file when it starts. */
	fake.units[HOST_SERVICE_TIMESYNCD] = (struct host_unit){true, false, false};
	there_and_back(&want,
	               "make /etc/systemd/timesyncd.conf.d\n"
	               "write /etc/systemd/timesyncd.conf.d/90-fairlead.conf\n"
	               "enable systemd-timesyncd.service\nstart systemd-timesyncd.service\n",
	               "remove /etc/systemd/timesyncd.conf.d/90-fairlead.conf\n"
	               "remove /etc/systemd/timesyncd.conf.d\n"
	               "disable systemd-timesyncd.service\nstop systemd-timesyncd.service\n");
	host_fini(&want);

	/* And the other way round. */
	want = (struct host){.has = HOST_TIME};
	fake.units[HOST_SERVICE_TIMESYNCD] = (struct host_unit){true, true, true};
	there_and_back(&want, "disable systemd-timesyncd.service\nstop systemd-timesyncd.service\n",
	               "enable systemd-timesyncd.service\nstart systemd-timesyncd.service\n");
	scratch_leave();
}

static void test_chrony(void)
{
	struct host want = {.has = HOST_TIME, .time_enabled = true};

	begin();
	fake.units[HOST_SERVICE_CHRONY] = (struct host_unit){true, true, true};
	fake.units[HOST_SERVICE_CHRONYD] = (struct host_unit){true, true, true}; /* an alias */
	fake.units[HOST_SERVICE_TIMESYNCD] = (struct host_unit){true, true, false};
	host_add_text(&want.time_servers, "/dev/ptp0");
	check_problem(&want, "chrony's configuration has no 'confdir' from which chrony would read its "
	                     "time servers");
	(void) scratch_shell("echo 'pool a' >etc/chrony/chrony.conf");
	check_problem(&want, "/etc/chrony/chrony.conf has no 'confdir' from which chrony would read "
	                     "its time servers");
	(void) scratch_shell("echo 'confdir /etc/chrony/conf.d' >>etc/chrony/chrony.conf");
	there_and_back(&want, "write /etc/chrony/conf.d/90-fairlead.conf\nreload chrony.service\n",
	               "remove /etc/chrony/conf.d/90-fairlead.conf\nreload chrony.service\n");
	scratch_leave();
	host_fini(&want);
}

static void test_no_time_service(void)
{
	struct host want = {.has = HOST_TIME, .time_enabled = true};

	begin();
	check_problem(&want, "neither systemd-timesyncd nor chrony is installed to keep the time");
	fake.units[HOST_SERVICE_TIMESYNCD] = (struct host_unit){true, true, false};
	fake.units[HOST_SERVICE_NTPSEC] = (struct host_unit){true, true, true};
	check_problem(&want, "ntpsec.service keeps the time, and only systemd-timesyncd and chrony are "
	                     "written for");
	fake.units[HOST_SERVICE_NTPSEC].active = false;
	host_add_text(&want.time_servers, "/dev/ptp0");
	check_problem(&want, "systemd-timesyncd cannot take the time from '/dev/ptp0': install chrony");
	scratch_leave();
	host_fini(&want);
}

static void test_service_refuses(void)
{
	struct hoststep step = {
	    .kind = HOSTSTEP_SERVICE, .service = HOST_SERVICE_CHRONY, .verb = HOST_VERB_RELOAD};
	AUTO(free) char *error = NULL;

	begin();
	fake.refuses = true;
	CHECK_EQ_INT(hoststep_carry_out(&machine, &step, &error), -EREMOTEIO);
	CHECK_EQ_STR(error, "cannot reload chrony.service: Job failed.");
	scratch_leave();
}

/* --- a checkpoint that is not ours --- */

static void test_bad_json(void)
{
	AUTO(hoststate_free) struct hoststate *have = NULL, *copy = NULL;
	json_t *json;

	begin();
	have = observe();
	json = hoststate_to_json(have);
	(void) json_object_set_new(json_array_get(json_object_get(json, "files"), 1), "path",
	                           json_string("/etc/shadow"));
	CHECK_EQ_INT(hoststate_from_json(json, &copy), -EBADMSG);
	json_decref(json);
	json = hoststate_to_json(have);
	(void) json_object_del(json, "services");
	CHECK_EQ_INT(hoststate_from_json(json, &copy), -EBADMSG);
	json_decref(json);
	CHECK(copy == NULL);
	scratch_leave();
}

int main(void)
{
	test_files();
	test_absent_files();
	test_foreign_meanwhile();
	test_changed_since_observed();
	test_others_resolv_conf();
	test_resolved();
	test_directory_in_use();
	test_services_asked();
	test_timesyncd();
	test_chrony();
	test_no_time_service();
	test_service_refuses();
	test_bad_json();
	return check_result();
}
