/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time zones against the C library's, for every zone that the system has and on both sides of each
 * change of two centuries; files that end nowhere or lie.
 */
#include "etcdwatch/schedule/zone.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "base/civil.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "tests/unit/check.h"

#define BERLIN ZONE_DIRECTORY "/Europe/Berlin"
#define FROM_S (-2208988800) /* 1900 */
#define TO_S 4417977600      /* 2110 */
#define HEADER_BYTES 44

/* --- every zone --- */

static int64_t offset_of_libc(int64_t t_s)
{
	time_t t = (time_t) t_s;
	struct tm tm;

	return localtime_r(&t, &tm) != NULL ? tm.tm_gmtoff : INT64_MAX;
}

static void check_zone(const char *name)
{
	AUTO(zone_free) struct zone *zone = NULL;
	struct zone_span span;
	bool good = CHECK_EQ_INT(zone_load(NULL, name, &zone), 0);

	(void) setenv("TZ", name, 1);
	tzset();
	for (int64_t t_s = FROM_S; good && t_s < TO_S; t_s = span.end_s) {
		span = zone_span_at(zone, t_s);
		good =
		    CHECK(span.begin_s <= t_s && t_s < span.end_s) &&
		    CHECK_EQ_INT(span.offset_s, offset_of_libc(t_s)) &&
		    CHECK_EQ_INT(span.offset_s, offset_of_libc(span.end_s < TO_S ? span.end_s - 1 : TO_S));
		if (!good)
			(void) fprintf(stderr, "  %s at %lld\n", name, (long long) t_s);
		if (span.end_s == INT64_MAX)
			break;
	}
}

/* The directories hold zones, and the same again in other ways of counting. */
static unsigned check_directory(const char *prefix)
{
	AUTO(free) char *path = xasprintf("%s/%s", ZONE_DIRECTORY, prefix);
	struct dirent **entries = NULL;
	int n = scandir(path, &entries, NULL, alphasort);
	unsigned zones = 0;

	for (int i = 0; i < n; i++) {
		AUTO(free) char *name = xasprintf("%s%s", prefix, entries[i]->d_name);
		AUTO(free) char *file = xasprintf("%s/%s", ZONE_DIRECTORY, name);
		AUTO(free) char *inner = xasprintf("%s/", name);
		struct stat st = {0};

		(void) stat(file, &st);
		if (S_ISDIR(st.st_mode) && entries[i]->d_name[0] != '.' && strcmp(name, "right") != 0) {
			zones += check_directory(inner);
		} else if (S_ISREG(st.st_mode) && strchr(name, '.') == NULL &&
		           strcmp(name, "leapseconds") != 0) {
			check_zone(name);
			zones++;
		}
		free(entries[i]);
	}
	free(entries);
	return zones;
}

/* --- names --- */

static void test_names(void)
{
	static const struct {
		const char *name;
		int want;
	} cases[] = {
	    {"UTC", 0},
	    {"Europe/Berlin", 0},
	    {"America/Argentina/Buenos_Aires", 0},
	    {"Etc/GMT+5", 0},
	    {"", -EINVAL},
	    {"/etc/passwd", -EINVAL},
	    {"../../../etc/passwd", -EINVAL},
	    {"Europe/../Europe/Berlin", -EINVAL},
	    {"Europe/Berlin ", -EINVAL},
	    {":Europe/Berlin", -EINVAL},
	    {"CET-1CEST,M3.5.0,M10.5.0/3", -EINVAL},
	    {"Europe/Frankfurt", -ENOENT},
	    {"Europe/Berlin/Mitte", -ENOENT},
	    {"Europe", -EBADMSG},
	    {"leapseconds", -EBADMSG},
	    {"right/Europe/Berlin", -EBADMSG},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(zone_free) struct zone *zone = NULL;
		int r = zone_load(NULL, cases[i].name, &zone);

		/* Not every system has the zones that count leap seconds. */
		if (r == -ENOENT && strncmp(cases[i].name, "right/", 6) == 0)
			continue;
		if (!CHECK_EQ_INT(r, cases[i].want) || !CHECK_EQ_INT(zone != NULL, r == 0))
			(void) fprintf(stderr, "  for '%s'\n", cases[i].name);
	}
}

static void test_utc(void)
{
	AUTO(zone_free) struct zone *zone = NULL;
	struct zone_span span;

	CHECK_EQ_INT(zone_load("/nonexistent", "UTC", &zone), 0);
	span = zone_span_at(zone, 1700000000);
	CHECK(span.begin_s == INT64_MIN && span.end_s == INT64_MAX && span.offset_s == 0);
}

/* --- files --- */

/* A file without transitions, as zones are that always had the same rule. */
static size_t make_file(const char *footer, uint8_t file[static 256])
{
	uint8_t *second = file + HEADER_BYTES;
	size_t len = HEADER_BYTES * 2;

	memset(file, 0, 256);
	memcpy(file, "TZif2", 5);
	memcpy(second, "TZif2", 5);
	second[39] = 1; /* types */
	second[43] = 4; /* characters */
	file[len + 3] = 0;
	len += 6 + 4;
	file[len++] = '\n';
	memcpy(file + len, footer, strlen(footer));
	len += strlen(footer);
	file[len++] = '\n';
	return len;
}

