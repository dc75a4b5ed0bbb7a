/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures of entries: each field that is signed cannot change, those that change later can, and
 * what may be taken by whom. The signed text is pinned: another one breaks every old signature. */
#include "etcdwatch/catalog/catalog.h"

#include "tests/unit/catalogcase.h"
#include "tests/unit/scratch.h"

static struct signature_key *own, *other;

/* All fields that decide what a snapshot is, as version 1 has them. */
#define SIGNED(members)                                                                        \
	"fairlead snapshot v1\n"                                                                   \
	"{\"cluster_id\":\"cdf818194e3a8c32\",\"compact_revision\":8000,\"compression\":\"zstd\"," \
	"\"db_bytes\":25165824,\"db_sha256\":\"" SHA_B "\",\"encryption\":\"age\","                \
	"\"extra\":[\"/etc/kubernetes/pki\"],\"file\":\"" ID                                       \
	".db.tar.zst.age\",\"file_bytes\":5000000,"                                                \
	"\"file_sha256\":\"" SHA_A "\",\"finished\":\"2026-11-21T20:30:04Z\",\"hash\":4294967295," \
	"\"hashkv\":7,\"hashkv_revision\":8120,\"id\":\"" ID                                       \
	"\",\"job\":\"hourly\",\"live_keys\":600,"                                                 \
	"\"member\":{\"id\":\"8e9e05c52164694d\",\"name\":\"cp-1\"}," members "\"node\":\"cp-1\"," \
	"\"period\":\"2026-11-21T20:00:00Z\",\"recipients\":2,\"revision\":8123,"                  \
	"\"server_version\":\"3.4.23\",\"started\":\"2026-11-21T20:30:00Z\",\"timeline\":2,"       \
	"\"took_ms\":3900,\"total_key\":900,"                                                      \
	"\"verified\":{\"digest\":true,\"hashkv\":\"cp-2\",\"tree\":true}}\n"
#define SIGNED_MEMBERS                                                                       \
	"\"members\":[{\"client_urls\":[\"https://10.0.0.1:2379\"],\"id\":\"8e9e05c52164694d\"," \
	"\"learner\":false,\"name\":\"cp-1\","                                                   \
	"\"peer_urls\":[\"https://10.0.0.1:2380\",\"https://[fd00::1]:2380\"]},"                 \
	"{\"client_urls\":[],\"id\":\"00000000000000a2\",\"learner\":true,\"name\":null,"        \
	"\"peer_urls\":[\"https://10.0.0.2:2380\"]}],"

static void test_text(void)
{
	AUTO(catalog_entry_free) struct catalog_entry *entry = parse(sample);
	AUTO(free) char *without = changed(MEMBERS, "");
	AUTO(catalog_entry_free) struct catalog_entry *old = parse(without);
	AUTO(free) char *text = catalog_signed_text(entry);
	AUTO(free) char *old_text = catalog_signed_text(old);

	CHECK_EQ_STR(text, SIGNED(SIGNED_MEMBERS));
	/* Of a cluster whose members were not known. */
	CHECK_EQ_STR(old_text, SIGNED(""));
}

/* The sample, signed, as it is read back from its text after a part of it was replaced. */
static enum trust_verdict judge_changed(const char *from, const char *to)
{
	const char *const keys[] = {signature_key_public(own)};
	const struct trust trust = {.keys = keys, .n = 1};
	AUTO(catalog_entry_free) struct catalog_entry *entry = parse(sample), *read = NULL;
	AUTO(free) char *printed = NULL;
	AUTO(free) char *text = NULL;
	const char *at;

	trust_sign(entry, own);
	printed = catalog_print(entry);
	at = strstr(printed, from);
	if (!CHECK(at != NULL)) {
		(void) fprintf(stderr, "  no '%s'\n", from);
		return TRUST_NONE;
	}
	text = xasprintf("%.*s%s%s", (int) (at - printed), printed, to, at + strlen(from));
	read = parse(text);
	return trust_judge(read, &trust);
}

