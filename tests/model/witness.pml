/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The takeover protocol with witnesses, for Spin: the rules by which vipd is to keep an address while etcd is
 * silent. vipd does not follow them yet. tests/model/run says how the model is checked.
 *
 * An owner holds the address while a majority of the witnesses that its record names has promised it to that
 * owner's instance, and for at most the record's window after its last confirmed beat. A takeover needs the
 * promises of a majority, and then a swap in etcd.
 *
 * Time. One process counts ticks. With -DSLOW the clock of node 0 leaves out one tick of K. An owner's fence,
 * the ages of its requests and its kernel go by that clock. Promises, silence and quiet periods go by a raw
 * clock, which counts every tick. No step has to happen in time: a node that takes none is paused, dead or cut
 * off.
 *
 * Messages. RENEW and GRANT are one step, in which the witness binds itself and the owner counts T_W from now.
 * A GRANT that comes later counts from the same sending, so it is the same for an owner that did nothing
 * meanwhile, except that its fence may have passed, which only forbids more. A RENEW that gets no GRANT only
 * keeps other nodes out. FREE answers are advice: here a candidate asks for promises at any time. A RELEASE
 * arrives at any time, or is lost.
 * etcd is linearizable, and one state here. It carries a request out at any time after it was sent; the answer
 * comes at any time after that. A request of a process that has given up or died is carried out later or never.
 *
 * Revisions. Guards only ask whether a key is unchanged. So each copy of a revision is a bit: it is the present
 * one. A write clears the bits of all copies.
 *
 * What must hold: no two nodes answer at any moment. What may happen besides: -DFAULTS=n restarts and lost
 * answers; -DSETS: records change their set of witnesses; -DFALL: records change to none, and back; -DWINDOWS:
 * records change their window towards etcd; -DTAKE_CHANGES: takeovers change the record's kind too; -DRELEASE:
 * owners hand over; -DADOPT: a process is killed and the next one goes on; -DOLD: node 1 runs a version that
 * knows no witnesses. -DBREAK_...: a protocol that must be found to be broken.
 * Not covered: that a node answers within a bounded time once faults have ended; an etcd that went back.
 */

#ifndef N
#define N 2 /* nodes that may own the address */
#endif
#ifdef SETS
#define W 4
#else
#define W 3
#endif
#ifndef FAULTS
#define FAULTS 1
#endif

#define K 4
#ifndef T_W
#define T_W 2 /* how long a grant counts, from before its RENEW was sent */
#endif
#define T_F (T_W + 1) /* the window of a record without witnesses */
#define H (T_W + 2)   /* the window of a record with witnesses */
#define H_SHORT (T_W + 1)
#define E 1 /* how late the kernel may silence the address */

/* What n ticks of the slowest clock take at most. */
#ifdef SLOW
#define TRUE_TICKS(n) ((n) + ((n) + 2) / 3)
#else
#define TRUE_TICKS(n) (n)
#endif

#ifdef BREAK_SHORT_PROMISE
#define PROMISE (T_W + E)
#else
#define PROMISE TRUE_TICKS(T_W + E)
#endif
#ifdef BREAK_NO_QUIET
#define QUIET_PERIOD 0
#else
#define QUIET_PERIOD TRUE_TICKS(T_W + E)
#endif
#define SILENCE_MAX TRUE_TICKS(H + E)

/* A record's kind: the set that it names and, of records with witnesses, its window. */
#define SET_A 0     /* witnesses 0, 1, 2 */
#define SET_B 1     /* witnesses 1, 2, 3: majorities of both may have no member in common */
#define SHORT_A 2   /* set A with a shorter window */
#define ALONE 3     /* no witnesses */
#define KINDS 4
#ifdef SETS
#define HAS_B true
#else
#define HAS_B false
#endif
#if defined(FALL) || defined(OLD)
#define HAS_ALONE true
#else
#define HAS_ALONE false
#endif
#ifdef WINDOWS
#define HAS_SHORT true
#else
#define HAS_SHORT false
#endif
#define EXISTS(kind) (kind == SET_A || (kind == SET_B && HAS_B) || (kind == SHORT_A && HAS_SHORT) || (kind == ALONE && HAS_ALONE))

