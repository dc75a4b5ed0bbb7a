/* SPDX-License-Identifier: Apache-2.0 */
/* What is remembered of the upstreams: on the disk over a restart, and by a new process. */
#include "tests/unit/sourcesworld.h"

static void verified(struct scene *scene, const char *word)
{
	struct endpoints_list list = list_of(word);

	sources_on_verified(scene->sources, &list.items[0]);
}

static bool disk_holds(const char *text)
{
	AUTO(free) char *path = xasprintf("%s/upstreams", directory);
	AUTO(free) char *data = NULL;
	size_t len;

	return file_read(path, 65536, &data, &len) == 0 && strstr(data, text) != NULL;
}

/* Names, members and EndpointSlices are configured, and a directory to remember in. */
static void init_remembering(struct scene *scene)
{
	scene_init(scene, NULL);
	scene->config.state_dir = directory;
	add_host(scene, "cp.example.org", 6443);
	scene->config.sources.members_file = file_path;
	scene->config.sources.kubeconfig = file_path;
}

static void forget(void)
{
	AUTO(free) char *path = xasprintf("%s/upstreams", directory);

	(void) unlink(path);
}

static void test_remembers_the_verified(void)
{
	struct scene scene;

	forget();
	init_remembering(&scene);
	scene_start(&scene);
	say(&scene, ENDPOINTS_SLICES, "10.99.0.1 10.99.0.2 10.99.0.3");
	say(&scene, ENDPOINTS_MEMBERS, "10.99.0.2");
	ev_run(ev, EVRUN_NOWAIT);
	verified(&scene, "10.99.0.1");
	verified(&scene, "10.99.0.2");
	scene_stop(&scene);
	CHECK(disk_holds("\nslices 10.99.0.1:6443\nmembers,slices 10.99.0.2:6443\n# 2 in all\n"));

	/* They stand in for each source until that one speaks. */
	init_remembering(&scene);
	scene_start(&scene);
	CHECK_EQ_STR(scene.upstreams, "10.99.0.1:6443(lastgood) 10.99.0.2:6443(lastgood)");
	CHECK_EQ_INT(sources_count(scene.sources, ENDPOINTS_LASTGOOD), 2);
	say(&scene, ENDPOINTS_DNS, "10.99.0.9");
	ev_run(ev, EVRUN_NOWAIT);
	CHECK_EQ_STR(scene.upstreams,
	             "10.99.0.1:6443(lastgood) 10.99.0.2:6443(lastgood) 10.99.0.9:6443(dns)");
	say(&scene, ENDPOINTS_SLICES, "10.99.0.3");
	ev_run(ev, EVRUN_NOWAIT);
	CHECK_EQ_STR(scene.upstreams,
	             "10.99.0.2:6443(lastgood) 10.99.0.3:6443(slices) 10.99.0.9:6443(dns)");
	say(&scene, ENDPOINTS_MEMBERS, "10.99.0.3");
	ev_run(ev, EVRUN_NOWAIT);
	CHECK_EQ_STR(scene.upstreams, "10.99.0.3:6443(members,slices) 10.99.0.9:6443(dns)");
	scene_stop(&scene);
	/* Nobody new was verified, so what was there last stays. */
	CHECK(disk_holds("\nmembers 10.99.0.2:6443\n# 1 in all"));
}

/* Restarts in which a source never speaks lose nothing, and one that was verified before need not
 * be verified again to be kept. */
