/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the goldens cannot show: values that are not printed as they are, what a machine without
 * tzdata does, several files, checksums of recipients, and that the documentation names every key
 * of the tables. Runs in the root of the source tree.
 */
#include "etcdwatch/config/config.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/config/config_priv.h"
#include "tests/unit/check.h"
#include "tests/unit/confdocs.h"

#define JOB "---\napiVersion: fairlead/v1\nkind: EtcdSnapshotConfig\n"
#define HOURLY JOB "name: hourly\nschedule: '@hourly'\n"
#define ALICE "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
#define STORE "{name: store, endpoint: https://s3.example.org, bucket: etcd, credentialsFile: /c}"

static bool all_exist(const char *path UNUSED)
{
	return true;
}

static void keep_message(const char *message, void *userdata)
{
	char **last = userdata;

	free(*last);
	*last = xstrdup(message);
}

static struct config *load_from(const char *text, const char *zone_directory)
{
	struct config_env env = {"n1", all_exist, zone_directory};
	struct config *config = NULL;
	AUTO(free) char *last = NULL;

	if (!CHECK_EQ_INT(
	        config_load_text("test", text, strlen(text), &env, keep_message, &last, &config), 0)) {
		(void) fprintf(stderr, "  %s\n", last);
		exit(1);
	}
	return config;
}

static void test_defaults(void)
{
	AUTO(config_free) struct config *c = load_from(HOURLY, NULL);
	const struct config_job *job = &c->jobs[0];

	CHECK_EQ_STR(c->node_name, "n1");
	CHECK(c->etcd.is_default);
	CHECK_EQ_STR(c->etcd.endpoints[0], "https://127.0.0.1:2379");
	CHECK_EQ_INT(c->n_jobs, 1);
	CHECK_EQ_STR(job->name, "hourly");
	CHECK_EQ_STR(job->schedule.text, "@hourly");
	CHECK_EQ_STR(job->time_zone, "UTC");
	CHECK_EQ_INT(zone_span_at(job->zone, 1700000000).offset_s, 0);
	CHECK_EQ_INT(job->jitter_us, 0);
	CHECK(job->catch_up && job->verify_hashkv && !job->encrypted && !job->drill.enabled);
	CHECK_EQ_STR(job->directory, "/var/lib/fairlead/etcdwatch/hourly");
	CHECK_EQ_INT(job->taker, CONFIG_TAKER_ELECTED);
	CHECK(job->retention.last == 12 && job->retention.hourly == 0 && job->retention.daily == 7 &&
	      job->retention.weekly == 4 && job->retention.monthly == 0);
	CHECK_EQ_INT(job->compression, CONFIG_COMPRESSION_ZSTD);
	CHECK_EQ_INT(job->compression_level, 3);
	CHECK_EQ_INT(job->reserve_bytes, 1 << 30);
	CHECK(job->recipients.n == 0 && job->recipients_file == NULL);
	CHECK(job->extra_files.n == 0 && job->n_targets == 0);
	CHECK_EQ_INT(job->no_progress_us, 30 * US_PER_S);
	CHECK_EQ_STR(job->origin, "test:2");
	CHECK_EQ_INT(c->notes.n, 0);
}

static void test_finding(void)
{
	AUTO(config_free)
	struct config *c =
	    load_from(HOURLY "encryption: {recipients: [" ALICE "]}\ntargets: [" STORE "]\n"
	                     "timeZone: Asia/Kolkata\n"
	                     "drill: {schedule: 0 5 * * sun, source: store, identityFile: /i}\n" JOB
	                     "name: nightly\nschedule: 0 3 * * *\n",
	              NULL);
	const struct config_job *job = &c->jobs[0];

	CHECK(strcmp(job->name, "hourly") == 0 && strcmp(c->jobs[1].name, "nightly") == 0);
	CHECK(config_find_target(job, "store") == &job->targets[0]);
	CHECK(config_find_target(job, "other") == NULL);
	CHECK(job->drill.source == &job->targets[0]);
	CHECK_EQ_INT(zone_span_at(job->zone, 1700000000).offset_s, 19800);
	CHECK_EQ_INT(schedule_next(&job->drill.schedule, job->zone, 1795293000), 1795303800);
}

