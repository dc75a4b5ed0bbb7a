/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for what a target has of a record: the first line is a key, and the rest
 * the manifest under it. What is taken is of that key and within its bounds, and is the same when
 * it is printed and read again.
 */
#include "etcdwatch/worker/record/recordpiece.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define PREFIX "a/"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_key(const struct recordkey *key)
{
	AUTO(free) char *file = recordpiece_record_file(key->segment);
	struct record_header named;

	check(memchr(key->node, '\0', sizeof(key->node)) != NULL && key->node[0] != '\0');
	check(memchr(key->segment, '\0', sizeof(key->segment)) != NULL);
	check(record_name_parse(file, &named) && named.sequence == key->named.sequence &&
	      named.first_revision == key->named.first_revision);
	check(key->is_whole || key->from < key->to);
}

static void check_piece(const struct recordpiece *piece, const struct recordkey *key,
                        const char *text)
{
	AUTO(free) char *at = recordpiece_manifest_key(PREFIX, piece);
	AUTO(free) char *printed = recordpiece_print(piece, NULL);
	AUTO(free) char *printed_again = NULL;
	char error[RECORDPIECE_ERROR_MAX];
	struct recordpiece again;

	check(strcmp(at, text) == 0 && strchr(piece->file, '/') == NULL);
	check(piece->from < piece->to && piece->to <= RECORDPIECE_BYTES_MAX && piece->file_bytes > 0);
	check(piece->is_whole == key->is_whole && (piece->is_closed || !piece->is_whole));
	check(strlen(piece->file_sha256) == (size_t) 2 * DIGEST_SHA256_BYTES);
	check(piece->signer[0] == '\0' || signature_is_public_key(piece->signer));
	check(recordpiece_parse(printed, strlen(printed), key, &again, error) == 0);
	printed_again = recordpiece_print(&again, NULL);
	check(strcmp(printed, printed_again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, '\n', size);
	size_t len = end != NULL ? (size_t) (end - data) : size;
	AUTO(free) char *text = xstrndup((const char *) data, len);
	char error[RECORDPIECE_ERROR_MAX] = "";
	struct recordpiece piece;
	struct recordkey key;

	if (!recordkey_parse(text, PREFIX, &key))
		return 0;
	check_key(&key);
	if (end == NULL || !key.is_manifest)
		return 0;
	if (recordpiece_parse((const char *) end + 1, size - len - 1, &key, &piece, error) == 0)
		check_piece(&piece, &key, text);
	else
		check(error[0] != '\0');
	return 0;
}
