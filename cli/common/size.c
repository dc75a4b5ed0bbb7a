/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes for people. */
#include "cli/common/size.h"

#include <stdio.h>

#include "base/macro.h"

const char *size_text(int64_t bytes, char text[static SIZE_TEXT_MAX])
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
	double size = (double) MAX(bytes, 0);
	size_t unit = 0;

	while (size >= 1000 && unit + 1 < ARRAY_SIZE(units)) {
		size /= 1000;
		unit++;
	}
	(void) snprintf(text, SIZE_TEXT_MAX, "%.*f %s", unit == 0 || size >= 10 ? 0 : 1, size,
	                units[unit]);
	return text;
}
