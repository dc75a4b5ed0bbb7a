# SPDX-License-Identifier: Apache-2.0
# A stand-in for each node's API server: a real web server with TLS on 6443 that answers /readyz and
# serves the files of $T/www (under /slow/ at 10 kB/s), and the node's name on 8080, so that a client can
# tell who terminates its connection. API_MORE holds further lines for the server on 6443. How it
# answers /readyz is a file that can be changed at any time:
#   ok         200
#   broken     500, with a body like the API server's whose etcd fails
#   ending     the same as after TERM
#   private    401, as with anonymous authentication off
# and what only a process can do: api_stop (refuses), api_quit (ends as on TERM), api_hang (accepts and
# says nothing).

API_MORE=

api_start() { # NODE
	local node=$1 dir=$T/api-$1
	mkdir -p "$dir" "$T/www"
	cat >"$dir/nginx.conf" <<-CONF
		daemon off;
		user root;
		worker_processes 1;
		pid $dir/pid;
		error_log stderr warn;
		events { worker_connections 2048; }
		http {
			log_format story '\$msec \$status \$ssl_server_name \$uri \$ssl_client_s_dn';
			access_log $dir/access.log story;
			client_body_temp_path $dir/body;
			proxy_temp_path $dir/proxy;
			fastcgi_temp_path $dir/fastcgi;
			uwsgi_temp_path $dir/uwsgi;
			scgi_temp_path $dir/scgi;
			keepalive_timeout 600s;
			keepalive_requests 100000;
			default_type text/plain;
			server {
				listen 6443 ssl;
				listen [::]:6443 ssl ipv6only=on;
				ssl_certificate $PKI/api-$node.crt;
				ssl_certificate_key $PKI/api-$node.key;
				root $T/www;
				$API_MORE
				location /slow/ {
					alias $T/www/;
					limit_rate 10k;
				}
				location = /readyz {
					if (-f $dir/broken) {
						return 500 "[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n";
					}
					if (-f $dir/ending) {
						return 500 "[+]ping ok\n[-]shutdown failed: reason withheld\nreadyz check failed\n";
					}
					if (-f $dir/private) {
						return 401 '{"kind":"Status","status":"Failure","code":401}';
					}
					return 200 "ok";
				}
			}
			server {
				access_log off;
				listen 8080;
				listen [::]:8080 ipv6only=on;
				location / { return 200 "$node\n"; }
			}
		}
	CONF
	spawn "api-$node" "$node" nginx -p "$dir" -e stderr -c "$dir/nginx.conf"
}

api_up() {
	local node
	for node in "${NODES[@]}"; do
		api_start "$node"
	done
	for node in "${NODES[@]}"; do
		wait_until 5 inside "$node" curl -sf --max-time 1 http://127.0.0.1:8080/
	done
}

api_answer() { # NODE ok|broken|ending|private
	rm -f "$T/api-$1/broken" "$T/api-$1/ending" "$T/api-$1/private"
	[[ $2 == ok ]] || touch "$T/api-$1/$2"
}

# Master and worker of a node's web server. Found by the namespace: the worker is a child.
api_pids() { # NODE
	local pid
	for pid in $(ip netns pids "$1"); do
		[[ $(cat "/proc/$pid/comm") != nginx ]] || echo "$pid"
	done
}

api_stop() { # NODE
	# shellcheck disable=SC2046
	kill -KILL $(api_pids "$1")
	wait "${PID[api-$1]}" 2>/dev/null || true
	unset "PID[api-$1]"
}

# As an API server on TERM without a delay: stops listening, ends what it has begun, exits.
api_quit() { # NODE
	signal QUIT "api-$1"
}

# How many requests it has answered whose line in its log matches: "200 NAME /PATH SUBJECT".
api_requests() { # NODE PATTERN
	grep -Ec -- "$2" "$T/api-$1/access.log" || true
}

# The kernel still accepts connections; nobody answers.
api_hang() { # NODE
	# shellcheck disable=SC2046
	kill -STOP $(api_pids "$1")
}

api_resume() { # NODE
	# shellcheck disable=SC2046
	kill -CONT $(api_pids "$1")
}

# Who answers a client at the VIP: a node's name.
client_reaches() { # NODE
	local host=$VIP
	[[ $VIP != *:* ]] || host="[$VIP]"
	[[ $(inside cl curl -s --max-time 1 "http://$host:8080/") == "$1" ]]
}
