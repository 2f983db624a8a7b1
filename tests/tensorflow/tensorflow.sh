#!/bin/sh
# TensorFlow trains Keras' LeNet on modelled GPUs: tensorflow.sh plain|mirrored|workers|xla|input, without XLA on one GPU, on two by
# MirroredStrategy, on two in two processes by MultiWorkerMirroredStrategy, compiled by XLA, and with slow input: a smaller net, whose
# wait is within a tenth of what the program says. The program must do its steps;
# pmanalyze must find as many on each GPU, surely, as TensorFlow says them, with a forward and a backward pass, updates, and an exchange on
# two GPUs, each layer of the network, and no input of worker processes, of which there are none.
# PM_TF names a virtual environment or a Python that has tensorflow; otherwise it is python3.
set -eu
case=$1 steps=12
PYTHON=${PM_TF:-python3}
[ ! -d "$PYTHON" ] || PYTHON=$PYTHON/bin/python
"$PYTHON" -c 'import importlib.util as u, sys; sys.exit(not u.find_spec("tensorflow"))' 2>/dev/null || {
	echo "$PYTHON has no tensorflow: PM_TF names a virtual environment that has it"
	exit 77
}
PATH=$BUILD/bin:$PATH
export PYTHONDONTWRITEBYTECODE=1 TF_CPP_MIN_LOG_LEVEL=2 XLA_FLAGS=--xla_gpu_autotune_level=0 PMHOOK_DEVICE=cupti
complain() {
	echo "not ok: $case: $*"
	exit 1
}
mkdata --out data --train 1536 >/dev/null
program=$SOURCE/testapps/frameworks/train_tensorflow.py options="cnn --batch 128 --steps $steps" ranks=1 gpus=1
case $case in
mirrored) options="$options --gpus 2" gpus=2 ;;
workers) program=$SOURCE/tests/tensorflow/workers.py options=$steps ranks=2 gpus=2 ;;
xla) options="$options --xla" ;;
input) program=$SOURCE/tests/tensorflow/input.py options=$steps ;;
esac
# shellcheck disable=SC2086
pmrun -q -n $ranks --softgpu=a100 -o run "$PYTHON" "$program" $options >log 2>&1 || complain "$(grep -v '^[IW ]' log | tail -n 5)"
grep -q "step 10:\|^$steps steps of 2 replicas\|^$steps steps, waiting" log || complain "$(tail -n 5 log)"

pmanalyze report --json run >report.json 2>/dev/null || complain "no report: $(pmanalyze report run 2>&1 | head -n 20)"
pmanalyze layers --json run >layers.json 2>/dev/null || :
python3 - "$case" $steps $gpus <<'END' || complain "$(pmanalyze report run 2>&1 | sed -n 3,6p)"
import json, re, sys
case, steps, gpus = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
run, layers = json.load(open("report.json")), json.load(open("layers.json"))["layers"]
busy = {row["phase"]: row["busy_ns"] for row in run["phases"]}
bad = []
def check(right, what):
    if not right:
        bad.append(what)
check(run["iterations_found"] == steps, f"{run['iterations_found']} iterations of {steps}")
check(run["gpus"] == gpus, f"{run['gpus']} GPUs of {gpus}")
check(run["confidence"] >= 0.95, f"a confidence of {run['confidence']}")
check(run["found_by"] == ("range" if case == "xla" else "optimizer"), f"found by {run['found_by']}")
check((busy["communication"] > 0) == (gpus > 1), f"communication of {busy['communication']} ns")
check("worker_input" not in run, f"input of {run.get('worker_input')}")
for phase in "forward", "backward":
    check(busy[phase] > 0, f"no {phase} pass")
if case != "xla":
    check(busy["update"] > 0, "no update")
    check(run["told_by_framework"] > 0.75, f"the framework says {run['told_by_framework']}")
    kinds = [layer["kind"] for layer in layers if layer["forward_ns"] and layer["backward_ns"] and layer["kind"][:4] != "pool"]
    check(kinds == ["conv1", "fc1"] if case == "input" else ["conv1", "fc1", "fc2"] if case == "workers" else ["conv1", "conv2", "fc1", "fc2", "fc3"], f"layers {kinds}")
if case == "input":
    said = float(re.search(r"waiting ([\d.]+) ms", open("log").read()).group(1))
    check(abs(busy["io"] / 1e6 / said - 1) < 0.1, f"input of {busy['io'] / 1e6} ms, by the program {said}")
    check(run["findings"][0]["kind"] == "input" and "tf.data" in run["findings"][0]["text"], f"{run['findings'][0]}")
print("\n".join(bad))
sys.exit(bool(bad))
END
echo "ok: $case"
