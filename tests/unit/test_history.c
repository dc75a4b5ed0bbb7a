/* SPDX-License-Identifier: Apache-2.0 */
/* Which changes of the facts are moves, how long they took and how they are counted. */
#include "vipd/report.h"

#include "base/macro.h"
#include "base/mono.h"
#include "tests/unit/check.h"

static struct facts facts_of(const char *node, int64_t epoch, const char *reason, int64_t life_us)
{
	struct facts f;

	facts_init(&f);
	f.known = true;
	f.has_owner = node != NULL;
	f.life.us = life_us;
	f.owner.epoch = epoch;
	f.owner.wall_us = 1000 + epoch;
	(void) snprintf(f.owner.node, sizeof(f.owner.node), "%s", node != NULL ? node : "");
	(void) snprintf(f.owner.reason, sizeof(f.owner.reason), "%s", reason);
	return f;
}

static void feed(struct history *h, const char *node, int64_t epoch, const char *reason,
                 int64_t life_us, int64_t now_us)
{
	struct facts f = facts_of(node, epoch, reason, life_us);

	history_on_facts(h, &f, now_us);
}

static void check_last(const struct history *h, const char *story, const char *from, const char *to,
                       const char *reason, int64_t duration_us)
{
	struct vip_report_count counts[HISTORY_REASONS_MAX];
	struct vip_report r = {0};
	bool ok;

	history_report(h, &r, counts);
	ok = CHECK_EQ_STR(r.last_move.from, from);
	ok = CHECK_EQ_STR(r.last_move.to, to) && ok;
	ok = CHECK_EQ_STR(r.last_move.reason, reason) && ok;
	ok = CHECK_EQ_INT(r.last_move.duration_us, duration_us) && ok;
	if (!ok)
		(void) fprintf(stderr, "story: %s\n", story);
}

static uint64_t moves(const struct history *h)
{
	struct vip_report_count counts[HISTORY_REASONS_MAX];
	struct vip_report r = {0};
	uint64_t sum = 0;

	history_report(h, &r, counts);
	for (size_t i = 0; i < r.n_moves; i++)
		sum += r.moves[i].count;
	return sum;
}

static void test_start(void)
{
	struct history h = {0};

	feed(&h, NULL, 0, "", 1000, 1000);
	check_last(&h, "nobody owns it yet", NULL, NULL, NULL, 0);
	feed(&h, "n1", 1, "no owner", 2000, 2000);
	check_last(&h, "the first owner of all is a move from nobody", NULL, "n1", "no owner", 0);
	CHECK_EQ_INT(moves(&h), 1);

	h = (struct history){0};
	feed(&h, "n1", 7, "owner silent", 2000, 2000);
	check_last(&h, "what was so when we came is old news", NULL, NULL, NULL, 0);
	CHECK_EQ_INT(moves(&h), 0);
	feed(&h, "n2", 8, "owner silent", 9000, 9000);
	check_last(&h, "but we know whom the next takes over from", "n1", "n2", "owner silent", 7000);
	CHECK_EQ_INT(moves(&h), 1);
}

static void test_move(void)
{
	struct history h = {0};
	struct facts f;

	feed(&h, "n1", 3, "", 1000, 1000);
	feed(&h, "n1", 3, "", 5000, 5000);
	CHECK_EQ_INT(moves(&h), 0);
	feed(&h, "n2", 4, "owner silent", 9000, 9000);
	check_last(&h, "from the old owner's last beat to the news of the new", "n1", "n2",
	           "owner silent", 4000);
	CHECK_EQ_INT(h.last.wall_us, 1004);
	feed(&h, "n2", 4, "owner silent", 9500, 9500);
	check_last(&h, "beats of the new one change nothing", "n1", "n2", "owner silent", 4000);
	history_on_held(&h, 9800);
	check_last(&h, "until the address is on the link", "n1", "n2", "owner silent", 4800);
	history_on_held(&h, 99000);
	check_last(&h, "added again later is no part of it", "n1", "n2", "owner silent", 4800);

	/* A graceful one: the release keeps node and epoch. */
	f = facts_of("n2", 4, "on hold", 12000);
	f.owner.released = true;
	history_on_facts(&h, &f, 12000);
	check_last(&h, "a release is no move yet", "n1", "n2", "owner silent", 4800);
	feed(&h, "n3", 5, "on hold", 12030, 12030);
	check_last(&h, "the swap behind it is", "n2", "n3", "on hold", 30);
	CHECK_EQ_INT(moves(&h), 2);

	feed(&h, NULL, 5, "", 13000, 13000);
	check_last(&h, "a record that is deleted", "n2", "n3", "on hold", 30);
	feed(&h, "n3", 6, "own record found", 13500, 13500);
	check_last(&h, "taken again by the same node", "n3", "n3", "own record found", 1470);
}

static void test_first_seen_released(void)
{
	struct history h = {0};
	struct facts f = facts_of("n1", 4, "stopping", 1000);

	f.owner.released = true;
	history_on_facts(&h, &f, 1000);
	CHECK_EQ_INT(moves(&h), 0);
	feed(&h, "n2", 5, "stopping", 1200, 1200);
	check_last(&h, "released when we came", "n1", "n2", "stopping", 200);

	h = (struct history){0};
	feed(&h, "n1", 3, "", 1000, 1000);
	(void) strcpy(f.owner.node, "n2");
	history_on_facts(&h, &f, 2000);
	CHECK_EQ_INT(moves(&h), 0);
	feed(&h, "n3", 5, "stopping", 2500, 2500);
	check_last(&h, "one that came and went between two looks", "n1", "n3", "stopping", 1500);
}

static void test_counts(void)
{
	struct vip_report_count counts[HISTORY_REASONS_MAX];
	struct vip_report r = {0};
	struct history h = {0};

	feed(&h, "n1", 3, "", 1000, 1000);
	feed(&h, "n2", 4, "on hold", 1000, 1000);
	feed(&h, "n1", 5, "owner silent", 1000, 1000);
	feed(&h, "n2", 6, "on hold", 1000, 1000);
	history_report(&h, &r, counts);
	CHECK_EQ_INT(r.n_moves, 2);
	CHECK_EQ_STR(r.moves[0].name, "on hold");
	CHECK_EQ_INT(r.moves[0].count, 2);
	CHECK_EQ_STR(r.moves[1].name, "owner silent");
	CHECK_EQ_INT(r.moves[1].count, 1);
	/* Reasons come from other nodes: there may be any number of them. */
	for (int i = 0; i < 3 * HISTORY_REASONS_MAX; i++) {
		char reason[32];

		(void) snprintf(reason, sizeof(reason), "reason %d", i);
		feed(&h, "n1", 7 + i, reason, 1000, 1000);
	}
	history_report(&h, &r, counts);
	CHECK_EQ_INT(r.n_moves, HISTORY_REASONS_MAX);
	CHECK_EQ_INT(moves(&h), 3 + 3 * HISTORY_REASONS_MAX);
}

int main(void)
{
	test_start();
	test_move();
	test_first_seen_released();
	test_counts();
	return check_result();
}
