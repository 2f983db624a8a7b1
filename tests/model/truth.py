#!/usr/bin/env python3
"""pmanalyze's answer against softgpu's ground truth, over every iteration of every GPU of a run.

    truth.py [--means] LAYERS.csv PHASES.csv BALANCE.json TRUTH.csv...

The truth is what softgpu itself did (SOFTGPU_TRUTH): every operation with the layer and phase that the trainer was in and the
times that the model clock gave it. Neither the hook nor pmanalyze has seen it. Compared are the number of iterations; per iteration
each layer's forward, backward, communication and update time; each phase's busy time; and the load imbalance factor of computing.
A time may differ by 1% or 20 us, whichever is more. One line a difference, exit status 1 if there is any. --means compares the means
of an iteration instead, without communication: with PipeDream an iteration is an update to pmanalyze, and a batch of several to the
trainer.
"""
import collections
import csv
import json
import sys

WITHIN = 0.01
FLOOR_NS = 20_000
# the trainer's names of kinds of layers, and pmanalyze's
KINDS = {"bn": "norm", "loss": "softmax"}
COLUMNS = ("forward", "backward", "communication", "update")
SHOWN = 12

failures = []


def fail(text):
    failures.append(text)


def union_ns(intervals):
    """Length of what the intervals cover together."""
    total, end = 0, None
    for b, e in sorted(intervals):
        if end is None or b > end:
            total += e - b
            end = e
        elif e > end:
            total += e - end
            end = e
    return total


def close(a, b):
    return abs(a - b) <= max(WITHIN * max(a, b), FLOOR_NS)


class Truth:
    """One GPU: [iteration][phase] -> intervals, [iteration][layer][phase] -> ns, and its layers in forward order."""

    def __init__(self):
        self.phases = collections.defaultdict(lambda: collections.defaultdict(list))
        self.layers = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.Counter()))
        self.order = []


def read_truth(paths):
    gpus = collections.defaultdict(Truth)
    for path in paths:
        rows = [r for r in csv.DictReader(open(path)) if int(r["iteration"]) >= 0]
        rows.sort(key=lambda r: int(r["begin_ns"]))
        for row in rows:
            if row["kind"] in ("host", "iteration"):
                continue
            gpu = gpus[int(row["rank"]), int(row["device"])]
            i, phase, layer = int(row["iteration"]), row["phase"], row["layer"]
            begin, end = int(row["begin_ns"]), int(row["end_ns"])
            phase = "backward" if phase == "recompute" else phase
            gpu.phases[i][phase].append((begin, end))
            if phase == "forward" and layer not in gpu.order:
                gpu.order.append(layer)
            if layer and phase in COLUMNS:
                gpu.layers[i][layer][phase] += end - begin
    return gpus


def read_layers(path):
    """[rank, device][iteration][layer][column] -> ns, layers in pmanalyze's order, kinds of iterations."""
    gpus = collections.defaultdict(lambda: collections.defaultdict(dict))
    kinds = collections.defaultdict(dict)
    for row in csv.DictReader(open(path)):
        where = int(row["rank"]), int(row["device"])
        i = int(row["iteration"])
        kinds[where][i] = row["kind"]
        gpus[where][i][row["layer"]] = {c: float(row[c + "_ns"]) for c in COLUMNS}
        # softgpu's log has an exchange from where a rank begins it
        gpus[where][i][row["layer"]]["communication"] += float(row["wait_ns"])
    return gpus, kinds


def read_phases(path):
    gpus = collections.defaultdict(lambda: collections.defaultdict(dict))
    for row in csv.DictReader(open(path)):
        gpus[int(row["rank"]), int(row["device"])][int(row["iteration"])][row["phase"]] = float(row["busy_ns"])
    return gpus


def means(truth, found, kinds, busy):
    """Means of an iteration: the truth's over all that pmanalyze found, pmanalyze's over those it used."""
    for where, gpu in truth.items():
        count = len(found[where])
        phases, layers = collections.defaultdict(list), collections.defaultdict(collections.Counter)
        for i in gpu.phases:
            for phase, intervals in gpu.phases[i].items():
                # waiting is not the same in all iterations
                if phase != "communication":
                    phases[phase] += intervals
        for i in gpu.layers:
            for layer, times in gpu.layers[i].items():
                layers[layer].update({c: t / count for c, t in times.items() if c != "communication"})
        gpu.phases = {0: {p: [(0, union_ns(v) / count)] for p, v in phases.items()}}
        gpu.layers = {0: layers}
        used = [i for i in found[where] if kinds[where][i] == "used"]
        total = collections.defaultdict(collections.Counter)
        for i in used:
            for name, times in found[where][i].items():
                total[name].update({c: t / len(used) for c, t in times.items()})
        sums = collections.Counter()
        for i in used:
            sums.update({p: t / len(used) for p, t in busy[where][i].items() if p != "communication"})
        found[where], kinds[where], busy[where] = {0: total}, {0: "used"}, {0: sums}


