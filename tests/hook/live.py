#!/usr/bin/env python3
"""live.py BUILD: the figures that the hook keeps in the header's page, against the program: a training of N iterations on softgpu has
N steps, but for those before the period was found, of about the time that the report finds for the same ones in the trace; its device time is what the
trace's records add up to, by class; calls of communication are all there; loops of one call are
published many steps at once."""
import csv
import functools
import io
import json
import os
import struct
import subprocess
import sys
import tempfile

build = os.path.realpath(sys.argv[1])
ITERATIONS = 400
COMMUNICATION = ("ncclAllReduce", "ncclBroadcast", "ncclReduce", "ncclAllGather", "ncclReduceScatter", "ncclSend", "ncclRecv")
scratch = tempfile.TemporaryDirectory()
os.chdir(scratch.name)
bad = 0


def complain(text):
    global bad
    print("not ok:", text)
    bad = 1


def figures(path):
    with open(path, "rb") as file:
        words = struct.unpack_from("<12Q32Q", file.read(4096), 2048)
    names = ("magic", "seen", "calls", "communications", "ended", "kernel", "communication", "copy", "changes", "steps", "timed", "last")
    return dict(zip(names, words[:12])), words[12:]


def pmanalyze(*arguments):
    return subprocess.run([f"{build}/bin/pmanalyze", *arguments], check=True, capture_output=True, text=True).stdout


subprocess.run([f"{build}/bin/pmrun", "-q", "-n", "2", "-o", "run", "--softgpu=v100", "--", f"{build}/bin/train_mlp", "--synthetic", "--batch", "64",
                "--iterations", str(ITERATIONS), "--print", "0"], check=True, stdout=subprocess.DEVNULL)
@functools.cache
def names_of(path):
    """What each operation is, in one text: of a kernel its name."""
    return {row["number"]: str(row) for row in csv.DictReader(io.StringIO(pmanalyze("dump", "--ops", "--csv", path)))}


def median(values):
    return sorted(values)[len(values) // 2]


iterations = {}  # by rank: how long each took, in order
for row in csv.DictReader(io.StringIO(pmanalyze("report", "--csv", "--iterations", "run"))):
    if row["phase"] == "iteration":
        iterations.setdefault(row["rank"], []).append(int(row["busy_ns"]))
for name in sorted(os.listdir("run")):
    if not name.endswith(".pmtrace"):
        continue
    path = f"run/{name}"
    live, steps_ns = figures(path)
    if live["magic"] != 0x316576696c6d7000 or live["ended"] < live["last"] or live["changes"] % 2:
        complain(f"{name}: {live}")
    # one mark a step, from some iterations on
    if not ITERATIONS / 2 <= live["steps"] < ITERATIONS:
        complain(f"{name}: {live['steps']} steps of {ITERATIONS} iterations")
    sums, communications = {"kernel": 0, "communication": 0, "copy": 0}, 0
    for record in csv.DictReader(io.StringIO(pmanalyze("dump", "--records", "--csv", path))):
        function = record["function"]
        if record["kind"] == "call":
            communications += function in COMMUNICATION
        else:
            sums["copy" if function in ("memcpy", "memset") else "communication" if "nccl" in names_of(path)[record["op"]] else "kernel"] += \
                int(record["duration_ns"])
    if communications != live["communications"]:
        complain(f"{name}: {live['communications']} calls of communication, the trace has {communications}")
    for key, value in sums.items():
        if live[key] != value or value == 0:
            complain(f"{name}: {key} {live[key]} ns, the records {value}")
    if abs(live["calls"] - int(json.loads(pmanalyze("dump", "--json", path))["calls"])) > 64 * 8:
        complain(f"{name}: {live['calls']} calls")
    last = steps_ns[:min(32, live["steps"])]
    same_ns = median(iterations[name.split(".")[-2]][-len(last):])
    if not 0.3 * median(last) < same_ns < 3 * median(last):
        complain(f"{name}: steps of {median(last)} ns, the report has {same_ns}")

# Loops of one call each: all are steps, and many of them are published together, with their mean
environment = dict(os.environ, LD_PRELOAD=f"{build}/lib/libpmhook.so", PMHOOK_OUT=scratch.name, PMHOOK_DEVICE="none", PMHOOK_MODE="ring")
subprocess.run([f"{build}/bin/bench_calls"], check=True, env=environment, stdout=subprocess.DEVNULL)
live, steps_ns = figures(next(name for name in os.listdir(".") if name.startswith("bench_calls")))
if live["steps"] < 1000000 or live["changes"] / 2 > live["steps"] / 20 or not 5 < median(steps_ns) < 20000:
    complain(f"steps of one call: {live['steps']} published in {live['changes'] // 2}, {median(steps_ns)} ns")
sys.exit(bad)
