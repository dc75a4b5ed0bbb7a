/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that holds an address is stopped behind each of its readings of the clock and each of
 * its messages to the kernel in turn, and goes on when the deadline is past: that is no matter of
 * luck, as the clock is the test's own.
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/unit/fenceworld.h"
#include "tests/unit/oldnft.h"

#define STOPS_MAX 20

struct trial {
	const char *name;
	bool with_gate;
	bool renew;       /* it is held already, else it is to be added */
	int64_t left_us;  /* until the deadline, when it begins */
	int64_t pause_us; /* how long it is stopped */
};

static const struct trial trials[] = {
    {"gate, added beyond the deadline", true, false, MS(1000), MS(1200)},
    {"gate, renewed beyond the deadline", true, true, MS(1000), MS(1200)},
    {"gate, added, held up", true, false, MS(8000), MS(800)},
    {"gate, renewed, held up", true, true, MS(8000), MS(800)},
    {"lifetime, added beyond the deadline", false, false, MS(2400), MS(2600)},
    {"lifetime, renewed beyond the deadline", false, true, MS(2400), MS(2600)},
    {"lifetime, added, held up", false, false, MS(2400), MS(400)},
    {"lifetime, renewed, held up", false, true, MS(2400), MS(400)},
};

struct runner {
	const struct trial *trial;
	int tries;
	int stop; /* the number of the clock reading or message behind which it is stopped */
	struct addr vip;
	pid_t pid;
	int64_t deadline_us;
	int64_t resume_us;
	int64_t held_up_us; /* by the machine, besides that */
	bool behind_kernel;
	bool granted; /* when it was stopped, the kernel had what it was to have */
	bool ended;
	int status;
};

/* In the child. It stops itself when it is ready. */
static int run_child(struct runner *r)
{
	static const struct rtnl_events none;
	struct rtnl *own_rtnl = NULL;
	struct nftgate *own_gate = NULL;
	const int64_t stolen_before_us = stolen_us();
	struct fence *f;
	int result;

	if (rtnl_new(ev, &none, NULL, &own_rtnl) < 0 || nftgate_new(ev, TABLE, &own_gate) < 0)
		return 3;
	f = fence_new(own_rtnl, r->trial->with_gate ? own_gate : NULL, &r->vip);
	fence_set_link(f, ifindex);
	/* For another time than the one that is tried, so that they can be told apart. */
	if (r->trial->renew &&
	    fence_hold(f, mono_now_us() + (r->trial->with_gate ? MS(900) : MS(3400))) < 0) {
		r->held_up_us = stolen_since_us(stolen_before_us);
		return 5;
	}
	(void) raise(SIGSTOP);
	r->deadline_us = mono_now_us() + r->trial->left_us;
	behind_kernel = &r->behind_kernel;
	stop_behind = r->stop;
	stop_each = r->trial->with_gate;
	result = fence_hold(f, r->deadline_us);
	stop_behind = -1;
	r->held_up_us += stolen_since_us(stolen_before_us);
	return result == 0 || result == -ETIME ? -result : 2;
}

/* Until it stops or ends. */
static bool wait_stopped(struct runner *r)
{
	CHECK_EQ_INT(waitpid(r->pid, &r->status, WUNTRACED), r->pid);
	r->ended = !WIFSTOPPED(r->status);
	return !r->ended;
}

static bool is_granted(const struct runner *r)
{
	struct seen s = look(&r->vip);

	if (r->trial->with_gate)
		return mono_now_us() + live_us(&r->vip) > r->deadline_us - MS(50);
	return s.n == 1 && s.last.valid_s <= 1;
}

static void come_to_the_stop(struct runner *r)
{
	const pid_t pid = fork();

	if (pid == 0)
		_exit(run_child(r));
	r->pid = pid;
	if (!CHECK(wait_stopped(r)))
		return;
	CHECK_EQ_INT(kill(r->pid, SIGCONT), 0);
	if (!wait_stopped(r)) {
		CHECK(WIFEXITED(r->status));
		CHECK_EQ_INT(WEXITSTATUS(r->status), 0);
		return;
	}
	r->granted = is_granted(r);
	/* Never on the link before it is guarded. */
	if (r->trial->with_gate && is_on_link(&r->vip))
		CHECK(is_guarded(&r->vip));
	r->resume_us = mono_now_us() + r->trial->pause_us;
}

