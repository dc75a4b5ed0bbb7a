/* SPDX-License-Identifier: Apache-2.0 */
/* One question. It is in one block of memory, since a thread that cannot be stopped may still have
 * it when nobody waits for its answer any more. */
#include "netconf/probe/lookup.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define PORT_TEXT_MAX 8

struct lookup {
	struct gaicb question;
	struct addrinfo hints;
	char port[PORT_TEXT_MAX];
	char host[]; /* with its zero */
};

struct lookup *lookup_start(const char *host, uint16_t port)
{
	size_t len = strlen(host) + 1;
	struct lookup *lookup = xcalloc(1, sizeof(*lookup) + len);
	struct gaicb *question = &lookup->question;

	memcpy(lookup->host, host, len);
	(void) snprintf(lookup->port, sizeof(lookup->port), "%u", port);
	lookup->hints.ai_socktype = SOCK_STREAM;
	question->ar_name = lookup->host;
	question->ar_service = lookup->port;
	question->ar_request = &lookup->hints;
	if (getaddrinfo_a(GAI_NOWAIT, &question, 1, NULL) == 0)
		return lookup;
	free(lookup);
	return NULL;
}

void lookup_free(struct lookup *lookup)
{
	if (lookup == NULL)
		return;
	/* Left to the thread, which writes to it once more. */
	if (gai_cancel(&lookup->question) == EAI_NOTCANCELED)
		return;
	if (lookup->question.ar_result != NULL)
		freeaddrinfo(lookup->question.ar_result);
	free(lookup);
}

int lookup_result(const struct lookup *lookup, struct endpoint *ret_endpoint)
{
	/* It only reads it. */
	int r = gai_error((struct gaicb *) (uintptr_t) &lookup->question);

	if (r == EAI_INPROGRESS)
		return -EAGAIN;
	if (r != 0 || endpoint_from_sockaddr(lookup->question.ar_result->ai_addr, ret_endpoint) < 0)
		return -ENOENT;
	return 0;
}
