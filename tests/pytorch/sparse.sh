#!/bin/sh
# Products with sparse matrices (sparse.py): their values by the compute clock, and a graph network that trains on modelled GPUs. PM_TORCH
# as in find_torch.sh.
set -eu
. "$SOURCE/tests/pytorch/find_torch.sh"
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 PYTHONWARNINGS=ignore
PMHOOK_MODE=off "$BUILD/bin/pmrun" -q --softgpu -o values -- "$PYTHON" "$SOURCE/tests/pytorch/sparse.py" >out 2>&1 ||
	{ echo "not ok: $(grep -E 'wrong|Error' out | head -n 3)" && exit 1; }
grep '^sparse' out
for run in a100:coo h200:csr; do
	"$BUILD/bin/pmrun" -q --softgpu=${run%:*} -o "run.$run" -- "$PYTHON" "$SOURCE/tests/pytorch/sparse.py" train ${run#*:} >out 2>&1 ||
		{ echo "not ok: $run: $(grep -E 'wrong|Error' out | head -n 3)" && exit 1; }
	! grep 'not supported' out
	"$BUILD/bin/pmanalyze" report --json "run.$run" | grep -q '"iterations_found":[[:space:]]*12,' || { echo "not ok: $run: iterations" && exit 1; }
	"$BUILD/bin/pmanalyze" kernels --json "run.$run" | grep -q '"cusparseSpMM_kernel"' || { echo "not ok: $run: no product" && exit 1; }
done