static void finish(struct runner *r)
{
	const bool beyond = mono_now_us() >= r->deadline_us;
	int code;

	while (!r->ended) {
		/* With the gate it is stopped again and again, and in bounds each time. */
		CHECK_EQ_INT(kill(r->pid, SIGCONT), 0);
		(void) wait_stopped(r);
		if (r->trial->with_gate && live_us(&r->vip) > 0)
			CHECK(mono_now_us() + live_us(&r->vip) <= r->deadline_us + TIMING_LATE_US);
	}
	code = WIFEXITED(r->status) ? WEXITSTATUS(r->status) : -1;
	if (beyond && r->trial->with_gate)
		CHECK_EQ_INT(live_us(&r->vip), 0);
	if (code == ETIME || (beyond && !r->trial->with_gate))
		CHECK(!is_on_link(&r->vip));
	if (beyond)
		/* Too late; only behind its last look at the clock it has no means to know. */
		CHECK(code == ETIME || (code == 0 && r->granted && !r->behind_kernel));
	else if (r->trial->with_gate)
		CHECK(code == 0 && is_on_link(&r->vip) && is_granted(r));
	else
		/* What is left now is too little for a lifetime, so the one that is set must be known to be
		 * from before. */
		CHECK_EQ_INT(code, r->granted && !r->behind_kernel ? 0 : ETIME);
}

/* One step of it. False: it failed, and the machine was to blame. */
static bool succeeds(struct runner *r, void (*step)(struct runner *))
{
	const int64_t stolen_before_us = stolen_us();
	const unsigned failures = check_failures;

	step(r);
	r->held_up_us += stolen_since_us(stolen_before_us);
	if (check_failures == failures)
		return true;
	(void) fprintf(stderr, "case: %s, stop %d; held up for %lld us\n", r->trial->name, r->stop,
	               (long long) r->held_up_us);
	if (r->held_up_us < PATIENT_HELD_UP_US || r->tries == PATIENT_TRIES)
		return true;
	check_failures = failures;
	return false;
}

/* With an address that nobody has used before. False if it does not come so far. */
static bool start(struct runner *r)
{
	static unsigned serial;

	do {
		char text[ADDR_TEXT_MAX];

		if (r->pid != 0 && !r->ended) {
			(void) kill(r->pid, SIGKILL);
			(void) waitpid(r->pid, NULL, 0);
		}
		serial++;
		(void) snprintf(text, sizeof(text), r->stop % 2 == 0 ? "10.10.%u.%u" : "fd09::%x:%x",
		                serial / 200, serial % 200 + 1);
		*r = (struct runner){
		    .trial = r->trial, .stop = r->stop, .tries = r->tries + 1, .vip = addr_of(text)};
	} while (!succeeds(r, come_to_the_stop));
	return !r->ended;
}

static struct runner *next_to_resume(struct runner *runners, size_t n)
{
	struct runner *next = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!runners[i].ended && (next == NULL || runners[i].resume_us < next->resume_us))
			next = &runners[i];
	}
	return next;
}

/* All at once: most of the time they wait. */
static void test_stopped(void)
{
	const size_t size = ARRAY_SIZE(trials) * STOPS_MAX * sizeof(struct runner);
	struct runner *runners =
	    mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct runner *r;
	size_t n = 0;

	for (size_t t = 0; t < ARRAY_SIZE(trials); t++) {
		const size_t first = n;
		bool stopped = true;

		for (int stop = 0; stopped && stop < STOPS_MAX; stop++) {
			r = &runners[n++];
			*r = (struct runner){.trial = &trials[t], .stop = stop};
			stopped = start(r);
		}
		if (!CHECK(!stopped && n - first > 3))
			(void) fprintf(stderr, "case: %s: %zu runs\n", trials[t].name, n - first);
	}
	for (r = next_to_resume(runners, n); r != NULL; r = next_to_resume(runners, n)) {
		while (mono_now_us() < r->resume_us)
			(void) usleep(2000);
		if (!succeeds(r, finish))
			(void) start(r);
	}
}

int main(void)
{
	struct patient stopped = {.prepare = world_open, .test = test_stopped};

	/* Many processes share the table here, which has one owner otherwise. */
	oldnft = true;
	patient_begin(&stopped);
	patient_end(&stopped);
	return check_result();
}
