#!/usr/bin/env python3
"""Holds what pmanalyze's commands on runs make of real traces of other profilers against figures that others computed from
the same files: real_report.py PMANALYZE FOLDER (or PM_TRACES in the environment).

Iterations: as many as the program marked, or as it fetched batches, or as the reference says. Phases add up to each
iteration to the ns. Every event of the file is in the timeline, with its time: counts, busy time and communication of each GPU
(hta-reference.json, phases-reference.json, reference.json). Exit 77 where there are no traces.
"""
import csv
import decimal
import io
import json
import os
import re
import subprocess
import sys
import tempfile

pmanalyze = sys.argv[1]
folder = os.environ.get("PM_TRACES") or sys.argv[2]
failures = 0
compared = 0


def same(got, expected, what, tolerance=0):
    global failures, compared
    compared += 1
    if got is None or abs(got - expected) > tolerance:
        failures += 1
        print(f"{what}: {got}, expected {expected}")


def ask(*arguments):
    result = subprocess.run([pmanalyze, *arguments], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"pmanalyze {' '.join(arguments)}: exit status {result.returncode}: {result.stderr}")
    return result.stdout


def reference_of(name, file):
    path = os.path.join(folder, name, file)
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as text:
        return json.load(text)


def annotations_of(name):
    """By file: the program's annotations, counted by others."""
    reference = reference_of(name, "phases-reference.json")
    return list(reference["files"].values()) if reference else []


def expected_iterations(name):
    for file in annotations_of(name):
        if "ProfilerStep#N" in file:
            return file["ProfilerStep#N"]["count"]
        for annotation, row in file.items():
            if annotation.startswith("enumerate(DataLoader)"):
                return row["count"]
    other = reference_of(name, "reference.json")
    return other.get("steps") if other else None


def iterations_of(traces):
    """By rank and iteration: begin, end, and both accountings of each phase, in ns."""
    rows = {}
    for row in csv.DictReader(io.StringIO(ask("report", "--csv", "--iterations", "--skip", "0", traces))):
        item = rows.setdefault((int(row["rank"]), int(row["iteration"])),
                               {"begin": int(row["start_ns"]), "end": int(row["end_ns"]), "busy": {}, "exclusive": {}})
        if row["phase"] == "iteration":
            continue
        item["busy"][row["phase"]] = int(row["busy_ns"])
        item["exclusive"][row["phase"]] = int(row["exclusive_ns"])
    return rows


def compare_iterations(name, traces):
    rows = iterations_of(traces)
    expected = expected_iterations(name)
    if expected:
        ranks = {rank for rank, _ in rows}
        for rank in ranks:
            same(len([key for key in rows if key[0] == rank]), expected, f"{name} rank {rank}: iterations")
    for (rank, number), item in rows.items():
        same(sum(item["exclusive"].values()), item["end"] - item["begin"], f"{name} rank {rank} iteration {number}: phases")
        same(min(item["exclusive"].values()) < 0, False, f"{name} rank {rank} iteration {number}: a phase")
    spans = (reference_of(name, "reference.json") or {}).get("step_span_s")
    if spans:
        for number, step in enumerate(spans):
            item = rows[0, number]
            same((item["end"] - item["begin"]) / 1e9, spans[step], f"{name}: step {step}", 1e-6)


def rank_of(worker, workers):
    """Workers are in order of their processes' numbers: those of a stage side by side."""
    data, pipeline = worker.replace("dp", "").replace("pp", "").split("/")
    return int(pipeline) * len({name.split("/")[0] for name in workers}) + int(data)


def compare_labels(name, traces):
    """Labelled phases: the sums over all steps of what their labels say they are."""
    workers = (reference_of(name, "reference.json") or {}).get("workers")
    if not workers:
        return
    rows = iterations_of(traces)
    for worker, expected in workers.items():
        rank = rank_of(worker, workers)
        for phase, label in (("forward", "forward-compute"), ("backward", "backward-compute")):
            busy = sum(item["busy"][phase] for key, item in rows.items() if key[0] == rank)
            same(busy / 1000, expected["sum_us"][label], f"{name} {worker}: {phase}", 0.5)


def union(slices):
    total, until = 0, None
    for begin, end in sorted(slices):
        if until is None or begin > until:
            until = begin
        if end > until:
            total += end - until
            until = end
    return total


def export(traces):
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "trace.json")
        ask("export", "--perfetto", "-o", path, traces)
        with open(path, encoding="utf-8") as text:
            return json.load(text, parse_float=decimal.Decimal)["traceEvents"]


