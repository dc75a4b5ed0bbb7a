/* SPDX-License-Identifier: Apache-2.0 */
/* Names that the operator wrote are refused by what is wrong with them; a name that a daemon tells
 * is as untrusted as etcd, where it comes from. */
#include "cli/nodes/nodelist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fileio.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/fields.h"
#include "cli/common/table.h"
#include "cli/nodes/transport.h"

#define FILE_MAX 65536
#define NODES_MAX 1000
#define TIMEOUT_US (5 * US_PER_S)
#define BLANKS " \t\r"

static const char name_rule[] =
    "not the name of a node: letters, digits and ._:%- make one, with USER@ before it or not";

static bool has(const struct texts *texts, const char *text)
{
	for (size_t i = 0; i < texts->n; i++) {
		if (strcmp(texts->items[i], text) == 0)
			return true;
	}
	return false;
}

static void add_once(struct texts *texts, const char *text)
{
	if (!has(texts, text))
		texts_add(texts, "%s", text);
}

/* --- the file of groups --- */

static const struct nodelist_group *find_group(const struct nodelist_groups *groups,
                                               const char *name)
{
	for (size_t i = 0; i < groups->n; i++) {
		if (strcmp(groups->groups[i].name, name) == 0)
			return &groups->groups[i];
	}
	return NULL;
}

void nodelist_groups_fini(struct nodelist_groups *groups)
{
	for (size_t i = 0; i < groups->n; i++) {
		free(groups->groups[i].name);
		texts_fini(&groups->groups[i].nodes);
	}
	free(groups->groups);
	*groups = (struct nodelist_groups){0};
}

struct place {
	const char *file;
	size_t line;
	struct texts *errors;
};

static void complain(const struct place *at, const char *what, const char *word)
{
	texts_add(at->errors, "%s:%zu: %s: '%s'", at->file, at->line, what, word);
}

/* `line` is without a comment, and is taken apart. */
static void parse_line(char *line, const struct place *at, struct nodelist_groups *groups)
{
	char *colon = strpbrk(line, ":" BLANKS);
	struct nodelist_group *group;
	size_t n_words = 0;
	char *rest, *word;

	if (colon != NULL)
		colon += strspn(colon, BLANKS);
	if (colon == NULL || *colon != ':') {
		complain(at, "a line is GROUP: NAME NAME ..., and this has no ':' behind its first word",
		         line);
		return;
	}
	*colon = '\0';
	rest = colon + 1;
	line[strcspn(line, BLANKS)] = '\0';
	if (!transport_name_is_good(line, false)) {
		complain(at, "not the name of a group: letters, digits and ._- make one", line);
		return;
	}
	if (find_group(groups, line) != NULL) {
		complain(at, "this group is there already: write its nodes in one line", line);
		return;
	}
	groups->groups = xreallocarray(groups->groups, groups->n + 1, sizeof(*groups->groups));
	group = &groups->groups[groups->n++];
	*group = (struct nodelist_group){.name = xstrdup(line)};
	while ((word = strsep(&rest, BLANKS)) != NULL) {
		if (word[0] == '\0')
			continue;
		n_words++;
		if (transport_name_is_good(word, true))
			add_once(&group->nodes, word);
		else
			complain(at, name_rule, word);
	}
	if (n_words == 0)
		complain(at, "a group without a node", group->name);
}

void nodelist_parse_groups(const char *text, const char *file, struct nodelist_groups *ret,
                           struct texts *errors)
{
	AUTO(free) char *copy = xstrdup(text);
	struct place at = {.file = file, .line = 0, .errors = errors};
	char *rest = copy, *line;

	while ((line = strsep(&rest, "\n")) != NULL) {
		at.line++;
		line[strcspn(line, "#")] = '\0';
		line += strspn(line, BLANKS);
		if (line[0] != '\0')
			parse_line(line, &at, ret);
	}
}

char *nodelist_file(void)
{
	const char *config = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");

	if (config != NULL && config[0] == '/')
		return xasprintf("%s/fairlead/nodes", config);
	return home != NULL && home[0] == '/' ? xasprintf("%s/.config/fairlead/nodes", home) : NULL;
}

static void say(const char *text)
{
	(void) fputs("fairlead: ", stderr);
	table_print_safe(stderr, text);
	(void) fputc('\n', stderr);
}

static int read_groups(struct nodelist_groups *ret)
{
	AUTO(free) char *file = nodelist_file();
	AUTO(free) char *text = NULL;
	struct texts errors = {0};
	size_t len;
	int r, code;

	if (file == NULL)
		return CLI_OK;
	r = file_read(file, FILE_MAX, &text, &len);
	if (r == -ENOENT || r == -ENOTDIR)
		return CLI_OK;
	if (r == 0 && strlen(text) != len)
		r = -EILSEQ;
	if (r < 0) {
		(void) fprintf(stderr, "fairlead: cannot read the groups of nodes in %s: %s\n", file,
		               strerror(-r));
		return CLI_FAILED;
	}
	nodelist_parse_groups(text, file, ret, &errors);
	for (size_t i = 0; i < errors.n; i++)
		say(errors.items[i]);
	code = errors.n > 0 ? CLI_USAGE : CLI_OK;
	texts_fini(&errors);
	return code;
}

