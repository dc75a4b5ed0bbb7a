/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields are texts at fixed offsets: names that may fill their field without a NUL, and octal
 * numbers. The checksum is the sum of all bytes, with spaces in its own place.
 */
#include "etcdwatch/worker/pack/tarfmt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"

/* The file that a pax header says it is; of interest to programs that know no pax. */
#define PAX_NAME "pax-header"
/* The largest numbers of 7 and of 11 octal digits. */
#define OCTAL7_MAX 07777777u
#define OCTAL11_MAX UINT64_C(077777777777)

struct header {
	char name[100];
	char mode[8];
	char uid[8];
	char gid[8];
	char size[12];
	char mtime[12];
	char checksum[8];
	char type;
	char link[100];
	char magic[6];
	char version[2];
	char user[32];
	char group[32];
	char device_major[8];
	char device_minor[8];
	char prefix[155];
	char rest[12];
};
_Static_assert(sizeof(struct header) == TAR_BLOCK_BYTES, "a header is a block");

/* --- writing --- */

/* Cut to the field; what does not fit is said in the pax header. */
static void put_text(char *field, size_t size, const char *text)
{
	memcpy(field, text, MIN(strlen(text), size));
}

static void put_octal(char *field, size_t size, uint64_t number)
{
	char text[32];

	(void) snprintf(text, sizeof(text), "%0*llo", (int) size - 1, (unsigned long long) number);
	memcpy(field, text, size);
}

static unsigned checksum(const struct header *header)
{
	const unsigned char *bytes = (const unsigned char *) header;
	size_t at = offsetof(struct header, checksum);
	unsigned sum = 0;

	for (size_t i = 0; i < sizeof(*header); i++)
		sum += i >= at && i < at + sizeof(header->checksum) ? ' ' : bytes[i];
	return sum;
}

static void put_header(const struct tar_entry *e, uint8_t *block)
{
	struct header h = {0};

	put_text(h.name, sizeof(h.name), e->path);
	put_octal(h.mode, sizeof(h.mode), e->mode & 07777);
	put_octal(h.uid, sizeof(h.uid), MIN(e->uid, OCTAL7_MAX));
	put_octal(h.gid, sizeof(h.gid), MIN(e->gid, OCTAL7_MAX));
	put_octal(h.size, sizeof(h.size), MIN(e->n_bytes, OCTAL11_MAX));
	put_octal(h.mtime, sizeof(h.mtime), MIN((uint64_t) MAX(e->mtime_s, 0), OCTAL11_MAX));
	h.type = (char) e->type;
	put_text(h.link, sizeof(h.link), e->link);
	memcpy(h.magic, "ustar", sizeof(h.magic));
	memcpy(h.version, "00", sizeof(h.version));
	put_octal(h.checksum, sizeof(h.checksum) - 1, checksum(&h));
	h.checksum[sizeof(h.checksum) - 1] = ' ';
	memcpy(block, &h, sizeof(h));
}

/* "LENGTH key=value\n", in which the length counts itself. */
static size_t put_record(char *out, const char *key, const char *value)
{
	size_t rest = strlen(key) + strlen(value) + 3, len = rest + 1;
	char digits[24];

	while ((size_t) snprintf(digits, sizeof(digits), "%zu", len) + rest > len)
		len++;
	return (size_t) sprintf(out, "%s %s=%s\n", digits, key, value);
}

static size_t put_records(const struct tar_entry *e, char out[static TAR_PAX_MAX])
{
	char number[24];
	size_t n = 0;

	if (strlen(e->path) > sizeof(((struct header *) NULL)->name))
		n += put_record(out + n, "path", e->path);
	if (strlen(e->link) > sizeof(((struct header *) NULL)->link))
		n += put_record(out + n, "linkpath", e->link);
	if (e->n_bytes > OCTAL11_MAX) {
		(void) snprintf(number, sizeof(number), "%llu", (unsigned long long) e->n_bytes);
		n += put_record(out + n, "size", number);
	}
	return n;
}

size_t tar_padding(uint64_t n_bytes)
{
	return (size_t) ((TAR_BLOCK_BYTES - n_bytes % TAR_BLOCK_BYTES) % TAR_BLOCK_BYTES);
}

