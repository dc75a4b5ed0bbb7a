/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What prism remembers over a restart. Above, the list and its text, pure; below, the file.
 * `wanted` is what should be on disk, `disk` what is there. A timer runs while they differ; when it
 * is due a thread is started that is given a finished text, and ends by waking the loop. Nothing
 * else is shared, and nothing else is touched while `text` is set.
 */
#include "prism/lastgood.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/fileio.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

#define HEAD "# Upstreams that prism found. Written by prism, read when it starts.\n"
#define FOOT "# %zu in all\n"
#define FOOT_MAX 32
#define LINE_MAX_BYTES (64 + ENDPOINT_TEXT_MAX)
#define FILE_MAX_BYTES 16384

/* Changes come in company: a moment for the others, then a pause. */
#define WRITE_DELAY_US US_PER_S
#define WRITE_PAUSE_US (60 * US_PER_S)
/* The thread writes a few hundred bytes. */
#define STACK_BYTES ((size_t) 256 * 1024)

/* --- the list (pure) --- */

static struct lastgood_entry *find(struct lastgood *list, const struct endpoint *endpoint)
{
	for (size_t i = 0; i < list->n; i++) {
		if (endpoint_equal(&list->items[i].endpoint, endpoint))
			return &list->items[i];
	}
	return NULL;
}

void lastgood_add(struct lastgood *list, const struct endpoint *endpoint, unsigned from)
{
	struct lastgood_entry *entry = find(list, endpoint);

	from &= LASTGOOD_SOURCES;
	if (from == 0 || (entry == NULL && list->n == ENDPOINTS_MAX))
		return;
	if (entry == NULL) {
		entry = &list->items[list->n++];
		*entry = (struct lastgood_entry){.endpoint = *endpoint};
	}
	entry->from |= from;
}

unsigned lastgood_from(const struct lastgood *list, const struct endpoint *endpoint)
{
	for (size_t i = 0; i < list->n; i++) {
		if (endpoint_equal(&list->items[i].endpoint, endpoint))
			return list->items[i].from;
	}
	return 0;
}

void lastgood_select(const struct lastgood *list, unsigned silent,
                     struct endpoints_list *ret_selected)
{
	ret_selected->n = 0;
	for (size_t i = 0; i < list->n; i++) {
		if ((list->items[i].from & silent) != 0)
			ret_selected->items[ret_selected->n++] = list->items[i].endpoint;
	}
}

bool lastgood_equal(const struct lastgood *a, const struct lastgood *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		if (lastgood_from(b, &a->items[i].endpoint) != a->items[i].from)
			return false;
	}
	return true;
}

/* --- its text (pure) --- */

static void put_sources(FILE *out, unsigned from)
{
	const char *separator = "";

	for (unsigned s = 0; s < ENDPOINTS_N_SOURCES; s++) {
		if ((from & ENDPOINTS_FROM(s)) == 0)
			continue;
		(void) fprintf(out, "%s%s", separator, endpoints_source_name((enum endpoints_source) s));
		separator = ",";
	}
}

char *lastgood_print(const struct lastgood *list)
{
	AUTO(free) char *text = xcalloc(1, FILE_MAX_BYTES);
	FILE *out = fmemopen(text, FILE_MAX_BYTES, "w");

	(void) fputs(HEAD, out);
	for (size_t i = 0; i < list->n; i++) {
		char buf[ENDPOINT_TEXT_MAX];

		put_sources(out, list->items[i].from);
		(void) fprintf(out, " %s\n", endpoint_format(&list->items[i].endpoint, buf));
	}
	(void) fprintf(out, FOOT, list->n);
	(void) fclose(out);
	return TAKE_PTR(text);
}

static int parse_sources(char *names, unsigned *ret_from)
{
	unsigned from = 0;
	char *rest = NULL;

	for (char *name = strtok_r(names, ",", &rest); name != NULL;
	     name = strtok_r(NULL, ",", &rest)) {
		enum endpoints_source source;

		if (!endpoints_source_parse(name, &source))
			return -EBADMSG;
		from |= ENDPOINTS_FROM(source);
	}
	if (from == 0 || (from & ~LASTGOOD_SOURCES) != 0)
		return -EBADMSG;
	*ret_from = from;
	return 0;
}

static int parse_line(const char *line, size_t len, struct lastgood *list)
{
	char copy[LINE_MAX_BYTES];
	struct endpoint endpoint;
	unsigned from;
	char *space;

	if (len >= sizeof(copy) || list->n == ENDPOINTS_MAX)
		return -EBADMSG;
	memcpy(copy, line, len);
	copy[len] = '\0';
	space = strchr(copy, ' ');
	if (space == NULL)
		return -EBADMSG;
	*space = '\0';
	if (parse_sources(copy, &from) < 0 || endpoint_parse(space + 1, 0, &endpoint) < 0 ||
	    !endpoints_can_dial(&endpoint) || find(list, &endpoint) != NULL)
		return -EBADMSG;
	lastgood_add(list, &endpoint, from);
	return 0;
}

int lastgood_parse(const char *text, size_t len, struct lastgood *ret_list)
{
	const size_t head_len = strlen(HEAD);
	struct lastgood list = {.n = 0};
	char foot[FOOT_MAX];

	if (strlen(text) != len || strncmp(text, HEAD, head_len) != 0)
		return -EBADMSG;
	for (text += head_len; *text != '#';) {
		size_t line_len = strcspn(text, "\n");

		if (text[line_len] != '\n' || parse_line(text, line_len, &list) < 0)
			return -EBADMSG;
		text += line_len + 1;
	}
	(void) snprintf(foot, sizeof(foot), FOOT, list.n);
	if (strcmp(text, foot) != 0)
		return -EBADMSG;
	*ret_list = list;
	return 0;
}

