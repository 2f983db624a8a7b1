#!/usr/bin/env python3
"""What must hold of the findings of any run, and what is known of real ones: findings.py PMANALYZE MAKE_TRACE TRACES RUN...
Gains are bounded by the time that they remove and by the step, the list is in order, parts do not exceed the whole, and all commands
name the same step time and the same first cause. Checked are made-up runs, folders RUN of our own traces, and real ones in the
folder TRACES, which may be "".
"""
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile

import walk

pmanalyze, make_trace, traces = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
failures = checks = 0

MADE = ["one", "three", "overlap", "two_gpus", "killed", "host_only", "graph", "recompute", "causes", "now_and_then", "synchronized_once"]

# Of real sets: the first finding's kind, and its cause or subject, as their makers or an independent sum tell.
KNOWN = {
    "bytedance-straggler-AR": ("imbalance", "workers"),
    "bytedance-straggler-ST": ("imbalance", "stages"),
    "kineto-resnet50-v100-workers0": ("input", "input"),
    "tracelens-resnet18-mi300-nomarkers": ("blocking_call", "hipFree"),
}


def check(holds, what):
    global failures, checks
    checks += 1
    if not holds:
        failures += 1
        print(what)


def answer(command, *arguments):
    result = subprocess.run([pmanalyze, command, "--json", *arguments], capture_output=True, check=False)
    check(result.returncode in (0, 1), f"{command} {arguments}: exit status {result.returncode}: {result.stderr.decode()}")
    return json.loads(result.stdout) if result.stdout else {}


def near(one, other):
    return abs(one - other) <= 1e-6 * max(abs(one), abs(other), 1)


def check_report(name, path):
    report = answer("report", path)
    step, findings = report["step"], report["findings"]
    idle = {phase["phase"]: phase["exclusive_ns"] for phase in report["phases"]}
    check(step["quartile_low_ns"] <= step["median_ns"] <= step["quartile_high_ns"], f"{name}: quartiles of a step")
    check(near(step["mean_ns"], report["t_iter_ns"]), f"{name}: two mean times of a step")
    gains = [finding["gain_ns"] for finding in findings if finding["gain_ns"] is not None]
    check(gains == sorted(gains, reverse=True), f"{name}: findings out of order")
    check(all(finding["gain_ns"] is None for finding in findings[len(gains):]), f"{name}: a gain after those without")
    for finding in findings:
        title = f"{name}: {finding['title']}"
        check(finding["text"] and finding["basis"] and finding["advice"], f"{title}: without text, basis or advice")
        if finding["gain_ns"] is not None:
            check(finding["gain_ns"] <= finding["lost_ns"] * (1 + 1e-9), f"{title}: gains more than is lost")
            check(near(finding["gain_share"], finding["gain_ns"] / step["mean_ns"]), f"{title}: a share of what?")
            check(0.0099 * step["mean_ns"] <= finding["gain_ns"] <= step["mean_ns"],
                  f"{title}: gain beyond the step")
    own = [finding["gain_ns"] for finding in findings
           if finding["kind"] in ("input", "blocking_call", "launch", "latency", "communication")]
    check(sum(own) <= step["typical_ns"] * (1 + 1e-9), f"{name}: idle time of one rank gains more than the step")
    for phase in report["phases"]:
        check(phase.get("busy_ns") is None or phase["exclusive_ns"] <= phase["busy_ns"] * (1 + 1e-9),
              f"{name}: {phase['phase']} is exclusive for longer than it is busy: {phase}")
    busy = sum(time or 0 for phase, time in idle.items() if not phase.startswith("idle") and phase != "iteration")
    check(busy <= report["t_iter_ns"] * (1 + 1e-9), f"{name}: work exceeds the iteration")
    check_calls(name, report)
    check_others(name, path, report)
    check_kernels(name, path)
    for sentence in walk.walk(pmanalyze, path):
        check(False, sentence)
    if name in MADE:
        check_update(name, path)
    return report


