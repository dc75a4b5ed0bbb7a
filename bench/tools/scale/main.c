/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a cluster of many nodes costs those that all of them ask.
 *
 *   scale table      the table of docs/scale.md, from what prism and vipd do by default
 *   scale simulate   the load of prism's probes by model.h: a line "NAME UNIT VALUE" for each
 * figure
 *
 *   --nodes N --servers N   1000 in front of 3
 *   --interval-ms N --suspect-ms N   default: prism's
 *   --steady S --down S --starting S --after S   120, 30, 10, 60: how long all is well, the first
 * API server refuses, is not ready, and is ready again
 *   --all                   all API servers do
 *   --connections N         4: of each node, all quiet
 *   --clients PERCENT       100: the nodes whose clients run into the fall at once
 *   --begin S               default: an interval; nodes start within this time
 *   --hurry                 each node asks each suspect interval, although others serve
 *   --seed N
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mono.h"
#include "bench/tools/scale/model.h"
#include "prism/config_priv.h"
#include "vipd/timing.h"

static double seconds(int64_t us)
{
	return (double) us / (double) US_PER_S;
}

static double interval_s(const struct judge_rules *rules, bool carries)
{
	struct judge ready;
	struct judge_pause pause;

	judge_init(&ready, false, 0);
	judge_restore(&ready, JUDGE_READY, 0, "");
	pause =
	    judge_pause(&ready, rules, (struct judge_place){.others_serve = true, .carries = carries});
	return seconds(pause.least_us) + seconds(pause.spread_us) / 2;
}

static void print_table(const struct config *config, const struct judge_rules *rules)
{
	static const unsigned masters[] = {3, 5, 7}, workers[] = {10, 100, 1000, 10000};
	int64_t window_us = timing_window_auto_us(TIMING_ELECTION_DEFAULT_US, FENCE_NFTABLES);
	double writes = 1 / seconds(timing_confirm_period_us(window_us));
	double every_s = interval_s(rules, false), quick_s = interval_s(rules, true),
	       slices_s = seconds(config->sources.slices_interval_us);

	(void) printf(
	    "| control-plane nodes | workers | writes into etcd a second, for each VIP "
	    "| probes a second at each API server | all probes a second "
	    "| kept connections at each API server | lists of EndpointSlices a second at each |\n"
	    "|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < ARRAY_SIZE(masters); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(workers); k++) {
			unsigned nodes = masters[i] + workers[k];
			/* Each node has its connections at one of them. */
			double probes = nodes / quick_s + (masters[i] - 1) * (nodes / every_s);

			(void) printf("| %u | %u | %.2f | %.1f | %.0f | %u | %.2f |\n", masters[i], workers[k],
			              writes, probes / masters[i], probes, nodes,
			              nodes / slices_s / masters[i]);
		}
	}
}

static void print_figure(const char *name, const char *unit, double value)
{
	(void) printf("%s %s %.3f\n", name, unit, value);
}

static void print_result(const struct model_result *r)
{
	print_figure("steady_per_s", "1/s", r->steady_per_s);
	print_figure("steady_peak_per_s", "1/s", r->steady_peak);
	if (r->starts_peak > 0)
		print_figure("starting_peak_per_s", "1/s", r->starts_peak);
	print_figure("after_peak_per_s", "1/s", r->after_peak);
	if (r->after_peak_10s > 0)
		print_figure("after_peak_in_10s", "1/s", r->after_peak_10s / 10.);
	print_figure("refused_peak_per_s", "1/s", r->refused_peak);
	print_figure("steady_peak_to_mean", "x", r->steady_peak / r->steady_per_s);
	if (r->starts_peak > 0)
		print_figure("starting_peak_to_mean", "x", r->starts_peak / r->steady_per_s);
	print_figure("after_peak_to_mean", "x", r->after_peak / r->steady_per_s);
	print_figure("half_know_after", "s", r->half_s);
	print_figure("all_know_after", "s", r->all_s);
}

