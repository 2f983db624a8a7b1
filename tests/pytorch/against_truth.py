#!/usr/bin/env python3
"""Holds what pmanalyze finds in a run against what the program's own hooks told softgpu (truth.py).

    against_truth.py BIN RUN TRUTH STEPS [-v] [NAME=LIMIT]...

BIN/pmanalyze reads the folder RUN; TRUTH is the log of rank 0. Prints one line of "name=value" fields, -v the layers that differ.
Exit status 1 if a field is worse than its LIMIT: what is found today, with a little room. Fields that miss the goal (all iterations
and names; phases within 1%, layers within 2% or 20 us) are listed as not yet reached.

    found, used       iterations that pmanalyze found and used, of `steps`
    named             share of the modules with parameters that are layers of that name; `foreign` counts layers that are no module's
    counted           share of the modules of such a name with the module's number of parameters
    sized             share of the linear and convolutional layers of such a name with the module's sizes
    forward, backward, update, communication
                      device time of a step on rank 0, pmanalyze's over the truth's, in percent off; "-": the truth has none
    layers_forward, layers_backward
                      share of the modules whose time is within 2% or 20 us. What runs in modules without parameters (activations,
                      pooling, sums) belongs to no layer: it may count to the module before or the one after in order of launches
    misplaced_forward, misplaced_backward
                      time that layers have too much or lack, in percent of the layers' time, without that room
    gathers           how many warnings say that gathered parameters are not followed
    within            how many findings say that each step evaluates
    truth=no          a limit: the program says nothing of phases and layers, which are "-"
    right             share of the time of an iteration's calls that have the right phase and layer, call by call (by_call.py)

The truth is the median over the steps after the second, as the first ones search for algorithms; of communication, which has the
waiting for other ranks in it and so varies, the mean over all steps but the first, which are those that pmanalyze uses.
"""
import collections
import csv
import json
import re
import statistics
import subprocess
import sys

import by_call

PHASES = ("forward", "backward", "update", "communication")
NEAR, NEAR_NS = 0.02, 20000


def read_truth(path):
    """Of each step: rows (phase, layer, ns) in order of the device's work."""
    steps = collections.defaultdict(list)
    with open(path, newline="") as file:
        for row in csv.reader(file):
            kind, op, layer, phase, iteration, begin, end = row[0], row[4], row[5], row[6], row[7], row[8], row[10]
            if kind not in ("kernel", "copy", "set", "link") or " " not in phase:
                continue
            phase, step = phase.rsplit(" ", 1)
            if kind == "link" or op.startswith("nccl"):
                phase = "communication"
            steps[int(iteration) if int(iteration) >= 0 else int(step)].append((phase, layer, int(end) - int(begin), int(begin)))
    for rows in steps.values():
        rows.sort(key=lambda r: r[3])
    return steps


def phase_times(rows):
    times = dict.fromkeys(PHASES, 0)
    for phase, _, ns, _ in rows:
        if phase in times:
            times[phase] += ns
    return times


def layer_times(rows, phase, layers):
    """Of each layer: its own time, and that of what runs between it and the layers beside it."""
    own, beside = collections.Counter(), collections.Counter()
    last, pending = None, 0
    for row_phase, layer, ns, _ in rows:
        if row_phase != phase:
            continue
        if layer not in layers:
            pending += ns
            if last:
                beside[last] += ns
            continue
        own[layer] += ns
        if layer != last:
            beside[layer] += pending
            pending = 0
        last = layer
    return own, beside


def analyze(bin_folder, command, run):
    done = subprocess.run([bin_folder + "/pmanalyze", command, run, "--json"], capture_output=True, text=True)
    if done.returncode:
        sys.exit("pmanalyze %s: %s" % (command, done.stderr.strip()))
    return json.loads(done.stdout)


def off(measured, true):
    return "-" if not true else "%+.1f" % (100 * (measured - true) / true)


def compare_layers(rows, layers, modules, phase, verbose):
    own, beside = layer_times(rows, phase, modules)
    near = count = misplaced = 0
    for module in sorted(modules):
        if not own[module]:
            continue
        count += 1
        measured = layers.get(module, {}).get(phase + "_ns") or 0
        room = lambda ns: max(NEAR * ns, NEAR_NS)
        low, high = own[module], own[module] + beside[module]
        misplaced += max(low - measured, measured - high, 0)
        if low - room(low) <= measured <= high + room(high):
            near += 1
        elif verbose:
            print("  %s %s: %.3f ms, true %.3f to %.3f" % (phase, module, measured / 1e6, low / 1e6, high / 1e6))
    if not count:
        return "-", "-"
    return "%.0f" % (100 * near / count), "%.1f" % (100 * misplaced / sum(own.values()))


