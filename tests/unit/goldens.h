/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A corpus of configurations: every bad/X.yaml must give exactly the messages of bad/X.err, and
 * every good/X.yaml exactly the configuration of good/X.out, which must read back as itself. Runs
 * in the root of the source tree. With an argument, "update", it writes the goldens instead: look
 * at the difference before committing it.
 *
 * Included behind the config.h of the daemon that is tested: the names in them are the same.
 */

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include "base/fileio.h"
#include "base/mem.h"
#include "tests/unit/check.h"

#define GOLDENS_FILE_BYTES_MAX (1 << 20)

struct goldens {
	const char *corpus;           /* with the folders good and bad */
	const struct config_env *env; /* so that no golden depends on this machine */
	bool update;
};

static void goldens_on_error(const char *message, void *userdata)
{
	(void) fprintf(userdata, "%s\n", message);
}

/* The messages of a bad file or the configuration and the notes of a good one. The file's name
 * stands without its directory in the messages. */
static char *goldens_load(const struct goldens *g, const char *name, const char *text, size_t len,
                          int *ret_r)
{
	AUTO(config_free) struct config *config = NULL;
	char *result = NULL;
	size_t result_len = 0;
	FILE *out = open_memstream(&result, &result_len);

	*ret_r = config_load_text(name, text, len, g->env, goldens_on_error, out, &config);
	if (*ret_r >= 0) {
		for (size_t i = 0; i < config->notes.n; i++)
			(void) fprintf(out, "# %s\n", config->notes.items[i]);
		config_print(config, out);
	}
	(void) fclose(out);
	return result;
}

static void goldens_compare(const struct goldens *g, const char *path, const char *got)
{
	AUTO(free) char *want = NULL;
	size_t len;
	int r;

	if (g->update) {
		CHECK(file_write_atomic(path, got, strlen(got), 0644, FILE_VOLATILE) >= 0);
		return;
	}
	r = file_read(path, GOLDENS_FILE_BYTES_MAX, &want, &len);
	if (r < 0) {
		(void) fprintf(stderr, "%s: %s\n", path, strerror(-r));
		check_failures++;
		return;
	}
	if (strcmp(got, want) != 0) {
		(void) fprintf(stderr, "%s: got\n%s--- want\n%s", path, got, want);
		check_failures++;
	}
}

/* What is printed must be a configuration that prints the same. */
static void goldens_check_round_trip(const struct goldens *g, const char *name, const char *printed)
{
	AUTO(free) char *again = NULL;
	const char *first = strstr(printed, "---\n"); /* behind the notes */
	const char *second;
	int r;

	again = goldens_load(g, name, printed, strlen(printed), &r);
	second = strstr(again, "---\n");
	if (!CHECK(first != NULL && second != NULL && r == 0) || !CHECK_EQ_STR(second, first))
		(void) fprintf(stderr, "%s does not read back: %s\n", name, again);
}

static void goldens_run_case(const struct goldens *g, const char *folder, const char *file,
                             bool is_good)
{
	AUTO(free) char *stem = xstrndup(file, strlen(file) - strlen(".yaml"));
	AUTO(free) char *path = xasprintf("%s/%s/%s", g->corpus, folder, file);
	AUTO(free)
	char *golden = xasprintf("%s/%s/%s.%s", g->corpus, folder, stem, is_good ? "out" : "err");
	AUTO(free) char *text = NULL;
	AUTO(free) char *got = NULL;
	size_t len;
	int r;

	r = file_read(path, GOLDENS_FILE_BYTES_MAX, &text, &len);
	if (r < 0) {
		(void) fprintf(stderr, "%s: %s\n", path, strerror(-r));
		check_failures++;
		return;
	}
	got = goldens_load(g, file, text, len, &r);
	if (r != (is_good ? 0 : -EINVAL)) {
		(void) fprintf(stderr, "%s: is read as %s:\n%s", path, r == 0 ? "good" : "bad", got);
		check_failures++;
		return;
	}
	/* Some cases hold this where a secret would be. */
	CHECK(strstr(got, "do-not-print-me") == NULL);
	goldens_compare(g, golden, got);
	if (is_good)
		goldens_check_round_trip(g, file, got);
}

static int goldens_select_yaml(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot != NULL && strcmp(dot, ".yaml") == 0;
}

static int goldens_run_folder(const struct goldens *g, const char *folder, bool is_good)
{
	AUTO(free) char *path = xasprintf("%s/%s", g->corpus, folder);
	struct dirent **entries = NULL;
	int n = scandir(path, &entries, goldens_select_yaml, alphasort);

	if (n < 0) {
		(void) fprintf(stderr, "%s: %s; run this in the root of the tree\n", path, strerror(errno));
		exit(1);
	}
	for (int i = 0; i < n; i++) {
		goldens_run_case(g, folder, entries[i]->d_name, is_good);
		free(entries[i]);
	}
	free(entries);
	return n;
}

/* All of a test's main(). */
static int goldens_main(int argc, char **argv, const char *corpus, const struct config_env *env,
                        int bad_cases_min)
{
	const struct goldens g = {corpus, env, argc > 1 && strcmp(argv[1], "update") == 0};

	CHECK(goldens_run_folder(&g, "bad", false) >= bad_cases_min);
	CHECK(goldens_run_folder(&g, "good", true) > 0);
	return check_result();
}
