#!/usr/bin/env python3
"""Holds pmanalyze window and arrivals against what others computed from real traces: real_traces.py PMANALYZE FOLDER (or
PM_TRACES in the environment).

The folder has one folder per trace set, with reference files beside the traces: HolisticTraceAnalysis' own results and an
independent recomputation in ns (hta-reference.json), arrivals at collectives (collectives-reference.json), and figures of
Nsight Systems exports (reference.json). Traces with times in whole us must agree exactly. Exit 77 where there are none.
"""
import glob
import json
import os
import subprocess
import sys

pmanalyze = sys.argv[1]
folder = os.environ.get("PM_TRACES") or sys.argv[2]
failures = 0
compared = 0


def same(got, expected, what, tolerance=0.0):
    global failures, compared
    compared += 1
    if got is None or abs(got - expected) > tolerance:
        failures += 1
        print(f"{what}: {got}, expected {expected}")


def ask(*arguments):
    result = subprocess.run([pmanalyze, *arguments], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"pmanalyze {' '.join(arguments)}: exit status {result.returncode}: {result.stderr}")
    return json.loads(result.stdout)


def is_exact(reference):
    """Does HTA see whole us? It rounds begin and end of others, unless told not to, and sums whole us of each stretch."""
    return not any(key.startswith("HTA_DISABLE_NS_ROUNDING=1,") for key in reference["runs"])


INDEPENDENT = {"kernel_time_ns": "window_ns", "idle_ns": "idle_ns", "compute_ns": "compute_ns",
               "non_compute_ns": "non_compute_ns", "comm_busy_ns": "communication_ns", "mem_busy_ns": "memory_ns",
               "comm_comp_overlap_ns": "overlap_ns", "gpu_events_all": "events", "gpu_events_used": "events_used"}
OWN = {"idle_time(us)": "idle_ns", "compute_time(us)": "compute_ns", "non_compute_time(us)": "non_compute_ns",
       "kernel_time(us)": "window_ns"}


def compare_window(name, reference, traces, last):
    exact = is_exact(reference)
    key = f"include_last_profiler_step={last}"
    if not exact:
        key = "HTA_DISABLE_NS_ROUNDING=1," + key
    results = reference["runs"][key]["results"]
    answer = ask("window", "--json", "--hta-launches", "--last-step", "include" if last else "exclude", traces)
    ranks = {row["rank"]: row for row in answer["ranks"]}
    same(len(ranks), len(results["ranks_loaded"]), f"{name}: ranks")
    for rank, row in reference["independent_check"]["ranks"].items():
        for theirs, ours in INDEPENDENT.items():
            same(ranks[int(rank)][ours], row[f"last={last}"][theirs], f"{name} {key} rank {rank} {ours}")
    for row in results["temporal_breakdown"]:
        for theirs, ours in OWN.items():
            # without rounding HTA still works in doubles, and prints two digits
            same(ranks[row["rank"]][ours] / 1000, row[theirs], f"{name} {key} rank {row['rank']} {theirs}",
                 0 if exact else 0.1)
    for row in results["comm_comp_overlap"]:
        share = ranks[row["rank"]].get("overlap_share")
        if row["comp_comm_overlap_pctg"] is None:
            same(1 if share is None else 0, 1, f"{name} {key} rank {row['rank']}: no communication, no share")
        else:
            same(share * 100, row["comp_comm_overlap_pctg"], f"{name} {key} rank {row['rank']} overlap", 0.00501)
    streams = {(row["rank"], row["stream"]): row for row in answer["streams"]}
    for row in results["idle_time_breakdown"]:
        stream = streams[row["rank"], row["stream"]]
        same(stream[row["idle_category"] + "_ns"] / 1000, row["idle_time"],
             f"{name} {key} rank {row['rank']} stream {row['stream']} {row['idle_category']}", 0 if exact else 0.1)
    types = {row["kernel_type"]: row["time_ns"] / 1000 for row in answer["kernel_types"]}
    for row in results["gpu_kernel_breakdown"]["kernel_type"]:
        if exact:
            same(types.get(row["kernel_type"], 0), row["sum"], f"{name} {key} {row['kernel_type']}")


