/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans to the letter: what there is, what is wanted, and every step in its order. Each plan is
 * carried out, and a second one is empty.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "check.h"
#include "plancase.h"

struct golden {
	const char *name;
	const char *have, *want;
	const char *management; /* NULL: none */
	bool only_hitless;
	const char *only_on; /* NULL: all links */
	const char *plan;
};

static const struct golden goldens[] = {
    /* --- what is not there --- */
    {"a missing NIC delays only what depends on it", .have = "nic eth0\n",
     .want = "nic eth0 up\nnic eth9 up\nvlan v9 parent eth9 id 9\nvlan v99 parent v9 id 99\n"
             "vlan v7 parent eth0 id 7 up\naddress v9 10.9.0.2/24\naddress eth9 10.99.0.2/24\n"
             "address v7 10.7.0.2/24\nroute 10.98.0.0/16 via 10.9.0.1 dev v9\n"
             "route 10.97.0.0/16 via 10.7.0.1 dev v7\n",
     .plan = "hitless create vlan v7 parent eth0 vlan_id 7 vlan_protocol 802.1q\n"
             "hitless set v7 up\n"
             "hitless add address 10.7.0.2/24 dev v7\n"
             "hitless add route 10.97.0.0/16 via 10.7.0.1 dev v7\n"
             "! there is no link 'eth9'\n"
             "! 'v9' waits for 'eth9', which is not there\n"
             "! 'v99' waits for 'v9', which is not there\n"
             "! address 10.9.0.2/24 dev v9 waits for its link\n"
             "! address 10.99.0.2/24 dev eth9 waits for its link\n"
             "! route 10.98.0.0/16 via 10.9.0.1 dev v9 waits for its link\n"},
    {"a missing port delays only itself", .have = "nic eth0\n",
     .want = "nic eth0 up master bond0\nnic eth9 up master bond0\nbond bond0 mode 1 miimon 100 up\n"
             "address bond0 10.0.0.2/24\n",
     .plan = "hitless create bond bond0 mode active-backup miimon 100\n"
             "hitless set eth0 down\n"
             "hitless set eth0 master bond0\n"
             "hitless set bond0 up\n"
             "hitless add address 10.0.0.2/24 dev bond0\n"
             "! there is no link 'eth9'\n"},
    {"a route whose link waits keeps the old way",
     .have = "nic eth0\naddress eth0 10.0.0.2/24\nroute 0.0.0.0/0 via 10.0.0.1 dev eth0\n",
     .want = "nic eth0\nnic eth9\naddress eth0 10.0.0.2/24\naddress eth9 10.9.0.2/24\n"
             "route 0.0.0.0/0 via 10.9.0.1 dev eth9\n",
     .plan = "! there is no link 'eth9'\n"
             "! address 10.9.0.2/24 dev eth9 waits for its link\n"
             "! route default via 10.9.0.1 dev eth9 waits for its link\n"},

    /* --- what belongs to others --- */
    {"what is foreign stays",
     .have = "nic eth0\nbridge br0 foreign\naddress eth0 10.0.0.2/24 proto 99\n"
             "address br0 10.1.0.1/24 proto 98\nroute 10.5.0.0/16 via 10.0.0.1 dev eth0 proto 12\n"
             "rule 100 from 10.5.0.0/16 table 5 proto 99\n",
     .want = "nic eth0 up\n", .plan = ""},
    {"collisions are refused and name the owner",
     .have = "nic eth0\ndummy d0 foreign mtu 9000\naddress eth0 10.0.0.2/24 metric 5 proto 99\n"
             "address eth0 10.0.0.9/24 proto 241 secondary\naddress eth0 fd00::2/64 proto 99\n"
             "route 10.5.0.0/16 via 10.0.0.1 dev eth0 proto 12\n"
             "route 10.6.0.0/16 via 10.0.0.1 dev eth0 proto 3\n"
             "route 10.7.0.0/16 via 10.0.0.1 dev eth0 proto 186\n"
             "route 10.8.0.0/16 via 10.0.0.1 dev eth0 proto 77\n",
     .want = "dummy d0 mtu 1400\naddress eth0 10.0.0.2/24\naddress eth0 10.0.0.9/24\n"
             "address eth0 fd00::2/80\n"
             "route 10.5.0.0/16 via 10.0.0.3 dev eth0\nroute 10.6.0.0/16 via 10.0.0.3 dev eth0\n"
             "route 10.7.0.0/16 via 10.0.0.3 dev eth0\nroute 10.8.0.0/16 via 10.0.0.3 dev eth0\n",
     .plan = "! 'd0' was made by another program, and its mtu is not the one wanted\n"
             "! address fd00::2/80 dev eth0 is refused: fd00::2/64 dev eth0 belongs to another "
             "program (protocol 99)\n"
             "! address 10.0.0.9/24 dev eth0 is refused: 10.0.0.9/24 dev eth0 belongs to vipd "
             "(protocol 241)\n"
             "! address 10.0.0.2/24 dev eth0 is refused: 10.0.0.2/24 dev eth0 metric 5 belongs to "
             "another program (protocol 99)\n"
             "! route 10.8.0.0/16 via 10.0.0.3 dev eth0 is refused: 10.8.0.0/16 via 10.0.0.1 dev "
             "eth0 belongs to another program (protocol 77)\n"
             "! route 10.7.0.0/16 via 10.0.0.3 dev eth0 is refused: 10.7.0.0/16 via 10.0.0.1 dev "
             "eth0 belongs to FRR (protocol 186)\n"
             "! route 10.6.0.0/16 via 10.0.0.3 dev eth0 is refused: 10.6.0.0/16 via 10.0.0.1 dev "
             "eth0 belongs to an administrator or a script (protocol 3)\n"
             "! route 10.5.0.0/16 via 10.0.0.3 dev eth0 is refused: 10.5.0.0/16 via 10.0.0.1 dev "
             "eth0 belongs to BIRD (protocol 12)\n"},
    {"the same, made by others, serves as well",
     .have = "nic eth0\ndummy d0 foreign\naddress eth0 10.0.0.2/24 proto 99\n"
             "route 10.5.0.0/16 via 10.0.0.1 dev eth0 proto 12\nrule 100 from 10.5.0.0/16 table 5 "
             "proto 99\n",
     .want = "dummy d0 mtu 1500\naddress eth0 10.0.0.2/24\n"
             "route 10.5.0.0/16 via 10.0.0.1 dev eth0\nrule 100 from 10.5.0.0/16 table 5\n",
     .plan = ""},
    {"a link of ours that another program uses stays",
     .have = "dummy d0\naddress d0 10.0.0.2/24\naddress d0 10.0.0.3/24 proto 99 secondary\n",
     .want = "", .plan = "! 'd0' is kept: another program uses it: 10.0.0.3/24 dev d0\n"},
    {"so does one that another program's link is on, of whatever kind, with what carries it",
     .have = "bond bond0 mode 1\nvlan v7 parent bond0 id 7\nother mv0 parent v7 foreign\n",
     .want = "",
     .plan = "! 'bond0' is kept: another program uses it: mv0\n"
             "! 'v7' is kept: another program uses it: mv0\n"},
    {"nor is one made anew below it",
     .have = "nic eth0\nvlan v7 parent eth0 id 7\nother mv0 parent v7 foreign\n",
     .want = "vlan v7 parent eth0 id 9\n",
     .plan = "! 'v7' cannot be made anew: another program has a link on it\n"},
    {"vipd's address is no hindrance",
     .have = "dummy d0\naddress d0 10.0.0.2/24\naddress d0 10.0.0.3/32 proto 241\n", .want = "",
     .plan = "address-break delete dummy d0\n"},
    {"vipd's address is not put back",
     .have = "nic eth0 master bond0\nbond bond0 mode 1 miimon 100\naddress bond0 fd00::2/64\n"
             "address bond0 fd00::9/128 proto 241\naddress bond0 fd00::8/128 proto 99\n",
     .want = "nic eth0 master bond0\nbond bond0 mode 4 miimon 100\naddress bond0 fd00::2/64\n",
     .plan = "address-break set bond0 down\n"
             "blip set eth0 master none\n"
             "hitless set bond0 mode 802.3ad\n"
             "blip set eth0 master bond0\n"
             "hitless set bond0 up\n"
             "hitless put back address fd00::2/64 dev bond0\n"
             "hitless put back address fd00::8/128 dev bond0\n"
             "hitless wait for the carrier of bond0, at most 10000 ms\n"},

    /* --- addresses --- */
    {"a kept secondary never goes",
     .have = "nic eth0\naddress eth0 10.0.0.2/24\naddress eth0 10.0.0.3/24 secondary\n"
             "address eth0 10.0.0.4/24 secondary\naddress eth0 10.0.0.5/24 proto 99 secondary\n"
             "route 0.0.0.0/0 via 10.0.0.1 dev eth0\n",
     .want = "address eth0 10.0.0.3/24\nroute 0.0.0.0/0 via 10.0.0.1 dev eth0\n",
     .plan = "address-break delete address 10.0.0.4/24 dev eth0\n"
             "hitless set eth0 promote_secondaries on\n"
             "address-break delete address 10.0.0.2/24 dev eth0\n"
             "hitless set eth0 promote_secondaries off\n"
             "# address 10.0.0.5/24 dev eth0, which belongs to another program (protocol 99), may "
             "become the first of its "
             "subnet: connections that name no source leave from it then\n"},
    {"vipd's address never goes with one of ours: nobody else may put it back",
     .have = "nic eth0\naddress eth0 10.0.0.2/24\naddress eth0 10.0.0.9/24 proto 241 valid 3 "
             "secondary\nroute 0.0.0.0/0 via 10.0.0.1 dev eth0\n",
     .want = "address eth0 10.0.0.3/24\nroute 0.0.0.0/0 via 10.0.0.1 dev eth0\n",
     .plan = "hitless add address 10.0.0.3/24 dev eth0\n"
             "hitless set eth0 promote_secondaries on\n"
             "address-break delete address 10.0.0.2/24 dev eth0\n"
             "hitless set eth0 promote_secondaries off\n"
             "# address 10.0.0.9/24 dev eth0, which belongs to vipd (protocol 241), may become the "
             "first of its "
             "subnet: connections that name no source leave from it then\n"},
    {"a flag is taken on adding only: the others of the subnet stay meanwhile",
     .have = "nic eth0\naddress eth0 10.0.0.2/24\naddress eth0 10.0.0.9/24 proto 241 valid 3 "
             "secondary\n",
     .want = "address eth0 10.0.0.2/24 noprefixroute\n",
     .plan = "hitless set eth0 promote_secondaries on\n"
             "address-break delete address 10.0.0.2/24 dev eth0\n"
             "hitless set eth0 promote_secondaries off\n"
             "hitless add address 10.0.0.2/24 dev eth0 noprefixroute\n"
             "# address 10.0.0.9/24 dev eth0, which belongs to vipd (protocol 241), may become the "
             "first of its "
             "subnet: connections that name no source leave from it then\n"},
    {"an address is kept that another's route leaves from, on whatever link",
     .have = "nic eth0\nnic eth1\naddress eth0 10.0.0.2/24\naddress eth0 10.9.0.2/24\n"
             "address eth1 10.1.0.2/24 proto 99\n"
             "route 10.5.0.0/16 via 10.1.0.1 dev eth1 src 10.9.0.2 proto 12\n",
     .want = "address eth0 10.0.0.3/24\n",
     .plan = "hitless add address 10.0.0.3/24 dev eth0\n"
             "hitless set eth0 promote_secondaries on\n"
             "address-break delete address 10.0.0.2/24 dev eth0\n"
             "hitless set eth0 promote_secondaries off\n"
             "! address 10.9.0.2/24 dev eth0 is kept: it is the source of route 10.5.0.0/16 via "
             "10.1.0.1 dev eth1 src 10.9.0.2, which belongs to BIRD (protocol 12): delete that "
             "route, or give it another source, first\n"},
    {"but a lease that has ended goes, whoever leaves from it",
     .have = "nic eth0\naddress eth0 10.0.0.2/24 proto 99\naddress eth0 10.9.0.2/24\n"
             "route 10.5.0.0/16 via 10.0.0.1 dev eth0 src 10.9.0.2 proto 12\n",
     .want = "nic eth0\n", .only_on = "eth0",
     .plan = "address-break delete address 10.9.0.2/24 dev eth0\n"
             "# route 10.5.0.0/16 via 10.0.0.1 dev eth0 src 10.9.0.2, which belongs to BIRD "
             "(protocol 12), is lost: the kernel drops it, and takes it back no more\n"},
    {"so is its link, with what carries it",
     .have = "nic eth0\nnic eth1\nbond bond0 mode 1\nvlan v7 parent bond0 id 7\n"
             "address v7 10.9.0.2/24\naddress eth1 10.1.0.2/24 proto 99\n"
             "route 10.5.0.0/16 via 10.1.0.1 dev eth1 src 10.9.0.2 proto 12\n",
     .want = "nic eth0 up\n",
     .plan = "! address 10.9.0.2/24 dev v7 is kept: it is the source of route 10.5.0.0/16 via "
             "10.1.0.1 dev eth1 src 10.9.0.2, which belongs to BIRD (protocol 12): delete that "
             "route, or give it another source, first\n"},
    {"one that only moves is no hindrance: the route comes back",
     .have = "nic eth0\nnic eth1\naddress eth0 10.9.0.2/32\naddress eth1 10.1.0.2/24 proto 99\n"
             "route 10.5.0.0/16 via 10.1.0.1 dev eth1 src 10.9.0.2 proto 12\n",
     .want = "address eth1 10.9.0.2/32\n",
     .plan = "hitless add address 10.9.0.2/32 dev eth1\n"
             "address-break delete address 10.9.0.2/32 dev eth0\n"
             "hitless put back route 10.5.0.0/16 via 10.1.0.1 dev eth1 src 10.9.0.2\n"},
    {"another's routes that go with the last address are told",
     .have = "nic eth0\naddress eth0 10.0.0.2/24\n"
             "route 10.5.0.0/16 via 10.0.0.1 dev eth0 proto 12\n"
             "route 10.6.0.0/16 via 10.0.0.1 dev eth0\n",
     .want = "nic eth0 up\n",
     .plan = "address-break delete route 10.6.0.0/16 via 10.0.0.1 dev eth0\n"
             "address-break delete address 10.0.0.2/24 dev eth0\n"
             "# route 10.5.0.0/16 via 10.0.0.1 dev eth0, which belongs to BIRD (protocol 12), is "
             "lost: the kernel drops it, and takes it back no more\n"},
    {"so is what goes with a link that is closed",
     .have = "nic eth0\naddress eth0 fd00::2/64 proto 99\n"
             "route fd05::/64 via fd00::1 dev eth0 proto 12\n",
     .want = "nic eth0 down\n",
     .plan = "address-break set eth0 down\n"
             "# address fd00::2/64 dev eth0, which belongs to another program (protocol 99), is "
             "lost with its link\n"
             "# route fd05::/64 via fd00::1 dev eth0 metric 1024, which belongs to BIRD (protocol "
             "12), is "
             "lost: the kernel drops it, and takes it back no more\n"},
    {"min_links of a bond that carries nothing costs nothing",
     .have = "nic eth0\nbond bond0 mode 1 miimon 100\n", .want = "bond bond0 min_links 1\n",
     .plan = "hitless set bond0 min_links 1\n"},
    {"min_links that its ports cannot fill costs it its carrier",
     .have = "nic eth0 master bond0\nbond bond0 mode 1 miimon 100\n",
     .want = "nic eth0 master bond0\nbond bond0 min_links 2\n",
     .plan = "blip set bond0 min_links 2\n"},
    {"a link is never without an address", .have = "nic eth0\naddress eth0 10.0.0.2/24\n",
     .want = "address eth0 10.1.0.2/24\n",
     .plan = "hitless add address 10.1.0.2/24 dev eth0\n"
             "address-break delete address 10.0.0.2/24 dev eth0\n"},
    {"another prefix length: IPv4 has both, IPv6 must let go first",
     .have = "nic eth0\naddress eth0 10.0.0.2/24\naddress eth0 fd00::2/64\n",
     .want = "address eth0 10.0.0.2/16\naddress eth0 fd00::2/80\n",
     .plan = "hitless add address 10.0.0.2/16 dev eth0\n"
             "address-break delete address fd00::2/64 dev eth0\n"
             "hitless add address fd00::2/80 dev eth0\n"
             "address-break delete address 10.0.0.2/24 dev eth0\n"},
    {"a metric changes in place, a flag does not",
     .have = "nic eth0\naddress eth0 10.0.0.2/24\naddress eth0 10.1.0.2/24\n",
     .want = "address eth0 10.0.0.2/24 metric 7\naddress eth0 10.1.0.2/24 noprefixroute\n",
     .plan = "hitless change address 10.0.0.2/24 dev eth0 metric 7\n"
             "address-break delete address 10.1.0.2/24 dev eth0\n"
             "hitless add address 10.1.0.2/24 dev eth0 noprefixroute\n"},
    {"a leased address of IPv6, as netconf added it once, stays where it is",
     .have = "nic eth0\naddress eth0 fd09::5/128 valid 600\naddress eth0 fd00::2/64\n",
     .want = "address eth0 fd09::5/128 valid 600 noprefixroute\n"
             "address eth0 fd00::2/64 noprefixroute\n",
     .plan = "address-break delete address fd00::2/64 dev eth0\n"
             "hitless add address fd00::2/64 dev eth0 noprefixroute\n"
             "hitless change address fd09::5/128 dev eth0 noprefixroute\n"},

    /* --- routes and rules --- */
    {"a default route is replaced without a gap",
     .have = "nic eth0\naddress eth0 10.0.0.2/24\nroute 0.0.0.0/0 via 10.0.0.1 dev eth0\n",
     .want = "address eth0 10.0.0.2/24\nroute 0.0.0.0/0 via 10.0.0.254 dev eth0 mtu 1400\n",
     .plan = "hitless replace route default via 10.0.0.254 dev eth0 mtu 1400\n"},
    {"another metric is another route: first the new one",
     .have = "nic eth0\naddress eth0 10.0.0.2/24\nroute 0.0.0.0/0 via 10.0.0.1 dev eth0\n",
     .want = "address eth0 10.0.0.2/24\nroute 0.0.0.0/0 via 10.0.0.1 dev eth0 metric 9\n",
     .plan = "hitless add route default via 10.0.0.1 dev eth0 metric 9\n"
             "address-break delete route default via 10.0.0.1 dev eth0\n"},
    {"gateways come after what leads to them", .have = "nic eth0\n",
     .want = "address eth0 10.0.0.2/32\nroute 0.0.0.0/0 via 10.9.0.1 dev eth0\n"
             "route 10.9.0.1/32 dev eth0\nroute 10.4.0.0/16 via 10.3.0.1 dev eth0 onlink\n"
             "route 10.5.0.0/16 blackhole\n",
     .plan = "hitless add address 10.0.0.2/32 dev eth0\n"
             "hitless add route blackhole 10.5.0.0/16\n"
             "hitless add route 10.9.0.1/32 dev eth0\n"
             "hitless add route default via 10.9.0.1 dev eth0\n"
             "hitless add route 10.4.0.0/16 via 10.3.0.1 dev eth0 onlink\n"},
    {"a rule comes after its table's routes and changes by twin",
     .have = "nic eth0\naddress eth0 10.0.0.2/24\nrule 100 from 10.5.0.0/16 table 5\n",
     .want = "address eth0 10.0.0.2/24\nroute 0.0.0.0/0 via 10.0.0.1 dev eth0 table 6\n"
             "rule 100 from 10.5.0.0/16 table 6\n",
     .plan = "hitless add route default via 10.0.0.1 dev eth0 table 6\n"
             "hitless add rule 100: from 10.5.0.0/16 lookup 6\n"
             "address-break delete rule 100: from 10.5.0.0/16 lookup 5\n"},

    /* --- MTU --- */
    {"raised from the bottom up, lowered from the top down",
     .have = "nic eth0\nnic eth1 mtu 9000\nvlan a7 parent eth0 id 7\nvlan a77 parent a7 id 77\n"
             "vlan b7 parent eth1 id 7 mtu 9000\nvlan b77 parent b7 id 77 mtu 9000\n",
     .want = "nic eth0 mtu 9000\nnic eth1 mtu 1500\nvlan a7 parent eth0 id 7 mtu 9000\n"
             "vlan a77 parent a7 id 77 mtu 9000\nvlan b7 parent eth1 id 7 mtu 1500\n"
             "vlan b77 parent b7 id 77 mtu 1400\n",
     .plan = "blip set eth0 mtu 9000\n"
             "hitless set a7 mtu 9000\n"
             "hitless set a77 mtu 9000\n"
             "hitless set b77 mtu 1400\n"
             "hitless set b7 mtu 1500\n"
             "blip set eth1 mtu 1500\n"},
    {"a bond's carries its ports along",
     .have = "nic eth0 master bond0\nbond bond0 mode 1 miimon 100\nvlan v7 parent bond0 id 7\n",
     .want = "nic eth0 master bond0 mtu 9000\nbond bond0 mode 1 miimon 100 mtu 9000\n"
             "vlan v7 parent bond0 id 7 mtu 9000\n",
     .plan = "blip set bond0 mtu 9000\n"
             "hitless set v7 mtu 9000\n"},
    {"a new VLAN with more than its parent has yet", .have = "nic eth0\n",
     .want = "nic eth0 mtu 9000\nvlan v7 parent eth0 id 7 mtu 9000 up\n",
     .plan = "hitless create vlan v7 parent eth0 vlan_id 7 vlan_protocol 802.1q\n"
             "blip set eth0 mtu 9000\n"
             "hitless set v7 mtu 9000\n"
             "hitless set v7 up\n"},

    /* --- links of each kind --- */
    {"a VLAN's number and protocol only by making it anew",
     .have = "nic eth0\nvlan v7 parent eth0 id 7\nvlan v8 parent eth0 id 8\n"
             "address v7 10.7.0.2/24\naddress v8 10.8.0.2/24\n",
     .want = "vlan v7 parent eth0 id 9 up\nvlan v8 parent eth0 id 8 protocol 0x88a8 up\n"
             "address v7 10.7.0.2/24\naddress v8 10.8.0.2/24\n",
     .plan = "address-break delete vlan v7\n"
             "address-break delete vlan v8\n"
             "hitless create vlan v7 parent eth0 vlan_id 9 vlan_protocol 802.1q\n"
             "hitless create vlan v8 parent eth0 vlan_id 8 vlan_protocol 802.1ad\n"
             "hitless set v7 up\n"
             "hitless set v8 up\n"
             "hitless put back address 10.7.0.2/24 dev v7\n"
             "hitless put back address 10.8.0.2/24 dev v8\n"},
    {"two VLANs that change numbers",
     .have = "nic eth0\nvlan v7 parent eth0 id 7\nvlan v8 parent eth0 id 8\n",
     .want = "vlan v7 parent eth0 id 8 up\nvlan v8 parent eth0 id 7 up\n",
     .plan = "blip delete vlan v7\n"
             "blip delete vlan v8\n"
             "hitless create vlan v7 parent eth0 vlan_id 8 vlan_protocol 802.1q\n"
             "hitless create vlan v8 parent eth0 vlan_id 7 vlan_protocol 802.1q\n"
             "hitless set v7 up\n"
             "hitless set v8 up\n"},
    {"QinQ", .have = "nic eth0\n",
     .want = "vlan s5 parent eth0 id 5 protocol 0x88a8 up\nvlan c6 parent s5 id 6 up\n"
             "address c6 10.6.0.2/24\n",
     .plan = "hitless create vlan s5 parent eth0 vlan_id 5 vlan_protocol 802.1ad\n"
             "hitless create vlan c6 parent s5 vlan_id 6 vlan_protocol 802.1q\n"
             "hitless set s5 up\n"
             "hitless add address 10.6.0.2/24 dev c6\n"},
    {"a VLAN's flags change live",
     .have = "nic eth0\nvlan v7 parent eth0 id 7\naddress v7 10.7.0.2/24\n",
     .want = "vlan v7 parent eth0 id 7 flags 3\naddress v7 10.7.0.2/24\n",
     .plan = "hitless set v7 vlan_flags reorder_hdr,gvrp\n"},
    {"a bridge, its ports and filtering", .have = "nic eth0\nnic eth1\n",
     .want = "nic eth0 master br0\nnic eth1 master br0\nbridge br0 stp 1 filtering 1 up\n"
             "address br0 10.0.0.2/24\n",
     .plan = "hitless create bridge br0 stp on vlan_filtering on\n"
             "hitless set eth0 master br0\n"
             "hitless set eth1 master br0\n"
             "hitless set br0 up\n"
             "hitless add address 10.0.0.2/24 dev br0\n"},
    {"a bridge's ports are those that are wanted",
     .have = "nic eth0 master br0\nnic eth1\nbridge br0\naddress br0 10.0.0.2/24\n",
     .want = "nic eth1 master br0\nbridge br0 filtering 1\naddress br0 10.0.0.2/24\n",
     .plan = "hitless set eth1 master br0\n"
             "blip set eth0 master none\n"
             "blip set br0 vlan_filtering on\n"},
    {"a VRF takes a link with what is on it",
     .have = "nic eth0\naddress eth0 10.0.0.2/24\naddress eth0 fd00::2/64\n",
     .want = "nic eth0 master red\nvrf red table 10 up\naddress eth0 10.0.0.2/24\n"
             "address eth0 fd00::2/64\nroute 0.0.0.0/0 via 10.0.0.1 dev eth0 table 10\n",
     .plan = "hitless create vrf red table 10\n"
             "address-break set eth0 master red\n"
             "hitless put back address fd00::2/64 dev eth0\n"
             "hitless set red up\n"
             "hitless add route default via 10.0.0.1 dev eth0 table 10\n"},
    {"what the kernel has on a link goes into its VRF, and out of it, too",
     .have = "nic eth0\nnic eth1\nnic eth2 master red\nvrf red table 10\n"
             "address eth0 10.0.0.2/24\naddress eth1 10.1.0.2/24\naddress eth2 10.2.0.2/24\n",
     .want = "nic eth0 master red\nnic eth1\nnic eth2 master \nvrf red table 10 up\n"
             "address eth0 10.0.0.2/24\naddress eth1 10.1.0.2/24\naddress eth2 10.2.0.2/24\n"
             "route 10.0.0.0/24 via 10.1.0.1 dev eth1\n"
             "route 10.2.0.0/24 via 10.0.0.1 dev eth0 table 10\n"
             "route 10.0.0.0/24 via 10.0.0.1 dev eth0 table 10\n"
             "route 10.2.0.0/24 via 10.1.0.1 dev eth1\n",
     .plan = "blip set eth0 master red\n"
             "blip set eth2 master none\n"
             "hitless add route 10.2.0.0/24 via 10.0.0.1 dev eth0 table 10\n"
             "hitless add route 10.0.0.0/24 via 10.1.0.1 dev eth1\n"
             "! route 10.2.0.0/24 via 10.1.0.1 dev eth1 is refused: 10.2.0.0/24 dev eth2 src "
             "10.2.0.2 belongs to the kernel (protocol 2)\n"
             "! route 10.0.0.0/24 via 10.0.0.1 dev eth0 table 10 is refused: 10.0.0.0/24 dev eth0 "
             "src 10.0.0.2 table 10 belongs to the kernel (protocol 2)\n"},
    {"veth ends come and go together", .have = "veth a0 peer a1\nveth a1 peer a0\n",
     .want = "veth b0 peer b1 up\nveth b1 peer b0 up\naddress b0 10.0.0.2/24\n",
     .plan = "hitless create veth b0 peer b1\n"
             "hitless set b0 up\n"
             "hitless set b1 up\n"
             "hitless add address 10.0.0.2/24 dev b0\n"
             "blip delete veth a0\n"},
    {"what is on either end of a veth goes by steps of its own",
     .have = "veth a0 peer a1\nveth a1 peer a0\naddress a1 10.0.0.2/24\n"
             "vlan v7 parent a1 id 7\nvlan v77 parent v7 id 77\naddress v77 10.7.0.2/24\n"
             "route 0.0.0.0/0 via 10.0.0.1 dev a1\n",
     .want = "", .management = "a1",
     .plan = "management-path delete route default via 10.0.0.1 dev a1\n"
             "management-path delete address 10.0.0.2/24 dev a1\n"
             "address-break delete vlan v7\n"
             "management-path delete veth a0\n"},
    {"a veth that goes costs what its other end carries",
     .have = "veth a0 peer a1 down\nveth a1 peer a0 master br0\nbridge br0\n"
             "address br0 10.0.0.2/24\n",
     .want = "bridge br0\naddress br0 10.0.0.2/24\n", .management = "br0",
     .plan = "management-path delete veth a0\n"},
    {"both ends of a veth stay for what another program has on one",
     .have = "veth a0 peer a1\nveth a1 peer a0\naddress a1 10.0.0.2/24 proto 99\n", .want = "",
     .plan = "! 'a0' is kept: another program uses it: 10.0.0.2/24 dev a1\n"
             "! 'a1' is kept: another program uses it: 10.0.0.2/24 dev a1\n"},
    {"dummy and WireGuard", .have = "",
     .want = "dummy d0 up\nwireguard wg0 port 51820 up\naddress d0 10.0.0.2/32\n"
             "address wg0 10.1.0.2/24\n",
     .plan = "hitless create dummy d0\n"
             "hitless create wireguard wg0\n"
             "hitless set wg0 listen-port 51820\n"
             "hitless set d0 up\n"
             "hitless set wg0 up\n"
             "hitless add address 10.0.0.2/32 dev d0\n"
             "hitless add address 10.1.0.2/24 dev wg0\n"},
    {"WireGuard's settings change in place", .have = "wireguard wg0 port 51820\n",
     .want = "wireguard wg0 port 51821\n", .plan = "hitless set wg0 listen-port 51821\n"},
    {"what is deleted goes last, and takes along what is on it",
     .have = "nic eth0 master bond0\nbond bond0 mode 1 miimon 100\nvlan v7 parent bond0 id 7\n"
             "vlan v77 parent v7 id 77\naddress v77 10.7.0.2/24\n",
     .want = "nic eth0 master \naddress eth0 10.7.0.2/24\n",
     .plan = "blip set eth0 master none\n"
             "hitless add address 10.7.0.2/24 dev eth0\n"
             "address-break delete bond bond0\n"},
    {"VLANs that nothing is on cost no more than what they are on",
     .have = "bond bond0 mode 1 miimon 100\nvlan v7 parent bond0 id 7\n"
             "vlan v77 parent v7 id 77\nbond bond1 mode 1 miimon 100 down\n"
             "vlan w7 parent bond1 id 7 down\nbond bond2 mode 1 miimon 100\n"
             "vlan x7 parent bond2 id 7 master br0\nbridge br0\n",
     .want = "bridge br0\n",
     .plan = "blip delete bond bond0\n"
             "hitless delete bond bond1\n"
             "address-break delete bond bond2\n"},
    {"what is on them counts, also for the operator",
     .have = "bond bond0 mode 1 miimon 100\nvlan v7 parent bond0 id 7 master br0\nbridge br0\n"
             "address br0 10.0.0.2/24\n",
     .want = "bridge br0\naddress br0 10.0.0.2/24\n", .management = "br0",
     .plan = "management-path delete bond bond0\n"},
    {"a VLAN goes alone where what it is on stays",
     .have =
         "nic eth0\nvlan v7 parent eth0 id 7\nvlan v8 parent eth0 id 8\naddress v7 10.7.0.2/24\n"
         "address v8 10.8.0.2/24\nroute 10.9.0.0/16 via 10.7.0.1 dev v7\n"
         "route 10.6.0.0/16 via 10.8.0.1 dev v8 src 10.7.0.2\n",
     .want = "nic eth0\nvlan v8 parent eth0 id 8\naddress v8 10.8.0.2/24\n"
             "route 10.6.0.0/16 via 10.8.0.1 dev v8\n",
     .plan = "hitless replace route 10.6.0.0/16 via 10.8.0.1 dev v8\n"
             "address-break delete vlan v7\n"},

    /* --- classes --- */
    {"the operator's link goes into a bond",
     .have =
         "nic eth0\nnic eth1\naddress eth0 10.0.0.2/24\nroute 0.0.0.0/0 via 10.0.0.1 dev eth0\n",
     .want = "nic eth0 master bond0\nnic eth1 master bond0\nbond bond0 mode 1 miimon 100 up\n"
             "address bond0 10.0.0.2/24\nroute 0.0.0.0/0 via 10.0.0.1 dev bond0\n",
     .management = "eth0",
     .plan = "hitless create bond bond0 mode active-backup miimon 100\n"
             "management-path set eth0 down\n"
             "management-path set eth0 master bond0\n"
             "hitless set eth1 down\n"
             "hitless set eth1 master bond0\n"
             "hitless set bond0 up\n"
             "hitless add address 10.0.0.2/24 dev bond0\n"
             "hitless add route default via 10.0.0.1 dev bond0\n"
             "management-path delete address 10.0.0.2/24 dev eth0\n"},
    {"below the operator's VLAN",
     .have = "nic eth0 master bond0\nnic eth5\nbond bond0 mode 4 miimon 100\n"
             "vlan v7 parent bond0 id 7\naddress v7 10.7.0.2/24\n",
     .want = "nic eth0 master bond0\nnic eth5 mtu 9000\nbond bond0 mode 4 miimon 100 lacp_rate 1\n"
             "vlan v7 parent bond0 id 7\naddress v7 10.7.0.2/24\n",
     .management = "v7",
     .plan = "hitless set v7 vlan_flags reorder_hdr,loose_binding\n"
             "management-path set bond0 down\n"
             "hitless set bond0 lacp_rate fast\n"
             "hitless set bond0 up\n"
             "hitless set v7 vlan_flags reorder_hdr\n"
             "hitless wait for the carrier of bond0, at most 10000 ms\n"
             "hitless set eth5 mtu 9000\n"},
    {"drift: only what is hitless",
     .have = "nic eth0\nnic eth1 master bond0\nbond bond0 mode 4 miimon 100\n"
             "dummy d9\naddress eth0 10.0.0.2/24\naddress eth0 10.9.0.2/24\n"
             "route 10.5.0.0/16 via 10.0.0.1 dev eth0\nroute 10.6.0.0/16 via 10.0.0.1 dev eth0\n"
             "rule 200 from 10.1.0.0/16 table 7\n",
     .want = "nic eth0 mtu 9000 multicast 0\nnic eth1 master \n"
             "bond bond0 mode 1 miimon 200 fail_over_mac 1\ndummy d0 up\n"
             "address eth0 10.0.0.2/24 metric 7\naddress eth0 10.8.0.2/24\n"
             "route 10.5.0.0/16 via 10.0.0.3 dev eth0\nrule 100 from 10.0.0.0/16 table 7\n",
     .only_hitless = true,
     .plan = "hitless create dummy d0\n"
             "hitless set eth0 multicast off\n"
             "hitless set d0 up\n"
             "hitless change address 10.0.0.2/24 dev eth0 metric 7\n"
             "hitless add address 10.8.0.2/24 dev eth0\n"
             "hitless replace route 10.5.0.0/16 via 10.0.0.3 dev eth0\n"
             "hitless add rule 100: from 10.0.0.0/16 lookup 7\n"},
    {"drift: a port without a cable does not let min_links rise",
     .have = "nic eth0 master bond0\nnic eth1 master bond0 down\n"
             "bond bond0 mode 4 miimon 100 min_links 1\n",
     .want = "nic eth0 master bond0\nnic eth1 master bond0\nbond bond0 mode 4 miimon 100 "
             "min_links 2\n",
     .only_hitless = true, .plan = ""},

    /* --- leases --- */
    {"a lease has changed: nothing else is touched, and what has to be put back is",
     .have = "nic eth0\nnic eth1\ndummy d9\naddress eth0 10.0.0.2/24\n"
             "address eth0 10.0.0.3/24 secondary\n"
             "address eth0 fd00::2/64\naddress eth1 10.1.0.2/24\n"
             "route 0.0.0.0/0 via 10.0.0.1 dev eth0 src 10.0.0.2\n"
             "route 10.7.0.0/16 via 10.0.0.1 dev eth0 src 10.0.0.2 metric 9\n"
             "route 10.6.0.0/16 via 10.1.0.1 dev eth1\nrule 100 from 10.0.0.0/16 table 6\n",
     .want = "nic eth0 mtu 9000\nnic eth1\ndummy d0 up\naddress eth0 10.8.0.2/24\n"
             "address eth0 10.0.0.3/24\naddress eth1 10.1.0.7/24\n"
             "route 0.0.0.0/0 via 10.8.0.1 dev eth0 src 10.8.0.2\n"
             "route 10.6.0.0/16 via 10.1.0.3 dev eth1\nrule 100 from 10.0.0.0/16 table 7\n",
     .only_on = "eth0",
     .plan = "hitless add address 10.8.0.2/24 dev eth0\n"
             "hitless replace route default via 10.8.0.1 dev eth0 src 10.8.0.2\n"
             "address-break delete route 10.7.0.0/16 via 10.0.0.1 dev eth0 src 10.0.0.2 metric 9\n"
             "hitless set eth0 promote_secondaries on\n"
             "address-break delete address 10.0.0.2/24 dev eth0\n"
             "hitless set eth0 promote_secondaries off\n"
             "address-break delete address fd00::2/64 dev eth0\n"},
    /* --- a NIC that comes late, or again --- */
    {"drift: a new NIC becomes a port before anything else opens it",
     .have = "nic eth0 master bond0\nnic eth1 down mtu 9000\nbond bond0 mode 4 miimon 100\n"
             "address bond0 10.0.0.2/24\nroute 0.0.0.0/0 via 10.0.0.1 dev bond0\n",
     .want = "nic eth0 up master bond0\nnic eth1 up master bond0\n"
             "bond bond0 mode 4 miimon 100\naddress bond0 10.0.0.2/24\n"
             "route 0.0.0.0/0 via 10.0.0.1 dev bond0\n",
     .only_hitless = true, .plan = "hitless set eth1 master bond0\n"},
    {"drift: so does one that somebody has opened, and nobody uses",
     .have = "nic eth0 master bond0\nnic eth1\naddress eth1 fe80::1/64 proto 2\n"
             "bond bond0 mode 1 miimon 100\naddress bond0 10.0.0.2/24\n",
     .want = "nic eth0 up master bond0\nnic eth1 up master bond0\n"
             "bond bond0 mode 1 miimon 100\naddress bond0 10.0.0.2/24\n",
     .only_hitless = true,
     .plan = "hitless set eth1 down\n"
             "hitless set eth1 master bond0\n"},
    {"drift: a bridge's new port has its MTU first, and its settings before it is opened",
     .have = "nic eth1 down\nbridge br0 mtu 9000\naddress br0 10.0.0.2/24\n",
     .want = "nic eth1 up mtu 9000 mac 02:00:00:00:00:07 master br0\nbridge br0 mtu 9000\n"
             "address br0 10.0.0.2/24\n",
     .only_hitless = true,
     .plan = "hitless set eth1 mtu 9000\n"
             "hitless set eth1 master br0\n"
             "hitless set eth1 mac 02:00:00:00:00:07\n"
             "hitless set eth1 up\n"},
    {"drift: what others use, or have, is no port of ours, and is not opened",
     .have = "nic eth1\nnic eth2\nnic eth3\nnic eth4 master br9\nnic eth5 down\nnic eth6 down\n"
             "nic eth7\naddress eth7 fe80::7/64 proto 98\n"
             "bond bond0 mode 1 miimon 100\nbridge br9 foreign\nbond bond9 foreign mode 1\n"
             "address eth1 10.1.0.9/24 proto 0\nvlan v7 foreign parent eth2 id 7\n"
             "route 10.9.0.0/16 dev eth3 proto 12\naddress eth5 10.5.0.9/24 proto 0\n",
     .want = "nic eth1 up master bond0\nnic eth2 up master bond0\nnic eth3 up master bond0\n"
             "nic eth4 up master bond0\nnic eth5 up master bond0\nnic eth6 up master bond9\n"
             "nic eth7 up master bond0\n"
             "bond bond0 mode 1 miimon 100\n",
     .only_hitless = true, .plan = ""},
    {"drift: a new NIC without a master", .have = "nic eth1 down\n",
     .want = "nic eth1 up mtu 9000\nvlan v7 parent eth1 id 7 mtu 9000 up\naddress v7 10.7.0.2/24\n"
             "address eth1 10.0.0.2/24\nroute 0.0.0.0/0 via 10.7.0.1 dev v7\n",
     .only_hitless = true,
     .plan = "hitless create vlan v7 parent eth1 vlan_id 7 vlan_protocol 802.1q\n"
             "hitless set eth1 mtu 9000\n"
             "hitless set v7 mtu 9000\n"
             "hitless set eth1 up\n"
             "hitless add address 10.0.0.2/24 dev eth1\n"
             "hitless add address 10.7.0.2/24 dev v7\n"
             "hitless add route default via 10.7.0.1 dev v7\n"},
};

