/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Undoing on a real kernel, in a namespace of its own: what is refused, and what waits for a card,
 * is tried again until it is so, and only when the time is up it is given up.
 */
#include "netconf/change/undo.h"

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "tests/unit/netns.h"
#include "tests/unit/scratch.h"

#define LONG_US INT64_C(120000000)
#define CHANGE "state/transaction"

struct world {
	struct kernel *kernel;
	int64_t ago_us;   /* so long the change was */
	const char *mend; /* a command, after the first attempt; NULL: never */
	unsigned n_tried;
	bool is_over;
	int r;
	char reason[SETTLE_REASON_MAX];
};

static void on_tried(const struct settle_result *result, void *userdata)
{
	struct world *world = userdata;

	CHECK(result->r < 0);
	CHECK(result->reason[0] != '\0');
	if (world->n_tried++ == 0 && world->mend != NULL)
		netns_run("%s", world->mend);
}

static void on_done(const struct settle_result *result, void *userdata)
{
	struct world *world = userdata;

	world->is_over = true;
	world->r = result->r;
	memcpy(world->reason, result->reason, sizeof(world->reason));
}

static struct model *observe(struct kernel *kernel)
{
	struct model *model = NULL;

	CHECK_EQ_INT(kernel_observe(kernel, &model), 0);
	return model;
}

static void carry_out(struct kernel *kernel, const struct op *op)
{
	int r = kernel_carry_out(kernel, op);

	if (!CHECK_EQ_INT(r, 0))
		(void) fprintf(stderr, "refused: %s\n", kernel_error_text(kernel));
}

/* The step is taken, and what it takes away is what undoing is to put back. */
static void undo(struct world *world, const struct op *op, const char *then, int64_t limit_us)
{
	AUTO(ledger_free) struct ledger *ledger = ledger_open("state");
	struct undo_parts parts = {
	    .dir = CHANGE,
	    .before = observe(world->kernel),
	    .plan = NEW0(struct plan),
	    .began_us = mono_now_us() - world->ago_us,
	};

	parts.plan->ops = NEW0(struct op);
	parts.plan->ops[0] = *op;
	parts.plan->n_ops = parts.plan->cap_ops = 1;
	carry_out(world->kernel, op);
	netns_run("%s", then);
	(void) undo_start(EV_DEFAULT, world->kernel, ledger, &parts, limit_us, on_tried, on_done,
	                  world);
	CHECK(netns_run_until(EV_DEFAULT, &world->is_over, 300.));
}

static struct op address_op(enum op_kind kind)
{
	struct op op = {.kind = kind};

	(void) snprintf(op.address.link, sizeof(op.address.link), "nic0");
	CHECK_EQ_INT(prefix_parse("10.1.0.1/24", &op.address.prefix), 0);
	op.address.preferred_s = op.address.valid_s = ADDRESS_FOREVER;
	op.address.protocol = NETCONF_PROTOCOL;
	address_normalise(&op.address);
	return op;
}

static struct op route_op(enum op_kind kind)
{
	struct op op = {.kind = kind};

	(void) snprintf(op.route.link, sizeof(op.route.link), "nic0");
	CHECK_EQ_INT(prefix_parse("10.9.0.0/16", &op.route.dst), 0);
	CHECK_EQ_INT(addr_parse("10.2.0.254", &op.route.gateway), 0);
	op.route.table = RT_TABLE_MAIN;
	op.route.type = RTN_UNICAST;
	op.route.scope = RT_SCOPE_NOWHERE;
	op.route.metric = 7;
	op.route.protocol = NETCONF_PROTOCOL;
	route_normalise(&op.route);
	return op;
}

#define CARD "ip tuntap add dev nic0 mode tap && ip link set nic0 up"
#define CARD_GONE "ip link delete nic0"
#define THEIRS "ip address add 10.2.0.1/24 dev nic0"
#define THEIRS_GONE "ip address delete 10.2.0.1/24 dev nic0"
#define ADDRESS_IS_BACK "test -n \"$(ip -o address show dev nic0 to 10.1.0.1)\""
#define OTHERS "ip address add 10.1.0.9/24 dev nic0"
#define OTHERS_IS_THERE "test -n \"$(ip -o address show dev nic0 to 10.1.0.9)\""
#define ROUTE_IS_BACK "ip route show 10.9.0.0/16 | grep -q 'via 10.2.0.254'"

