/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The takeover protocol of vipd, as docs/architecture.md has it, for Spin. docs/safety.md says which
 * function of vipd each step stands for; tests/model/run says how it is checked.
 *
 * Time. One process counts ticks. In a tick each node's clock goes on by one, or, every K-th tick, by
 * none (a slow clock) or by two (a fast one): that is the clock that NTP slews, and what a node measures
 * and what its kernel does goes by it. A raw clock beside it, which nobody slews, counts every tick; for
 * the fence of another one waits by that. Nothing has to happen in time: a node that takes no step while ticks go by is one that was
 * stopped, that waits for its disk, or whose messages are slow.
 *
 * Messages. etcd is linearizable: it is one state here, whichever of its members leads. A request is
 * carried out by etcd at some time after it was sent, once or (a hedged or a given up one) twice, or
 * never; its answer may be lost. Where an answer that comes later could only make its receiver wait
 * longer, it comes at once: of a read (the sign of life is then seen later), of a swap, of a refusal.
 * With a confirmation it matters, as that counts from before it was sent: there it comes at any time.
 *
 * Revisions. Guards only ask whether something is still what it was. So each copy of a revision that
 * anybody has is a bit: it is the present one. A write takes the bits of all copies away.
 *
 * SAFETY: no two nodes answer at any moment. LIVENESS (-DCALM): once faults have ended, somebody answers
 * within a bounded time. Protocols that must be found to be broken: -DBREAK_...
 */

#ifndef N
#define N 2 /* nodes */
#endif

#define T 2 /* T_f: for how long a confirmation is good, from before it was sent */
#define E 1 /* e: how late the kernel may silence the address */
#define K 4 /* one tick of K is left out, or counts twice */
/*
 * What a standby lets go by, on its raw clock, after the last sign of life that it saw: the owner's T + E
 * take at most 4 ticks of time when its clock is slow. By its other clock it would have to be 5, as that
 * may be fast.
 */
#ifndef WAIT
#define WAIT 4
#endif

mtype = { DOWN, STANDBY, TAKING, OWNER, YIELDING };
mtype = { IDLE, SENT, GRANTED };

/* --- etcd: the record `owner`; of `beat` only that it changes is of interest --- */

bool released = true; /* the record says so, or there is none and never was an owner */
bool beatless = false; /* there is no beat: the owner's last confirmation deleted it */
#ifdef BREAK_LEASE
byte lease = 0; /* of the owner, in etcd's time */
#endif

/* --- a node --- */

typedef node {
	mtype state;

	/* What the kernel does whatever becomes of the process: it answers while this is not 0. */
	byte live;

	/* The record that it holds: etcd still has it so; the fence of the owner before has acted; for how
	 * long it may hold the address by the last confirmation. */
	bool mine;
	bool waited;
	byte grant;

	/* What it knows of the keys, whether they are so still, and since when it has seen no change, by both
	 * clocks. */
	bool known;
	bool owner_new, beat_new;
	bool saw_released;
	byte silence, raw_silence;

	mtype take;
	bool take_owner_fits, take_beat_fits, take_of_released;
	byte take_age;
	/* The record is one that this node wrote, in whichever process, and holds no longer; it has read so. */
	bool own, saw_own;
	/* This process has swapped, and how far the wait for the fence before that is; the record is what that
	 * swap wrote, though its answer was lost; and it has read so. */
	bool claims, unheard, saw_ours;
	byte claim_silence;
	mtype confirm;
	bool confirm_fits;
	byte confirm_age;
	/* Given up, and may still be carried out. */
	bool late_take, late_take_owner_fits, late_take_beat_fits;
	bool late_confirm, late_confirm_fits;
	bool late_release, late_release_fits;
#ifdef CALM
	bool has_read, has_confirmed; /* in this tick */
#endif
}

node nodes[N];
#define me nodes[id]
hidden byte w;
hidden byte step;
hidden byte n_live;

/* 0 right, 1 slow, 2 fast. */
#ifdef ANY_CLOCK
byte clock[N];
byte phase[N];
#define CLOCK(i) clock[i]
#define PHASE(i) phase[i]
#else
/* One slow, the others fast, which is the worst there is. */
byte phase;
#define CLOCK(i) (i == 0 -> 1 : 2)
#define PHASE(i) phase
#endif

