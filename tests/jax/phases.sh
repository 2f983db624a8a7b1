#!/bin/sh
# Phases and layers of a program of nets.py against the flow of data through what XLA compiled: phases.sh GPU PROGRAM. Below the limits of
# tests/bench/jax_matrix.py, or where not all of its steps are iterations, it fails. PM_JAX as for nets.sh.
set -eu
gpu=$1 program=$2
PYTHON=${PM_JAX:-python3}
[ ! -d "$PYTHON" ] || PYTHON=$PYTHON/bin/python
"$PYTHON" -c 'import importlib.util as u, sys
sys.exit(not (u.find_spec("jax") and u.find_spec("jax_plugins") and u.find_spec("flax") and u.find_spec("optax")))' 2>/dev/null || {
	echo "$PYTHON has no jax, or not its plugin for CUDA, flax and optax: PM_JAX names a virtual environment that has them"
	exit 77
}
python3 "$SOURCE/tests/bench/jax_matrix.py" "$BUILD" cells --jax "here=$PYTHON" --gpu "$gpu" --only "$program" --hold >table 2>said ||
	{ echo "not ok: $program: $(cat said table)" && exit 1; }
echo "ok: $(cat said)"
