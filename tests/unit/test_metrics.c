/* SPDX-License-Identifier: Apache-2.0 */
/* The text of base/metrics, byte for byte, and what Prometheus's own checker says about it. */
#include "base/metrics.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/check.h"
#include "base/macro.h"

#define PROMTOOL "/usr/bin/promtool"
#define BUCKET "fairlead_test_connect_seconds_bucket{upstream=\"[fd00::5]:6443\",x=\"\\\"\",le=\""

static void test_values(void)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = {
	    {0, "0"},
	    {1, "1"},
	    {-2.5, "-2.5"},
	    {0.1, "0.1"},
	    {0.1 + 0.2, "0.30000000000000004"},
	    {1234567890123., "1234567890123"},
	    {1e300, "1e+300"},
	    {(double) NAN, "NaN"},
	    {(double) INFINITY, "+Inf"},
	    {-(double) INFINITY, "-Inf"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(metrics_free) struct metrics *m = metrics_new();
		char want[128];

		metrics_family(m, "x", METRICS_GAUGE, "A gauge.");
		metrics_sample(m, cases[i].value, NULL, 0);
		(void) snprintf(want, sizeof(want), "# HELP x A gauge.\n# TYPE x gauge\nx %s\n",
		                cases[i].text);
		CHECK_EQ_STR(metrics_text(m, NULL), want);
	}
}

static struct metrics *sample_page(void)
{
	struct metrics *m = metrics_new();

	metrics_family(m, "fairlead_test_moves_total", METRICS_COUNTER, "Moves, by \\ or\na line.");
	metrics_sample(m, 3, (struct metrics_label[]){{"vip", "10.0.0.5"}, {"reason", "owner silent"}},
	               2);
	metrics_sample(m, 1,
	               (struct metrics_label[]){{"vip", "fd00::5"}, {"reason", "a \"b\" \\ c\nd"}}, 2);
	metrics_family(m, "fairlead_test_fence_left_seconds", METRICS_GAUGE, "What is left.");
	metrics_sample(m, (double) NAN, (struct metrics_label[]){{"vip", "\xc3\xa9"}}, 1);
	metrics_family(m, "fairlead_test_empty", METRICS_GAUGE, "A family without samples.");
	metrics_family(m, "fairlead_test_connect_seconds", METRICS_HISTOGRAM, "Time to connect.");
	metrics_histogram(m, (const double[]){0.00025, 0.1, 5}, (const uint64_t[]){3, 0, 4, 1}, 3, 21.5,
	                  (struct metrics_label[]){{"upstream", "[fd00::5]:6443"}, {"x", "\""}}, 2);
	metrics_histogram(m, NULL, (const uint64_t[]){UINT64_MAX}, 0, -1, NULL, 0);
	metrics_family(m, "fairlead_test_up", METRICS_GAUGE, "No labels.");
	metrics_sample(m, 1, NULL, 0);
	return m;
}

static void test_page(void)
{
	AUTO(metrics_free) struct metrics *m = sample_page();
	size_t len = 0;
	const char *text = metrics_text(m, &len);

	CHECK_EQ_STR(text,
	             "# HELP fairlead_test_moves_total Moves, by \\\\ or\\na line.\n"
	             "# TYPE fairlead_test_moves_total counter\n"
	             "fairlead_test_moves_total{vip=\"10.0.0.5\",reason=\"owner silent\"} 3\n"
	             "fairlead_test_moves_total{vip=\"fd00::5\",reason=\"a \\\"b\\\" \\\\ c\\nd\"} 1\n"
	             "# HELP fairlead_test_fence_left_seconds What is left.\n"
	             "# TYPE fairlead_test_fence_left_seconds gauge\n"
	             "fairlead_test_fence_left_seconds{vip=\"\xc3\xa9\"} NaN\n"
	             "# HELP fairlead_test_empty A family without samples.\n"
	             "# TYPE fairlead_test_empty gauge\n"
	             "# HELP fairlead_test_connect_seconds Time to connect.\n"
	             "# TYPE fairlead_test_connect_seconds histogram\n" BUCKET "0.00025\"} 3\n" BUCKET
	             "0.1\"} 3\n" BUCKET "5\"} 7\n" BUCKET "+Inf\"} 8\n"
	             "fairlead_test_connect_seconds_sum{upstream=\"[fd00::5]:6443\",x=\"\\\"\"} 21.5\n"
	             "fairlead_test_connect_seconds_count{upstream=\"[fd00::5]:6443\",x=\"\\\"\"} 8\n"
	             "fairlead_test_connect_seconds_bucket{le=\"+Inf\"} 18446744073709551615\n"
	             "fairlead_test_connect_seconds_sum -1\n"
	             "fairlead_test_connect_seconds_count 18446744073709551615\n"
	             "# HELP fairlead_test_up No labels.\n"
	             "# TYPE fairlead_test_up gauge\n"
	             "fairlead_test_up 1\n");
	CHECK_EQ_INT(len, strlen(text));

	/* Reading the text does not end the page. */
	metrics_sample(m, 2, (struct metrics_label[]){{"a", "b"}}, 1);
	CHECK(strstr(metrics_text(m, NULL), "fairlead_test_up{a=\"b\"} 2\n") != NULL);
}

