/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A change on the disk: what is read is what was written, to the last attribute; half of one is
 * none; and what is damaged is said to be.
 */
#include "netconf/change/checkpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "netconf/change/modeljson.h"
#include "netconf/change/rescue.h"
#include "netconf/change/statedir.h"
#include "tests/unit/scratch.h"

static struct prefix prefix_of(const char *text)
{
	struct prefix prefix = {0};

	CHECK_EQ_INT(prefix_parse(text, &prefix), 0);
	return prefix;
}

static struct addr addr_of(const char *text)
{
	struct addr addr = {0};

	CHECK_EQ_INT(addr_parse(text, &addr), 0);
	return addr;
}

static void fill_bond(struct link *link)
{
	link->bond = NEW0(struct bond);
	link->bond->has = BOND_BIT(BOND_MODE) | BOND_BIT(BOND_TLB_DYNAMIC_LB) | BOND_BIT(BOND_PRIMARY);
	for (size_t i = 0; i < BOND_OPTIONS; i++)
		link->bond->values[i] = (uint32_t) (i * 77777777);
	(void) snprintf(link->bond->primary, sizeof(link->bond->primary), "eth1");
	link->bond->arp_targets[1] = addr_of("10.0.0.9");
	link->bond->n_arp_targets = 2;
	link->bond->ad_actor_system = (struct mac){{2, 0, 0, 0, 0, 9}};
}

static void fill_wireguard(struct link *link)
{
	struct prefix allowed = prefix_of("fd00::/64");
	struct wireguard_peer *peer;

	link->wireguard = wireguard_new();
	link->wireguard->has = WIREGUARD_PRIVATE_KEY | WIREGUARD_PEERS;
	link->wireguard->private_key.bytes[31] = 0xee;
	peer = wireguard_add_peer(link->wireguard);
	peer->public_key.bytes[0] = 1;
	peer->has_preshared_key = true;
	peer->preshared_key.bytes[5] = 5;
	peer->endpoint = (struct endpoint){addr_of("192.0.2.1"), 51820};
	peer->keepalive_s = 25;
	wireguard_peer_allow(peer, &allowed);
}

/* Every member of every kind of object is something else than zero somewhere. */
static struct model *whole_model(void)
{
	struct model *model = model_new();
	struct link *link = model_add_link(model, "bond0", LINK_BOND);
	struct address *address;
	struct route *route;
	struct rule *rule;
	struct prefix prefix = prefix_of("fd00::5/64");

	link->has = 0xffff;
	link->up = link->multicast = link->carrier = link->has_permanent_mac = true;
	link->mtu = 9000;
	link->mac = link->permanent_mac = (struct mac){{2, 3, 4, 5, 6, 7}};
	(void) snprintf(link->master, sizeof(link->master), "vrf0");
	link->position = 3;
	link->owner = OWNER_OURS;
	link->ifindex = 12345;
	link->group = 242;
	(void) snprintf(link->kind_name, sizeof(link->kind_name), "bond");
	link->altnames = xcalloc(2, sizeof(*link->altnames));
	link->altnames[0] = xstrdup("storage");
	link->n_altnames = 1;
	fill_bond(link);
	link = model_add_link(model, "v\xff", LINK_VLAN); /* no UTF-8 */
	(void) snprintf(link->parent, sizeof(link->parent), "bond0");
	link->vlan_id = 4094;
	link->vlan_protocol = LINK_VLAN_8021AD;
	link->vlan_flags = LINK_VLAN_LOOSE_BINDING;
	link->stp = link->vlan_filtering = true;
	(void) snprintf(link->peer, sizeof(link->peer), "peer0");
	link->table = UINT32_MAX;
	fill_wireguard(model_add_link(model, "wg0", LINK_WIREGUARD));