static void test_rule_alone(void)
{
	AUTO(zone_free) struct zone *berlin = NULL;
	AUTO(zone_free) struct zone *made = NULL;
	uint8_t file[256];
	size_t len = make_file("CET-1CEST,M3.5.0,M10.5.0/3", file);

	CHECK_EQ_INT(zone_load(NULL, "Europe/Berlin", &berlin), 0);
	if (!CHECK_EQ_INT(zone_parse(file, len, &made), 0))
		return;
	/* Since 1996 that is Berlin's rule, in the table as behind it. */
	for (int64_t t_s = 867715200; t_s < TO_S; t_s += 3 * CIVIL_DAY_S + 3571) {
		struct zone_span a = zone_span_at(berlin, t_s), b = zone_span_at(made, t_s);

		CHECK_EQ_INT(a.offset_s, b.offset_s);
		if (a.end_s < 2139000000 || a.begin_s > 2140700000)
			CHECK(a.begin_s == b.begin_s && a.end_s == b.end_s);
	}
}

static void test_rules(void)
{
	static const struct {
		const char *text;
		bool good;
		int64_t offset_s, dst_offset_s;
		const char *begin, *end; /* of daylight saving time in 2028, which is a leap year */
	} cases[] = {
	    {"UTC0", true, 0, 0, NULL, NULL},
	    {"<+0545>-5:45", true, 20700, 0, NULL, NULL},
	    {"<-03>3", true, -10800, 0, NULL, NULL},
	    {"EST5EDT,M3.2.0,M11.1.0", true, -18000, -14400, "2028-03-12T07:00:00Z",
	     "2028-11-05T06:00:00Z"},
	    {"IST-1GMT0,M10.5.0,M3.5.0/1", true, 3600, 0, "2028-10-29T01:00:00Z",
	     "2028-03-26T01:00:00Z"},
	    {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", true, -7200, -3600, "2028-03-26T01:00:00Z",
	     "2028-10-29T01:00:00Z"},
	    {"EET-2EEST,M3.4.4/50,M10.4.4/50", true, 7200, 10800, "2028-03-25T00:00:00Z",
	     "2028-10-27T23:00:00Z"},
	    {"AAA-2BBB-2:30:15,J60/0,J365/24", true, 7200, 9015, "2028-02-29T22:00:00Z",
	     "2028-12-31T21:29:45Z"},
	    {"AAA0BBB,59/0,60/0", true, 0, 3600, "2028-02-29T00:00:00Z", "2028-02-29T23:00:00Z"},
	    {"AAA0BBB,M1.1.6,M2.5.2", true, 0, 3600, "2028-01-01T02:00:00Z", "2028-02-29T01:00:00Z"},
	    {"", false, 0, 0, NULL, NULL},
	    {"CET", false, 0, 0, NULL, NULL},
	    {"CE-1", false, 0, 0, NULL, NULL},
	    {"<CET-1", false, 0, 0, NULL, NULL},
	    {"CET-25", false, 0, 0, NULL, NULL},
	    {"CET-1:60", false, 0, 0, NULL, NULL},
	    {"CET-1CEST", false, 0, 0, NULL, NULL},
	    {"CET-1CEST,M3.5.0", false, 0, 0, NULL, NULL},
	    {"CET-1CEST,M13.5.0,M10.5.0", false, 0, 0, NULL, NULL},
	    {"CET-1CEST,M3.6.0,M10.5.0", false, 0, 0, NULL, NULL},
	    {"CET-1CEST,M3.0.0,M10.5.0", false, 0, 0, NULL, NULL},
	    {"CET-1CEST,M3.5.7,M10.5.0", false, 0, 0, NULL, NULL},
	    {"CET-1CEST,M3.5.0/168,M10.5.0", false, 0, 0, NULL, NULL},
	    {"CET-1CEST,J0,J365", false, 0, 0, NULL, NULL},
	    {"CET-1CEST,J366,J365", false, 0, 0, NULL, NULL},
	    {"CET-1CEST,366,1", false, 0, 0, NULL, NULL},
	    {"CET-1CEST,M3.5.0,M10.5.0x", false, 0, 0, NULL, NULL},
	    {"CET-99999999999999999999", false, 0, 0, NULL, NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct zonerule_change changes[2];
		struct zonerule rule;
		int r = zonerule_parse(cases[i].text, strlen(cases[i].text), &rule);
		int64_t begin_s = 0, end_s = 0;
		bool begins_first;

		if (!CHECK_EQ_INT(r, cases[i].good ? 0 : -EBADMSG)) {
			(void) fprintf(stderr, "  for '%s'\n", cases[i].text);
			continue;
		}
		if (r < 0)
			continue;
		CHECK_EQ_INT(rule.offset_s, cases[i].offset_s);
		CHECK_EQ_INT(rule.has_dst, cases[i].begin != NULL);
		if (!rule.has_dst)
			continue;
		CHECK_EQ_INT(rule.dst_offset_s, cases[i].dst_offset_s);
		zonerule_changes(&rule, 2028, changes);
		CHECK(civil_parse(cases[i].begin, &begin_s) == 0 && civil_parse(cases[i].end, &end_s) == 0);
		begins_first = begin_s < end_s;
		if (!CHECK_EQ_INT(changes[!begins_first].at_s, begin_s) ||
		    !CHECK_EQ_INT(changes[begins_first].at_s, end_s) ||
		    !CHECK_EQ_INT(changes[!begins_first].offset_s, cases[i].dst_offset_s) ||
		    !CHECK_EQ_INT(changes[begins_first].offset_s, cases[i].offset_s))
			(void) fprintf(stderr, "  for '%s'\n", cases[i].text);
	}
}

/* Whatever is read, time goes on in it. */
static void walk(const struct zone *zone)
{
	static const int64_t times[] = {INT64_MIN, FROM_S, 0, 1700000000, TO_S, INT64_MAX - 1};

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		struct zone_span span = zone_span_at(zone, times[i]);

		CHECK(span.begin_s <= times[i] && times[i] < span.end_s);
		CHECK(span.offset_s > -26 * 3600 && span.offset_s < 26 * 3600);
	}
	for (int64_t t_s = FROM_S; t_s < TO_S;) {
		struct zone_span span = zone_span_at(zone, t_s);

		if (!CHECK(span.begin_s <= t_s && t_s < span.end_s))
			return;
		t_s = span.end_s;
	}
}