#ifdef CALM
bool calm = false;
byte silent_ticks = 0;
/* Two windows for the one who must notice and wait, and some for the questions. */
#ifndef ANSWERED_WITHIN
#define ANSWERED_WITHIN (2 * WAIT + T + 6)
#endif
#define NOT_CALM (!calm)
#define HAS_READ me.has_read = true
#define HAS_CONFIRMED me.has_confirmed = true
#else
#define NOT_CALM true
#define HAS_READ skip
#define HAS_CONFIRMED skip
#endif

/* What goes wrong besides being slow: a lost answer, a request that is carried out late or twice, a dead
 * process, a node without power. And that an operator has an address handed over. */
#ifdef FAULTS
byte faults = FAULTS;
#define MAY_FAIL (faults > 0 && NOT_CALM)
#define FAILS faults--
#else
#define MAY_FAIL NOT_CALM
#define FAILS skip
#endif

/* --- etcd carries out --- */

inline wrote_beat() {
	for (w : 0 .. N - 1) {
		nodes[w].beat_new = false;
		nodes[w].take_beat_fits = false;
		nodes[w].late_take_beat_fits = false;
	}
}

inline wrote_owner() {
	for (w : 0 .. N - 1) {
		nodes[w].mine = false;
		nodes[w].unheard = false;
		nodes[w].own = false;
		nodes[w].owner_new = false;
		nodes[w].confirm_fits = false;
		nodes[w].take_owner_fits = false;
		nodes[w].late_confirm_fits = false;
		nodes[w].late_take_owner_fits = false;
		nodes[w].late_release_fits = false;
	}
}

#ifdef BREAK_LEASE
#define TAKE_FITS(o, b) (lease == 0)
#elif defined(BREAK_NO_BEAT_GUARD)
#define TAKE_FITS(o, b) (o)
#else
#define TAKE_FITS(o, b) (o && b)
#endif

inline etcd_confirm(fits) {
	if
	:: fits ->
		if
		:: wrote_beat(); beatless = false
		/* etcd refuses puts, and takes the deletion; where there is nothing to delete, nothing changes. */
		:: !beatless ->
#ifndef BREAK_SIGNLESS
			wrote_beat(); beatless = true
#else
			skip
#endif
		:: beatless
		fi;
#ifdef BREAK_LEASE
		lease = T;
#endif
	:: else
	fi
}

/* `is_known`: the node has heard of it. */
inline etcd_take(is_known) {
	wrote_owner();
	released = false;
	me.mine = is_known;
	me.unheard = !is_known && me.claims;
	me.own = true;
#ifdef BREAK_LEASE
	lease = T;
#endif
}

inline etcd_release() {
	wrote_owner();
	released = true
}

/* --- what a node forgets --- */

inline no_take() {
	me.take = IDLE; me.take_owner_fits = false; me.take_beat_fits = false; me.take_of_released = false;
	me.take_age = 0
}

inline no_confirm() {
	me.confirm = IDLE; me.confirm_fits = false; me.confirm_age = 0
}

/* It waits no longer; etcd may still get it. */
inline give_up_take() {
	me.late_take = true; me.late_take_owner_fits = me.take_owner_fits;
	me.late_take_beat_fits = me.take_beat_fits;
	no_take()
}

inline give_up_confirm() {
	me.late_confirm = (me.confirm == SENT); me.late_confirm_fits = me.late_confirm && me.confirm_fits;
	no_confirm()
}

inline no_claim() {
	me.claims = false; me.unheard = false; me.saw_ours = false; me.claim_silence = 0
}

inline no_record() {
	me.mine = false; me.waited = false; me.grant = 0
}

inline no_address() {
	me.live = 0
}

inline forget_silence() {
	me.silence = 0; me.raw_silence = 0
}

inline end() {
	if
	:: me.take == SENT -> give_up_take()
	:: else
	fi;
	if
	:: me.confirm != IDLE -> give_up_confirm()
	:: else
	fi;
	if
	:: me.state == YIELDING -> me.late_release = true; me.late_release_fits = me.mine
	:: else
	fi;
	me.known = false; me.owner_new = false; me.beat_new = false; me.saw_released = false; me.saw_own = false;
	no_claim();
	forget_silence()
}

