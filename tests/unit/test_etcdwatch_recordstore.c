/* SPDX-License-Identifier: Apache-2.0 */
/* The record's copy in one target, with a worker that is a script: what it is told to do, what is
 * said of the target, and what follows a failure. */
#include "etcdwatch/recordstore/recordstore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/catalog/catalog.h"
#include "tests/unit/check.h"
#include "tests/unit/scratch.h"
#include "tests/unit/turn.h"

#define WORDS_MAX 8192

static struct recordwriter_figures figures;
static int64_t oldest;
static char *worker, *told;

static struct recordwriter_figures figures_cb(void *userdata UNUSED)
{
	return figures;
}

static bool oldest_cb(const struct config_job *job UNUSED,
                      const struct config_target *target UNUSED, uint64_t *ret_cluster_id,
                      int64_t *ret_revision, void *userdata UNUSED)
{
	*ret_cluster_id = 0xc1;
	*ret_revision = oldest;
	return oldest > 0;
}

/* What the script says, after it has written its words down. */
static void worker_says(const char *lines, int code)
{
	AUTO(free)
	char *script = xasprintf("#!/bin/sh\necho \"$@\" >>%s\ncat <<'END'\n%s\nEND\nexit %d\n", told,
	                         lines, code);

	CHECK_EQ_INT(file_write_atomic(worker, script, strlen(script), 0700, FILE_VOLATILE), 0);
}

/* How often it was told that, since the last time that it was asked. */
static unsigned n_told(const char *words)
{
	AUTO(free) char *text = NULL;
	size_t len = 0;
	unsigned n = 0;

	if (file_read(told, WORDS_MAX, &text, &len) < 0)
		return 0;
	for (const char *at = strstr(text, words); at != NULL; at = strstr(at + 1, words))
		n++;
	return n;
}

static char *recipients[] = {(char[]){"age1x"}};
static const struct config_job job = {.name = (char[]){"hourly"},
                                      .compression = CONFIG_COMPRESSION_ZSTD,
                                      .compression_level = 5,
                                      .encrypted = true,
                                      .recipients = {.items = recipients, .n = 1}};
static struct config_owner owner = {.node = "cp-1"};
static struct config_target target = {.name = (char[]){"s3"},
                                      .endpoint = (char[]){"http://127.0.0.1:1"},
                                      .bucket = (char[]){"b"},
                                      .prefix = (char[]){"a/"},
                                      .region = (char[]){"r"}};

static struct recordstore *make(void)
{
	static const struct recordstore_callbacks callbacks = {figures_cb, oldest_cb};

	return recordstore_new(&(struct recordstore_options){
	    .ev = EV_DEFAULT,
	    .job = &job,
	    .target = &target,
	    .worker = worker,
	    .node = "cp-1",
	    .directory = "/r",
	    .signing_key = "/k",
	    .signed_by = "ed25519:p",
	    .every_us = US_PER_S / 10,
	    .callbacks = &callbacks,
	});
}

static struct recordstore_report report_of(const struct recordstore *store)
{
	struct recordstore_report report;

	recordstore_fill_report(store, &report);
	return report;
}

static void reach(int64_t revision, uint64_t bytes)
{
	figures.n_segments = 1;
	figures.last_revision = revision;
	figures.reached_us = revision * 10;
	figures.open_bytes = bytes;
	(void) snprintf(figures.open_segment, sizeof(figures.open_segment), "x.rec");
}

#define SENT "{\"ok\":true,\"bytes\":7,\"objects\":1,\"sent_sequence\":4,\"known_sequence\":3}"

