/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dhcpcd's hook renames a file into the runtime directory, which is watched. A client that another
 * process of ours left behind (the daemon was killed) is ended first: dhcpcd would not run twice on
 * a link.
 */
#include "netconf/dhcp/dhcpclient.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "netconf/dhcp/dhcpfile.h"

/* --- the link-local address --- */

/* The kernel makes the address as soon as it may and the link has its carrier. */

#define MODE_TEXT_MAX 16

/* proc_sys: a write is whole or fails. */
static int write_mode(const char *path, int mode)
{
	FILE *file = fopen(path, "we");
	int r;

	if (file == NULL)
		return -errno;
	r = fprintf(file, "%d\n", mode) < 0 || fflush(file) != 0 ? -errno : 0;
	(void) fclose(file);
	return r;
}

static void allow(const char *link, int *mode)
{
	AUTO(free) char *path = xasprintf("/proc/sys/net/ipv6/conf/%s/addr_gen_mode", link);
	AUTO(free) char *text = NULL;
	size_t len;
	int r;

	if (file_read(path, MODE_TEXT_MAX, &text, &len) < 0)
		return;
	if (atoi(text) != IN6_ADDR_GEN_MODE_NONE) {
		*mode = atoi(text);
		return;
	}
	r = write_mode(path, *mode);
	if (r < 0)
		(void) log_error_errno(r, "linklocal_not_allowed", "ifname=%s path=%s", link, path);
}

static bool is_linklocal(const struct ifaddrs *at)
{
	struct sockaddr_in6 in6;

	if (at->ifa_addr == NULL || at->ifa_addr->sa_family != AF_INET6)
		return false;
	memcpy(&in6, at->ifa_addr, sizeof(in6));
	return IN6_IS_ADDR_LINKLOCAL(&in6.sin6_addr);
}

static bool linklocal_make(const char *link, int *mode)
{
	struct ifaddrs *all = NULL;
	bool is_there = false;

	allow(link, mode);
	if (getifaddrs(&all) < 0)
		return false;
	for (const struct ifaddrs *at = all; at != NULL && !is_there; at = at->ifa_next)
		is_there = strcmp(at->ifa_name, link) == 0 && (at->ifa_flags & IFF_RUNNING) != 0 &&
		           is_linklocal(at);
	freeifaddrs(all);
	return is_there;
}

#define LEFT_PAUSE_S 0.1
#define READY_PAUSE_S 0.25
#define BACKOFF_FIRST_US US_PER_S
#define BACKOFF_MAX_US (60 * US_PER_S)
/* Who has run so long was no failure. */
#define GOOD_RUN_US (60 * US_PER_S)

struct dhcpclient {
	struct loop *loop;
	dhcpclient_changed_fn changed;
	void *userdata;
	char *program, *runtime_dir, *conf_path, *conf, *lease_path, *down_path;
	char link[IFNAMSIZ];
	sa_family_t family;
	struct lease lease;
	bool has_lease;
	int addr_gen_mode; /* linklocal.h */
	pid_t pid;         /* 0: it does not run */
	int64_t started_us, backoff_us;
	ev_child end;
	ev_timer start, expiry;
	ev_io watch; /* of the directory */
};

static int family_number(const struct dhcpclient *c)
{
	return c->family == AF_INET ? 4 : 6;
}

/* --- the lease --- */

/* Timers of libev count from the loop's last turn, so it may come a little early. */
static void expect_end(struct dhcpclient *c)
{
	struct ev_loop *ev = loop_ev(c->loop);

	ev_timer_stop(ev, &c->expiry);
	if (!c->has_lease || c->lease.ends_us == MONO_NEVER)
		return;
	ev_timer_set(&c->expiry, mono_to_ev(c->lease.ends_us - mono_now_us()), 0.);
	ev_timer_start(ev, &c->expiry);
}

/* Takes the lease; NULL: there is none. True if that is something else. */
static bool set_lease(struct dhcpclient *c, struct lease *lease)
{
	bool same = c->has_lease == (lease != NULL) && (lease == NULL || lease_equal(&c->lease, lease));

	lease_fini(&c->lease);
	c->has_lease = lease != NULL;
	if (lease != NULL)
		c->lease = *lease;
	expect_end(c);
	return !same;
}

/* What the hook has written. True if the lease is another. */
static bool read_lease(struct dhcpclient *c)
{
	struct lease lease;
	int r = dhcpfile_read_lease(c->lease_path, c->family, mono_now_us(), &lease);

	if (r < 0)
		(void) log_warning_errno(r, "dhcp_lease_unreadable", "ifname=%s family=%d", c->link,
		                         family_number(c));
	return set_lease(c, r > 0 ? &lease : NULL);
}

static void tell(struct dhcpclient *c, const char *why)
{
	char address[PREFIX_TEXT_MAX] = "";

	if (c->has_lease)
		(void) prefix_format(&c->lease.addresses[0], address);
	log_notice("dhcp_lease", "ifname=%s family=%d address=%s reason=\"%s\"", c->link,
	           family_number(c), address, why);
	c->changed(c->userdata);
}

