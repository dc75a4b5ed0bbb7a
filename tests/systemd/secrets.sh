# SPDX-License-Identifier: Apache-2.0
# What each daemon may read of a node's secrets is what SECURITY.md says: every file of its table is opened in
# the daemon's own mount namespace with its user, groups and capabilities. A key of etcd's client that is
# replaced is seen by vipd, also where all of Kubernetes came after it; a secret that is replaced is hidden
# again after a restart.

UNIT='fairlead-*'
DAEMONS='vipd prism etcdwatch netconf'

of_status() { # PID FIELD
	sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status"
}

as_daemon() { # DAEMON COMMAND...
	local pid caps=-all i mask groups
	pid=$(main_pid "$1")
	mask=$((16#$(of_status "$pid" CapEff)))
	for ((i = 0; i <= $(</proc/sys/kernel/cap_last_cap); i++)); do
		((!(mask >> i & 1))) || caps+=,+cap_$i
	done
	groups=$(of_status "$pid" Groups | xargs | tr ' ' ,)
	set -- "$pid" "${@:2}"
	local drop=(--reuid "$(of_status "$pid" Uid | cut -f 1)" --regid "$(of_status "$pid" Gid | cut -f 1)"
		--inh-caps "$caps" --bounding-set "$caps")
	# root has what is in the bounding set.
	[[ $(of_status "$pid" Uid) == 0* ]] || drop+=(--ambient-caps "$caps")
	if [[ -n $groups ]]; then drop+=(--groups "$groups"); else drop+=(--clear-groups); fi
	nsenter --target "$pid" --mount -- setpriv "${drop[@]}" "${@:2}"
}

reads() { # DAEMON FILE
	as_daemon "$1" grep -q "^secret of $2$" "$2"
}

# root's alone, behind what is there.
secret_new() { # FILE
	mkdir -p "$(dirname "$1")"
	(umask 077 && echo "secret of $1" >>"$1")
	chmod 600 "$1"
}

# Rows that have files in them: the files, and a word a daemon.
table() {
	awk -F '|' '/^\| secret \|/ { on = 1; next } on && !/^\|/ { exit } on && /`/ {
		n = split($2, part, "`")
		for (i = 2; i <= n; i += 2)
			print part[i], $3, $4, $5, $6 }' "$WORK/docs/SECURITY.md"
}

walk() {
	local row daemon column does n=0 wrong=0
	while read -ra row; do
		column=0
		for daemon in $DAEMONS; do
			column=$((column + 1))
			does=no
			! reads "$daemon" "${row[0]}" 2>/dev/null || does=yes
			n=$((n + 1))
			[[ $does == "${row[column]}" ]] || {
				echo "$daemon ${row[0]}: $does, and SECURITY.md says ${row[column]}"
				wrong=$((wrong + 1))
			}
		done
	done < <(table)
	echo "$n answers, $wrong of them wrong"
	[[ $n -ge 160 && $wrong -eq 0 ]]
}

CLIENT_KEY=/etc/kubernetes/pki/apiserver-etcd-client.key
[[ $(find /etc/kubernetes) == $'/etc/kubernetes\n/etc/kubernetes/pki' ]]
node_make
systemctl start fairlead-{vipd,prism,etcdwatch,netconf}
wait_until 60 all_run $DAEMONS
wait_until 60 is_owner

# Kubernetes comes after vipd.
while read -r file _; do
	secret_new "$file"
done < <(table)
chown fairlead-etcdwatch /var/lib/fairlead/etcdwatch/secret
chown fairlead-prism /var/lib/fairlead/prism/secret /etc/fairlead/pki/probe.key
chown 1234 /home/operator/secret
reads vipd "$CLIENT_KEY"
refute reads vipd /etc/kubernetes/admin.conf

systemctl restart fairlead-{vipd,prism,etcdwatch,netconf}
wait_until 60 all_run $DAEMONS
has_vip
walk

# A key that is renewed is put in the place of the old one.
echo renewed >"$CLIENT_KEY.new"
chmod 600 "$CLIENT_KEY.new"
mv "$CLIENT_KEY.new" "$CLIENT_KEY"
as_daemon vipd grep -qx renewed "$CLIENT_KEY"

cp -a /etc/kubernetes/pki/ca.key /etc/kubernetes/pki/ca.key.new
mv /etc/kubernetes/pki/ca.key.new /etc/kubernetes/pki/ca.key
secret_new "$CLIENT_KEY"
systemctl restart fairlead-vipd fairlead-netconf
has_vip
walk
