/* SPDX-License-Identifier: Apache-2.0 */
/* What goes from a target, and that nothing does while the members' data are in doubt: shed.c,
 * view.c and retention are the real ones; target, etcd and worker are scripted and answer at once.
 */
#include "etcdwatch/target/shed.h"

#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/cluster/doubt.h"
#include "etcdwatch/cluster/view.h"
#include "etcdwatch/target/look.h"
#include "etcdwatch/target/removal.h"
#include "tests/unit/check.h"

#define N_ENTRIES 3

struct inventory {
	int nothing;
};

static struct view view;
static struct catalog_entry *entries[N_ENTRIES];
static look_done_fn looked;
static view_done_fn viewed;
static accepted_done_fn read_accepted;
static removal_done_fn removed;
static void *of_look, *of_view, *of_accepted, *of_removal;
static size_t n_going, n_over;
static bool was_frozen;
static bool untrusted[N_ENTRIES];

/* --- the world --- */

int look_start(const struct look_options *options UNUSED, look_done_fn done, void *userdata,
               struct look **ret_look)
{
	looked = done;
	of_look = userdata;
	*ret_look = NULL;
	return 0;
}

void look_free(struct look *look UNUSED)
{
}

struct view_request *view_start(struct etcd *etcd UNUSED, view_done_fn done, void *userdata)
{
	viewed = done;
	of_view = userdata;
	return NULL;
}

void view_cancel(struct view_request *request UNUSED)
{
}

struct accepted *accepted_read(const struct accepted_of *of UNUSED, accepted_done_fn done,
                               void *userdata)
{
	read_accepted = done;
	of_accepted = userdata;
	return NULL;
}

void accepted_free(struct accepted *accepted UNUSED)
{
}

struct removal *removal_start(const struct removal_options *options, removal_done_fn done,
                              void *userdata)
{
	n_going = options->n;
	removed = done;
	of_removal = userdata;
	return NULL;
}

void removal_abandon(struct removal *removal UNUSED)
{
}

size_t inventory_n(const struct inventory *inventory UNUSED)
{
	return N_ENTRIES;
}

const struct catalog_entry *const *inventory_entries(const struct inventory *inventory UNUSED)
{
	return (const struct catalog_entry *const *) entries;
}

const bool *inventory_untrusted(const struct inventory *inventory UNUSED)
{
	return untrusted;
}

void inventory_free(struct inventory *inventory)
{
	free(inventory);
}

/* --- the cases --- */

static void done_cb(const struct shed_result *result, void *userdata UNUSED)
{
	CHECK_EQ_INT(result->r, 0);
	n_over++;
	was_frozen = result->plan->frozen[0] != '\0';
}

static void shed(const struct doubt *doubt, struct zone *zone)
{
	static char job_name[] = "j", target_name[] = "site";
	struct config_target target = {.name = target_name, .retention = {.last = 1}};
	struct config_job job = {.name = job_name, .zone = zone};
	const struct shed_options options = {.target = &target, .job = &job, .doubt = doubt};
	struct shed *s;

	n_going = n_over = 0;
	removed = NULL;
	CHECK_EQ_INT(shed_start(&options, done_cb, NULL, &s), 0);
	looked(NEW0(struct inventory), "", "", of_look);
	viewed(&view, of_view);
	read_accepted(NULL, 0, of_accepted);
	if (removed != NULL)
		removed(0, "", n_going, of_removal);
	CHECK_EQ_INT(n_over, 1);
}

static bool yes(const void *userdata UNUSED)
{
	return true;
}

static const struct {
	const char *what;
	struct view view;
	struct doubt doubt;
	bool goes;
} cases[] = {
    {.what = "nothing speaks against it", .view = {.alarms_known = true}, .goes = true},
    {.what = "the alarm stands", .view = {.alarms_known = true, .corrupt = true}},
    {.what = "nobody knows whether it does"},
    {.what = "the watchdog has found it",
     .view = {.alarms_known = true},
     .doubt = {.data_differ = yes}},
    {.what = "a proof has", .view = {.alarms_known = true}, .doubt = {.disagrees = true}},
};

int main(void)
{
	struct zone *zone = NULL;

	CHECK_EQ_INT(zone_load(NULL, "UTC", &zone), 0);
	for (size_t i = 0; i < N_ENTRIES; i++) {
		entries[i] = catalog_entry_new();
		free(entries[i]->id);
		entries[i]->id = xasprintf("s%zu", i);
		entries[i]->started_s = (int64_t) i;
		entries[i]->revision = (int64_t) i + 1;
		entries[i]->digest_verified = entries[i]->tree_verified = true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		view = cases[i].view;
		shed(&cases[i].doubt, zone);
		if (!CHECK_EQ_INT(n_going, cases[i].goes ? N_ENTRIES - 1 : 0) ||
		    !CHECK_EQ_INT(was_frozen, !cases[i].goes))
			(void) fprintf(stderr, "  where %s\n", cases[i].what);
	}
	/* The newest one is not trusted: it neither counts nor goes. */
	untrusted[N_ENTRIES - 1] = true;
	view = cases[0].view;
	shed(&cases[0].doubt, zone);
	CHECK_EQ_INT(n_going, N_ENTRIES - 2);
	for (size_t i = 0; i < N_ENTRIES; i++)
		catalog_entry_free(entries[i]);
	zone_free(zone);
	return check_result();
}
