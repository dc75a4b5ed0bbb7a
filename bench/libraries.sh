# SPDX-License-Identifier: Apache-2.0
# Libraries that only what is measured has mapped, so that what it costs does not look smaller because
# something else on the machine has them, too: copies in $T/lib-SET, for LD_LIBRARY_PATH.

own_libraries() { # SET PROGRAM...
	local set=$1
	shift
	mkdir -p "$T/lib-$set"
	ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u | xargs cp -Lt "$T/lib-$set"
}
