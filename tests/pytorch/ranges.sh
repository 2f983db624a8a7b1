#!/bin/sh
# What PyTorch says of a training, in the trace, against what the program itself knows of its graphs and modules (ranges.py): the nodes of
# each graph, the modules of their operators and of those that are computed again, optimizers' steps. By the newest PyTorch and an
# older one. PM_TORCH and PM_TORCH_OLDER as in find_torch.sh.
set -eu
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 PMHOOK_FLOW=all PMHOOK_STRICT=on
bad=0
for OLDER in "" 1; do
	. "$SOURCE/tests/pytorch/find_torch.sh"
	rm -rf run && mkdir run
	"$BUILD/bin/pmrun" -q --softgpu=$GPU -o run -- "$PYTHON" "$SOURCE/tests/pytorch/ranges.py" train known.json >out 2>&1 ||
		{ echo "not ok: $(grep Error out | head -n 3)" && exit 1; }
	"$PYTHON" "$SOURCE/tests/pytorch/ranges.py" check known.json run/*.pmtrace || bad=1
done
exit $bad