static void test_card_that_comes_back(struct kernel *kernel)
{
	struct world world = {.kernel = kernel, .mend = CARD};
	struct op add = address_op(OP_ADDRESS_ADD), delete = address_op(OP_ADDRESS_DELETE);

	netns_run(CARD);
	carry_out(kernel, &add);
	undo(&world, &delete, CARD_GONE, LONG_US);
	CHECK_EQ_INT(world.r, 0);
	CHECK_EQ_INT(world.n_tried, 1);
	CHECK(scratch_shell(ADDRESS_IS_BACK));
	netns_run(CARD_GONE);
}

static void test_card_that_stays_away(struct kernel *kernel)
{
	struct world world = {.kernel = kernel};
	struct op add = address_op(OP_ADDRESS_ADD), delete = address_op(OP_ADDRESS_DELETE);

	netns_run(CARD);
	carry_out(kernel, &add);
	undo(&world, &delete, CARD_GONE, 1);
	CHECK_EQ_INT(world.r, -ENODEV);
	CHECK_EQ_STR(world.reason, "the link 'nic0' is not there");
}

static void test_refused_and_then_not(struct kernel *kernel)
{
	struct world world = {.kernel = kernel, .mend = THEIRS};
	struct op add = route_op(OP_ROUTE_ADD), delete = route_op(OP_ROUTE_DELETE);

	netns_run(CARD);
	netns_run(THEIRS);
	carry_out(kernel, &add);
	undo(&world, &delete, THEIRS_GONE, LONG_US);
	CHECK_EQ_INT(world.r, 0);
	CHECK_EQ_INT(world.n_tried, 1);
	CHECK(scratch_shell(ROUTE_IS_BACK));
	netns_run(CARD_GONE);
}

/* A container that ended meanwhile does not come back with its link. */
static void test_others_link(struct kernel *kernel)
{
	struct world world = {.kernel = kernel};
	struct op add = address_op(OP_ADDRESS_ADD), delete = address_op(OP_ADDRESS_DELETE);

	netns_run(CARD);
	netns_run("ip link add cali1 type veth peer name cali2 && ip link set cali1 up");
	carry_out(kernel, &add);
	undo(&world, &delete, "ip link delete cali1", LONG_US);
	CHECK_EQ_INT(world.r, 0);
	CHECK_EQ_INT(world.n_tried, 0);
	CHECK(scratch_shell(ADDRESS_IS_BACK));
	CHECK(scratch_shell("! ip link show cali1 2>/dev/null"));
	netns_run(CARD_GONE);
}

/* What others were leased comes back for the time that is left of it. */
static void test_leased(struct kernel *kernel)
{
	struct world world = {.kernel = kernel, .ago_us = 100 * US_PER_S};
	struct op add = address_op(OP_ADDRESS_ADD), delete = address_op(OP_ADDRESS_DELETE);
	AUTO(model_free) struct model *after = NULL;
	const struct address *leased;
	struct prefix prefix;

	netns_run(CARD);
	carry_out(kernel, &add);
	netns_run(OTHERS " valid_lft 600 preferred_lft 600");
	netns_run("ip address add 10.1.0.8/24 dev nic0 valid_lft 90 preferred_lft 90");
	undo(&world, &delete, "true", LONG_US);
	CHECK_EQ_INT(world.r, 0);
	after = observe(kernel);
	CHECK_EQ_INT(prefix_parse("10.1.0.9/24", &prefix), 0);
	leased = model_find_address(after, "nic0", &prefix);
	CHECK(leased != NULL && leased->valid_s <= 500 && leased->preferred_s <= 500);
	CHECK_EQ_INT(prefix_parse("10.1.0.8/24", &prefix), 0);
	CHECK(model_find_address(after, "nic0", &prefix) == NULL);
	netns_run(CARD_GONE);
}

