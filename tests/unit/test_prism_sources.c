/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sources of upstreams: what is handed over when their files are written, replaced, emptied,
 * removed, or full of nonsense, and what the probe process adds. What is remembered of them is in
 * test_prism_sources_kept.c.
 */
#include "tests/unit/sourcesworld.h"

/* --- the stories --- */

static void test_configured(void)
{
	struct scene scene;

	scene_init(&scene, NULL);
	add_host(&scene, "10.99.0.2", 6443);
	add_host(&scene, "cp.example.org", 6443);
	add_host(&scene, "fd00:99::1", 7000);
	scene.config.sources.has_local = true;
	scene.config.sources.local = list_of("127.0.0.1").items[0];
	scene_start(&scene);
	CHECK_EQ_STR(scene.upstreams,
	             "10.99.0.2:6443(static) 127.0.0.1:6443(local)* [fd00:99::1]:7000(static)");
	CHECK_EQ_INT(sources_count(scene.sources, ENDPOINTS_STATIC), 2);
	CHECK_EQ_INT(sources_count(scene.sources, ENDPOINTS_LOCAL), 1);
	CHECK_EQ_INT(sources_count(scene.sources, ENDPOINTS_DNS), 0);
	CHECK_EQ_STR(sources_error(scene.sources, ENDPOINTS_STATIC), "");
	scene_stop(&scene);

	/* Nobody at all is a list too. */
	scene_init(&scene, NULL);
	scene_start(&scene);
	CHECK_EQ_STR(scene.upstreams, "");
	scene_stop(&scene);
}

static void test_file_changes(void)
{
	struct scene scene;

	write_in_place("10.99.0.1\n10.99.0.2:7000 # two\n");
	scene_init(&scene, file_path);
	scene_start(&scene);
	CHECK_EQ_STR(scene.upstreams, "10.99.0.1:6443(file) 10.99.0.2:7000(file)");

	write_in_place("10.99.0.3\n");
	CHECK(wait_for(&scene, "10.99.0.3:6443(file)"));
	replace("10.99.0.4\n10.99.0.5\n");
	CHECK(wait_for(&scene, "10.99.0.4:6443(file) 10.99.0.5:6443(file)"));
	/* Doubles, comments and white space are no change. */
	replace("# new\n10.99.0.5:6443\n10.99.0.4\n\n  10.99.0.5\t\n10.99.0.4\n");
	check_nothing_changes(&scene);
	CHECK_EQ_STR(sources_error(scene.sources, ENDPOINTS_FILE), "");
	CHECK_EQ_INT(sources_count(scene.sources, ENDPOINTS_FILE), 2);
	scene_stop(&scene);
}

static void test_file_is_not_given_up(void)
{
	static const struct {
		const char *text;
		const char *error;
	} cases[] = {
	    {"", "names no address"},
	    {"# all gone\n\n", "names no address"},
	    {"garbage\nmore of it\n", "names no address"},
	    {"0.0.0.0\n[::]:6443\n", "names no address"},
	};
	struct scene scene;

	write_in_place("10.99.0.1\n");
	scene_init(&scene, file_path);
	scene_start(&scene);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		replace(cases[i].text);
		CHECK(wait_for_error(&scene, ENDPOINTS_FILE, cases[i].error));
		check_nothing_changes(&scene);
		CHECK_EQ_STR(scene.upstreams, "10.99.0.1:6443(file)");
		CHECK_EQ_INT(sources_count(scene.sources, ENDPOINTS_FILE), 1);
		replace("10.99.0.1\n");
		CHECK(TURN_UNTIL(ev, *sources_error(scene.sources, ENDPOINTS_FILE) == '\0'));
	}

	/* Removed, a FIFO in its place (which must not hold anybody up), a directory, and back. */
	CHECK_EQ_INT(unlink(file_path), 0);
	CHECK(wait_for_error(&scene, ENDPOINTS_FILE, "No such file"));
	CHECK_EQ_INT(mkfifo(file_path, 0644), 0);
	CHECK(wait_for_error(&scene, ENDPOINTS_FILE, "not a regular file"));
	CHECK_EQ_INT(unlink(file_path), 0);
	CHECK(wait_for_error(&scene, ENDPOINTS_FILE, "No such file"));
	CHECK_EQ_INT(mkdir(file_path, 0755), 0);
	CHECK(wait_for_error(&scene, ENDPOINTS_FILE, "not a regular file"));
	CHECK_EQ_INT(rmdir(file_path), 0);
	CHECK_EQ_STR(scene.upstreams, "10.99.0.1:6443(file)");
	CHECK_EQ_INT(scene.calls, 1);
	write_in_place("10.99.0.2\n");
	CHECK(wait_for(&scene, "10.99.0.2:6443(file)"));
	CHECK_EQ_STR(sources_error(scene.sources, ENDPOINTS_FILE), "");
	scene_stop(&scene);
}

