/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The load generator: one thread, one mode (load.h), figures on standard output.
 */

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/macro.h"
#include "bench/tools/load/load.h"

static int run_keepalive(const struct load_options *o, struct reactor *reactor)
{
	return load_repeat(o, reactor, false);
}

static int run_connect(const struct load_options *o, struct reactor *reactor)
{
	return load_repeat(o, reactor, true);
}

static const struct mode {
	const char *name;
	int (*run)(const struct load_options *o, struct reactor *reactor);
} modes[] = {
    {"keepalive", run_keepalive}, {"connect", run_connect}, {"paced", load_paced},
    {"hold", load_hold},          {"watch", load_watch},
};

static const struct option known[] = {
    {"to", required_argument, NULL, 't'},
    {"connections", required_argument, NULL, 'n'},
    {"warm-ms", required_argument, NULL, 'w'},
    {"measure-ms", required_argument, NULL, 'm'},
    {"request", required_argument, NULL, 'q'},
    {"response", required_argument, NULL, 's'},
    {"rate", required_argument, NULL, 'r'},
    {"interval-ms", required_argument, NULL, 'i'},
    {"timeout-ms", required_argument, NULL, 'o'},
    {"cpu-of", required_argument, NULL, 'c'},
    {0},
};

int load_cpu_ns(const struct load_options *o, int64_t *ret_ns)
{
	int64_t sum_ns = 0;

	for (unsigned i = 0; i < o->n_pids; i++) {
		struct timespec used;
		clockid_t clock;
		int r = clock_getcpuclockid(o->pids[i], &clock);

		if (r != 0)
			return -r;
		if (clock_gettime(clock, &used) < 0)
			return -errno;
		sum_ns += used.tv_sec * NS_PER_S + used.tv_nsec;
	}
	*ret_ns = sum_ns;
	return 0;
}

static _Noreturn void usage(void)
{
	(void) fputs("usage: load keepalive|connect|paced|hold|watch --to ADDRESS:PORT\n"
	             "  [--connections N] [--warm-ms N] [--measure-ms N] [--request BYTES]\n"
	             "  [--response BYTES] [--rate N] [--interval-ms N] [--timeout-ms N]\n"
	             "  [--cpu-of PID]...\n",
	             stderr);
	exit(2);
}

static unsigned long number(const char *text)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || n == 0 || n > UINT32_MAX)
		usage();
	return n;
}

struct sizes {
	uint32_t request;
	uint32_t response;
};

static void take_option(struct load_options *o, struct sizes *sizes, int option)
{
	unsigned long n = option == 't' ? 0 : number(optarg);

	if (option == 't' && endpoint_parse(optarg, 0, &o->to) < 0)
		usage();
	else if (option == 'n')
		o->connections = (unsigned) n;
	else if (option == 'w')
		o->warm_ns = (int64_t) n * NS_PER_MS;
	else if (option == 'm')
		o->measure_ns = (int64_t) n * NS_PER_MS;
	else if (option == 'q')
		sizes->request = (uint32_t) n;
	else if (option == 's')
		sizes->response = (uint32_t) n;
	else if (option == 'r')
		o->rate = (double) n;
	else if (option == 'i')
		o->interval_ns = (int64_t) n * NS_PER_MS;
	else if (option == 'o')
		o->timeout_ns = (int64_t) n * NS_PER_MS;
	else if (option == 'c' && o->n_pids < LOAD_PIDS_MAX)
		o->pids[o->n_pids++] = (pid_t) n;
	else if (option == 'c')
		usage();
}

static const struct mode *options(struct load_options *o, int argc, char **argv)
{
	struct sizes sizes = {.request = 128, .response = 512};
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (option == '?')
			usage();
		take_option(o, &sizes, option);
	}
	if (optind != argc - 1 || o->to.port == 0 ||
	    message_init(&o->message, sizes.request, sizes.response) < 0)
		usage();
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		if (strcmp(modes[i].name, argv[optind]) == 0)
			return &modes[i];
	usage();
}

int main(int argc, char **argv)
{
	AUTO(reactor_free) struct reactor *reactor = NULL;
	struct load_options o = {
	    .connections = 1,
	    .warm_ns = 200 * NS_PER_MS,
	    .measure_ns = NS_PER_S,
	    .rate = 1000,
	    .interval_ns = 20 * NS_PER_MS,
	    .timeout_ns = 5 * NS_PER_S,
	};
	const struct mode *mode = options(&o, argc, argv);
	int r = reactor_new(&reactor);

	if (r >= 0)
		r = mode->run(&o, reactor);
	message_fini(&o.message);
	if (r < 0)
		(void) fprintf(stderr, "load %s: %s\n", mode->name, strerror(-r));
	return r < 0 ? 1 : 0;
}
