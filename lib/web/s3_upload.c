/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of an upload in parts, and the lists of parts and of uploads that are under way. */
#include "web/s3_upload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "web/s3_priv.h"
#include "web/s3xml.h"

/* A server puts the parts together while we wait, and may be silent for so many times as long as
 * otherwise: S3's own documentation speaks of minutes. */
#define COMPLETE_PATIENCE 10
/* <Part><PartNumber>10000</PartNumber><ETag>&quot;...&quot;</ETag></Part> */
#define PART_TEXT_MAX (80 + 6 * S3_ETAG_MAX)

/* --- one element of an answer --- */

struct wanted {
	const char *path;
	char *text;
	size_t size;
	bool found;
};

static int wanted_element(const char *path, const char *text, void *userdata)
{
	struct wanted *wanted = userdata;

	if (strcmp(path, wanted->path) == 0 && strlen(text) < wanted->size) {
		memcpy(wanted->text, text, strlen(text) + 1);
		wanted->found = true;
	}
	return 0;
}

static int take_element(struct s3 *s3, const struct s3_call *call, struct s3_answer *answer,
                        const char *path, char *ret_text, size_t size)
{
	struct wanted wanted = {.path = path, .text = ret_text, .size = size};
	int r = -EBADMSG;

	if (answer->body != NULL)
		r = s3xml_parse(answer->body, answer->body_len, wanted_element, &wanted);
	s3_answer_fini(answer);
	if (r < 0 || !wanted.found)
		return s3_fail_protocol(s3, call, "its answer is not the one to this request");
	return 0;
}

/* --- one upload --- */

int s3_upload_create(struct s3 *s3, const char *key, char ret_id[static S3_UPLOAD_ID_MAX])
{
	const struct s3_call call = {.method = "POST",
	                             .key = key,
	                             .query = {{"uploads", ""}},
	                             .n_query = 1,
	                             .crypt = S3_CRYPT_MAKES,
	                             .text = ""};
	struct s3_answer answer;
	int r;

	r = s3_request(s3, &call, NULL, &answer);
	if (r < 0)
		return r;
	return take_element(s3, &call, &answer, "InitiateMultipartUploadResult/UploadId", ret_id,
	                    S3_UPLOAD_ID_MAX);
}

int s3_upload_part(struct s3 *s3, const char *key, const char *id, unsigned number,
                   const struct s3_piece *piece, struct s3_part *ret_part)
{
	char text[16];
	const struct s3_call call = {.method = "PUT",
	                             .key = key,
	                             .query = {{"partNumber", text}, {"uploadId", id}},
	                             .n_query = 2,
	                             .crypt = S3_CRYPT_USES,
	                             .piece = piece};
	struct s3_answer answer;
	int r;

	(void) snprintf(text, sizeof(text), "%u", number);
	r = s3_request(s3, &call, NULL, &answer);
	if (r < 0)
		return r;
	if (answer.etag[0] == '\0') {
		s3_answer_fini(&answer);
		return s3_fail_protocol(s3, &call, "it took a part and gave no ETag for it");
	}
	ret_part->number = number;
	ret_part->n_bytes = piece->n_bytes;
	memcpy(ret_part->etag, answer.etag, sizeof(ret_part->etag));
	s3_answer_fini(&answer);
	return 0;
}

/* As XML wants it. */
static size_t put_escaped(char *out, const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text++) {
		const char *entity = *text == '"' ? "&quot;" : *text == '&' ? "&amp;" : NULL;

		if (*text == '<')
			entity = "&lt;";
		if (entity != NULL)
			n += (size_t) sprintf(out + n, "%s", entity);
		else
			out[n++] = *text;
	}
	return n;
}

static char *parts_document(const struct s3_part *parts, unsigned n_parts)
{
	char *text = xcalloc((size_t) n_parts + 2, PART_TEXT_MAX);
	size_t n = (size_t) sprintf(text, "<CompleteMultipartUpload>");

	for (unsigned i = 0; i < n_parts; i++) {
		n += (size_t) sprintf(text + n, "<Part><PartNumber>%u</PartNumber><ETag>", parts[i].number);
		n += put_escaped(text + n, parts[i].etag);
		n += (size_t) sprintf(text + n, "</ETag></Part>");
	}
	(void) sprintf(text + n, "</CompleteMultipartUpload>");
	return text;
}

int s3_upload_complete(struct s3 *s3, const char *key, const char *id, const struct s3_part *parts,
                       unsigned n_parts)
{
	AUTO(free) char *text = parts_document(parts, n_parts);
	const struct s3_call call = {.method = "POST",
	                             .key = key,
	                             .query = {{"uploadId", id}},
	                             .n_query = 1,
	                             .text = text,
	                             .patience = COMPLETE_PATIENCE};
	struct s3_answer answer;
	char etag[S3_ETAG_MAX];
	int r;

	r = s3_request(s3, &call, NULL, &answer);
	if (r < 0)
		return r;
	return take_element(s3, &call, &answer, "CompleteMultipartUploadResult/ETag", etag,
	                    sizeof(etag));
}

int s3_upload_abort(struct s3 *s3, const char *key, const char *id)
{
	const struct s3_call call = {
	    .method = "DELETE", .key = key, .query = {{"uploadId", id}}, .n_query = 1};
	struct s3_answer answer;
	int r;

	r = s3_request(s3, &call, NULL, &answer);
	if (r == 0)
		s3_answer_fini(&answer);
	/* Named in several ways. A bucket that is not there is an error. */
	return r == -ENOENT && strcmp(s3->error.code, "NoSuchBucket") != 0 ? 0 : r;
}

/* --- lists --- */