static void test_file_partly_wrong(void)
{
	AUTO(free) char *many = xcalloc(10000, 32);
	struct scene scene;
	size_t len = 0;

	write_in_place("10.99.0.1\ncp1.example.org\nhttps://10.99.0.2\n10.99.0.3\n");
	scene_init(&scene, file_path);
	scene_start(&scene);
	CHECK_EQ_STR(scene.upstreams, "10.99.0.1:6443(file) 10.99.0.3:6443(file)");
	CHECK(strstr(sources_error(scene.sources, ENDPOINTS_FILE), "line 2 is not an address") != NULL);

	for (unsigned i = 0; i < 10000; i++)
		len +=
		    (size_t) sprintf(many + len, "10.%u.%u.%u\n", 100 + i / 2500, i / 50 % 50, i % 50 + 1);
	replace(many);
	CHECK(wait_for_error(&scene, ENDPOINTS_FILE, "line 65 is wrong, or one of more than 64"));
	turn_for(ev, SETTLE_US);
	CHECK_EQ_INT(scene.merged.n, ENDPOINTS_MAX);
	CHECK_EQ_INT(scene.merged.n_dropped, 0);
	scene_stop(&scene);
}

/* A byte of zero hides nothing behind it. */
static void test_file_zero_byte(void)
{
	static const char text[] = "10.99.0.1\n10.99.0.2\0\n10.99.0.3\n";
	struct scene scene;

	CHECK_EQ_INT(file_write_atomic(file_path, text, sizeof(text) - 1, 0644, FILE_VOLATILE), 0);
	scene_init(&scene, file_path);
	scene_start(&scene);
	CHECK_EQ_STR(scene.upstreams, "10.99.0.1:6443(file) 10.99.0.3:6443(file)");
	CHECK(strstr(sources_error(scene.sources, ENDPOINTS_FILE), "line 2") != NULL);
	scene_stop(&scene);
}

static void test_file_too_long(void)
{
	size_t len = 1024 * 1024 + 1;
	AUTO(free) char *text = xcalloc(1, len + 1);
	struct scene scene;

	memset(text, '\n', len);
	memcpy(text, "10.99.0.1\n", 10);
	replace(text);
	scene_init(&scene, file_path);
	scene_start(&scene);
	CHECK_EQ_STR(scene.upstreams, "");
	CHECK(strstr(sources_error(scene.sources, ENDPOINTS_FILE), "longer than 1 MiB") != NULL);
	scene_stop(&scene);
}

/* A file that names prism: alone it is not taken, with others it is left out. */
static void test_file_names_prism(void)
{
	struct scene scene;

	replace("10.99.0.1\n");
	scene_init(&scene, file_path);
	scene_start(&scene);
	replace("127.0.0.1:7445\n");
	turn_for(ev, SETTLE_US);
	CHECK_EQ_INT(sources_count(scene.sources, ENDPOINTS_FILE), 1);
	CHECK_EQ_INT(scene.calls, 1);
	CHECK_EQ_STR(scene.upstreams, "10.99.0.1:6443(file)");
	replace("127.0.0.1:7445\n10.99.0.2\n");
	CHECK(wait_for(&scene, "10.99.0.2:6443(file)"));
	CHECK_EQ_INT(scene.merged.n_loops, 1);
	scene_stop(&scene);
}

