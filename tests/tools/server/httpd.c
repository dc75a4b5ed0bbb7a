/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Heads are collected until their empty line; requests may come many at a time.
 */

#include "httpd.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"

static void answer(struct link *link, unsigned status, const char *body)
{
	AUTO(free) char *text = NULL;

	text = xasprintf("HTTP/1.1 %u Scripted\r\nContent-Type: text/plain\r\n"
	                 "Content-Length: %zu\r\n\r\n%s",
	                 status, strlen(body), body);
	link_send(link, text, strlen(text));
}

static void answer_readyz(struct link *link, unsigned status)
{
	if (status == 0)
		return;
	if (status == 200)
		answer(link, status, "ok");
	else if (status == 500)
		answer(link, status, "[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n");
	else
		answer(link, status, "{\"kind\":\"Status\",\"status\":\"Failure\"}\n");
}

static void take_request(struct link *link, const struct script *script, const char *head)
{
	static const char readyz[] = "GET /readyz";

	if (strncmp(head, readyz, strlen(readyz)) == 0)
		answer_readyz(link, script_now(script).readyz);
	else if (strncmp(head, "GET /", strlen("GET /")) == 0)
		answer(link, 200, script->body);
	else
		answer(link, 400, "not understood\n");
}

void httpd_take(struct httpd *httpd, struct link *link, const struct script *script,
                const void *bytes, size_t len)
{
	char *end;

	httpd->head = xreallocarray(httpd->head, httpd->len + len + 1, 1);
	memcpy(httpd->head + httpd->len, bytes, len);
	httpd->len += len;
	httpd->head[httpd->len] = '\0';
	while ((end = strstr(httpd->head, "\r\n\r\n")) != NULL) {
		size_t head_len = (size_t) (end + 4 - httpd->head);

		take_request(link, script, httpd->head);
		httpd->len -= head_len;
		memmove(httpd->head, httpd->head + head_len, httpd->len + 1);
	}
	if (httpd->len > HTTPD_HEAD_MAX) {
		answer(link, 400, "too long\n");
		httpd_clear(httpd);
	}
}

void httpd_clear(struct httpd *httpd)
{
	free(httpd->head);
	*httpd = (struct httpd){0};
}
