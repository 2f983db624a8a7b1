#!/bin/sh
# On modelled GPUs, pmanalyze model must name the style of aggregation that ran: after the backward pass, layer by layer next to it, in
# buckets; one of the GPUs is slower in some. One row a case.
set -eu
if [ -n "$PM_SANITIZE" ]; then
	echo "the trainers are tested under sanitizers elsewhere"
	exit 77
fi
bin=$BUILD/bin
export SOFTGPU_PROFILE=rtx2080
# Hosts share processors: what they lose to each other must be small beside an iteration.
export SOFTGPU_TIME_SCALE=50
. "$SOURCE/tests/undisturbed.sh"
bad=0

# one_case EXPECTED DISTURBANCE RANKS TRAINER STYLE
one_case() {
	name=$4.${5%% *}.$3
	rm -rf "$name"
	# shellcheck disable=SC2086 # options with their values
	SOFTGPU_DISTURB=$2 "$bin/pmrun" -q -n "$3" -o "$name" --softgpu -- "$bin/train_$4" --synthetic --batch $((128 * $3)) --iterations 16 \
		--print 0 --aggregate $5 >"$name.out" 2>&1
	found=$("$bin/pmanalyze" model --json "$name" | awk -F'"' '$2 == "behaviour" && NF > 3 { print $4; exit }')
	if [ "$found" = "$1" ]; then
		echo "ok $name"
	else
		echo "not ok $name: ${found:-nothing} named, $1 ran"
		"$bin/pmanalyze" model "$name"
		return 1
	fi
	rm -rf "$name" "$name.out"
}
run_case() {
	undisturbed one_case "$@" || bad=1
}

run_case imbalance "" 1 cnn after
run_case after "" 3 cnn after
run_case layers "" 3 cnn overlap
# a bucket is what becomes ready within this time, which is that of the modelled GPU as it is scaled
run_case buckets "" 3 cnn "fused --cycle-ms 2.5"
run_case after "rank=1 slow=1.3" 2 mlp after
run_case layers "rank=1 slow=1.3" 2 mlp overlap
run_case after "rank=2 slow=1.2" 3 autoencoder after
run_case layers "rank=2 slow=1.2" 3 autoencoder overlap
exit $bad
