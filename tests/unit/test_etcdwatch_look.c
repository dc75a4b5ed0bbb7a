/* SPDX-License-Identifier: Apache-2.0 */
/* One look at a target; the worker is scripted, the inventory is the real one. */
#include "etcdwatch/target/look.h"

#include <errno.h>

#include "base/macro.h"
#include "etcdwatch/work/child.h"
#include "tests/unit/check.h"
#include "tests/unit/entries.h"

#define FOLDER "p/0000000000000007/"

/* --- the worker --- */

static child_done_fn ended;
static void (*each)(const json_t *object, void *userdata);
static void *of_look;

int child_start(struct ev_loop *ev UNUSED, const char *const *argv UNUSED, int64_t limit_us UNUSED,
                child_done_fn done, void *userdata, struct child **ret_child)
{
	ended = done;
	of_look = userdata;
	*ret_child = NULL;
	return 0;
}

void child_each_line(struct child *child UNUSED, child_line_fn line)
{
	each = line;
}

void child_free(struct child *child UNUSED)
{
}

const char *child_error_code(const struct child_result *result)
{
	return result->r < 0 ? "S3_DENIED" : "";
}

/* --- the cases --- */

static size_t n_over, n_entries;
static char code_said[32], reason_said[256];

static void done_cb(struct inventory *inventory, const char *code, const char *reason,
                    void *userdata UNUSED)
{
	n_over++;
	n_entries = inventory != NULL ? inventory_n(inventory) : 0;
	CHECK((inventory != NULL) == (code[0] == '\0'));
	(void) snprintf(code_said, sizeof(code_said), "%s", code);
	(void) snprintf(reason_said, sizeof(reason_said), "%s", reason);
	inventory_free(inventory);
}

static void look(size_t n, int r)
{
	const struct config_target target = {.name = (char[]){"site"}, .prefix = (char[]){"p/"}};
	const struct look_options options = {.target = &target, .job = "a", .worker = "/worker"};
	const struct child_result result = {.r = r, .reason = r < 0 ? "so" : ""};
	struct look *handle;

	n_over = 0;
	CHECK_EQ_INT(look_start(&options, done_cb, NULL, &handle), 0);
	for (size_t i = 0; i < n; i++) {
		AUTO(catalog_entry_free)
		struct catalog_entry *e = entries_new("a", 7, 1000 + (int64_t) i, 9);
		json_t *lines[] = {
		    json_pack("{s:o, s:i}", "key", json_sprintf(FOLDER "%s", e->file), "bytes",
		              ENTRIES_BYTES),
		    json_pack("{s:o, s:i, s:o}", "key", json_sprintf(FOLDER "%s.json", e->id), "bytes", 1,
		              "content", entries_json(e)),
		};

		for (size_t k = 0; k < ARRAY_SIZE(lines); k++) {
			each(lines[k], of_look);
			json_decref(lines[k]);
		}
	}
	ended(&result, of_look);
	CHECK_EQ_INT(n_over, 1);
}

int main(void)
{
	look(2, 0);
	CHECK_EQ_INT(n_entries, 2);
	look(2, -EIO);
	CHECK_EQ_STR(code_said, "S3_DENIED");
	CHECK_EQ_STR(reason_said, "so");
	/* Part of what is there is no ground to remove or to copy anything. */
	look(INVENTORY_ENTRIES_MAX + 1, 0);
	CHECK_EQ_STR(code_said, "TOO_MANY");
	CHECK(strstr(reason_said, "more than 10000 entries of job 'a'") != NULL);
	return check_result();
}