#define WINDOW(kind) (kind == ALONE -> T_F : (kind == SHORT_A -> H_SHORT : H))
/* How much silence proves that an owner's window towards etcd is over. */
#ifdef BREAK_SILENCE
#define SILENCE(kind) WINDOW(kind)
#else
#define SILENCE(kind) TRUE_TICKS(WINDOW(kind) + E)
#endif

#define NAMES(kind, w) (kind != ALONE && (kind == SET_B -> w >= 1 : w <= 2))

mtype = { STANDBY, RECORD, HOLDS, DOWN };
mtype = { NONE, CONFIRM, TAKE_FAST, TAKE_SLOW, CHANGE, HAND_OVER };
mtype = { NOT_SENT, SENT, DONE };

#define NOBODY 9
#define DEAD 8 /* an instance that is gone */

/* --- etcd: the record --- */

byte record = SET_A;
bool released = false;
byte late = 0; /* by how much more than E the owner's fence may be late */

/* --- the witnesses --- */

byte bound[W];   /* to whom */
byte left[W];    /* for how long */
byte quiet[W];   /* after a restart: for how long it grants nothing */

/* --- a node --- */

typedef node {
	mtype state;
	byte live; /* the kernel answers while this is not 0 */
	byte f_h;  /* what is left of the window since the last confirmed beat */
	byte grant[W];
	/* Bits of witnesses: the promise is the one noted while this node held the address, and the witness has
	 * promised nobody else since. */
	byte same;
	byte releasing, release_counts; /* RELEASE under way; no RENEW was granted after it was sent */

	/* What it knows of the record. */
	bool known, owner_new, beat_new, saw_released;
	byte kind;
	byte silence;
	bool begun; /* it has held the address under this record, or may */
	byte wait; /* until the fence of the owner before has acted, where the swap comes first (OLD) */
	byte late; /* by how much more than E that fence may be late, as the record says */

	mtype request;
	mtype stage;
	bool owner_fits, beat_fits;
	bool unbroken; /* the majority's grants have not run out since it was sent */
	byte age;
	byte to_kind, to_late;

	/* Given up, and may still be carried out. */
	mtype later;
	bool later_owner_fits, later_beat_fits;
	byte later_kind, later_late;
}

node nodes[N];
#define me nodes[id]
byte phase = 0;
byte faults = FAULTS;

hidden byte i, j, x, y, d, step, f; /* scratch, within one step */
hidden int key_a, key_b;

#define MAY_FAIL (faults > 0)

#define BIT(w) (1 << (w))
#define HAS(mask, w) ((mask >> (w)) & 1)
#define LESS(a, b) ((a) < (b) -> (a) : (b))
#define MORE(a, b) ((a) > (b) -> (a) : (b))
#define LESS_BY(a, b) ((a) > (b) -> (a) - (b) : 0)

/* The grants of which a majority of the set is left: the second largest of three. */
#ifdef BREAK_NO_MAJORITY
#define OF_THREE(a, b, c) MORE(MORE(a, b), c)
#else
#define OF_THREE(a, b, c) MORE(LESS(a, b), LESS(MORE(a, b), c))
#endif
#ifdef SETS
#define F_W(n, kind) (kind == SET_B -> OF_THREE(n.grant[1], n.grant[2], n.grant[3]) : OF_THREE(n.grant[0], n.grant[1], n.grant[2]))
#else
#define F_W(n, kind) OF_THREE(n.grant[0], n.grant[1], n.grant[2])
#endif

/* The fence: the least of the witnesses' and etcd's, and while a change of the record is under way the least
 * of the old record's and the new one's. */
#ifdef BREAK_NOT_LEAST
#define FENCE_OF(n) (n.kind == ALONE -> n.f_h : F_W(n, n.kind))
#else
#define FENCE_OF(n) (n.kind == ALONE -> n.f_h : LESS(n.f_h, F_W(n, n.kind)))
#endif
#ifdef BREAK_CHANGE_UNCAPPED
#define NEW_WINDOW(n) 99
#else
#define NEW_WINDOW(n) LESS_BY(WINDOW(n.to_kind), n.age)
#endif
#ifdef BREAK_SET_EARLY
#define NEW_SET(n) 99
#else
#define NEW_SET(n) (n.to_kind == ALONE -> 99 : F_W(n, n.to_kind))
#endif
#define FENCE(n) (n.request == CHANGE -> LESS(FENCE_OF(n), LESS(NEW_WINDOW(n), NEW_SET(n))) : FENCE_OF(n))