/* For how long a confirmation is good that was sent so long ago. */
#ifdef BREAK_FROM_RECEIPT
#define GRANTED_AT(age) T
#else
#define GRANTED_AT(age) (T - age)
#endif

#define NOTHING_LATE (!me.late_confirm && !me.late_take && !me.late_release)

/* --- the node --- */

proctype process(byte id) {
	do
	/* A quorum read, or what the watch tells. */
	:: atomic { me.state == STANDBY && !(me.known && me.owner_new && me.beat_new) ->
		forget_silence(); me.known = true; me.owner_new = true; me.beat_new = true;
		me.saw_released = released; me.saw_own = me.own; me.saw_ours = me.unheard;
		HAS_READ }

	/* The swap: of what was released, or is its own from before, at once; else when the owner was silent for
	 * its window. */
	:: atomic { me.state == STANDBY && me.known && me.take == IDLE && !me.saw_ours &&
#ifdef BREAK_LEASE
		true ->
#else
		(me.saw_released || me.saw_own ||
#ifdef BREAK_TAKEN_BEATLESS
		 me.silence >= T) ->
#else
		 /* It knows that there is none, where its copy is the present one. */
		 (me.silence >= T && !(me.beat_new && beatless))) ->
#endif
#endif
		me.take = SENT; me.take_owner_fits = me.owner_new; me.take_beat_fits = me.beat_new;
		me.take_of_released = me.saw_released;
		me.claims = true; me.claim_silence = (me.saw_released -> WAIT : me.raw_silence) }
	/* It puts the beat that is missing; the owner, if it lives, puts the next one. */
	:: atomic { me.state == STANDBY && me.known && me.take == IDLE && me.silence >= T &&
			me.owner_new && me.beat_new && beatless ->
		wrote_beat(); beatless = false }
	:: atomic { me.take == SENT ->
		if
		:: TAKE_FITS(me.take_owner_fits, me.take_beat_fits) ->
			if
			:: etcd_take(true);
				me.state = TAKING; me.known = false; me.saw_own = false; me.silence = 0;
#if defined(BREAK_NO_WAIT) || defined(BREAK_LEASE)
				me.waited = true;
#else
				me.waited = me.take_of_released;
#endif
				me.raw_silence = (me.waited -> 0 : me.raw_silence);
				no_claim();
				/* Its answer is a confirmation as well. */
				me.grant = GRANTED_AT(me.take_age)
			/* The answer is lost: what became of it a read tells. */
			:: MAY_FAIL -> FAILS; etcd_take(false)
			fi
		:: else
		fi;
		no_take() }
	:: atomic { MAY_FAIL && me.take == SENT && !me.late_take -> FAILS; give_up_take() }
	/* The record is its own, by a swap that it has not heard of: it goes on from there. */
	:: atomic { me.state == STANDBY && me.saw_ours && me.take == IDLE ->
		me.state = TAKING; me.known = false; me.saw_own = false; me.silence = 0;
		me.mine = me.unheard;
#ifdef BREAK_NO_WAIT
		me.waited = true;
#elif defined(BREAK_RESUME_UNWAITED)
		me.waited = true;
#else
		me.waited = me.claim_silence >= WAIT;
#endif
		me.raw_silence = (me.waited -> 0 : me.claim_silence);
		no_claim() }

	/* The fence of the owner before has acted. */
	:: atomic { me.state == TAKING && !me.waited && me.raw_silence >= WAIT -> me.waited = true; me.raw_silence = 0 }

	/* Confirming. */
	:: atomic { (me.state == TAKING || me.state == OWNER) && me.confirm == IDLE ->
		me.confirm = SENT; me.confirm_fits = me.mine; me.confirm_age = 0 }
	:: atomic { me.confirm == SENT ->
		if
		:: me.confirm_fits ->
			/* Hedged: another copy is still under way. */
			if
			:: MAY_FAIL && !me.late_confirm -> FAILS; me.late_confirm = true; me.late_confirm_fits = true
			:: true
			fi;
			etcd_confirm(true);
			me.confirm = GRANTED
		:: else ->
			no_confirm();
			if
			:: me.state == TAKING || me.state == OWNER ->
				no_address(); no_record(); forget_silence(); me.state = STANDBY
			:: else
			fi
		fi }
	:: atomic { me.confirm == GRANTED ->
		me.grant = (GRANTED_AT(me.confirm_age) > me.grant -> GRANTED_AT(me.confirm_age) : me.grant);
		no_confirm();
		HAS_CONFIRMED;
		if
		:: me.state == OWNER && me.live > 0 && me.grant > 0 -> me.live = me.grant + E
		:: me.state != OWNER && me.state != TAKING -> me.grant = 0
		:: else
		fi }
	:: atomic { MAY_FAIL && me.confirm != IDLE && !me.late_confirm -> FAILS; give_up_confirm() }

	/* The address, added behind a shut gate; and gone, when no confirmation came in time. */
	:: atomic { me.state == TAKING && me.waited && me.grant > 0 -> me.live = me.grant + E; me.state = OWNER }
	:: atomic { me.state == OWNER && (me.grant == 0 || me.live == 0) -> no_address(); me.state = TAKING }

	/* Handing over: the address first, then the word. */
	:: atomic { MAY_FAIL && (me.state == OWNER || (me.state == TAKING && me.waited)) -> FAILS;
#ifndef BREAK_RELEASE_FIRST
		no_address();
#endif
		me.grant = 0; me.state = YIELDING }
	:: atomic { me.state == YIELDING ->
		if
		:: me.mine -> etcd_release()
		:: else
		fi;
#ifndef BREAK_RELEASE_FIRST
		no_record(); me.state = STANDBY
#else
		me.state = DOWN
#endif
		}
	/* Never heard of it: the record is spent, and never again held under this revision. */
	:: atomic { MAY_FAIL && me.state == YIELDING && !me.late_release -> FAILS;
		me.late_release = true; me.late_release_fits = me.mine;
#ifdef BREAK_HELD_AFTER_RELEASE
		me.state = TAKING
#else
		no_address(); no_record(); me.state = STANDBY
#endif
		}

	/* What was given up is carried out after all. */
	:: atomic { me.late_confirm -> etcd_confirm(me.late_confirm_fits);
		me.late_confirm = false; me.late_confirm_fits = false }
	:: atomic { me.late_take ->
		if
		:: TAKE_FITS(me.late_take_owner_fits, me.late_take_beat_fits) -> etcd_take(false)
		:: else
		fi;
		me.late_take = false; me.late_take_owner_fits = false; me.late_take_beat_fits = false }
	:: atomic { me.late_release ->
		if
		:: me.late_release_fits -> etcd_release()
		:: else
		fi;
		me.late_release = false; me.late_release_fits = false }

	/* kill -9: the kernel keeps the address until its fence acts, and a file says by which record. */
	:: atomic { MAY_FAIL && me.state != DOWN && NOTHING_LATE -> FAILS;
		end();
		if
		:: me.state == OWNER
		:: else -> no_record(); no_address()
		fi;
		me.state = DOWN }
	/* The power is gone. */
	:: atomic { MAY_FAIL && me.state != DOWN && NOTHING_LATE -> FAILS;
		end(); no_record(); no_address(); me.state = DOWN }
	/* The next process goes on as the owner if the address is there and its time is not over; else it
	 * sweeps it away and begins with nothing. */
	:: atomic { me.state == DOWN ->
		if
#ifdef BREAK_ADOPT_ANEW
		:: me.live > 0 -> me.grant = T; me.live = T + E; me.state = OWNER
#else
		:: me.live > E && me.grant > 0 -> me.state = OWNER
#endif
		:: else -> no_address(); no_record(); me.state = STANDBY
		fi }
	od
}

