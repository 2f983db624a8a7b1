#!/bin/sh
# Phases against the framework's own profiler: phases.sh pytorch|jax|tensorflow NET. The program runs once under torch.profiler, jax.profiler or
# tf.profiler, without the hook (profiled.py), and once under the hook alone, both on a modelled A100, whose times repeat. Of the
# device time of a step whose operation the profiler names 97% must be in the same phase, and pmanalyze may have no more than there is.
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
"$BUILD/bin/pmanalyze" report --json run >report.json 2>/dev/null || { echo "not ok: no report" && exit 1; }
tail -n 1 profiled | python3 -c '
import json, sys
theirs, ours = json.load(sys.stdin), {row["phase"]: row["busy_ns"] or 0 for row in json.load(open("report.json"))["phases"]}
phases = "forward", "backward", "update"
print("profiler and pmanalyze, us of a step: " + ", ".join(f"{p} {theirs.get(p, 0) / 1e3:.1f} {ours.get(p, 0) / 1e3:.1f}" for p in phases))
named = sum(theirs.get(p, 0) for p in phases)
right = sum(min(theirs.get(p, 0), ours.get(p, 0)) for p in phases) / named if named else 0
unknown, more = theirs.get("unknown", 0), sum(ours.get(p, 0) for p in phases) - named
print(f"{right:.1%} of the time that the profiler names is in the same phase; of {unknown / (named + unknown):.1%} of all it does not say the operation")
sys.exit(right < 0.97 or more > unknown + 0.03 * named)' || { echo "not ok: $framework, $net" && exit 1; }
