#!/bin/sh
# torch.cond and torch.while_loop in CUDA graphs: they are recorded as conditional nodes, whose bodies are graphs of their own, and replayed.
# PM_TORCH as for the others; versions that do not have it (before 2.13) are left out.
set -eu
. "$SOURCE/tests/pytorch/find_torch.sh"
grep -q while_loop_node "$TORCH/_higher_order_ops/cudagraph_conditional_nodes.py" 2>/dev/null || {
	echo "the torch of $PYTHON records no conditions"
	exit 77
}
export PYTHONDONTWRITEBYTECODE=1
"$BUILD/bin/pmrun" -q --softgpu=h200 -o run -- "$PYTHON" "$SOURCE/tests/pytorch/conditions.py" . >log 2>&1 || { echo "not ok: $(tail -n 3 log)" && exit 1; }
for name in cond loop; do
	grep -qx "$name 5 replays" log || { echo "not ok: $name: $(tail -n 3 log)" && exit 1; }
	[ "$(grep -c '^subgraph' $name.dot)" -ge 2 ] && grep -q CONDITIONAL $name.dot || { echo "not ok: $name: $(cat $name.dot)" && exit 1; }
done
"$BUILD/bin/pmanalyze" report run >said 2>&1 || [ $? = 1 ] || { echo "not ok: $(tail -n 1 said)" && exit 1; }
echo "ok"
