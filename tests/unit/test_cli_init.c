/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `fairlead init` makes of nodes of every kind. Each folder of tests/config/init is a node:
 * its files below root/, its links as ip(8) prints them, what the operator wishes, and what comes
 * of it: the configuration with the notes, or the errors. With an argument, "update", the goldens
 * are written: look at the difference before committing it. tests/netns/node_init.sh has the
 * daemons check the same ones.
 */
#include "cli/init/initchoice.h"

#include <dirent.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/words.h"
#include "cli/init/initfacts.h"
#include "cli/init/initfiles.h"
#include "tests/unit/check.h"

#define CASES "tests/config/init"
#define FILE_BYTES_MAX (1 << 20)
#define WORDS_MAX 16
/* 2026-11-20, when one of the certificates has ended. */
#define NOW_S INT64_C(1795132800)

static bool update;

static json_t *load_json(const char *name, const char *file)
{
	AUTO(free) char *path = xasprintf(CASES "/%s/%s", name, file);

	return json_load_file(path, 0, NULL);
}

static void read_wish(char *line, struct initwish *wish)
{
	char *words[WORDS_MAX], *rest;
	int n = words_split(line, words, WORDS_MAX);

	for (int i = 0; i + 1 < n; i += 2) {
		if (strcmp(words[i], "--link") == 0)
			wish->link = words[i + 1];
		else if (strcmp(words[i], "--role") == 0)
			wish->role = strcmp(words[i + 1], "worker") == 0 ? INIT_WORKER : INIT_CONTROL_PLANE;
		for (char *p = strcmp(words[i], "--vip") == 0 ? strtok_r(words[i + 1], ",", &rest) : NULL;
		     p != NULL; p = strtok_r(NULL, ",", &rest))
			CHECK_EQ_INT(addr_parse(p, &wish->vips[wish->n_vips++]), 0);
	}
}

static char *run_case(const char *name)
{
	AUTO(free) char *root = xasprintf(CASES "/%s/root", name);
	AUTO(free) char *at = xasprintf(CASES "/%s", name);
	AUTO(free) char *wish_line = initfiles_text(at, "/wish");
	AUTO(free) char *hostname = initfiles_text(root, "/etc/hostname");
	json_t *addresses = load_json(name, "addresses.json"), *routes = load_json(name, "routes.json");
	struct initfacts facts = {.hostname = xstrndup(hostname, strcspn(hostname, "\n"))};
	struct initwish wish = {0};
	struct initchoice choice;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	wish_line[strcspn(wish_line, "\n")] = '\0';
	read_wish(wish_line, &wish);
	initcluster_look(root, &facts);
	initothers_look(root, &facts);
	initlinks_take(addresses, routes, &facts);
	initchoice_make(&facts, &wish, NOW_S, &choice);
	if (choice.errors.n == 0)
		inittext_write(out, &facts, &wish, &choice, NULL);
	for (size_t i = 0; i < choice.errors.n; i++)
		(void) fprintf(out, "# error: %s\n", choice.errors.items[i]);
	for (size_t i = 0; i < choice.notes.n && choice.errors.n == 0; i++)
		(void) fprintf(out, "# note: %s\n", choice.notes.items[i]);
	(void) fclose(out);
	initchoice_fini(&choice);
	initfacts_fini(&facts);
	json_decref(addresses);
	json_decref(routes);
	return text;
}

static void check_case(const char *name)
{
	AUTO(free) char *path = xasprintf(CASES "/%s/expected.yaml", name);
	AUTO(free) char *got = run_case(name);
	AUTO(free) char *want = NULL;
	size_t len;

	if (update)
		CHECK_EQ_INT(file_write_atomic(path, got, strlen(got), 0644, FILE_VOLATILE), 0);
	else if (CHECK_EQ_INT(file_read(path, FILE_BYTES_MAX, &want, &len), 0) &&
	         !CHECK_EQ_STR(got, want))
		(void) fprintf(stderr, "  case %s\n", name);
}

/* A server of k3s, as another user than root sees it: in a child, which is one. */
static void look_as_nobody(const char *root)
{
	struct initfacts facts = {0};
	struct initwish wish = {0};
	struct initchoice choice;

	if (geteuid() == 0)
		CHECK_EQ_INT(setresuid(65534, 65534, 65534), 0);
	initcluster_look(root, &facts);
	initchoice_make(&facts, &wish, NOW_S, &choice);
	if (CHECK_EQ_INT((int) choice.errors.n, 1))
		CHECK(strstr(choice.errors.items[0], "run this as root") != NULL);
	initchoice_fini(&choice);
	wish.role = INIT_WORKER;
	initchoice_make(&facts, &wish, NOW_S, &choice);
	CHECK_EQ_INT((int) choice.errors.n, 0);
	initchoice_fini(&choice);
	initfacts_fini(&facts);
}