static void check(const struct golden *golden)
{
	const struct conf_strings only_on = {.items = (char *[]){(char *) (uintptr_t) golden->only_on},
	                                     .n = 1};
	const struct plan_options options = {
	    .management_link = golden->management,
	    .only_hitless = golden->only_hitless,
	    .only_on = golden->only_on != NULL ? &only_on : NULL,
	};
	AUTO(model_free) struct model *have = plancase_have(golden->have);
	AUTO(model_free) struct model *want = plancase_want(golden->want);
	AUTO(fakekernel_free) struct fakekernel *k = fakekernel_new(have);
	AUTO(plan_free) struct plan *plan = plancase_apply(k, want, &options, golden->name);

	if (!CHECK_EQ_STR(plancase_text(plan), golden->plan))
		(void) fprintf(stderr, "of: %s\n", golden->name);
}

/* --- adopted objects: ours, with the mark of whoever made them --- */

static const struct route *route_to(const struct model *m, const char *text)
{
	struct prefix dst = {0};

	CHECK_EQ_INT(prefix_parse(text, &dst), 0);
	for (size_t i = 0; i < m->n_routes; i++) {
		if (prefix_equal(&m->routes[i].dst, &dst))
			return &m->routes[i];
	}
	return NULL;
}

static int mark_of(const struct model *m, const char *text)
{
	const struct route *route = route_to(m, text);

	return route != NULL ? route->protocol : -1;
}

