/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer's entry point for the answers of S3 servers: paths and texts stay inside their limits,
 * and what an error says is visible. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "web/s3xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int element(const char *path, const char *text, void *userdata UNUSED)
{
	if (path[0] == '\0' || path[0] == '/' || strlen(path) >= S3XML_PATH_MAX ||
	    strlen(text) >= S3XML_TEXT_MAX)
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char code[16], message[32];

	(void) s3xml_parse((const char *) data, size, element, NULL);
	(void) s3xml_parse_error((const char *) data, size, code, sizeof(code), message,
	                         sizeof(message));
	for (const char *p = message; *p != '\0'; p++) {
		if (*p < ' ' || *p >= 0x7f)
			abort();
	}
	return 0;
}
