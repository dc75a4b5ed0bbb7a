/* SPDX-License-Identifier: Apache-2.0 */
/* What is to go is gathered first: the list is read in pages, which would shift under it. */
#include "etcdwatch/worker/store/s3sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/civil.h"
#include "base/mem.h"
#include "etcdwatch/worker/store/s3target.h"
#include "web/s3_upload.h"

/* Beyond that, the next run has the rest. */
#define UPLOADS_MAX 10000

struct doomed {
	char *key;
	char *id;
};

struct sweep {
	struct s3 *s3;
	const struct s3sweep_request *request;
	struct doomed *doomed;
	size_t n_doomed;
	struct s3sweep_result result;
};

bool s3sweep_is_old(const char *initiated, int64_t now_s, int64_t older_s)
{
	int64_t began_s;

	if (older_s == 0)
		return true;
	return civil_parse(initiated, &began_s) == 0 && now_s - began_s >= older_s;
}

/* By the server's clock, which is known from the answer that the upload stands in. */
static bool is_old(const struct sweep *sweep, const char *initiated)
{
	int64_t ahead_s = 0;

	(void) s3_get_clock_ahead_s(sweep->s3, &ahead_s);
	return s3sweep_is_old(initiated, (int64_t) time(NULL) + ahead_s, sweep->request->older_s);
}

static int on_upload(const struct s3_upload *upload, void *userdata)
{
	struct sweep *sweep = userdata;

	if (sweep->request->whole_key && strcmp(upload->key, sweep->request->prefix) != 0)
		return 0;
	if (sweep->n_doomed == UPLOADS_MAX || !is_old(sweep, upload->initiated)) {
		sweep->result.n_kept++;
		return 0;
	}
	sweep->doomed = xreallocarray(sweep->doomed, sweep->n_doomed + 1, sizeof(*sweep->doomed));
	sweep->doomed[sweep->n_doomed++] =
	    (struct doomed){.key = xstrdup(upload->key), .id = xstrdup(upload->id)};
	return 0;
}

int s3sweep_run(struct s3 *s3, const struct s3sweep_request *request, struct problem *problem,
                struct s3sweep_result *ret_result)
{
	struct sweep sweep = {.s3 = s3, .request = request};
	int r = s3_upload_list(s3, request->prefix, on_upload, &sweep);

	for (size_t i = 0; i < sweep.n_doomed; i++) {
		if (r == 0)
			r = s3_upload_abort(s3, sweep.doomed[i].key, sweep.doomed[i].id);
		sweep.result.n_aborted += r == 0 ? 1 : 0;
		free(sweep.doomed[i].key);
		free(sweep.doomed[i].id);
	}
	free(sweep.doomed);
	if (r < 0)
		return s3target_fail(s3, r, problem);
	*ret_result = sweep.result;
	return 0;
}
