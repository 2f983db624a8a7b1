#!/bin/sh
# Object collectives of torch.distributed on the model clock (objects.py). PM_TORCH and PM_TORCH_OLDER as in find_torch.sh.
set -eu
OLDER=1
. "$SOURCE/tests/pytorch/find_torch.sh"
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 PMHOOK_MODE=off
"$BUILD/bin/pmrun" -q --softgpu=$GPU -o run -- "$PYTHON" -m torch.distributed.run --nproc-per-node 2 "$SOURCE/tests/pytorch/objects.py" >out 2>&1 ||
	{ echo "not ok: $(grep -E 'wrong|Error' out | head -n 3)" && exit 1; }
grep '^objects' out
