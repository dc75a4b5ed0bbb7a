/* SPDX-License-Identifier: Apache-2.0 */
/* One table for all commands that take a snapshot from somewhere. */
#include "etcdwatch/worker/source/sourcewords.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"

void sourcewords_options(struct sourcewords *w,
                         struct options_entry ret[static SOURCEWORDS_OPTIONS])
{
	const struct options_entry entries[] = {
	    {.name = "--directory", .text = &w->directory},
	    {.name = "--job", .text = &w->job},
	    {.name = "--s3-prefix", .text = &w->s3_prefix},
	    {.name = "--identity", .list = &w->identities},
	    {.name = "--skip-hash-check", .flag = &w->skip_hash_check},
	    {.name = "--encrypted", .flag = &w->encrypted},
	    {.name = "--plain", .flag = &w->plain},
	    {.name = "--trust", .list = &w->trusted},
	    {.name = "--own-key", .text = &w->own_key},
	    {.name = "--known", .text = &w->known},
	};

	_Static_assert(ARRAY_SIZE(entries) == SOURCEWORDS_OPTIONS, "all of them");
	memcpy(ret, entries, sizeof(entries));
}

int sourcewords_check_keys(const struct options_list *keys, struct problem *problem)
{
	for (size_t i = 0; i < keys->n; i++) {
		if (!signature_is_public_key(keys->values[i]))
			return problem_set(problem, -EINVAL, "USAGE",
			                   "--trust: '%s' is not a public key: 'fairlead etcd snapshot key' "
			                   "prints a node's",
			                   keys->values[i]);
	}
	return 0;
}

int sourcewords_request(const struct sourcewords *w, const char *name, struct problem *problem,
                        struct source_request *ret)
{
	bool is_configured = w->trusted.n > 0;
	int r = sourcewords_check_keys(&w->trusted, problem);

	if (r < 0)
		return r;
	*ret = (struct source_request){
	    .name = name,
	    .directory = w->directory,
	    .job = w->job,
	    .s3_prefix = w->s3_prefix != NULL ? w->s3_prefix : "",
	    .identities = w->identities.values,
	    .n_identities = w->identities.n,
	    .encrypted = w->encrypted || w->identities.n > 0,
	    .allow_plain = w->plain,
	    .skip_digest = w->skip_hash_check,
	    .trust = {.keys = is_configured ? w->trusted.values : &w->own_key,
	              .n = is_configured ? w->trusted.n : w->own_key != NULL,
	              .is_configured = is_configured},
	    .known = w->known,
	};
	return 0;
}