/* --- time --- */

inline goes(timer) {
	timer = (timer > step -> timer - step : 0)
}

inline grows(counter, by, most) {
	counter = (counter + by < most -> counter + by : most)
}

#ifdef BREAK_SLEWED_WAIT
#define RAW_STEP step
#else
#define RAW_STEP 1
#endif

inline tick_node() {
	step = (PHASE(w) == 0 && CLOCK(w) == 1 -> 0 : (PHASE(w) == 0 && CLOCK(w) == 2 -> 2 : 1));
	goes(nodes[w].live);
	goes(nodes[w].grant);
	if
	:: nodes[w].state == STANDBY && nodes[w].known ->
		grows(nodes[w].silence, step, T);
		grows(nodes[w].raw_silence, RAW_STEP, WAIT)
	:: nodes[w].state == TAKING && !nodes[w].waited -> grows(nodes[w].raw_silence, RAW_STEP, WAIT)
	:: else
	fi;
	if
	:: nodes[w].confirm != IDLE -> grows(nodes[w].confirm_age, step, T)
	:: else
	fi;
	if
	:: nodes[w].take != IDLE -> grows(nodes[w].take_age, step, T)
	:: else
	fi;
	if
	:: nodes[w].claims && (nodes[w].take != IDLE || nodes[w].late_take || nodes[w].unheard) ->
		grows(nodes[w].claim_silence, RAW_STEP, WAIT)
	/* Nothing will come of it. */
	:: nodes[w].claims && nodes[w].take == IDLE && !nodes[w].late_take && !nodes[w].unheard && !nodes[w].saw_ours ->
		nodes[w].claims = false; nodes[w].claim_silence = 0
	:: else
	fi;
#ifdef CALM
	nodes[w].has_read = false; nodes[w].has_confirmed = false
#endif
}

