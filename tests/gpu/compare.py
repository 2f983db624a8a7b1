#!/usr/bin/env python3
"""Compares what pmanalyze makes of a hooked run with what torch.profiler measured in a run of its own, per training step:
device time in all (1%), forward, backward and update (3%), and the kernels by name and number.

    pmanalyze report --json RUN >report.json            the phases
    pmanalyze report --csv --iterations RUN >it.csv     when each iteration began and ended
    pmanalyze dump --records --csv TRACE >records.csv   the device intervals
    pmanalyze dump --ops --csv TRACE >ops.csv           the kernels' names
    compare.py REFERENCE.json report.json it.csv records.csv ops.csv

REFERENCE.json is from train_*.py --profile. The last iterations of the run are taken, as many as the reference has steps: both
runs are warm there. An interval belongs to the iteration in which its call was made. Exit status: 0 all is within the limits,
1 something is not, 2 the files cannot be compared.
"""
import argparse
import collections
import csv
import ctypes
import json
import re
import sys

PHASES = (("forward", "forward"), ("backward", "backward"), ("update", "optimizer"))


class Unusable(Exception):
    pass


def make_demangler():
    """Names as people write them, by the C++ library's own function; where it is not there, as they are."""
    try:
        library = ctypes.CDLL("libstdc++.so.6")
        function = library.__cxa_demangle
        function.restype = ctypes.c_void_p
        free = ctypes.CDLL(None).free
        free.argtypes = [ctypes.c_void_p]
    except (OSError, AttributeError):
        return lambda name: name

    def demangle(name):
        status = ctypes.c_int()
        text = function(name.encode(), None, None, ctypes.byref(status)) if name.startswith("_Z") else None
        if not text:
            return name
        plain = ctypes.string_at(text).decode(errors="replace")
        free(text)
        return plain

    return demangle


demangled = make_demangler()


def key_of(name):
    """What two spellings of a kernel's name have in common."""
    return re.sub(r"\s+", "", demangled(name))


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def kernel_name(values):
    found = re.match(r'name="(.*)" grid_x=', values, re.S)
    return found.group(1) if found else "?"


def last_iterations(path, count):
    """[(start_ns, end_ns)] of the last usual iterations, of one rank and device."""
    spans = {}
    for r in rows(path):
        if r["kind"] == "used" and r["phase"] == "iteration":
            spans.setdefault((r["run"], r["rank"], r["device"]), []).append((int(r["start_ns"]), int(r["end_ns"])))
    if len(spans) != 1:
        raise Unusable("%s: the iterations of one process on one device expected, %d found" % (path, len(spans)))
    spans = sorted(spans.popitem()[1])
    if len(spans) < count // 2:
        raise Unusable("%s: %d iterations, and the reference has %d steps" % (path, len(spans), count))
    return spans[-count:]


def device_work(records_path, ops_path, spans):
    """Of the calls made in the iterations: [(kind, kernel's name, ns)]."""
    operations = {r["number"]: r for r in rows(ops_path)}
    records = rows(records_path)
    called = {r["correlation"]: int(r["start_ns"]) for r in records if r["kind"] == "call" and r["correlation"] != "0"}
    begins = [s[0] for s in spans]
    work = []
    for r in records:
        if r["kind"] != "device":
            continue
        at = called.get(r["correlation"], int(r["start_ns"]))
        if not begins[0] <= at < spans[-1][1] or not any(b <= at < e for b, e in spans):
            continue
        operation = operations[r["op"]]
        name = kernel_name(operation["values"]) if operation["function"] == "kernel" else ""
        kind = {"memcpy": "gpu_memcpy", "memset": "gpu_memset"}.get(operation["function"], "kernel")
        work.append((kind, name or operation["function"], int(r["duration_ns"])))
    if not work:
        raise Unusable("%s: no device times in the iterations" % records_path)
    return work


class Verdicts:
    def __init__(self):
        self.bad = 0
        print("%-34s %14s %14s %9s" % ("per step", "torch.profiler", "pmhook", "differs"))

    def row(self, what, reference, ours, limit, floor=0.0):
        """Both in us; limit None: for information."""
        difference = (ours - reference) / reference if reference else float("inf") if ours else 0.0
        verdict = ""
        if limit is not None:
            ok = abs(ours - reference) <= max(limit * abs(reference), floor)
            verdict = "ok" if ok else "NOT OK (limit %g%%)" % (100 * limit)
            self.bad += not ok
        print("%-34s %14.2f %14.2f %8.2f%% %s" % (what, reference, ours, 100 * difference, verdict))

    def statement(self, ok, text):
        print("%s: %s" % ("ok" if ok else "NOT OK", text))
        self.bad += not ok


