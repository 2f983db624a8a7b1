#!/bin/sh
# Phase and layer of every call of a network whose element-wise work, norms, loss and optimizer are kernels of its own:
# as the program itself says, by what the calls touch, and by which rule. And parameters with their sizes.
set -eu
. "$SOURCE/tests/preload.sh"
bin=$BUILD/bin
bad=0
export LD_LIBRARY_PATH="$BUILD/softgpu" SOFTGPU_PROFILE=a100 SOFTGPU_NUMERICS=off PMHOOK_STRICT=on

complain() {
	echo "not ok: $*"
	bad=1
}

for case in each list block kinds cast stale batches mean copies turns twice graph pieces images host norms zero soon saxpy lazy middle; do
	mkdir $case
	PMHOOK_OUT=$SCRATCH/$case with_hook "$bin/flow_host" $case >$case.truth || complain "$case: ends with $?"
	if [ $case != graph ]; then # whose calls are not the host's
		"$bin/pmanalyze" export --perfetto -o $case.json $case >/dev/null
		python3 "$SOURCE/tests/analyzer/flow.py" $case.truth $case.json || complain "$case"
	fi
	"$bin/pmanalyze" layers --why --json $case >$case.why
	case $case in
	images | host)
		# no name tells of an update
		"$bin/pmanalyze" report --json $case 2>/dev/null | python3 -c 'import json, sys
run = json.load(sys.stdin)
sys.exit(run["iterations_found"] != 12 or run["confidence"] < 0.75)' || complain "$case: iterations" ;;
	zero) ;; # whose gradients nobody is given beside parameters
	*) python3 "$SOURCE/tests/analyzer/why.py" $case $case.why || complain "$case: rules" ;;
	esac
	# a block has a norm of 2 x 64 and a product of 64 x 64 + 64, for 32 rows
	"$bin/pmanalyze" layers --json $case >$case.layers
	python3 - $case.layers 6 $case <<'END' || complain "$case: parameters"
import json, sys
layers = json.load(open(sys.argv[1]))["layers"]
found = [(layer["parameters"], layer["sizes"]) for layer in layers]
images = sys.argv[3] in ("images", "host") # whose biases are layers of their own
wanted = ([(64 * 64, "64->64"), (64, "")] if images else [(128, ""), (64 * 64 + 64, "64->64")]) * int(sys.argv[2])
if found != wanted:
    sys.exit("parameters %s" % found)
# the kernel says what it does; the update serves each by its size
names = [layer["layer"] for layer in layers[:3]]
if names != (["fc1", "layer1", "fc2"] if images else ["norm1", "fc1", "norm2"]):
    sys.exit("names %s" % names)
shares = [round(layer["update_ns"] / sum(layer["update_ns"] for layer in layers), 4) for layer in layers]
if sys.argv[3] == "kinds":
    wanted = [(1, "")] * len(wanted)
if sys.argv[3] in ("block", "kinds") and shares != [round(p / sum(p for p, _ in wanted), 4) for p, _ in wanted]:
    sys.exit("shares of the update %s" % shares)
END
done
exit $bad
