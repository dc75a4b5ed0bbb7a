# SPDX-License-Identifier: Apache-2.0
# Libraries that only what is measured has mapped, so that what it costs does not look smaller because
# something else on the machine has them, too.

# Copies, to be had as $T/lib-SET for LD_LIBRARY_PATH. On a disk and written to it: else they would count as
# memory that the kernel cannot drop.
own_libraries() { # SET PROGRAM...
	local set=$1 copies=$BENCH_DIR/libraries/$1
	shift
	rm -rf "$copies"
	mkdir -p "$copies" "$T/lib-$set"
	ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u | xargs cp -Lt "$copies"
	sync "$copies"/*
	mount --bind "$copies" "$T/lib-$set"
}
