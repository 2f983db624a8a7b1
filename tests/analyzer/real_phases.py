#!/usr/bin/env python3
"""Holds phases and layers of real traces against what is known of them otherwise: real_phases.py PRINT_PHASES FOLDER (or
PM_TRACES in the environment).

The folder has one folder per trace set; phases-reference.json there has, of each annotation of the program, the time of
what was launched inside it, computed by somebody else. With the labels hidden the same sums must nearly come out, so that
operators and order are proven by the labels. The networks are public ones, whose layers are known. Exit 77 where there are
no traces.
"""
import glob
import json
import os
import subprocess
import sys
from decimal import Decimal

program = sys.argv[1]
folder = os.environ.get("PM_TRACES") or sys.argv[2]
failures = 0
compared = 0


def check(good, what):
    global failures, compared
    compared += 1
    if not good:
        failures += 1
        print(what)


def ask(path, *hidden):
    result = subprocess.run([program, path, *hidden], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"{program} {path}: exit status {result.returncode}: {result.stderr}")
    return json.loads(result.stdout)


def trace_of(name, pattern="*"):
    found = sorted(glob.glob(os.path.join(folder, name, "traces", pattern)))
    return found[0] if found else None


def reference(name):
    with open(os.path.join(folder, name, "phases-reference.json"), encoding="utf-8") as file:
        return json.load(file, parse_float=Decimal)["files"]


def nanoseconds(annotations, label):
    return int(annotations[label]["gpu_us_sum"] * 1000)


def phase(worker, name):
    return worker["phases"].get(name, {}).get("ns", 0)


def near(got, expected, share, what):
    check(abs(got - expected) <= share * expected, f"{what}: {got}, expected {expected}")


def count(worker, kind):
    names = {text.split("\t")[0] for text in worker["layers"]}
    return sum(name.rstrip("0123456789") == kind for name in names)


HIDDEN = ["## ", "Optimizer", "DistributedDataParallel", "ProfilerStep", "enumerate", "nccl:"]
RESNET_50 = {"conv": 53, "norm": 53, "fc": 1, "pool": 2, "add": 16, "loss": 1}
RESNET_18 = {"conv": 20, "norm": 20, "fc": 1, "pool": 2, "add": 8, "loss": 1}


def check_layers(worker, what, counts):
    for kind, number in counts.items():
        check(count(worker, kind) == number, f"{what}: {count(worker, kind)} {kind}, expected {number}")
    check(len(worker["layers"]) == sum(counts.values()), f"{what}: {len(worker['layers'])} layers")
    # Each layer of these goes both ways, but for the sums, which cost nothing backward.
    for name, layer in worker["layers"].items():
        check(layer.get("forward", 0) + layer.get("backward", 0) > 0, f"{what}: {name} takes no time")
        if name.startswith(("conv", "norm", "fc")):
            check(layer.get("backward", 0) > 0, f"{what}: {name} is never backward")


def check_labelled(name):
    """Everything was launched in labels. Communication is a phase of its own."""
    path = trace_of(name)
    annotations = reference(name)[os.path.basename(path)]
    expected = {
        "forward": nanoseconds(annotations, "## forward ##") - nanoseconds(annotations, "nccl:broadcast"),
        "backward": nanoseconds(annotations, "## backward ##") - nanoseconds(annotations, "nccl:all_reduce"),
        "update": nanoseconds(annotations, "## optimizer ##"),
        "communication": nanoseconds(annotations, "nccl:broadcast") + nanoseconds(annotations, "nccl:all_reduce")}
    for hidden in ([], HIDDEN):
        worker = ask(path, *hidden)["workers"][0]
        what = f"{name}{' without labels' if hidden else ''}"
        for key, number in expected.items():
            # The loss is computed inside the label of the backward pass.
            near(phase(worker, key), number, 0.005 if hidden else 0, f"{what}: {key}")
        check(phase(worker, "unknown") == 0, f"{what}: unknown {phase(worker, 'unknown')}")
        check_layers(worker, what, RESNET_50)