/* A majority of the set has grants that continue what this node noted while it held the address. */
#ifdef BREAK_RESUME_UNSEEN
#define CONTINUED(n, w) (n.grant[w] > 0 -> 1 : 0)
#else
#define CONTINUED(n, w) (n.grant[w] > 0 && HAS(n.same, w) -> 1 : 0)
#endif
#ifdef SETS
#define CONTINUED_BY(n, kind) (kind == SET_B -> CONTINUED(n, 1) + CONTINUED(n, 2) + CONTINUED(n, 3) : CONTINUED(n, 0) + CONTINUED(n, 1) + CONTINUED(n, 2))
#else
#define CONTINUED_BY(n, kind) (CONTINUED(n, 0) + CONTINUED(n, 1) + CONTINUED(n, 2))
#endif

#ifdef BREAK_LAPSE_UNNOTICED
#define LAPSED(n) false
#else
#define LAPSED(n) (n.state == HOLDS && (FENCE(n) == 0 || n.live == 0))
#endif
/* It runs, and has seen to its fence first. */
#define AWAKE (me.state != DOWN && !LAPSED(me))

#ifdef OLD
#define IS_OLD (id == 1)
#else
#define IS_OLD false
#endif

/* --- witnesses are alike: states that differ in their order only are one --- */

inline weigh(w, key) {
	key = (bound[w] * 16 + left[w]) * 8 + quiet[w];
	for (j : 0 .. N - 1) {
		key = key * 32 + nodes[j].grant[w] * 8 + HAS(nodes[j].same, w) * 4 + HAS(nodes[j].releasing, w) * 2 +
			HAS(nodes[j].release_counts, w)
	}
}

inline swap_bits(mask, a, b) {
	d = (HAS(mask, a) != HAS(mask, b) -> 1 : 0);
	mask = mask ^ ((d << a) | (d << b))
}

inline order_two(a, b) {
	weigh(a, key_a); weigh(b, key_b);
	if
	:: key_a < key_b ->
		x = bound[a]; bound[a] = bound[b]; bound[b] = x;
		x = left[a]; left[a] = left[b]; left[b] = x;
		x = quiet[a]; quiet[a] = quiet[b]; quiet[b] = x;
		for (j : 0 .. N - 1) {
			x = nodes[j].grant[a]; nodes[j].grant[a] = nodes[j].grant[b]; nodes[j].grant[b] = x;
			swap_bits(nodes[j].same, a, b);
			swap_bits(nodes[j].releasing, a, b);
			swap_bits(nodes[j].release_counts, a, b)
		}
	:: else
	fi
}

/* The end of each step. */
inline settle() {
	d_step {
#ifdef SETS
		order_two(1, 2)
#else
		order_two(0, 1); order_two(1, 2); order_two(0, 1)
#endif
	}
}

/* --- etcd carries out --- */

inline wrote_beat() {
	for (i : 0 .. N - 1) {
		nodes[i].beat_new = false; nodes[i].beat_fits = false; nodes[i].later_beat_fits = false
	}
}

inline wrote_owner() {
	wrote_beat();
	for (i : 0 .. N - 1) {
		nodes[i].owner_new = false; nodes[i].owner_fits = false; nodes[i].later_owner_fits = false
	}
}

#ifdef BREAK_NO_BEAT_GUARD
#define FITS(request, owner, beat) (owner)
#else
#define FITS(request, owner, beat) (owner && ((request != TAKE_FAST && request != TAKE_SLOW) || beat))
#endif

/* --- what a node forgets --- */

inline no_grants() {
	for (i : 0 .. W - 1) { me.grant[i] = 0 }
}

inline no_request() {
	me.request = NONE; me.stage = NOT_SENT; me.owner_fits = false; me.beat_fits = false; me.unbroken = false;
	me.age = 0; me.to_kind = 0; me.to_late = 0
}