def compare_arrivals(name, reference, traces):
    answer = ask("arrivals", "--json", traces)
    same(len(answer["collectives"]), len(reference["collectives"]), f"{name}: collectives")
    arrivals = {(row["index"], row["rank"]): row for row in answer["arrivals"]}
    for row, expected in zip(answer["collectives"], reference["collectives"]):
        what = f"{name} collective {expected['index']}"
        same(row["last_rank"], expected["last_arrival_rank"], f"{what} last rank")
        same(row["waiting_ns"] / 1000, expected["wait_inflicted_us_sum_over_other_ranks"], f"{what} waiting")
        same(row["transfer_ns"] / 1000, expected["transfer_us_after_last_arrival"], f"{what} transfer")
        same(row["end_spread_ns"] / 1000, expected["end_spread_us"], f"{what} spread")
        same(row["kernel"] == expected["kernel"], 1, f"{what} is {row['kernel']}, expected {expected['kernel']}")
        for rank, begin_us in expected["start_us"].items():
            arrival = arrivals[expected["index"], int(rank)]
            same(arrival["start_ns"] / 1000, begin_us, f"{what} rank {rank} begin")
            same(arrival["end_ns"] / 1000, expected["end_us"][rank], f"{what} rank {rank} end")
    for row in answer["ranks"]:
        rank = str(row["rank"])
        same(row["wait_caused_ns"] / 1000, reference["total_wait_inflicted_us_by_rank"][rank], f"{name} rank {rank}")
        same(row["last"], reference["times_last_by_rank"][rank], f"{name} rank {rank} came last")
    worst = max(reference["total_wait_inflicted_us_by_rank"].items(), key=lambda item: item[1])[0]
    same(answer["straggler"], int(worst), f"{name} straggler")


def compare_nsys(name, reference, traces):
    for path in glob.glob(traces + "/*"):
        expected = reference["files"].get(os.path.basename(path))
        if not expected or "gpu0" not in expected:
            continue
        rows = ask("window", "--json", path)["ranks"]
        for row in rows:
            gpu = expected["gpu%d" % row["rank"]]
            same(row["window_ns"], gpu["span"], f"{name} GPU {row['rank']} span")
            same(row["idle_ns"], gpu["idle"], f"{name} GPU {row['rank']} idle")
            same(row["window_ns"] - row["idle_ns"], gpu["busy"], f"{name} GPU {row['rank']} busy")
            same(row["compute_ns"], gpu["compute"], f"{name} GPU {row['rank']} compute")
            same(row["communication_ns"], gpu["comm"], f"{name} GPU {row['rank']} communication")
            same(row["overlap_ns"], gpu["overlap"], f"{name} GPU {row['rank']} overlap")
        same(len(rows), 2, f"{name}: GPUs")


def compare_workers(name, reference, traces):
    """Labelled phases: each worker's busy times, which the reference has to 0.1 us."""
    rows = {row["label"]: row for row in ask("window", "--json", traces)["ranks"]}
    for worker, expected in reference["workers"].items():
        data, pipeline = worker.replace("dp", "").replace("pp", "").split("/")
        row = rows[f"DP {data} PP {pipeline} TP 0"]
        same(row["compute_ns"] / 1000, expected["compute_busy_us"], f"{name} {worker} compute", 0.1)
        same(row["communication_ns"] / 1000, expected["comm_busy_us"], f"{name} {worker} communication", 0.1)
        same(row["overlap_ns"] / 1000, expected["overlap_us"], f"{name} {worker} overlap", 0.1)


def reference_of(name, file):
    path = os.path.join(folder, name, file)
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as text:
        return json.load(text)


if not os.path.isdir(folder):
    print("no folder of real traces: PM_TRACES says where it is")
    sys.exit(77)
for name in sorted(os.listdir(folder)):
    traces = os.path.join(folder, name, "traces")
    hta = reference_of(name, "hta-reference.json")
    collectives = reference_of(name, "collectives-reference.json")
    other = reference_of(name, "reference.json")
    if hta:
        for last in (False, True):
            compare_window(name, hta, traces, last)
    if collectives:
        compare_arrivals(name, collectives, traces)
    if other and "files" in other:
        compare_nsys(name, other, traces)
    if other and "workers" in other:
        compare_workers(name, other, traces)
print(f"{compared} figures compared, {failures} differ")
if compared == 0:
    sys.exit(77)
sys.exit(1 if failures else 0)
