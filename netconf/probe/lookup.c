/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One question. It is in one block of memory, since a thread that cannot be stopped may still have
 * it when nobody waits for its answer any more: then it is left, and freed when another one comes
 * or goes and the thread is done with it.
 */
#include "netconf/probe/lookup.h"

#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/mem.h"

#define PORT_TEXT_MAX 8

struct lookup {
	struct gaicb question;
	struct addrinfo hints;
	char port[PORT_TEXT_MAX];
	SLIST_ENTRY(lookup) entry; /* of those that are left */
	char host[];               /* with its zero */
};

static SLIST_HEAD(, lookup) left = SLIST_HEAD_INITIALIZER(left);

/* False: the thread will write to it once more. */
static bool free_if_ours(struct lookup *lookup)
{
	if (gai_cancel(&lookup->question) == EAI_NOTCANCELED)
		return false;
	if (lookup->question.ar_result != NULL)
		freeaddrinfo(lookup->question.ar_result);
	free(lookup);
	return true;
}

static void leave(struct lookup *lookup)
{
	if (!free_if_ours(lookup))
		SLIST_INSERT_HEAD(&left, lookup, entry);
}

static void free_left(void)
{
	struct lookup *lookup = SLIST_FIRST(&left);

	SLIST_INIT(&left);
	while (lookup != NULL) {
		struct lookup *next = SLIST_NEXT(lookup, entry);

		leave(lookup);
		lookup = next;
	}
}

struct lookup *lookup_start(const char *host, uint16_t port)
{
	size_t len = strlen(host) + 1;
	struct lookup *lookup = xcalloc(1, sizeof(*lookup) + len);
	struct gaicb *question = &lookup->question;

	free_left();
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
	free_left();
	if (lookup != NULL)
		leave(lookup);
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
