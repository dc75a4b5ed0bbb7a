/* SPDX-License-Identifier: Apache-2.0 */
/* Two digests in one reading, by pread(2), so that nobody's file position matters. */
#include "web/s3_piece.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"

#define BUFFER_BYTES (256 * 1024)

int s3_piece_hash(int fd, uint64_t offset, uint64_t n_bytes, struct digest *whole,
                  struct s3_piece *ret_piece)
{
	struct s3_piece piece = {.fd = fd, .offset = offset, .n_bytes = n_bytes};
	AUTO(digest_free) struct digest *sha256 = digest_new(DIGEST_SHA256);
	AUTO(digest_free) struct digest *md5 = digest_new(DIGEST_MD5);
	AUTO(free) char *buffer = xcalloc(1, BUFFER_BYTES);

	for (uint64_t done = 0; done < n_bytes;) {
		size_t want = (size_t) MIN(n_bytes - done, (uint64_t) BUFFER_BYTES);
		ssize_t n = pread(fd, buffer, want, (off_t) (offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -ENODATA;
		digest_update(sha256, buffer, (size_t) n);
		digest_update(md5, buffer, (size_t) n);
		if (whole != NULL)
			digest_update(whole, buffer, (size_t) n);
		done += (uint64_t) n;
	}
	digest_finish(sha256, piece.sha256);
	digest_finish(md5, piece.md5);
	*ret_piece = piece;
	return 0;
}

bool s3_piece_has_etag(const struct s3_piece *piece, const char *etag)
{
	char hex[DIGEST_HEX_MAX];
	size_t len;

	etag += *etag == '"' ? 1 : 0;
	len = strcspn(etag, "\"");
	(void) digest_hex(piece->md5, sizeof(piece->md5), hex);
	return len == strlen(hex) && strncasecmp(etag, hex, len) == 0;
}
