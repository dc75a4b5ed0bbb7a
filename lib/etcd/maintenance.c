/* SPDX-License-Identifier: Apache-2.0 */
/* What one member says of itself. Asked of that member alone, and needs neither leader nor token.
 */
#include <errno.h>

#include "etcd/call.h"
#include "etcd/client.h"
#include "etcd/etcd.h"
#include "etcd/pool.h"
#include "etcd/proto/etcd.pb-c.h"

static void deliver_status(const struct etcd_outcome *outcome, const ProtobufCMessage *response,
                           call_user_fn fn, void *userdata)
{
	const Pb__StatusResponse *answer = (const void *) response;
	struct etcd_status status;

	if (answer != NULL)
		status = (struct etcd_status){
		    .version = answer->version,
		    .db_size_bytes = answer->db_size,
		    .db_size_in_use_bytes = answer->db_size_in_use,
		    .leader = answer->leader,
		    .raft_index = answer->raft_index,
		    .raft_applied_index = answer->raft_applied_index,
		    .raft_term = answer->raft_term,
		    .learner = answer->is_learner,
		};
	((etcd_status_fn) fn)(outcome, answer != NULL ? &status : NULL, userdata);
}

int etcd_endpoint_status(struct etcd *etcd, const char *endpoint, etcd_status_fn fn, void *userdata,
                         struct etcd_call **ret_call)
{
	Pb__StatusRequest request = PB__STATUS_REQUEST__INIT;
	struct call_spec spec = {
	    .method = "/etcdserverpb.Maintenance/Status",
	    .request = &request.base,
	    .response = &pb__status_response__descriptor,
	    .flags = CALL_REPEATABLE | CALL_LOCAL,
	    .endpoint = pool_find(etcd->pool, endpoint),
	    .deliver = deliver_status,
	};

	if (spec.endpoint == NULL)
		return -ENOENT;
	call_start(etcd, &spec, (call_user_fn) fn, userdata, ret_call);
	return 0;
}