/* --- the file --- */

struct lastgood_file {
	struct ev_loop *ev;
	char *path;
	struct lastgood disk, wanted;
	ev_timer timer;        /* running: wanted is not on disk yet */
	int64_t last_write_us; /* when the last one began */
	int last_error;        /* what is in the log already */
	/* While text is set, it, path, result and done are the thread's. */
	char *text;
	struct lastgood writing; /* what text says */
	pthread_t thread;
	int result;
	ev_async done;
};

static void *write_thread(void *arg)
{
	struct lastgood_file *f = arg;

	(void) pthread_setname_np(pthread_self(), "lastgood");
	f->result = file_write_atomic(f->path, f->text, strlen(f->text), 0644, FILE_DURABLE);
	ev_async_send(f->ev, &f->done);
	return NULL;
}

/* Signals are the loop's: the thread is born with all of them blocked. 0 or -errno. */
static int start_thread(struct lastgood_file *f)
{
	pthread_attr_t attr;
	sigset_t all, before;
	int r;

	r = pthread_attr_init(&attr);
	if (r != 0)
		return -r;
	(void) pthread_attr_setstacksize(&attr, STACK_BYTES);
	(void) sigfillset(&all);
	(void) pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&f->thread, &attr, write_thread, f);
	(void) pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void) pthread_attr_destroy(&attr);
	return -r;
}

static void schedule(struct lastgood_file *f)
{
	int64_t now_us = mono_now_us();
	int64_t due_us = MAX(now_us + WRITE_DELAY_US, f->last_write_us + WRITE_PAUSE_US);

	if (f->text != NULL || ev_is_active(&f->timer))
		return;
	ev_now_update(f->ev);
	ev_timer_set(&f->timer, mono_to_ev(due_us - now_us), 0.);
	ev_timer_start(f->ev, &f->timer);
}

static void on_written(struct lastgood_file *f, int r)
{
	free(TAKE_PTR(f->text));
	if (r >= 0)
		f->disk = f->writing;
	else if (r != f->last_error)
		(void) log_warning_errno(r, "lastgood_not_written", "path=\"%s\" retry_s=%lld", f->path,
		                         (long long) (WRITE_PAUSE_US / US_PER_S));
	f->last_error = r;
}

static void done_cb(struct ev_loop *ev UNUSED, ev_async *async, int revents UNUSED)
{
	struct lastgood_file *f = CONTAINER_OF(async, struct lastgood_file, done);

	if (f->text == NULL)
		return;
	(void) pthread_join(f->thread, NULL);
	on_written(f, f->result);
	if (!lastgood_equal(&f->wanted, &f->disk))
		schedule(f);
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *timer, int revents UNUSED)
{
	struct lastgood_file *f = CONTAINER_OF(timer, struct lastgood_file, timer);
	int r;

	f->last_write_us = mono_now_us();
	f->writing = f->wanted;
	f->text = lastgood_print(&f->writing);
	r = start_thread(f);
	if (r < 0) {
		on_written(f, r);
		schedule(f);
	}
}

static int read_list(const char *path, struct lastgood *ret_list)
{
	AUTO(free) char *text = NULL;
	size_t len;
	int r;

	r = file_read(path, FILE_MAX_BYTES, &text, &len);
	if (r < 0)
		return r;
	return lastgood_parse(text, len, ret_list);
}

int lastgood_file_new(struct ev_loop *ev, const char *path, struct lastgood *ret_list,
                      struct lastgood_file **ret_file)
{
	struct lastgood_file *f = NEW0(struct lastgood_file);
	int r;

	f->ev = ev;
	f->path = xstrdup(path);
	f->last_write_us = mono_now_us() - WRITE_PAUSE_US;
	ev_timer_init(&f->timer, timer_cb, 0., 0.);
	ev_async_init(&f->done, done_cb);
	ev_async_start(ev, &f->done);
	/* It alone is no reason for the loop to go on. */
	ev_unref(ev);
	r = read_list(path, &f->disk);
	f->wanted = f->disk;
	*ret_list = f->disk;
	*ret_file = f;
	return r;
}

void lastgood_file_free(struct lastgood_file *file)
{
	if (file == NULL)
		return;
	if (file->text != NULL) {
		(void) pthread_join(file->thread, NULL);
		on_written(file, file->result);
	}
	if (!lastgood_equal(&file->wanted, &file->disk)) {
		file->writing = file->wanted;
		file->text = lastgood_print(&file->writing);
		on_written(file, file_write_atomic(file->path, file->text, strlen(file->text), 0644,
		                                   FILE_DURABLE));
	}
	ev_timer_stop(file->ev, &file->timer);
	ev_ref(file->ev);
	ev_async_stop(file->ev, &file->done);
	free(file->path);
	free(file);
}

void lastgood_file_put(struct lastgood_file *file, const struct lastgood *list)
{
	if (list->n == 0 || lastgood_equal(list, &file->wanted))
		return;
	file->wanted = *list;
	if (lastgood_equal(list, &file->disk))
		ev_timer_stop(file->ev, &file->timer);
	else
		schedule(file);
}
