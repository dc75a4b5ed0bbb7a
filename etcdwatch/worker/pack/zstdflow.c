/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two directions of libzstd's streaming interface. Only here is that library known. Both go on
 * writing into one output buffer, which is handed to the next stage whenever something is in it.
 */
#include "etcdwatch/worker/pack/zstdflow.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/macro.h"
#include "base/mem.h"

struct zstdflow {
	struct sink sink;
	struct sink *next;
	struct problem *problem;
	ZSTD_CCtx *compressor; /* one of the two */
	ZSTD_DCtx *decompressor;
	void *buffer;
	size_t buffer_bytes;
	bool in_frame; /* decompressing: it would be a cut to end here */
	bool any;
};

static int fail(struct zstdflow *flow, size_t code)
{
	if (ZSTD_getErrorCode(code) == ZSTD_error_frameParameter_windowTooLarge)
		return problem_set(
		    flow->problem, -EBADMSG, "WINDOW",
		    "zstd: it was compressed with a window of more than %u MiB, which takes as "
		    "much memory: if you trust it, unpack it by `zstd -d --long=31`",
		    1u << (ZSTDFLOW_WINDOW_LOG_MAX - 20));
	return problem_set(flow->problem, -EBADMSG, "CORRUPT", "zstd: %s", ZSTD_getErrorName(code));
}

/* --- compressing --- */

static int compress(struct zstdflow *flow, ZSTD_inBuffer *in, ZSTD_EndDirective how)
{
	size_t left;

	do {
		ZSTD_outBuffer out = {flow->buffer, flow->buffer_bytes, 0};
		int r;

		left = ZSTD_compressStream2(flow->compressor, &out, in, how);
		if (ZSTD_isError(left) != 0)
			return fail(flow, left);
		r = sink_write(flow->next, out.dst, out.pos);
		if (r < 0)
			return r;
	} while (how == ZSTD_e_end ? left > 0 : in->pos < in->size);
	return 0;
}

static int compress_write(struct sink *sink, const void *data, size_t len)
{
	ZSTD_inBuffer in = {data, len, 0};

	return compress(CONTAINER_OF(sink, struct zstdflow, sink), &in, ZSTD_e_continue);
}

static int compress_finish(struct sink *sink)
{
	struct zstdflow *flow = CONTAINER_OF(sink, struct zstdflow, sink);
	ZSTD_inBuffer in = {NULL, 0, 0};
	int r = compress(flow, &in, ZSTD_e_end);

	return r < 0 ? r : sink_finish(flow->next);
}

/* --- decompressing --- */

static int decompress_write(struct sink *sink, const void *data, size_t len)
{
	struct zstdflow *flow = CONTAINER_OF(sink, struct zstdflow, sink);
	ZSTD_inBuffer in = {data, len, 0};

	/* As long as zstd has something to put out, it does not take the last byte of a frame. */
	while (in.pos < in.size) {
		ZSTD_outBuffer out = {flow->buffer, flow->buffer_bytes, 0};
		size_t wanted = ZSTD_decompressStream(flow->decompressor, &out, &in);
		int r;

		if (ZSTD_isError(wanted) != 0)
			return fail(flow, wanted);
		flow->in_frame = wanted > 0;
		flow->any = true;
		r = sink_write(flow->next, out.dst, out.pos);
		if (r < 0)
			return r;
	}
	return 0;
}

static int decompress_finish(struct sink *sink)
{
	struct zstdflow *flow = CONTAINER_OF(sink, struct zstdflow, sink);

	if (flow->in_frame || !flow->any)
		return problem_set(flow->problem, -EBADMSG, "CORRUPT",
		                   "the zstd data ends in the middle: it was cut off");
	return sink_finish(flow->next);
}

/* --- both --- */

static void zstdflow_free(struct sink *sink)
{
	struct zstdflow *flow = CONTAINER_OF(sink, struct zstdflow, sink);

	sink_free(flow->next);
	(void) ZSTD_freeCCtx(flow->compressor);
	(void) ZSTD_freeDCtx(flow->decompressor);
	free(flow->buffer);
	free(flow);
}

static struct zstdflow *flow_new(size_t buffer_bytes, struct sink *next, struct problem *problem)
{
	struct zstdflow *flow = NEW0(struct zstdflow);

	flow->next = next;
	flow->problem = problem;
	flow->buffer_bytes = buffer_bytes;
	flow->buffer = xcalloc(1, buffer_bytes);
	flow->sink.free = zstdflow_free;
	return flow;
}

struct sink *zstdflow_compress_new(int level, struct sink *next, struct problem *problem)
{
	struct zstdflow *flow = flow_new(ZSTD_CStreamOutSize(), next, problem);
	size_t r;

	assert(level >= ZSTDFLOW_LEVEL_MIN && level <= ZSTDFLOW_LEVEL_MAX);
	flow->sink.write = compress_write;
	flow->sink.finish = compress_finish;
	flow->compressor = ZSTD_createCCtx();
	assert(flow->compressor != NULL);
	r = ZSTD_CCtx_setParameter(flow->compressor, ZSTD_c_compressionLevel, level);
	assert(ZSTD_isError(r) == 0);
	r = ZSTD_CCtx_setParameter(flow->compressor, ZSTD_c_checksumFlag, 1);
	assert(ZSTD_isError(r) == 0);
	return &flow->sink;
}

struct sink *zstdflow_decompress_new(struct sink *next, struct problem *problem)
{
	struct zstdflow *flow = flow_new(ZSTD_DStreamOutSize(), next, problem);
	size_t r;

	flow->sink.write = decompress_write;
	flow->sink.finish = decompress_finish;
	flow->decompressor = ZSTD_createDCtx();
	assert(flow->decompressor != NULL);
	r = ZSTD_DCtx_setParameter(flow->decompressor, ZSTD_d_windowLogMax, ZSTDFLOW_WINDOW_LOG_MAX);
	assert(ZSTD_isError(r) == 0);
	return &flow->sink;
}
