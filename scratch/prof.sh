#!/bin/bash
# limit: 1500
. /work/wt/bench/bench/netconf/world.sh
QUICK=
net_world_enter "$@"
SHAPE=bond WORK=$T NETWORKD_S=1800
N=500
shape_write bond
reports() {
perf report -i $LOG_DIR/$1.data --no-children --stdio -g none 2>/dev/null >$LOG_DIR/$1.flat
perf report -i $LOG_DIR/$1.data --children --stdio -g none 2>/dev/null  >$LOG_DIR/$1.children
}
one() {
fresh
head -3 /proc/stat >$LOG_DIR/stat-$1
heard perf record -e cpu-clock -F 299 -g -o $LOG_DIR/once$1.data "$NETCONF" --once --config "$T/many.yaml" --state-dir $WORK/state
head -3 /proc/stat >>$LOG_DIR/stat-$1
tail -n 1 $T/err >>$LOG_DIR/once
tail -n 1 $T/err
}
say "once 1"
one 1
say "once 2"
one 2
say "once 3"
one 3
say reports
for i in 1 2 3; do reports once$i; done