static void test_remembers_the_silent(void)
{
	struct scene scene;

	forget();
	init_remembering(&scene);
	scene_start(&scene);
	say(&scene, ENDPOINTS_SLICES, "10.99.0.1");
	say(&scene, ENDPOINTS_MEMBERS, "10.99.0.2");
	ev_run(ev, EVRUN_NOWAIT);
	verified(&scene, "10.99.0.1");
	verified(&scene, "10.99.0.2");
	scene_stop(&scene);
	for (unsigned i = 0; i < 3; i++) {
		init_remembering(&scene);
		scene_start(&scene);
		say(&scene, ENDPOINTS_SLICES, "10.99.0.1 10.99.0.3");
		ev_run(ev, EVRUN_NOWAIT);
		CHECK_EQ_STR(scene.upstreams, "10.99.0.1:6443(slices) 10.99.0.2:6443(lastgood) "
		                              "10.99.0.3:6443(slices)");
		scene_stop(&scene);
		CHECK(disk_holds("\nslices 10.99.0.1:6443\nmembers 10.99.0.2:6443\n# 2 in all\n"));
	}
	/* A source that is not asked any more has nothing to be stood in for. */
	init_remembering(&scene);
	scene.config.sources.members_file = NULL;
	scene_start(&scene);
	CHECK_EQ_STR(scene.upstreams, "10.99.0.1:6443(lastgood)");
	say(&scene, ENDPOINTS_DNS, "10.99.0.4");
	ev_run(ev, EVRUN_NOWAIT);
	verified(&scene, "10.99.0.4");
	scene_stop(&scene);
	init_remembering(&scene);
	scene.config.sources.kubeconfig = NULL;
	scene_start(&scene);
	CHECK_EQ_STR(scene.upstreams, "10.99.0.4:6443(lastgood)");
	scene_stop(&scene);
	/* Addresses are no names. */
	init_remembering(&scene);
	(void) strcpy(scene.hosts[0].name, "10.99.0.8");
	scene_start(&scene);
	CHECK_EQ_STR(scene.upstreams, "10.99.0.8:6443(static)");
	scene_stop(&scene);
}

/* What the configuration says needs no memory; what the operator's file says needs one for when it
 * comes late, and no proof to be kept. */
static void test_remembers_the_file(void)
{
	struct scene scene;

	forget();
	replace("10.99.0.5\n10.99.0.6\n");
	init_remembering(&scene);
	scene.config.sources.file = file_path;
	add_host(&scene, "10.99.0.7", 6443);
	scene_start(&scene);
	say(&scene, ENDPOINTS_SLICES, "10.99.0.7");
	ev_run(ev, EVRUN_NOWAIT);
	scene_stop(&scene);
	CHECK(disk_holds("\nfile 10.99.0.5:6443\nfile 10.99.0.6:6443\n# 2 in all\n"));

	CHECK_EQ_INT(unlink(file_path), 0);
	init_remembering(&scene);
	scene.config.sources.file = file_path;
	scene_start(&scene);
	CHECK_EQ_STR(scene.upstreams, "10.99.0.5:6443(lastgood) 10.99.0.6:6443(lastgood)");
	replace("10.99.0.6\n");
	CHECK(wait_for(&scene, "10.99.0.6:6443(file)"));
	scene_stop(&scene);
	CHECK(disk_holds("\nfile 10.99.0.6:6443\n# 1 in all\n"));
}

static void test_remembers_nothing(void)
{
	AUTO(free) char *path = xasprintf("%s/upstreams", directory);
	struct scene scene;

	/* Damaged: said, ignored, and put right. */
	write_at(path, "\x01\x02 not ours");
	init_remembering(&scene);
	scene_start(&scene);
	CHECK_EQ_STR(scene.upstreams, "");
	CHECK(strstr(sources_error(scene.sources, ENDPOINTS_LASTGOOD), "not a whole list") != NULL);
	say(&scene, ENDPOINTS_SLICES, "10.99.0.1");
	ev_run(ev, EVRUN_NOWAIT);
	verified(&scene, "10.99.0.1");
	scene_stop(&scene);
	CHECK(disk_holds("slices 10.99.0.1:6443"));

	/* Without checks nothing could be verified. */
	init_remembering(&scene);
	scene.config.health.enabled = false;
	scene_start(&scene);
	CHECK_EQ_STR(scene.upstreams, "");
	scene_stop(&scene);
	forget();
}

static void inherit(struct scene *scene, const char *word, unsigned from)
{
	struct endpoints_list list = list_of(word);

	sources_inherit(scene->sources, &list.items[0], from);
}

static unsigned from_of(const struct scene *scene, const char *word)
{
	struct endpoints_list list = list_of(word);

	return sources_from(scene->sources, &list.items[0]) & ~ENDPOINTS_FROM(ENDPOINTS_LASTGOOD);
}

