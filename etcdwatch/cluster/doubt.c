/* SPDX-License-Identifier: Apache-2.0 */
/* An alarm that cannot be asked for may stand; and etcd may not have noticed yet what a proof has.
 */
#include "etcdwatch/cluster/doubt.h"

#include "base/mem.h"

void doubt_note_proof(struct doubt *doubt, bool agreed, bool disagreed)
{
	/* One that nobody was asked about says nothing of what an earlier one has found. */
	if (disagreed || agreed)
		doubt->disagrees = disagreed;
	doubt->n_disagreed += disagreed ? 1 : 0;
}

static bool has(bool (*found)(const void *userdata), const struct doubt *doubt)
{
	return found != NULL && found(doubt->userdata);
}

bool doubt_was_found(const struct doubt *doubt)
{
	return doubt->disagrees || has(doubt->data_differ, doubt) || has(doubt->alarm_may_stand, doubt);
}

bool doubt_stands(const struct doubt *doubt, const struct view *view)
{
	return view->corrupt || !view->alarms_known || doubt->disagrees ||
	       has(doubt->data_differ, doubt);
}

/* etcd takes the CN of a client's certificate for the user, where it gives no user. */

char *denied_text(const char *said)
{
	return xasprintf(
	    "refuses this node's user (%s): give the user of EtcdClientConfig, or else the "
	    "CN of its certificate, the role root in etcd",
	    said);
}
