# SPDX-License-Identifier: Apache-2.0
# fairlead-etcdwatch.service as it is installed, beside an etcd: it reads what root alone can read, takes,
# packs and encrypts a snapshot, and a drill of it goes well, with namespaces and an etcd of its own.
# When it is killed in the middle of one it is started anew; when it is stopped it goes at once; either
# way nothing of the drill is left.

DIR=/var/lib/fairlead/etcdwatch/hourly
UNIT=fairlead-etcdwatch

status_is() { # FILTER VALUE
	[[ $(fairlead -o json etcd snapshot jobs | jq -r "$1") == "$2" ]]
}

hangs() {
	pgrep -f 'sleep 987'
}

# One that hangs is under way; it is asked for until the daemon has come so far as to begin it.
drill_hangs() {
	pgrep -x fairlead >/dev/null || (fairlead etcd drill || true) &
	hangs
}

nothing_is_left() {
	! hangs && ! pgrep -f 'etcdwatch-worker drill' && [[ ! -e $DIR/drill ]]
}

mkdir -p /opt/tools /etc/kubernetes/pki
tool=$(type -P etcdutl || type -P etcdctl)
cp "$(type -P etcd)" /opt/tools/etcd-real
ln -s etcd-real /opt/tools/etcd
cp "$tool" /opt/tools/restore-tool
(
	umask 077
	echo secret >/etc/kubernetes/pki/sa.key
	age-keygen -o /etc/fairlead/age.key 2>/dev/null
)
chmod 700 /etc/kubernetes
cat >/etc/fairlead/config.yaml <<YAML
apiVersion: fairlead/v1
kind: EtcdClientConfig
endpoints: [http://127.0.0.1:2379]
---
apiVersion: fairlead/v1
kind: EtcdSnapshotConfig
name: hourly
schedule: "@hourly"
reserve: 1MiB
encryption: {recipients: [$(age-keygen -y /etc/fairlead/age.key)]}
extraFiles: [/etc/kubernetes/pki]
drill:
  schedule: "@yearly"
  timeout: 60s
  identityFile: /etc/fairlead/age.key
  etcd: /opt/tools/etcd
  etcdutl: /opt/tools/restore-tool
YAML
etcd_start

systemctl start "$UNIT"
wait_until 60 status_is .drill.passed_count 1
status_is .snapshots 1
[[ $(cd "$DIR" && echo *.age) == *.db.tar.zst.age ]]
systemctl reload "$UNIT"
wait_until 30 status_is .drill.state idle
[[ -z $(find "$DIR" ! -user fairlead-etcdwatch) ]]

# An etcd that hangs, with a child of its own.
rm /opt/tools/etcd
printf '#!/bin/sh\nsleep 987 & wait\n' >/opt/tools/etcd
chmod 755 /opt/tools/etcd
wait_until 30 drill_hangs
systemctl kill --signal=KILL --kill-who=main "$UNIT"
wait_until 30 nothing_is_left
wait_until 30 status_is .drill.state idle
wait
wait_until 30 drill_hangs
stop_cleanly
nothing_is_left
wait