static unsigned number(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end != '\0' || end == text || value > 1000000) {
		(void) fprintf(stderr, "scale: no number: '%s'\n", text);
		exit(2);
	}
	return (unsigned) value;
}

static void read_options(int argc, char **argv, struct model_options *o)
{
	static const struct option known[] = {
	    {"nodes", required_argument, NULL, 'n'},
	    {"servers", required_argument, NULL, 's'},
	    {"interval-ms", required_argument, NULL, 'i'},
	    {"suspect-ms", required_argument, NULL, 'u'},
	    {"steady", required_argument, NULL, 't'},
	    {"down", required_argument, NULL, 'd'},
	    {"starting", required_argument, NULL, 'r'},
	    {"after", required_argument, NULL, 'f'},
	    {"seed", required_argument, NULL, 'e'},
	    {"all", no_argument, NULL, 'a'},
	    {"hurry", no_argument, NULL, 'h'},
	    {"connections", required_argument, NULL, 'k'},
	    {"clients", required_argument, NULL, 'c'},
	    {"begin", required_argument, NULL, 'b'},
	    {0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (option == 'n')
			o->nodes = number(optarg);
		else if (option == 's')
			o->servers = number(optarg);
		else if (option == 'i')
			o->rules.interval_us = number(optarg) * US_PER_MS;
		else if (option == 'u')
			o->rules.suspect_us = number(optarg) * US_PER_MS;
		else if (option == 't')
			o->steady_s = number(optarg);
		else if (option == 'd')
			o->down_s = number(optarg);
		else if (option == 'r')
			o->starts_s = number(optarg);
		else if (option == 'f')
			o->after_s = number(optarg);
		else if (option == 'e')
			o->seed = number(optarg);
		else if (option == 'a')
			o->all = true;
		else if (option == 'h')
			o->hurry = true;
		else if (option == 'k')
			o->connections = number(optarg);
		else if (option == 'c')
			o->clients = number(optarg) / 100.;
		else if (option == 'b')
			o->begin_s = number(optarg);
		else
			exit(2);
	}
}

static bool is_possible(const struct model_options *o)
{
	return o->nodes > 0 && o->servers > 0 && o->servers <= MODEL_SERVERS_MAX && o->seed > 0 &&
	       o->steady_s > 0 && o->rules.interval_us > 0 && o->rules.suspect_us > 0;
}

int main(int argc, char **argv)
{
	struct config config = {0};
	struct model_options o = {.nodes = 1000,
	                          .servers = 3,
	                          .steady_s = 120,
	                          .down_s = 30,
	                          .starts_s = 10,
	                          .after_s = 60,
	                          .connections = 4,
	                          .clients = 1,
	                          .seed = 1};
	struct model_result result;
	unsigned interval_s;

	config_set_defaults(&config);
	o.rules = (struct judge_rules){.rise = config.health.rise,
	                               .interval_us = config.health.interval_us,
	                               .quick_us = config.health.quick_us,
	                               .suspect_us = config.health.suspect_us};
	if (argc == 2 && strcmp(argv[1], "table") == 0) {
		print_table(&config, &o.rules);
		return 0;
	}
	if (argc < 2 || strcmp(argv[1], "simulate") != 0) {
		(void) fprintf(stderr, "usage: scale table | scale simulate [OPTION]...\n");
		return 2;
	}
	read_options(argc - 1, argv + 1, &o);
	if (!is_possible(&o)) {
		(void) fprintf(stderr, "scale: these numbers make no cluster\n");
		return 2;
	}
	interval_s = (unsigned) ((o.rules.interval_us + US_PER_S - 1) / US_PER_S);
	if (o.begin_s == 0)
		o.begin_s = interval_s;
	o.warm_s = 2 * interval_s;
	result = model_run(&o);
	print_result(&result);
	return 0;
}
