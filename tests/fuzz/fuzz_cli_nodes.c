/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for `fairlead --nodes`: what a node prints, and the file of groups. The
 * first byte says which, and how the command ended. No name gets through that ssh must not have,
 * and no sentence that a terminal acts on.
 * max_len: 4096
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/printable.h"
#include "cli/nodes/answer.h"
#include "cli/nodes/nodelist.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds)
{
	if (!holds)
		abort();
}

static void expect_printable(const char *text)
{
	size_t len;

	for (const char *p = text; *p != '\0'; p += len)
		expect(!printable_is_hidden(printable_utf8_next(p, &len)));
}

static void read_groups(const char *text)
{
	struct nodelist_groups groups = {0};
	struct texts errors = {0};

	nodelist_parse_groups(text, "nodes", &groups, &errors);
	for (size_t i = 0; i < groups.n; i++) {
		expect(transport_name_is_good(groups.groups[i].name, false));
		expect(groups.groups[i].nodes.n > 0 || errors.n > 0);
		for (size_t k = 0; k < groups.groups[i].nodes.n; k++)
			expect(transport_name_is_good(groups.groups[i].nodes.items[k], true));
	}
	nodelist_groups_fini(&groups);
	texts_fini(&errors);
}

/* The text is standard output up to the first NUL, and standard error behind it. */
static void judge(const char *text, size_t len, uint8_t how)
{
	static char node[] = "n1";
	static const int codes[] = {0, 1, 5, 127, 255};
	struct remote_answer answer = {.node = node};
	size_t out_len = strnlen(text, len);
	const struct answer_output output = {
	    .out = text,
	    .out_len = out_len,
	    .err = text + MIN(out_len + 1, len),
	    .err_len = len - MIN(out_len + 1, len),
	    .exit_code = codes[how % ARRAY_SIZE(codes)],
	};
	bool is_text = (how & 0x20) != 0;

	answer_judge(&answer, (how & 0x40) != 0 ? TRANSPORT_SSH : TRANSPORT_VIA, is_text,
	             (how & 0x10) != 0 ? REMOTE_TIMEOUT : REMOTE_DONE, 1, &output);
	expect(json_is_array(answer.objects));
	expect(answer.outcome == REMOTE_DONE || answer.error != NULL);
	if (answer.error != NULL)
		expect_printable(answer.error);
	for (size_t i = 0; i < json_array_size(answer.objects); i++) {
		const json_t *object = json_array_get(answer.objects, i);

		expect(is_text ? json_is_string(object) : json_is_object(object));
		if (is_text)
			expect_printable(json_string_value(object));
	}
	json_decref(answer.objects);
	free(answer.error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(free) char *text = NULL;

	if (size == 0)
		return 0;
	if ((data[0] & 0x80) != 0) {
		text = xstrndup((const char *) data + 1, size - 1);
		read_groups(text);
	} else {
		text = xmemdup(data + 1, size - 1);
		judge(text, size - 1, data[0]);
	}
	return 0;
}
