#!/bin/sh
# Programs of flax and optax train on softgpu with XLA's defaults: nets.sh GPU PROGRAM (nets.py). What is checked: the program does its
# steps on modelled GPUs, kernels have XLA's names, and pmanalyze reads the trace. PM_JAX as for jax.sh; any plugin for CUDA will do.
set -eu
gpu=$1 program=$2 steps=6
PYTHON=${PM_JAX:-python3}
[ ! -d "$PYTHON" ] || PYTHON=$PYTHON/bin/python
"$PYTHON" -c 'import importlib.util as u, sys
sys.exit(not (u.find_spec("jax") and u.find_spec("jax_plugins") and u.find_spec("flax") and u.find_spec("optax")))' 2>/dev/null || {
	echo "$PYTHON has no jax, or not its plugin for CUDA, flax and optax: PM_JAX names a virtual environment that has them"
	exit 77
}
PATH=$BUILD/bin:$PATH
export PYTHONDONTWRITEBYTECODE=1 SOFTGPU_DEVICES=2
devices=1
[ "$program" != devices ] || devices=2
pmrun -q --softgpu="$gpu" -o run "$PYTHON" "$SOURCE/tests/jax/nets.py" "$program" $steps >log 2>&1 ||
	{ echo "not ok: $program: $(tail -n 5 log)" && exit 1; }
grep -q "$steps steps of $program on $devices gpu" log || { echo "not ok: $program: $(tail -n 5 log)" && exit 1; }
pmanalyze dump --ops run/*.pmtrace | grep -q 'name="[a-z_]*fusion' || { echo "not ok: $program: no kernel has a name of XLA's" && exit 1; }
# Where it cannot say something it says so, by exit status 1; it is never ended by a signal.
for command in report layers kernels; do
	pmanalyze $command run >said 2>&1 || [ $? = 1 ] || { echo "not ok: $program: $command: $(tail -n 2 said)" && exit 1; }
done
echo "ok: $program"
