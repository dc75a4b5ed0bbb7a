/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers the control socket from the daemon's state. Two commands take time: `vip move` is
 * answered when another node owns the VIP, or when that has not happened within the limit, and
 * `etcd members` when etcd answers.
 */
#include "vipd/daemon.h"

#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/mono.h"
#include "vipd/localmember.h"
#include "vipd/report.h"

#define MOVE_LIMIT_US (10 * US_PER_S)
#define MOVE_POLL_US (5 * US_PER_MS)

struct move {
	struct control_request *request;
	struct vip *vip;
	int64_t epoch; /* before the move */
	int64_t begun_us;
	LIST_ENTRY(move) entry;
};

static struct vip *find_vip(const struct daemon *d, const char *text)
{
	struct addr addr;

	if (addr_parse(text, &addr) < 0)
		return NULL;
	for (size_t i = 0; i < d->n_vips; i++) {
		struct vip *v = d->vips[i];

		if (addr_equal(&vip_config(v)->addr, &addr))
			return v;
	}
	return NULL;
}

static void status_of(struct control_request *request, const struct vip *vip)
{
	AUTO(free) struct vip_report_room *room = NEW0(struct vip_report_room);
	struct vip_report report;

	vip_fill_report(vip, room, &report);
	control_reply(request, report_status_json(&report));
}

static void status_fn(struct control_request *request, int argc, char **argv, void *userdata)
{
	const struct daemon *d = userdata;
	const struct vip *one = argc == 1 ? find_vip(d, argv[0]) : NULL;

	if (argc == 1 && one == NULL) {
		control_fail(request, CONTROL_NOTFOUND, "no VIP '%s' is configured on this node", argv[0]);
		return;
	}
	for (size_t i = 0; i < d->n_vips; i++) {
		const struct vip *v = d->vips[i];

		if (one == NULL || v == one)
			status_of(request, v);
	}
	control_ok(request);
}

static void answer_move(const struct move *m, const char *owner)
{
	control_reply(m->request, json_pack("{s:s, s:I}", "owner", owner, "duration_ms",
	                                    (json_int_t) ((mono_now_us() - m->begun_us) / US_PER_MS)));
	control_ok(m->request);
}

static void poll_cb(struct ev_loop *ev, ev_timer *w, int revents UNUSED)
{
	struct daemon *d = CONTAINER_OF(w, struct daemon, move_poll);
	struct move *m = LIST_FIRST(&d->moves);

	while (m != NULL) {
		struct move *next = LIST_NEXT(m, entry);
		const char *owner = vip_owner(m->vip);
		bool moved = vip_epoch(m->vip) > m->epoch && owner[0] != '\0';
		bool late = mono_now_us() - m->begun_us > MOVE_LIMIT_US;

		if (moved && vip_is_ours(m->vip))
			control_fail(m->request, CONTROL_FAILED,
			             "no other node has taken the VIP: this one has it back; see 'fairlead vip "
			             "status'");
		else if (moved)
			answer_move(m, owner);
		else if (late)
			control_fail(m->request, CONTROL_FAILED,
			             "nobody has taken the VIP within %d s; see 'fairlead vip status'",
			             (int) (MOVE_LIMIT_US / US_PER_S));
		if (moved || late) {
			LIST_REMOVE(m, entry);
			free(m);
		}
		m = next;
	}
	if (LIST_EMPTY(&d->moves))
		ev_timer_stop(ev, w);
}

static void begin_move(struct daemon *d, struct control_request *request, struct vip *vip)
{
	struct move *m = NEW0(struct move);

	m->request = request;
	m->vip = vip;
	m->epoch = vip_epoch(vip);
	m->begun_us = mono_now_us();
	LIST_INSERT_HEAD(&d->moves, m, entry);
	if (!ev_is_active(&d->move_poll))
		ev_timer_again(loop_ev(d->loop), &d->move_poll);
}