def compare_names(verdicts, reference, work, steps, iterations):
    """Every kernel of the reference is in the trace, as often per step."""
    ours, theirs = collections.Counter(), collections.Counter()
    time, spelled = collections.Counter(), {}
    for kind, name, ns in work:
        if kind == "kernel":
            ours[key_of(name)] += 1
            spelled[key_of(name)] = name
    for k in reference["kernels"]:
        if k["kind"] == "kernel":
            theirs[key_of(k["name"])] += k["count"]
            time[key_of(k["name"])] += k["ns"]
            spelled[key_of(k["name"])] = k["name"]
    missing = [k for k in theirs if k not in ours]
    extra = [k for k in ours if k not in theirs]
    other = [k for k in theirs if k in ours and abs(theirs[k] / steps - ours[k] / iterations) > 0.5]
    share = 1 - sum(time[k] for k in missing) / max(sum(time.values()), 1)
    verdicts.statement(
        not missing,
        "%d of %d kernels of torch.profiler are in the trace, with %.2f%% of their time"
        % (len(theirs) - len(missing), len(theirs), 100 * share),
    )
    verdicts.statement(not other, "%d kernels run another number of times per step" % len(other))
    for title, keys in (("not in the trace", missing), ("only in the trace", extra), ("another number", other)):
        for k in sorted(keys, key=lambda k: -time[k])[:10]:
            print(
                "  %s: %.1f / %.1f per step, %.1f us: %s"
                % (title, theirs[k] / steps, ours[k] / iterations, time[k] / steps / 1000, demangled(spelled[k])[:150])
            )


def compare(options):
    with open(options.reference) as file:
        reference = json.load(file)
    with open(options.report) as file:
        report = json.load(file)
    steps = reference["steps"]
    if not reference["device_ns"]:
        raise Unusable("%s: no device time" % options.reference)
    spans = last_iterations(options.iterations, steps)
    work = device_work(options.records, options.ops, spans)
    per_step, per_iteration = 1 / steps / 1000, 1 / len(spans) / 1000
    cupti = report["device_times"] == "cupti"
    verdicts = Verdicts()
    verdicts.row("device time, us", reference["device_ns"] * per_step, sum(w[2] for w in work) * per_iteration, options.total)
    for kind, what in (("kernel", "kernels"), ("gpu_memcpy", "copies"), ("gpu_memset", "sets")):
        ours = [w[2] for w in work if w[0] == kind]
        theirs = [k for k in reference["kernels"] if k["kind"] == kind]
        verdicts.row("  " + what + ", us", sum(k["ns"] for k in theirs) * per_step, sum(ours) * per_iteration, None)
        verdicts.row("  " + what + ", number", sum(k["count"] for k in theirs) / steps, len(ours) / len(spans), None)
    busy = {p["phase"]: p["busy_ns"] / 1000 for p in report["phases"] if p["busy_ns"] is not None}
    marked = sum(reference["phases_ns"][theirs] for _, theirs in PHASES) > 0.5 * reference["device_ns"]
    for ours, theirs in PHASES:
        limit = options.phase if marked else None
        verdicts.row(ours + ", us", reference["phases_ns"][theirs] * per_step, busy.get(ours, 0), limit, options.floor_us)
    if not marked:
        print("torch.profiler cannot tell phases here (a captured graph): not compared")
    for name in sorted(set(busy) - {p[0] for p in PHASES}):
        verdicts.row(name + ", us", reference["phases_ns"]["other"] * per_step if name == "other" else 0, busy[name], None)
    if cupti:
        compare_names(verdicts, reference, work, steps, len(spans))
    else:
        print("device times are not from CUPTI: kernels are not compared by name")
    print("iterations: %d found, %d compared; %s" % (report["iterations_found"], len(spans), report["found_by"]))
    verdicts.statement(
        abs(report["iterations_found"] - options.made) <= options.made_within if options.made else True,
        "%d iterations found" % report["iterations_found"] + (", %d made" % options.made if options.made else ""),
    )
    return 1 if verdicts.bad else 0


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog="Details are at the head of this file.")
    for name in ("reference", "report", "iterations", "records", "ops"):
        p.add_argument(name)
    p.add_argument("--total", type=float, default=0.01, help="limit of the total's relative difference")
    p.add_argument("--phase", type=float, default=0.03, help="limit of a phase's")
    p.add_argument("--floor-us", type=float, default=5.0, help="and what a phase may differ by in any case")
    p.add_argument("--made", type=int, help="iterations that the hooked run made")
    p.add_argument("--made-within", type=int, default=1, help="by how many the iterations found may differ from that")
    try:
        return compare(p.parse_args())
    except (Unusable, OSError, KeyError, ValueError) as trouble:
        print("cannot compare: %s: %s" % (type(trouble).__name__, trouble), file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
