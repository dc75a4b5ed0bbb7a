/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a command that are put together. */
#include "cli/common/texts.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "tests/unit/check.h"

int main(void)
{
	struct texts words = {0}, more = {0};
	AUTO(free) char *line = NULL;

	texts_add(&words, "restore");
	texts_add_option(&words, "--name", "n1");
	texts_add_option(&words, "--sha256", NULL);
	texts_add_all(&words, &more);
	texts_add(&more, "a b");
	texts_add_option(&more, "--job", "j");
	texts_add_all(&words, &more);
	CHECK_EQ_INT(words.n, 6);
	CHECK(words.items[words.n] == NULL);
	line = texts_command(&words);
	CHECK_EQ_STR(line, "restore --name n1 'a b' --job j");
	texts_fini(&words);
	texts_fini(&more);
	return check_result();
}
