#!/usr/bin/env python3
"""The share of device time with phase, layer and both right, by program, version of PyTorch and modelled GPU.

    framework_matrix.py BUILD LIST OUT [--torch VERSION=PYTHON]... [--gpu GPU]... [--only NAME]... [--kind KIND]... [--pairs] [--again] [--keep]
                        [--table] [--hold]

LIST has the programs (framework_matrix.txt says how). Each runs on softgpu under BUILD/bin/pmrun, with the truth that it tells itself
(train.py --truth) or that hooks of tests/pytorch/inject tell of it; what BUILD/bin/pmanalyze says of each call of an iteration is held
against it (tests/pytorch/by_call.py). OUT keeps one JSON file a cell: a cell that is there is not run again, but with --again. --keep
leaves the runs there too, and a run that is there is analysed again but not made again. --pairs: the first version on the first GPU
alone, the second on the second, and so on. Without --only, --kind: all. --only ends in *: all
names that start so. --table runs nothing. --hold: status 1 if a cell is below the limits in LIST, or does not run.

Prints the table in Markdown, and of each program where not all is right the largest kinds of wrong calls. In OUT/table.md as well.
"""
import argparse
import collections
import csv
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(SOURCE, "tests", "pytorch"), os.path.dirname(os.path.abspath(__file__))]
import by_call
import framework_names

csv.field_size_limit(1 << 30)
FIELDS = ("compared", "phase", "layer", "right")
STEPS_TRIED, STEPS_MERGED = 6, 12  # steps of the truth that an iteration is checked against; optimizer steps that one may have
Program = collections.namedtuple("Program", "name kind ranks command limits")


def read_list(path):
    with open(path) as file:
        lines = [[part.strip() for part in line.split(";")] for line in file if line.strip() and not line.startswith("#")]
    return [Program(name, kind, int(ranks), command, dict(l.split("=", 1) for l in limits.split())) for name, kind, ranks, command, limits in lines]


def is_wanted(program, options):
    names = not options.only or any(program.name == o or o.endswith("*") and program.name.startswith(o[:-1]) for o in options.only)
    return names and (not options.kind or program.kind in options.kind)


def command_of(program, python):
    """Words; a program's path is from LIST's folder's root, tests/pytorch, or absolute."""
    words = shlex.split(os.path.expandvars(program.command))
    if not words[0].startswith(("-", "/")):
        words[0] = os.path.join(SOURCE, "tests", "pytorch", words[0])
    launcher = [] if program.ranks == 1 else ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(program.ranks)]
    return [python] + launcher + words + (["--truth"] if words[0].endswith("/train.py") else [])


def environment(program, truth):
    values = dict(os.environ, SOFTGPU_TRUTH=truth + ".%r", PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1", TORCHINDUCTOR_CACHE_DIR=truth + ".inductor",
                  SOFTGPU_DEVICES=str(max(program.ranks, 1)))
    if "train.py" not in program.command.split()[0]:
        values["PYTHONPATH"] = os.path.join(SOURCE, "tests", "pytorch", "inject") + os.pathsep + values.get("PYTHONPATH", "")
        if program.kind == "compiled":
            values["PM_TRUTH_COMPILED"] = "1"
    if program.kind == "compiled":
        values["PMHOOK_DEVICE"] = "cupti"  # compiling takes longer than the part of a run that has device times otherwise
    return values


def execute(program, python, gpu, options, run):
    """What is wrong with the run, or None. It is a process group of its own, so that nothing of it stays when this is interrupted."""
    for path in (run, run + ".truth.inductor"):
        shutil.rmtree(path, ignore_errors=True)
    command = [options.build + "/bin/pmrun", "-q", "--softgpu=" + gpu, "-o", run, "--"] + command_of(program, python)
    with open(run + ".out", "w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=environment(program, run + ".truth"),
                                   cwd=options.out, start_new_session=True)
        try:
            status = process.wait(options.timeout)
        except subprocess.TimeoutExpired:
            status = "not finished in %d s" % options.timeout
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    if status:
        with open(run + ".out") as file:
            lines = [line.strip() for line in file if line.strip()]
        return "%s: %s" % (status, lines[-1][:200] if lines else "no output")
    return None