def sized(sizes, layers, verbose):
    """Share of the linear and convolutional modules that have their sizes."""
    wrong = {m: layers[m]["sizes"] for m in sizes if sizes[m] and m in layers and layers[m]["sizes"].split(" ")[0] != sizes[m]}
    if verbose:
        for module, found in wrong.items():
            print("  sizes of %s: '%s', true %s" % (module, found, sizes[module]))
    count = sum(1 for module, text in sizes.items() if text and module in layers)
    return "%.0f" % (100 * (count - len(wrong)) / count) if count else "-"


def counted(counts, layers, verbose):
    """Share of the modules that have as many parameters as they have."""
    wrong = {m: layers[m]["parameters"] for m in counts if m in layers and layers[m]["parameters"] != counts[m]}
    if verbose:
        for module, found in wrong.items():
            print("  parameters of %s: %s, true %d" % (module, found, counts[module]))
    count = sum(1 for module in counts if module in layers)
    return "%.0f" % (100 * (count - len(wrong)) / count) if count else "-"


# The goal; of those the value is to reach, of the others its size is not to exceed.
GOALS = {"found": None, "named": 100, "sized": 100, "right": 95, "layers_forward": 100, "layers_backward": 100, **dict.fromkeys(PHASES, 1)}
AT_LEAST = ("within", "named", "sized", "counted", "right", "layers_forward", "layers_backward")


def is_good(name, value, limit):
    if value == "-":
        return True
    if name == "found":
        return int(value) == int(limit)
    return float(value) >= float(limit) if name in AT_LEAST else abs(float(value)) <= float(limit)


def judge(fields, limits):
    """What is worse than its limit, and what is not at the goal."""
    goals = dict(GOALS, found=fields["steps"])
    missed = ["%s %s" % (n, fields[n]) for n, goal in goals.items() if not is_good(n, fields[n], goal)]
    if missed:
        print("  not yet: " + ", ".join(missed))
    worse = ["%s is %s, limit %s" % (n, fields[n], limit) for n, limit in limits.items() if not is_good(n, fields[n], limit)]
    if worse:
        print("  not ok: " + "; ".join(worse))
    return 1 if worse else 0


def main():
    verbose = "-v" in sys.argv
    limits = dict(a.split("=", 1) for a in sys.argv[1:] if re.match(r"[a-z_]+=", a))
    bin_folder, run, path, step_count = [a for a in sys.argv[1:] if a != "-v" and not re.match(r"[a-z_]+=", a)]
    steps = read_truth(path)
    steady = {n: rows for n, rows in steps.items() if n > 2}
    if not steady:
        sys.exit("%s has no steps" % path)
    times = [phase_times(rows) for rows in steady.values()]
    true = {p: statistics.median(t[p] for t in times) for p in PHASES}
    rows = steady[sorted(steady)[len(steady) // 2]]
    by_call.read_shared(path)
    with open(path + ".modules") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    sizes = {by_call.plain(module): text for module, text, _ in lines}
    counts = {by_call.plain(module): int(count) for module, _, count in lines}
    modules = set(sizes)
    report, found = analyze(bin_folder, "report", run), analyze(bin_folder, "layers", run)
    # waiting differs from step to step: that of those which pmanalyze uses, what is left out is at the start
    waits = [phase_times(steps[n])["communication"] for n in sorted(steps)[-report["iterations_used"]:]]
    true["communication"] = statistics.mean(waits)
    measured = {w["phase"]: w["busy_mean_ns"] or 0 for w in report["workers"] if (w["rank"] or 0) <= 0}
    layers = {by_call.plain(l["layer"]): l for l in found["layers"] if l["rank"] in (None, 0)}
    rows = [(p, by_call.plain(l), ns, b) for p, l, ns, b in rows]
    fields = {"steps": step_count, "found": report["iterations_found"], "used": report["iterations_used"]}
    fields["named"] = "%.0f" % (100 * len(modules & set(layers)) / len(modules))
    fields["sized"] = sized(sizes, layers, verbose)
    fields["counted"] = counted(counts, layers, verbose)
    fields["foreign"] = len(set(layers) - modules)
    fields.update((p, off(measured.get(p, 0), true[p])) for p in PHASES)
    for phase in ("forward", "backward"):
        near = compare_layers(rows, layers, modules, phase, verbose)
        fields["layers_" + phase], fields["misplaced_" + phase] = near
    fields["gathers"] = sum("all-gathers in an iteration" in w for w in report["warnings"])
    fields["within"] = sum(f["kind"] == "evaluation" and "in each step" in f["title"] for f in report["findings"])
    calls, wrong = by_call.compare(bin_folder, run, path)
    fields["right"] = calls.get("right", "-")
    if limits.pop("truth", "") == "no":
        fields = {name: fields[name] if name in ("steps", "found", "used", "named", "sized", "counted", "foreign") else "-" for name in fields}
    if verbose:
        by_call.print_wrong(wrong)
    print(" ".join("%s=%s" % pair for pair in fields.items()))
    sys.exit(judge(fields, limits))


if __name__ == "__main__":
    main()
