/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Judges the logs of the observer and of tcpwatch, all taken as one: prints who owned the address,
 * for how long nobody answered and for how long two claimed it, and exits 1 with the lines of
 * evidence where a limit given as an option is broken, 2 where they prove nothing (unreadable, or
 * without one answer in them). Options and files are handled here; reading, measuring and judging
 * are in wirelog/, with their own unit test.
 */

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mono.h"
#include "tests/tools/wirelog/figures.h"

struct options {
	char **paths; /* ends with NULL */
	const char *from_mark, *until_mark;
	int64_t presence_us;
	struct figures_limits limits;
	bool json;
};

static NORETURN void usage(int code)
{
	(void) fprintf(
	    code == 0 ? stdout : stderr,
	    "usage: observer_check [OPTION]... LOG...\n"
	    "  --from MARK, --until MARK  look only at what lies between (the last so named)\n"
	    "  --max-overlap-ms N         two may claim the address for so long; 0: never\n"
	    "  --max-gap-ms N             nobody may answer for so long\n"
	    "  --expect-moves N           so many changes of owner\n"
	    "  --max-owners N             so many claimants\n"
	    "  --name MAC=NAME            call it so\n"
	    "  --ignore MAC               leave its claims out\n"
	    "  --presence-ms N            one that is silent for longer has left (%d)\n"
	    "  --allow-silence            no answer at all is no error\n"
	    "  --json                     the figures as one line\n",
	    (int) (FIGURES_PRESENCE_US / US_PER_MS));
	exit(code);
}

static int64_t parse_count(const char *text)
{
	char *end;
	long long value = strtoll(text, &end, 10);

	if (*text == '\0' || *end != '\0' || value < 0)
		usage(FIGURES_NO_PROOF);
	return value;
}

/* MAC=NAME, or the bare MAC of somebody to ignore. */
static void parse_mac_option(struct journal *j, char *text, bool ignore)
{
	char *name = strchr(text, '=');
	struct journal_owner *owner;
	struct mac mac;

	if (name != NULL)
		*name++ = '\0';
	if (mac_parse(text, &mac) < 0 || (name == NULL) != ignore)
		usage(FIGURES_NO_PROOF);
	owner = journal_owner(j, &mac);
	if (owner == NULL)
		usage(FIGURES_NO_PROOF);
	owner->ignored |= ignore;
	if (name != NULL)
		(void) snprintf(owner->name, sizeof(owner->name), "%s", name);
}

static void parse_option(int c, struct options *o, struct journal *j)
{
	switch (c) {
	case 'f':
		o->from_mark = optarg;
		break;
	case 'u':
		o->until_mark = optarg;
		break;
	case 'o':
		o->limits.max_overlap_us = parse_count(optarg) * US_PER_MS;
		break;
	case 'g':
		o->limits.max_gap_us = parse_count(optarg) * US_PER_MS;
		break;
	case 'm':
		o->limits.expect_moves = parse_count(optarg);
		break;
	case 'w':
		o->limits.max_owners = parse_count(optarg);
		break;
	case 'p':
		o->presence_us = parse_count(optarg) * US_PER_MS;
		break;
	case 'n':
	case 'i':
		parse_mac_option(j, optarg, c == 'i');
		break;
	case 's':
		o->limits.allow_silence = true;
		break;
	case 'j':
		o->json = true;
		break;
	default:
		usage(c == 'h' ? 0 : FIGURES_NO_PROOF);
	}
}

static void parse_options(int argc, char **argv, struct options *o, struct journal *j)
{
	static const struct option table[] = {
	    {"from", required_argument, NULL, 'f'},
	    {"until", required_argument, NULL, 'u'},
	    {"max-overlap-ms", required_argument, NULL, 'o'},
	    {"max-gap-ms", required_argument, NULL, 'g'},
	    {"expect-moves", required_argument, NULL, 'm'},
	    {"max-owners", required_argument, NULL, 'w'},
	    {"name", required_argument, NULL, 'n'},
	    {"ignore", required_argument, NULL, 'i'},
	    {"presence-ms", required_argument, NULL, 'p'},
	    {"allow-silence", no_argument, NULL, 's'},
	    {"json", no_argument, NULL, 'j'},
	    {"help", no_argument, NULL, 'h'},
	    {NULL, 0, NULL, 0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", table, NULL)) != -1)
		parse_option(c, o, j);
	if (optind == argc)
		usage(FIGURES_NO_PROOF);
	o->paths = argv + optind;
}

static void read_log(struct journal *j, const char *path)
{
	AUTO(fclose) FILE *f = fopen(path, "re");
	size_t line = 0;
	int r = f == NULL ? -errno : journal_read(j, f, &line);

	if (r >= 0)
		return;
	(void) fprintf(stderr, "observer_check: %s", path);
	if (line > 0)
		(void) fprintf(stderr, ":%zu", line);
	(void) fprintf(stderr, ": %s\n", strerror(-r));
	exit(FIGURES_NO_PROOF);
}

static size_t line_of_mark(const struct journal *j, const char *name)
{
	int64_t line = journal_find_mark(j, name);

	if (line >= 0)
		return (size_t) line;
	(void) fprintf(stderr, "observer_check: no mark '%s' in the log\n", name);
	exit(FIGURES_NO_PROOF);
}

int main(int argc, char **argv)
{
	struct options o = {
	    .presence_us = FIGURES_PRESENCE_US,
	    .limits =
	        {
	            .max_overlap_us = FIGURES_UNLIMITED,
	            .max_gap_us = FIGURES_UNLIMITED,
	            .expect_moves = FIGURES_UNLIMITED,
	            .max_owners = FIGURES_UNLIMITED,
	        },
	};
	struct journal journal = {0};
	struct figures figures;
	enum figures_verdict verdict;
	size_t first, last;

	parse_options(argc, argv, &o, &journal);
	for (char **path = o.paths; *path != NULL; path++)
		read_log(&journal, *path);
	first = o.from_mark == NULL ? 0 : line_of_mark(&journal, o.from_mark);
	last = o.until_mark == NULL ? journal.n_lines - 1 : line_of_mark(&journal, o.until_mark);
	if (last <= first) {
		(void) fprintf(stderr, "observer_check: nothing between the marks\n");
		exit(FIGURES_NO_PROOF);
	}
	figures_measure(&journal, first, last, o.presence_us, &figures);
	if (o.json)
		figures_print_json(&figures, stdout);
	else
		figures_print(&journal, &figures, stdout);
	verdict = figures_judge(&journal, &figures, &o.limits, stdout);
	journal_fini(&journal);
	return (int) verdict;
}
