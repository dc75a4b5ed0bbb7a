/* SPDX-License-Identifier: Apache-2.0 */
/* Files one behind the other. */
#include "netconf/config/sources.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fileio.h"
#include "base/mem.h"

int sources_read(const struct conf_strings *files, char **ret_text)
{
	AUTO(free) char *all = xstrdup("");

	for (size_t i = 0; i < files->n; i++) {
		AUTO(free) char *text = NULL;
		char *longer;
		size_t len;
		int r = file_read(files->items[i], CONF_FILE_BYTES_MAX, &text, &len);

		if (r < 0)
			return r;
		longer = xasprintf("%s--- # %s\n%s\n", all, files->items[i], text);
		free(all);
		all = longer;
		if (strlen(all) > CONF_FILE_BYTES_MAX)
			return -EFBIG;
	}
	*ret_text = TAKE_PTR(all);
	return 0;
}
