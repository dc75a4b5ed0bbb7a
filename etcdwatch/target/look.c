/* SPDX-License-Identifier: Apache-2.0 */
/* Line by line from the worker into the inventory. */
#include "etcdwatch/target/look.h"

#include <stdlib.h>

#include "base/mem.h"
#include "etcdwatch/config/s3words.h"

struct look {
	struct inventory *inventory;
	struct child *child;
	look_done_fn done;
	void *userdata;
};

static void line_cb(const json_t *line, void *userdata)
{
	struct look *l = userdata;

	inventory_add(l->inventory, line);
}

static void done_cb(const struct child_result *said, void *userdata)
{
	struct look *l = userdata;

	l->child = NULL;
	if (said->r == 0 && inventory_overfull(l->inventory) != NULL) {
		l->done(NULL, "TOO_MANY", inventory_overfull(l->inventory), l->userdata);
		look_free(l);
		return;
	}
	if (said->r == 0)
		inventory_finish(l->inventory);
	l->done(said->r == 0 ? TAKE_PTR(l->inventory) : NULL, child_error_code(said), said->reason,
	        l->userdata);
	look_free(l);
}

int look_start(const struct look_options *options, look_done_fn done, void *userdata,
               struct look **ret_look)
{
	AUTO(look_free) struct look *l = NEW0(struct look);
	AUTO(free) char *folder = inventory_folder(options->target, options->cluster_id);
	AUTO(free) char *wanted = catalog_entry_pattern(options->job);
	struct s3words words;
	int r;

	l->inventory = inventory_new(options->target, options->job);
	l->done = done;
	l->userdata = userdata;
	s3words_begin(&words, options->worker, "list", options->target);
	s3words_option(&words, "--read", wanted);
	s3words_add(&words, options->cluster_id != 0 ? folder : options->target->prefix);
	r = child_start(options->ev, words.argv, options->limit_us, done_cb, l, &l->child);
	if (r < 0)
		return r;
	child_each_line(l->child, line_cb);
	*ret_look = TAKE_PTR(l);
	return 0;
}

void look_free(struct look *l)
{
	if (l == NULL)
		return;
	child_free(l->child);
	inventory_free(l->inventory);
	free(l);
}
