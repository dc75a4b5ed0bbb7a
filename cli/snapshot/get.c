/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `etcd snapshot get`: keys and values as they were at a revision, printed as `etcdctl get` prints
 * them: a line for the key, then the value as it is. On a terminal, control characters are
 * replaced.
 */
#include "cli/cli.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "bolt/view.h"
#include "cli/snapshot/file.h"
#include "cli/snapshot/find.h"
#include "cli/common/table.h"

static void print_line(struct bytes text)
{
	if (isatty(STDOUT_FILENO))
		etcd_print_safe(stdout, text);
	else
		(void) fwrite(text.data, 1, text.len, stdout);
	(void) putchar('\n');
}

/* With etcdctl's names for the fields. */
static void print_object(const struct cli *cli, const struct mvcc_kv *kv)
{
	AUTO(free) char *key = etcd_base64(kv->key);
	AUTO(free) char *value = etcd_base64(kv->value);
	json_t *object =
	    json_pack("{s:s, s:I, s:I, s:I, s:s}", "key", key, "create_revision",
	              (json_int_t) kv->create_revision, "mod_revision", (json_int_t) kv->mod_revision,
	              "version", (json_int_t) kv->version, "value", value);

	if (kv->lease != 0)
		(void) json_object_set_new(object, "lease", json_integer(kv->lease));
	cli_print(cli, object);
	json_decref(object);
}

static int print_all(const struct cli *cli, struct view *view)
{
	for (size_t i = 0; i < view_count(view); i++) {
		struct mvcc_kv kv;
		int r = view_read(view, i, &kv);

		if (r < 0)
			return r;
		if (cli->output != CLI_TABLE) {
			print_object(cli, &kv);
		} else {
			print_line(kv.key);
			print_line(kv.value);
		}
	}
	return 0;
}

static int say_none(const struct cli *cli, const char *key, const struct etcd_file *file,
                    const struct view *view)
{
	(void) fprintf(stderr, "fairlead: no key %s'", cli->prefix ? "that begins with " : "");
	table_print_safe(stderr, key);
	(void) fputs("' in ", stderr);
	table_print_safe(stderr, file->path);
	(void) fprintf(stderr, " at revision %" PRId64 "\n", view_revision(view));
	return CLI_FAILED;
}

int cli_etcd_snapshot_get(const struct cli *cli, int argc UNUSED, char **argv)
{
	AUTO(view_free) struct view *view = NULL;
	struct view_match match = {.key = bytes_of_text(argv[0]), .is_prefix = cli->prefix};
	struct etcd_file file;
	int r, code;

	code = etcd_file_find(cli, argv[1], &file);
	if (code != CLI_OK) {
		etcd_file_fini(&file);
		return code;
	}
	r = view_new(snapshot_db(file.snapshot), cli->revision, &match, &view);
	if (r >= 0 && view_count(view) == 0)
		code = say_none(cli, argv[0], &file, view);
	else if (r >= 0)
		r = print_all(cli, view);
	if (r < 0)
		code = etcd_file_explain(&file, r);
	etcd_file_fini(&file);
	return code != CLI_OK ? code : etcd_flush();
}
