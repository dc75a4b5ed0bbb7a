/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* An entry of the catalogue with all that one can have, and others that are made of it. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/catalog/catalog.h"
#include "tests/unit/check.h"

#define SHA_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SHA_B "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID "20261121T203000Z-hourly-cp-1-r8123"

#define MEMBER_2                                                            \
	"    {\n      \"id\": \"00000000000000a2\",\n      \"name\": null,\n"   \
	"      \"peer_urls\": [\n        \"https://10.0.0.2:2380\"\n      ],\n" \
	"      \"client_urls\": [],\n      \"learner\": true\n    }"
#define MEMBERS                                                                                 \
	"  \"members\": [\n    {\n      \"id\": \"8e9e05c52164694d\",\n      \"name\": \"cp-1\",\n" \
	"      \"peer_urls\": [\n        \"https://10.0.0.1:2380\",\n"                              \
	"        \"https://[fd00::1]:2380\"\n      ],\n      \"client_urls\": [\n"                  \
	"        \"https://10.0.0.1:2379\"\n      ],\n      \"learner\": false\n    },\n" MEMBER_2  \
	"\n  ],\n"

#define USAGE                                                                                  \
	"  \"usage\": {\n    \"bytes\": 9000,\n    \"missing\": 3,\n    \"largest\": [\n      {\n" \
	"        \"prefix\": \"/registry/events\",\n        \"bytes\": 8000\n      }\n    ]\n  },\n"

static const char UNUSED sample[] = "{\n"
                                    "  \"version\": 1,\n"
                                    "  \"id\": \"" ID "\",\n"
                                    "  \"job\": \"hourly\",\n"
                                    "  \"cluster_id\": \"cdf818194e3a8c32\",\n"
                                    "  \"timeline\": 2,\n"
                                    "  \"member\": {\n"
                                    "    \"id\": \"8e9e05c52164694d\",\n"
                                    "    \"name\": \"cp-1\"\n"
                                    "  },\n"
                                    "  \"node\": \"cp-1\",\n"
                                    "  \"period\": \"2026-11-21T20:00:00Z\",\n"
                                    "  \"server_version\": \"3.4.23\",\n"
                                    "  \"revision\": 8123,\n"
                                    "  \"compact_revision\": 8000,\n"
                                    "  \"hash\": 4294967295,\n"
                                    "  \"hashkv\": 7,\n"
                                    "  \"hashkv_revision\": 8120,\n"
                                    "  \"total_key\": 900,\n"
                                    "  \"live_keys\": 600,\n"
                                    "  \"db_bytes\": 25165824,\n"
                                    "  \"file\": \"" ID ".db.tar.zst.age\",\n"
                                    "  \"file_bytes\": 5000000,\n"
                                    "  \"file_sha256\": \"" SHA_A "\",\n"
                                    "  \"db_sha256\": \"" SHA_B "\",\n"
                                    "  \"compression\": \"zstd\",\n"
                                    "  \"encryption\": \"age\",\n"
                                    "  \"recipients\": 2,\n"
                                    "  \"started\": \"2026-11-21T20:30:00Z\",\n"
                                    "  \"finished\": \"2026-11-21T20:30:04Z\",\n"
                                    "  \"took_ms\": 3900,\n"
                                    "  \"verified\": {\n"
                                    "    \"digest\": true,\n"
                                    "    \"tree\": true,\n"
                                    "    \"hashkv\": \"cp-2\"\n"
                                    "  },\n" MEMBERS USAGE "  \"extra\": [\n"
                                    "    \"/etc/kubernetes/pki\"\n"
                                    "  ],\n"
                                    "  \"copies\": [\n"
                                    "    {\n"
                                    "      \"target\": \"minio\",\n"
                                    "      \"key\": \"cluster-a/" ID ".db.zst.age\",\n"
                                    "      \"bytes\": 5000000,\n"
                                    "      \"sha256\": \"" SHA_A "\",\n"
                                    "      \"at\": \"2026-11-21T20:31:00Z\"\n"
                                    "    }\n"
                                    "  ]\n"
                                    "}\n";

static inline UNUSED struct catalog_entry *parse(const char *text)
{
	char error[CATALOG_ERROR_MAX] = "";
	struct catalog_entry *entry = NULL;

	if (!CHECK_EQ_INT(catalog_parse(text, strlen(text), &entry, error), 0)) {
		(void) fprintf(stderr, "  %s\n  in %s\n", error, text);
		exit(1);
	}
	return entry;
}

/* The sample with one part of it replaced. */
static inline UNUSED char *changed(const char *from, const char *to)
{
	const char *at = strstr(sample, from);

	if (!CHECK(at != NULL)) {
		(void) fprintf(stderr, "  no '%s'\n", from);
		exit(1);
	}
	return xasprintf("%.*s%s%s", (int) (at - sample), sample, to, at + strlen(from));
}
