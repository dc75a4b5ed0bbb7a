/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wanted of a host and what it has, to steps: first the whole state that it should have,
 * then the difference. Pure. The way back is the same difference towards the state before.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "netconf/host/hoststate_priv.h"
#include "netconf/host/hosttext.h"

#define LIBC_RESOLVERS_MAX 3 /* resolv.conf(5): MAXNS */

struct planning {
	const struct hoststate *have;
	const struct host *want;
	struct hoststate *target;
	struct conf_strings *problems, *notes;
};

static void say(struct conf_strings *list, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void say(struct conf_strings *list, const char *fmt, ...)
{
	AUTO(free) char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	host_add_text(list, text);
}

/* --- files --- */

static bool is_plain(const struct hostfile *file)
{
	return file->kind == HOSTFILE_REGULAR || file->kind == HOSTFILE_ABSENT;
}

static const char *text_of(const struct hostfile *file)
{
	return file->kind == HOSTFILE_REGULAR ? file->data : "";
}

/* Takes the text; who may read the file stays. */
static void set_text(struct hostfile *file, char *text)
{
	struct hostfile old = *file;

	*file = hostfile_of_text(text);
	if (old.kind == HOSTFILE_REGULAR) {
		file->mode = old.mode;
		file->uid = old.uid;
		file->gid = old.gid;
	}
	hostfile_fini(&old);
}

/* True if it is a text, or nothing. */
static bool check_plain(struct planning *p, enum host_path at)
{
	const struct hostfile *file = &p->have->files[at];
	const char *path = p->have->paths[at];

	if (file->kind == HOSTFILE_LINK)
		say(p->problems, "%s is a symbolic link to '%s': another program manages it", path,
		    file->data);
	else if (!is_plain(file))
		say(p->problems, "%s is no regular file", path);
	else if (strlen(text_of(file)) != file->len)
		say(p->problems, "%s is no text: there is a NUL in it", path);
	else
		return true;
	return false;
}

/* Takes the block. */
static void want_block(struct planning *p, enum host_path at, char *block)
{
	AUTO(free) char *ours = block;
	AUTO(free) char *foreign = NULL;
	AUTO(free) char *text = NULL;
	const struct hostfile *file = &p->have->files[at];
	unsigned line;

	/* What is none of ours may be whatever it likes, as long as nothing is wanted of it. */
	if (ours[0] == '\0' && (file->kind != HOSTFILE_REGULAR || strlen(text_of(file)) != file->len))
		return;
	if (!check_plain(p, at))
		return;
	if (hosttext_foreign(text_of(file), &foreign, &line) < 0) {
		say(p->problems,
		    "%s:%u: fairlead's part has lost its beginning or its end: remove what is left of it",
		    p->have->paths[at], line);
		return;
	}
	text = hosttext_join(ours, foreign);
	if (strcmp(text, text_of(file)) == 0)
		return;
	if (text[0] == '\0')
		hostfile_fini(&p->target->files[at]);
	else
		set_text(&p->target->files[at], TAKE_PTR(text));
}

/* Takes the text; NULL: there shall be none of ours. */
static void want_drop_in(struct planning *p, enum host_path dir, enum host_path at, char *text)
{
	AUTO(free) char *wanted = text;
	const struct hostfile *file = &p->have->files[at], *parent = &p->have->files[dir];
	bool ours = file->kind == HOSTFILE_REGULAR && hosttext_is_ours(file->data);

	if (wanted == NULL) {
		if (ours)
			hostfile_fini(&p->target->files[at]);
		return;
	}
	if (parent->kind == HOSTFILE_ABSENT)
		p->target->files[dir] = (struct hostfile){.kind = HOSTFILE_DIRECTORY, .mode = 0755};
	else if (parent->kind != HOSTFILE_DIRECTORY)
		say(p->problems, "%s is no directory", p->have->paths[dir]);
	if (file->kind != HOSTFILE_ABSENT && !ours)
		say(p->problems, "%s is not fairlead's: another program wrote it", p->have->paths[at]);
	else if (!ours || strcmp(wanted, file->data) != 0)
		set_text(&p->target->files[at], TAKE_PTR(wanted));
}

/* --- the name --- */

static void want_name(struct planning *p)
{
	const struct hostfile *file = &p->have->files[HOST_PATH_NAME];
	const char *text = text_of(file), *name = p->want->name;

	if ((p->want->has & HOST_NAME) == 0 || !check_plain(p, HOST_PATH_NAME))
		return;
	(void) snprintf(p->target->name, sizeof(p->target->name), "%s", name);
	if (strncmp(text, name, strlen(name)) != 0 ||
	    strspn(text + strlen(name), " \t\n") != strlen(text + strlen(name)))
		set_text(&p->target->files[HOST_PATH_NAME], xasprintf("%s\n", name));
}

/* --- resolvers --- */

/* Without the dots of a relative link. */
static const char *link_target(const struct hostfile *link)
{
	const char *target = link->data;

	while (strncmp(target, "../", 3) == 0)
		target += 3;
	return target[0] == '/' ? target + 1 : target;
}

static bool is_below(const char *path, const char *dir)
{
	return strncmp(path, dir, strlen(dir)) == 0;
}

static const char *link_owner(const char *target)
{
	if (is_below(target, "run/NetworkManager/") || is_below(target, "var/run/NetworkManager/"))
		return "NetworkManager";
	if (is_below(target, "run/resolvconf/") || is_below(target, "etc/resolvconf/"))
		return "resolvconf";
	return "another program";
}

static bool is_resolved_link(const struct hostfile *file)
{
	return file->kind == HOSTFILE_LINK &&
	       (is_below(link_target(file), "run/systemd/resolve/") ||
	        strcmp(link_target(file), "usr/lib/systemd/resolv.conf") == 0 ||
	        strcmp(link_target(file), "lib/systemd/resolv.conf") == 0);
}

/* True if resolv.conf itself is to be written. */
static bool is_file_free(struct planning *p)
{
	const struct hostfile *file = &p->have->files[HOST_PATH_RESOLV];
	const char *path = p->have->paths[HOST_PATH_RESOLV];
	AUTO(free) char *generator = NULL;

	if (file->kind == HOSTFILE_LINK) {
		say(p->problems, "%s is a symbolic link to '%s': %s writes it", path, file->data,
		    link_owner(link_target(file)));
		return false;
	}
	generator = hosttext_generator(text_of(file));
	if (generator == NULL)
		return true;
	say(p->problems,
	    "%s says '%s': that program writes it; remove the line if it does so no longer", path,
	    generator);
	return false;
}

static void want_resolvers(struct planning *p)
{
	AUTO(free) char *block = hosttext_resolv_block(p->want);
	const char *path = p->have->paths[HOST_PATH_RESOLV];
	bool resolved = is_resolved_link(&p->have->files[HOST_PATH_RESOLV]);

	want_drop_in(p, HOST_PATH_RESOLVED_DIR, HOST_PATH_RESOLVED,
	             resolved ? hosttext_resolved(p->want) : NULL);
	if (block[0] != '\0' && resolved) {
		if (!p->have->units[HOST_SERVICE_RESOLVED].known)
			say(p->problems, "%s leads to systemd-resolved, which is not installed", path);
		return;
	}
	if (block[0] != '\0' && !is_file_free(p))
		return;
	if (block[0] != '\0' && p->want->n_resolvers > LIBC_RESOLVERS_MAX)
		say(p->notes, "%s has %zu name servers, of which the C library asks only the first %d",
		    path, p->want->n_resolvers, LIBC_RESOLVERS_MAX);
	want_block(p, HOST_PATH_RESOLV, TAKE_PTR(block));
}

/* --- time --- */

/* Of those that netconf knows the first is taken. */
static const enum host_service time_services[] = {
    HOST_SERVICE_CHRONY,
    HOST_SERVICE_CHRONYD,
    HOST_SERVICE_TIMESYNCD,
};

static const enum host_service other_time_services[] = {
    HOST_SERVICE_NTPSEC,
    HOST_SERVICE_NTP,
    HOST_SERVICE_OPENNTPD,
};

/* The one that runs, else the one that will, else one that could; HOST_SERVICES: there is none. */
static enum host_service choose_time_service(const struct hoststate *have)
{
	enum host_service best = HOST_SERVICES;
	int best_rank = 0;

	for (size_t i = 0; i < ARRAY_SIZE(time_services); i++) {
		const struct host_unit *unit = &have->units[time_services[i]];
		int rank = !unit->known ? 0 : unit->active ? 3 : unit->enabled ? 2 : 1;

		if (rank > best_rank) {
			best = time_services[i];
			best_rank = rank;
		}
	}
	return best;
}

static void check_time(struct planning *p, enum host_service service)
{
	const char *server = p->want->time_servers.n > 0 ? p->want->time_servers.items[0] : "";

	for (size_t i = 0; i < ARRAY_SIZE(other_time_services); i++) {
		if (p->have->units[other_time_services[i]].active)
			say(p->problems,
			    "%s keeps the time, and only systemd-timesyncd and chrony are written for",
			    host_service_unit(other_time_services[i]));
	}
	if (service == HOST_SERVICES) {
		say(p->problems, "neither systemd-timesyncd nor chrony is installed to keep the time");
	} else if (service == HOST_SERVICE_TIMESYNCD) {
		if (server[0] == '/')
			say(p->problems, "systemd-timesyncd cannot take the time from '%s': install chrony",
			    server);
	} else if (server[0] != '\0' && p->have->paths[HOST_PATH_CHRONY] == NULL) {
		say(p->problems, "%s has no 'confdir' from which chrony would read its time servers",
		    p->have->chrony_conf != NULL ? p->have->chrony_conf : "chrony's configuration");
	}
}

static void want_time(struct planning *p)
{
	bool asked = (p->want->has & HOST_TIME) != 0, on = asked && p->want->time_enabled;
	enum host_service service = on ? choose_time_service(p->have) : HOST_SERVICES;
	bool timesyncd = service == HOST_SERVICE_TIMESYNCD;

	if (on)
		check_time(p, service);
	want_drop_in(p, HOST_PATH_TIMESYNCD_DIR, HOST_PATH_TIMESYNCD,
	             timesyncd ? hosttext_timesyncd(p->want) : NULL);
	if (p->have->paths[HOST_PATH_CHRONY] != NULL)
		want_drop_in(p, HOST_PATH_CHRONY_DIR, HOST_PATH_CHRONY,
		             service != HOST_SERVICES && !timesyncd ? hosttext_chrony(p->want) : NULL);
	for (size_t i = 0; i < ARRAY_SIZE(time_services) && asked; i++) {
		struct host_unit *unit = &p->target->units[time_services[i]];

		if (unit->known && (!on || time_services[i] == service)) {
			unit->enabled = on;
			unit->active = on;
		}
	}
}

/* --- the whole --- */

struct hoststate *hoststate_want(const struct hoststate *have, const struct host *want,
                                 unsigned parts, struct conf_strings *problems,
                                 struct conf_strings *notes)
{
	struct planning p = {
	    .have = have,
	    .want = want,
	    .target = hoststate_copy(have),
	    .problems = problems,
	    .notes = notes,
	};

	if ((parts & HOST_NAME) != 0)
		want_name(&p);
	/* A name's domain is one to search. */
	if ((parts & (HOST_NAME | HOST_RESOLVERS | HOST_SEARCH)) != 0)
		want_resolvers(&p);
	if ((parts & HOST_ENTRIES) != 0)
		want_block(&p, HOST_PATH_HOSTS, hosttext_hosts_block(want));
	if ((parts & HOST_TIME) != 0)
		want_time(&p);
	return p.target;
}

/* --- the way back --- */

static void replace(struct hostfile *file, const struct hostfile *by)
{
	hostfile_fini(file);
	hostfile_copy(by, file);
}

/* What others have written since stays, with the block as it was before. */
static void put_block_back(struct hostfile *file, const struct hostfile *before)
{
	AUTO(free) char *foreign = NULL;
	AUTO(free) char *foreign_before = NULL;
	AUTO(free) char *block = NULL;
	unsigned line;

	if (!is_plain(file))
		return;
	if (strlen(text_of(file)) != file->len ||
	    hosttext_foreign(text_of(file), &foreign, &line) < 0 ||
	    hosttext_foreign(text_of(before), &foreign_before, &line) < 0 ||
	    strcmp(foreign, foreign_before) == 0) {
		replace(file, before);
		return;
	}
	block = hosttext_block(text_of(before));
	set_text(file, hosttext_join(block, foreign));
}

struct hoststate *hoststate_back(const struct hoststate *have, const struct hoststate *before,
                                 const struct hoststate *after)
{
	struct hoststate *target = hoststate_copy(have);

	for (size_t i = 0; i < HOST_PATHS; i++) {
		const char *path = have->paths[i], *path_before = before->paths[i];

		if (path == NULL || path_before == NULL || strcmp(path, path_before) != 0 ||
		    hostfile_equal(&before->files[i], &after->files[i]))
			continue;
		if (i == HOST_PATH_HOSTS || i == HOST_PATH_RESOLV)
			put_block_back(&target->files[i], &before->files[i]);
		else
			replace(&target->files[i], &before->files[i]);
	}
	if (strcmp(before->name, after->name) != 0)
		(void) snprintf(target->name, sizeof(target->name), "%s", before->name);
	for (size_t i = 0; i < HOST_SERVICES; i++) {
		const struct host_unit *old = &before->units[i], *new = &after->units[i];

		if (old->enabled != new->enabled)
			target->units[i].enabled = old->enabled;
		if (old->active != new->active)
			target->units[i].active = old->active;
	}
	return target;
}
