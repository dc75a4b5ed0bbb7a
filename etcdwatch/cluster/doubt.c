/* SPDX-License-Identifier: Apache-2.0 */
/* An alarm that cannot be asked for may stand. */
#include "etcdwatch/cluster/doubt.h"

bool doubt_stands(const struct doubt *doubt, const struct view *view)
{
	return view->corrupt || !view->alarms_known ||
	       (doubt->data_differ != NULL && doubt->data_differ(doubt->userdata));
}
