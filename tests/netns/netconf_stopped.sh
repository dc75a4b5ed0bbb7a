#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# netconf hangs while a confirmation is awaited: it lives, and does nothing at its deadline. Its guard
# waits a while longer, ends it, and brings the old network back.
. "$(dirname "$0")/lib-netconf.sh"

node_new
mkdir -p "$T/files"
netconf_start
config_write new <<'YAML'
apiVersion: v1alpha1
kind: LinkConfig
name: eth0
mtu: 1300
addresses:
  - address: 10.1.0.1/24
YAML
network >"$LOG_DIR/before"
apply new --confirm-within 10s
signal STOP netconf
say "it is stopped, and its deadline passes"
wait_until 45 gone netconf
wait_until 20 is_before
wait_until 10 nobody_guards
expect "it says so" log_says netconf 'daemon_stuck'
netconf_start
expect "it was undone" status_is .last.how rolled-back
