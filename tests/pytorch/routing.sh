#!/bin/sh
# Work that depends on data which the model clock does not compute (routing.py): each expert of a mixture has its share of the rows and
# its products; the boxes of a batch are counted. PM_TORCH as in find_torch.sh.
set -eu
. "$SOURCE/tests/pytorch/find_torch.sh"
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
for gpu in a100 h200; do
	"$BUILD/bin/pmrun" -q --softgpu=$gpu -o run.$gpu -- "$PYTHON" "$SOURCE/tests/pytorch/routing.py" mixture >out 2>&1 ||
		{ echo "not ok: $gpu: $(tail -n 3 out)" && exit 1; }
	grep '^mixture' out
	# 256 rows, two experts each, twelve steps: of eight experts each has 768
	grep -q '^mixture: 768 768 768 768 768 768 768 768$' out || { echo "not ok: $gpu: not balanced" && exit 1; }
	"$BUILD/bin/pmanalyze" report --json run.$gpu | grep -q '"iterations_found":[[:space:]]*12,' || { echo "not ok: $gpu: iterations" && exit 1; }
done
# eight experts of two layers, forward and both halves of backward, beside two other layers and the router
"$BUILD/bin/pmanalyze" kernels --json run.h200 >kernels.json
"$PYTHON" - <<'END' || exit 1
import json
products = sum(row["count"] for row in json.load(open("kernels.json"))["runs"][0]["kernels"] if row["kernel"].startswith("cublas"))
if not 48 <= products <= 60:
    raise SystemExit(f"not ok: {products} products in a step")
END
PMHOOK_MODE=off "$BUILD/bin/pmrun" -q --softgpu=h200 -o targets -- "$PYTHON" "$SOURCE/tests/pytorch/routing.py" targets >out 2>&1 || true
grep -q '^targets: (4, 3, 5)$' out || { echo "not ok: $(tail -n 1 out)" && exit 1; }