static void write_change(struct kernel *kernel, struct model *before, const struct plan *plan)
{
	struct checkpoint_state state = {
	    .id = "id-1", .phase = PHASE_AWAITING, .began_us = mono_now_us()};

	CHECK_EQ_INT(checkpoint_kernel(state.kernel), 0);
	CHECK_EQ_INT(checkpoint_make(CHANGE, &state, before, plan, NULL, ""), 0);
	carry_out(kernel, &plan->ops[0]);
}

/* What a step dropped and put back is its owner's again, also for an undoing that knows the files
 * alone. What is there as it begins is not: it might be gone in the middle of it. */
static void check_settled(struct kernel *kernel, const char *then, bool is_there, bool is_full)
{
	struct world world = {.kernel = kernel};
	struct op add = address_op(OP_ADDRESS_ADD), delete = address_op(OP_ADDRESS_DELETE), *put_back;
	AUTO(ledger_free) struct ledger *ledger = ledger_open("state");
	AUTO(plan_free) struct plan *plan = NEW0(struct plan), *left = NULL;
	AUTO(model_free) struct model *before = NULL, *again = NULL;
	struct checkpoint_state state;
	struct undo_parts parts = {0};

	netns_run(CARD);
	carry_out(kernel, &add);
	netns_run(OTHERS);
	before = observe(kernel);
	*plan_add(plan) = delete;
	put_back = plan_add(plan);
	put_back->kind = OP_ADDRESS_ADD;
	put_back->is_restoring = put_back->is_settled = true;
	CHECK_EQ_INT(prefix_parse("10.1.0.9/24", &put_back->address.prefix), 0);
	put_back->address = *model_find_address(before, "nic0", &put_back->address.prefix);
	put_back->address.raw = (struct raw_message){0};
	write_change(kernel, before, plan);
	netns_run("%s", then);
	/* A directory has the name that the new plan.json would be written under. */
	if (is_full)
		CHECK(scratch_shell("mkdir " CHANGE "/plan.json.new.%d", (int) getpid()));

	CHECK_EQ_INT(checkpoint_read_state(CHANGE, &state), 0);
	CHECK(state.began_us > 0 && state.began_us <= mono_now_us());
	CHECK_EQ_INT(undo_read(CHANGE, &state, &parts), 0);
	(void) undo_start(EV_DEFAULT, kernel, ledger, &parts, LONG_US, on_tried, on_done, &world);
	CHECK(netns_run_until(EV_DEFAULT, &world.is_over, 300.));
	CHECK_EQ_INT(world.r, 0);
	CHECK(scratch_shell(ADDRESS_IS_BACK));
	CHECK(scratch_shell(is_there ? OTHERS_IS_THERE : "! " OTHERS_IS_THERE));
	CHECK_EQ_INT(checkpoint_read(CHANGE, &again, &left), 0);
	CHECK(left->ops[1].is_settled == !is_there);
	CHECK(scratch_shell("rm -rf " CHANGE "/plan.json.new.*"));
	netns_run(CARD_GONE);
}

static void test_settled(struct kernel *kernel)
{
	check_settled(kernel, "ip address flush dev nic0 to 10.1.0.9", false, false);
	check_settled(kernel, "ip address replace 10.1.0.9/24 dev nic0", true, false);
	check_settled(kernel, "ip address replace 10.1.0.9/24 dev nic0", true, true);
}

int main(void)
{
	AUTO(kernel_free) struct kernel *kernel = NULL;

	(void) netns_enter_new();
	scratch_enter();
	CHECK_EQ_INT(mkdir("state", 0700), 0);
	CHECK_EQ_INT(kernel_new(NULL, &kernel), 0);
	test_card_that_comes_back(kernel);
	test_card_that_stays_away(kernel);
	test_refused_and_then_not(kernel);
	test_others_link(kernel);
	test_leased(kernel);
	test_settled(kernel);
	scratch_leave();
	return check_result();
}
