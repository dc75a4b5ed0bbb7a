/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * When certificates end, by OpenSSL. Times are seconds since 1970-01-01 UTC.
 */

#include <openssl/x509.h>
#include <stdint.h>

/* 0, or -EBADMSG: its time is none. */
int certificate_end(const X509 *certificate, int64_t *ret_not_after_s);

/* The first end of those in a PEM file. 0; -ENODATA: there is none in it; -EBADMSG: one is damaged;
 * or the error of reading it. Waits for the disk. */
int certificate_file_end(const char *path, int64_t *ret_not_after_s);

/*
 * The files of base/probecert.h in memory, for the requests whose configuration names no other
 * identity. A new or renewed pair is in use from the next request on. A pair that TLS would refuse
 * is not used: curl would fail the request, while a server that answers a request without a
 * certificate still shows that it lives.
 */

/* Tells a file from the one that replaced it. */
struct probepair_stamp {
	uint64_t device, inode;
	int64_t changed_s, changed_ns, size;
};

/* Begins zeroed. */
struct probepair {
	char *cert, *key; /* PEM, owned; both or none */
	struct probepair_stamp stamps[2];
};

/*
 * Reads the files again if they have changed; cert and key are NULL where a file is missing, cannot
 * be read by this user, or is refused. NULL; or why the pair is refused, once for each change of
 * the files, a constant. Waits for the disk when the files have changed.
 */
const char *probepair_refresh(struct probepair *pair, const char *directory);
void probepair_fini(struct probepair *pair);
