#!/bin/sh
# Phases, layers, parameters and rules of one recorded case of flow_host: flow_case.sh PMANALYZE CASE, in a folder with what it printed, CASE.truth, and its
# trace, CASE.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
pmanalyze=$1 case=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

. "$SOURCE/tests/complain.sh"

if [ $case != graph ]; then # whose calls are not the host's
	"$pmanalyze" export --perfetto -o "$scratch/json" $case >/dev/null
	python3 "$here/flow.py" $case.truth "$scratch/json" || complain "$case"
fi
"$pmanalyze" layers --why --json $case >"$scratch/why"
case $case in
images | host)
	# no name tells of an update
	"$pmanalyze" report --json $case 2>/dev/null | python3 -c 'import json, sys
run = json.load(sys.stdin)
sys.exit(run["iterations_found"] != 12 or run["confidence"] < 0.75)' || complain "$case: iterations" ;;
zero) ;; # whose gradients nobody is given beside parameters
*) python3 "$here/why.py" $case "$scratch/why" || complain "$case: rules" ;;
esac
# a block has a norm of 2 x 64 and a product of 64 x 64 + 64, for 32 rows
"$pmanalyze" layers --json $case >"$scratch/layers"
python3 - "$scratch/layers" 6 $case <<'END' || complain "$case: parameters"
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
exit $bad