def slices_by_rank(traces):
    """The device's slices of each process of the exported trace, in order of rank."""
    by_process = {}
    for event in export(traces):
        if event["ph"] == "X" and event.get("cat") == "device":
            begin = int(decimal.Decimal(event["ts"]) * 1000)
            by_process.setdefault(event["pid"], []).append(
                (begin, begin + int(decimal.Decimal(event["dur"]) * 1000), event["name"]))
    return [by_process[process] for process in sorted(by_process)]


def compare_events(name, traces):
    hta = reference_of(name, "hta-reference.json")
    other = reference_of(name, "reference.json")
    ranks = slices_by_rank(traces)
    if hta:
        rows = sorted(hta["independent_check"]["ranks"].items(), key=lambda item: int(item[0]))
        same(len(ranks), len(rows), f"{name}: ranks")
        for (rank, row), slices in zip(rows, ranks):
            row = row["last=True"]
            same(len(slices), row["gpu_events_all"], f"{name} rank {rank}: events")
            if row["gpu_events_all"] != row["gpu_events_used"]:
                continue
            same(union([item[:2] for item in slices]), row["kernel_time_ns"] - row["idle_ns"], f"{name} rank {rank}: busy")
            same(union([item[:2] for item in slices if item[2].startswith("nccl")]), row["comm_busy_ns"],
                 f"{name} rank {rank}: communication")
            same(union([item[:2] for item in slices if item[2].startswith(("memcpy", "memset"))]), row["mem_busy_ns"],
                 f"{name} rank {rank}: copies and sets")
    for file in annotations_of(name):
        # What is launched outside the steps is in the timeline, and not in the reference.
        if "ProfilerStep#N" in file and len(ranks) == 1 and len(ranks[0]) == file["ProfilerStep#N"]["gpu_events_launched_inside"]:
            same(sum(end - begin for begin, end, _ in ranks[0]) / 1000, file["ProfilerStep#N"]["gpu_us_sum"],
                 f"{name}: sum of events", 0.0005)
    for file, expected in (other or {}).get("files", {}).items():
        if not os.path.exists(os.path.join(traces, file)):
            continue
        for rank, slices in enumerate(ranks if "gpu0" in expected else []):
            same(union([item[:2] for item in slices]), expected[f"gpu{rank}"]["busy"], f"{name} GPU {rank}: busy")
    for worker, expected in (other or {}).get("workers", {}).items():
        slices = ranks[rank_of(worker, other["workers"])]
        for label, micros in expected["sum_us"].items():
            same(sum(end - begin for begin, end, what in slices if what == label) / 1000, micros, f"{name} {worker} {label}",
                 0.5)


def compare_page(name, traces):
    """A report is a page, and gives one probability of the iterations wherever it speaks of it."""
    text = ask("report", traces)
    same(max(64, text.count("\n")), 64, f"{name}: lines of the report")
    sure = set(re.findall(r"confidence\s+(\d+)%|right\s+with\s+a\s+probability\s+of\s+(\d+)%", text))
    same(max(1, len({one or other for one, other in sure})), 1, f"{name}: confidences {sorted(sure)}")


# torchvision's documentation, weights of ResNet-50 and ResNet-18.
PARAMETERS = {"kineto-resnet50-v100-workers0": 25557032, "kineto-resnet50-v100-workers4": 25557032,
              "tracelens-resnet18-mi300-nomarkers": 11689512}


def compare_parameters(name, traces):
    if name in PARAMETERS:
        layers = json.loads(ask("layers", "--json", traces))["layers"]
        same(sum(layer["parameters"] for layer in layers), PARAMETERS[name], f"{name}: parameters")


def compare_mixed(traces):
    """Runs of different formats in one report."""
    runs = json.loads(ask("report", "--json", *traces))
    same(len(runs["scaling"]), len(traces), "runs side by side")


if not os.path.isdir(folder):
    print("no folder of real traces: PM_TRACES says where it is")
    sys.exit(77)
# Two jobs in one folder are refused; findings.py has them one by one.
names = [name for name in sorted(os.listdir(folder)) if os.path.isdir(os.path.join(folder, name, "traces"))
         and name != "megatronapp-pp4"]
for name in names:
    traces = os.path.join(folder, name, "traces")
    compare_iterations(name, traces)
    compare_events(name, traces)
    compare_labels(name, traces)
    compare_page(name, traces)
    compare_parameters(name, traces)
    for command in ("layers", "comm", "balance"):
        ask(command, traces)
        json.loads(ask(command, "--json", traces))
if len(names) > 1:
    compare_mixed([os.path.join(folder, name, "traces") for name in names])
print(f"{compared} figures compared, {failures} differ")
if compared == 0:
    sys.exit(77)
sys.exit(1 if failures else 0)
