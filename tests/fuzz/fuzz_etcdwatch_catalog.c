/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for entries of the catalogue: whatever the text is, what is read from it
 * names no file but its own, and reads back from what it prints as.
 */
#include <stdlib.h>
#include <string.h>

#include "etcdwatch/catalog/catalog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct catalog_entry *parse(const char *text, size_t len)
{
	char error[CATALOG_ERROR_MAX] = "";
	struct catalog_entry *entry = NULL;

	if ((catalog_parse(text, len, &entry, error) < 0) != (error[0] != '\0'))
		abort();
	return entry;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(catalog_entry_free) struct catalog_entry *entry = parse((const char *) data, size);
	AUTO(catalog_entry_free) struct catalog_entry *again = NULL;
	AUTO(free) char *first = NULL;
	AUTO(free) char *second = NULL;

	if (entry == NULL)
		return 0;
	if (strchr(entry->file, '/') != NULL || entry->file[0] == '.')
		abort();
	first = catalog_print(entry);
	again = parse(first, strlen(first));
	if (again == NULL || catalog_compare(entry, again) != 0)
		abort();
	second = catalog_print(again);
	if (strcmp(first, second) != 0)
		abort();
	return 0;
}