	address = model_add_address(model, "bond0", &prefix);
	address->priority = 7;
	address->flags = IFA_F_NODAD;
	address->state = IFA_F_PERMANENT;
	address->peer = addr_of("fd00::6");
	address->owner = OWNER_FOREIGN;
	address->protocol = 0xf1;
	address->scope = 253;
	address->valid_s = 17;
	address->raw = (struct raw_message){xmemdup("\0raw\xff", 5), 5};

	prefix = prefix_of("0.0.0.0/0");
	route = model_add_route(model, &prefix);
	route->table = 100;
	route->metric = 9;
	route->tos = 8;
	route->gateway = addr_of("fe80::1"); /* behind IPv4 */
	(void) snprintf(route->link, sizeof(route->link), "bond0");
	route->src = addr_of("10.0.0.1");
	route->mtu = 1400;
	route->onlink = route->is_opaque = true;
	route->owner = OWNER_OURS;
	route->protocol = NETCONF_PROTOCOL;
	route->raw = (struct raw_message){xmemdup("route", 5), 5};

	rule = model_add_rule(model, AF_INET6, 1000);
	rule->src = prefix_of("fd00::/8");
	(void) snprintf(rule->iif, sizeof(rule->iif), "lo");
	(void) snprintf(rule->oif, sizeof(rule->oif), "wg0");
	rule->fwmark = rule->fwmask = 0x80000000;
	rule->table = 100;
	rule->owner = OWNER_OURS;
	rule->protocol = NETCONF_PROTOCOL;
	model_normalise(model);
	return model;
}

static json_t *parse(const char *text)
{
	json_t *json = json_loads(text, 0, NULL);

	CHECK(json != NULL);
	return json;
}

static void test_model(void)
{
	AUTO(model_free) struct model *model = whole_model();
	AUTO(model_free) struct model *back = NULL;
	AUTO(free) char *text = model_to_text(model), *again = NULL;
	json_t *json = parse(text);

	CHECK_EQ_INT(model_from_json(json, &back), 0);
	json_decref(json);
	again = model_to_text(back);
	CHECK_EQ_STR(again, text);
	CHECK_EQ_INT(back->n_links, 3);
	CHECK(link_differs(model_find_link(model, "bond0"), model_find_link(back, "bond0")) == 0);
	CHECK_EQ_INT(
	    bond_differs(model_find_link(model, "bond0")->bond, model_find_link(back, "bond0")->bond),
	    0);
	CHECK_EQ_INT(wireguard_differs(model_find_link(model, "wg0")->wireguard,
	                               model_find_link(back, "wg0")->wireguard),
	             0);
	CHECK_EQ_STR(model_find_link(back, "v\xff")->parent, "bond0");
	CHECK_EQ_STR(back->links[0].altnames[0], "storage");
	CHECK_EQ_INT(address_compare(&model->addresses[0], &back->addresses[0]), 0);
	CHECK_EQ_INT(address_differs(&model->addresses[0], &back->addresses[0]), 0);
	CHECK_EQ_INT(back->addresses[0].preferred_s, ADDRESS_FOREVER);
	CHECK_EQ_INT(back->addresses[0].raw.len, 5);
	CHECK(memcmp(back->addresses[0].raw.data, "\0raw\xff", 5) == 0);
	CHECK_EQ_INT(route_compare(&model->routes[0], &back->routes[0]), 0);
	CHECK_EQ_INT(rule_compare(&model->rules[0], &back->rules[0]), 0);
	CHECK_EQ_INT(back->rules[0].fwmark, 0x80000000);
}

/* One step of each kind. */
static struct plan *whole_plan(const struct model *model)
{
	struct plan *plan = NEW0(struct plan);

