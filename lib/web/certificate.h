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