inline no_later() {
	me.later = NONE; me.later_owner_fits = false; me.later_beat_fits = false; me.later_kind = 0; me.later_late = 0
}

inline not_known() {
	me.known = false; me.owner_new = false; me.beat_new = false; me.saw_released = false; me.silence = 0;
	me.kind = 0; me.late = 0
}

inline step_down() {
	me.state = STANDBY; me.live = 0; me.f_h = 0; me.same = 0; me.begun = false; me.wait = 0;
	not_known(); no_request(); no_grants()
}

/* It waits no longer; etcd may still get it. What fits nothing comes to nothing. */
inline give_up() {
	if
	:: me.stage == SENT && me.request != CONFIRM && me.owner_fits ->
		me.later = me.request; me.later_owner_fits = true; me.later_beat_fits = me.beat_fits;
		me.later_kind = me.to_kind; me.later_late = me.to_late
	:: else
	fi;
	no_request()
}

/* --- the address --- */

inline tell_kernel() {
	if
	:: me.state == HOLDS -> f = FENCE(me); me.live = f + E
	:: else
	fi
}

inline hold() {
	me.same = 0;
	for (i : 0 .. W - 1) {
		if
		:: me.grant[i] > 0 -> me.same = me.same | BIT(i)
		:: else
		fi
	}
	me.begun = true; me.state = HOLDS;
	tell_kernel()
}

inline send(what, kind_to) {
	me.request = what; me.stage = SENT; me.owner_fits = me.owner_new; me.beat_fits = me.beat_new;
	me.age = 0; me.to_kind = kind_to;
	/* A window that is shorter than what its sender still has to wait for is recorded as later. */
	me.to_late = (me.wait > T_F + E -> me.wait - T_F - E : 0);
	me.unbroken = (me.kind == ALONE || F_W(me, me.kind) > 0)
}

/* --- the node --- */

#define WINDOW_LEFT(kind) LESS_BY(WINDOW(kind), me.age)

inline answered_yes() {
	if
	:: me.request == CONFIRM ->
		f = WINDOW_LEFT(me.kind); me.f_h = MORE(f, me.f_h);
		x = (me.state == RECORD && me.wait == 0 && me.f_h > 0 &&
			(me.kind == ALONE || (me.unbroken && F_W(me, me.kind) > 0)) -> 1 : 0);
#ifdef BREAK_BEGIN_BROKEN
		x = (me.state == RECORD && me.f_h > 0 && (me.kind == ALONE || F_W(me, me.kind) > 0) -> 1 : 0);
#endif
		no_request();
		if
		:: x == 1 -> hold()
		:: else -> tell_kernel()
		fi
	:: me.request == TAKE_FAST || me.request == TAKE_SLOW ->
		me.owner_new = me.owner_fits; me.beat_new = false;
		x = (me.request == TAKE_FAST && me.to_kind == me.kind && me.unbroken && F_W(me, me.kind) > 0 -> 1 : 0);
		me.f_h = WINDOW_LEFT(me.to_kind);
		me.kind = me.to_kind; me.state = RECORD; me.begun = true; me.silence = 0; me.saw_released = false;
		no_request();
		if
		:: x == 1 && me.f_h > 0 -> hold()
		:: else
		fi
	:: me.request == CHANGE ->
		me.owner_new = me.owner_fits;
		me.f_h = WINDOW_LEFT(me.to_kind);
		x = (me.state == RECORD && !me.begun && me.unbroken && me.f_h > 0 && me.kind == me.to_kind &&
			(me.kind == ALONE || F_W(me, me.kind) > 0) -> 1 : 0);
		me.kind = me.to_kind;
		no_request();
		me.begun = true;
		if
		:: x == 1 -> hold()
		:: me.state == HOLDS && FENCE(me) > 0 -> tell_kernel()
		:: else
		fi
	fi
}

inline restart_forgets(w) {
	bound[w] = NOBODY; left[w] = 0; quiet[w] = QUIET_PERIOD;
	for (i : 0 .. N - 1) { nodes[i].same = nodes[i].same & ~BIT(w) }
}