static void test_hidden(void)
{
	char root[] = "/tmp/fairlead-init-XXXXXX";
	AUTO(free) char *make = NULL;
	AUTO(free) char *clear = NULL;
	int status = 0;
	pid_t pid;

	if (!CHECK(mkdtemp(root) != NULL))
		return;
	make = xasprintf("umask 022; chmod 755 %s; cd %s; d=var/lib/rancher/k3s; "
	                 "mkdir -p $d/server/tls/etcd $d/agent; touch $d/agent/kubelet.kubeconfig; "
	                 "chmod 0 $d/server",
	                 root, root);
	CHECK_EQ_INT(system(make), 0);
	pid = fork();
	if (pid == 0) {
		look_as_nobody(root);
		_exit(check_failures > 0);
	}
	CHECK_EQ_INT(waitpid(pid, &status, 0), pid);
	CHECK_EQ_INT(status, 0);
	clear = xasprintf("chmod 700 %s/var/lib/rancher/k3s/server; rm -rf %s", root, root);
	CHECK_EQ_INT(system(clear), 0);
}

#define OF_ROOT "printf 'Name:\\tetcd\\nUid:\\t0\\t0\\t0\\t0\\nGid:\\t5\\n' >proc/5/status"

/* Anybody may call a process "etcd", also a set-uid program, which root owns while it runs: what it
 * says is not what root is to write down. */
static void test_foreign_process(void)
{
	static const char make[] = "cd %s; mkdir -p proc/5; echo etcd >proc/5/comm; "
	                           "printf 'etcd\\0--data-dir=/x\\0' >proc/5/cmdline; "
	                           "rm -f proc/5/status proc/5/exe etcd; : >etcd; "
	                           "ln -s ../../etcd proc/5/exe; %s";
	static const struct {
		const char *status;
		bool is_trusted;
	} cases[] = {
	    {"", false},
	    {"printf 'Name:\\tetcd\\nUid:\\t1000\\t1000\\t1000\\t1000\\n' >proc/5/status", false},
	    {"printf 'Name:\\tetcd\\nUid:\\t1000\\t0\\t0\\t0\\n' >proc/5/status", false},
	    {"printf 'Name:\\tetcd\\nUid:\\t01000\\t0\\t0\\t0\\n' >proc/5/status", false},
	    {"printf 'Name:\\tUid:\\t0\\nUid:\\t1000\\t0\\t0\\t0\\n' >proc/5/status", false},
	    {"printf 'Name:\\tetcd\\nUid:\\t4294967296\\t0\\t0\\t0\\n' >proc/5/status", false},
	    {"printf 'Name:\\tetcd\\nUid:\\t' >proc/5/status", false},
	    {"printf 'Name:\\tetcd\\nUid:\\t-0\\t0\\n' >proc/5/status", false},
	    {"printf 'Name:\\tetcd\\n' >proc/5/status", false},
	    {OF_ROOT, true},
	    {OF_ROOT "; chmod 755 etcd", true},
	    /* As sudo while it waits for a password; and one that is ended. */
	    {OF_ROOT "; chmod 4755 etcd", false},
	    {OF_ROOT "; rm proc/5/exe", false},
	};
	char root[] = "/tmp/fairlead-init-XXXXXX";
	AUTO(free) char *clear = NULL;

	if (!CHECK(mkdtemp(root) != NULL))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) char *line = xasprintf(make, root, cases[i].status);
		struct initetcd etcd = {0};
		const char *stopped;

		CHECK_EQ_INT(system(line), 0);
		if (!CHECK_EQ_INT(initetcd_take_service(&etcd, root, &stopped), cases[i].is_trusted) ||
		    !CHECK_EQ_STR(etcd.values[INITETCD_DATA_DIR], cases[i].is_trusted ? "/x" : NULL))
			(void) fprintf(stderr, "  status '%s'\n", cases[i].status);
		initetcd_fini(&etcd);
	}
	clear = xasprintf("rm -rf %s", root);
	CHECK_EQ_INT(system(clear), 0);
}

/* Whether the API server answers anonymous requests to /readyz. */
static void test_anonymous(void)
{
	static const char make[] =
	    "cd %s; mkdir -p etc/kubernetes/manifests etc/fairlead/pki; printf '%s' >etc/authn; "
	    "printf 'spec:\n  containers:\n  - command: [kube-apiserver, \"%s\"]\n' "
	    ">etc/kubernetes/manifests/kube-apiserver.yaml";
	static const struct {
		const char *option, *authn, *refused_by;
	} cases[] = {
	    {"--secure-port=6443", "", NULL},
	    {"--anonymous-auth=true", "", NULL},
	    {"--anonymous-auth=false", "", "--anonymous-auth=false"},
	    {"--authentication-config=/etc/none", "", NULL},
	    {"--authentication-config=/etc/authn", "jwt: []\n", NULL},
	    {"--authentication-config=/etc/authn", "anonymous: {enabled: true}\n", NULL},
	    {"--authentication-config=/etc/authn", "anonymous: {enabled: false}\n",
	     "--authentication-config=/etc/authn"},
	    {"--authentication-config=/etc/authn",
	     "anonymous: {enabled: true, conditions: [{path: /livez}, {path: /readyz}]}\n", NULL},
	    {"--authentication-config=/etc/authn",
	     "anonymous: {enabled: true, conditions: [{path: /livez}]}\n",
	     "--authentication-config=/etc/authn"},
	};
	char root[] = "/tmp/fairlead-init-XXXXXX";
	AUTO(free) char *clear = NULL;

	if (!CHECK(mkdtemp(root) != NULL))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) char *line = xasprintf(make, root, cases[i].authn, cases[i].option);
		const struct initwish wish = {.role = INIT_CONTROL_PLANE};
		struct initfacts facts = {.hostname = xstrdup("n1")};
		struct initchoice choice;
		size_t n = 0;

		CHECK_EQ_INT(system(line), 0);
		initcluster_look(root, &facts);
		initchoice_make(&facts, &wish, NOW_S, &choice);
		for (size_t k = 0; k < choice.notes.n; k++)
			n += strstr(choice.notes.items[k], "fairlead init --probe-certificate") != NULL;
		if (!CHECK_EQ_STR(facts.anonymous, cases[i].refused_by) ||
		    !CHECK_EQ_INT(n, cases[i].refused_by != NULL))
			(void) fprintf(stderr, "  case %zu\n", i);
		initchoice_fini(&choice);
		initfacts_fini(&facts);
	}
	clear = xasprintf("rm -rf %s", root);
	CHECK_EQ_INT(system(clear), 0);
}