/* On all addresses it listens on the real ones of this machine as well. */
static void test_own_addresses(void)
{
	struct ifaddrs *all = NULL;
	struct scene scene;
	unsigned own = 0;

	CHECK_EQ_INT(getifaddrs(&all), 0);
	for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
		struct endpoint e;
		char text[ENDPOINT_TEXT_MAX];

		if (i->ifa_addr == NULL || endpoint_from_sockaddr(i->ifa_addr, &e) < 0)
			continue;
		e.port = 7445;
		if (!endpoints_can_dial(&e))
			continue;
		own++;
		scene_init(&scene, NULL);
		scene.config.listen[0].addr = (struct addr){AF_INET, {0}};
		(void) addr_format(&e.addr, text);
		add_host(&scene, text, 7445);
		add_host(&scene, "10.99.0.1", 7445);
		scene_start(&scene);
		CHECK_EQ_STR(scene.upstreams, "10.99.0.1:7445(static)");
		scene_stop(&scene);

		/* And with the port of the local API server they are that. */
		scene_init(&scene, NULL);
		scene.config.sources.has_local = true;
		scene.config.sources.local = list_of("127.0.0.1").items[0];
		add_host(&scene, text, 6443);
		scene_start(&scene);
		CHECK_EQ_STR(scene.upstreams, "127.0.0.1:6443(static,local)*");
		scene_stop(&scene);
	}
	CHECK(own > 0);
	freeifaddrs(all);
}

/* Directory and file come long after prism; the directory is removed and made anew. */
static void test_file_comes_late(void)
{
	char late_directory[128], late_path[160];
	struct scene scene;

	(void) snprintf(late_directory, sizeof(late_directory), "%s/late", directory);
	(void) snprintf(late_path, sizeof(late_path), "%s/upstreams", late_directory);
	scene_init(&scene, late_path);
	scene_start(&scene);
	CHECK_EQ_STR(scene.upstreams, "");
	CHECK(strstr(sources_error(scene.sources, ENDPOINTS_FILE), "No such file") != NULL);
	for (unsigned i = 1; i <= 2; i++) {
		char text[64], want[64];
		int64_t begin_us;

		(void) snprintf(text, sizeof(text), "10.99.0.%u\n", i);
		(void) snprintf(want, sizeof(want), "10.99.0.%u:6443(file)", i);
		CHECK_EQ_INT(mkdir(late_directory, 0755), 0);
		write_at(late_path, text);
		CHECK(wait_for(&scene, want));
		/* From now on by events. */
		begin_us = mono_now_us();
		write_at(late_path, "10.99.0.9\n");
		CHECK(wait_for(&scene, "10.99.0.9:6443(file)"));
		CHECK(mono_now_us() - begin_us < US_PER_S);
		CHECK_EQ_INT(unlink(late_path), 0);
		CHECK_EQ_INT(rmdir(late_directory), 0);
		CHECK(wait_for_error(&scene, ENDPOINTS_FILE, "No such file"));
	}
	CHECK_EQ_STR(scene.upstreams, "10.99.0.9:6443(file)");
	scene_stop(&scene);
}