/* Only jobs that name another zone need tzdata. */
static void test_without_tzdata(void)
{
	static const char berlin[] = HOURLY "timeZone: Europe/Berlin\n";
	struct config_env env = {"n1", all_exist, "/nonexistent"};
	struct config *config = NULL;
	AUTO(free) char *last = NULL;

	config_free(load_from(HOURLY, "/nonexistent"));
	config_free(load_from(HOURLY "timeZone: UTC\n", "/nonexistent"));
	CHECK_EQ_INT(
	    config_load_text("test", berlin, strlen(berlin), &env, keep_message, &last, &config),
	    -EINVAL);
	CHECK_EQ_STR(last, "test:6:11: EtcdSnapshotConfig.timeZone: is a time zone that this system "
	                   "does not know: 'Europe/Berlin' (such as Europe/Berlin; they are in "
	                   "/usr/share/zoneinfo)");
}

static void test_notes(void)
{
	static const struct {
		const char *text;
		const char *note; /* NULL: none */
	} cases[] = {
	    {"", "no job is configured: there is nothing to take"},
	    {HOURLY "encryption: {recipientsFile: /r}\ntargets: [" STORE "]\n", NULL},
	    {HOURLY "targets: [" STORE "]\n",
	     "snapshots of the job 'hourly' leave this node unencrypted, with every Secret of the "
	     "cluster in them (add an encryption section)"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(config_free) struct config *c = load_from(cases[i].text, NULL);

		CHECK_EQ_INT(c->notes.n, cases[i].note != NULL);
		CHECK_EQ_STR(c->notes.n > 0 ? c->notes.items[0] : NULL, cases[i].note);
	}
}

/* --- several files --- */

static void write_file(const char *path, const char *text)
{
	CHECK(file_write_atomic(path, text, strlen(text), 0600, FILE_VOLATILE) >= 0);
}

static void append_message(const char *message, void *userdata)
{
	(void) fprintf(userdata, "%s\n", message);
}

static void test_files(void)
{
	static const char *const paths[] = {"one.yaml", "two.yaml"};
	struct config_env env = {.hostname = "n1", .file_exists = all_exist};
	char directory[] = "/tmp/fairlead-test-XXXXXX";
	AUTO(free) char *back = getcwd(NULL, 0);
	AUTO(free) char *messages = NULL;
	struct config *config = NULL;
	size_t len;
	FILE *out = open_memstream(&messages, &len);

	if (!CHECK(mkdtemp(directory) != NULL) || !CHECK(chdir(directory) == 0))
		return;
	write_file("one.yaml", HOURLY JOB "name: big\nschedule: '@daily'\nreserve: all\n");
	write_file("two.yaml", HOURLY);
	CHECK_EQ_INT(config_load_env(paths, 2, &env, append_message, out, &config), -EINVAL);
	(void) fclose(out);
	CHECK_EQ_STR(messages,
	             "one.yaml:11:10: EtcdSnapshotConfig.reserve: is not a size in whole units: 'all' "
	             "(such as 1GiB, 500MiB or 20GB)\n"
	             "two.yaml:4:7: EtcdSnapshotConfig.name: is the name of two jobs, first at "
	             "one.yaml:2: 'hourly'\n");
	write_file("two.yaml", JOB "name: nightly\nschedule: '@daily'\n");
	write_file("one.yaml", HOURLY);
	CHECK_EQ_INT(config_load_env(paths, 2, &env, NULL, NULL, &config), 0);
	if (CHECK(config != NULL)) {
		CHECK_EQ_STR(config->jobs[1].origin, "two.yaml:2");
		config_free(config);
	}
	CHECK(unlink("one.yaml") == 0 && unlink("two.yaml") == 0);
	CHECK(chdir(back) == 0 && rmdir(directory) == 0);
}

/* --- recipients --- */

/* Each letter that is wrong, and each two that changed places, are seen. */
static void test_checksum(void)
{
	/* BIP 173's own. */
	static const char *const good[] = {
	    "a12uel5l",
	    "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw",
	    "split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w",
	    ALICE,
	};
	static const char *const bad[] = {
	    "",
	    "1",
	    "a1",
	    "1nwldj5",
	    "10a06t8",
	    "pzry9x0s0muk",
	    "1pzry9x0s0muk",
	    "x1b4n0q5v",
	    "li1dgmt3",
	    "A1G7SGD8",
	    "A12UEL5L",
	    "\0331axkwrx",
	    "a12uel5l ",
	    "a12ueL5l",
	};
	char text[] = ALICE;
	size_t name_len = 0;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		if (!CHECK(bech32_is_good(good[i], &name_len)))
			(void) fprintf(stderr, "  for '%s'\n", good[i]);
	}
	CHECK_EQ_INT(name_len, 3);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (!CHECK(!bech32_is_good(bad[i], &name_len)))
			(void) fprintf(stderr, "  for '%s'\n", bad[i]);
	}
	for (size_t i = 0; i < strlen(text); i++) {
		for (char c = '0'; c <= 'z'; c++) {
			char before = text[i];

			text[i] = c;
			CHECK_EQ_INT(bech32_is_good(text, &name_len), c == before);
			text[i] = before;
		}
	}
	for (size_t i = 4; i + 1 < strlen(text); i++) {
		char left = text[i];

		text[i] = text[i + 1];
		text[i + 1] = left;
		CHECK_EQ_INT(bech32_is_good(text, &name_len), text[i] == left);
		text[i + 1] = text[i];
		text[i] = left;
	}
}