def kind_of(name):
    kind = name.rstrip("0123456789")
    return KINDS.get(kind, kind)


def compare_layers(where, truth, found, kinds):
    iterations = sorted(truth.layers)
    if len(iterations) != len(found):
        fail(f"{where}: {len(found)} iterations found, {len(iterations)} made")
        return
    names = list(next(iter(found.values()))) if found else []
    names = [n for n in names if any(v for row in found.values() for v in row.get(n, {}).values())]
    made = [n for n in truth.order]
    if len(names) != len(made):
        fail(f"{where}: {len(names)} layers found, {len(made)} made: found {' '.join(names)}; made {' '.join(made)}")
        return
    for i in iterations:
        # messages of a cut carry the name of the layer before it; the stage after it has them at its first layer
        for layer in [l for l in truth.layers[i] if l not in made and truth.layers[i][l]["communication"] and "+" not in l]:
            truth.layers[i][made[0]]["communication"] += truth.layers[i][layer]["communication"]
    for name, layer in zip(names, made):
        if kind_of(layer) != kind_of(name):
            fail(f"{where}: {layer} is called {name}")
    checked = 0
    for i, k in zip(iterations, sorted(found)):
        if kinds[k] != "used":
            continue
        for name, layer in zip(names, made):
            for column in COLUMNS:
                want, got = truth.layers[i][layer][column], found[k][name][column]
                # what is summed in one bucket or updated in one call has no layer of its own in the truth
                if column in ("communication", "update") and not want:
                    continue
                checked += 1
                if not close(want, got):
                    fail(f"{where}: iteration {i}, {layer} ({name}), {column}: {got / 1e3:.1f} us found, {want / 1e3:.1f} us true")
    if not checked:
        fail(f"{where}: no layer's time compared")


def compare_phases(where, truth, found, kinds):
    for i, k in zip(sorted(truth.phases), sorted(found)):
        if kinds.get(k) != "used":
            continue
        for phase in ("h2d", "md", "forward", "backward", "communication", "update"):
            # pmanalyze's division is the host's unless a device does it
            if phase == "md" and not truth.phases[i].get(phase, []):
                continue
            want, got = union_ns(truth.phases[i].get(phase, [])), found[k].get(phase, 0)
            if not close(want, got):
                fail(f"{where}: iteration {i}, {phase}: {got / 1e3:.1f} us found, {want / 1e3:.1f} us true")


def compare_balance(truth, kinds, balance):
    """(3.8) of computing, over the iterations that pmanalyze used."""
    means = []
    for where, gpu in sorted(truth.items()):
        used = [i for i, k in zip(sorted(gpu.phases), sorted(kinds[where])) if kinds[where][k] == "used"]
        total = sum(union_ns(sum((gpu.phases[i][p] for p in ("forward", "backward", "update")), [])) for i in used)
        means.append(total / max(len(used), 1))
    if len(means) < 2:
        return
    want = len(means) * max(means) / sum(means)
    rows = {r["phase"]: r["lif"] for r in balance["runs"][0]["phases"]}
    if abs(rows["computing"] - want) > WITHIN * want:
        fail(f"LIF of computing: {rows['computing']:.4f} found, {want:.4f} true")


def main():
    arguments = sys.argv[1:]
    is_mean = arguments[0] == "--means"
    layers, phases, balance, *truths = arguments[is_mean:]
    truth = read_truth(truths)
    found, kinds = read_layers(layers)
    busy = read_phases(phases)
    if not truth:
        fail("no truth")
    if is_mean:
        means(truth, found, kinds, busy)
    for where in sorted(truth):
        if where not in found:
            fail(f"rank {where[0]} device {where[1]}: not found")
            continue
        compare_layers(f"rank {where[0]} device {where[1]}", truth[where], found[where], kinds[where])
        compare_phases(f"rank {where[0]} device {where[1]}", truth[where], busy[where], kinds[where])
    if not is_mean:
        compare_balance(truth, kinds, json.load(open(balance)))
    for text in failures[:SHOWN]:
        print(text)
    if len(failures) > SHOWN:
        print(f"and {len(failures) - SHOWN} more")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
