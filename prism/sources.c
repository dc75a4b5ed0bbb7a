/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sources of upstreams. Whatever changes marks the whole as dirty; once before the loop sleeps
 * all of it is merged anew and compared with what was handed over last, so that several changes in
 * one turn are one. The merge is pure (endpoints.c); here are the file, the disk, the addresses of
 * this node, and what is said about sources that are not well.
 */
#include "prism/sources.h"

#include <errno.h>
#include <ifaddrs.h>
#include <libgen.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "prism/lastgood.h"

/*
 * A watched file. What tells one version from another is a signature: inode, size, times, or why
 * there is none. Events of the directories and the regular look both lead to comparing signatures,
 * so that strangers' events in a busy directory cost a stat(2) and no more.
 */

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

#define API_PORT 6443
#define FILE_MAX_BYTES ((size_t) 1024 * 1024)
#define ERROR_MAX 160
#define REFRESH_US (30 * US_PER_S)

struct sources {
	struct ev_loop *ev;
	const struct config *config;
	sources_changed_fn changed;
	void *userdata;
	struct endpoints_list lists[ENDPOINTS_N_SOURCES];
	char errors[ENDPOINTS_N_SOURCES][ERROR_MAX];
	struct addr *addresses; /* of this node */
	size_t n_addresses;
	struct endpoints_merged merged; /* as handed over last */
	bool handed_over;               /* once at least */
	bool kept;                      /* though it would be empty now */
	ev_prepare dirty;               /* running: to be merged anew */
	ev_timer refresh;
	struct filewatch *watch;      /* NULL: no file */
	struct lastgood_file *disk;   /* NULL: nothing is remembered */
	struct lastgood remembered;   /* what was known at the start, of sources that we still have */
	struct endpoints_list proven; /* verified in this run or before */
};

static void mark_dirty(struct sources *s)
{
	ev_prepare_start(s->ev, &s->dirty);
}

/* --- what is wrong with a source --- */

