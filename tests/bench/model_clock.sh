#!/bin/sh
# How exact softgpu's model clock is: kernels of 10 us to 10 ms are submitted and waited for, and by turns the same thread sleeps as
# long by a bare clock_nanosleep, which is the least lateness that a host can have on this machine. Prints, in us, how late the
# host runs again after the end of the sleep and of the kernel, and how far the kernel's own duration is from what was asked for;
# the median and what 99 of 100 stay under. The second table is of a machine whose cores are all busy otherwise.
#
#     tests/bench/model_clock.sh BUILD [MILLISECONDS PER ROW]
set -eu
build=$(cd "${1:?usage: model_clock.sh BUILD [MILLISECONDS]}" && pwd)
milliseconds=${2:-2000}
scratch=$(mktemp -d)
busy=
trap 'kill $busy 2>/dev/null || true; rm -rf "$scratch"' EXIT
unset SOFTGPU_DISTURB SOFTGPU_TIME_SCALE SOFTGPU_TRUTH SOFTGPU_NUMERICS
export LD_LIBRARY_PATH="$build/softgpu" SOFTGPU_PROFILE="$scratch/exact.profile"
# no floor and no half sizes, so that a duration can be asked for
sed -e '/^l2_/d' -e 's/^\(kernel_floor_us\|vector_floor_us\|vector_half_mb\|vector_half_gflop\) .*/\1 0/' "$build/softgpu/profiles/v100.profile" >"$SOFTGPU_PROFILE"

table() { # title
	printf '%s\n%12s %23s %23s %23s\n' "$1" "requested" "bare sleep, late" "host after kernel, late" "kernel's own error"
	printf '%12s %11s %11s %11s %11s %11s %11s\n' us median "99%" median "99%" median "99%"
	"$build/bin/bench_model_clock" "$milliseconds"
}
table "on this machine as it is"
for core in $(seq "$(nproc)"); do
	(while :; do :; done) &
	busy="$busy $!"
done
table "with every core busy"