/* Promises to an instance that is gone stay. */
inline instance_is_gone() {
	for (i : 0 .. W - 1) {
		if
		:: bound[i] == id -> bound[i] = DEAD
		:: else
		fi
	}
}

proctype process(byte id) {
	byte w = 0;
	byte kind = 0;
	do
	/* A holder whose fence has passed lapses before anything else. */
	:: atomic { LAPSED(me) -> me.state = RECORD; me.live = 0; settle() }

	/* RENEW and GRANT. */
	:: atomic { AWAKE && !IS_OLD && (me.state != STANDBY || (me.known && me.kind != ALONE && !me.saw_released)) ->
		select(w : 0 .. W - 1);
		if
		:: quiet[w] == 0 && (NAMES(me.kind, w) || (me.state != STANDBY && (HAS_B || HAS_ALONE))) &&
#ifndef BREAK_TWO_PROMISES
			(bound[w] == NOBODY || bound[w] == id) &&
#endif
			!(bound[w] == id && left[w] == PROMISE && me.grant[w] == T_W && !HAS(me.release_counts, w) &&
				(me.state != HOLDS || HAS(me.same, w))) ->
			if
			:: bound[w] != id -> for (i : 0 .. N - 1) {
					if
					:: i != id -> nodes[i].same = nodes[i].same & ~BIT(w)
					:: else
					fi
				}
			:: else
			fi;
			bound[w] = id; left[w] = PROMISE; me.grant[w] = T_W;
			me.release_counts = me.release_counts & ~BIT(w);
			if
			:: me.state == HOLDS -> me.same = me.same | BIT(w); tell_kernel()
			:: else
			fi;
			skip
		:: else
		fi;
		w = 0; settle() }

	/* etcd carries out. */
	:: atomic { me.stage == SENT && FITS(me.request, me.owner_fits, me.beat_fits) ->
		if
		:: me.request == CONFIRM -> wrote_beat()
		:: else ->
			wrote_owner(); record = me.to_kind; late = me.to_late; released = false; me.owner_fits = true
		fi;
		me.stage = DONE; settle() }
	:: atomic { me.later != NONE ->
		if
		:: FITS(me.later, me.later_owner_fits, me.later_beat_fits) ->
			wrote_owner();
			if
			:: me.later == HAND_OVER -> released = true
			:: else -> record = me.later_kind; late = me.later_late; released = false
			fi
		:: else
		fi;
		no_later(); settle() }

	/* Its answer. */
	:: atomic { AWAKE && me.stage == DONE ->
		answered_yes(); settle() }
	:: atomic { AWAKE && me.stage == SENT && !FITS(me.request, me.owner_fits, me.beat_fits) ->
		if
		:: me.request == TAKE_FAST || me.request == TAKE_SLOW -> no_request(); not_known(); no_grants(); me.wait = 0
		:: else -> step_down()
		fi;
		settle() }

	/* A quorum read, or what the watch tells. A candidate's grants count from the read on. */
	:: atomic { AWAKE && me.state == STANDBY && me.request == NONE && !(me.known && me.owner_new && me.beat_new) ->
		not_known();
		me.known = true; me.owner_new = true; me.beat_new = true; me.kind = record; me.saw_released = released;
		me.late = late;
#ifndef BREAK_GRANTS_BEFORE_READ
		no_grants();
#endif
		settle() }

	/* The fast lane: a majority of the record's witnesses has granted, then the swap. */
	:: atomic { AWAKE && !IS_OLD && me.state == STANDBY && me.known && me.request == NONE && !me.saw_released &&
			me.kind != ALONE &&
#ifndef BREAK_SWAP_FIRST
			F_W(me, me.kind) > 0 &&
#endif
			true ->
		select(kind : 0 .. KINDS - 1);
		if
#ifdef TAKE_CHANGES
		:: EXISTS(kind) -> send(TAKE_FAST, kind)
#else
		:: kind == me.kind -> send(TAKE_FAST, kind)
#endif
		:: else
		fi;
		kind = 0; settle() }
	/* What was released, or the slow lane: silence for all of the record's window. */
	:: atomic { AWAKE && me.state == STANDBY && me.known && me.request == NONE &&
#ifdef BREAK_SWAP_BEFORE_WAIT
			(me.saw_released || me.silence >= WINDOW(me.kind)) ->
#else
			(me.saw_released || me.silence >= (IS_OLD -> WINDOW(me.kind) : SILENCE(me.kind) + TRUE_TICKS(me.late))) ->
#endif
		select(kind : 0 .. KINDS - 1);
		if
		:: EXISTS(kind) && (!IS_OLD || kind == ALONE) ->
#ifdef BREAK_SWAP_BEFORE_WAIT
			me.wait = (me.saw_released -> 0 : LESS_BY(SILENCE(me.kind), me.silence));
#else
			me.wait = (me.saw_released || !IS_OLD -> 0 : LESS_BY(SILENCE(me.kind) + TRUE_TICKS(me.late), me.silence));
#endif
			send(TAKE_SLOW, kind)
		:: else
		fi;
		kind = 0; settle() }
	:: atomic { MAY_FAIL && AWAKE && me.stage == SENT && (me.request == TAKE_FAST || me.request == TAKE_SLOW) && me.later == NONE ->
		faults--; give_up(); not_known(); me.wait = 0; settle() }

	/* Confirming: the beat of an owner, and how one begins under a record. */
	:: atomic { AWAKE && (me.state == RECORD || me.state == HOLDS) && me.begun && me.request == NONE &&
			(me.kind == ALONE || me.state == HOLDS || F_W(me, me.kind) > 0) ->
		send(CONFIRM, me.kind); settle() }
	:: atomic { AWAKE && me.state == RECORD && me.begun && me.kind == ALONE && me.wait == 0 && FENCE(me) > 0 ->
		hold(); settle() }
	/* Lapsed, it goes on without etcd when a majority has promised nobody else since. */
	:: atomic { AWAKE && me.state == RECORD && me.begun && me.kind != ALONE && CONTINUED_BY(me, me.kind) >= 2 &&
			(me.request != CHANGE || me.to_kind == ALONE || CONTINUED_BY(me, me.to_kind) >= 2) && FENCE(me) > 0 ->
		me.state = HOLDS; tell_kernel(); settle() }

	/* The owner changes its record: it meets what the new one asks for first, and tells the kernel. */
	:: atomic { AWAKE && (me.state == HOLDS || (me.state == RECORD && me.begun && me.wait == 0)) && me.request == NONE && !IS_OLD ->
		select(kind : 0 .. KINDS - 1);
		if
		:: EXISTS(kind) && kind != me.kind &&
#ifndef BREAK_SET_EARLY
			(kind == ALONE || me.state != HOLDS || F_W(me, kind) > 0) &&
#endif
			true ->
			send(CHANGE, kind);
#ifndef BREAK_NOT_TIGHTENED
			tell_kernel()
#endif
		:: else
		fi;
		kind = 0; settle() }

#ifdef RELEASE
	/* Stepping down: the address goes first, then RELEASE and the word. */
	:: atomic { MAY_FAIL && AWAKE && (me.state == RECORD || me.state == HOLDS) && me.request == NONE && me.later == NONE && me.releasing == 0 ->
		faults--;
		x = me.owner_new; y = (me.begun -> 1 : 0);
#ifdef BREAK_RELEASE_KEEPS_GRANTS
		me.state = STANDBY; me.live = 0; me.f_h = 0; me.same = 0; me.begun = false; me.wait = 0; not_known(); no_request();
#elif defined(BREAK_RELEASE_FIRST)
		y = 0;
#else
		step_down();
#endif
		me.releasing = (1 << W) - 1; me.release_counts = me.releasing;
		if
		:: y == 1 && x == 1 -> me.later = HAND_OVER; me.later_owner_fits = true; me.later_beat_fits = true
		:: true
		fi;
		settle() }
	:: atomic { me.releasing != 0 ->
		select(w : 0 .. W - 1);
		if
		:: HAS(me.releasing, w) ->
			if
#ifdef BREAK_RELEASE_UNNUMBERED
			:: bound[w] == id -> bound[w] = NOBODY; left[w] = 0
#else
			:: bound[w] == id && HAS(me.release_counts, w) -> bound[w] = NOBODY; left[w] = 0
#endif
			:: true
			fi;
			me.releasing = me.releasing & ~BIT(w); me.release_counts = me.release_counts & ~BIT(w);
			skip
		:: else
		fi;
		w = 0; settle() }
#endif

	/* The node loses its power, or its process and the address: a new instance comes. A witness may go with it. */
	:: atomic { MAY_FAIL && me.state != DOWN && me.later == NONE ->
		faults--;
		give_up(); x = me.later; step_down();
		me.releasing = 0; me.release_counts = 0;
		instance_is_gone();
		if
		:: select(w : 0 .. W - 1); restart_forgets(w)
		:: true
		fi;
		w = 0; settle() }
#ifdef ADOPT
	/* kill -9: the kernel keeps the address until its fence acts; the next process knows by a file the record, the
	 * last beat, the promises that it noted, and whether a change of the record was under way. */
	:: atomic { MAY_FAIL && (me.state == HOLDS || me.state == RECORD) && me.later == NONE ->
		faults--;
		if
#ifndef BREAK_ADOPT_PENDING
		:: me.request == CHANGE -> me.begun = false
#endif
		:: else
		fi;
		give_up(); no_grants();
		me.state = DOWN;
		if
		:: select(w : 0 .. W - 1); restart_forgets(w)
		:: true
		fi;
		w = 0; settle() }
	:: atomic { me.state == DOWN -> me.state = RECORD }
	/* A change may still be under way: it writes the record again, so that the change fits nothing. */
	:: atomic { AWAKE && me.state == RECORD && !me.begun && me.request == NONE ->
		send(CHANGE, me.kind); settle() }
#endif
	od
}