static void move_fn(struct control_request *request, int argc, char **argv, void *userdata)
{
	struct daemon *d = userdata;
	const char *to = "";
	struct vip *vip;

	if (argc == 3 && strcmp(argv[1], "to") == 0)
		to = argv[2];
	else if (argc != 1) {
		control_fail(request, CONTROL_USAGE, "vip move ADDRESS [to NODE]");
		return;
	}
	vip = find_vip(d, argv[0]);
	if (vip == NULL) {
		control_fail(request, CONTROL_NOTFOUND, "no VIP '%s' is configured on this node", argv[0]);
		return;
	}
	switch (vip_move(vip, to)) {
	case VIP_MOVE_STARTED:
		begin_move(d, request, vip);
		break;
	case VIP_MOVE_NOT_OWNER:
		control_fail(request, CONTROL_BUSY, "this node does not own %s: run it on '%s'", argv[0],
		             vip_owner(vip)[0] != '\0' ? vip_owner(vip) : "the owner, when there is one");
		break;
	case VIP_MOVE_NO_CANDIDATE:
		control_fail(request, CONTROL_FAILED, "%s%s%s can take it; see 'fairlead vip status'",
		             to[0] != '\0' ? "node '" : "no other node", to,
		             to[0] != '\0' ? "' is not one that" : "");
		break;
	case VIP_MOVE_SELF:
		control_fail(request, CONTROL_USAGE, "node '%s' owns it already", to);
		break;
	}
}

static void set_hold(struct control_request *request, struct daemon *d, bool on_hold)
{
	int r;

	r = daemon_set_hold(d, on_hold);
	if (r < 0)
		control_fail(request, CONTROL_FAILED,
		             "nothing has changed: it could not be written down for the next start: %s",
		             strerror(-r));
	else
		control_ok(request);
}

static void hold_fn(struct control_request *request, int argc UNUSED, char **argv UNUSED,
                    void *userdata)
{
	set_hold(request, userdata, true);
}

static void unhold_fn(struct control_request *request, int argc UNUSED, char **argv UNUSED,
                      void *userdata)
{
	set_hold(request, userdata, false);
}

void daemon_metrics(struct metrics *m, void *userdata)
{
	const struct daemon *d = userdata;
	size_t n = d->n_vips;
	AUTO(free) struct vip_report_room *rooms = xcalloc(n, sizeof(rooms[0]));
	AUTO(free) struct vip_report *reports = xcalloc(n, sizeof(reports[0]));

	for (size_t i = 0; i < n; i++)
		vip_fill_report(d->vips[i], &rooms[i], &reports[i]);
	report_metrics(m, reports, n);
}

static void members_fn(struct control_request *request, int argc UNUSED, char **argv UNUSED,
                       void *userdata)
{
	const struct daemon *d = userdata;

	memberquery_answer(d->members, request);
}

static const struct control_command table[] = {
    {"vip status", false, status_fn, "[ADDRESS]", "What this node knows of its VIPs."},
    {"vip move", true, move_fn, "ADDRESS [to NODE]", "Hand a VIP over from this node."},
    {"vip hold", true, hold_fn, "", "Take no VIP; hand over when another node can take it."},
    {"vip unhold", true, unhold_fn, "", "Take part in the election again."},
    {"etcd members", false, members_fn, "", "etcd's members, as etcd lists them now."},
};

int daemon_open_commands(struct daemon *d)
{
	int r;

	ev_timer_init(&d->move_poll, poll_cb, 0., mono_to_ev(MOVE_POLL_US));
	d->members = memberquery_new(d->etcd);
	r = service_serve(d->service, table, ARRAY_SIZE(table), d);
	if (r == 0)
		metricsport_set(d->service->metrics_port, &d->config->metrics_at);
	return r;
}

void daemon_close_commands(struct daemon *d)
{
	ev_timer_stop(loop_ev(d->loop), &d->move_poll);
	while (!LIST_EMPTY(&d->moves)) {
		struct move *m = LIST_FIRST(&d->moves);

		LIST_REMOVE(m, entry);
		free(m);
	}
	memberquery_free(d->members);
}
