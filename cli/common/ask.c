/* SPDX-License-Identifier: Apache-2.0 */
/* Between the commands and the client: from whatever went wrong to a sentence and an exit code. */
#include "cli/common/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/progress.h"
#include "cli/common/table.h"

int cli_explain_no_answer(int r, const char *daemon, const char *path, int64_t timeout_us)
{
	switch (-r) {
	case EACCES:
		(void) fprintf(
		    stderr,
		    "fairlead: %s is not for this user: be root, or join the group of the socket "
		    "(usermod -aG fairlead USER)\n",
		    path);
		return CLI_DENIED;
	case ENOENT:
	case ECONNREFUSED:
	case EPIPE:
		(void) fprintf(stderr,
		               "fairlead: %s does not answer on %s: is it running? systemctl status "
		               "fairlead-%s\n",
		               daemon, path, daemon);
		return CLI_UNREACHABLE;
	case ETIMEDOUT:
		(void) fprintf(
		    stderr,
		    "fairlead: %s has not answered on %s within %d s: does it hang? journalctl -u "
		    "fairlead-%s\n",
		    daemon, path, (int) (timeout_us / US_PER_S), daemon);
		return CLI_UNREACHABLE;
	case EBADMSG:
		(void) fprintf(
		    stderr,
		    "fairlead: the answer of %s on %s was cut off: has it just stopped? systemctl "
		    "status fairlead-%s\n",
		    daemon, path, daemon);
		return CLI_UNREACHABLE;
	case EINVAL:
		(void) fprintf(stderr, "fairlead: an argument holds a control character\n");
		return CLI_USAGE;
	default:
		(void) fprintf(stderr, "fairlead: cannot ask %s on %s: %s\n", daemon, path, strerror(-r));
		return CLI_UNREACHABLE;
	}
}

static int explain_error(const struct client_answer *answer)
{
	static const struct {
		const char *code;
		int exit_code;
	} codes[] = {
	    {"usage", CLI_USAGE},
	    {"denied", CLI_DENIED},
	};

	(void) fputs("fairlead: ", stderr);
	table_print_safe(stderr, answer->sentence);
	(void) fputc('\n', stderr);
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		if (strcmp(answer->error, codes[i].code) == 0)
			return codes[i].exit_code;
	}
	return CLI_FAILED;
}

/* A daemon that is older than this program does not know the last word, and has done nothing: that
 * the words are wrong is found out first. One that takes the name of a job took it for that. */
static bool is_progress_unknown(const struct client_answer *answer, const char *last_word)
{
	if (strcmp(last_word, "--progress") != 0 || answer->error == NULL ||
	    json_array_size(answer->objects) > 0)
		return false;
	return strcmp(answer->error, "usage") == 0 ||
	       (strcmp(answer->error, "notfound") == 0 &&
	        strstr(answer->sentence, "'--progress'") != NULL);
}

int cli_ask(const struct cli *cli, const char *daemon, const char *const *words, size_t n_words,
            int64_t timeout_us, struct client_answer **ret_answer)
{
	return cli_ask_each(cli, daemon, words, n_words, timeout_us, NULL, NULL, ret_answer);
}

int cli_ask_each(const struct cli *cli, const char *daemon, const char *const *words,
                 size_t n_words, int64_t timeout_us, client_object_fn each, void *userdata,
                 struct client_answer **ret_answer)
{
	AUTO(free) char *path = xasprintf("%s/%s.sock", cli->runtime_dir, daemon);
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	int r;

	r = client_ask_each(path, words, n_words, timeout_us, each, userdata, &answer);
	if (r == 0 && is_progress_unknown(answer, words[n_words - 1])) {
		client_answer_free(TAKE_PTR(answer));
		r = client_ask_each(path, words, n_words - 1, timeout_us, each, userdata, &answer);
	}
	progress_clear();
	if (r < 0)
		return cli_explain_no_answer(r, daemon, path, timeout_us);
	if (answer->error != NULL)
		return explain_error(answer);
	*ret_answer = TAKE_PTR(answer);
	return CLI_OK;
}