/* --- documentation --- */

/* The examples of docs/config.md are configurations. */
static void test_examples(void)
{
	static const char begin[] = "```yaml\n", end[] = "```";
	AUTO(free) char *page = NULL;
	unsigned n = 0;
	size_t len;

	if (!CHECK(file_read("docs/config.md", 1 << 20, &page, &len) >= 0))
		return;
	for (char *at = strstr(page, begin), *stop; at != NULL; at = strstr(stop + 1, begin)) {
		at += strlen(begin);
		stop = strstr(at, end);
		if (!CHECK(stop != NULL))
			return;
		*stop = '\0';
		if (strstr(at, "kind: EtcdSnapshotConfig") == NULL)
			continue;
		config_free(load_from(at, NULL));
		n++;
	}
	CHECK(n >= 2);
}

static void add_sentence(const char *sentence, void *userdata)
{
	char **all = userdata;
	char *more = xasprintf("%s%s\n", *all != NULL ? *all : "", sentence);

	free(*all);
	*all = more;
}

/* Every file that is named for later, but for those of etcd itself, and of a drill that is not. */
static void test_files_named(void)
{
	static const char text[] = JOB
	    "name: a\nschedule: '@hourly'\nencryption: {recipientsFile: %s/none/r}\n"
	    "drill: {schedule: '@daily', identityFile: %s/none/i}\n"
	    "targets:\n"
	    "  - {name: keys, type: s3, endpoint: https://s3.example.org, bucket: etcd, caFile: "
	    "%s/empty,"
	    " accessKeyFile: %s/none/k, secretKeyFile: %s/good, sessionTokenFile: %s}\n"
	    "  - {name: file, type: s3, endpoint: https://s3.example.org, bucket: etcd, prefix: x/,"
	    " credentialsFile: %s/none/c}\n"
	    "---\napiVersion: fairlead/v1\nkind: EtcdWatchConfig\n"
	    "notify: {urlFile: %s/none/u, secretFile: %s/none/s, caFile: %s/good, certFile: %s/none/p,"
	    " keyFile: %s/none/q}\n";
	char directory[] = "/tmp/fairlead-test-XXXXXX";
	AUTO(free) char *whole = NULL;
	AUTO(free) char *said = NULL;
	AUTO(free) char *want = NULL;
	AUTO(free) char *good = NULL;
	AUTO(free) char *empty = NULL;
	const char *d = mkdtemp(directory);

	CHECK(d != NULL);
	good = xasprintf("%s/good", d);
	empty = xasprintf("%s/empty", d);
	CHECK_EQ_INT(file_write_atomic(good, "x", 1, 0600, FILE_VOLATILE), 0);
	CHECK_EQ_INT(file_write_atomic(empty, "", 0, 0600, FILE_VOLATILE), 0);
	whole = xasprintf(text, d, d, d, d, d, d, d, d, d, d, d, d);
	{
		AUTO(config_free) struct config *c = load_from(whole, NULL);

		config_look_at_files(c, add_sentence, &said);
	}
#define NONE "cannot be read: No such file or directory\n"
	want = xasprintf("job a: recipientsFile: '%s/none/r' " NONE
	                 "job a: identityFile: '%s/none/i' " NONE
	                 "job a, target keys: caFile: '%s/empty' is empty\n"
	                 "job a, target keys: accessKeyFile: '%s/none/k' " NONE
	                 "job a, target keys: sessionTokenFile: '%s' cannot be read: Is a directory\n"
	                 "job a, target file: credentialsFile: '%s/none/c' " NONE
	                 "notify: urlFile: '%s/none/u' " NONE "notify: secretFile: '%s/none/s' " NONE
	                 "notify: certFile: '%s/none/p' " NONE "notify: keyFile: '%s/none/q' " NONE,
	                 d, d, d, d, d, d, d, d, d, d);
	CHECK_EQ_STR(said, want);
	CHECK(unlink(good) == 0 && unlink(empty) == 0 && rmdir(d) == 0);
}

