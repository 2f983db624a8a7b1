#!/usr/bin/env python3
"""Primus' pipeline data (config.json, pp_rank_N.json): what every command says of schedules that are known.

usage: pipeline_log.py PMANALYZE

The truth is a simulation of one forward, one backward from the schedule's definition (pipelines.py): stages' times are chosen, so the time of a
step, each stage's work and the bubble are closed figures.
"""
import json
import os
import subprocess
import sys
import tempfile

from checking import check, verdict
from pipelines import BATCHES, STAGES, save, schedule, write_log as write

program = os.path.abspath(sys.argv[1])


def ask(*arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False, timeout=60)


def answer(*arguments):
    result = ask(*arguments)
    check(result.returncode == 0, f"{arguments} ended with {result.returncode}: {result.stderr[-300:]}")
    return json.loads(result.stdout) if result.returncode == 0 else {}


def close(seen, expected):
    return seen is not None and abs(seen - expected) <= 1e-6 * max(1.0, abs(expected))


def check_even(folder):
    length = write(folder, [10] * STAGES, [20] * STAGES)
    bubble = (STAGES - 1) / (BATCHES + STAGES - 1)
    check(close(length, (BATCHES + STAGES - 1) * 30), "the simulation is not one forward, one backward")
    run = answer("report", "--json", folder)
    check(run["findings"] == [], f"even stages have findings: {run['findings']}")
    text = ask("report", folder).stdout
    check(f"{100 * bubble:.1f}%" in text and f"{STAGES} stages, {BATCHES} micro-batches" in " ".join(text.split()),
          "the report has no bubble beside that of the schedule")
    check(f"median {length:.3f} ms" in text, f"the report's step is not {length} ms")
    slowdown = answer("slowdown", "--json", folder)
    check(close(slowdown["slowdown"], 1) and slowdown["cause"] == "none", f"even: {slowdown['slowdown']} {slowdown['cause']}")
    check(close(slowdown["measured_ns"], length * 1e6), f"slowdown's step is {slowdown['measured_ns']}")
    check(slowdown["pipeline_parallel"] == STAGES, "not as many stages")


def check_stage(folder, slow, old):
    """One stage takes half as long again: with all balanced the simulation has the ideal time."""
    forward, backward = [10.0] * STAGES, [20.0] * STAGES
    forward[slow], backward[slow] = 15.0, 30.0
    length = write(folder, forward, backward, old)
    _, ideal = schedule([sum(forward) / STAGES] * STAGES, [sum(backward) / STAGES] * STAGES)
    slowdown = answer("slowdown", "--json", folder)
    check(close(slowdown["measured_ns"], length * 1e6) and close(slowdown["ideal_ns"], ideal * 1e6),
          f"stage {slow}: {slowdown['measured_ns']} {slowdown['ideal_ns']}, not {length} {ideal} ms")
    check(close(slowdown["slowdown"], length / ideal), f"stage {slow}: S {slowdown['slowdown']}")
    check(slowdown["cause"] == "stages" and slowdown["worst_worker"] == f"dp0/pp{slow}",
          f"stage {slow}: {slowdown['cause']} {slowdown['worst_worker']}")
    findings = answer("report", "--json", folder)["findings"]
    check(len(findings) == 1 and f"stage {slow}" in findings[0]["text"] and "takes 1.50× the computing time" in findings[0]["text"],
          f"stage {slow}: findings {findings}")
    for command in ("balance", "whatif", "path", "layers", "kernels", "comm", "model", "roofline"):
        result = ask(command, folder)
        check(result.returncode in (0, 1) and "rror" not in result.stderr[:20], f"{command}: {result.stderr[-200:]}")


def check_refused(folder):
    write(folder, [10] * STAGES, [20] * STAGES)
    part = os.path.join(folder, "pp_rank_1.json")
    for command in ("report", "slowdown"):
        result = ask(command, part)
        check(result.returncode == 1 and "name its folder" in result.stderr, f"{command} of a stage: {result.stderr}")
    with open(part, encoding="utf-8") as file:
        whole = file.read()
    os.remove(part)
    result = ask("report", folder)
    check(result.returncode == 0 and "1 of 4 stages have no file, first pp_rank_1.json" in " ".join(result.stdout.split()),
          f"a stage is absent: {result.stderr}")
    for text in ("", "[]", "{}", whole[:1000], '{"1": 5}', '{"x": {}}', whole.replace("fwd_end", "fwd_stop", 1),
                 '{"1": {"fwd_start": [5], "fwd_end": [4]}}', '{"1": {"fwd_start": [1e300], "fwd_end": [1e301]}}'):
        with open(part, "w", encoding="utf-8") as file:
            file.write(text)
        for command in ("report", "slowdown"):
            result = ask(command, folder)
            check(result.returncode == 1 and part in result.stderr, f"{command} of {text[:20]!r}: {result.returncode} {result.stderr}")


def check_weights(folder):
    """Weight gradients apart: their time is the stage's, but the schedule is not replayed."""
    write(folder, [10] * STAGES, [20] * STAGES)
    path = os.path.join(folder, "pp_rank_0.json")
    with open(path, encoding="utf-8") as file:
        stage = json.load(file)
    for step in stage.values():
        step["wgrad_start"], step["wgrad_end"] = [330.0], [335.0]
    save(folder, "pp_rank_0.json", stage)
    result = ask("slowdown", folder)
    check(result.returncode == 1 and "zero-bubble" in result.stderr, f"weights: {result.stderr}")
    busy = [row["busy_mean_ns"] for row in answer("report", "--json", folder)["workers"] if row["phase"] == "backward"]
    check(len(busy) == STAGES and close(busy[0], 165e6) and close(busy[1], 160e6), f"backward with weights is {busy}")


with tempfile.TemporaryDirectory() as scratch:
    check_even(os.path.join(scratch, "even"))
    for which in range(STAGES):
        check_stage(os.path.join(scratch, f"slow{which}"), which, which % 2 == 1)
    check_refused(os.path.join(scratch, "refused"))
    check_weights(os.path.join(scratch, "weights"))
sys.exit(verdict("pipeline_log"))