/* --- "all" --- */

/* Each array in `list` of the objects has objects with the node's name in `key`. */
static void add_names(const json_t *objects, const char *list, const char *key, struct texts *ret)
{
	const json_t *object, *item;
	size_t i, k;

	json_array_foreach(objects, i, object)
	{
		json_array_foreach(json_object_get(object, list), k, item)
		{
			const char *name = field_text(item, key);

			/* A member that has not been started yet has no name. */
			if (name != NULL && name[0] != '\0')
				add_once(ret, name);
		}
	}
}

/* 0, or -errno: `daemon` does not answer. */
static int ask_names(const struct cli *cli, const char *daemon, const char *const words[2],
                     const char *list, const char *key, struct texts *ret)
{
	AUTO(free) char *path = xasprintf("%s/%s.sock", cli->runtime_dir, daemon);
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	int r = client_ask(path, words, 2, TIMEOUT_US, &answer);

	if (r < 0)
		return r;
	if (answer->error != NULL)
		return -EIO;
	add_names(answer->objects, list, key, ret);
	return 0;
}

static int add_all(const struct cli *cli, struct texts *ret)
{
	static const char *const members[] = {"etcd", "members"};
	static const char *const race[] = {"vip", "status"};
	struct texts found = {0};
	int etcd = ask_names(cli, "etcdwatch", members, "members", "hostname", &found);
	size_t n_members = found.n;
	int vip = ask_names(cli, "vipd", race, "candidates", "node", &found);
	int code = CLI_OK;

	for (size_t i = 0; i < found.n && code == CLI_OK; i++) {
		if (!transport_name_is_good(found.items[i], false)) {
			AUTO(free)
			char *text = xasprintf("'%s', as etcd names one of its members, is no name of a node: "
			                       "name the nodes, or write a group 'all' (fairlead(1))",
			                       found.items[i]);

			say(text);
			code = CLI_FAILED;
		} else {
			add_once(ret, found.items[i]);
		}
	}
	if (code == CLI_OK && found.n == 0) {
		(void) fprintf(stderr,
		               "fairlead: neither etcdwatch nor vipd of this node knows the nodes (%s): "
		               "name them, or write a group 'all' into ~/.config/fairlead/nodes\n",
		               strerror(etcd < 0  ? -etcd
		                        : vip < 0 ? -vip
		                                  : ENOENT));
		code = CLI_UNREACHABLE;
	} else if (code == CLI_OK && n_members == 0) {
		(void) fprintf(stderr,
		               "fairlead: etcdwatch of this node does not know the members of etcd: "
		               "'all' are the nodes of vipd's race\n");
	}
	texts_fini(&found);
	return code;
}

/* --- the list --- */

static int add_item(const struct cli *cli, const struct nodelist_groups *groups, const char *item,
                    struct texts *ret)
{
	const struct nodelist_group *group = find_group(groups, item);

	if (group != NULL) {
		for (size_t i = 0; i < group->nodes.n; i++)
			add_once(ret, group->nodes.items[i]);
		return CLI_OK;
	}
	if (strcmp(item, "all") == 0)
		return add_all(cli, ret);
	if (!transport_name_is_good(item, true)) {
		AUTO(free) char *text = xasprintf("--nodes: %s: '%s'", name_rule, item);

		say(text);
		return CLI_USAGE;
	}
	add_once(ret, item);
	return CLI_OK;
}

int nodelist_resolve(const struct cli *cli, struct texts *ret_nodes)
{
	AUTO(free) char *copy = xstrdup(cli->nodes);
	struct nodelist_groups groups = {0};
	char *rest = copy, *item;
	int code = read_groups(&groups);

	while (code == CLI_OK && (item = strsep(&rest, "," BLANKS)) != NULL) {
		if (item[0] != '\0')
			code = add_item(cli, &groups, item, ret_nodes);
	}
	nodelist_groups_fini(&groups);
	if (code == CLI_OK && ret_nodes->n == 0) {
		(void) fprintf(stderr, "fairlead: --nodes names no node: '%s'\n", cli->nodes);
		code = CLI_USAGE;
	} else if (code == CLI_OK && ret_nodes->n > NODES_MAX) {
		(void) fprintf(stderr, "fairlead: --nodes names %zu nodes: at most %d\n", ret_nodes->n,
		               NODES_MAX);
		code = CLI_USAGE;
	}
	return code;
}
