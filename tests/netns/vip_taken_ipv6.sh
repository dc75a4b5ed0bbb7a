#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The same with an IPv6 address, which is asked for as duplicate address detection does.
VIP=fd86::100
. "$(dirname "$0")/vip_taken.sh"