def check_kernels(name, path):
    kernels = answer("kernels", path)["runs"][0]
    rows = kernels["kernels"]
    check(near(sum(row["time_ns"] for row in rows), kernels["time_ns"]), f"{name}: kernels do not add up")
    check(not rows or near(sum(row["share"] for row in rows), 1), f"{name}: shares of kernels")
    in_graphs = sum(row["time_ns"] * row["graph_share"] for row in rows)
    check(near(in_graphs, sum(row["time_ns"] for row in kernels["graphs"])), f"{name}: graphs are not their kernels")
    for row in rows:
        check(row["min_ns"] <= row["time_ns"] * (1 + 1e-9) and row["time_ns"] <= row["max_ns"] * (1 + 1e-9), f"{name}: {row['kernel']}")
    if name == "hta-dlrm-v100-r1of2":
        layers = {row["layer"] for row in rows if row["graph_share"] == 1 and row["phase"] in ("forward", "backward")}
        check(layers == {"graph"}, f"{name}: kernels of graphs are of {layers}")
        check([row["kernels"] for row in kernels["graphs"]] == [502, 339], f"{name}: graphs {kernels['graphs']}")


def check_update(name, path):
    """What kernels and layers say of updates is one time: of layers, and of none."""
    kernels = sum(row["time_ns"] for row in answer("kernels", path)["runs"][0]["kernels"] if row["phase"] == "update")
    if kernels == 0:  # no device times
        return
    layers = answer("layers", path)
    of_layers = sum(row["update_ns"] or 0 for row in layers["layers"])
    check(abs(kernels - of_layers - layers["no_layer"]["update_ns"]) <= 0.01 * max(kernels, 1),
          f"{name}: updates take {kernels} by kernels, {of_layers} by layers and {layers['no_layer']['update_ns']} in none")


def check_others(name, path, report):
    """All commands have the report's step and its findings; a predicted gain is within the iteration."""
    for command in ("balance", "path", "whatif"):
        other = answer(command, path)["runs"][0]
        check(other["step"] == report["step"], f"{name}: {command} has another step")
        check(other["findings"] == report["findings"], f"{name}: {command} has other findings")
        if "measured_ns" in other and other.get("iterations") == report["iterations_used"]:
            check(near(other["measured_ns"], report["t_iter_ns"]), f"{name}: {command} measures another iteration")
        idle = sum(phase["exclusive_ns"] or 0 for phase in report["phases"] if phase["phase"].startswith("idle"))
        for change in other.get("changes", []):
            check(change["predicted_ns"] > 0, f"{name}: {change['what']}: nothing is left")
            if change["kind"] == "host":
                check(change["gain_ns"] <= idle + (report["communication_wait_ns"] or 0) + 1, f"{name}: zero launch time gains more than is idle")