static void set_error(struct sources *s, enum endpoints_source source, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* Said when it begins, when it is another one, and when it is over. "" is none. */
static void set_error(struct sources *s, enum endpoints_source source, const char *fmt, ...)
{
	char error[ERROR_MAX];
	va_list args;

	va_start(args, fmt);
	(void) vsnprintf(error, sizeof(error), fmt, args);
	va_end(args);
	if (strcmp(s->errors[source], error) == 0)
		return;
	memcpy(s->errors[source], error, sizeof(error));
	if (error[0] != '\0')
		log_warning("source_unwell", "source=%s upstreams=%zu reason=\"%s\"",
		            endpoints_source_name(source), s->lists[source].n, error);
	else
		log_info("source_well", "source=%s upstreams=%zu", endpoints_source_name(source),
		         s->lists[source].n);
}

const char *sources_error(const struct sources *sources, enum endpoints_source source)
{
	return sources->errors[source];
}

size_t sources_count(const struct sources *sources, enum endpoints_source source)
{
	return sources->lists[source].n;
}

void sources_update(struct sources *sources, enum endpoints_source source,
                    const struct endpoints_list *list)
{
	if (endpoints_accept(&sources->lists[source], list)) {
		set_error(sources, source, "%s", "");
		mark_dirty(sources);
	} else {
		set_error(sources, source, "names nobody: the last list stays");
	}
}

/* --- the file --- */

/* Whatever lies there must not hold up the loop: a FIFO or a terminal would. */
static int read_text(const char *path, char **ret_text)
{
	AUTO(free) char *text = NULL;
	struct stat st;
	size_t len;
	int r;

	if (stat(path, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	r = file_read(path, FILE_MAX_BYTES, &text, &len);
	if (r < 0)
		return r;
	/* A zero byte is wrong, but not the end. */
	for (size_t i = 0; i < len; i++)
		text[i] = (char) (text[i] == '\0' ? '?' : text[i]);
	*ret_text = TAKE_PTR(text);
	return 0;
}

static const char *reading_failed(int r)
{
	if (r == -EINVAL)
		return "is not a regular file";
	if (r == -EFBIG)
		return "is longer than 1 MiB";
	return strerror(-r);
}

static void read_file(struct sources *s)
{
	const char *path = s->config->sources.file;
	AUTO(free) char *text = NULL;
	struct endpoints_list list;
	unsigned bad_line;
	int r;

	r = read_text(path, &text);
	if (r < 0) {
		set_error(s, ENDPOINTS_FILE, "%s: %s", path, reading_failed(r));
		return;
	}
	endpoints_parse_text(text, API_PORT, &list, &bad_line);
	if (list.n == 0) {
		/* Wrong or empty: either way not what replaces a list. */
		set_error(s, ENDPOINTS_FILE, "%s: names no address", path);
		return;
	}
	(void) endpoints_accept(&s->lists[ENDPOINTS_FILE], &list);
	mark_dirty(s);
	if (bad_line > 0 && list.n == ENDPOINTS_MAX)
		set_error(s, ENDPOINTS_FILE, "%s: line %u is wrong, or one of more than %d", path, bad_line,
		          ENDPOINTS_MAX);
	else if (bad_line > 0)
		set_error(s, ENDPOINTS_FILE, "%s: line %u is not an address", path, bad_line);
	else
		set_error(s, ENDPOINTS_FILE, "%s", "");
}

static void file_changed(void *userdata)
{
	read_file(userdata);
}

/* --- what the disk remembers --- */

/* The sources that can speak, of those that the disk stands in for. */
static unsigned sources_of(const struct config *config)
{
	const struct config_sources *c = &config->sources;
	unsigned sources = 0;

	for (size_t i = 0; i < c->n_hosts; i++) {
		struct addr address;

		if (addr_parse(c->hosts[i].name, &address) < 0)
			sources |= ENDPOINTS_FROM(ENDPOINTS_DNS);
	}
	if (c->file != NULL)
		sources |= ENDPOINTS_FROM(ENDPOINTS_FILE);
	if (c->members_file != NULL || c->members_socket != NULL)
		sources |= ENDPOINTS_FROM(ENDPOINTS_MEMBERS);
	if (c->kubeconfig != NULL)
		sources |= ENDPOINTS_FROM(ENDPOINTS_SLICES);
	return sources;
}

static unsigned silent_sources(const struct sources *s)
{
	unsigned silent = 0;

	for (unsigned i = 0; i < ENDPOINTS_N_SOURCES; i++) {
		if (s->lists[i].n == 0)
			silent |= ENDPOINTS_FROM(i);
	}
	return silent;
}

static void remember(struct sources *s)
{
	unsigned known = sources_of(s->config);
	AUTO(free) char *path = NULL;
	struct lastgood list;
	int r;

	if (!s->config->health.enabled || s->config->state_dir[0] == '\0')
		return;
	path = xasprintf("%s/upstreams", s->config->state_dir);
	r = lastgood_file_new(s->ev, path, &list, &s->disk);
	if (r < 0 && r != -ENOENT)
		set_error(s, ENDPOINTS_LASTGOOD, "%s: %s: ignored", path,
		          r == -EBADMSG ? "not a whole list" : strerror(-r));
	for (size_t i = 0; i < list.n; i++) {
		lastgood_add(&s->remembered, &list.items[i].endpoint, list.items[i].from & known);
		(void) endpoints_add(&s->proven, &list.items[i].endpoint);
	}
}

void sources_inherit(struct sources *sources, const struct endpoint *endpoint, unsigned from)
{
	/* What nobody would verify is not used. */
	if (!sources->config->health.enabled)
		return;
	lastgood_add(&sources->remembered, endpoint, from & sources_of(sources->config));
	if (endpoints_is_discovered(from))
		(void) endpoints_add(&sources->proven, endpoint);
	mark_dirty(sources);
}

unsigned sources_from(const struct sources *sources, const struct endpoint *endpoint)
{
	unsigned from = lastgood_from(&sources->remembered, endpoint) & silent_sources(sources);

	for (size_t i = 0; i < sources->merged.n; i++) {
		if (endpoint_equal(&sources->merged.items[i].endpoint, endpoint))
			from |= sources->merged.items[i].from;
	}
	return from;
}

/* What the file should hold now: what was proved, or comes from the operator's file, with the
 * sources that name it; and what it held already and still stands in for somebody. */
static void write_down(struct sources *s)
{
	unsigned silent = silent_sources(s);
	struct lastgood list = {.n = 0};

	if (s->disk == NULL)
		return;
	for (size_t i = 0; i < s->merged.n; i++) {
		const struct endpoints_entry *entry = &s->merged.items[i];
		const struct endpoint *endpoint = &entry->endpoint;
		bool from_file = (entry->from & ENDPOINTS_FROM(ENDPOINTS_FILE)) != 0;

		if (from_file || endpoints_contains(&s->proven, endpoint))
			lastgood_add(&list, endpoint, entry->from);
		lastgood_add(&list, endpoint, lastgood_from(&s->remembered, endpoint) & silent);
	}
	lastgood_file_put(s->disk, &list);
}

/* Room is made by those that no source names any more. */
static void make_room(struct sources *s)
{
	struct endpoints_list kept = {.n = 0};

	for (size_t i = 0; i < s->merged.n; i++) {
		if (endpoints_contains(&s->proven, &s->merged.items[i].endpoint))
			(void) endpoints_add(&kept, &s->merged.items[i].endpoint);
	}
	s->proven = kept;
}

void sources_on_verified(struct sources *sources, const struct endpoint *endpoint)
{
	if (sources->proven.n == ENDPOINTS_MAX)
		make_room(sources);
	(void) endpoints_add(&sources->proven, endpoint);
	write_down(sources);
}

/* --- the merge --- */

/* All of this node, loopback included. On failure the last ones stay. */
static void read_addresses(struct sources *s)
{
	struct ifaddrs *all = NULL;
	size_t n = 0, room = 0;

	if (getifaddrs(&all) < 0) {
		(void) log_warning_errno(-errno, "own_addresses_unknown", "kept=%zu", s->n_addresses);
		return;
	}
	for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next)
		room++;
	free(s->addresses);
	s->addresses = xcalloc(room + 1, sizeof(*s->addresses));
	for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
		struct endpoint e;

		if (i->ifa_addr != NULL && endpoint_from_sockaddr(i->ifa_addr, &e) == 0)
			s->addresses[n++] = e.addr;
	}
	s->n_addresses = n;
	freeifaddrs(all);
}

/* What is not an upstream although it was named, when that is another number than before. */
static void log_left_out(const struct endpoints_merged *now, const struct endpoints_merged *before)
{
	if (now->n_loops != before->n_loops && now->n_loops > 0)
		log_warning("upstreams_are_prism_itself", "left_out=%zu upstreams=%zu", now->n_loops,
		            now->n);
	if (now->n_dropped != before->n_dropped && now->n_dropped > 0)
		log_warning("upstreams_too_many", "left_out=%zu upstreams=%zu", now->n_dropped, now->n);
}

/* Calls out last. */
static void dirty_cb(struct ev_loop *ev, ev_prepare *prepare, int revents UNUSED)
{
	struct sources *s = CONTAINER_OF(prepare, struct sources, dirty);
	struct endpoints_self self;
	struct endpoints_merged merged;

	ev_prepare_stop(ev, prepare);
	read_addresses(s);
	self = (struct endpoints_self){
	    .listeners = s->config->listen,
	    .n_listeners = s->config->n_listen,
	    .addresses = s->addresses,
	    .n_addresses = s->n_addresses,
	};
	lastgood_select(&s->remembered, silent_sources(s), &s->lists[ENDPOINTS_LASTGOOD]);
	endpoints_merge(s->lists, &self, &merged);
	if (s->handed_over && endpoints_merged_equal(&merged, &s->merged))
		return;
	if (merged.n == 0 && s->merged.n > 0) {
		if (!s->kept)
			log_warning("upstreams_kept", "upstreams=%zu reason=\"no source names one to use\"",
			            s->merged.n);
		s->kept = true;
		return;
	}
	s->kept = false;
	log_left_out(&merged, &s->merged);
	s->merged = merged;
	s->handed_over = true;
	write_down(s);
	s->changed(&s->merged, s->userdata);
}

static void refresh_cb(struct ev_loop *ev UNUSED, ev_timer *timer, int revents UNUSED)
{
	mark_dirty(CONTAINER_OF(timer, struct sources, refresh));
}

/* --- life --- */

static void set_configured(struct sources *s)
{
	const struct config_sources *c = &s->config->sources;

	for (size_t i = 0; i < c->n_hosts; i++) {
		struct endpoint e = {.port = c->hosts[i].port};

		if (addr_parse(c->hosts[i].name, &e.addr) == 0)
			(void) endpoints_add(&s->lists[ENDPOINTS_STATIC], &e);
	}
	if (c->has_local)
		(void) endpoints_add(&s->lists[ENDPOINTS_LOCAL], &c->local);
}

int sources_new(struct ev_loop *ev, const struct config *config, sources_changed_fn changed,
                void *userdata, struct sources **ret_sources)
{
	struct sources *s = NEW0(struct sources);

	s->ev = ev;
	s->config = config;
	s->changed = changed;
	s->userdata = userdata;
	ev_prepare_init(&s->dirty, dirty_cb);
	ev_timer_init(&s->refresh, refresh_cb, mono_to_ev(REFRESH_US), mono_to_ev(REFRESH_US));
	ev_timer_start(ev, &s->refresh);
	set_configured(s);
	remember(s);
	if (config->sources.file != NULL) {
		/* Watched first: what changes while it is read is an event. */
		s->watch = filewatch_new(ev, config->sources.file, file_changed, s);
		read_file(s);
	}
	mark_dirty(s);
	*ret_sources = s;
	return 0;
}

void sources_free(struct sources *sources)
{
	if (sources == NULL)
		return;
	ev_prepare_stop(sources->ev, &sources->dirty);
	ev_timer_stop(sources->ev, &sources->refresh);
	filewatch_free(sources->watch);
	lastgood_file_free(sources->disk);
	free(sources->addresses);
	free(sources);
}
