/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One look at a time; the next one begins an interval after the last one's end. The file is
 * `etcdctl member list -w json`'s, kept by whoever likes; reading it blocks this process only, and
 * no client waits for that.
 */
#include "prism/probe/members.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/conf_check.h"
#include "base/fileio.h"
#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "prism/probe/found.h"

/*
 * etcdctl and the control sockets have the same facts under different keys; a table row for each
 * is all that differs. Member ids are unsigned 64-bit numbers, which jansson refuses to read as
 * integers: every number is read as a real one, because none matters here.
 */

struct keys {
	const char *client_urls;
	const char *peer_urls;
};

static const struct keys etcdctl_keys = {"clientURLs", "peerURLs"};
static const struct keys control_keys = {"client_urls", "peer_urls"};

static bool add_urls(const json_t *urls, uint16_t port, struct endpoints_list *list)
{
	bool any = false;

	for (size_t i = 0; i < json_array_size(urls); i++) {
		const char *url = json_string_value(json_array_get(urls, i));
		struct addr addr;

		if (url != NULL && conf_url_addr(url, &addr) == 0 && found_add_remote(list, &addr, port))
			any = true;
	}
	return any;
}

static void add_member(const json_t *member, const struct keys *keys, uint16_t port,
                       struct endpoints_list *list)
{
	if (!add_urls(json_object_get(member, keys->client_urls), port, list))
		(void) add_urls(json_object_get(member, keys->peer_urls), port, list);
}

static int conclude(const struct endpoints_list *list, size_t n_members,
                    struct endpoints_list *ret_list, const char **ret_error)
{
	if (list->n == 0) {
		*ret_error =
		    n_members == 0 ? "the list has no members" : "no member has an address in its URLs";
		return -EBADMSG;
	}
	*ret_list = *list;
	return 0;
}

int memberlist_parse(const char *text, size_t len, uint16_t port, struct endpoints_list *ret_list,
                     const char **ret_error)
{
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, NULL);
	const json_t *members = json_object_get(root, "members");
	struct endpoints_list list = {.n = 0};
	size_t n = json_array_size(members);
	bool good = json_is_array(members);

	for (size_t i = 0; i < n; i++)
		add_member(json_array_get(members, i), &etcdctl_keys, port, &list);
	json_decref(root);
	if (good)
		return conclude(&list, n, ret_list, ret_error);
	*ret_error = "it is not what 'etcdctl member list -w json' prints";
	return -EBADMSG;
}

int memberlist_parse_lines(const char *text, uint16_t port, struct endpoints_list *ret_list,
                           const char **ret_error)
{
	struct endpoints_list list = {.n = 0};
	size_t n = 0;

	for (const char *line = text; *line != '\0'; n++) {
		size_t len = strcspn(line, "\n");
		json_t *member =
		    json_loadb(line, len, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, NULL);

		if (!json_is_object(member)) {
			json_decref(member);
			*ret_error = "a line of the answer is not a JSON object";
			return -EBADMSG;
		}
		add_member(member, &control_keys, port, &list);
		json_decref(member);
		line += len;
		line += *line == '\n' ? 1 : 0;
	}
	return conclude(&list, n, ret_list, ret_error);
}

/*
 * The client's half of a control socket. connect(2) and the first write on a unix socket are done
 * at once or not at all, so that all that is waited for is the answer: until the server closes, the
 * answer is longer than any should be, or the time is up. An answer without its status line was cut
 * off, and counts for nothing.
 */

struct ask {
	struct ev_loop *ev;
	ask_done_fn done;
	void *userdata;
	int fd;
	ev_io readable;
	ev_timer limit;    /* also what reports that nothing could be sent */
	const char *early; /* why not; NULL: it was sent */
	size_t len;
	char answer[ASK_ANSWER_MAX + 1];
};

void ask_free(struct ask *a)
{
	if (a == NULL)
		return;
	ev_io_stop(a->ev, &a->readable);
	ev_timer_stop(a->ev, &a->limit);
	if (a->fd >= 0)
		(void) close(a->fd);
	free(a);
}

/* The one end of it. The callback may free the ask, so it comes last. */
static void finish(struct ask *a, const char *lines, const char *error)
{
	ev_io_stop(a->ev, &a->readable);
	ev_timer_stop(a->ev, &a->limit);
	a->done(lines, error, a->userdata);
}

/* Cuts the status line off, which is the last one, and reads it. */
static void judge(struct ask *a)
{
	char *status;

	a->answer[a->len] = '\0';
	if (a->len == 0 || a->answer[a->len - 1] != '\n') {
		finish(a, NULL, "the answer was cut off");
		return;
	}
	a->answer[a->len - 1] = '\0';
	status = strrchr(a->answer, '\n');
	status = status != NULL ? status + 1 : a->answer;
	if (strcmp(status, "ok") == 0) {
		*status = '\0';
		finish(a, a->answer, NULL);
	} else {
		finish(a, NULL,
		       strncmp(status, "error ", 6) == 0 ? status + 6 : "the answer has no status line");
	}
}