/* What `fairlead etcd restore` reads of the targets: a place that two jobs share, and others. */
static void test_jobs(void)
{
	static const char text_of_two[] =
	    HOURLY "targets: [" STORE ", {name: b, endpoint: https://s3.example.org, bucket: other,\n"
	           " credentialsFile: /c}]\n" JOB "name: daily\nschedule: '@daily'\n"
	           "targets: [{name: c, endpoint: https://s3.example.org, bucket: etcd, prefix: x/,\n"
	           " credentialsFile: /c}, {name: d, endpoint: https://s3.example.org, bucket: etcd,\n"
	           " credentialsFile: /d}]\n";
	AUTO(config_free) struct config *c = load_from(text_of_two, NULL);
	AUTO(free) char *text = NULL, *said = xstrdup("");
	size_t len;
	FILE *out = open_memstream(&text, &len);
	json_error_t error;

	CHECK(out != NULL);
	config_print_jobs(c, NULL, out);
	CHECK_EQ_INT(fclose(out), 0);
	for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
		json_t *job = json_loads(line, 0, &error);
		const json_t *targets = json_object_get(job, "targets");

		for (size_t i = 0; i < json_array_size(targets); i++) {
			const json_t *target = json_array_get(targets, i);
			AUTO(free) char *before = said;

			said =
			    xasprintf("%s%s %s, ", before, json_string_value(json_object_get(target, "name")),
			              json_is_true(json_object_get(target, "shared")) ? "shared" : "alone");
		}
		json_decref(job);
	}
	CHECK_EQ_STR(said, "store shared, b alone, c alone, d shared, ");
}

int main(void)
{
	test_files_named();
	test_defaults();
	test_finding();
	test_without_tzdata();
	test_notes();
	test_files();
	test_checksum();
	test_jobs();
	test_examples();
	confdocs_check(config_kinds, 60);
	return check_result();
}