/* Where the program cannot be looked at. */
static bool is_believed_unseen(const char *root, bool by_root)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
	struct initetcd etcd = {0};
	const char *stopped;
	bool believed;

	if (by_root)
		CHECK_EQ_INT(syscall(SYS_capset, &header, none), 0);
	else
		CHECK_EQ_INT(setresuid(65534, 65534, 65534), 0);
	believed = initetcd_take_service(&etcd, root, &stopped);
	initetcd_fini(&etcd);
	return believed;
}

/* Root in a container may be kept from looking at a program: it may be set-uid. Who is not root
 * sees none that is root's. */
static void test_unseen_process(void)
{
	char root[] = "/tmp/fairlead-init-XXXXXX";
	AUTO(free) char *make = NULL;
	AUTO(free) char *clear = NULL;

	if (!CHECK(mkdtemp(root) != NULL))
		return;
	make =
	    xasprintf("umask 022; chmod 755 %s; cd %s; mkdir -p proc/5 hidden; echo etcd >proc/5/comm; "
	              "printf 'etcd\\0--data-dir=/x\\0' >proc/5/cmdline; " OF_ROOT "; : >hidden/etcd; "
	              "ln -s ../../hidden/etcd proc/5/exe; chmod 0 hidden",
	              root, root);
	CHECK_EQ_INT(system(make), 0);
	for (int by_root = 0; by_root < 2; by_root++) {
		int status = 0;
		pid_t pid = fork();

		if (pid == 0) {
			check_failures = 0;
			CHECK_EQ_INT(is_believed_unseen(root, by_root), !by_root);
			_exit(check_failures > 0);
		}
		CHECK_EQ_INT(waitpid(pid, &status, 0), pid);
		if (!CHECK_EQ_INT(status, 0))
			(void) fprintf(stderr, "  by %s\n", by_root ? "root" : "somebody else");
	}
	clear = xasprintf("rm -rf %s", root);
	CHECK_EQ_INT(system(clear), 0);
}

/* What other programs' files say becomes no line of the configuration. */
static void test_rival_vip(void)
{
	static const char make_lines[] =
	    "cd %s; mkdir -p etc/kubernetes/manifests etc/keepalived; "
	    "printf 'spec: {containers: [{image: kube-vip, env: [{name: address, "
	    "value: \"10.0.0.6\\\\nkind: X\"}]}]}\\n' >etc/kubernetes/manifests/kube-vip.yaml; "
	    "printf 'virtual_ipaddress {\\n%%s\\n}\\n' '%s' >etc/keepalived/keepalived.conf";
	static const struct {
		const char *keepalived, *want;
	} cases[] = {{"10.0.0.7/24 dev eth0", "10.0.0.7"}, {"$VIP", NULL}, {"", NULL}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char root[] = "/tmp/fairlead-init-XXXXXX";
		struct initfacts facts = {0};
		AUTO(free) char *make = NULL;
		AUTO(free) char *clear = NULL;

		if (!CHECK(mkdtemp(root) != NULL))
			return;
		make = xasprintf(make_lines, root, cases[i].keepalived);
		CHECK_EQ_INT(system(make), 0);
		initothers_look(root, &facts);
		CHECK_EQ_INT((int) facts.rivals.n, 2);
		CHECK_EQ_STR(facts.rival_vip, cases[i].want);
		initfacts_fini(&facts);
		clear = xasprintf("rm -rf %s", root);
		CHECK_EQ_INT(system(clear), 0);
	}
}

int main(int argc, char **argv)
{
	struct texts names = {0};

	update = argc > 1 && strcmp(argv[1], "update") == 0;
	initfiles_list(CASES, "", "", &names);
	CHECK(names.n > 15);
	for (size_t i = 0; i < names.n; i++)
		check_case(names.items[i]);
	texts_fini(&names);
	test_hidden();
	test_foreign_process();
	test_anonymous();
	test_unseen_process();
	test_rival_vip();
	return check_result();
}
