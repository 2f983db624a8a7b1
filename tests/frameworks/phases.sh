#!/bin/sh
# Phases against the framework's own profiler: phases.sh pytorch|jax|tensorflow NET. The program runs once under torch.profiler, jax.profiler or
# tf.profiler, without the hook (profiled.py), and once under the hook alone, both on a modelled A100, whose times repeat. What
# must agree, kernel by kernel, is in agree.py.
# PM_TORCH, PM_JAX, PM_TF name a virtual environment or a Python that has the framework.
set -eu
framework=$1 net=$2 steps=10
. "$SOURCE/tests/frameworks/find.sh"
# of what is inside a CUDA graph XLA's profiler does not say from what operation it is
XLA_FLAGS="$XLA_FLAGS --xla_gpu_enable_command_buffer="
"$BUILD/bin/mkdata" --out data --train 1536 >/dev/null
options="$net --batch 128"
# shellcheck disable=SC2086
PMHOOK_MODE=off "$BUILD/bin/pmrun" -q --softgpu=a100 -o off -- "$PYTHON" "$SOURCE/tests/frameworks/profiled.py" "$framework" $steps trace $options \
	>profiled 2>profiled.err || { echo "not ok: the profiler: $(tail -n 3 profiled.err)" && exit 1; }
# shellcheck disable=SC2086
"$BUILD/bin/pmrun" -q --softgpu=a100 -o run -- "$PYTHON" "$SOURCE/testapps/frameworks/train_$framework.py" $options --steps $steps >log 2>&1 ||
	{ echo "not ok: $(tail -n 3 log)" && exit 1; }
"$BUILD/bin/pmanalyze" export --perfetto -o run.json run 2>export.err || { echo "not ok: $(tail -n 3 export.err)" && exit 1; }
python3 "$SOURCE/tests/frameworks/agree.py" $steps profiled run.json || { echo "not ok: $framework, $net" && exit 1; }
