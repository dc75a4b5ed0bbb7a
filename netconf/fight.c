/* SPDX-License-Identifier: Apache-2.0 */
/* A list of what was set right, and when. What is older than the window leaves it. */
#include "netconf/fight.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct blow {
	char *what;
	int64_t when_us;
};

struct fight {
	struct blow *blows; /* the oldest first */
	size_t n;
};

struct fight *fight_new(void)
{
	return NEW0(struct fight);
}

void fight_free(struct fight *fight)
{
	if (fight == NULL)
		return;
	for (size_t i = 0; i < fight->n; i++)
		free(fight->blows[i].what);
	free(fight->blows);
	free(fight);
}

static void forget(struct fight *fight, int64_t before_us)
{
	size_t n = 0;

	while (n < fight->n && fight->blows[n].when_us <= before_us)
		free(fight->blows[n++].what);
	fight->n -= n;
	if (n > 0)
		memmove(fight->blows, fight->blows + n, fight->n * sizeof(*fight->blows));
}

bool fight_may(struct fight *fight, const char *what, unsigned rewrites, int64_t window_us,
               int64_t now_us)
{
	unsigned n = 0;

	forget(fight, now_us - window_us);
	for (size_t i = 0; i < fight->n; i++)
		n += strcmp(fight->blows[i].what, what) == 0;
	if (n >= rewrites)
		return false;
	fight->blows = xreallocarray(fight->blows, fight->n + 1, sizeof(*fight->blows));
	fight->blows[fight->n++] = (struct blow){xstrdup(what), now_us};
	return true;
}

void fight_take_back(struct fight *fight, int64_t since_us)
{
	while (fight->n > 0 && fight->blows[fight->n - 1].when_us >= since_us)
		free(fight->blows[--fight->n].what);
}