/* The status of `promtool check metrics` with the text on its standard input. */
static int promtool(const char *text)
{
	FILE *pipe = popen(PROMTOOL " check metrics", "w");
	int status;

	if (!CHECK(pipe != NULL))
		return -1;
	(void) fputs(text, pipe);
	status = pclose(pipe);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_promtool(void)
{
	AUTO(metrics_free) struct metrics *m = sample_page();

	CHECK_EQ_INT(promtool(metrics_text(m, NULL)), 0);
	/* The checker can fail: without this its absence would look like success. */
	CHECK(promtool("# TYPE x gauge\nx{ 1\n") > 0);
}

/* Runs fn in a child and answers whether it was aborted. */
static bool aborts(void (*fn)(struct metrics *m))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		(void) !freopen("/dev/null", "w", stderr);
		fn(metrics_new());
		_exit(0);
	}
	(void) waitpid(pid, &status, 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void family_twice(struct metrics *m)
{
	metrics_family(m, "x", METRICS_GAUGE, "");
	metrics_family(m, "y", METRICS_GAUGE, "");
	metrics_family(m, "x", METRICS_GAUGE, "");
}

static void family_with_a_dash(struct metrics *m)
{
	metrics_family(m, "fairlead-up", METRICS_GAUGE, "");
}

static void counter_without_total(struct metrics *m)
{
	metrics_family(m, "moves", METRICS_COUNTER, "");
}

static void gauge_with_total(struct metrics *m)
{
	metrics_family(m, "moves_total", METRICS_GAUGE, "");
}

static void sample_without_family(struct metrics *m)
{
	metrics_sample(m, 1, NULL, 0);
}

static void label_with_a_colon(struct metrics *m)
{
	metrics_family(m, "x", METRICS_GAUGE, "");
	metrics_sample(m, 1, (struct metrics_label[]){{"a:b", ""}}, 1);
}

static void label_with_a_digit_first(struct metrics *m)
{
	metrics_family(m, "x", METRICS_GAUGE, "");
	metrics_sample(m, 1, (struct metrics_label[]){{"1a", ""}}, 1);
}

static const uint64_t two[] = {1, 2};

static void histogram_with_total(struct metrics *m)
{
	metrics_family(m, "x_total", METRICS_HISTOGRAM, "");
}

static void histogram_of_a_gauge(struct metrics *m)
{
	metrics_family(m, "x", METRICS_GAUGE, "");
	metrics_histogram(m, (const double[]){1}, two, 1, 1, NULL, 0);
}

static void sample_of_a_histogram(struct metrics *m)
{
	metrics_family(m, "x", METRICS_HISTOGRAM, "");
	metrics_sample(m, 1, NULL, 0);
}

static void bounds_that_fall(struct metrics *m)
{
	metrics_family(m, "x", METRICS_HISTOGRAM, "");
	metrics_histogram(m, (const double[]){2, 1}, (const uint64_t[]){1, 2, 3}, 2, 1, NULL, 0);
}

static void a_bound_that_is_infinite(struct metrics *m)
{
	metrics_family(m, "x", METRICS_HISTOGRAM, "");
	metrics_histogram(m, (const double[]){(double) INFINITY}, two, 1, 1, NULL, 0);
}

static void histogram_with_le(struct metrics *m)
{
	metrics_family(m, "x", METRICS_HISTOGRAM, "");
	metrics_histogram(m, (const double[]){1}, two, 1, 1, (struct metrics_label[]){{"le", "1"}}, 1);
}

static void legal(struct metrics *m)
{
	metrics_family(m, "a:b_1", METRICS_GAUGE, "");
	metrics_sample(m, 1, (struct metrics_label[]){{"_a1", ""}}, 1);
	metrics_family(m, "a:b_2", METRICS_HISTOGRAM, "");
	metrics_histogram(m, (const double[]){1}, two, 1, 1, NULL, 0);
}

static void test_misuse(void)
{
	CHECK(aborts(family_twice));
	CHECK(aborts(family_with_a_dash));
	CHECK(aborts(counter_without_total));
	CHECK(aborts(gauge_with_total));
	CHECK(aborts(sample_without_family));
	CHECK(aborts(label_with_a_colon));
	CHECK(aborts(label_with_a_digit_first));
	CHECK(aborts(histogram_with_total));
	CHECK(aborts(histogram_of_a_gauge));
	CHECK(aborts(sample_of_a_histogram));
	CHECK(aborts(bounds_that_fall));
	CHECK(aborts(a_bound_that_is_infinite));
	CHECK(aborts(histogram_with_le));
	CHECK(!aborts(legal));
}

int main(void)
{
	test_values();
	test_page();
	test_promtool();
	test_misuse();
	return check_result();
}
