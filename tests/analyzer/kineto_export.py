#!/usr/bin/env python3
"""Is what `pmanalyze export --kineto` writes what the run has, and do readers of such traces take it? kineto_export.py PMANALYZE MAKE_TRACE

The dump's calls and device intervals are counted and summed apart from the export. Where HolisticTraceAnalysis is installed for the
interpreter in PM_HTA_PYTHON, it loads the files, and its figures are compared with those of the dump.
"""
import collections
import csv
import decimal
import glob
import gzip
import io
import json
import os
import re
import subprocess
import sys
import tempfile

pmanalyze, make_trace = map(os.path.abspath, sys.argv[1:3])
wrong = []

HTA = """
import sys, json
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_dir=sys.argv[1])
print(json.dumps({"temporal": analysis.get_temporal_breakdown(visualize=False).to_dict("records"),
                  "types": analysis.get_gpu_kernel_breakdown(visualize=False)[0].to_dict("records"),
                  "stragglers": [int(rank) for rank in analysis.get_potential_stragglers()]}))
"""


def check(condition, text):
    if not condition:
        wrong.append(text)


def ns(text):
    return int(decimal.Decimal(text) * 1000)


def table(*command):
    text = subprocess.run([pmanalyze, *command], check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return list(csv.DictReader(io.StringIO(text)))


def union(intervals):
    total, until = 0, None
    for begin, end in sorted(intervals):
        if until is None or begin > until:
            total, until = total + end - begin, end
        elif end > until:
            total, until = total + end - until, end
    return total


def check_file(name, path, records, iterations):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        text = file.read()
    check(re.search(r'"rank":\s+\d+', text[:4096]), f"{name}: the rank is not where tools look for it")
    trace = json.loads(text, parse_float=str)
    slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    by_category = collections.defaultdict(list)
    for event in slices:
        begin, length = ns(str(event["ts"])), ns(str(event["dur"]))
        check(begin >= 0 and length >= 0, f"{name}: negative time in {event}")
        event["interval"] = (begin, begin + length)
        by_category[event["cat"]].append(event)

    device = by_category["kernel"] + by_category["gpu_memcpy"] + by_category["gpu_memset"]
    rows = [row for row in records if row["kind"] == "device" and row["correlation"] != "0"]
    check(len(device) == len(rows), f"{name}: {len(device)} device events of {len(rows)}")
    check(sorted(end - begin for begin, end in (event["interval"] for event in device)) ==
          sorted(int(row["duration_ns"]) for row in rows), f"{name}: device events have other lengths")

    # every piece of work has one launch, which does not begin later; that of a captured graph has the graph's
    launches = {event["args"]["correlation"]: event for event in by_category["cuda_runtime"] if "correlation" in event["args"]}
    check({event["args"]["correlation"] for event in device} <= set(launches), f"{name}: work without launch")
    if not any(event["name"] == "cudaGraphLaunch" for event in slices):
        check(len(launches) == len(device), f"{name}: {len(launches)} launches of {len(device)} device events")
    for event in device:
        launch = launches.get(event["args"]["correlation"])
        check(launch and launch["interval"][0] <= event["interval"][0], f"{name}: {event['name']} begins before its launch")
    calls = [event for event in by_category["cpu_op"] + by_category["cuda_runtime"]]
    own = sum(row["kind"] == "call" for row in records)
    inside = sum(event["name"] in ("cudaLaunchKernel", "cudaMemcpyAsync", "cudaMemsetAsync") for event in calls)
    check(own <= len(calls) <= own + inside, f"{name}: {len(calls)} calls of {own}")

    # slices of a thread nest, and launches of a call follow each other
    threads = collections.defaultdict(list)
    for event in calls:
        threads[event["tid"], event["cat"] == "cuda_runtime"].append(event["interval"])
    for number, intervals in threads.items():
        intervals.sort()
        check(all(before[1] <= after[0] for before, after in zip(intervals, intervals[1:])), f"{name}: overlap on {number}")

    # annotations follow each other
    steps = sorted(event["interval"] for event in by_category["user_annotation"])
    check(len(steps) == iterations, f"{name}: {len(steps)} steps of {iterations}")
    check(all(before[1] <= after[0] for before, after in zip(steps, steps[1:])), f"{name}: steps overlap")
    starts = collections.Counter(event["id"] for event in trace["traceEvents"] if event["ph"] == "s")
    ends = collections.Counter(event["id"] for event in trace["traceEvents"] if event["ph"] == "f")
    check(starts == ends and len(starts) == len(device), f"{name}: flows do not pair up")
    return trace["distributedInfo"]["rank"], device


def check_hta(name, folder, ranks):
    """With all steps kept but the last, as it does by default, of the work that they launched."""
    python = os.environ.get("PM_HTA_PYTHON")
    if not python or len(ranks) == 1:  # it fails where nothing communicates
        return
    environment = dict(os.environ, HTA_DISABLE_NS_ROUNDING="1")
    result = subprocess.run([python, "-c", HTA, folder], env=environment, capture_output=True, text=True, check=False)
    check(result.returncode == 0, f"{name}: HTA: {result.stderr[-500:]}")
    if result.returncode != 0:
        return
    answer = json.loads(result.stdout.splitlines()[-1])
    check(len(answer["temporal"]) == len(ranks), f"{name}: HTA sees {len(answer['temporal'])} ranks of {len(ranks)}")
    check(any(row["kernel_type"] == "COMMUNICATION" for row in answer["types"]), f"{name}: HTA sees no communication")
    for row in answer["temporal"]:
        device, last = ranks[row["rank"]]
        kept = [event["interval"] for event in device if last is None or event["launched"] < last]
        window = max(end for _, end in kept) - min(begin for begin, _ in kept)
        check(abs(row["kernel_time(us)"] - window / 1000) < 0.1, f"{name}: HTA's window {row['kernel_time(us)']}, {window} ns")
        idle = window - union(kept)
        check(abs(row["idle_time(us)"] - idle / 1000) < 0.1, f"{name}: HTA's idle {row['idle_time(us)']}, {idle} ns")


def check_run(name):
    os.mkdir(name)
    subprocess.run([make_trace, name, name], check=True)
    subprocess.run([pmanalyze, "export", "--kineto", "-o", name + ".kineto", name], check=True, stderr=subprocess.DEVNULL)
    rows = table("report", "--csv", "--iterations", name)
    iterations = collections.Counter(rank for rank, _ in {(row["rank"], row["iteration"]) for row in rows})
    files = sorted(glob.glob(name + ".kineto/*.json.gz"))
    traces = sorted(glob.glob(name + "/*.pmtrace"))
    check(len(files) == len(traces), f"{name}: {len(files)} files of {len(traces)} ranks")
    ranks = {}
    for number, (path, source) in enumerate(zip(files, traces)):
        records = table("dump", "--csv", "--records", source)
        count = iterations[str(number)]
        rank, device = check_file(f"{name} {number}", path, records, count)
        with gzip.open(path, "rt", encoding="utf-8") as file:
            events = json.loads(file.read(), parse_float=str)["traceEvents"]
        begin = {event["args"]["correlation"]: ns(event["ts"]) for event in events
                 if event.get("cat") == "cuda_runtime" and "correlation" in event["args"]}
        for event in device:
            event["launched"] = begin[event["args"]["correlation"]]
        steps = [ns(event["ts"]) for event in events if event.get("cat") == "user_annotation"]
        ranks[rank] = device, max(steps) if len(steps) > 1 else None
    check(sorted(ranks) == list(range(len(files))), f"{name}: ranks {sorted(ranks)}")
    check_hta(name, name + ".kineto", ranks)


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    for run in ("one", "three", "overlap", "graph_cupti", "modules"):
        check_run(run)
    full = subprocess.run([pmanalyze, "export", "--kineto", "one"], capture_output=True, text=True, check=False)
    check(full.returncode == 2 and "-o FOLDER" in full.stderr, "no folder: " + full.stderr)
    open("file", "w", encoding="ascii").close()
    full = subprocess.run([pmanalyze, "export", "--kineto", "-o", "file", "one"], capture_output=True, text=True, check=False)
    check(full.returncode == 1 and "Not a directory" in full.stderr, "a file for a folder: " + full.stderr)
    os.chdir("/")
for line in wrong[:20]:
    print(line)
sys.exit(1 if wrong else 0)
