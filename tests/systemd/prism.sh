# SPDX-License-Identifier: Apache-2.0
# fairlead-prism.service and its socket: connections go to an upstream; those that come while prism is
# killed, restarted or stopped wait in the queue that systemd holds.

UNIT=fairlead-prism

answers() {
	[[ $(echo hello | timeout 5 socat - TCP:127.0.0.1:7445) == hello ]]
}

ip address add 10.9.9.9/32 dev lo
socat TCP-LISTEN:6443,bind=10.9.9.9,fork,reuseaddr EXEC:cat &
printf '%s\n' 'apiVersion: fairlead/v1' 'kind: PrismConfig' 'upstreams: {static: [10.9.9.9]}' \
	'healthCheck: {enabled: false}' >/etc/fairlead/config.yaml
systemctl start "$UNIT.socket" "$UNIT"
wait_until 30 answers
systemctl reload "$UNIT"
wait_until 30 answers
systemctl kill --signal=KILL --kill-who=main "$UNIT"
wait_until 30 answers
systemctl restart "$UNIT"
wait_until 30 answers
stop_cleanly
answers # it is started for it