/* As kubelet does it: upstreams -> ..data/upstreams, ..data -> ..1, and ..data replaced. */
static void test_file_of_configmap(void)
{
	char volume[128], link_path[160];
	struct scene scene;

	(void) snprintf(volume, sizeof(volume), "%s/volume", directory);
	(void) snprintf(link_path, sizeof(link_path), "%s/upstreams", volume);
	CHECK_EQ_INT(mkdir(volume, 0755), 0);
	for (unsigned i = 1; i <= 4; i++) {
		AUTO(free) char *version = xasprintf("%s/..%u", volume, i);
		AUTO(free) char *name = xasprintf("..%u", i);
		AUTO(free) char *path = xasprintf("%s/upstreams", version);
		AUTO(free) char *new_data = xasprintf("%s/..data_tmp", volume);
		AUTO(free) char *data = xasprintf("%s/..data", volume);
		AUTO(free) char *text = xasprintf("10.99.0.%u\n", i);
		AUTO(free) char *want = xasprintf("10.99.0.%u:6443(file)", i);
		int64_t begin_us;

		CHECK_EQ_INT(mkdir(version, 0755), 0);
		write_at(path, text);
		CHECK_EQ_INT(symlink(name, new_data), 0);
		CHECK_EQ_INT(rename(new_data, data), 0);
		if (i == 1) {
			CHECK_EQ_INT(symlink("..data/upstreams", link_path), 0);
			scene_init(&scene, link_path);
			scene_start(&scene);
			CHECK_EQ_STR(scene.upstreams, want);
			continue;
		}
		begin_us = mono_now_us();
		CHECK(wait_for(&scene, want));
		/* By events, not by the regular look. */
		CHECK(mono_now_us() - begin_us < US_PER_S);
	}
	scene_stop(&scene);

	for (unsigned i = 1; i <= 4; i++) {
		AUTO(free) char *version = xasprintf("%s/..%u", volume, i);
		AUTO(free) char *path = xasprintf("%s/upstreams", version);

		(void) unlink(path);
		(void) rmdir(version);
	}
	(void) unlink(link_path);
	(void) snprintf(link_path, sizeof(link_path), "%s/..data", volume);
	(void) unlink(link_path);
	CHECK_EQ_INT(rmdir(volume), 0);
}

/* Behind a link into another directory, and written in place there; then into another one. */
static void test_file_behind_link(void)
{
	char elsewhere[2][128], target[2][160];
	struct scene scene;

	for (unsigned i = 0; i < 2; i++) {
		(void) snprintf(elsewhere[i], sizeof(elsewhere[i]), "%s/elsewhere%u", directory, i);
		(void) snprintf(target[i], sizeof(target[i]), "%s/list", elsewhere[i]);
		CHECK_EQ_INT(mkdir(elsewhere[i], 0755), 0);
		write_at(target[i], "10.99.0.1\n");
	}
	(void) unlink(file_path);
	CHECK_EQ_INT(symlink(target[0], file_path), 0);
	scene_init(&scene, file_path);
	scene_start(&scene);
	CHECK_EQ_STR(scene.upstreams, "10.99.0.1:6443(file)");
	for (unsigned i = 0; i < 2; i++) {
		AUTO(free) char *text = xasprintf("10.99.0.%u\n", i + 2);
		AUTO(free) char *want = xasprintf("10.99.0.%u:6443(file)", i + 2);
		int64_t begin_us = mono_now_us();

		write_at(target[i], text);
		CHECK(wait_for(&scene, want));
		CHECK(mono_now_us() - begin_us < US_PER_S);
		CHECK_EQ_INT(unlink(file_path), 0);
		CHECK_EQ_INT(symlink(target[1], file_path), 0);
		turn_for(ev, SETTLE_US);
	}
	scene_stop(&scene);
	for (unsigned i = 0; i < 2; i++) {
		CHECK_EQ_INT(unlink(target[i]), 0);
		CHECK_EQ_INT(rmdir(elsewhere[i]), 0);
	}
	CHECK_EQ_INT(unlink(file_path), 0);
}

static void count_change(void *userdata)
{
	++*(unsigned *) userdata;
}

/* What happens to others in the directory is no change, and where nothing happens nobody wakes. */
static void test_filewatch_strangers(void)
{
	AUTO(free) char *stranger = xasprintf("%s/stranger", directory);
	AUTO(filewatch_free) struct filewatch *watch = NULL;
	unsigned changes = 0, turns;
	ev_timer wake;

	write_in_place("10.99.0.1\n");
	watch = filewatch_new(ev, file_path, count_change, &changes);
	write_at(stranger, "10.99.0.1\n");
	CHECK_EQ_INT(unlink(stranger), 0);
	turn_for(ev, SETTLE_US);
	CHECK_EQ_INT(changes, 0);
	write_in_place("10.99.0.2\n");
	CHECK(TURN_UNTIL(ev, changes > 0));
	turn_for(ev, SETTLE_US);
	CHECK_EQ_INT(changes, 1);

	turns = ev_iteration(ev);
	ev_timer_init(&wake, turn_wake_cb, mono_to_ev(US_PER_S), 0.);
	ev_timer_start(ev, &wake);
	while (ev_is_active(&wake))
		ev_run(ev, EVRUN_ONCE);
	CHECK(ev_iteration(ev) - turns < 5);
}

