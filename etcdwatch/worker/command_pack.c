/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack FILE [--level N] [--recipient R]... [--recipients-file F]... [--extra PATH]... [--sha256
 * HEX]
 *      [--name NAME] [--keep]
 * unpack FILE [--to FILE] [--identity F]... [--extra-to DIRECTORY] [--sha256 HEX]
 *      [--plain-sha256 HEX]
 *
 * "plain_bytes" and "plain_sha256" are of the file that is packed, to its last byte. Of a snapshot
 * that includes the digest at its end, so they are not the "db_bytes" and "db_sha256" of its
 * catalogue entry.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mono.h"
#include "etcdwatch/worker/commands.h"
#include "etcdwatch/worker/common/options.h"
#include "etcdwatch/worker/pack/pack.h"
#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/pack/unpack.h"
#include "etcdwatch/worker/pack/codec.h"

static json_t *describe_packed(const struct pack_request *q, const struct pack_result *result,
                               int64_t took_us)
{
	size_t n_recipients = q->recipients.n_names + q->recipients.n_files;
	json_t *extra = json_array();

	for (size_t i = 0; i < q->n_extra; i++)
		(void) json_array_append_new(extra, jsonval_text(q->extra[i]));
	return json_pack("{s:o, s:I, s:s, s:I, s:s, s:s, s:s, s:o, s:b, s:I}", "file",
	                 jsonval_text(result->path), "file_bytes", (json_int_t) result->packed.n_bytes,
	                 "file_sha256", result->packed.sha256, "plain_bytes",
	                 (json_int_t) result->plain.n_bytes, "plain_sha256", result->plain.sha256,
	                 "compression", q->level > 0 ? "zstd" : "none", "encryption",
	                 n_recipients > 0 ? "age" : "none", "extra", extra, "plain_removed",
	                 (int) result->plain_removed, "took_ms", (json_int_t) (took_us / US_PER_MS));
}

static int parse_pack(int argc, char **argv, struct options_list *lists, struct pack_request *q,
                      struct problem *problem)
{
	const char *level = NULL;
	const struct options_entry entries[] = {
	    {.name = "--level", .text = &level},
	    {.name = "--recipient", .list = &lists[0]},
	    {.name = "--recipients-file", .list = &lists[1]},
	    {.name = "--extra", .list = &lists[2]},
	    {.name = "--sha256", .text = &q->sha256},
	    {.name = "--name", .text = &q->name},
	    {.name = "--keep", .flag = &q->keep_plain},
	};
	unsigned long number = 0;
	int r;

	r = options_parse(argc, argv, entries, ARRAY_SIZE(entries), 1, 1, &lists[3], problem);
	if (r == 0 && level != NULL)
		r = options_number("--level", level, 0, ZSTDFLOW_LEVEL_MAX, &number, problem);
	if (r < 0)
		return r;
	q->path = lists[3].values[0];
	q->level = (int) number;
	q->recipients =
	    (struct age_recipients){lists[0].values, lists[0].n, lists[1].values, lists[1].n};
	q->extra = lists[2].values;
	q->n_extra = lists[2].n;
	return 0;
}

int command_pack(int argc, char **argv)
{
	int64_t began_us = mono_now_us();
	struct options_list lists[4] = {0};
	struct pack_request request = {0};
	struct pack_result result = {0};
	struct problem problem = {0};
	int r, code;

	r = parse_pack(argc, argv, lists, &request, &problem);
	if (r == 0)
		r = pack_run(&request, &problem, &result);
	if (r < 0)
		return result_fail(&problem);
	code = result_ok(describe_packed(&request, &result, mono_now_us() - began_us));
	free(result.path);
	return code;
}

static json_t *describe_unpacked(const struct unpack_result *result, int64_t took_us)
{
	return json_pack("{s:o, s:I, s:s, s:I, s:s, s:s, s:s, s:b, s:I}", "file",
	                 jsonval_text(result->path), "file_bytes", (json_int_t) result->packed.n_bytes,
	                 "file_sha256", result->packed.sha256, "plain_bytes",
	                 (json_int_t) result->plain.n_bytes, "plain_sha256", result->plain.sha256,
	                 "compression", result->found.zstd ? "zstd" : "none", "encryption",
	                 result->found.age ? "age" : "none", "bundle", (int) result->found.bundle,
	                 "took_ms", (json_int_t) (took_us / US_PER_MS));
}

int command_unpack(int argc, char **argv)
{
	int64_t began_us = mono_now_us();
	struct options_list identities = {0}, rest;
	struct unpack_request request = {0};
	struct unpack_result result = {0};
	const struct options_entry entries[] = {
	    {.name = "--to", .text = &request.to},
	    {.name = "--identity", .list = &identities},
	    {.name = "--extra-to", .text = &request.extra_dir},
	    {.name = "--sha256", .text = &request.packed_sha256},
	    {.name = "--plain-sha256", .text = &request.plain_sha256},
	};
	struct problem problem = {0};
	int r, code;

	r = options_parse(argc, argv, entries, ARRAY_SIZE(entries), 1, 1, &rest, &problem);
	if (r == 0) {
		request.path = rest.values[0];
		request.keys = (struct opener_keys){.files = identities.values, .n_files = identities.n};
		r = unpack_run(&request, &problem, &result);
	}
	if (r < 0)
		return result_fail(&problem);
	code = result_ok(describe_unpacked(&result, mono_now_us() - began_us));
	free(result.path);
	return code;
}