/* Both lists go on behind a marker, of one or of two parts. */
struct list {
	const char *root;
	bool found;
	bool truncated;
	unsigned n_pages;
	char marker[S3XML_TEXT_MAX];
	char id_marker[S3_UPLOAD_ID_MAX];
	int (*tell)(struct list *list);
	s3_part_fn part_fn;
	s3_upload_fn upload_fn;
	void *userdata;
	struct s3_part part;
	char key[S3XML_TEXT_MAX];
	char id[S3_UPLOAD_ID_MAX];
	char initiated[S3_TIME_MAX];
};

static int tell_part(struct list *list)
{
	int r = list->part_fn(&list->part, list->userdata);

	/* What the next one lacks is not this one's. */
	list->part = (struct s3_part){0};
	return r;
}

static int tell_upload(struct list *list)
{
	const struct s3_upload upload = {list->key, list->id, list->initiated};
	int r = list->upload_fn(&upload, list->userdata);

	list->key[0] = list->id[0] = list->initiated[0] = '\0';
	return r;
}

static void take_head(struct list *list, const char *name, const char *text)
{
	if (strcmp(name, "") == 0)
		list->found = true;
	else if (strcmp(name, "/IsTruncated") == 0)
		list->truncated = strcmp(text, "true") == 0;
	else if (strcmp(name, "/NextPartNumberMarker") == 0 || strcmp(name, "/NextKeyMarker") == 0)
		(void) snprintf(list->marker, sizeof(list->marker), "%s", text);
	else if (strcmp(name, "/NextUploadIdMarker") == 0)
		(void) snprintf(list->id_marker, sizeof(list->id_marker), "%s", text);
}

static int list_element(const char *path, const char *text, void *userdata)
{
	struct list *list = userdata;
	const char *name;

	if (strncmp(path, list->root, strlen(list->root)) != 0)
		return 0;
	name = path + strlen(list->root);
	take_head(list, name, text);
	if (strcmp(name, "/Part/PartNumber") == 0)
		list->part.number = (unsigned) MIN(strtoul(text, NULL, 10), S3_PARTS_MAX + 1UL);
	else if (strcmp(name, "/Part/Size") == 0)
		list->part.n_bytes = strtoull(text, NULL, 10);
	else if (strcmp(name, "/Part/ETag") == 0)
		(void) snprintf(list->part.etag, sizeof(list->part.etag), "%s", text);
	else if (strcmp(name, "/Upload/Key") == 0)
		(void) snprintf(list->key, sizeof(list->key), "%s", text);
	else if (strcmp(name, "/Upload/UploadId") == 0)
		(void) snprintf(list->id, sizeof(list->id), "%s", text);
	else if (strcmp(name, "/Upload/Initiated") == 0)
		(void) snprintf(list->initiated, sizeof(list->initiated), "%s", text);
	else if (strcmp(name, "/Part") == 0 || strcmp(name, "/Upload") == 0)
		return list->tell(list);
	return 0;
}

static bool is_endless(struct list *list, const char *marker, const char *id_marker)
{
	return list->truncated &&
	       ((strcmp(marker, list->marker) == 0 && strcmp(id_marker, list->id_marker) == 0) ||
	        ++list->n_pages == S3_PAGES_MAX);
}

/* One page; the markers of the next one are in there afterwards. */
static int read_page(struct s3 *s3, const struct s3_call *call, struct list *list)
{
	struct s3_answer answer;
	int r;

	r = s3_request(s3, call, NULL, &answer);
	if (r < 0)
		return r;
	list->found = list->truncated = false;
	r = s3xml_parse(answer.body != NULL ? answer.body : "", answer.body_len, list_element, list);
	s3_answer_fini(&answer);
	if (r == -EBADMSG || (r == 0 && !list->found))
		return s3_fail_protocol(s3, call, "its list of uploads or parts makes no sense");
	return r;
}

int s3_upload_list_parts(struct s3 *s3, const char *key, const char *id, s3_part_fn part,
                         void *userdata)
{
	AUTO(free) struct list *list = NEW0(struct list);

	list->root = "ListPartsResult";
	list->tell = tell_part;
	list->part_fn = part;
	list->userdata = userdata;
	do {
		AUTO(free) char *marker = xstrdup(list->marker);
		const struct s3_call call = {.method = "GET",
		                             .key = key,
		                             .query = {{"uploadId", id}, {"part-number-marker", marker}},
		                             .n_query = marker[0] != '\0' ? 2 : 1};
		int r = read_page(s3, &call, list);

		if (r < 0)
			return r;
		if (is_endless(list, marker, ""))
			return s3_fail_protocol(s3, &call, "its list of parts does not go on");
	} while (list->truncated);
	return 0;
}

int s3_upload_list(struct s3 *s3, const char *prefix, s3_upload_fn upload, void *userdata)
{
	AUTO(free) struct list *list = NEW0(struct list);

	if (!s3_has_uploads(s3))
		return 0;
	list->root = "ListMultipartUploadsResult";
	list->tell = tell_upload;
	list->upload_fn = upload;
	list->userdata = userdata;
	do {
		AUTO(free) char *marker = xstrdup(list->marker);
		AUTO(free) char *id_marker = xstrdup(list->id_marker);
		const struct s3_call call = {
		    .method = "GET",
		    .query = {{"uploads", ""},
		              {"prefix", prefix},
		              {"key-marker", marker},
		              {"upload-id-marker", id_marker}},
		    .n_query = marker[0] != '\0' ? 4 : 2,
		};
		int r = read_page(s3, &call, list);

		if (r < 0)
			return r;
		if (is_endless(list, marker, id_marker))
			return s3_fail_protocol(s3, &call, "its list of uploads does not go on");
	} while (list->truncated);
	return 0;
}