def check_steps(name, path, report):
    """The steps of labelled phases are those of the replay."""
    job = answer("slowdown", path)
    check(near(job["measured_ns"], report["t_iter_ns"]) and len(job["steps"]) == report["iterations_used"],
          f"{name}: a step takes {report['t_iter_ns']} in report, {job['measured_ns']} in slowdown")
    first = report["findings"][0] if report["findings"] else None
    check(job["cause"] == (first["cause"] if first else "none"), f"{name}: slowdown names {job['cause']}")
    one = job["steps"][len(job["steps"]) // 2]
    chosen = str(one["step"])
    check(near(answer("report", "--steps", chosen, path)["t_iter_ns"], one["measured_ns"]), f"{name}: step {chosen} in report")
    check(near(answer("slowdown", "--steps", chosen, path)["measured_ns"], one["measured_ns"]), f"{name}: step {chosen} in slowdown")


def check_calls(name, report):
    """What the calls cause, and the rest, is the idle time of the phases."""
    for worker in {row["worker"] for row in report["host_calls"]}:
        rows = [row for row in report["host_calls"] if row["worker"] == worker]
        for row in rows:
            check(row.get("queued_ns") is None or row["queued_ns"] <= row["idle_ns"] * (1 + 1e-9), f"{name}: {row['call']}: queued")
        check(near(sum(row["idle_share"] for row in rows if row.get("idle_share") is not None), 1)
              or sum(row["idle_ns"] for row in rows) == 0, f"{name}: shares of idle time")
    for finding in report["findings"]:
        if finding["kind"] == "blocking_call":
            check_rare_call(name, report, finding)
    if len(report["workers"]) and report["host_calls"]:
        idle = sum(phase["exclusive_ns"] or 0 for phase in report["phases"] if phase["phase"].startswith("idle"))
        ranks = report["gpus"]
        mean = sum(row["idle_ns"] for row in report["host_calls"]) / ranks
        check(abs(mean - idle) <= 0.02 * max(idle, 1) + 10, f"{name}: idle {idle} by phases, {mean} by calls")


def check_rare_call(name, report, finding):
    """What is called in few steps is not said of each, and once or twice is no habit."""
    count = next(row["count"] for row in report["host_calls"] if row["call"] == finding["subject"])
    calls, steps = round(count * report["step"]["iterations"]), report["step"]["iterations"]
    if count >= 0.5:
        check(" a step take" in finding["text"], f"{name}: {finding['text']}")
    else:
        check(f"; {calls} call{'s' if calls > 1 else ''} in {steps} steps take" in finding["text"], f"{name}: {finding['text']}")
        check(calls >= 3 or finding["strength"] == "weak", f"{name}: {calls} calls are {finding['strength']}")


def input_of(folder, work):
    """The set's traces; of an SQLite file, which is packed, a copy that is not."""
    for entry in sorted(os.listdir(folder)):
        if entry.endswith(".sqlite.gz"):
            target = os.path.join(work, entry[:-3])
            with gzip.open(os.path.join(folder, entry)) as packed, open(target, "wb") as out:
                shutil.copyfileobj(packed, out)
            return target
    return folder


def check_jobs(place):
    """Two programs' traces, or two launches, in one folder are not one job; and a folder of folders is looked into."""
    mixed, deep = os.path.join(place, "mixed"), os.path.join(place, "deep", "er")
    shutil.copytree(os.path.join(place, "three"), mixed)
    for name in os.listdir(os.path.join(place, "causes")):
        shutil.copy(os.path.join(place, "causes", name), os.path.join(mixed, "b" + name))
    refused = subprocess.run([pmanalyze, "report", mixed], capture_output=True, check=False)
    check(refused.returncode == 1 and b"2 jobs" in refused.stderr and b"--job N" in refused.stderr, f"mixed: {refused.stderr}")
    times = {answer("report", "--job", str(job), mixed)["t_iter_ns"] for job in (1, 2)}
    alone = {answer("report", os.path.join(place, name))["t_iter_ns"] for name in ("three", "causes")}
    check(times == alone, f"mixed: jobs with iterations of {times}, alone {alone}")
    shutil.copytree(os.path.join(place, "three"), deep)
    check(answer("report", os.path.dirname(deep))["gpus"] == 3, "deep: not found")


def check_warmup():
    """Without its first step a pipeline's slow stage shows: the slowdown that others computed for the other steps."""
    path = os.path.join(traces, "megatronapp-pp4", "traces", "data-1-pipeline-4-tensor-1-pp-aggregated.json.gz")
    if os.path.exists(path):
        job = answer("slowdown", path)
        check(abs(job["slowdown"] - 1.3808) < 5e-5 and job["cause"] == "stages", f"megatronapp: {job['slowdown']} {job['cause']}")
        check_steps("megatronapp", path, answer("report", path))


def check_collectives():
    """By the annotations' own names: how often a recommender exchanges, and how."""
    path = os.path.join(traces, "hta-torchrec-a100-r0of16", "traces")
    if os.path.isdir(path):
        rows = answer("comm", "--skip", "0", path)["runs"][0]["calls"]
        counts = {row["call"]: row["count"] for row in rows}
        check([counts.get(name) for name in ("AllReduce", "AlltoAll", "ReduceScatter", "AllGather")] == [10, 45, 10, 10],
              f"torchrec: {counts}")
        check(all(row.get("waiting_ns") is None for row in rows), "torchrec: waiting for ranks that are absent is known")
    path = os.path.join(traces, "hta-ddp-resnet-a100-r0of2", "traces")
    if os.path.isdir(path):
        sizes = [row["bytes"] for row in answer("comm", path)["runs"][0]["calls"] if row["call"] == "AllReduce"]
        check(len(sizes) > 1, f"ddp: buckets of {sizes} bytes")


def check_evaluation(name, report):
    """Only one of the made-up programs evaluates: twice in its run."""
    found = [finding for finding in report["findings"] if finding["kind"] == "evaluation"]
    check(len(found) == (name == "one"), f"{name}: {len(found)} findings of evaluation")
    for finding in found:
        check(finding["text"].startswith("2 stretches") and finding["gain_ns"] is None, f"{name}: {finding['text']}")


def check_letters(place):
    """A pipeline's schedule with letters for directions, as DualPipe is drawn: what each phase has is the sum over its labels."""
    path = os.path.join(place, "letters.json")
    work = [("attn (F)", 1, 0, 100), ("dispatch (F)", 2, 100, 40), ("mlp (F)", 1, 140, 60), ("combine (F)", 2, 200, 30),
            ("mlp (B)", 1, 230, 120), ("mlp (W)", 1, 350, 50), ("combine (B)", 2, 350, 50), ("attn (B)", 1, 400, 90),
            ("attn (W)", 1, 490, 30), ("optimizer", 1, 520, 20)]
    with open(path, "w", encoding="utf-8") as target:
        json.dump({"traceEvents": [{"ph": "X", "name": name, "pid": 0, "tid": thread, "ts": 540 * step + begin, "dur": took}
                                   for step in range(4) for name, thread, begin, took in work]}, target)
    busy = {phase["phase"]: phase["busy_ns"] for phase in answer("report", path)["phases"]}
    for phase, expected_us in (("forward", 160), ("backward", 290), ("communication", 120), ("update", 20)):
        check(near(busy[phase], 1000 * expected_us), f"letters: {phase} {busy[phase]} ns, not {expected_us} us")


def check_cure():
    """A loader with four workers where there was none: measured, and input is why."""
    before, after = (os.path.join(traces, f"kineto-resnet50-v100-workers{count}", "traces") for count in (0, 4))
    if not os.path.isdir(before) or not os.path.isdir(after):
        return
    pair = answer("compare", before, after)["pairs"][0]
    row = next(row for row in pair["rows"] if row["kind"] == "whole" and row["key"] == "t_iter")
    check(row["verdict"] == "faster" and abs(row["difference"] + 42.673e6) < 1e3, f"workers 0 to 4: {row}")
    check(any(text.startswith("Cause: Input") for text in pair["sentences"]), f"workers 0 to 4: {pair['sentences']}")


def check_real(work):
    for name in sorted(os.listdir(traces)):
        folder = os.path.join(traces, name, "traces")
        if not os.path.isdir(folder) or name == "megatronapp-pp4":  # two jobs: see check_warmup
            continue
        report = check_report(name, input_of(folder, work))
        if name.startswith("bytedance"):
            check_steps(name, folder, report)
        if name in KNOWN:
            first = report["findings"][0]
            check(first["kind"] == KNOWN[name][0] and KNOWN[name][1] in (first["cause"], first["subject"]),
                  f"{name}: first finding {first['kind']} {first['cause']} {first['subject']}")


with tempfile.TemporaryDirectory() as place:
    for made in MADE:
        os.mkdir(os.path.join(place, made))
        subprocess.run([make_trace, os.path.join(place, made), made], check=True)
        check_evaluation(made, check_report(made, os.path.join(place, made)))
    check_jobs(place)
    check_letters(place)
    for run in sys.argv[4:]:
        check_report(os.path.basename(run), run)
    if traces:
        check_real(place)
        check_cure()
        check_collectives()
        check_warmup()
print(f"{checks} checks, {failures} failures{'' if traces else '; no folder of real traces (PM_TRACES)'}")
sys.exit(bool(failures))