def check_steps(name, counts, unknown_share):
    """Only the optimizer has a label."""
    path = trace_of(name)
    annotations = reference(name)[os.path.basename(path)]
    update = nanoseconds(annotations, "Optimizer.step#SGD.step")
    zero = nanoseconds(annotations, "Optimizer.zero_grad#SGD.zero_grad")
    first = ask(path)["workers"][0]
    second = ask(path, *HIDDEN)["workers"][0]
    check(phase(first, "update") == update, f"{name}: update {phase(first, 'update')}, expected {update}")
    check(phase(first, "other") == zero, f"{name}: other {phase(first, 'other')}, expected {zero}")
    near(phase(second, "update"), update, 0.02, f"{name} without labels: update")
    for key in ("forward", "backward", "h2d"):
        near(phase(second, key), phase(first, key), 0.005, f"{name} without labels: {key}")
    for worker in (first, second):
        total = sum(entry["ns"] for entry in worker["phases"].values())
        check(phase(worker, "unknown") <= unknown_share * total, f"{name}: unknown {worker['phases']['unknown'] if 'unknown' in worker['phases'] else 0}")
        check_layers(worker, name, counts)


def check_dlrm(name):
    for file, annotations in reference(name).items():
        path = os.path.join(folder, name, "traces", file)
        worker = ask(path)["workers"][0]
        update = nanoseconds(annotations, "## optimizer ##")
        # Kernels of the step before are in the window, launched before it.
        got = phase(worker, "update") - worker["phases"]["update"].get("unlaunched_ns", 0)
        check(got == update, f"{file}: update {got}, expected {update}")
        exchanged = nanoseconds(annotations, "nccl:all_reduce") + nanoseconds(annotations, "nccl:all_to_all")
        check(phase(worker, "communication") == exchanged,
              f"{file}: communication {phase(worker, 'communication')}, expected {exchanged}")
        # 3 layers of the lower perceptron, 4 of the upper one; the products of the features.
        for kind, number in {"fc": 7, "matmul": 1, "loss": 1}.items():
            check(count(worker, kind) == number, f"{file}: {count(worker, kind)} {kind}, expected {number}")
        check(count(worker, "embedding") >= 1, f"{file}: no embedding")


def check_pipeline(name):
    """Labelled phases: sums of them by what they are called, added up here."""
    path = trace_of(name)
    import gzip
    with gzip.open(path, "rt", encoding="utf-8") as file:
        events = json.load(file, parse_float=Decimal)
    events = events if isinstance(events, list) else events["traceEvents"]
    answer = ask(path)
    sums = {}
    for event in events:
        if event["ph"] == "X":
            sums[event["name"]] = sums.get(event["name"], 0) + event["dur"] * 1000
    for key, names in {"forward": ["forward-compute"], "backward": ["backward-compute"],
                       "update": ["optimizer", "optimizer-clip-main-grad"],
                       "communication": [n for n in sums if n.endswith(("send", "recv", "scatter", "gather", "reduce"))]}.items():
        got = sum(phase(worker, key) for worker in answer["workers"])
        # Times are written with more digits than ns: each event may be one off.
        near(got, float(sum(sums[n] for n in names)), 1e-6, f"{name}: {key}")
    check(len(answer["workers"]) == 8, f"{name}: {len(answer['workers'])} workers")


def check_ranges(name):
    """Operators as NVTX ranges; only forward work is in the recording, of a net with attention."""
    for worker in ask(trace_of(name))["workers"]:
        total = sum(entry["ns"] for entry in worker["phases"].values())
        check(phase(worker, "unknown") < 0.02 * total, f"{name}: unknown {phase(worker, 'unknown')}")
        check(phase(worker, "backward") == phase(worker, "update") == 0, f"{name}: {worker['phases'].keys()}")
        check(count(worker, "attention") >= 32, f"{name}: {count(worker, 'attention')} attention")


if not folder or not os.path.isdir(folder):
    print("no folder of real traces: PM_TRACES says where it is")
    sys.exit(77)
CHECKS = {"hta-ddp-resnet-a100-r0of2": check_labelled,
          "kineto-resnet50-v100-workers0": lambda name: check_steps(name, RESNET_50, 0),
          "param-resnet-2080ti-nomarkers": lambda name: check_steps(name, RESNET_18, 1e-3),
          "param-dlrm-v100-8rank": check_dlrm,
          "bytedance-straggler-ST": check_pipeline,
          "nsysai-2gpu-sqlite": check_ranges}
for trace_set, function in CHECKS.items():
    if trace_of(trace_set):
        function(trace_set)
print(f"{compared} comparisons, {failures} failures")
sys.exit(failures != 0)
