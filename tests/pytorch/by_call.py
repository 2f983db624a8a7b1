#!/usr/bin/env python3
"""Phase and layer of each call of an iteration, as `pmanalyze layers --why` has them, against what the program told softgpu.

    by_call.py BIN RUN TRUTH [-v]

BIN/pmanalyze reads the folder RUN; TRUTH is softgpu's log of rank 0 (SOFTGPU_TRUTH), with the labels of truth.py or of a trainer in C,
which names its layers itself. Calls and log are aligned by kind and modelled time, which are the same to the nanosecond; waiting for
others aside. Prints "name=value" fields, in percent of the modelled time of the calls that were aligned:

    compared    of the step's time, what was aligned
    phase       the phase is right
    layer       of what is forward and backward: the layer is right. What runs in a module without parameters (activations, sums, the
                loss) has no layer of its own: there the layer within the module, or the one before or after it in order is right.
                Of what autograd adds up between modules the program does not say whose it is: that is not judged
    right       phase and layer are

-v lists what is wrong, by the rule that decided it.
"""
import collections
import csv
import json
import re
import subprocess
import sys

ALIGN_NEAR = 60  # calls
CELLS_MOST = 100000  # of the table of pairs, beside those
ROWS_MOST = 12  # of a call
QUIET = ("other", "evaluation", "h2d", "md", "io")  # what pmanalyze calls work that the program says is of no phase
Row = collections.namedtuple("Row", "kind ns phase layer op stream")


shared = {}  # modules whose parameter another one has too: one layer, under either name


def read_shared(truth):
    shared.clear()
    try:
        with open(truth + ".shared") as file:
            shared.update(line.rstrip("\n").split("\t") for line in file)
    except FileNotFoundError:
        pass


def plain(name):
    """DDP's, FSDP's and the compiler's own levels are no part of a module's name, nor what train.py wraps around a model."""
    name = re.sub(r"^model\.(maker|judge)\b", r"\1", name or "")
    name = re.sub(r"^(model\.(module|_orig_mod)|[sS]hell\.model)\.", "model.", name)
    return shared.get(name, name)


def read_truth(path):
    """The rows of each step, in order of the device's work."""
    steps = collections.defaultdict(list)
    with open(path, newline="") as file:
        for row in sorted(csv.DictReader(file), key=lambda r: int(r["begin_ns"])):
            phase, step = (row["phase"].rsplit(" ", 1) if " " in row["phase"] else (row["phase"], row["iteration"]))
            step = row["iteration"] if int(row["iteration"]) >= 0 else step
            if row["kind"] not in ("kernel", "copy", "set", "link") or int(step or -1) < 0:
                continue
            shared = row["kind"] == "link" or row["op"].startswith("nccl")
            steps[int(step)].append(Row("comm" if shared else row["kind"], int(row["end_ns"]) - int(row["begin_ns"]),
                                        "communication" if shared else phase or "other", plain(row["layer"]), row["op"], row["stream"]))
    return steps


def read_calls(bin_folder, run):
    done = subprocess.run([bin_folder + "/pmanalyze", "layers", "--why", "--json", run], capture_output=True, text=True)
    if done.returncode:
        return []
    calls = json.loads(done.stdout)["workers"][0]["calls"]
    for call in calls:
        name = call["name"]
        call["kind"] = ("copy" if "emcpy" in name else "set" if "emset" in name else "comm" if name.startswith("nccl") else "kernel")
        call["layer"] = plain(call["layer"])
    return [c for c in calls if c["time_ns"] is not None]


def key(kind, ns):
    return kind, 0 if kind == "comm" else round(ns)


def calls_from(rows, i):
    """What a call may be that begins with this row: how many rows, by its key. A library's call may be several kernels and settings."""
    found, ns = {key(rows[i].kind, rows[i].ns): 1}, rows[i].ns
    for count in range(2, ROWS_MOST + 1):
        if i + count > len(rows) or rows[i + count - 1][2:] != rows[i][2:] or rows[i].kind == "comm":
            break
        ns += rows[i + count - 1].ns
        found.setdefault(key("kernel", ns), count)
    return found


def pair_up(starts, theirs, best):
    """Indices of a row and a call, and the number of rows: the way through what can be paired at best."""
    pairs, i, j = [], 0, 0
    while i < len(starts) and j < len(theirs):
        here, count = best[i].get(j, 0), starts[i].get(theirs[j])
        if here == best[i + 1].get(j, 0):
            i += 1
        elif count and here == best[i + count].get(j + 1, 0) + 1 + theirs[j][1]:
            pairs.append((i, j, count))
            i, j = i + count, j + 1
        else:
            j += 1
    return pairs