uint8_t *tar_format(const struct tar_entry *entry, size_t *ret_len)
{
	char records[TAR_PAX_MAX];
	size_t n = put_records(entry, records);
	size_t before = n > 0 ? TAR_BLOCK_BYTES + n + tar_padding(n) : 0;
	uint8_t *blocks = xcalloc(before + TAR_BLOCK_BYTES, 1);

	if (n > 0) {
		const struct tar_entry pax = {
		    .type = TAR_PAX, .path = PAX_NAME, .mode = 0600, .n_bytes = n};

		put_header(&pax, blocks);
		memcpy(blocks + TAR_BLOCK_BYTES, records, n);
	}
	put_header(entry, blocks + before);
	*ret_len = before + TAR_BLOCK_BYTES;
	return blocks;
}

/* --- reading --- */

static void take_text(const char *field, size_t size, char *ret)
{
	size_t len = strnlen(field, size);

	memcpy(ret, field, len);
	ret[len] = '\0';
}

/* Digits, then spaces or NULs. */
static int take_octal(const char *field, size_t size, uint64_t *ret)
{
	uint64_t number = 0;
	size_t i = 0;

	for (; i < size && field[i] >= '0' && field[i] <= '7'; i++)
		number = number << 3 | (uint64_t) (field[i] - '0');
	if (i == 0)
		return -EBADMSG;
	for (; i < size; i++) {
		if (field[i] != ' ' && field[i] != '\0')
			return -EBADMSG;
	}
	*ret = number;
	return 0;
}

static bool is_zero(const uint8_t *block)
{
	for (size_t i = 0; i < TAR_BLOCK_BYTES; i++) {
		if (block[i] != 0)
			return false;
	}
	return true;
}

static bool is_known(char type)
{
	return type == TAR_FILE || type == TAR_SYMLINK || type == TAR_DIRECTORY || type == TAR_PAX;
}

int tar_parse(const uint8_t block[static TAR_BLOCK_BYTES], struct tar_entry *ret_entry)
{
	struct tar_entry e = {0};
	uint64_t sum, mode, uid, gid, mtime;
	struct header h;

	if (is_zero(block))
		return 0;
	memcpy(&h, block, sizeof(h));
	if (memcmp(h.magic, "ustar", sizeof(h.magic)) != 0 || !is_known(h.type) ||
	    h.prefix[0] != '\0' || take_octal(h.checksum, sizeof(h.checksum), &sum) < 0 ||
	    sum != checksum(&h) || take_octal(h.mode, sizeof(h.mode), &mode) < 0 ||
	    take_octal(h.uid, sizeof(h.uid), &uid) < 0 || take_octal(h.gid, sizeof(h.gid), &gid) < 0 ||
	    take_octal(h.size, sizeof(h.size), &e.n_bytes) < 0 ||
	    take_octal(h.mtime, sizeof(h.mtime), &mtime) < 0)
		return -EBADMSG;
	e.type = (enum tar_type) h.type;
	e.mode = (unsigned) mode & 07777;
	e.uid = (unsigned) uid;
	e.gid = (unsigned) gid;
	e.mtime_s = (int64_t) mtime;
	take_text(h.name, sizeof(h.name), e.path);
	take_text(h.link, sizeof(h.link), e.link);
	*ret_entry = e;
	return 1;
}

static int apply(const char *key, const char *value, struct tar_entry *e)
{
	char *end = NULL;

	if (strcmp(key, "path") == 0 || strcmp(key, "linkpath") == 0) {
		char *field = key[0] == 'p' ? e->path : e->link;

		if (strlen(value) >= TAR_PATH_MAX)
			return -EBADMSG;
		memcpy(field, value, strlen(value) + 1);
	} else if (strcmp(key, "size") == 0) {
		errno = 0;
		e->n_bytes = strtoull(value, &end, 10);
		if (value[0] < '0' || value[0] > '9' || *end != '\0' || errno != 0)
			return -EBADMSG;
	}
	return 0;
}

int tar_apply_pax(const char *text, size_t len, struct tar_entry *entry)
{
	while (len > 0) {
		char record[TAR_PAX_MAX];
		size_t n = 0, digits = 0;
		char *equals;
		int r;

		for (; digits < len && digits < 6 && text[digits] >= '0' && text[digits] <= '9'; digits++)
			n = 10 * n + (size_t) (text[digits] - '0');
		if (digits == 0 || n > len || n >= sizeof(record) || n <= digits + 1 ||
		    text[digits] != ' ' || text[n - 1] != '\n')
			return -EBADMSG;
		memcpy(record, text, n - 1);
		record[n - 1] = '\0';
		equals = strchr(record + digits + 1, '=');
		if (equals == NULL || strlen(record) != n - 1)
			return -EBADMSG;
		*equals = '\0';
		r = apply(record + digits + 1, equals + 1, entry);
		if (r < 0)
			return r;
		text += n;
		len -= n;
	}
	return 0;
}
