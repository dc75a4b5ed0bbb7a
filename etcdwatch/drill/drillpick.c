/* SPDX-License-Identifier: Apache-2.0 */
/* Where the job encrypts, a snapshot that is not encrypted may be a stranger's. */
#include "etcdwatch/drill/drillpick.h"

const struct catalog_entry *drillpick_here(const struct config_job *job,
                                           const struct catalog_entry *const *entries, size_t n,
                                           const struct config_target *copied_to)
{
	for (size_t i = n; i-- > 0;) {
		if (catalog_is_good(entries[i]) && (entries[i]->age || !job->encrypted) &&
		    (copied_to == NULL || catalog_find_copy(entries[i], copied_to->name) != NULL))
			return entries[i];
	}
	return NULL;
}

const struct catalog_entry *drillpick_there(const struct config_job *job,
                                            const struct inventory *there)
{
	size_t n;
	const struct catalog_entry *const *trusted = inventory_trusted(there, &n);

	return drillpick_here(job, trusted, n, NULL);
}
