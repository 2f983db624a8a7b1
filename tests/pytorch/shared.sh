#!/bin/sh
# CUDA tensors that processes share (shared.py), by the compute clock and on a modelled GPU, and the steps of each process. PM_TORCH as in
# find_torch.sh.
set -eu
. "$SOURCE/tests/pytorch/find_torch.sh"
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
for gpu in "" =h200; do
	"$BUILD/bin/pmrun" -q --softgpu$gpu -o "run$gpu" -- "$PYTHON" "$SOURCE/tests/pytorch/shared.py" >out 2>&1 ||
		{ echo "not ok: softgpu$gpu: $(grep -E 'wrong|Error' out | head -n 3)" && exit 1; }
	grep '^shared' out
done
for trace in run=h200/*.pmtrace; do
	"$BUILD/bin/pmanalyze" report --json "$trace" >report.json 2>/dev/null || continue # the parent trains nothing
	"$PYTHON" -c 'import json; print("iterations", json.load(open("report.json")).get("iterations_found"))'
done >iterations
[ "$(grep -c 'iterations 10' iterations)" = 2 ] || { echo "not ok: $(cat iterations)" && exit 1; }
