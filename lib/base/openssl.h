/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For calls of OpenSSL whose failure nobody can do anything about: those of digests, which fail
 * for want of memory, or of what OpenSSL itself is to have on this machine (its provider, or a
 * policy that allows no such digest). Programs that do not call this do not link OpenSSL for it.
 */

/* Unless it returned 1: says which call failed and why, and aborts. */
void openssl_expect(int returned, const char *call);