static void test_sending(void)
{
	AUTO(recordstore_free) struct recordstore *store = NULL;

	figures = (struct recordwriter_figures){0};
	(void) unlink(told);
	worker_says("{\"reached\":true}\n" SENT, 0);
	store = make();
	/* Nothing is recorded yet. */
	turn_for(EV_DEFAULT, 1300 * US_PER_MS);
	CHECK_EQ_INT(n_told("record"), 0);
	CHECK_EQ_INT(report_of(store).until_us, 0);
	reach(9, 100);
	CHECK(TURN_UNTIL(EV_DEFAULT, report_of(store).objects == 1));
	CHECK(report_of(store).revision == 9 && report_of(store).until_us == 90);
	CHECK_EQ_INT(report_of(store).limit_us, 30300 * US_PER_MS);
	CHECK(report_of(store).bytes == 7 && report_of(store).sent_sequence == 4);
	CHECK_EQ_INT(n_told("record send --endpoint http://127.0.0.1:1 --bucket b"), 1);
	CHECK_EQ_INT(n_told("--s3-prefix a/ --directory /r --scratch /r/.hourly-s3 --node cp-1 "
	                    "--revision 9 --until-us 90 --known-sequence 0 --open x.rec --bytes 100 "
	                    "--signing-key /k --signed-by ed25519:p --level 5 --recipient age1x "
	                    "--compared-sequence 0"),
	             1);
	/* Once; and from then on only what is behind what is known is listed. */
	turn_for(EV_DEFAULT, 300 * US_PER_MS);
	CHECK_EQ_INT(n_told("record send"), 1);
	reach(10, 200);
	CHECK(TURN_UNTIL(EV_DEFAULT, report_of(store).objects == 2));
	CHECK_EQ_INT(n_told("--known-sequence 3 --open x.rec --bytes 200"), 1);
	CHECK_EQ_INT(n_told("--compared-sequence 3"), 1);
	CHECK_EQ_INT(n_told("prune"), 0);
}

/* A round that fails behind its first half has reached what it says. */
static void test_failure(void)
{
	AUTO(recordstore_free) struct recordstore *store = NULL;
	struct recordstore_report report;

	(void) unlink(told);
	reach(20, 300);
	worker_says("{\"reached\":true}\n{\"ok\":false,\"error\":\"S3_DENIED\",\"reason\":\"no\"}", 1);
	store = make();
	CHECK(TURN_UNTIL(EV_DEFAULT, report_of(store).failures == 1));
	report = report_of(store);
	CHECK_EQ_STR(report.state, "retrying");
	CHECK_EQ_STR(report.error, "no");
	CHECK(report.revision == 20 && report.error_s > 0);
	CHECK(report.sent_sequence == 0 && report.objects == 0);
	/* Not at once. */
	turn_for(EV_DEFAULT, 300 * US_PER_MS);
	CHECK_EQ_INT(n_told("record send"), 1);
}

/* Nothing is done in a store before it is known whose it must be. */
static void test_owner(void)
{
	AUTO(recordstore_free) struct recordstore *store = NULL;

	(void) unlink(told);
	reach(25, 350);
	worker_says("{\"reached\":true}\n" SENT, 0);
	target.owner = &owner;
	store = make();
	turn_for(EV_DEFAULT, 1300 * US_PER_MS);
	CHECK_EQ_INT(n_told("record"), 0);
	(void) snprintf(owner.id, sizeof(owner.id), "%032d", 7);
	CHECK(TURN_UNTIL(EV_DEFAULT, report_of(store).objects == 1));
	CHECK_EQ_INT(n_told("--owner 00000000000000000000000000000007 --owner-node cp-1 "
	                    "--owner-prefix a/ --s3-prefix a/"),
	             1);
	target.owner = NULL;
}

static void test_pruning(void)
{
	static const char *const keys[] = {"ed25519:a", "ed25519:b"};
	static const struct trust trust = {.keys = keys, .n = 2, .is_configured = true};
	AUTO(recordstore_free) struct recordstore *store = NULL;

	(void) unlink(told);
	reach(30, 400);
	oldest = 25;
	target.trust = &trust;
	worker_says("{\"reached\":true}\n{\"ok\":true,\"objects\":6,\"passed_reason\":\"x\"}", 0);
	store = make();
	CHECK(TURN_UNTIL(EV_DEFAULT, report_of(store).removed == 6));
	CHECK_EQ_INT(n_told("record prune"), 1);
	CHECK_EQ_INT(n_told("--s3-prefix a/ --cluster-id 00000000000000c1 --oldest-revision 25 "
	                    "--trust ed25519:a --trust ed25519:b"),
	             1);
	CHECK_EQ_STR(report_of(store).passed, "x");
	/* Not again for the same. */
	turn_for(EV_DEFAULT, 300 * US_PER_MS);
	CHECK_EQ_INT(n_told("record prune"), 1);
	oldest = 26;
	CHECK(TURN_UNTIL(EV_DEFAULT, report_of(store).removed == 12));
	oldest = 0;
	target.trust = NULL;
}

int main(void)
{
	scratch_enter();
	CHECK(ev_default_loop(0) != NULL);
	worker = xasprintf("%s/worker", scratch_dir);
	told = xasprintf("%s/told", scratch_dir);
	test_sending();
	test_failure();
	test_owner();
	test_pruning();
	free(worker);
	free(told);
	scratch_leave();
	return check_result();
}