	plan->class = OP_MANAGEMENT_PATH;
	plan->n_ops = plan->cap_ops = OP_KINDS;
	plan->ops = xcalloc(OP_KINDS, sizeof(*plan->ops));
	for (size_t i = 0; i < OP_KINDS; i++) {
		struct op *op = &plan->ops[i];

		op->kind = (enum op_kind) i;
		op->class = OP_ADDRESS_BREAK;
		op->is_restoring = i % 2 == 0;
		op->is_settled = i % 3 == 0;
		op->wait_ms = 77;
		op->attributes = LINK_HAS_MTU;
		op->options = UINT64_C(1) << 63 | 1;
		if (op->kind <= OP_WIREGUARD_SET || op->kind == OP_WAIT_CARRIER) {
			link_copy(&model->links[0], &op->link);
		} else if (op->kind <= OP_ADDRESS_DELETE) {
			op->address = model->addresses[0];
			op->address.raw.data = xmemdup(op->address.raw.data, op->address.raw.len);
		} else if (op->kind <= OP_ROUTE_DELETE) {
			op->route = model->routes[0];
			op->route.raw.data = xmemdup(op->route.raw.data, op->route.raw.len);
		} else {
			op->rule = model->rules[0];
		}
	}
	return plan;
}

static void test_plan(void)
{
	AUTO(model_free) struct model *model = whole_model();
	AUTO(plan_free) struct plan *plan = whole_plan(model);
	AUTO(plan_free) struct plan *back = NULL;
	AUTO(free) char *text = plan_to_text(plan), *again = NULL;
	json_t *json = parse(text);
	char a[OP_TEXT_MAX], b[OP_TEXT_MAX];

	CHECK_EQ_INT(plan_from_json(json, &back), 0);
	json_decref(json);
	again = plan_to_text(back);
	CHECK_EQ_STR(again, text);
	CHECK_EQ_INT(back->n_ops, OP_KINDS);
	CHECK(back->ops[OP_BOND_SET].options == (UINT64_C(1) << 63 | 1));
	for (size_t i = 0; i < OP_KINDS; i++)
		CHECK_EQ_STR(op_format(&back->ops[i], a), op_format(&plan->ops[i], b));
	plan_append(back, plan);
	CHECK_EQ_INT(back->n_ops, 2 * OP_KINDS);
	CHECK_EQ_STR(op_format(&back->ops[OP_KINDS + 5], a), op_format(&plan->ops[5], b));
}

/* --- files --- */

static struct checkpoint_state some_state(void)
{
	struct checkpoint_state state = {
	    .id = "id-1",
	    .phase = PHASE_PREPARED,
	    .deadline_us = INT64_C(123456789012345),
	    .confirm_us = 120,
	    .began_wall_us = 5,
	};

	CHECK_EQ_INT(checkpoint_kernel(state.kernel), 0);
	return state;
}

static int make(const char *dir, const struct checkpoint_state *state)
{
	AUTO(model_free) struct model *model = whole_model();
	AUTO(plan_free) struct plan *plan = whole_plan(model);

	return checkpoint_make(dir, state, model, plan, NULL, "kind: LinkConfig\n");
}

static void test_files(void)
{
	AUTO(model_free) struct model *before = NULL;
	AUTO(plan_free) struct plan *plan = NULL;
	AUTO(free) char *config = NULL;
	struct checkpoint_state state = some_state(), back = {0};

	CHECK_EQ_INT(checkpoint_read_state("t", &back), -ENOENT);
	CHECK_EQ_INT(make("t", &state), 0);
	CHECK_EQ_INT(checkpoint_read_state("t", &back), 0);
	CHECK_EQ_STR(back.id, "id-1");
	CHECK_EQ_STR(back.kernel, state.kernel);
	CHECK_EQ_INT(back.deadline_us, state.deadline_us);
	CHECK_EQ_INT(back.phase, PHASE_PREPARED);
	CHECK_EQ_INT(checkpoint_read("t", &before, &plan), 0);
	CHECK_EQ_INT(before->n_routes, 1);
	CHECK_EQ_INT(plan->n_ops, OP_KINDS);
	CHECK_EQ_INT(checkpoint_read_config("t", &config), 0);
	CHECK_EQ_STR(config, "kind: LinkConfig\n");
	/* Keys are in it. */
	CHECK(scratch_shell("test $(stat -c %%a t) = 700 && test $(stat -c %%a t/before.json) = 600"));

	state.phase = PHASE_ROLLING_BACK;
	(void) snprintf(state.reason, sizeof(state.reason), "it \"failed\"");
	(void) snprintf(state.left, sizeof(state.left), "this is \"left\"");
	CHECK_EQ_INT(checkpoint_write_state("t", &state), 0);
	CHECK_EQ_INT(checkpoint_read_state("t", &back), 0);
	CHECK_EQ_STR(back.reason, "it \"failed\"");
	CHECK_EQ_STR(back.left, "this is \"left\"");
	CHECK_EQ_INT(checkpoint_remove("t"), 0);
	CHECK(access("t", F_OK) < 0);
	CHECK_EQ_INT(checkpoint_read_state("t", &back), -ENOENT);
	CHECK_EQ_INT(checkpoint_remove("t"), 0);
}

