/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A name service for tests of what looks names up in a thread: it knows one name, or hangs. It
 * stands in for the C library's calls in the program that includes this, once. */

#include <netdb.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"

#define NAMES_KNOWN "api.test"

static struct {
	_Atomic unsigned asked; /* all looks that have begun */
	_Atomic bool hangs;
	_Atomic uint32_t first, second; /* of the name, in host byte order; 0: not known */
} names;

/* Neither is the loop's, so that a test may look at both while a thread asks. */
static struct {
	struct addrinfo info[2];
	struct sockaddr_in in[2];
} names_answer;

int getaddrinfo(const char *name, const char *service UNUSED, const struct addrinfo *hints UNUSED,
                struct addrinfo **ret_info)
{
	uint32_t addrs[2];

	names.asked++;
	while (names.hangs)
		(void) usleep(5000);
	addrs[0] = names.first;
	addrs[1] = names.second;
	if (strcmp(name, NAMES_KNOWN) != 0 || addrs[0] == 0)
		return EAI_AGAIN;
	memset(&names_answer, 0, sizeof(names_answer));
	for (size_t i = 0; i < 2; i++) {
		names_answer.in[i] =
		    (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(addrs[i])};
		names_answer.info[i].ai_addr = (struct sockaddr *) &names_answer.in[i];
	}
	names_answer.info[0].ai_next = addrs[1] != 0 ? &names_answer.info[1] : NULL;
	*ret_info = &names_answer.info[0];
	return 0;
}

void freeaddrinfo(struct addrinfo *info UNUSED)
{
}