#ifdef CALM
/* Nothing is left to do at this moment for who is awake. */
#define QUIET(i) (nodes[i].confirm == IDLE && nodes[i].take == IDLE && \
	!nodes[i].late_confirm && !nodes[i].late_take && !nodes[i].late_release && \
	nodes[i].state != DOWN && nodes[i].state != YIELDING && \
	(nodes[i].state != STANDBY || (nodes[i].known && nodes[i].owner_new && nodes[i].beat_new && \
		!nodes[i].saw_released && !nodes[i].saw_own && !nodes[i].saw_ours && nodes[i].silence < T)) && \
	(nodes[i].state != TAKING || (nodes[i].has_confirmed && !(nodes[i].waited && nodes[i].grant > 0) && \
		(nodes[i].waited || nodes[i].raw_silence < WAIT))) && \
	(nodes[i].state != OWNER || (nodes[i].has_confirmed && nodes[i].grant > 0 && nodes[i].live > 0)))
#if N == 2
#define ALL_QUIET (QUIET(0) && QUIET(1))
#else
#define ALL_QUIET (QUIET(0) && QUIET(1) && QUIET(2))
#endif
#define MAY_TICK (!calm || ALL_QUIET)
#else
#define MAY_TICK true
#endif

proctype time() {
	do
	:: atomic { MAY_TICK ->
#ifdef ANY_CLOCK
		for (w : 0 .. N - 1) { phase[w] = (clock[w] == 0 -> 1 : (phase[w] + 1) % K) }
#else
		phase = (phase + 1) % K;
#endif
		for (w : 0 .. N - 1) { tick_node() }
#ifdef BREAK_LEASE
		lease = (lease > 0 -> lease - 1 : 0);
#endif
#ifdef CALM
		n_live = 0;
		for (w : 0 .. N - 1) { n_live = n_live + (nodes[w].live > 0 -> 1 : 0) }
		silent_ticks = (calm && n_live == 0 -> silent_ticks + 1 : 0);
		assert(silent_ticks <= ANSWERED_WITHIN)
#endif
		}
#ifdef CALM
	:: atomic { !calm -> calm = true }
#endif
	od
}

#if N == 2
#define TWO_ANSWER (nodes[0].live > 0 && nodes[1].live > 0)
#else
#define TWO_ANSWER ((nodes[0].live > 0 && nodes[1].live > 0) || (nodes[0].live > 0 && nodes[2].live > 0) || \
	(nodes[1].live > 0 && nodes[2].live > 0))
#endif

active proctype watcher() {
	atomic { TWO_ANSWER -> assert(false) }
}

init {
	atomic {
		for (w : 0 .. N - 1) {
			nodes[w].state = DOWN;
			nodes[w].confirm = IDLE; nodes[w].take = IDLE;
#ifdef ANY_CLOCK
			if
			:: clock[w] = 0
			:: clock[w] = 1
			:: clock[w] = 2
			fi
#endif
		}
		run process(0);
		run process(1);
#if N == 3
		run process(2);
#endif
		run time()
	}
}
