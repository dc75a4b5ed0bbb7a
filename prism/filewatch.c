/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A watched file. What tells one version from another is a signature: inode, size, times, or why
 * there is none. Events of the directories and the regular look both lead to comparing signatures,
 * so that strangers' events in a busy directory cost a stat(2) and no more.
 */
#include "prism/filewatch.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

/* A file that is being written is left alone until it rests for this long, but not for longer than
 * that. */
#define QUIET_US (100 * US_PER_MS)
#define QUIET_MAX_US US_PER_S
#define LOOK_US (3 * US_PER_S)

#define EVENTS                                                                          \
	(IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB | \
	 IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

struct signature {
	int error; /* of stat(2); then the rest is zero */
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec written, changed;
};

struct filewatch {
	struct ev_loop *ev;
	char *path;
	filewatch_changed_fn changed;
	void *userdata;
	int fd;             /* of inotify, or -1 */
	int directories[2]; /* watches: where the path is, and where it leads to; -1: none */
	ev_io io;
	ev_timer quiet;   /* running: something happened */
	int64_t first_us; /* and this is when */
	ev_timer look;
	struct signature signature;
};

static struct signature signature_of(const char *path)
{
	struct signature s = {0};
	struct stat st;

	if (stat(path, &st) < 0) {
		s.error = errno;
		return s;
	}
	s.device = st.st_dev;
	s.inode = st.st_ino;
	s.size = st.st_size;
	s.written = st.st_mtim;
	s.changed = st.st_ctim;
	return s;
}

static bool time_equal(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool signature_equal(const struct signature *a, const struct signature *b)
{
	return a->error == b->error && a->device == b->device && a->inode == b->inode &&
	       a->size == b->size && time_equal(&a->written, &b->written) &&
	       time_equal(&a->changed, &b->changed);
}

/* The kernel gives the same number for the same directory, and takes a watch away with it. */
static void watch_directory(struct filewatch *w, unsigned which, const char *path)
{
	AUTO(free) char *copy = path != NULL ? xstrdup(path) : NULL;
	int before = w->directories[which];

	if (w->fd < 0)
		return;
	w->directories[which] = copy != NULL ? inotify_add_watch(w->fd, dirname(copy), EVENTS) : -1;
	if (before >= 0 && before != w->directories[0] && before != w->directories[1])
		(void) inotify_rm_watch(w->fd, before);
}

static void watch_directories(struct filewatch *w)
{
	AUTO(free) char *target = realpath(w->path, NULL);

	watch_directory(w, 0, w->path);
	watch_directory(w, 1, target);
}

/* The watches come first: what happens behind them is an event again. Calls out last. */
static void compare(struct filewatch *w)
{
	struct signature signature;

	watch_directories(w);
	signature = signature_of(w->path);
	if (signature_equal(&signature, &w->signature))
		return;
	w->signature = signature;
	w->changed(w->userdata);
}

static void quiet_cb(struct ev_loop *ev UNUSED, ev_timer *timer, int revents UNUSED)
{
	compare(CONTAINER_OF(timer, struct filewatch, quiet));
}

static void look_cb(struct ev_loop *ev UNUSED, ev_timer *timer, int revents UNUSED)
{
	struct filewatch *w = CONTAINER_OF(timer, struct filewatch, look);

	if (!ev_is_active(&w->quiet))
		compare(w);
}

static void on_event(struct filewatch *w)
{
	int64_t now_us = mono_now_us(), left_us;

	if (!ev_is_active(&w->quiet))
		w->first_us = now_us;
	left_us = MIN(QUIET_US, w->first_us + QUIET_MAX_US - now_us);
	ev_timer_stop(w->ev, &w->quiet);
	ev_now_update(w->ev);
	ev_timer_set(&w->quiet, mono_to_ev(left_us), 0.);
	ev_timer_start(w->ev, &w->quiet);
}

/* Which file it was does not matter: any name in the directory may be a step of the path. */
static void io_cb(struct ev_loop *ev UNUSED, ev_io *io, int revents)
{
	struct filewatch *w = CONTAINER_OF(io, struct filewatch, io);
	char buf[4096];
	bool any = false;

	loop_expect_watched(revents);
	while (read(w->fd, buf, sizeof(buf)) > 0)
		any = true;
	if (any)
		on_event(w);
}

struct filewatch *filewatch_new(struct ev_loop *ev, const char *path, filewatch_changed_fn changed,
                                void *userdata)
{
	struct filewatch *w = NEW0(struct filewatch);

	w->ev = ev;
	w->path = xstrdup(path);
	w->changed = changed;
	w->userdata = userdata;
	w->directories[0] = w->directories[1] = -1;
	ev_timer_init(&w->quiet, quiet_cb, 0., 0.);
	ev_timer_init(&w->look, look_cb, mono_to_ev(LOOK_US), mono_to_ev(LOOK_US));
	ev_timer_start(ev, &w->look);
	w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	ev_io_init(&w->io, io_cb, w->fd, EV_READ);
	if (w->fd >= 0)
		ev_io_start(ev, &w->io);
	else
		(void) log_warning_errno(-errno, "inotify_failed", "path=\"%s\" look_s=%lld", path,
		                         (long long) (LOOK_US / US_PER_S));
	watch_directories(w);
	w->signature = signature_of(path);
	return w;
}

void filewatch_free(struct filewatch *watch)
{
	if (watch == NULL)
		return;
	ev_timer_stop(watch->ev, &watch->quiet);
	ev_timer_stop(watch->ev, &watch->look);
	if (watch->fd >= 0) {
		ev_io_stop(watch->ev, &watch->io);
		(void) close(watch->fd);
	}
	free(watch->path);
	free(watch);
}
