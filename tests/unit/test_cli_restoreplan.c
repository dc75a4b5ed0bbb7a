/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of restores: which member, which cluster, which commands, and every rule that is for or
 * against. */
#include "cli/restore/restoreplan.h"

#include <string.h>

#include "base/macro.h"
#include "tests/unit/check.h"

#define SHA "1111111111111111111111111111111111111111111111111111111111111111"

/* A machine and a snapshot that nothing is said against. */
static const char host_text[] =
    "{'data_dir': {'path': '/var/lib/etcd', 'unit': '/var/lib/etcd', 'exists': true,"
    "  'has_unit': true, 'has_db': true, 'has_wal': true, 'in_use': false, 'uid': 104,"
    "  'inner': null, 'set_aside': null, 'free_bytes': 1000000000},"
    " 'tool': {'path': '/usr/bin/etcdutl', 'says': 'etcdutl version: 3.5.16',"
    "  'version': '3.5.16', 'can_bump': true},"
    " 'self': {'host': 'n2', 'addresses': ['10.0.0.1', '192.0.2.7']},"
    " 'kubelet': false, 'manifests': [],"
    " 'peers': [{'url': 'https://10.0.0.1:2380', 'local': true, 'listening': false}]}";
static const char source_text[] =
    "{'origin': '/snap/a.db', 'digest': true, 'sha256': '" SHA "', 'revision': 80,"
    " 'last_revision': 80, 'db_bytes': 20480, 'cluster_version': '3.5.0', 'storage_version': '',"
    " 'entry': {'verified': {'hashkv': 'n3'}, 'extra': [], 'hashkv': 7, 'hashkv_revision': 80},"
    " 'alarms': [], 'auth_enabled': false,"
    " 'members': [{'name': 'n1', 'peer_urls': ['https://10.0.0.1:2380'], 'learner': false},"
    "             {'name': 'n2', 'peer_urls': ['https://10.0.0.2:2380'], 'learner': false},"
    "             {'name': 'n3', 'peer_urls': ['https://10.0.0.3:2380'], 'learner': false}]}";

#define THREE "n1=https://10.0.0.1:2380,n2=https://10.0.0.2:2380,n3=https://10.0.0.3:2380"

/* JSON with single quotes. */
static json_t *parse(const char *text)
{
	char copy[4096];
	json_t *object;

	(void) snprintf(copy, sizeof(copy), "%s", text);
	for (char *p = copy; *p != '\0'; p++) {
		if (*p == '\'')
			*p = '"';
	}
	object = json_loads(copy, 0, NULL);
	CHECK(object != NULL);
	return object;
}

/* With the changes, which may be NULL. */
static json_t *changed(const char *text, const char *changes)
{
	json_t *object = parse(text), *more = changes != NULL ? parse(changes) : NULL;

	if (more != NULL)
		(void) json_object_update_recursive(object, more);
	json_decref(more);
	return object;
}

static char source_word[] = "/snap/a.db";
static char *source_words[] = {source_word, NULL};
static const struct texts source_names = {.items = source_words, .n = 1};

static struct restoreplan_wish plain_wish(void)
{
	return (struct restoreplan_wish){
	    .data_dir = "/var/lib/etcd",
	    .token = "tok",
	    .source = &source_names,
	    .source_is_local = true,
	};
}

static struct restoreplan *make(const struct restoreplan_wish *wish, const char *host_changes,
                                const char *source_changes)
{
	json_t *host = changed(host_text, host_changes);
	json_t *source = changed(source_text, source_changes);
	struct restoreplan *plan = restoreplan_make(wish, host, source);

	json_decref(host);
	json_decref(source);
	return plan;
}

static bool has(const struct texts *texts, const char *part)
{
	for (size_t i = 0; i < texts->n; i++) {
		if (strstr(texts->items[i], part) != NULL)
			return true;
	}
	return false;
}

