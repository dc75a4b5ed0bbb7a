/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A client that counts. Asks a server, or whatever stands in front of it, compares each answer byte
 * by byte, prints a line for each failure as it happens and a summary as one line of JSON in the
 * end. It judges nothing: it exits 0 whenever it ran, and the story that runs it says what may
 * fail. How it asks is in client/; connections and the known stream are in traffic/.
 */

#include <ev.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fileio.h"
#include "base/macro.h"
#include "base/mono.h"
#include "tests/tools/client/client.h"
#include "tests/tools/traffic/stream.h"
#include "tests/tools/traffic/tls.h"

#define BODY_MAX_BYTES ((size_t) 64 << 20)

static NORETURN void usage(int code)
{
	(void) fprintf(
	    code == 0 ? stdout : stderr,
	    "usage: apiclient MODE --to ADDRESS:PORT... [OPTION]...\n"
	    "  open    a new connection for each question: --rate N a second,\n"
	    "          --count N in all (no limit)\n"
	    "  kept    --connections N that are kept, a question on each --every MS, or up to a\n"
	    "          quarter longer (0: one in the beginning and one in the end); --opening N of\n"
	    "          them at the same time (64)\n"
	    "  flow    --connections N (1), --bytes N each way, plain, against an echo;\n"
	    "          --ends-first client|server for half-closed connections;\n"
	    "          --stall MS reads nothing for so long at first; --chunk N sends N bytes at a "
	    "time\n"
	    "  stream  writes --bytes N of the known stream --seed N to standard output\n"
	    "what is asked:\n"
	    "  --ca FILE --name NAME  TLS, verified; GET --path P (/version), --status N (200),\n"
	    "                         --body FILE (any)\n"
	    "  --echo N               plain: N bytes of the known stream, and the same back\n"
	    "for how long:\n"
	    "  --seconds N  then it ends (0: with SIGTERM)   --timeout MS  of a question (5000)\n");
	exit(code);
}

static uint64_t parse_count(const char *text)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	if (*text < '0' || *text > '9' || *end != '\0')
		usage(2);
	return value;
}

struct options {
	struct client client;
	const char *ca, *body;
	uint64_t seed;
};

static void parse_target(struct client *client, const char *text)
{
	if (client->n_to == CLIENT_TARGETS_MAX ||
	    endpoint_parse(text, 0, &client->to[client->n_to++]) < 0)
		usage(2);
}

static void parse_option(int c, struct options *o)
{
	struct client *client = &o->client;

	switch (c) {
	case 't':
		parse_target(client, optarg);
		break;
	case 'c':
		o->ca = optarg;
		break;
	case 'n':
		client->name = optarg;
		break;
	case 'p':
		client->question.path = optarg;
		break;
	case 's':
		client->question.status = (int) parse_count(optarg);
		break;
	case 'b':
		o->body = optarg;
		break;
	case 'e':
		client->question.echo_bytes = parse_count(optarg);
		break;
	case 'r':
		client->rate = (unsigned) parse_count(optarg);
		break;
	case 'm':
		client->count = parse_count(optarg);
		break;
	case 'C':
		client->connections = (unsigned) parse_count(optarg);
		break;
	case 'o':
		client->opening = (unsigned) parse_count(optarg);
		break;
	case 'E':
		client->every_us = (int64_t) parse_count(optarg) * US_PER_MS;
		break;
	case 'S':
		client->duration_us = (int64_t) parse_count(optarg) * US_PER_S;
		break;
	case 'T':
		client->timeout_us = (int64_t) parse_count(optarg) * US_PER_MS;
		break;
	case 'B':
		client->bytes = parse_count(optarg);
		break;
	case 'f':
		client->client_ends_first = strcmp(optarg, "client") == 0;
		client->server_ends_first = strcmp(optarg, "server") == 0;
		if (!client->client_ends_first && !client->server_ends_first)
			usage(2);
		break;
	case 'a':
		client->stall_us = (int64_t) parse_count(optarg) * US_PER_MS;
		break;
	case 'k':
		client->chunk = parse_count(optarg);
		if (client->chunk == 0 || client->chunk > CLIENT_CHUNK_MAX)
			usage(2);
		break;
	case 'd':
		o->seed = parse_count(optarg);
		break;
	default:
		usage(c == 'h' ? 0 : 2);
	}
}

