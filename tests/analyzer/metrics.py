#!/usr/bin/env python3
"""metrics.py PMANALYZE MAKE_TRACE: the lines of pmanalyze metrics against the format and against the iterations that
pmanalyze report lists."""
import csv
import io
import os
import re
import statistics
import subprocess
import sys
import tempfile

pmanalyze, make_trace = map(os.path.realpath, sys.argv[1:3])
scratch = tempfile.TemporaryDirectory()
os.chdir(scratch.name)
LINE = re.compile(r'(pmhook_[a-z_]+)\{((?:[a-z]+="(?:[^"\\\n]|\\.)*",?)+)\} (-?[0-9.e+-]+)')
bad = 0


def complain(text):
    global bad
    print("not ok:", text)
    bad = 1


def read(text):
    """The samples, by name and labels; the format as Prometheus documents it."""
    samples, family = {}, None
    lines = text.splitlines()
    if lines[-1] != "# EOF":
        complain("no end")
    for line in lines[:-1]:
        if line.startswith("# HELP "):
            family = line.split()[2]
        elif line.startswith("# TYPE "):
            if line != f"# TYPE {family} gauge":
                complain(line)
        else:
            match = LINE.fullmatch(line)
            if not match or match[1] != family:
                complain(f"{family}: {line}")
                continue
            key = (match[1], match[2])
            if key in samples:
                complain(f"twice: {line}")
            samples[key] = float(match[3])
    return samples


def labels(text):
    return dict(re.findall(r'([a-z]+)="((?:[^"\\]|\\.)*)"', text))


for name in "one", "overlap", "three", "two_gpus", "now_and_then":
    os.mkdir(name)
    subprocess.run([make_trace, name, name], check=True)
    samples = read(subprocess.run([pmanalyze, "metrics", name], check=True, capture_output=True, text=True).stdout)
    ranks = {}
    for (family, text), value in samples.items():
        if "rank" in labels(text):
            ranks[labels(text)["rank"]] = ranks.get(labels(text)["rank"], 0) + 1
    for rank, count in ranks.items():
        if count > 60:
            complain(f"{name}: {count} series of rank {rank}")
    answer = subprocess.run([pmanalyze, "report", "--iterations", "--csv", name], check=True, capture_output=True, text=True)
    times, phases = {}, {}
    for row in csv.DictReader(io.StringIO(answer.stdout)):
        if row["kind"] == "used":
            key = row["rank"], row["device"]
            times.setdefault(key, {})[row["iteration"]] = int(row["end_ns"]) - int(row["start_ns"])
            if row["phase"] != "iteration":
                phases.setdefault((*key, row["phase"]), []).append(int(row["exclusive_ns"]))
    if not times:
        complain(f"{name}: no used iterations in {answer.stdout[:300]}")
    expected = {("pmhook_iteration_seconds", *key, None): list(value.values()) for key, value in times.items()}
    expected |= {("pmhook_phase_seconds", *key): value for key, value in phases.items()}
    seen = {(family, labels(text)["rank"], labels(text)["device"], labels(text).get("phase")): value
            for (family, text), value in samples.items() if "device" in labels(text)}
    for key, values in expected.items():
        value = statistics.median(values[-20:]) / 1e9
        if key not in seen or abs(seen[key] - value) > 1e-8 * value:
            complain(f"{name}: {key}: {seen.get(key)}, expected {value}")

# a file is replaced, a label with a quote is one label, and --every ends with the run
os.rename("three", 'a"b')
for wrong in ["--every", "5", 'a"b'], ["none"]:
    if subprocess.run([pmanalyze, "metrics", *wrong], capture_output=True).returncode not in (1, 2):
        complain(f"taken: {wrong}")
subprocess.run([pmanalyze, "metrics", "--every", "1", "-o", "run.prom", 'a"b'], check=True, timeout=60)
if not any('run="a\\"b"' in text for _, text in read(open("run.prom", encoding="utf-8").read())):
    complain("the label with a quote")
sys.exit(bad)