static void print_all(const char *what, const struct texts *texts)
{
	for (size_t i = 0; i < texts->n; i++)
		(void) fprintf(stderr, "  %s: %s\n", what, texts->items[i]);
}

static void test_plain(void)
{
	struct restoreplan_wish wish = plain_wish();
	AUTO(restoreplan_free) struct restoreplan *plan = make(&wish, NULL, NULL);
	AUTO(free) char *words = texts_command(&plan->words);

	if (!CHECK_EQ_INT(plan->against.n, 0))
		print_all("against", &plan->against);
	/* Its address is n1's, which counts for more than that it is called n2. */
	CHECK(plan->self != NULL && strcmp(plan->self->name, "n1") == 0);
	CHECK_EQ_STR(plan->initial_cluster, THREE);
	CHECK_EQ_STR(plan->peer_urls, "https://10.0.0.1:2380");
	CHECK_EQ_INT(plan->bump_revision, RESTOREPLAN_BUMP);
	CHECK_EQ_STR(plan->command, "fairlead etcd restore /snap/a.db --sha256 " SHA
	                            " --data-dir /var/lib/etcd --name n1 --initial-cluster " THREE
	                            " --token tok --bump-revision 1000000000 --yes");
	CHECK_EQ_INT(plan->n_others, 2);
	CHECK_EQ_STR(plan->others[1].command,
	             "fairlead etcd restore /snap/a.db --sha256 " SHA
	             " --data-dir /var/lib/etcd --name n3 --initial-cluster " THREE
	             " --token tok --bump-revision 1000000000 --yes");
	CHECK_EQ_STR(words, "--data-dir /var/lib/etcd --name n1 --initial-cluster " THREE
	                    " --token tok --hashkv 7 --hashkv-revision 80 --tool /usr/bin/etcdutl"
	                    " --tool-says 'etcdutl version: 3.5.16' --bump-revision 1000000000");
	/* What people forget is always said. */
	CHECK(has(&plan->mind, "--encryption-provider-config"));
	CHECK(has(&plan->then, "restore the other members"));
	CHECK(has(&plan->then, "systemctl start etcd"));
	CHECK_EQ_INT(plan->mind.n, 1);
}

/* A token tells of which plan it is, and another plan refuses it. */
static void test_token(void)
{
	static const struct {
		const char *source;
		uint64_t bump;
		bool fits;
	} cases[] = {
	    {NULL, 1000000000, true},
	    {NULL, 5, false},
	    {"{'sha256': '2222222222222222222222222222222222222222222222222222222222222222'}",
	     1000000000, false},
	    {"{'members': [{'name': 'n1', 'peer_urls': ['https://10.0.0.1:2380']}]}", 1000000000,
	     false},
	};
	struct restoreplan_wish wish = plain_wish();
	AUTO(restoreplan_free) struct restoreplan *first = make(&wish, NULL, NULL);
	AUTO(free) char *token = restoreplan_token(UINT64_C(0x1234), SHA, first);

	CHECK(strncmp(token, "restore-0000000000001234-", 25) == 0 && strlen(token) == 33);
	wish.token = token;
	wish.bump_is_given = true;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(restoreplan_free) struct restoreplan *plan = NULL;

		wish.bump_revision = cases[i].bump;
		plan = make(&wish, NULL, cases[i].source);
		CHECK_EQ_INT(has(&plan->against, "is of another plan"), !cases[i].fits);
	}
	wish.token = "restore-0000000000001234-0000000g";
	{
		AUTO(restoreplan_free) struct restoreplan *plan = make(&wish, NULL, NULL);

		CHECK(!has(&plan->against, "is of another plan"));
	}
}