static void expiry_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct dhcpclient *c = CONTAINER_OF(w, struct dhcpclient, expiry);

	if (mono_now_us() < c->lease.ends_us)
		expect_end(c);
	else if (set_lease(c, NULL))
		tell(c, "it has run out");
}

static void end_if_down(struct dhcpclient *c)
{
	if (unlink(c->down_path) < 0 || c->pid == 0)
		return;
	log_info("dhcp_carrier_lost", "ifname=%s family=%d reason=\"the client begins anew\"", c->link,
	         family_number(c));
	c->backoff_us = BACKOFF_FIRST_US;
	if (!ev_is_pending(&c->end))
		(void) kill(-c->pid, SIGKILL);
}

/* What has happened in the directory does not matter: the file says how it is. */
static void watch_cb(struct ev_loop *ev UNUSED, ev_io *w, int revents)
{
	struct dhcpclient *c = CONTAINER_OF(w, struct dhcpclient, watch);
	int64_t ends_us = c->lease.ends_us;
	char events[4096];

	loop_expect_watched(revents);
	while (read(w->fd, events, sizeof(events)) > 0)
		;
	end_if_down(c);
	if (read_lease(c))
		tell(c, c->has_lease ? "the server has given it" : "the client has lost it");
	else if (c->lease.ends_us != ends_us)
		c->changed(c->userdata);
}

static int watch_directory(struct dhcpclient *c, const char *dir)
{
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	if (fd < 0)
		return -errno;
	ev_io_init(&c->watch, watch_cb, fd, EV_READ);
	if (inotify_add_watch(fd, dir, IN_MOVED_TO | IN_ONLYDIR) < 0)
		return -errno;
	ev_io_start(loop_ev(c->loop), &c->watch);
	return 0;
}

/* --- the process --- */

static int spawn(struct dhcpclient *c)
{
	const char *args[] = {c->program, "-B", c->family == AF_INET ? "-4" : "-6", "-f", c->conf_path,
	                      c->link,    NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int error;

	(void) sigemptyset(&none);
	(void) sigfillset(&all);
	(void) posix_spawn_file_actions_init(&actions);
	(void) posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	(void) posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	(void) posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
	(void) posix_spawnattr_init(&attributes);
	(void) posix_spawnattr_setsigmask(&attributes, &none);
	(void) posix_spawnattr_setsigdefault(&attributes, &all);
	(void) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
	                                                 POSIX_SPAWN_SETPGROUP);
	error = posix_spawnp(&c->pid, c->program, &actions, &attributes,
	                     (char *const *) (uintptr_t) args, environ);
	(void) posix_spawnattr_destroy(&attributes);
	(void) posix_spawn_file_actions_destroy(&actions);
	if (error != 0)
		c->pid = 0;
	return -error;
}

static void start_later(struct dhcpclient *c)
{
	ev_timer_set(&c->start, mono_to_ev(c->backoff_us), 0.);
	ev_timer_start(loop_ev(c->loop), &c->start);
	c->backoff_us = MIN(c->backoff_us * 2, BACKOFF_MAX_US);
}

static void start_cb(struct ev_loop *ev, ev_timer *w, int revents UNUSED)
{
	struct dhcpclient *c = CONTAINER_OF(w, struct dhcpclient, start);
	int r;

	/* As long as one is there, another would hand its words over to it, and end. */
	if (dhcpfile_end_left(c->runtime_dir, c->link, c->family)) {
		ev_timer_set(w, LEFT_PAUSE_S, 0.);
		ev_timer_start(ev, w);
		return;
	}
	if (c->family == AF_INET6 && !linklocal_make(c->link, &c->addr_gen_mode)) {
		ev_timer_set(w, READY_PAUSE_S, 0.);
		ev_timer_start(ev, w);
		return;
	}
	(void) unlink(c->down_path);
	r = spawn(c);
	if (r < 0) {
		(void) log_error_errno(r, "dhcp_client_not_started", "ifname=%s family=%d program=%s",
		                       c->link, family_number(c), c->program);
		start_later(c);
		return;
	}
	c->started_us = mono_now_us();
	(void) dhcpfile_write_pid(c->runtime_dir, c->link, c->family, c->pid);
	log_info("dhcp_client_started", "ifname=%s family=%d pid=%d", c->link, family_number(c),
	         (int) c->pid);
	ev_child_set(&c->end, c->pid, 0);
	ev_child_start(ev, &c->end);
}

static void free_now(struct dhcpclient *c)
{
	free(c->program);
	free(c->runtime_dir);
	free(c->conf_path);
	free(c->conf);
	free(c->lease_path);
	free(c->down_path);
	free(c);
}

static void remove_pid_file(const struct dhcpclient *c)
{
	AUTO(free) char *path = dhcpfile_path(c->runtime_dir, c->link, c->family, "pid");

	(void) unlink(path);
}