static void test_broken_files(void)
{
	AUTO(free) char *file = NULL;
	size_t len;

	if (!CHECK_EQ_INT(file_read(BERLIN, 65536, &file, &len), 0))
		return;
	for (size_t cut = 0; cut < len; cut++) {
		/* On the heap, so that a sanitizer sees a step too far. */
		AUTO(free) char *part = xmemdup(file, cut);
		AUTO(zone_free) struct zone *zone = NULL;

		CHECK_EQ_INT(zone_parse(part, cut, &zone), -EBADMSG);
	}
	for (size_t at = 0; at < len; at++) {
		for (unsigned bit = 0; bit < 8; bit += 3) {
			AUTO(zone_free) struct zone *zone = NULL;

			file[at] = (char) (file[at] ^ (1 << bit));
			if (zone_parse(file, len, &zone) >= 0)
				walk(zone);
			file[at] = (char) (file[at] ^ (1 << bit));
		}
	}
}

static void test_lying_files(void)
{
	static const struct {
		size_t at;
		uint8_t value;
	} cases[] = {
	    {0, 'X'},   {4, '1'},              /* not one; too old */
	    {72, 1},                           /* leap seconds */
	    {76, 0xff}, {79, 1},               /* transitions that are not there */
	    {80, 0xff}, {83, 0},    {83, 255}, /* types */
	    {84, 0xff}, {87, 200},             /* characters */
	    {88, 0x01}, {88, 0x80},            /* an offset of 200 days */
	};
	AUTO(zone_free) struct zone *zone = NULL;
	uint8_t file[256];
	size_t len = make_file("UTC0", file);

	CHECK_EQ_INT(zone_parse(file, len, &zone), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		len = make_file("UTC0", file);
		file[cases[i].at] = cases[i].value;
		if (!CHECK_EQ_INT(zone_parse(file, len, &zone), -EBADMSG))
			(void) fprintf(stderr, "  for case %zu\n", i);
	}
}

/* The 64-bit block: behind its header the transitions, then for each its type. */
static void test_lying_tables(void)
{
	AUTO(free) char *file = NULL;
	AUTO(zone_free) struct zone *zone = NULL;
	size_t len, second = 1, n_times;
	char *table;

	if (!CHECK_EQ_INT(file_read(BERLIN, 65536, &file, &len), 0))
		return;
	while (second < len - HEADER_BYTES && memcmp(file + second, "TZif", 4) != 0)
		second++;
	n_times = (size_t) ((unsigned char) file[second + 34] << 8 | (unsigned char) file[second + 35]);
	CHECK(n_times > 60);
	table = file + second + HEADER_BYTES;

	table[8 * n_times + 20] = 14; /* types are 0 to 8 */
	CHECK_EQ_INT(zone_parse(file, len, &zone), -EBADMSG);
	table[8 * n_times + 20] = 0;
	table[8 * 20] = 1; /* later than all behind it */
	CHECK_EQ_INT(zone_parse(file, len, &zone), -EBADMSG);
	table[8 * 20] = (char) 0xff;
	CHECK_EQ_INT(zone_parse(file, len, &zone), 0);
}

int main(void)
{
	CHECK(check_directory("") > 300);
	test_names();
	test_utc();
	test_rule_alone();
	test_rules();
	test_broken_files();
	test_lying_files();
	test_lying_tables();
	return check_result();
}