/* A file that is written slowly is read when it rests, not in the middle. */
static void test_file_written_slowly(void)
{
	struct scene scene;
	int fd;

	write_in_place("10.99.0.9\n");
	scene_init(&scene, file_path);
	scene_start(&scene);
	for (unsigned i = 1; i <= 4; i++) {
		AUTO(free) char *line = xasprintf("10.99.0.%u\n", i);

		fd = open(file_path, O_WRONLY | O_CLOEXEC | (i == 1 ? O_TRUNC : O_APPEND));
		CHECK_EQ_INT(write(fd, line, strlen(line)), strlen(line));
		(void) close(fd);
		turn_for(ev, 30 * US_PER_MS);
	}
	CHECK(wait_for(&scene, "10.99.0.1:6443(file) 10.99.0.2:6443(file) 10.99.0.3:6443(file) "
	                       "10.99.0.4:6443(file)"));
	CHECK_EQ_INT(scene.calls, 2);
	scene_stop(&scene);
}

static void test_update(void)
{
	struct scene scene;

	scene_init(&scene, NULL);
	add_host(&scene, "10.99.0.1", 6443);
	scene_start(&scene);
	/* Several in one turn are one change. */
	say(&scene, ENDPOINTS_DNS, "10.99.0.2");
	say(&scene, ENDPOINTS_MEMBERS, "10.99.0.1 10.99.0.2");
	say(&scene, ENDPOINTS_SLICES, "10.99.0.2 10.99.0.3");
	CHECK_EQ_INT(scene.calls, 1);
	ev_run(ev, EVRUN_NOWAIT);
	CHECK_EQ_INT(scene.calls, 2);
	CHECK_EQ_STR(scene.upstreams, "10.99.0.1:6443(static,members) "
	                              "10.99.0.2:6443(dns,members,slices) 10.99.0.3:6443(slices)");
	/* The same again is none. */
	say(&scene, ENDPOINTS_SLICES, "10.99.0.3 10.99.0.2");
	ev_run(ev, EVRUN_NOWAIT);
	CHECK_EQ_INT(scene.calls, 2);
	/* Nobody is never taken. */
	say(&scene, ENDPOINTS_SLICES, "");
	ev_run(ev, EVRUN_NOWAIT);
	CHECK_EQ_INT(scene.calls, 2);
	CHECK_EQ_INT(sources_count(scene.sources, ENDPOINTS_SLICES), 2);
	CHECK_EQ_STR(sources_error(scene.sources, ENDPOINTS_SLICES),
	             "names nobody: the last list stays");
	say(&scene, ENDPOINTS_SLICES, "10.99.0.2");
	ev_run(ev, EVRUN_NOWAIT);
	CHECK_EQ_INT(scene.calls, 3);
	CHECK_EQ_STR(sources_error(scene.sources, ENDPOINTS_SLICES), "");
	CHECK_EQ_STR(scene.upstreams,
	             "10.99.0.1:6443(static,members) 10.99.0.2:6443(dns,members,slices)");
	scene_stop(&scene);
}

int main(void)
{
	static const patient_fn tests[] = {
	    test_configured,          test_file_changes,     test_file_is_not_given_up,
	    test_file_partly_wrong,   test_file_zero_byte,   test_file_too_long,
	    test_file_names_prism,    test_own_addresses,    test_file_comes_late,
	    test_file_of_configmap,   test_file_behind_link, test_filewatch_strangers,
	    test_file_written_slowly, test_update,
	};

	patiently(&(struct patient){.prepare = prepare, .finish = clean_up}, 3, tests,
	          ARRAY_SIZE(tests));
	return check_result();
}