/* --- what a loss of power leaves --- */

/* What was synced and what got its name, in this order: the product's calls come through here. */
static char order[1024];

static void note(const char *what, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
	size_t used = strlen(order);

	(void) snprintf(order + used, sizeof(order) - used, "%s %.*s, ", what, (int) strcspn(name, "."),
	                name);
}

int fsync(int fd)
{
	AUTO(free) char *link = xasprintf("/proc/self/fd/%d", fd);
	char path[256] = "";

	CHECK(readlink(link, path, sizeof(path) - 1) > 0);
	note("sync", path);
	return (int) syscall(SYS_fsync, fd);
}

int rename(const char *from, const char *to)
{
	note("name", to);
	return (int) syscall(SYS_rename, from, to);
}

/* state.json, without which the others mean nothing, is not written before all of them are on the
 * disk, and their names. Of what is void without power the old or the new is as good. */
static void test_synced(void)
{
	struct checkpoint_state state = some_state();

	CHECK(scratch_shell("mkdir -p t"));
	order[0] = '\0';
	CHECK_EQ_INT(make("t", &state), 0);
	CHECK(strstr(order, "name before, name settled, name plan, name config, "
	                    "sync before, sync settled, sync plan, sync config, "
	                    "sync t, sync state, name state, sync t, ") != NULL);
	order[0] = '\0';
	state.phase = PHASE_AWAITING;
	CHECK_EQ_INT(checkpoint_write_state("t", &state), 0);
	CHECK_EQ_STR(order, "sync state, name state, ");
	order[0] = '\0';
	state.phase = PHASE_CONFIRMED;
	CHECK_EQ_INT(checkpoint_write_state("t", &state), 0);
	CHECK_EQ_STR(order, "sync state, name state, sync t, ");
	CHECK_EQ_INT(checkpoint_remove("t"), 0);
}

/* --- growing, and damaged --- */

/* The steps that were planned at first are carried out: their file stays. One more, and it is
 * another. */
static void test_plan_grows(void)
{
	AUTO(plan_free) struct plan *plan = NULL, *more = NULL, *back = NULL;
	AUTO(model_free) struct model *before = NULL, *again = NULL;
	struct checkpoint_state state = some_state();
	struct stat written, now;

	CHECK_EQ_INT(make("t", &state), 0);
	CHECK_EQ_INT(checkpoint_read("t", &before, &plan), 0);
	CHECK_EQ_INT(stat("t/plan.json", &written), 0);
	CHECK_EQ_INT(checkpoint_write_plan("t", plan), 0);
	CHECK_EQ_INT(stat("t/plan.json", &now), 0);
	CHECK(now.st_ino == written.st_ino);
	more = NEW0(struct plan);
	plan_add(more)->kind = OP_LINK_DELETE;
	plan_append(plan, more);
	CHECK_EQ_INT(checkpoint_write_plan("t", plan), 0);
	CHECK_EQ_INT(checkpoint_read("t", &again, &back), 0);
	CHECK_EQ_INT(back->n_ops, OP_KINDS + 1);
	CHECK_EQ_INT(checkpoint_remove("t"), 0);
}

