/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of age and age-keygen. A secret is never an argument, which every user of the
 * machine can see, and never in a file: age reads it from a pipe, as the file /dev/fd/3.
 */
#include "etcdwatch/worker/pack/codec.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/worker/common/filter.h"

#define CODE "AGE"
#define MISSING_CODE "AGE_MISSING"
#define ARGS_MAX (2 * AGE_RECIPIENTS_MAX + 8)
#define KEYGEN_MAX 1024
#define PUBLIC_MARK "# public key: "
#define SECRET_MARK "AGE-SECRET-KEY-"

/* --- a key pair --- */

/* The rest of the line after the mark, with the mark or without it. */
static bool take_line(const char *text, const char *mark, bool with_mark, char *ret, size_t size)
{
	const char *at = strstr(text, mark);
	size_t len;

	if (at == NULL)
		return false;
	at += with_mark ? 0 : strlen(mark);
	len = strcspn(at, "\r\n");
	if (len == 0 || len >= size)
		return false;
	memcpy(ret, at, len);
	ret[len] = '\0';
	return true;
}

static int run_keygen(char *text, struct problem *problem)
{
	static const char *const argv[] = {"age-keygen", NULL};
	const struct filter_program program = {
	    .argv = argv, .extra_fd = -1, .code = CODE, .missing_code = MISSING_CODE};
	struct memsink memory;
	AUTO(sink_free) struct sink *filter = NULL;
	int r;

	memsink_init(&memory, text, KEYGEN_MAX);
	r = filter_new(&program, &memory.sink, problem, &filter);
	if (r == 0)
		r = sink_finish(filter);
	return r;
}

int age_identity_make(struct problem *problem, struct age_identity *ret_identity)
{
	char text[KEYGEN_MAX] = "";
	struct age_identity identity;
	int r = run_keygen(text, problem);

	if (r == 0 &&
	    (!take_line(text, PUBLIC_MARK, false, identity.recipient, sizeof(identity.recipient)) ||
	     !take_line(text, SECRET_MARK, true, identity.secret, sizeof(identity.secret))))
		r = -EBADMSG;
	if (r == 0)
		*ret_identity = identity;
	explicit_bzero(text, sizeof(text));
	explicit_bzero(&identity, sizeof(identity));
	return r < 0 ? problem_set(problem, r, CODE, "age-keygen did not print a key pair") : 0;
}

void age_identity_forget(struct age_identity *identity)
{
	explicit_bzero(identity, sizeof(*identity));
}

/* --- stages --- */

struct args {
	const char *words[ARGS_MAX];
	size_t n;
};

static void add(struct args *args, const char *option, const char *value)
{
	args->words[args->n++] = option;
	args->words[args->n++] = value;
}

int age_encrypt_new(const struct age_recipients *recipients, const struct age_identity *checker,
                    struct sink *next, struct problem *problem, struct sink **ret_sink)
{
	struct args args = {.words = {"age", "--encrypt"}, .n = 2};
	const struct filter_program program = {
	    .argv = args.words, .extra_fd = -1, .code = CODE, .missing_code = MISSING_CODE};

	if (recipients->n_names + recipients->n_files > AGE_RECIPIENTS_MAX) {
		sink_free(next);
		return problem_set(problem, -E2BIG, "USAGE", "more than %d recipients", AGE_RECIPIENTS_MAX);
	}
	for (size_t i = 0; i < recipients->n_names; i++)
		add(&args, "-r", recipients->names[i]);
	for (size_t i = 0; i < recipients->n_files; i++)
		add(&args, "-R", recipients->files[i]);
	if (checker != NULL)
		add(&args, "-r", checker->recipient);
	return filter_new(&program, next, problem, ret_sink);
}

/* A pipe that has the secret in it and nothing behind: as much as a key fits into any pipe. */
static int secret_pipe(const struct age_identity *identity, int *ret_fd)
{
	int pair[2], r;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	r = file_write_all(pair[1], identity->secret, strlen(identity->secret));
	(void) close(pair[1]);
	if (r < 0)
		(void) close(pair[0]);
	else
		*ret_fd = pair[0];
	return r;
}

int age_decrypt_new(const char *const *files, size_t n_files, const struct age_identity *identity,
                    struct sink *next, struct problem *problem, struct sink **ret_sink)
{
	struct args args = {.words = {"age", "--decrypt"}, .n = 2};
	struct filter_program program = {
	    .argv = args.words, .extra_fd = -1, .code = CODE, .missing_code = MISSING_CODE};
	AUTO(close) int fd = -1;
	int r = 0;

	if (n_files > AGE_RECIPIENTS_MAX)
		r = problem_set(problem, -E2BIG, "USAGE", "more than %d identity files",
		                AGE_RECIPIENTS_MAX);
	if (r == 0 && identity != NULL) {
		r = secret_pipe(identity, &fd);
		if (r < 0)
			(void) problem_set_errno(problem, r, "cannot make a pipe");
		add(&args, "-i", "/dev/fd/3");
		program.extra_fd = fd;
	}
	if (r < 0) {
		sink_free(next);
		return r;
	}
	for (size_t i = 0; i < n_files && identity == NULL; i++)
		add(&args, "-i", files[i]);
	return filter_new(&program, next, problem, ret_sink);
}

/* --- zstdflow --- */

/*
 * The two directions of libzstd's streaming interface. Only here is that library known. Both go on
 * writing into one output buffer, which is handed to the next stage whenever something is in it.
 */

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