static void test_rules(void)
{
	static const struct {
		const char *host, *source;
		const char *against, *mind, *then; /* a part of one; NULL: none is looked for */
	} cases[] = {
	    /* The place. */
	    {"{'data_dir': {'in_use': true}}", NULL, "etcd runs on /var/lib/etcd", NULL, NULL},
	    {"{'data_dir': {'inner': '/var/lib/etcd/default'}}", NULL,
	     "--data-dir /var/lib/etcd/default", NULL, NULL},
	    {"{'data_dir': {'has_wal': false}}", NULL, "there is no WAL", NULL, NULL},
	    {"{'data_dir': {'free_bytes': 1000000}}", NULL, "0 MiB are free", NULL, NULL},
	    {"{'data_dir': {'has_unit': false, 'has_db': false, 'set_aside': '/x.before'}}", NULL, NULL,
	     "mv /x.before /var/lib/etcd", NULL},
	    {"{'data_dir': {'has_unit': false, 'has_db': false, 'uid': 0}}", NULL, NULL,
	     "will belong to user 0", NULL},
	    {"{'manifests': ['/m/etcd.yaml']}", NULL, "by /m/etcd.yaml", NULL, NULL},
	    {"{'peers': [{'url': 'u', 'local': true, 'listening': true}]}", NULL,
	     "something listens on u", NULL, NULL},
	    {"{'peers': [{'url': 'u', 'local': false, 'listening': false}]}", NULL,
	     "u is no address of this machine", NULL, NULL},
	    {"{'peers': [{'url': 'u', 'local': false, 'listening': false},"
	     " {'url': 'v', 'local': true, 'listening': false}]}",
	     NULL, NULL, "u is no address of this machine", NULL},
	    /* It does not resolve: only the host's name can tell. */
	    {"{'peers': [{'url': 'u'}]}", NULL,
	     "u does not resolve, and this machine is 'n2', not 'n1'", NULL, NULL},
	    {"{'peers': [{'url': 'u'}], 'self': {'host': 'n1'}}", NULL, NULL, "u does not resolve",
	     NULL},
	    {"{'kubelet': true}", NULL, NULL, NULL, "put the manifest of etcd back"},
	    /* The tool. */
	    {"{'tool': {'problem': 'neither is there'}}", NULL, "neither is there (--tool)", NULL,
	     NULL},
	    {"{'tool': {'version': '3.4.30'}}", NULL, "is of 3.4.30, which cannot read it", NULL, NULL},
	    {"{'tool': {'version': '4.0.0'}}", NULL, "which cannot read it", NULL, NULL},
	    {"{'tool': {'version': '3.7.1'}}", NULL, "one minor version at a time", NULL, NULL},
	    {"{'tool': {'version': '3.6.1'}}", NULL, NULL, "is for etcd 3.6, on all nodes", NULL},
	    {NULL, "{'storage_version': '3.6.0'}", "snapshot is of etcd 3.6", NULL, NULL},
	    {"{'tool': {'can_bump': false}}", NULL, NULL, "the revision goes back to 80", NULL},
	    /* The snapshot. */
	    {NULL, "{'digest': false}", NULL, "it has no digest", NULL},
	    {NULL, "{'entry': null}", NULL, "the catalogue does not know it", NULL},
	    {NULL, "{'entry': {'verified': {'hashkv': null}}}", NULL, "no other member", NULL},
	    {NULL, "{'entry': {'extra': ['/etc/kubernetes/pki']}}", NULL, "/etc/kubernetes/pki", NULL},
	    {NULL, "{'signed': 'unknown-key', 'entry': {'key': 'ed25519:A'}}", NULL,
	     "not known here, ed25519:A", NULL},
	    {NULL, "{'newer_known': {'id': '2-x', 'started': 'noon', 'named': false}}",
	     "knows a newer one, 2-x of noon", NULL, NULL},
	    {NULL, "{'newer_known': {'id': '2-x', 'started': 'noon', 'named': true}}", NULL,
	     "knows a newer one, 2-x of noon", NULL},
	    {NULL, "{'passed_over': {'wrong_signature': 1}}", NULL, "that have a wrong signature",
	     NULL},
	    {NULL, "{'passed_over': {'newer_format': 1}}", NULL, "newer version: use that version",
	     NULL},
	    {NULL, "{'passed_over': {'plain': 2}}", NULL, "2 snapshots were passed over that are not",
	     NULL},
	    {NULL, "{'alarms': ['NOSPACE']}", NULL, "etcdctl alarm disarm", NULL},
	    {NULL, "{'alarms': ['CORRUPT']}", NULL, "CORRUPT is in it", NULL},
	    {NULL, "{'auth_enabled': true}", NULL, "authentication is on", NULL},
	    {NULL, "{'members': []}", "does not say which members there were", NULL, NULL},
	    {NULL,
	     "{'members': [{'name': 'n1', 'peer_urls': ['https://10.0.0.1:2380'], 'learner': false},"
	     " {'name': 'n4', 'peer_urls': ['https://10.0.0.4:2380'], 'learner': true}]}",
	     NULL, "'n4' is a learner in the snapshot", "finds all 2 of them healthy"},
	    {NULL,
	     "{'members': [{'name': 'n1', 'peer_urls': ['https://10.0.0.1:2380'], 'learner': false},"
	     " {'name': 'n4', 'peer_urls': ['https://10.0.0.4:2380'], 'learner': false}]}",
	     NULL, "2 members bear the loss of 0, as many as 1 would", NULL},
	    /* Restored once by etcd 3.4, which lists the old ones too. */
	    {NULL,
	     "{'members': [{'name': 'n1', 'peer_urls': ['https://10.0.0.1:2380'], 'learner': false},"
	     " {'name': 'n1', 'peer_urls': ['https://10.0.0.1:2380'], 'learner': false}]}",
	     NULL, NULL, "says that it is healthy"},
	    {NULL,
	     "{'members': [{'name': 'n1', 'peer_urls': ['https://10.0.0.1:2380'], 'learner': false},"
	     " {'name': 'n9', 'peer_urls': ['https://10.0.0.1:2380'], 'learner': false}]}",
	     "is there twice: name the members yourself", NULL, NULL},
	    /* etcd 3.5 has no names of those that joined later; 3.4 has, so it was never started. Nor
	     * does 3.5.16 know that they were promoted. */
	    {"{'self': {'addresses': ['10.0.0.2']}}",
	     "{'members': [{'name': 'n1', 'peer_urls': ['https://10.0.0.1:2380'], 'learner': false},"
	     " {'name': '', 'peer_urls': ['https://10.0.0.2:2380'], 'learner': false},"
	     " {'name': '', 'peer_urls': ['https://10.0.0.3:2380'], 'learner': false},"
	     " {'name': '', 'peer_urls': ['https://10.0.0.4:2380'], 'learner': true}]}",
	     NULL, "at 10.0.0.2 has no name in the snapshot", "finds all 4 of them healthy"},
	    {NULL,
	     "{'cluster_version': '3.4.0', 'members': ["
	     "  {'name': 'n1', 'peer_urls': ['https://10.0.0.1:2380'], 'learner': false},"
	     "  {'name': '', 'peer_urls': ['https://10.0.0.2:2380'], 'learner': false}]}",
	     NULL, "the member at https://10.0.0.2:2380 has no name in the snapshot, and is left out",
	     "says that it is healthy"},
	    {"{'self': {'addresses': ['10.0.0.1', '10.0.0.3']}}", NULL, "--name, one of n1, n2, n3",
	     NULL, NULL},
	    {"{'self': {'addresses': [], 'host': 'x'}}", NULL, "--name, one of n1, n2, n3", NULL, NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct restoreplan_wish wish = plain_wish();
		AUTO(restoreplan_free)
		struct restoreplan *plan = make(&wish, cases[i].host, cases[i].source);
		bool good = CHECK_EQ_INT(plan->against.n, cases[i].against != NULL);

		good &= cases[i].against == NULL || CHECK(has(&plan->against, cases[i].against));
		good &= cases[i].mind == NULL || CHECK(has(&plan->mind, cases[i].mind));
		good &= cases[i].then == NULL || CHECK(has(&plan->then, cases[i].then));
		if (!good) {
			(void) fprintf(stderr, "  case %zu: %s %s\n", i, cases[i].host, cases[i].source);
			print_all("against", &plan->against);
			print_all("mind", &plan->mind);
			print_all("then", &plan->then);
		}
	}
}

/* What 3.5.16 writes of a cluster whose second and third member joined as learners, as kubeadm's
 * do, and were promoted. */
static void test_joined_by_learner(void)
{
	static const char joined[] =
	    "{'members': [{'name': 'n1', 'peer_urls': ['https://10.0.0.1:2380'], 'learner': false},"
	    " {'name': '', 'peer_urls': ['https://10.0.0.2:2380'], 'learner': true},"
	    " {'name': 'n3', 'peer_urls': ['https://10.0.0.3:2380'], 'learner': true}]}";
	struct restoreplan_wish wish = plain_wish();
	AUTO(restoreplan_free) struct restoreplan *plan = make(&wish, NULL, joined);
	AUTO(restoreplan_free) struct restoreplan *named = NULL;

	CHECK_EQ_INT(plan->against.n, 0);
	CHECK_EQ_STR(plan->initial_cluster, "n1=https://10.0.0.1:2380,10.0.0.2=https://10.0.0.2:2380,"
	                                    "n3=https://10.0.0.3:2380");
	CHECK(has(&plan->mind, "'10.0.0.2' is a learner in the snapshot"));
	CHECK(has(&plan->mind, "'n3' is a learner in the snapshot"));
	/* With a name that the operator gives. */
	wish.initial_cluster = THREE;
	named = make(&wish, NULL, joined);
	CHECK_EQ_INT(named->against.n, 0);
	CHECK(has(&named->mind, "'n2' is a learner in the snapshot"));
	CHECK(!has(&named->mind, "has no name") && !has(&named->mind, "is none any more"));
}

#define M(id, name, url, learner)                                           \
	"{'id': '" id "', 'name': " name ", 'peer_urls': ['https://10.0.0." url \
	":2380'], 'learner': " learner "}"
#define N1 M("a1", "'n1'", "1", "false")
#define N2 M("a2", "'n2'", "2", "false")
#define N3 M("a3", "'n3'", "3", "false")
#define LISTED(list) "{'entry': {'members': [" list "]}, 'members': ["

/* The database's member list, and the one that the entry has from etcd itself. */
static void test_member_lists(void)
{
	static const struct {
		const char *source;
		const char *against, *mind; /* a part of one; NULL: there is none */
		size_t n_mind;              /* besides the one that is always said */
	} cases[] = {
	    {LISTED(N1 "," N2 "," N3) N3 "," N1 "," N2 "]}", NULL, NULL, 0},
	    /* Joined by learners, as 3.5.16 has them. */
	    {LISTED(N1 "," N2 "," N3) N1
	     "," M("a2", "''", "2", "true") "," M("a3", "''", "3", "true") "]}",
	     NULL, "'n3' is a learner in the database and a voter in etcd's member list", 2},
	    {LISTED(N1 "," M("a2", "'n2'", "2", "true") "," N3) N1 "," N2 "," N3 "]}", NULL,
	     "'n2' was a learner when the snapshot was taken, and is restored as a voter", 1},
	    {LISTED(N1 "," N2 "," N3 "," M("a4", "null", "4", "true")) N1
	     "," N2 "," N3 "," M("a4", "''", "4", "true") "]}",
	     NULL, "the member at https://10.0.0.4:2380 was not started", 1},
	    /* The list comes from a member that has not heard the name yet. */
	    {LISTED(N1 "," M("a2", "null", "2", "false") "," N3) N1 "," N2 "," N3 "]}", NULL, NULL, 0},
	    /* Of before a restore by etcd 3.4: the URLs and names are the same, the ids are not. */
	    {LISTED(N1 "," N2 "," N3) M("b1", "'n1'", "1", "false") "," N1 "," N2 "," N3 "]}", NULL,
	     NULL, 0},
	    {LISTED(N1 "," N2 "," N3) N1 "," N2 "]}",
	     "the member 'n3' at https://10.0.0.3:2380 is in the member list alone", NULL, 0},
	    {LISTED(N1 "," N2 "," N3) N1 "," N2 "," N3 "," M("a4", "'n4'", "4", "false") "]}",
	     "the member 'n4' at https://10.0.0.4:2380 is in the database alone", NULL, 0},
	    {LISTED(N1 "," N2 "," N3) N1 "," N2 "," M("a3", "'n3'", "9", "false") "]}",
	     "'n3' has the peer URL https://10.0.0.3:2380 in the member list and "
	     "https://10.0.0.9:2380 in the database",
	     NULL, 0},
	    {LISTED(N1 "," N2 "," N3) N1 "," N2 "," M("a3", "'n9'", "3", "false") "]}",
	     "the member at https://10.0.0.3:2380 is 'n3' in the member list and 'n9' in the database",
	     NULL, 0},
	    /* Rebuilt: it has no entry, and its base had one, or none. */
	    {"{'entry': null, 'base_members': [" N1 "," N2 "," N3 "], 'members': [" N1
	     "," M("a2", "''", "2", "true") "," M("a3", "''", "3", "false") "]}",
	     NULL, "'n2' is a learner in the database and a voter in etcd's member list", 2},
	    {"{'entry': null, 'base_members': [], 'members': [" N1 "," N2 "," N3 "]}", NULL, NULL, 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct restoreplan_wish wish = plain_wish();
		AUTO(restoreplan_free) struct restoreplan *plan = make(&wish, NULL, cases[i].source);
		AUTO(restoreplan_free) struct restoreplan *decided = NULL;
		bool good = CHECK_EQ_INT(plan->against.n, cases[i].against != NULL);

		good &= cases[i].against == NULL || CHECK(has(&plan->against, cases[i].against));
		good &= cases[i].mind == NULL || CHECK(has(&plan->mind, cases[i].mind));
		good &= cases[i].against != NULL || CHECK_EQ_INT(plan->mind.n, 1 + cases[i].n_mind);
		good &= CHECK_EQ_STR(plan->initial_cluster, THREE);
		/* The operator's word is what counts. */
		wish.initial_cluster = THREE;
		decided = make(&wish, NULL, cases[i].source);
		good &= CHECK_EQ_INT(decided->against.n, 0);
		good &= cases[i].against == NULL || CHECK(has(&decided->mind, cases[i].against));
		if (!good) {
			(void) fprintf(stderr, "  case %zu: %s\n", i, cases[i].source);
			print_all("against", &plan->against);
			print_all("mind", &plan->mind);
		}
	}
}

/* The only member of a plan is not this machine because there is no other. */
static void test_single(void)
{
	static const char one[] =
	    "{'members': [{'name': 'n1', 'peer_urls': ['https://10.0.0.1:2380'], 'learner': false}]}";
	struct restoreplan_wish wish = plain_wish();
	AUTO(restoreplan_free)
	struct restoreplan *plan =
	    make(&wish,
	         "{'self': {'host': 'n2', 'addresses': ['10.0.0.2']},"
	         " 'peers': [{'url': 'https://10.0.0.1:2380', 'local': false, 'listening': false}]}",
	         one);

	CHECK_EQ_INT(plan->against.n, 1);
	CHECK(has(&plan->against, "https://10.0.0.1:2380 is no address of this machine"));
}

static void test_by_host_name(void)
{
	struct restoreplan_wish wish = plain_wish();
	AUTO(restoreplan_free)
	struct restoreplan *plan = make(&wish, "{'self': {'addresses': ['192.0.2.7']}}", NULL);

	CHECK(plan->self != NULL && strcmp(plan->self->name, "n2") == 0);
}

static void test_wishes(void)
{
	struct restoreplan_wish wish = plain_wish();
	AUTO(restoreplan_free) struct restoreplan *named = NULL, *missing = NULL, *other = NULL;
	AUTO(restoreplan_free) struct restoreplan *kept = NULL, *forced = NULL, *wal = NULL;

	wish.name = "n3";
	named = make(&wish, NULL, NULL);
	CHECK(named->self != NULL && strcmp(named->self->name, "n3") == 0);
	wish.name = "n9";
	missing = make(&wish, NULL, NULL);
	CHECK(has(&missing->against, "there is no member 'n9' among n1, n2, n3"));
	wish.name = NULL;
	wish.initial_cluster = "x=https://10.0.0.1:2380";
	other = make(&wish, NULL, NULL);
	CHECK(other->self != NULL && strcmp(other->self->name, "x") == 0 && other->against.n == 0);
	CHECK(has(&other->mind, "'n3' was a member and is none any more"));
	wish.initial_cluster = NULL;
	wish.bump_is_given = true;
	kept = make(&wish, NULL, NULL);
	CHECK(kept->bump_revision == 0 && has(&kept->mind, "the revision goes back to 80"));
	CHECK(strstr(kept->command, "--bump-revision 0 ") != NULL);
	wish.bump_revision = 5;
	forced = make(&wish, "{'tool': {'can_bump': false}}", NULL);
	CHECK(has(&forced->against, "cannot raise the revision"));
	wish = plain_wish();
	wish.wal_dir = "/wal";
	wal = make(&wish, "{'data_dir': {'has_wal': false}}", NULL);
	CHECK_EQ_INT(wal->against.n, 0);
	CHECK(has(&wal->then, "mv /wal /wal.before-restore && mv /var/lib/etcd/member/wal /wal"));
	CHECK(strstr(wal->command, "--wal-dir /wal") != NULL);
}

static void test_alone(void)
{
	struct restoreplan_wish wish = plain_wish();
	AUTO(restoreplan_free) struct restoreplan *plan = NULL;

	wish.alone = true;
	plan = make(&wish, NULL, NULL);
	CHECK_EQ_INT(plan->against.n, 0);
	CHECK_EQ_STR(plan->initial_cluster, "n1=https://10.0.0.1:2380");
	CHECK(plan->self == &plan->cluster->members[0] && plan->n_others == 0);
	CHECK(has(&plan->then, "let the others join"));
	CHECK(has(&plan->mind, "'n2' was a member and is none"));
}

/* A raw database, in a directory whose name has to be quoted. */
static void test_words(void)
{
	static char file[] = "/a b/it's", option[] = "--skip-hash-check";
	static char *items[] = {file, option, NULL};
	const struct texts names = {.items = items, .n = 2};
	struct restoreplan_wish wish = plain_wish();
	AUTO(restoreplan_free) struct restoreplan *plan = NULL;
	AUTO(free) char *words = NULL;

	wish.source = &names;
	wish.data_dir = "etcd";
	plan = make(&wish, NULL, "{'digest': false}");
	words = texts_command(&plan->words);
	CHECK(strstr(words, " --skip-hash-check ") != NULL);
	CHECK(strncmp(plan->command,
	              "fairlead etcd restore '/a b/it'\\''s' --skip-hash-check --sha256 ", 63) == 0);
	/* Not where one happens to be. */
	CHECK(strstr(plan->command, " --data-dir /var/lib/etcd ") != NULL);
}

int main(void)
{
	test_plain();
	test_token();
	test_rules();
	test_joined_by_learner();
	test_member_lists();
	test_single();
	test_by_host_name();
	test_wishes();
	test_alone();
	test_words();
	return check_result();
}
