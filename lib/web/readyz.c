/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an answer of an API server to a verdict and a sentence. Pure. The sentence goes to logs,
 * terminals and control sockets, and part of it is the peer's own text: nothing but visible
 * characters passes. It must not need libcurl, so that who has only a name of a verdict can link
 * it.
 */
#include "base/printable.h"
#include "web/readyz.h"

#include <stdio.h>
#include <string.h>

/* Names in one sentence, and characters of one name. */
#define FAILED_NAMES_MAX 4
#define FAILED_NAME_MAX 32

static enum readyz_verdict status_verdict(int status)
{
	if (status < 200 || status > 599)
		return READYZ_BROKEN;
	if (status < 300)
		return READYZ_READY;
	if (status == 429)
		return READYZ_BUSY;
	return status < 500 ? READYZ_ALIVE : READYZ_NOT_READY;
}

enum readyz_verdict readyz_verdict(enum http_failure failure, int status)
{
	switch (failure) {
	case HTTP_OK:
		return status_verdict(status);
	case HTTP_REFUSED:
	case HTTP_UNREACHED:
		return READYZ_DOWN;
	case HTTP_TIMEOUT:
		return READYZ_SILENT;
	case HTTP_TLS_PEER:
		return READYZ_UNTRUSTED;
	case HTTP_TLS_OTHER:
	case HTTP_PROTOCOL:
		return READYZ_BROKEN;
	}
	return READYZ_BROKEN;
}

const char *readyz_verdict_name(enum readyz_verdict verdict)
{
	static const char *const names[READYZ_N_VERDICTS] = {
	    [READYZ_READY] = "ready",         [READYZ_ALIVE] = "alive",   [READYZ_BUSY] = "busy",
	    [READYZ_NOT_READY] = "not_ready", [READYZ_DOWN] = "down",     [READYZ_SILENT] = "silent",
	    [READYZ_UNTRUSTED] = "untrusted", [READYZ_BROKEN] = "broken",
	};

	return names[verdict];
}

/* --- the sentence --- */

/* The names in a body's "[-]NAME failed: ..." lines, "etcd, ping failed"; 0 when there are none. */
static size_t put_failed_names(const char *body, char *buf, size_t size)
{
	size_t len = 0, n = 0;

	for (const char *line = body; line != NULL && n < FAILED_NAMES_MAX; line = strchr(line, '\n')) {
		char name[FAILED_NAME_MAX + 1];
		size_t name_len = 0;

		line += *line == '\n' ? 1 : 0;
		if (strncmp(line, "[-]", 3) != 0)
			continue;
		line += 3;
		while (line[name_len] > ' ' && line[name_len] < 0x7f && name_len < FAILED_NAME_MAX) {
			name[name_len] = line[name_len];
			name_len++;
		}
		name[name_len] = '\0';
		if (name_len == 0)
			continue;
		len += (size_t) snprintf(buf + len, size - len, "%s%s", n > 0 ? ", " : "", name);
		n++;
	}
	if (n > 0)
		(void) snprintf(buf + len, size - len, " failed");
	return n;
}

static void describe_status(const struct http_response *response, char *buf, size_t size)
{
	/* Four names, their commas and " failed" fit. */
	char names[FAILED_NAMES_MAX * (FAILED_NAME_MAX + 2) + 16];

	if (response->status >= 500 && put_failed_names(response->body, names, sizeof(names)) > 0)
		(void) snprintf(buf, size, "readyz %d: %s", response->status, names);
	else if (status_verdict(response->status) == READYZ_BUSY)
		(void) snprintf(buf, size, "readyz %d: alive, overloaded", response->status);
	else if (status_verdict(response->status) == READYZ_ALIVE)
		(void) snprintf(buf, size, "readyz %d: alive, readiness unknown", response->status);
	else
		(void) snprintf(buf, size, "readyz %d", response->status);
}

bool readyz_blames_etcd(const char *reason)
{
	return strstr(reason, " etcd") != NULL && strstr(reason, " shutdown") == NULL;
}

const char *readyz_describe(const struct http_response *response,
                            char buf[static READYZ_REASON_MAX])
{
	switch (response->failure) {
	case HTTP_OK:
		describe_status(response, buf, READYZ_REASON_MAX);
		break;
	case HTTP_REFUSED:
		(void) snprintf(buf, READYZ_REASON_MAX, "connection refused");
		break;
	case HTTP_UNREACHED:
		(void) snprintf(buf, READYZ_REASON_MAX, "no answer to a connection attempt");
		break;
	case HTTP_TIMEOUT:
		(void) snprintf(buf, READYZ_REASON_MAX, "no answer in time");
		break;
	case HTTP_TLS_PEER:
		(void) snprintf(buf, READYZ_REASON_MAX, "wrong certificate: %s", response->failure_text);
		break;
	case HTTP_TLS_OTHER:
		(void) snprintf(buf, READYZ_REASON_MAX, "TLS failed: %s", response->failure_text);
		break;
	case HTTP_PROTOCOL:
		(void) snprintf(buf, READYZ_REASON_MAX, "not HTTP: %s", response->failure_text);
		break;
	}
	/* libcurl's and OpenSSL's sentences quote names in the peer's certificate. */
	printable_ascii(buf);
	return buf;
}
