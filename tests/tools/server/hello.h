/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For whom a connection is, read from its first bytes without taking them: the name in the
 * server_name extension of a TLS ClientHello (RFC 8446, section 4.1.2; RFC 6066, section 3). Pure.
 */

#include <stddef.h>

#define HELLO_NAME_MAX 256

enum hello_verdict {
	HELLO_INCOMPLETE, /* more bytes are needed */
	HELLO_TLS,        /* name is set, "" when there is none */
	HELLO_OTHER,      /* not a ClientHello in one record */
};

enum hello_verdict hello_read(const void *bytes, size_t len, char ret_name[static HELLO_NAME_MAX]);
