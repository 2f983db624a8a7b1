#!/usr/bin/env python3
"""No two commands disagree about a run: agree.py PMANALYZE FOLDER (or PM_TRACES in the environment), of real traces.

Every command is asked about every set, as text and as JSON. What several of them say must be one answer: the time of an iteration,
how many are used of how many, ranks of how many, GPUs, the first finding with its gain, and the cause. Exit 77 where there are no traces.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

pmanalyze, folder = os.path.abspath(sys.argv[1]), os.environ.get("PM_TRACES") or sys.argv[2]
COMMANDS = ["report", "layers", "kernels", "balance", "comm", "path", "whatif", "model", "roofline", "slowdown"]
MEANS = {"t_iter_ns", "iteration_ns", "measured_ns"}  # keys of the mean time of an iteration
failures = checks = 0


def check(holds, what):
    global failures, checks
    checks += 1
    if not holds:
        failures += 1
        print(what)


def ask(*arguments):
    return subprocess.run([pmanalyze, *arguments], capture_output=True, text=True, check=False)


def answer(command, *arguments):
    """The JSON of the only run, {} where the command refuses such traces."""
    result = ask(command, "--json", *arguments)
    check(result.returncode in (0, 1), f"{command} {arguments}: exit status {result.returncode}: {result.stderr}")
    root = json.loads(result.stdout) if result.stdout and result.returncode == 0 else {}
    return root["runs"][0] if "runs" in root else root


def near(one, other):
    return one is other if one is None or other is None else abs(one - other) <= 1e-6 * max(abs(one), abs(other), 1)


def check_json(name, paths, report):
    """Figures under the same keys, and under those that mean the same."""
    for command in COMMANDS[1:]:
        other = answer(command, *paths)
        used = other.get("used_iterations", report["iterations_used"])
        check(used == report["iterations_used"], f"{name}: {command} uses {used} iterations, report {report['iterations_used']}")
        if other.get("iterations", used) == used or not isinstance(other["iterations"], int):  # a replay may leave some out
            for key in MEANS & set(other):
                check(near(other[key], report["t_iter_ns"]), f"{name}: {command}: {key} {other[key]}, report {report['t_iter_ns']}")
        for key in {"gpus", "samples", "communication_busy_ns", "communication_exposed_ns"} & set(other) & set(report):
            check(near(other[key], report[key]), f"{name}: {command}: {key} {other[key]}, report {report[key]}")
        for key in {"step", "findings"} & set(other):
            check(other[key] == report[key], f"{name}: {command} has another {key}")
        if command == "slowdown" and other:
            first = report["findings"][0]["cause"] if report["findings"] else "none"
            check(other["cause"] == first, f"{name}: slowdown says {other['cause']}, report {first}")


def paragraph(text, beginning):
    """A paragraph of a text, or of a page, in one line; None: there is none."""
    found = re.search(re.escape(beginning) + r"(.*?)(?:\n\S|\n\n|<)", text, re.DOTALL)
    return " ".join((beginning + found.group(1)).split()) if found else None


def check_text(name, paths, report, place):
    """The sentence of the step is one, and the first finding of other commands is that of the report."""
    page = os.path.join(place, "page.html")
    texts = {command: ask(command, *paths).stdout for command in COMMANDS}
    check(ask("html", "-o", page, *paths).returncode == 0, f"{name}: html")
    with open(page, encoding="utf-8") as file:
        texts["html"] = file.read().replace("&times;", "×").replace(" Percentages of findings", "\n\n")
    steps = {command: paragraph(text, "Step: median") for command, text in texts.items() if "Step: median" in text}
    check(len(steps) >= 3 and len(set(steps.values())) == 1, f"{name}: steps {steps}")
    world = report["step"]["world"]
    check(f"{report['step']['iterations']} of {report['iterations_found']} iteration" in steps["report"], f"{name}: {steps['report']}")
    check(not world or f"{report['step']['ranks']} of {world} rank" in steps["report"], f"{name}: {steps['report']}")
    for command, text in texts.items():
        first = paragraph(text, "First finding:")
        if first and report["findings"]:
            check(report["findings"][0]["title"] in first, f"{name}: {command}: {first}, not {report['findings'][0]['title']}")


def check_pair(name, paths, report):
    """A run beside itself: the same figures, and nothing that differs."""
    if len(paths) != 1:
        return
    result = ask("compare", "--json", paths[0], paths[0])
    check(result.returncode == 0, f"{name}: compare: {result.stderr}")
    root = json.loads(result.stdout)
    for side in root["sides"]:
        check(near(side["t_iter_ns"], report["t_iter_ns"]) and side["iterations"] == report["iterations_used"] and
              side["gpus"] == report["gpus"], f"{name}: compare: {side}")
    for row in root["pairs"][0]["rows"]:
        check(row["verdict"] not in ("faster", "slower"), f"{name}: beside itself {row['key']} is {row['verdict']}")


def check_metrics(name, paths, report):
    text = ask("metrics", *paths).stdout
    iterations = [float(line.split()[-1]) for line in text.splitlines() if line.startswith("pmhook_iterations{")]
    check(len(iterations) == report["gpus"], f"{name}: metrics of {len(iterations)} GPUs, report of {report['gpus']}")
    check(all(count >= report["iterations_used"] for count in iterations), f"{name}: metrics: {iterations} iterations")


def sets():
    """Names, and what to give to the commands; the files of a set with two jobs each for itself."""
    for name in sorted(os.listdir(folder)):
        traces = os.path.join(folder, name, "traces")
        if not os.path.isdir(traces):
            continue
        if ask("report", traces).returncode == 0:
            yield name, [traces]
            continue
        for file in sorted(os.listdir(traces)):
            yield f"{name}/{file}", [os.path.join(traces, file)]


if not os.path.isdir(folder):
    print("no folder of real traces: PM_TRACES says where it is")
    sys.exit(77)
for title, inputs in sets():
    with tempfile.TemporaryDirectory() as scratch:
        whole = answer("report", *inputs)
        check(whole, f"{title}: no report")
        if not whole or not whole.get("step"):
            continue
        check_json(title, inputs, whole)
        check_text(title, inputs, whole, scratch)
        check_pair(title, inputs, whole)
        check_metrics(title, inputs, whole)
print(f"{checks} checks, {failures} failures")
sys.exit(bool(failures))