/* One process after the other, and no disk: nothing is lost, and each stands in for its own. */
static void test_inherits(void)
{
	static const unsigned dns = ENDPOINTS_FROM(ENDPOINTS_DNS);
	static const unsigned slices = ENDPOINTS_FROM(ENDPOINTS_SLICES);
	static const unsigned members = ENDPOINTS_FROM(ENDPOINTS_MEMBERS);
	struct scene scene;

	for (unsigned i = 0; i < 3; i++) {
		init_remembering(&scene);
		scene.config.state_dir = nowhere;
		CHECK_EQ_INT(sources_new(ev, &scene.config, on_changed, &scene, &scene.sources), 0);
		inherit(&scene, "10.99.0.1", slices);
		inherit(&scene, "10.99.0.2", slices | members);
		inherit(&scene, "10.99.0.3", dns);
		/* Nobody is asked about these any more. */
		inherit(&scene, "10.99.0.4", ENDPOINTS_FROM(ENDPOINTS_FILE));
		inherit(&scene, "10.99.0.5", ENDPOINTS_FROM(ENDPOINTS_STATIC));
		ev_run(ev, EVRUN_NOWAIT);
		CHECK_EQ_STR(scene.upstreams, "10.99.0.1:6443(lastgood) 10.99.0.2:6443(lastgood) "
		                              "10.99.0.3:6443(lastgood)");
		/* What the next process is to be told. */
		CHECK_EQ_INT(from_of(&scene, "10.99.0.2"), slices | members);
		say(&scene, ENDPOINTS_SLICES, "10.99.0.3");
		ev_run(ev, EVRUN_NOWAIT);
		CHECK_EQ_STR(scene.upstreams, "10.99.0.2:6443(lastgood) 10.99.0.3:6443(slices,lastgood)");
		CHECK_EQ_INT(from_of(&scene, "10.99.0.1"), 0);
		CHECK_EQ_INT(from_of(&scene, "10.99.0.2"), members);
		CHECK_EQ_INT(from_of(&scene, "10.99.0.3"), slices | dns);
		scene_stop(&scene);
	}
	/* With a disk: what was proved there is written here. */
	forget();
	init_remembering(&scene);
	CHECK_EQ_INT(sources_new(ev, &scene.config, on_changed, &scene, &scene.sources), 0);
	inherit(&scene, "10.99.0.1", slices);
	ev_run(ev, EVRUN_NOWAIT);
	scene_stop(&scene);
	CHECK(disk_holds("\nslices 10.99.0.1:6443\n# 1 in all\n"));
	/* Without checks nothing could be verified. */
	init_remembering(&scene);
	scene.config.state_dir = nowhere;
	scene.config.health.enabled = false;
	CHECK_EQ_INT(sources_new(ev, &scene.config, on_changed, &scene, &scene.sources), 0);
	inherit(&scene, "10.99.0.1", slices);
	ev_run(ev, EVRUN_NOWAIT);
	CHECK_EQ_STR(scene.upstreams, "");
	scene_stop(&scene);
	forget();
}

/* More than there is room for are verified, as addresses come and go: those in use are kept. */
static void test_verified_many(void)
{
	struct scene scene;

	forget();
	init_remembering(&scene);
	scene_start(&scene);
	for (unsigned i = 1; i <= 250; i++) {
		AUTO(free) char *words = xasprintf("10.99.0.254 10.99.1.%u", i);

		say(&scene, ENDPOINTS_SLICES, words);
		ev_run(ev, EVRUN_NOWAIT);
		if (i == 1)
			verified(&scene, "10.99.0.254");
		(void) snprintf(words, strlen(words) + 1, "10.99.1.%u", i);
		verified(&scene, words);
	}
	scene_stop(&scene);
	CHECK(disk_holds("\nslices 10.99.0.254:6443\nslices 10.99.1.250:6443\n# 2 in all\n"));
	forget();
}

static void forget_and_clean_up(void)
{
	forget();
	clean_up();
}

int main(void)
{
	static const patient_fn tests[] = {
	    test_remembers_the_verified,
	    test_remembers_the_silent,
	    test_remembers_the_file,
	    test_remembers_nothing,
	    test_inherits,
	    test_verified_many,
	};

	patiently(&(struct patient){.prepare = prepare, .finish = forget_and_clean_up}, 3, tests,
	          ARRAY_SIZE(tests));
	return check_result();
}
