#!/bin/sh
# JAX's attention by cuDNN is computed right on a modelled H200 with numerics, and has gradients. PM_JAX as in jax.sh.
set -eu
PYTHON=${PM_JAX:-python3}
[ ! -d "$PYTHON" ] || PYTHON=$PYTHON/bin/python
"$PYTHON" -c 'import importlib.util as u, sys
sys.exit(not (u.find_spec("jax") and u.find_spec("jax_plugins.xla_cuda13")))' 2>/dev/null || {
	echo "$PYTHON has no jax with a plugin for CUDA 13: PM_JAX names a virtual environment that has it"
	exit 77
}
export PYTHONDONTWRITEBYTECODE=1
SOFTGPU_NUMERICS=on "$BUILD/bin/pmrun" -q --softgpu=h200 -o run "$PYTHON" "$SOURCE/tests/jax/attention.py" >log 2>&1 || {
	echo "not ok: $(tail -n 5 log)"
	exit 1
}
"$BUILD/bin/pmanalyze" dump --ops run/*.pmtrace >ops
# XLA writes its plans down and reads them again, with their graph known.
for call in Forward Backward; do
	grep -q "cudnnBackendExecute_Attention$call" ops || { echo "not ok: no call of Attention$call in the trace" && exit 1; }
done
grep difference log