static void test_half_and_damaged(void)
{
	AUTO(model_free) struct model *before = NULL;
	AUTO(plan_free) struct plan *plan = NULL;
	struct checkpoint_state state = some_state(), back = {0};

	/* One that was not made to its end is none, and does not hinder the next. */
	CHECK_EQ_INT(make("t", &state), 0);
	CHECK(scratch_shell("rm t/state.json"));
	CHECK_EQ_INT(checkpoint_read_state("t", &back), -ENOENT);
	CHECK_EQ_INT(make("t", &state), 0);
	CHECK(scratch_shell("echo '{\"id\": 1}' >t/state.json"));
	CHECK_EQ_INT(checkpoint_read_state("t", &back), -EBADMSG);
	CHECK(scratch_shell("truncate -s 20 t/before.json"));
	CHECK_EQ_INT(checkpoint_read("t", &before, &plan), -EBADMSG);
	CHECK(scratch_shell("echo '{\"links\": [{\"mtu\": 4294967296}]}' >t/before.json"));
	CHECK_EQ_INT(checkpoint_read("t", &before, &plan), -EBADMSG);
	CHECK_EQ_INT(checkpoint_remove("t"), 0);
	/* Nowhere to write. */
	CHECK(scratch_shell("rm -rf t && touch t"));
	CHECK(make("t", &state) < 0);
	CHECK(scratch_shell("rm t"));
}

static void test_statedir(void)
{
	struct checkpoint_state state = some_state();
	struct statedir_outcome outcome = {0};
	AUTO(free) char *config = NULL;

	CHECK_EQ_INT(statedir_make("s"), 0);
	CHECK_EQ_INT(statedir_confirmed("s", &config), -ENOENT);
	statedir_read_outcome("s", &outcome);
	CHECK_EQ_STR(outcome.id, "");
	CHECK_EQ_INT(make("s/transaction", &state), 0);
	CHECK_EQ_INT(statedir_finish_confirmed("s", &state), 0);
	CHECK_EQ_INT(statedir_confirmed("s", &config), 0);
	CHECK_EQ_STR(config, "kind: LinkConfig\n");
	CHECK_EQ_INT(checkpoint_read_state("s/transaction", &state), -ENOENT);
	statedir_read_outcome("s", &outcome);
	CHECK_EQ_STR(outcome.id, "id-1");
	CHECK_EQ_STR(outcome.how, "confirmed");
}

/* What a boot makes after a loss of power in the first change of all. */
static void test_first_change(void)
{
	AUTO(free) char *nothing = NULL;
	AUTO(free) char *part = NULL;
	AUTO(free) char *same = NULL;

	CHECK_EQ_INT(statedir_make("f"), 0);
	CHECK_EQ_INT(statedir_confirm_first("f"), 0);
	CHECK_EQ_INT(statedir_confirmed("f", &nothing), 0);
	CHECK_EQ_STR(nothing, "");
	CHECK(scratch_shell("rm f/confirmed/config.yaml"));
	CHECK_EQ_INT(statedir_write_in_part("f", "kind: BondConfig\n"), 0);
	CHECK_EQ_INT(statedir_confirm_first("f"), 0);
	CHECK_EQ_INT(statedir_confirmed("f", &part), 0);
	CHECK_EQ_STR(part, "kind: BondConfig\n");
	CHECK_EQ_INT(statedir_write_in_part("f", ""), 0);
	CHECK_EQ_INT(statedir_confirm_first("f"), 0);
	CHECK_EQ_INT(statedir_confirmed("f", &same), 0);
	CHECK_EQ_STR(same, "kind: BondConfig\n");
	CHECK(scratch_shell("rm -r f/confirmed"));
	CHECK(statedir_confirm_first("f") < 0);
}

