/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh joins the words of a command with spaces and gives them to the login shell of the remote
 * user, so each is quoted, and a POSIX shell does the rest, as the login shell may be another.
 * Names of nodes may come from etcd and are never trusted.
 */
#include "cli/nodes/transport.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/words.h"

#define NAME_MAX_BYTES 255
#define VIA_WORDS_MAX 64
#define CONNECT_S_MAX 10
#define PLACE "{}"
/* ssh binds "DIR/%C.XXXXXXXXXXXXXXXX" first, where %C has 40 characters: sun_path has 108. */
#define CONTROL_DIR_MAX 48

/* $1 is fairlead. 127 is what a shell says of a program that is not there. */
static const char remote_script[] =
    "export LC_ALL=C; unset FAIRLEAD_NODES FAIRLEAD_VIA; "
    "command -v \"$1\" >/dev/null || exit 127; "
    "command -v sudo >/dev/null && [ \"$(id -u)\" -ne 0 ] && exec sudo -n -- \"$@\"; "
    "exec \"$@\"";

/* --- names --- */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool transport_name_is_good(const char *name, bool is_typed)
{
	size_t len = strlen(name);
	unsigned n_at = 0;

	if (len == 0 || len > NAME_MAX_BYTES)
		return false;
	for (size_t i = 0; i < len; i++) {
		bool begins = i == 0 || name[i - 1] == '@';

		if (name[i] == '@' && (!is_typed || begins || i == len - 1 || n_at++ > 0))
			return false;
		if (name[i] == '-' && begins)
			return false;
		if (!is_letter(name[i]) && strchr("._:%-@", name[i]) == NULL)
			return false;
	}
	return true;
}

bool transport_is_here(const char *name)
{
	char host[NAME_MAX_BYTES + 1] = "";

	if (strcmp(name, "localhost") == 0)
		return true;
	return gethostname(host, sizeof(host) - 1) == 0 && strcasecmp(name, host) == 0;
}

/* --- how a node is reached --- */

/* Only a folder that belongs to this user alone will do, as who can write there can take the
 * connection over; and only a name in which ssh expands nothing. */
static char *make_control_dir(void)
{
	const char *base = getenv("XDG_RUNTIME_DIR");
	AUTO(free) char *dir = NULL;
	struct stat st;

	if (base == NULL || base[0] != '/')
		base = geteuid() == 0 ? "/run" : "/tmp";
	dir = xasprintf("%s/fairlead-ssh-%u", base, (unsigned) geteuid());
	if (strlen(dir) > CONTROL_DIR_MAX || strpbrk(dir, "%$\"'\\ \t") != NULL)
		return NULL;
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return NULL;
	if (lstat(dir, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & 0077) != 0)
		return NULL;
	return TAKE_PTR(dir);
}

static int split_via(const char *via, struct texts *ret, char **ret_error)
{
	AUTO(free) char *line = xstrdup(via);
	char *argv[VIA_WORDS_MAX];
	int n = words_split(line, argv, VIA_WORDS_MAX);
	bool has_place = false;

	for (int i = 0; i < n; i++) {
		has_place = has_place || (i > 0 && strstr(argv[i], PLACE) != NULL);
		texts_add(ret, "%s", argv[i]);
	}
	if (n == -E2BIG)
		*ret_error = xasprintf("--via has more than %d words", VIA_WORDS_MAX);
	else if (n < 0)
		*ret_error = xasprintf("--via has an open or misplaced \" or a control character: '%s'; "
		                       "a word with spaces stands in double quotes",
		                       via);
	else if (!has_place)
		*ret_error = xasprintf("--via does not say where the node's name goes: '%s'; write {} in "
		                       "an argument, as in --via 'ip netns exec {}'",
		                       via);
	else
		return 0;
	return -EINVAL;
}

int transport_init(struct transport *transport, const char *via, char **ret_error)
{
	*transport = (struct transport){0};
	if (via == NULL || via[0] == '\0') {
		transport->control_dir = make_control_dir();
		return 0;
	}
	return split_via(via, &transport->via, ret_error);
}

void transport_fini(struct transport *transport)
{
	texts_fini(&transport->via);
	free(transport->control_dir);
	transport->control_dir = NULL;
}

enum transport_kind transport_kind(const struct transport *transport, const char *node)
{
	if (transport_is_here(node))
		return TRANSPORT_HERE;
	return transport->via.n > 0 ? TRANSPORT_VIA : TRANSPORT_SSH;
}

/* --- the command --- */

/* The operator's configuration, agent and known hosts apply, but for what would break a command
 * that runs unattended or lend the node something of this machine. */
static void add_ssh(const struct transport *transport, const char *node, const struct texts *words,
                    int64_t timeout_us, struct texts *ret)
{
	static const char *const options[] = {
	    "BatchMode=yes",           "ForwardAgent=no",       "ForwardX11=no",      "RequestTTY=no",
	    "ClearAllForwardings=yes", "PermitLocalCommand=no", "RemoteCommand=none", "LogLevel=ERROR",
	    "ServerAliveInterval=5",   "ServerAliveCountMax=2",
	};
	struct texts there = {0};
	AUTO(free) char *line = NULL;

	texts_add(ret, "ssh");
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		texts_add_option(ret, "-o", options[i]);
	texts_add(ret, "-oConnectTimeout=%d", (int) MIN(MAX(timeout_us / US_PER_S, 1), CONNECT_S_MAX));
	if (transport->control_dir != NULL) {
		texts_add(ret, "-oControlMaster=auto");
		texts_add(ret, "-oControlPersist=60");
		texts_add(ret, "-oControlPath=%s/%%C", transport->control_dir);
	}
	texts_add(ret, "--");
	texts_add(ret, "%s", node);
	texts_add(&there, "sh");
	texts_add(&there, "-c");
	texts_add(&there, "%s", remote_script);
	texts_add(&there, "sh");
	texts_add(&there, "fairlead");
	texts_add_all(&there, words);
	line = texts_command(&there);
	texts_add(ret, "%s", line);
	texts_fini(&there);
}

static void add_replaced(struct texts *ret, const char *word, const char *node)
{
	AUTO(free) char *done = xstrdup("");
	const char *place;

	while ((place = strstr(word, PLACE)) != NULL) {
		AUTO(free) char *before = done;

		done = xasprintf("%s%.*s%s", before, (int) (place - word), word, node);
		word = place + strlen(PLACE);
	}
	texts_add(ret, "%s%s", done, word);
}

void transport_command(const struct transport *transport, const char *node,
                       const struct texts *words, int64_t timeout_us, struct texts *ret)
{
	switch (transport_kind(transport, node)) {
	case TRANSPORT_HERE:
		texts_add(ret, "/proc/self/exe");
		texts_add_all(ret, words);
		break;
	case TRANSPORT_VIA:
		for (size_t i = 0; i < transport->via.n; i++)
			add_replaced(ret, transport->via.items[i], node);
		texts_add(ret, "fairlead");
		texts_add_all(ret, words);
		break;
	case TRANSPORT_SSH:
		add_ssh(transport, node, words, timeout_us, ret);
		break;
	}
}
