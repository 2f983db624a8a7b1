#!/bin/sh
# Phase and layer of every call of a network whose element-wise work, norms, loss and optimizer are kernels of its own:
# as the program itself says, by what the calls touch, and by which rule. And parameters with their sizes.
set -eu
. "$SOURCE/tests/preload.sh"
bin=$BUILD/bin
bad=0
export LD_LIBRARY_PATH="$BUILD/softgpu" SOFTGPU_PROFILE=a100 SOFTGPU_NUMERICS=off PMHOOK_STRICT=on

bad_case() {
	echo "not ok: $*"
	bad=1
}

while read -r case; do
	mkdir "$case"
	PMHOOK_OUT=$SCRATCH/$case with_hook "$bin/flow_host" "$case" >"$case.truth" </dev/null || bad_case "$case: ends with $?"
	sh "$SOURCE/tests/analyzer/flow_case.sh" "$bin/pmanalyze" "$case" || bad=1
done <"$SOURCE/tests/analyzer/flow_cases.txt"
exit $bad