/* What is over must not be found again as a change that may be confirmed. */
static void test_outcome_unwritable(void)
{
	struct checkpoint_state state = some_state();
	struct statedir_outcome outcome = {.id = "id-1", .how = "rolled-back"};

	CHECK_EQ_INT(statedir_make("u"), 0);
	CHECK(scratch_shell("mkdir u/last.json"));
	CHECK_EQ_INT(make("u/transaction", &state), 0);
	CHECK_EQ_INT(statedir_finish_other("u", &outcome), -EISDIR);
	CHECK_EQ_INT(checkpoint_read_state("u/transaction", &state), -ENOENT);
}

/* Confirmed between the look of whoever would undo it and its lock. */
static void test_no_way_back(void)
{
	struct checkpoint_state state = some_state();
	struct rescue *rescue = NULL;

	state.phase = PHASE_CONFIRMED;
	CHECK_EQ_INT(statedir_make("r"), 0);
	CHECK_EQ_INT(make("r/transaction", &state), 0);
	CHECK_EQ_INT(rescue_start(NULL, NULL, "r", "", NULL, NULL, &rescue), -EALREADY);
	CHECK_EQ_INT(checkpoint_read_state("r/transaction", &state), 0);
	CHECK_EQ_INT(state.phase, PHASE_CONFIRMED);
}

/* What cannot be put back is told, so that its way back is kept. */
static void test_files_not_back(void)
{
	struct checkpoint_state state = some_state();
	AUTO(free) char *error = NULL;

	CHECK_EQ_INT(statedir_make("f"), 0);
	CHECK_EQ_INT(rescue_files(&host_this_machine, "f", &error), 0);
	CHECK_EQ_INT(make("f/transaction", &state), 0);
	CHECK(scratch_shell("echo '{\"before\": {}, \"after\": 1}' >f/transaction/beside.json"));
	CHECK_EQ_INT(rescue_files(&host_this_machine, "f", &error), -EBADMSG);
	CHECK(error != NULL && error[0] != '\0');
}

/* That it cannot be told which kernel this is must not look like another kernel. */
static void test_kernel(void)
{
	struct checkpoint_state state = some_state();
	struct rlimit limit, none;
	bool is_same = false;
	char kernel[CHECKPOINT_KERNEL_MAX] = "untouched";

	CHECK_EQ_INT(checkpoint_same_kernel(&state, &is_same), 0);
	CHECK(is_same);
	state.kernel[0]++;
	CHECK_EQ_INT(checkpoint_same_kernel(&state, &is_same), 0);
	CHECK(!is_same);
	CHECK_EQ_INT(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){0, limit.rlim_max};
	CHECK_EQ_INT(setrlimit(RLIMIT_NOFILE, &none), 0);
	CHECK_EQ_INT(checkpoint_kernel(kernel), -EMFILE);
	CHECK_EQ_INT(checkpoint_same_kernel(&state, &is_same), -EMFILE);
	CHECK_EQ_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
	CHECK_EQ_STR(kernel, "untouched");
}

static void test_lock(void)
{
	int fd = lockfile_take("lock"), status = 0;
	pid_t child;

	CHECK(fd >= 0);
	child = fork();
	if (child == 0)
		_exit(lockfile_take("lock") == -EAGAIN && lockfile_holder("lock") == getppid() ? 0 : 1);
	CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
	(void) close(fd);
	CHECK_EQ_INT(lockfile_holder("lock"), 0);
	CHECK_EQ_INT(lockfile_holder("no such file"), 0);
}

int main(void)
{
	scratch_enter();
	test_model();
	test_plan();
	test_files();
	test_synced();
	test_plan_grows();
	test_half_and_damaged();
	test_statedir();
	test_first_change();
	test_outcome_unwritable();
	test_no_way_back();
	test_files_not_back();
	test_kernel();
	test_lock();
	scratch_leave();
	return check_result();
}
