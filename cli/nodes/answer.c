/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh exits with 255 for its own errors, a shell with 127 where there is no program, sudo with 1
 * before anything ran. All else is fairlead's exit code. The sentences of ssh and sudo are those of
 * the locale C.
 */
#include "cli/nodes/answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/printable.h"

#define SSH_FAILED 255
#define NOT_FOUND 127
#define SENTENCE_MAX 300 /* bytes */
#define SHOWN_MAX 60

/* --- text of a node --- */

/* A copy that is valid UTF-8 with '?' for each character that a terminal would act on; at most
 * `max` bytes. */
static char *printable(const char *text, size_t len, size_t max)
{
	AUTO(free) char *copy = xstrndup(text, len);
	char *safe = xcalloc(MIN(len, max) + 1, 1);
	size_t n, used = 0;

	for (const char *p = copy; *p != '\0'; p += n) {
		uint32_t c = printable_utf8_next(p, &n);
		bool is_stray = n == 1 && ((unsigned char) *p & 0x80) != 0;
		bool is_hidden = is_stray || printable_is_hidden(c);
		size_t len_safe = is_hidden ? 1 : n;

		if (used + len_safe > max)
			break;
		memcpy(safe + used, is_hidden ? "?" : p, len_safe);
		used += len_safe;
	}
	return safe;
}

/* The line of standard error that says what is wrong: fairlead's first, else the last of all. */
static char *sentence(const struct answer_output *o)
{
	static const char ours[] = "fairlead: ";
	const char *last = NULL;
	size_t last_len = 0, len;

	for (const char *p = o->err, *end = p + o->err_len; p < end; p += len + 1) {
		const char *newline = memchr(p, '\n', (size_t) (end - p));
		size_t shown;

		len = newline != NULL ? (size_t) (newline - p) : (size_t) (end - p);
		shown = len > 0 && p[len - 1] == '\r' ? len - 1 : len; /* ssh ends its lines so */
		if (shown > strlen(ours) && strncmp(p, ours, strlen(ours)) == 0)
			return printable(p + strlen(ours), shown - strlen(ours), SENTENCE_MAX);
		if (shown > 0) {
			last = p;
			last_len = shown;
		}
	}
	return last != NULL ? printable(last, last_len, SENTENCE_MAX) : NULL;
}

static bool says(const struct answer_output *o, const char *what)
{
	return memmem(o->err, o->err_len, what, strlen(what)) != NULL;
}

/* --- its lines --- */

static json_t *parse_line(const char *line, size_t len, bool is_text)
{
	AUTO(free) char *safe = NULL;
	json_t *object;

	if (is_text) {
		safe = printable(line, len, len);
		return json_string(safe);
	}
	object = json_loadb(line, len, 0, NULL);
	if (json_is_object(object))
		return object;
	json_decref(object);
	return NULL;
}

static enum remote_outcome parse(json_t *objects, const struct answer_output *o, bool is_text,
                                 char **ret_wrong)
{
	size_t len, n = 0;

	for (const char *p = o->out, *end = p + o->out_len; p < end; p += len + 1) {
		const char *newline = memchr(p, '\n', (size_t) (end - p));
		json_t *object;

		len = newline != NULL ? (size_t) (newline - p) : (size_t) (end - p);
		if (n++ == REMOTE_LINES_MAX) {
			*ret_wrong = xasprintf("it prints more than %d lines", REMOTE_LINES_MAX);
			return REMOTE_TOO_MUCH;
		}
		object = parse_line(p, len, is_text);
		if (object == NULL) {
			AUTO(free) char *shown = printable(p, len, SHOWN_MAX);

			*ret_wrong = xasprintf("line %zu of what it prints is no JSON object: '%s'", n, shown);
			return REMOTE_GARBLED;
		}
		(void) json_array_append_new(objects, object);
	}
	return REMOTE_DONE;
}

/* --- all together --- */

static enum remote_outcome explain_ssh(const char *node, const struct answer_output *o,
                                       char **ret_error)
{
	if (says(o, "HOST IDENTIFICATION HAS CHANGED")) {
		*ret_error = xasprintf("its host key is not the one that ssh knows: another machine may "
		                       "answer; check it, and then ssh-keygen -R %s",
		                       node);
		return REMOTE_DENIED;
	}
	if (says(o, "Host key verification failed")) {
		*ret_error = xasprintf("ssh does not know its host key: log in once with ssh %s, and "
		                       "compare the key",
		                       node);
		return REMOTE_DENIED;
	}
	*ret_error = sentence(o);
	if (*ret_error == NULL)
		*ret_error = xstrdup("ssh ended without a message: the connection was lost");
	return says(o, "Permission denied") || says(o, "Too many authentication failures")
	           ? REMOTE_DENIED
	           : REMOTE_UNREACHABLE;
}

static bool is_refused_by_sudo(const struct answer_output *o)
{
	return o->exit_code == 1 && o->out_len == 0 &&
	       (says(o, "sudo: ") || says(o, "not allowed to execute") ||
	        says(o, "not in the sudoers file") || says(o, "may not run sudo"));
}

static char *explain_cut(enum remote_outcome cut, int64_t timeout_us)
{
	if (cut == REMOTE_TIMEOUT)
		return xasprintf("no whole answer within %.1f s", (double) timeout_us / (double) US_PER_S);
	if (cut == REMOTE_TOO_MUCH)
		return xasprintf("it prints more than %d MiB", REMOTE_OUTPUT_MAX / 1024 / 1024);
	return xstrdup("interrupted");
}

void answer_judge(struct remote_answer *a, enum transport_kind kind, bool is_text,
                  enum remote_outcome cut, int64_t timeout_us, const struct answer_output *o)
{
	bool is_ssh_error = kind == TRANSPORT_SSH && o->exit_code == SSH_FAILED;
	AUTO(free) char *wrong = NULL;
	enum remote_outcome parsed;

	a->exit_code = o->exit_code;
	a->objects = json_array();
	parsed = parse(a->objects, o, is_text, &wrong);
	if (cut != REMOTE_DONE) {
		a->outcome = cut;
		a->error = explain_cut(cut, timeout_us);
	} else if (is_ssh_error) {
		a->outcome = explain_ssh(a->node, o, &a->error);
	} else if (o->exit_code == NOT_FOUND) {
		a->outcome = REMOTE_NO_PROGRAM;
		a->error = xstrdup("fairlead is not installed there, or not in PATH");
	} else if (kind != TRANSPORT_HERE && is_refused_by_sudo(o)) {
		a->outcome = REMOTE_DENIED;
		a->error = xstrdup("sudo does not let this user run fairlead without a password: it needs "
		                   "a line in sudoers, see docs/nodes.md");
	} else {
		a->outcome = parsed;
		a->error = parsed == REMOTE_DONE && o->exit_code != 0 ? sentence(o) : TAKE_PTR(wrong);
	}
}
