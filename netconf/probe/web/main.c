/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netconf-probe: asks one URL once, or the members of etcd. A program of its own, so that the
 * daemon does not carry TLS and HTTP, and all that they bring along, for what it does a few times
 * in its life: netconf starts it, and ends it when it takes too long.
 *
 *	netconf-probe URL MILLISECONDS
 *	netconf-probe --quorum
 *
 * The first exits with 0 if the answer's status is from 200 to 399. The second takes a
 * configuration from descriptor 3, prints why this node must not be lost now, or nothing, and exits
 * with 0; else it does not know.
 */
#include <ev.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/conf_url.h"
#include "base/endpoint.h"
#include "base/conf.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/spawn.h"
#include "netconf/kernel/kernel.h"
#include "netconf/probe/web/quorumask.h"
#include "web/http.h"

#define EXIT_USAGE 2

static void on_answer(const struct http_response *response, void *userdata)
{
	bool *is_good = userdata;

	*is_good = response->failure == HTTP_OK && response->status >= 200 && response->status < 400;
	ev_break(EV_DEFAULT, EVBREAK_ALL);
}

/* Blocking; whoever started us waits no longer than it wants. */
static int look_up(const char *host, struct endpoint *ret_endpoint)
{
	static const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found;
	int r;

	if (getaddrinfo(host, NULL, &hints, &found) != 0)
		return -1;
	r = endpoint_from_sockaddr(found->ai_addr, ret_endpoint);
	freeaddrinfo(found);
	return r;
}

static bool ask(const char *url, const struct endpoint *at, unsigned timeout_ms)
{
	const struct http_request request = {
	    .url = url,
	    .connect_to = at->addr,
	    .timeout_ms = timeout_ms,
	    .max_body_bytes = 1,
	};
	AUTO(http_free) struct http *http = NULL;
	struct http_req *req;
	bool is_good = false;

	if (http_new(EV_DEFAULT, &http) < 0 || http_send(http, &request, on_answer, &is_good, &req) < 0)
		return false;
	(void) ev_run(EV_DEFAULT, 0);
	return is_good;
}

/* --- the quorum --- */

static void on_asked(bool is_known, const char *reason, void *userdata)
{
	bool *ret_is_known = userdata;

	*ret_is_known = is_known;
	if (reason != NULL)
		(void) puts(reason);
	ev_break(EV_DEFAULT, EVBREAK_ALL);
}

static int ask_quorum(void)
{
	AUTO(kernel_free) struct kernel *kernel = NULL;
	AUTO(model_free) struct model *have = NULL;
	AUTO(free) char *path = xasprintf("/proc/self/fd/%d", SPAWN_EXTRA_FD);
	AUTO(free) char *config = NULL;
	bool is_known = false;
	size_t len;

	if (file_read(path, CONF_FILE_BYTES_MAX, &config, &len) < 0 || kernel_new(NULL, &kernel) < 0 ||
	    kernel_observe(kernel, &have) < 0)
		return EXIT_FAILURE;
	(void) quorumask_start(EV_DEFAULT, config, have, on_asked, &is_known);
	(void) ev_run(EV_DEFAULT, 0);
	return is_known && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	unsigned long timeout_ms = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	struct conf_url parsed;
	struct endpoint at;

	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (argc == 2 && strcmp(argv[1], "--quorum") == 0)
		return ask_quorum();
	if (timeout_ms == 0 || conf_parse_url(argv[1], &parsed) != NULL) {
		(void) fputs("usage: netconf-probe URL MILLISECONDS | --quorum\n", stderr);
		return EXIT_USAGE;
	}
	if (look_up(parsed.host, &at) < 0)
		return EXIT_FAILURE;
	return ask(argv[1], &at, (unsigned) timeout_ms) ? EXIT_SUCCESS : EXIT_FAILURE;
}