static void parse_options(int argc, char **argv, struct options *o)
{
	static const struct option table[] = {
	    {"to", required_argument, NULL, 't'},
	    {"ca", required_argument, NULL, 'c'},
	    {"name", required_argument, NULL, 'n'},
	    {"path", required_argument, NULL, 'p'},
	    {"status", required_argument, NULL, 's'},
	    {"body", required_argument, NULL, 'b'},
	    {"echo", required_argument, NULL, 'e'},
	    {"rate", required_argument, NULL, 'r'},
	    {"connections", required_argument, NULL, 'C'},
	    {"opening", required_argument, NULL, 'o'},
	    {"every", required_argument, NULL, 'E'},
	    {"seconds", required_argument, NULL, 'S'},
	    {"timeout", required_argument, NULL, 'T'},
	    {"bytes", required_argument, NULL, 'B'},
	    {"ends-first", required_argument, NULL, 'f'},
	    {"seed", required_argument, NULL, 'd'},
	    {"count", required_argument, NULL, 'm'},
	    {"stall", required_argument, NULL, 'a'},
	    {"chunk", required_argument, NULL, 'k'},
	    {"help", no_argument, NULL, 'h'},
	    {NULL, 0, NULL, 0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", table, NULL)) != -1)
		parse_option(c, o);
	if (optind != argc - 1)
		usage(2);
}

static void write_stream(uint64_t seed, uint64_t bytes)
{
	uint8_t chunk[65536];

	for (uint64_t done = 0; done < bytes;) {
		size_t len = MIN(bytes - done, sizeof(chunk));

		stream_fill(seed, done, chunk, len);
		if (fwrite(chunk, 1, len, stdout) != len)
			exit(1);
		done += len;
	}
	if (fflush(stdout) != 0)
		exit(1);
}

/* What is asked: a GET over TLS, or an echo. */
static void prepare(struct options *o)
{
	struct question *q = &o->client.question;
	char *body;
	int r;

	if (q->echo_bytes > 0) {
		q->path = NULL;
		return;
	}
	if (o->ca == NULL || o->client.name == NULL)
		usage(2);
	o->client.tls = tls_client(o->ca);
	q->host = o->client.name;
	if (o->body == NULL)
		return;
	r = file_read(o->body, BODY_MAX_BYTES, &body, &q->body_len);
	if (r < 0) {
		(void) fprintf(stderr, "apiclient: %s: %s\n", o->body, strerror(-r));
		exit(1);
	}
	q->body = body;
}

static void run(struct options *o, const char *mode)
{
	struct client *client = &o->client;
	AUTO(free) char *line = NULL;

	client->ev = ev_default_loop(EVFLAG_AUTO);
	client->summary = json_object();
	(void) json_object_set_new(client->summary, "mode", json_string(mode));
	if (strcmp(mode, "open") == 0)
		client_open(client);
	else if (strcmp(mode, "kept") == 0)
		client_kept(client);
	else
		client_flow(client);
	tally_fill(&client->tally, client->summary);
	line = json_dumps(client->summary, JSON_COMPACT | JSON_REAL_PRECISION(6));
	(void) printf("%s\n", line);
	json_decref(client->summary);
	tally_fini(&client->tally);
	SSL_CTX_free(client->tls);
	free((void *) (uintptr_t) client->question.body);
	ev_loop_destroy(client->ev);
}

int main(int argc, char **argv)
{
	struct options o = {
	    .client =
	        {
	            .question = {.path = "/version", .status = 200},
	            .connections = 1,
	            .opening = 64,
	            .chunk = CLIENT_CHUNK_MAX,
	            .timeout_us = 5 * US_PER_S,
	        },
	};
	const char *mode;

	(void) signal(SIGPIPE, SIG_IGN);
	parse_options(argc, argv, &o);
	mode = argv[optind];
	if (strcmp(mode, "stream") == 0) {
		write_stream(o.seed, o.client.bytes);
		return 0;
	}
	if (o.client.n_to == 0)
		usage(2);
	if (strcmp(mode, "open") == 0 && o.client.rate > 0)
		prepare(&o);
	else if (strcmp(mode, "kept") == 0 && o.client.connections > 0)
		prepare(&o);
	else if (strcmp(mode, "flow") != 0 || o.client.bytes == 0)
		usage(2);
	run(&o, mode);
	return fflush(stdout) == 0 ? 0 : 1;
}