def renamed(run, truth, calls, steps):
    """The modules with parameters; calls and rows get names that can be compared."""
    modules = by_call.read_modules(truth, steps)
    running = collections.Counter()
    for row in (row for number in sorted(steps)[2:] for row in steps[number] if row.phase in ("forward", "backward")):
        running.update({layer: row.ns for layer in row.layer.split("|") if layer in modules})
    rename = framework_names.renamer(running, [call["layer"] for call in calls])
    for call in calls:
        call["layer"] = by_call.plain(rename(call["layer"]))
    for number, rows in steps.items():
        steps[number] = [row._replace(layer="|".join(framework_names.unwrapped(part) for part in row.layer.split("|"))) for row in rows]
    return {framework_names.unwrapped(module) for module in modules}


def candidates(steps, calls):
    """Rows of successive steps that are about as much as the iteration, the nearest first."""
    numbers, time = sorted(steps)[1:], sum(call["time_ns"] for call in calls if call["kind"] != "comm")
    ns = lambda rows: sum(row.ns for row in rows if row.kind != "comm")
    found = []
    for first in range(len(numbers)):
        rows = []
        for number in numbers[first:first + STEPS_MERGED]:
            rows = rows + steps[number]
            found.append((abs(ns(rows) - time), len(found), rows))
            if ns(rows) > 1.5 * time:
                break
    return [rows for _, _, rows in sorted(found)[:STEPS_TRIED]]


def judge(options, run, truth):
    by_call.read_shared(truth)
    calls, steps = by_call.read_calls(options.build + "/bin", run), by_call.read_truth(truth)
    if not calls:
        return {"error": "pmanalyze has no calls of an iteration"}
    modules = renamed(run, truth, calls, steps)
    found = [by_call.judge(rows, calls, modules) for rows in candidates(steps, calls)]
    if not found:
        return {"error": "no step to compare with"}
    fields, wrong, _ = max(found, key=lambda f: f[2])
    cell = {name: None if fields[name] == "-" else float(fields[name]) for name in FIELDS}
    cell["wrong_us"] = [[what, round(ns / 1000, 3)] for what, ns in kinds_of(wrong).most_common(12)]
    return cell


def kinds_of(wrong):
    """Of layers that are alike one kind: their numbers are left out."""
    kinds = collections.Counter()
    for what, ns in wrong.items():
        kinds[re.sub(r"\.\d+(?=[. ]|$)", ".N", what)] += ns
    return kinds


def iterations(options, run, truth):
    done = subprocess.run([options.build + "/bin/pmanalyze", "report", "--json", run], capture_output=True, text=True)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return {"found": None, "confidence": None}
    cell = {"found": report.get("iterations_found"), "confidence": report.get("confidence")}
    try:
        with open(truth + ".steps") as file:
            cell["steps"] = int(file.read())
    except FileNotFoundError:
        cell["steps"] = len(by_call.read_truth(truth))
    return cell


def make_cell(program, python, gpu, options, name):
    run = os.path.join(options.out, name)
    cell = {"name": program.name, "kind": program.kind, "ranks": program.ranks}
    error = None
    if not (options.keep and os.path.isdir(run)):
        error = execute(program, python, gpu, options, run)
        if error:
            shutil.rmtree(run, ignore_errors=True)
    if not error:
        try:
            cell.update(iterations(options, run, run + ".truth.0"))
            cell.update(judge(options, run, run + ".truth.0"))
        except (FileNotFoundError, KeyError, ValueError) as problem:
            error = "not analysed: %r" % problem
    if error:
        cell["error"] = error
    elif not options.keep:
        shutil.rmtree(run, ignore_errors=True)
        for rest in os.listdir(options.out):
            if rest.startswith(name + ".truth") or rest == name + ".out":
                path = os.path.join(options.out, rest)
                shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
    return cell


def cells(options, programs):
    """(program, column, cell), made where it is not there; a cell is written when it is whole."""
    columns = [(version, python, gpu) for version, python in options.torch for gpu in options.gpu]
    if options.pairs:
        columns = [(*torch, gpu) for torch, gpu in zip(options.torch, options.gpu)]
    for program in programs:
        for version, python, gpu in columns:
            name = "%s.%s.%s" % (program.name, version, gpu)
            path = os.path.join(options.out, name + ".json")
            if os.path.exists(path) and not options.again:
                with open(path) as file:
                    yield program, (version, gpu), json.load(file)
            elif not options.table:
                cell = make_cell(program, python, gpu, options, name)
                with open(path + ".part", "w") as file:
                    json.dump(dict(cell, torch=version, gpu=gpu), file, indent=1)
                os.replace(path + ".part", path)
                print("%s: %s" % (name, text_of(cell, True)), file=sys.stderr, flush=True)
                yield program, (version, gpu), cell


