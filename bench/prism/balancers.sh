# SPDX-License-Identifier: Apache-2.0
# The balancers, each with one worker thread, as nobody, pinned to its CPU, and set up as well as we know
# how to. `balancer_start NAME CHECKS UPSTREAM...`: CHECKS is on (TLS checks of /readyz, verified) or
# off (connects only), which nginx, who cannot check, ignores. 127.0.0.1:${PORT[NAME]} is ready
# when it returns.

declare -A PORT=([prism]=7445 [haproxy]=7446 [haproxy_splice]=7447 [nginx]=7448)
HELD_MAX=8000 # idle connections that each must be able to hold

as_nobody=(setpriv --reuid nobody --regid nogroup --clear-groups --inh-caps=-all --bounding-set=-all)

balancer_start() { # NAME CHECKS UPSTREAM...
	local name=$1
	mkdir -p "$T/$name"
	"$name"_config "${@:2}" >"$T/$name/config.${CONFIG_SUFFIX[$name]}"
	chown -R nobody:nogroup "$T/$name"
	# shellcheck disable=SC2086
	[[ -d $T/lib-$name ]] || own_libraries "$name" ${PROGRAMS[$name]}
	"$name"_start
	wait_until 5 listens "${PORT[$name]}"
	# nginx listens before its worker is there to accept.
	[[ $name != nginx ]] || wait_until 5 pgrep -P "${PID[nginx]}"
}

balancer_stop() { # NAME
	local pids pid
	mapfile -t pids < <(balancer_pids "$1")
	# The master first: it would start another worker.
	stop "$1"
	for pid in "${pids[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	wait_until 5 is_closed "${PORT[$1]}"
}

# The processes that carry connections; prism-probe is not one of them.
balancer_pids() { # NAME
	echo "${PID[$1]}"
	[[ $1 != nginx ]] || pgrep -P "${PID[nginx]}"
}

cpu_of() { # NAME; arguments for load
	local pid
	for pid in $(balancer_pids "$1"); do
		printf -- '--cpu-of %s ' "$pid"
	done
}

declare -A PROGRAMS=([prism]="$BUILD/bin/prism $BUILD/bin/prism-probe" [haproxy]=$(type -P haproxy)
	[nginx]=$(type -P nginx))
declare -A CONFIG_SUFFIX=([prism]=yaml [haproxy]=cfg [nginx]=conf)

prism_config() { # CHECKS UPSTREAM...
	local checks=$1 upstream
	shift
	echo 'apiVersion: fairlead/v1'
	echo 'kind: PrismConfig'
	echo "listen: [127.0.0.1:${PORT[prism]}]"
	echo 'upstreams:'
	echo '  local: "off"'
	echo '  static:'
	for upstream; do
		echo "    - $upstream"
	done
	echo 'healthCheck:'
	if [[ $checks == on ]]; then
		echo "  caFile: $PKI/cluster-ca.crt"
	else
		echo '  enabled: false'
	fi
	echo 'stateDir: ""'
}

prism_start() {
	start prism "$BALANCER_CPU" "${as_nobody[@]}" env LD_LIBRARY_PATH="$T/lib-prism" "$T/bin/prism" --config "$T/prism/config.yaml" \
		--runtime-dir "$T/prism" --probe-program "$T/bin/prism-probe"
}

# HAProxy copies small data faster than it splices it, and splices bulk faster than it copies it, so
# it gets a listener for each, and each figure is compared with the better one. retry-on and
# option http-* are not for TCP. Buffers of 16 KiB are its default.
haproxy_config() { # CHECKS UPSTREAM...
	local checks=$1
	shift
	cat <<-CONF
		global
			nbthread 1
			maxconn $((HELD_MAX + 500))
			maxpipes 500
			tune.pipesize 1048576
		defaults
			mode tcp
			timeout connect 250ms
			timeout client 1h
			timeout server 1h
			timeout check 500ms
			retries 3
			option redispatch 1
			balance leastconn
	CONF
	haproxy_proxy haproxy "$checks" "$@"
	[[ $checks == on ]] || haproxy_proxy haproxy_splice "$checks" "$@"
}

haproxy_proxy() { # NAME CHECKS UPSTREAM...
	local name=$1 checks=$2 upstream n=0
	shift 2
	echo "listen $name"
	echo "	bind 127.0.0.1:${PORT[$name]} backlog 4096"
	if [[ $name == haproxy_splice ]]; then
		echo '	option splice-request'
		echo '	option splice-response'
	fi
	if [[ $checks == on ]]; then
		echo '	option httpchk'
		echo '	http-check send meth GET uri /readyz ver HTTP/1.1 hdr host kubernetes'
		echo '	http-check expect status 200'
		echo '	default-server inter 1s fastinter 250ms downinter 1s rise 2 fall 2' \
			"check check-ssl check-sni kubernetes verify required verifyhost kubernetes ca-file $PKI/cluster-ca.crt" \
			'observe layer4 error-limit 1 on-error mark-down'
	fi
	for upstream; do
		echo "	server u$((n += 1)) $upstream"
	done
}

haproxy_start() {
	start haproxy "$BALANCER_CPU" "${as_nobody[@]}" env LD_LIBRARY_PATH="$T/lib-haproxy" haproxy -db -f "$T/haproxy/config.cfg"
}

nginx_config() { # CHECKS UPSTREAM...
	local upstream
	shift
	cat <<-CONF
		load_module /usr/lib/nginx/modules/ngx_stream_module.so;
		daemon off;
		worker_processes 1;
		pid $T/nginx/pid;
		error_log stderr crit;
		events {
			worker_connections $((2 * HELD_MAX + 500));
			multi_accept on;
		}
		stream {
			upstream api {
				least_conn;
	CONF
	for upstream; do
		echo "server $upstream max_fails=1 fail_timeout=5s;"
	done
	cat <<-CONF
			}
			server {
				listen 127.0.0.1:${PORT[nginx]} backlog=4096;
				proxy_pass api;
				proxy_timeout 1h;
				proxy_connect_timeout 250ms;
				proxy_next_upstream on;
			}
		}
	CONF
}

nginx_start() {
	start nginx "$BALANCER_CPU" "${as_nobody[@]}" env LD_LIBRARY_PATH="$T/lib-nginx" nginx -e stderr -p "$T/nginx" \
		-c "$T/nginx/config.conf"
}
