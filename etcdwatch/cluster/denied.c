/* SPDX-License-Identifier: Apache-2.0 */
/* etcd takes the CN of a client's certificate for the user, where it gives no user. */
#include "etcdwatch/cluster/denied.h"

#include "base/mem.h"

char *denied_text(const char *said)
{
	return xasprintf(
	    "refuses this node's user (%s): give the user of EtcdClientConfig, or else the "
	    "CN of its certificate, the role root in etcd",
	    said);
}