def align_stream(rows, calls):
    """Triples of the indices of a row and a call, and the number of the call's rows: the common subsequence with the most time, for layers that
    are alike look the same. A row's call is not farther from its place than some."""
    starts, theirs = [calls_from(rows, i) for i in range(len(rows))], [key(c["kind"], c["time_ns"]) for c in calls]
    width, slope = ALIGN_NEAR + min(abs(len(rows) - len(calls)), CELLS_MOST // max(len(rows), 1)), len(calls) / max(len(rows), 1)
    best = [{}] * (len(rows) + 1)  # of what begins with a row: by call, the time that can be paired
    for i in range(len(rows) - 1, -1, -1):
        this, low, high = {}, max(0, int(slope * i) - width), min(len(theirs), int(slope * i) + width)
        for j in range(high - 1, low - 1, -1):
            count = starts[i].get(theirs[j])
            paired = best[i + count].get(j + 1, 0) + 1 + theirs[j][1] if count else 0
            this[j] = max(best[i + 1].get(j, 0), this.get(j + 1, 0), paired)
        best[i] = this
    return pair_up(starts, theirs, best)


def align(rows, calls):
    """Triples of a row, which is the sum of a call's, a call, and the row's index. Streams one by one, that with the most time first: what one does
    between another's work is not in the same order in both."""
    streams, triples = collections.defaultdict(list), []
    for i, row in enumerate(rows):
        streams["comm" if row.kind == "comm" else row.stream].append(i)
    for places in sorted(streams.values(), key=lambda p: -sum(rows[i].ns for i in p if rows[i].kind != "comm")):
        pairs = align_stream([rows[i] for i in places], calls)
        for i, j, count in pairs:
            own = [rows[k] for k in places[i:i + count]]
            triples.append((own[0]._replace(ns=sum(row.ns for row in own)), calls[j], places[i]))
        taken = {j for _, j, _ in pairs}
        calls = [call for j, call in enumerate(calls) if j not in taken]
    return sorted(triples, key=lambda triple: triple[2])


def own_layers(row, modules):
    """Those with parameters; a compiled kernel may do the work of several (truth_compiled.py)."""
    return {layer for layer in row.layer.split("|") if layer in modules}


def around(rows, modules):
    """By row: the layers with parameters before and after it, in its phase, and the modules that run before and after."""
    found = [set() for _ in rows]
    for order in (range(len(rows)), reversed(range(len(rows)))):
        last, names = {}, {}
        for i in order:
            phase = rows[i].phase
            last[phase] = own_layers(rows[i], modules) or last.get(phase, {""})
            two = names.get(phase, ["", ""])  # this one's, and the one before
            if rows[i].layer not in ("loss", "sum", two[0]):
                two = [rows[i].layer, two[0]]
            names[phase] = two
            found[i] |= last[phase] | set(two)
    return found


def is_phase(row, call):
    """Of "update?" and "forward?" (inject/README.md) either is right: that phase, or none."""
    phase = row.phase.rstrip("?")
    passes = phase in ("forward", "backward", "update")
    if row.kind == "copy" and phase == "forward" and call["phase"] == "h2d":  # of numbers that the loss needs: both are true
        return True
    return passes and call["phase"] == phase or (row.phase.endswith("?") or not passes) and call["phase"] in QUIET


def is_layer(row, call, modules, beside):
    """Is the call's layer the one that the program says?"""
    if row.layer == "loss" and call["layer"] == "softmax":  # what a trainer in C calls it, and what it does
        return True
    own = own_layers(row, modules)
    others = set(row.layer.split("|")) - own
    if call["layer"] in own or not others:
        return call["layer"] in own
    return not call["layer"] or call["layer"] in beside | others or any(call["layer"].startswith(layer + ".") for layer in others)


def judge(rows, calls, modules):
    """Fields in percent, and what is wrong by rule."""
    beside, wrong = around(rows, modules), collections.Counter()
    time = collections.Counter(all=sum(r.ns for r in rows if r.kind != "comm"))
    for row, call, i in align(rows, calls):
        if row.kind == "comm":
            continue
        phase = is_phase(row, call)
        passes = row.phase in ("forward", "backward") and row.layer != "sum"
        layer = not passes or is_layer(row, call, modules, beside[i])
        time["compared"] += row.ns
        time["phase"] += phase * row.ns
        time["passes"] += passes * row.ns
        time["layer"] += (passes and layer) * row.ns
        time["right"] += (phase and layer) * row.ns
        if not phase:
            wrong["phase by %s: %s of %s is %s (%s)" % (call["phase_by"], row.phase, row.layer or "none", call["phase"], call["call"])] += row.ns
        elif not layer:
            wrong["layer by %s: %s of %s is %s (%s)" % (call["layer_by"], row.phase, row.layer or "none", call["layer"], call["call"])] += row.ns
    share = lambda part, whole: "%.1f" % (100 * time[part] / time[whole]) if time[whole] else "-"
    fields = {"compared": share("compared", "all"), "phase": share("phase", "compared"), "layer": share("layer", "passes"),
              "right": share("right", "compared")}
    return fields, wrong, time["compared"]


def read_modules(truth, steps):
    """Those with parameters, as the program names them."""
    try:
        with open(truth + ".modules") as file:
            return {plain(line.split("\t")[0]) for line in file}
    except FileNotFoundError:
        return {row.layer for rows in steps.values() for row in rows} - {""}


def compare(bin_folder, run, truth):
    """(fields, what is wrong by rule) of the step that the iteration is most like."""
    read_shared(truth)
    steps, calls, best = read_truth(truth), read_calls(bin_folder, run), None
    modules = read_modules(truth, steps)
    for number in sorted(steps)[2:]:
        found = judge(steps[number], calls, modules)
        if not best or found[2] > best[2]:
            best = found
    return best[:2] if best else ({}, {})


def print_wrong(wrong):
    for what, ns in collections.Counter(wrong).most_common(25):
        print("  %9.3f us  %s" % (ns / 1000, what))


def main():
    bin_folder, run, truth = [a for a in sys.argv[1:] if a != "-v"]
    fields, wrong = compare(bin_folder, run, truth)
    print(" ".join("%s=%s" % pair for pair in fields.items()))
    if "-v" in sys.argv:
        print_wrong(wrong)


if __name__ == "__main__":
    main()
