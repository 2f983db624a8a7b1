#!/bin/sh
# JAX trains on softgpu with XLA's defaults: jax.sh PROGRAM. What is checked: the program does its steps on modelled GPUs and not on the
# processor, softgpu refuses it nothing that stops it, the trace has what it launched, kernels by XLA's names, and pmanalyze finds the steps
# on each GPU, after a set-up that times many variants of each product, and the copies of input, which the programs on two GPUs do not have.
# PM_JAX names a virtual environment or a Python that has jax with its CUDA plugin; otherwise it is python3.
set -eu
program=$1 steps=20
PYTHON=${PM_JAX:-python3}
[ ! -d "$PYTHON" ] || PYTHON=$PYTHON/bin/python
"$PYTHON" -c 'import importlib.util as u, sys
sys.exit(not (u.find_spec("jax") and u.find_spec("jax_plugins.xla_cuda13")))' 2>/dev/null || {
	echo "$PYTHON has no jax with a plugin for CUDA 13: PM_JAX names a virtual environment that has it"
	exit 77
}
PATH=$BUILD/bin:$PATH
export PYTHONDONTWRITEBYTECODE=1 SOFTGPU_DEVICES=2
run() { # PROGRAM: runs it below pmrun, with its output in log
	ranks=1
	[ "$1" != processes ] || ranks=2
	pmrun -q -n $ranks --softgpu=a100 -o run "$PYTHON" "$SOURCE/tests/jax/train.py" "$1" $steps >log 2>&1 || {
		echo "not ok: $1: $(tail -n 5 log)"
		exit 1
	}
}
devices=1
case $program in shard | processes) devices=2 ;; esac
run "$program"
grep -q "$steps steps of $program on $devices gpu" log || { echo "not ok: $program: $(tail -n 5 log)" && exit 1; }

# Each step launches XLA's graph, or its kernels where there is none (the first step comes before there is a graph).
for trace in run/*.pmtrace; do
	pmanalyze dump --ops "$trace" >ops
	launches=$(awk '$4 == "cuGraphLaunch" || /name="(loop|input|gemm|wrapped)_/ { if ($2 > most) most = $2; if ($3 > most) most = $3 }
		END { print most + 0 }' ops)
	grep -q 'name="[a-z_]*fusion' ops || { echo "not ok: $program: no kernel has a name of XLA's" && exit 1; }
	[ "$launches" -ge $((steps - 1)) ] || { echo "not ok: $program: $launches launches in $steps steps" && exit 1; }
done
pmanalyze report --json run 2>/dev/null | python3 -c "
import json, sys
run = json.load(sys.stdin)
copies = {row['phase']: row['busy_ns'] for row in run['phases']}['h2d']
sys.exit(run['iterations_found'] != $steps or run['gpus'] != $devices or run['confidence'] < 0.5 or (copies > 0) != ($devices == 1))
" || { echo "not ok: $program: $(pmanalyze report run 2>&1 | sed -n 2,3p)" && exit 1; }
echo "ok: $program"
