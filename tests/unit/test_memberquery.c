/* SPDX-License-Identifier: Apache-2.0 */
/* `etcd members`, asked of a real control socket with a real etcd behind it. */
#include "vipd/localmember.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "tests/unit/check.h"
#include "tests/unit/etcdtest/cluster.h"
#include "tests/unit/turn.h"

#define WAIT_US TURN_LIMIT_US

static struct ev_loop *ev;
static char socket_path[] = "/tmp/fairlead-memberquery.XXXXXX";

static void members_fn(struct control_request *request, int argc UNUSED, char **argv UNUSED,
                       void *userdata)
{
	memberquery_answer(userdata, request);
}

static const struct control_command table[] = {
    {"etcd members", false, members_fn, "", "etcd's members."},
};

static int dial(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	(void) strcpy(address.sun_path, socket_path);
	CHECK(connect(fd, (struct sockaddr *) &address, sizeof(address)) == 0);
	CHECK(write(fd, "etcd members\n", 13) == 13);
	return fd;
}

/* The whole answer; the caller frees it. */
static char *ask(void)
{
	int64_t deadline_us = mono_now_us() + WAIT_US;
	char *text = xcalloc(65536, 1);
	size_t len = 0;
	ssize_t n = -1;
	int fd = dial();

	while (n != 0 && mono_now_us() < deadline_us) {
		turn_once(ev);
		n = read(fd, text + len, 65535 - len);
		if (n > 0)
			len += (size_t) n;
	}
	CHECK_EQ_INT(n, 0);
	(void) close(fd);
	return text;
}

static void check_members(const struct cluster *cluster)
{
	AUTO(free) char *text = ask();
	char *end = strchr(text, '\n');
	json_t *member = end != NULL ? json_loadb(text, (size_t) (end - text), 0, NULL) : NULL;
	const json_t *urls = json_object_get(member, "client_urls");
	const char *id = json_string_value(json_object_get(member, "id"));
	AUTO(free) char *list = NULL;

	if (!CHECK(json_is_object(member))) {
		(void) fprintf(stderr, "  %s\n", text);
	} else {
		CHECK_EQ_STR(json_string_value(json_array_get(urls, 0)), cluster_urls(cluster)[0]);
		CHECK_EQ_INT(json_array_size(urls), 1);
		CHECK(strncmp(json_string_value(json_array_get(json_object_get(member, "peer_urls"), 0)),
		              "http", 4) == 0);
		CHECK(json_string_length(json_object_get(member, "name")) > 0);
		CHECK(json_is_false(json_object_get(member, "learner")));
		list = xasprintf("member list | grep -q ^%s,", id);
		CHECK(cluster_ctl(cluster, list));
		CHECK_EQ_STR(end, "\nok\n");
	}
	json_decref(member);
}

int main(void)
{
	struct cluster *cluster;
	char error[ETCD_ERROR_TEXT_MAX];
	AUTO(free) char *answer = NULL;
	struct memberquery *query;
	struct control *control;
	struct etcd *etcd;
	int gone;

	(void) signal(SIGPIPE, SIG_IGN);
	ev = ev_loop_new(EVFLAG_AUTO);
	(void) close(mkstemp(socket_path));
	(void) unlink(socket_path);
	cluster = cluster_new(1, CLUSTER_FAST);
	CHECK_EQ_INT(
	    etcd_new(ev, &(struct etcd_options){.endpoints = cluster_urls(cluster), .n_endpoints = 1},
	             error, &etcd),
	    0);
	query = memberquery_new(etcd);
	CHECK_EQ_INT(control_new(ev, socket_path, NULL, table, 1, query, &control), 0);

	check_members(cluster);
	/* One who asks and leaves harms nobody. */
	gone = dial();
	turn_once(ev);
	(void) close(gone);
	check_members(cluster);
	cluster_kill(cluster, 0);
	answer = ask();
	CHECK(strncmp(answer, "error failed etcd: ", 19) == 0);

	/* Freed with a question open: etcd hangs. */
	cluster_restart(cluster, 0);
	for (int i = 0; i < 200 && strncmp(answer, "error", 5) == 0; i++) {
		turn_for(ev, 50 * US_PER_MS);
		free(answer);
		answer = ask();
	}
	check_members(cluster);
	cluster_signal(cluster, 0, SIGSTOP);
	gone = dial();
	for (int i = 0; i < 5; i++)
		turn_once(ev);
	memberquery_free(query);
	cluster_signal(cluster, 0, SIGCONT);
	turn_for(ev, 1500 * US_PER_MS); /* the answer would come */
	control_free(control);
	etcd_free(etcd);
	(void) close(gone);
	memberquery_free(NULL);
	cluster_free(cluster);
	ev_loop_destroy(ev);
	return check_result();
}