static void test_changes(void)
{
	static const struct {
		const char *from, *to;
		enum trust_verdict verdict;
	} cases[] = {
	    {"", "", TRUST_GOOD},
	    {"\"job\": \"hourly\"", "\"job\": \"daily\"", TRUST_WRONG},
	    {"cdf818194e3a8c32", "cdf818194e3a8c33", TRUST_WRONG},
	    {"\"timeline\": 2", "\"timeline\": 3", TRUST_WRONG},
	    {"8e9e05c52164694d", "8e9e05c52164694e", TRUST_WRONG},
	    {"\"node\": \"cp-1\"", "\"node\": \"cp-2\"", TRUST_WRONG},
	    {"\"revision\": 8123", "\"revision\": 8124", TRUST_WRONG},
	    {"\"compact_revision\": 8000", "\"compact_revision\": null", TRUST_WRONG},
	    {"\"hashkv\": 7", "\"hashkv\": 8", TRUST_WRONG},
	    {"\"hashkv\": \"cp-2\"", "\"hashkv\": null", TRUST_WRONG},
	    {"\"db_bytes\": 25165824", "\"db_bytes\": 25165825", TRUST_WRONG},
	    {"\"db_sha256\": \"0123", "\"db_sha256\": \"1123", TRUST_WRONG},
	    {"\"file_bytes\": 5000000", "\"file_bytes\": 5000001", TRUST_WRONG},
	    {"\"file_sha256\": \"a", "\"file_sha256\": \"b", TRUST_WRONG},
	    {"\"recipients\": 2", "\"recipients\": 1", TRUST_WRONG},
	    {"\"started\": \"2026-11-21T20:30:00Z\"", "\"started\": \"2026-11-21T20:30:01Z\"",
	     TRUST_WRONG},
	    {"\"digest\": true", "\"digest\": false", TRUST_WRONG},
	    {"\"learner\": true", "\"learner\": false", TRUST_WRONG},
	    {"https://10.0.0.2:2380", "https://10.0.0.3:2380", TRUST_WRONG},
	    {"/etc/kubernetes/pki", "/etc/kubernetes/pkj", TRUST_WRONG},
	    {"\"key\": \"ed25519:", "\"key\": \"ed25520:", TRUST_WRONG},
	    {"\"key\": ", "\"other\": ", TRUST_WRONG},
	    {"\"signature\": ", "\"other\": ", TRUST_WRONG},
	    {"\"signature\": \"v1:", "\"signature\": \"v2:", TRUST_NEWER},
	    /* What comes later, or is not known. */
	    {"\"target\": \"minio\"", "\"target\": \"site\"", TRUST_GOOD},
	    {"\"bytes\": 9000", "\"bytes\": 9001", TRUST_GOOD},
	    {"\"job\": \"hourly\"", "\"later\": 1, \"job\": \"hourly\"", TRUST_GOOD},
	    {"\"job\": \"hourly\"", "\"rejected\": \"n2 disagrees\", \"job\": \"hourly\"", TRUST_GOOD},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (!CHECK_EQ_INT(judge_changed(cases[i].from, cases[i].to), cases[i].verdict))
			(void) fprintf(stderr, "  %s -> %s\n", cases[i].from, cases[i].to);
	}
}

/* Rewritten with a copy, as the catalogue does it, it keeps its signature. */
static void test_copies(void)
{
	AUTO(catalog_entry_free) struct catalog_entry *entry = parse(sample), *read = NULL;
	char target[] = "far", key[] = "a/b";
	struct catalog_copy copy = {.target = target, .key = key, .bytes = 1};
	AUTO(free) char *text = NULL;

	memcpy(copy.sha256, SHA_A, sizeof(copy.sha256));
	trust_sign(entry, own);
	CHECK_EQ_INT(catalog_set_copy(entry, &copy), 0);
	text = catalog_print(entry);
	read = parse(text);
	CHECK_EQ_INT(trust_judge(read, NULL), TRUST_UNKNOWN);
}

static void test_keys(void)
{
	const char *const keys[] = {signature_key_public(other), signature_key_public(own)};
	const struct trust both = {.keys = keys, .n = 2, .is_configured = true};
	const struct trust one = {.keys = keys, .n = 1, .is_configured = true};
	const struct trust lone = {.keys = keys, .n = 1};
	AUTO(catalog_entry_free) struct catalog_entry *entry = parse(sample);

	CHECK_EQ_INT(trust_judge(entry, &both), TRUST_NONE);
	trust_sign(entry, own);
	CHECK_EQ_INT(trust_judge(entry, &both), TRUST_GOOD);
	/* Its key was dropped. */
	CHECK_EQ_INT(trust_judge(entry, &one), TRUST_UNKNOWN);
	CHECK_EQ_INT(trust_judge(entry, NULL), TRUST_UNKNOWN);
	trust_sign(entry, other);
	CHECK_EQ_INT(trust_judge(entry, &one), TRUST_GOOD);
	for (int v = TRUST_GOOD; v <= TRUST_NEWER; v++) {
		enum trust_verdict verdict = (enum trust_verdict) v;

		CHECK(trust_allows_chosen(&one, verdict) == (verdict == TRUST_GOOD));
		CHECK(trust_allows_named(&one, verdict) ==
		      (verdict == TRUST_GOOD || verdict == TRUST_NONE));
		CHECK(trust_allows_chosen(&lone, verdict) ==
		      (verdict == TRUST_GOOD || verdict == TRUST_UNKNOWN));
		CHECK(trust_allows_named(&lone, verdict) ==
		      (verdict != TRUST_WRONG && verdict != TRUST_NEWER));
	}
}

int main(void)
{
	scratch_enter();
	CHECK_EQ_INT(signature_key_load_or_make("own", &own), 0);
	CHECK_EQ_INT(signature_key_load_or_make("other", &other), 0);
	test_text();
	test_changes();
	test_copies();
	test_keys();
	signature_key_free(own);
	signature_key_free(other);
	scratch_leave();
	return check_result();
}