/* A witness restarts by itself. */
proctype witnesses() {
	byte w = 0;
	do
	:: atomic { MAY_FAIL -> faults--; select(w : 0 .. W - 1); restart_forgets(w); w = 0; settle() }
	od
}

/* --- time --- */

inline goes(timer, by) {
	timer = (timer > by -> timer - by : 0)
}

inline tick_node(n) {
#ifdef SLOW
	step = (n == 0 && phase == 0 -> 0 : 1);
#else
	step = 1;
#endif
	goes(nodes[n].live, step);
	goes(nodes[n].f_h, step);
	for (i : 0 .. W - 1) { goes(nodes[n].grant[i], step) }
	goes(nodes[n].wait, 1);
	if
	:: nodes[n].request != NONE ->
		nodes[n].age = LESS(nodes[n].age + step, H);
		if
		:: nodes[n].kind != ALONE && F_W(nodes[n], nodes[n].kind) == 0 -> nodes[n].unbroken = false
		:: else
		fi
	:: else
	fi;
	if
	:: nodes[n].state == STANDBY && nodes[n].known -> nodes[n].silence = LESS(nodes[n].silence + 1, SILENCE_MAX)
	:: else
	fi
}

proctype time() {
	byte n = 0;
	do
	:: atomic {
#ifdef SLOW
		phase = (phase + 1) % K;
#endif
		for (n : 0 .. N - 1) { tick_node(n) }
		n = 0;
		for (i : 0 .. W - 1) {
			goes(left[i], 1); goes(quiet[i], 1);
			if
			:: left[i] == 0 -> bound[i] = NOBODY
			:: else
			fi
		}
		settle() }
	od
}

active proctype watcher() {
	atomic { nodes[0].live > 0 && nodes[1].live > 0 -> assert(false) }
}

init {
	atomic {
		for (i : 0 .. W - 1) { bound[i] = NOBODY }
		for (i : 0 .. N - 1) {
			nodes[i].state = STANDBY; nodes[i].request = NONE; nodes[i].stage = NOT_SENT; nodes[i].later = NONE
		}
		/* Node 0 holds the address under a record with set A. */
		nodes[0].state = HOLDS; nodes[0].known = true; nodes[0].owner_new = true; nodes[0].begun = true;
		nodes[0].f_h = H; nodes[0].same = 7; nodes[0].live = T_W + E;
		for (i : 0 .. 2) { nodes[0].grant[i] = T_W; bound[i] = 0; left[i] = PROMISE }
		run process(0);
		run process(1);
#if FAULTS > 0
		run witnesses();
#endif
		run time()
	}
}