static const char adopted_have[] =
    "nic eth0\naddress eth0 10.0.0.2/24 proto 0 adopted\naddress eth0 10.9.0.2/24 proto 0 adopted\n"
    "route 10.5.0.0/16 via 10.0.0.1 dev eth0 proto 4 adopted\n"
    "route 10.6.0.0/16 via 10.0.0.1 dev eth0 proto 3 adopted\n"
    "route 10.7.0.0/16 via 10.0.0.1 dev eth0 proto 4 adopted\n";
static const char adopted_want[] = "address eth0 10.0.0.2/24\n"
                                   "route 10.5.0.0/16 via 10.0.0.9 dev eth0\n"
                                   "route 10.7.0.0/16 via 10.0.0.1 dev eth0\n";

static void test_adopted(void)
{
	AUTO(model_free) struct model *have = plancase_have(adopted_have);
	AUTO(model_free) struct model *want = plancase_want(adopted_want);
	AUTO(fakekernel_free) struct fakekernel *k = fakekernel_new(have);
	AUTO(plan_free) struct plan *plan = plancase_apply(k, want, NULL, "adopted");
	const struct plan_options undo = {.management_link = "", .undone = plan};
	AUTO(plan_free) struct plan *back = NULL;

	CHECK_EQ_STR(plancase_text(plan),
	             "hitless replace route 10.5.0.0/16 via 10.0.0.9 dev eth0\n"
	             "address-break delete route 10.6.0.0/16 via 10.0.0.1 dev eth0\n"
	             "address-break delete address 10.9.0.2/24 dev eth0\n");
	CHECK_EQ_INT(mark_of(fakekernel_observe(k), "10.5.0.0/16"), NETCONF_PROTOCOL);
	CHECK_EQ_INT(mark_of(fakekernel_observe(k), "10.7.0.0/16"), RTPROT_STATIC);
	back = plan_make(have, fakekernel_observe(k), &undo);
	(void) plancase_carry_out(k, back, back->n_ops, "adopted, and back");
	CHECK_EQ_INT(mark_of(fakekernel_observe(k), "10.5.0.0/16"), RTPROT_STATIC);
	CHECK_EQ_INT(mark_of(fakekernel_observe(k), "10.6.0.0/16"), RTPROT_BOOT);
	CHECK_EQ_INT(fakekernel_observe(k)->n_addresses, 2);
	for (size_t i = 0; i < fakekernel_observe(k)->n_addresses; i++)
		CHECK_EQ_INT(fakekernel_observe(k)->addresses[i].protocol, IFAPROT_UNSPEC);
}

