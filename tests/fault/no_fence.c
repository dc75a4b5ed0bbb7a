/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Takes vipd's fences away: linked into build/tests/fault/vipd-no-fence in place of the calls that
 * set them (ld --wrap), so that vipd itself has no switch for it. Addresses live for ever and the
 * gate guards nothing; election and process timers are untouched. A story that stops or kills the
 * owner must fail with this, or it proves nothing: tests/netns/self_fault.sh.
 */

#include "net/nftgate.h"
#include "net/rtnl.h"

int __real_rtnl_addr_add(struct rtnl *rtnl, const struct rtnl_addr *addr);
int __real_rtnl_addr_replace(struct rtnl *rtnl, const struct rtnl_addr *addr);
int __wrap_rtnl_addr_add(struct rtnl *rtnl, const struct rtnl_addr *addr);
int __wrap_rtnl_addr_replace(struct rtnl *rtnl, const struct rtnl_addr *addr);
int __wrap_nftgate_guard(struct nftgate *gate, const struct addr *addr);

int __wrap_rtnl_addr_add(struct rtnl *rtnl, const struct rtnl_addr *addr)
{
	struct rtnl_addr eternal = *addr;

	eternal.valid_s = RTNL_LIFETIME_FOREVER;
	return __real_rtnl_addr_add(rtnl, &eternal);
}

int __wrap_rtnl_addr_replace(struct rtnl *rtnl, const struct rtnl_addr *addr)
{
	struct rtnl_addr eternal = *addr;

	eternal.valid_s = RTNL_LIFETIME_FOREVER;
	return __real_rtnl_addr_replace(rtnl, &eternal);
}

int __wrap_nftgate_guard(struct nftgate *gate, const struct addr *addr)
{
	(void) gate;
	(void) addr;
	return 0;
}
