#!/bin/sh
# Keras 3's LeNet on one of its backends, on a modelled A100: keras.sh pytorch|jax|tensorflow. pmanalyze must find the steps that the program does,
# a forward and a backward pass and updates, which have nearly all of the GPU's computing time, and each layer by Keras' name in both passes,
# with its number of parameters on PyTorch, and no wrong one elsewhere.
# PM_TORCH, PM_JAX, PM_TF name an environment with the backend, PM_KERAS a folder with Keras (pip install --target) for one that has none.
set -eu
framework=$1 steps=12
. "$SOURCE/tests/frameworks/find.sh"
export PYTHONPATH="${PM_KERAS:+$PM_KERAS:}${PYTHONPATH:-}"
"$PYTHON" -c 'import importlib.util as u, sys; sys.exit(not u.find_spec("keras"))' 2>/dev/null ||
	{ echo "$PYTHON has no keras: PM_KERAS names a folder that has it" && exit 77; }
KERAS_BACKEND=$(echo "$framework" | sed s/pytorch/torch/)
export KERAS_BACKEND
"$BUILD/bin/mkdata" --out data --train 1536 >/dev/null
"$BUILD/bin/pmrun" -q --softgpu=a100 -o run -- "$PYTHON" "$SOURCE/testapps/frameworks/train_keras.py" cnn --batch 128 --steps $steps >log 2>&1 ||
	{ echo "not ok: $(tail -n 3 log)" && exit 1; }
"$BUILD/bin/pmanalyze" report --json run >report.json 2>/dev/null || { echo "not ok: no report" && exit 1; }
"$BUILD/bin/pmanalyze" layers --json run >layers.json 2>/dev/null || { echo "not ok: no layers" && exit 1; }
python3 - $steps "$framework" <<'END' || { echo "not ok: $framework" && exit 1; }
import json
import re
import sys

run, steps = json.load(open("report.json")), int(sys.argv[1])
busy = {row["phase"]: (row["busy_ns"] or 0) / 1000 for row in run["phases"]}
passes = {phase: busy[phase] for phase in ("forward", "backward", "update")}
# pooling and loss may be layers, too; those of a compiled step come in its order
layers = [layer for layer in json.load(open("layers.json"))["layers"] if layer["forward_ns"] and layer["backward_ns"]]
names = [re.sub(r".*[./]", "", layer["layer"]) for layer in layers]
kinds = sorted(name[:5] for name in names if re.match(r"conv2d|dense", name))
right = run["iterations_found"] == steps and min(passes.values()) > 0 and sum(passes.values()) > 10 * busy["other"]
right = right and kinds == ["conv2"] * 2 + ["dense"] * 3 and len(set(names)) == len(names)
# a number of parameters is right, or not known
parameters = {name: layer["parameters"] for name, layer in zip(names, layers)}
right = right and sorted(count for count in parameters.values() if count) in ([], [156, 850, 2416, 10164, 30840])
right = right and (sys.argv[2] != "pytorch" or None not in parameters.values())
print(f"{run['iterations_found']} iterations of {steps} by {run['found_by']}; us of a step: "
      + ", ".join(f"{phase} {us:.1f}" for phase, us in {**passes, "other": busy["other"]}.items()) + f"; layers with parameters {', '.join(f'{name} {count}' for name, count in parameters.items())}")
sys.exit(not right)
END