/* An address of a lease ends with it. */
static void test_lifetimes(void)
{
	static const struct {
		const char *have, *want, *steps;
	} cases[] = {
	    {"valid 100", "valid 3600", "hitless change address 10.0.0.2/24 dev eth0\n"},
	    {"valid 3595", "valid 3600", ""},
	    {"", "valid 3600", "hitless change address 10.0.0.2/24 dev eth0\n"},
	    {"valid 100", "", "hitless change address 10.0.0.2/24 dev eth0\n"},
	    /* What another client has left is taken over. */
	    {"proto 0 valid 100", "valid 3600", ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		AUTO(free)
		char *was = xasprintf("nic eth0\naddress eth0 10.0.0.2/24 %s\n", cases[i].have);
		AUTO(free)
		char *wanted = xasprintf("nic eth0\naddress eth0 10.0.0.2/24 %s\n", cases[i].want);
		AUTO(model_free) struct model *have = plancase_have(was);
		AUTO(model_free) struct model *want = plancase_want(wanted);
		AUTO(plan_free)
		struct plan *plan = plan_make(want, have, &(struct plan_options){.management_link = ""});

		if (!CHECK_EQ_STR(plancase_text(plan), cases[i].steps))
			(void) fprintf(stderr, "case %zu\n", i);
	}
}

/* A NIC comes without its cable: the bond counts on it only when it has its carrier. */
static void check_late(const char *bond, const char *before, const char *after, const char *step)
{
	static const struct plan_options options = {.management_link = "", .only_hitless = true};
	AUTO(free)
	char *had = xasprintf("nic eth0 master bond0\nnic eth1 down\n%s %s\n", bond, before);
	AUTO(free)
	char *wanted =
	    xasprintf("nic eth0 master bond0\nnic eth1 up master bond0\n%s %s\n", bond, after);
	AUTO(model_free) struct model *have = plancase_have(had), *want = plancase_want(wanted);
	AUTO(fakekernel_free) struct fakekernel *k = fakekernel_new(have);
	AUTO(plan_free) struct plan *enter = NULL, *rise = NULL;

	fakekernel_unplug(k, "eth1");
	enter = plancase_apply(k, want, &options, "without its cable");
	CHECK_EQ_STR(plancase_text(enter), "hitless set eth1 master bond0\n");
	fakekernel_unplug(k, "");
	rise = plancase_apply(k, want, &options, "with its cable");
	CHECK_EQ_STR(plancase_text(rise), step);
}

static void test_late_without_cable(void)
{
	check_late("bond bond0 mode 4 miimon 100", "min_links 1", "min_links 2",
	           "hitless set bond0 min_links 2\n");
	check_late("bond bond0 mode 1 miimon 100", "primary eth0", "primary eth1",
	           "hitless set bond0 primary eth1\n");
}

/* What it does not have it cannot be asked for; as it does without being asked, it may be. */
static void test_lacking(void)
{
	AUTO(model_free) struct model *have = plancase_have("nic eth0\n");
	AUTO(model_free)
	struct model *want = plancase_want(
	    "bond bond0 mode 1 miimon 0 arp_interval 100 missed_max 5 ns_ip6_target fd00::1 up\n"
	    "bond bond1 mode 4 miimon 100 lacp_active 1 missed_max 2\n");
	AUTO(fakekernel_free) struct fakekernel *k = fakekernel_new(have);
	AUTO(plan_free) struct plan *plan = NULL;

	have->bond_lacks =
	    BOND_BIT(BOND_LACP_ACTIVE) | BOND_BIT(BOND_MISSED_MAX) | BOND_BIT(BOND_NS_IP6_TARGET);
	plan = plan_make(want, have, NULL);
	CHECK_EQ_STR(
	    plancase_text(plan),
	    "hitless create bond bond0 mode active-backup miimon 0 arp_interval 100\n"
	    "hitless create bond bond1 mode 802.3ad miimon 100\n"
	    "hitless set bond0 up\n"
	    "! 'bond0': this kernel's bonds have no ns_ip6_target ('nsIp6Targets'): leave it "
	    "out, or take a newer kernel\n"
	    "! 'bond0': this kernel's bonds have no missed_max ('missedMax'): leave it out, or "
	    "take a newer kernel\n");
	CHECK(plancase_carry_out(k, plan, plan->n_ops, "what a kernel lacks"));
}

int main(void)
{
	for (size_t i = 0; i < sizeof(goldens) / sizeof(goldens[0]); i++)
		check(&goldens[i]);
	test_adopted();
	test_lifetimes();
	test_late_without_cable();
	test_lacking();
	return check_result();
}