static void end_cb(struct ev_loop *ev, ev_child *w, int revents UNUSED)
{
	struct dhcpclient *c = CONTAINER_OF(w, struct dhcpclient, end);
	int status = w->rstatus;

	ev_child_stop(ev, w);
	/* Its helpers outlive it when it was killed, and keep the ports that the next one needs. They
	 * have the number of its group, so that nobody else can have that yet. */
	(void) kill(-c->pid, SIGKILL);
	c->pid = 0;
	if (c->family == AF_INET6)
		(void) linklocal_make(c->link, &c->addr_gen_mode);
	/* There may be another client by now, whose files they are. */
	if (c->changed == NULL) {
		free_now(c);
		return;
	}
	remove_pid_file(c);
	if (mono_now_us() - c->started_us >= GOOD_RUN_US)
		c->backoff_us = BACKOFF_FIRST_US;
	log_warning("dhcp_client_ended",
	            "ifname=%s family=%d %s=%d reason=\"starting it again in %lld "
	            "s\"",
	            c->link, family_number(c), WIFSIGNALED(status) ? "signal" : "status",
	            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
	            (long long) (c->backoff_us / US_PER_S));
	start_later(c);
}

/* --- the whole --- */

static char *make_conf(const struct dhcpclient_settings *settings, const char *link,
                       const struct mac *mac, const struct config_dhcp *dhcp)
{
	AUTO(free)
	char *lease = dhcpfile_lease_path(settings->runtime_dir, link, dhcp);

	AUTO(free)
	char *down = dhcpfile_path(settings->runtime_dir, link, dhcp->family, "down");

	return dhcpconf_text(&(struct dhcpconf){
	    .dhcp = dhcp, .mac = *mac, .hook = settings->hook, .lease = lease, .down = down});
}

int dhcpclient_new(struct loop *loop, const struct dhcpclient_settings *settings, const char *link,
                   const struct mac *mac, const struct config_dhcp *dhcp,
                   dhcpclient_changed_fn changed, void *userdata, struct dhcpclient **ret_client)
{
	struct dhcpclient *c = NEW0(struct dhcpclient);
	int r;

	c->loop = loop;
	c->program = xstrdup(settings->program);
	c->runtime_dir = xstrdup(settings->runtime_dir);
	c->conf_path = dhcpfile_path(settings->runtime_dir, link, dhcp->family, "conf");
	c->lease_path = dhcpfile_lease_path(settings->runtime_dir, link, dhcp);
	c->down_path = dhcpfile_path(settings->runtime_dir, link, dhcp->family, "down");
	c->conf = make_conf(settings, link, mac, dhcp);
	(void) snprintf(c->link, sizeof(c->link), "%s", link);
	c->family = dhcp->family;
	c->backoff_us = BACKOFF_FIRST_US;
	c->watch.fd = -1;
	ev_timer_init(&c->start, start_cb, 0., 0.);
	ev_timer_init(&c->expiry, expiry_cb, 0., 0.);
	ev_child_init(&c->end, end_cb, 0, 0);
	r = watch_directory(c, settings->runtime_dir);
	if (r == 0)
		r = file_write_atomic(c->conf_path, c->conf, strlen(c->conf), 0600, FILE_VOLATILE);
	if (r < 0) {
		dhcpclient_free(c);
		return r;
	}
	(void) read_lease(c);
	ev_timer_start(loop_ev(loop), &c->start);
	c->changed = changed;
	c->userdata = userdata;
	*ret_client = c;
	return 0;
}

bool dhcpclient_is_for(const struct dhcpclient *c, const struct dhcpclient_settings *settings,
                       const struct mac *mac, const struct config_dhcp *dhcp)
{
	AUTO(free) char *conf = make_conf(settings, c->link, mac, dhcp);

	return strcmp(conf, c->conf) == 0;
}

bool dhcpclient_is_running(const struct dhcpclient *c)
{
	return c->pid != 0;
}

const struct lease *dhcpclient_lease(const struct dhcpclient *c)
{
	return c->has_lease ? &c->lease : NULL;
}

void dhcpclient_free(struct dhcpclient *c)
{
	struct ev_loop *ev;

	if (c == NULL)
		return;
	ev = loop_ev(c->loop);
	ev_timer_stop(ev, &c->start);
	ev_timer_stop(ev, &c->expiry);
	if (c->watch.fd >= 0) {
		ev_io_stop(ev, &c->watch);
		(void) close(c->watch.fd);
	}
	lease_fini(&c->lease);
	c->changed = NULL;
	if (c->pid == 0) {
		free_now(c);
		return;
	}
	/* Once reaped, the number may be another's. end_cb() does the rest. Not SIGTERM: while it
	 * starts, dhcpcd may take that and never end. Nothing is lost, since it has nothing to undo. */
	if (!ev_is_pending(&c->end))
		(void) kill(-c->pid, SIGKILL);
	remove_pid_file(c);
}

void dhcpclient_forget(struct dhcpclient *c)
{
	dhcpfile_remove(c->runtime_dir, c->link, c->family);
	dhcpclient_free(c);
}

void dhcpclient_forget_others(const struct dhcpclient *c)
{
	dhcpfile_remove_other_leases(c->runtime_dir, c->link, c->family, c->lease_path);
}