static void readable_cb(struct ev_loop *ev UNUSED, ev_io *w, int revents)
{
	struct ask *a = CONTAINER_OF(w, struct ask, readable);
	ssize_t n = read(a->fd, a->answer + a->len, ASK_ANSWER_MAX - a->len);

	loop_expect_watched(revents);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		finish(a, NULL, strerror(errno));
		return;
	}
	a->len += (size_t) n;
	if (n == 0)
		judge(a);
	else if (a->len == ASK_ANSWER_MAX)
		finish(a, NULL, "the answer is too long");
}

static void limit_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct ask *a = CONTAINER_OF(w, struct ask, limit);

	finish(a, NULL, a->early != NULL ? a->early : "no answer in time");
}

/* NULL, or why not. */
static const char *send_command(struct ask *a, const char *socket_path, const char *command)
{
	AUTO(free) char *line = xasprintf("%s\n", command);
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (strlen(socket_path) >= sizeof(address.sun_path))
		return strerror(ENAMETOOLONG);
	(void) strcpy(address.sun_path, socket_path);
	a->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (a->fd < 0 || connect(a->fd, (const struct sockaddr *) &address, sizeof(address)) < 0)
		return strerror(errno);
	if (send(a->fd, line, strlen(line), MSG_NOSIGNAL) != (ssize_t) strlen(line))
		return "the command could not be sent";
	return NULL;
}

struct ask *ask_new(struct ev_loop *ev, const char *socket_path, const char *command,
                    int64_t timeout_us, ask_done_fn done, void *userdata)
{
	struct ask *a = NEW0(struct ask);

	a->ev = ev;
	a->done = done;
	a->userdata = userdata;
	a->fd = -1;
	ev_init(&a->readable, readable_cb);
	a->early = send_command(a, socket_path, command);
	ev_timer_init(&a->limit, limit_cb, a->early != NULL ? 0. : mono_to_ev(timeout_us), 0.);
	ev_timer_start(ev, &a->limit);
	if (a->early == NULL) {
		ev_io_set(&a->readable, a->fd, EV_READ);
		ev_io_start(ev, &a->readable);
	}
	return a;
}

#define COMMAND "etcd members"
#define ASK_TIMEOUT_US (5 * US_PER_S)
#define FILE_MAX_BYTES (1 << 20)

struct members {
	struct search search;
	struct ask *ask;
};

static void report_error(struct members *m, const char *where, const char *why)
{
	char error[FOUND_ERROR_MAX];

	(void) snprintf(error, sizeof(error), "%s: %s", where, why);
	m->search.found(NULL, error, m->search.userdata);
}

static void look_in_file(struct members *m)
{
	AUTO(free) char *text = NULL;
	struct endpoints_list list;
	const char *error;
	size_t len;
	int r;

	r = file_read(m->search.settings->members_file, FILE_MAX_BYTES, &text, &len);
	if (r < 0)
		report_error(m, m->search.settings->members_file, strerror(-r));
	else if (memberlist_parse(text, len, m->search.settings->members_port, &list, &error) < 0)
		report_error(m, m->search.settings->members_file, error);
	else
		m->search.found(&list, NULL, m->search.userdata);
}

static void answered_cb(const char *lines, const char *error, void *userdata)
{
	struct members *m = userdata;
	struct ask *ask = TAKE_PTR(m->ask); /* what we are given lives in it */
	struct endpoints_list list;
	bool good = lines != NULL &&
	            memberlist_parse_lines(lines, m->search.settings->members_port, &list, &error) == 0;

	search_again(&m->search, false);
	if (good)
		m->search.found(&list, NULL, m->search.userdata);
	else if (m->search.settings->members_file != NULL)
		look_in_file(m);
	else
		report_error(m, m->search.settings->members_socket, error);
	ask_free(ask);
}

static void timer_cb(struct ev_loop *ev, ev_timer *w, int revents UNUSED)
{
	struct members *m = CONTAINER_OF(w, struct members, search.timer);

	if (m->search.settings->members_socket != NULL) {
		m->ask = ask_new(ev, m->search.settings->members_socket, COMMAND, ASK_TIMEOUT_US,
		                 answered_cb, m);
		return;
	}
	search_again(&m->search, false);
	look_in_file(m);
}

struct members *members_new(struct ev_loop *ev, const struct settings *settings,
                            int64_t interval_us, found_fn found, void *userdata)
{
	struct members *m = NEW0(struct members);

	search_begin(&m->search, ev, settings, interval_us, timer_cb, found, userdata);
	return m;
}

void members_free(struct members *m)
{
	if (m == NULL)
		return;
	search_end(&m->search);
	ask_free(m->ask);
	free(m);
}
