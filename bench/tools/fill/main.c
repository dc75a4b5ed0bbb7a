/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Fills an etcd with what the measurements of snapshots need: so many bytes of values, put in
 * transactions of up to a MiB, many of which are under way at a time. One in ten changes a key
 * that is there already, or, one in twenty of these, deletes it. What is written follows from the
 * seed, but for the order in which etcd carries transactions out.
 *
 *   objects   values as an API server stores them: most of a few hundred bytes to 1.5 KiB, some to
 *             6 KiB, one in twenty of 10 to 40 KiB
 *   small     64 to 192 bytes
 *
 * The endpoint is plain HTTP, on loopback.
 */

#include <ev.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "etcd/etcd.h"

#define TXN_BYTES ((size_t) 1000 << 10)
#define TXN_OPS_MAX 128 /* as etcd has it */
#define N_UNDER_WAY 32
#define KEY_MAX 64
#define VALUE_MAX (40 << 10)

struct fill {
	struct ev_loop *ev;
	struct etcd *etcd;
	size_t (*draw_size)(void);
	uint64_t left_bytes;
	uint64_t n_keys; /* numbers that were given out */
	uint64_t n_txns;
	unsigned n_under_way;
	/* Values are cut from here. */
	char noise[1 << 20];
	/* Of the transaction that is being made. */
	struct etcd_op ops[TXN_OPS_MAX];
	char keys[TXN_OPS_MAX][KEY_MAX];
};

static size_t between(size_t low, size_t high)
{
	return low + (size_t) rand() % (high - low + 1);
}

static size_t draw_object(void)
{
	unsigned percent = (unsigned) rand() % 100;

	if (percent < 70)
		return between(200, 1500);
	return percent < 95 ? between(1500, 6 << 10) : between(10 << 10, VALUE_MAX);
}

static size_t draw_small(void)
{
	return between(64, 192);
}

static _Noreturn void die(const char *what)
{
	(void) fprintf(stderr, "fill: %s\n", what);
	exit(1);
}

/* --- one transaction --- */

/* Names as they are in Kubernetes; etcd refuses two changes of a key in one transaction, so old
 * ones are taken from further and further back. */
static struct etcd_bytes name_key(struct fill *f, size_t i, uint64_t number)
{
	static const char *const kinds[] = {"pods", "secrets", "events", "leases"};

	(void) snprintf(f->keys[i], KEY_MAX, "/registry/%s/namespace-%llu/object-%09llu",
	                kinds[number % ARRAY_SIZE(kinds)], (unsigned long long) number / 7 % 50,
	                (unsigned long long) number);
	return ETCD_STR(f->keys[i]);
}

static size_t make_ops(struct fill *f)
{
	uint64_t n_before = f->n_keys, old = n_before;
	size_t n = 0, bytes = 0;

	while (n < TXN_OPS_MAX && bytes < TXN_BYTES && bytes < f->left_bytes) {
		uint64_t step = between(1, 1000);
		bool is_old = rand() % 10 == 0 && old > step;
		size_t len = f->draw_size();

		old -= is_old ? step : 0;
		f->ops[n] = (struct etcd_op){
		    .kind = ETCD_OP_PUT,
		    .key = name_key(f, n, is_old ? old : f->n_keys++),
		    .value = {.data = f->noise + between(0, sizeof(f->noise) - VALUE_MAX - 1), .len = len},
		};
		if (is_old && rand() % 20 == 0)
			f->ops[n].kind = ETCD_OP_DELETE;
		bytes += len;
		n++;
	}
	f->left_bytes -= MIN(bytes, f->left_bytes);
	return n;
}

static void go_on(struct fill *f);

static void txn_done(const struct etcd_outcome *outcome,
                     const struct etcd_txn_result *result UNUSED, void *userdata)
{
	struct fill *f = userdata;

	if (outcome->r < 0)
		die(outcome->text);
	f->n_under_way--;
	go_on(f);
}

static void go_on(struct fill *f)
{
	while (f->left_bytes > 0 && f->n_under_way < N_UNDER_WAY) {
		struct etcd_txn txn = {.success = f->ops, .n_success = make_ops(f)};
		struct etcd_call *call;

		if (etcd_txn(f->etcd, &txn, txn_done, f, &call) < 0)
			die("etcd refuses a transaction");
		f->n_under_way++;
		f->n_txns++;
	}
	if (f->left_bytes == 0 && f->n_under_way == 0)
		ev_break(f->ev, EVBREAK_ALL);
}

/* --- the program --- */

static const struct option known[] = {
    {"endpoint", required_argument, NULL, 'e'},
    {"bytes", required_argument, NULL, 'b'},
    {"seed", required_argument, NULL, 's'},
    {"small", no_argument, NULL, 'm'},
    {0},
};

static _Noreturn void usage(void)
{
	(void) fputs("usage: fill --endpoint URL --bytes N [--seed N] [--small]\n", stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	static struct fill fill = {.draw_size = draw_object};
	struct etcd_options options = {.n_endpoints = 1, .call_timeout_ms = 60000};
	const char *endpoint = NULL;
	char error[ETCD_ERROR_TEXT_MAX];
	int option;

	for (;;) {
		option = getopt_long(argc, argv, "", known, NULL);
		if (option < 0)
			break;
		if (option == 'e')
			endpoint = optarg;
		else if (option == 'b')
			fill.left_bytes = strtoull(optarg, NULL, 10);
		else if (option == 's')
			srand((unsigned) strtoul(optarg, NULL, 10));
		else if (option == 'm')
			fill.draw_size = draw_small;
		else
			usage();
	}
	if (endpoint == NULL || fill.left_bytes == 0 || optind != argc)
		usage();
	for (size_t i = 0; i < sizeof(fill.noise); i++)
		fill.noise[i] = (char) rand();
	options.endpoints = &endpoint;
	fill.ev = ev_default_loop(0);
	if (etcd_new(fill.ev, &options, error, &fill.etcd) < 0)
		die(error);
	go_on(&fill);
	ev_run(fill.ev, 0);
	(void) printf("%llu transactions, %llu keys\n", (unsigned long long) fill.n_txns,
	              (unsigned long long) fill.n_keys);
	etcd_free(fill.etcd);
	return 0;
}