def percent(value):
    return "-" if value is None else "%.1f" % value


def text_of(cell, long=False):
    if cell is None:
        return ""
    if cell.get("error"):
        return "does not run" if not long else cell["error"]
    text = " / ".join(percent(cell[name]) for name in ("phase", "layer", "right"))
    if cell["compared"] is not None and cell["compared"] < 95:
        text += " (of %.0f%%)" % cell["compared"]
    return text + (", iterations %s of %s" % (cell["found"], cell.get("steps")) if long else "")


def shortfalls(program, found):
    """A line for each cell below 99.9%: the largest kinds of what is wrong."""
    for (version, gpu), cell in found.items():
        if cell.get("error"):
            yield "* %s, torch %s, %s: %s" % (program.name, version, gpu, cell["error"])
        elif cell["right"] is None or cell["right"] < 99.9:
            kinds = "; ".join("%.1f us %s" % (us, what) for what, us in cell["wrong_us"][:4])
            yield "* %s, torch %s, %s, %s%%, %s of %s iterations: %s" % (program.name, version, gpu, percent(cell["right"]), cell["found"], cell.get("steps"), kinds)


def worst(found):
    """The least share that is right; what does not run is no measure of the analysis."""
    return min((cell["right"] * cell["compared"] for cell in found.values() if not cell.get("error") and cell["right"] is not None), default=2e4)


def table(programs, columns, made):
    lines = ["In percent of an iteration's device time: phase / layer / both right.", "",
             "| program | kind | " + " | ".join("torch %s, %s" % column for column in columns) + " |", "|---|---|" + "---|" * len(columns)]
    for program in programs:
        if made[program.name]:
            lines.append("| %s | %s | %s |" % (program.name, program.kind, " | ".join(text_of(made[program.name].get(column)) for column in columns)))
    lines += ["", "What is wrong, the worst program first, of each what takes the most time:", ""]
    for program in sorted(programs, key=lambda p: worst(made[p.name])):
        lines += shortfalls(program, made[program.name])
    return "\n".join(lines) + "\n"


def misses(program, cell):
    """What is below its limit; a limit may be of one GPU: right.h200=..."""
    limits = {name: limit for name, limit in program.limits.items() if name in FIELDS}
    if cell.get("error"):
        return ["does not run: " + cell["error"]] if program.limits else []
    return ["%s %s, limit %s" % (name, percent(cell[name]), limit) for name, limit in limits.items() if (cell[name] or 0) < float(limit)]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("build", "list", "out"):
        parser.add_argument(name)
    parser.add_argument("--torch", action="append", default=[], type=lambda t: tuple(t.split("=", 1)))
    for name in ("--gpu", "--only", "--kind"):
        parser.add_argument(name, action="append", default=[])
    for name in ("--pairs", "--again", "--keep", "--table", "--hold"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("--timeout", type=int, default=600, help="of a program, in seconds")
    options = parser.parse_args()
    options.build, options.out = os.path.abspath(options.build), os.path.abspath(options.out)
    options.gpu = options.gpu or ["a100", "h200"]
    os.makedirs(options.out, exist_ok=True)
    return options


def main():
    options = arguments()
    programs = [program for program in read_list(options.list) if is_wanted(program, options)]
    made, bad, columns = collections.defaultdict(dict), [], []
    try:
        for program, column, cell in cells(options, programs):
            made[program.name][column] = cell
            bad += ["%s, torch %s, %s: %s" % (program.name, *column, miss) for miss in misses(program, cell)]
            columns += [column] if column not in columns else []
    except KeyboardInterrupt:
        print("interrupted; what was finished is kept", file=sys.stderr)
    text = table(programs, columns, made)
    print(text, end="")
    with open(os.path.join(options.out, "table.md"), "w") as file:
        file.write(text)
    if options.hold and bad:
        print("not ok:\n" + "\n".join(bad))
    sys.exit(1 if options.hold and bad else 0)


if __name__ == "__main__":
    main()
