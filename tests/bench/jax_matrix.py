#!/usr/bin/env python3
"""The share of device time with phase and layer right in JAX's programs, by program, version of JAX and modelled GPU.

    jax_matrix.py BUILD OUT --jax VERSION=PYTHON... [--gpu GPU]... [--source FILE] [--only NAME]... [--again] [--keep] [--table] [--hold]

Each program of tests/jax/nets.py (FILE: of that one, --only says which) runs on softgpu under BUILD/bin/pmrun, and XLA writes what it compiled (--xla_dump_to). The truth is
the flow of data through that text, without a name of the program's but its arguments': forward is what the loss needs, update what
needs the optimizer's state, backward the rest; what is both is not judged, and what is made ahead of the loss for the backward pass may be either. The layers of an instruction are those whose weights it
reads, through copies and transpositions, or whose gradient it makes; of others the layer is not judged. A product that XLA has fused with
the sum that its result is added to, as where gradients are accumulated, is of the pass that its factors are of. The calls of an iteration, as
BUILD/bin/pmanalyze has them, are aligned with the schedule by their kernels' names. OUT keeps a JSON file a cell, which is not made
again but with --again. --hold: status 1 below LIMITS, or where the report claims more than is right.

Prints, in percent of an iteration's computing time: phase right / layer right, of what has one to judge / both.
"""
import argparse
import collections
import glob
import json
import math
import os
import re
import shutil
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = ("mlp", "accumulate", "plain", "cnn", "gpt", "remat", "scan", "devices")
STEPS = 8
LIMITS = {"phase": 97, "right": 95}
CLAIMED_MOST = 8  # what the report says that the framework says may be so much more than what is right
PASSING = ("bitcast", "copy", "transpose", "convert", "reshape", "get-tuple-element", "copy-start", "copy-done")
QUIET = ("parameter", "constant", "tuple", "bitcast", "get-tuple-element", "after-all", "copy-done", "async-done", "all-reduce-done")
Instruction = collections.namedtuple("Instruction", "name type op args calls label target root index trips body")
Row = collections.namedtuple("Row", "name op target phases layers size")


# ---- XLA's text ----

def balanced(text):
    """The end of what begins with a parenthesis."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c in "({[") - (c in ")}]")
        if depth == 0:
            return i + 1
    return len(text)


def read_instruction(line):
    head = re.match(r"^\s*(ROOT )?%?([\w.\-]+) = ", line)
    if not head:
        return None
    rest = line[head.end():]
    end = balanced(rest) if rest.startswith("(") else rest.index(" ")
    kind, rest = rest[:end], rest[end:].lstrip()
    op, _, rest = rest.partition("(")
    end = balanced("(" + rest) - 1
    given, rest = rest[:end - 1], rest[end:]
    label, target = re.search(r'op_name="((?:[^"\\]|\\.)*)"', rest), re.search(r'custom_call_target="([^"]*)"', rest)
    index, trips, body = (re.search(pattern, rest) for pattern in (r"index=(\d+)", r'known_trip_count":\{"n":"(\d+)"', r"body=%?([\w.\-]+)"))
    return Instruction(head.group(2), kind, op, re.findall(r"%?([\w.\-]+(?:#\d+)?)(?:,|$)", re.sub(r"/\*.*?\*/", "", given)),
                       re.findall(r"(?:calls|to_apply)=%?([\w.\-]+)", rest),
                       label.group(1).replace("\\'", "'") if label else "", target.group(1) if target else "", bool(head.group(1)),
                       int(index.group(1)) if index else None, int(trips.group(1)) if trips else None, body.group(1) if body else None)


def read_program(path):
    """Computations: name to instructions by name, in order of the schedule; and the entry's."""
    computations, entry, here = {}, None, None
    with open(path, errors="replace") as file:
        for line in file:
            head = re.match(r"^(ENTRY )?%?([\w.\-]+) .*\{\s*$", line)
            if head and not line.startswith(("HloModule", " ")):
                here = computations.setdefault(head.group(2), {})
                entry = here if head.group(1) else entry
            elif here is not None:
                instruction = read_instruction(line)
                if instruction:
                    here[instruction.name] = instruction
    return computations, entry


def without_calls(computations, entry):
    """XLA up to JAX 0.4 calls what becomes a command buffer: as if it were in the entry itself."""
    new, same, results = {}, {}, {}
    now = lambda arg: same.get(arg, arg)
    for instruction in entry.values():
        if instruction.op == "call" and instruction.calls:
            for inner in computations[instruction.calls[0]].values():
                if inner.op == "parameter":
                    same[inner.name] = now(instruction.args[int(inner.args[0])])
                elif inner.root:
                    results[instruction.name] = [now(arg) for arg in inner.args] if inner.op == "tuple" else None
                if inner.op != "parameter" and not (inner.root and inner.op == "tuple"):
                    new[inner.name] = inner._replace(args=[now(arg) for arg in inner.args], root=False)
                if inner.root and inner.op != "tuple":
                    same[instruction.name] = inner.name
        elif instruction.op == "get-tuple-element" and results.get(now(instruction.args[0])):
            same[instruction.name] = results[now(instruction.args[0])][instruction.index]
        else:
            new[instruction.name] = instruction._replace(args=[now(arg) for arg in instruction.args])
    return new


# ---- what instructions are, by the flow of data ----

STATE = re.compile(r"\.(?:mu|trace|acc_grads)(?=[\[.])")  # the optimizer's, of which each weight has one


def way_of(label):
    """The keys of an argument's name: "p['params']['fc']['kernel']" is fc, kernel, "p.blocks[0].norm.value" blocks, 0, norm."""
    keys = ["".join(found) for found in re.findall(r"\['([^']*)'\]|\[(\d+)\]|\.(\w+)", label)]
    keys = keys[1:] if keys and keys[0] == "params" else keys
    return keys[:-1] if keys[-1:] == ["value"] else keys


def keys_of(label):
    """Without the weight's own: fc, blocks/0."""
    keys = way_of(STATE.split(label)[-1])
    return "/".join(keys[:-1] or keys)


def size_of(kind):
    """Elements of an array, as the type has them."""
    shape = re.match(r"\w+\[([\d,]*)\]", kind)
    return math.prod(int(n) for n in shape.group(1).split(",") if n) if shape else 0


def plain(arg):
    return arg.split("#")[0]


class Program:
    """The rows of a step: what is launched, with its phase and layers."""

    def __init__(self, path):
        self.computations, entry = read_program(path)
        self.entry = without_calls(self.computations, entry)
        bodies = {i.body for c in self.computations.values() for i in c.values() if i.body}
        self.computations = {name: without_calls(self.computations, c) if name in bodies else c for name, c in self.computations.items()}
        self.weights = {keys_of(i.label) for i in self.entry.values() if i.op == "parameter" and re.match(r"p[\[.]", i.label)}
        self.users = collections.defaultdict(list)
        for instruction in self.entry.values():
            for arg in self.args(instruction):
                self.users[plain(arg)].append(instruction)
        self.needed, self.stateful = self.what_loss_needs(), self.what_needs_state()
        self.places = {name: place for place, name in enumerate(self.entry)}
        self.loss_place = max(self.places[name] for name in self.needed if name in self.places)
        self.rows = self.rows_of(self.entry, None)

    @staticmethod
    def args(instruction):
        """A parameter and a constant have none."""
        return [] if instruction.op in ("parameter", "constant", "iota") else instruction.args

    def what_loss_needs(self):
        root = next(i for i in self.entry.values() if i.root)
        todo, needed = [root.args[-1] if root.op == "tuple" else root.name], set()
        while todo:
            arg = todo.pop()
            if arg in needed:
                continue
            needed |= {arg, plain(arg)}
            todo += self.given(self.entry[plain(arg)], arg)
        return needed

    def given(self, instruction, arg):
        """Of a collective that several were combined in only what the element is made of."""
        element = int(arg.split("#")[1]) if "#" in arg else None
        if instruction.op == "get-tuple-element":
            return ["%s#%d" % (plain(instruction.args[0]), instruction.index)]
        if element is not None and instruction.op.startswith("all-reduce") and len(instruction.args) > element:
            return [instruction.args[element]]
        if element is not None and instruction.op == "tuple":
            return [instruction.args[element]]
        if element is not None and instruction.op == "all-reduce-done":
            return ["%s#%d" % (plain(instruction.args[0]), element)]
        if "concatenate" in instruction.name and instruction.op in ("fusion", "concatenate"):
            # gradients and the loss are made one array to be reduced: the loss is the number in it
            numbers = [a for a in instruction.args if re.match(r"f32\[1?\]", self.entry[plain(a)].type)]
            return numbers or instruction.args
        if element is not None and instruction.op == "fusion" and instruction.calls:
            return self.fused(instruction, element)
        return self.args(instruction)

    def fused(self, fusion, element):
        """Of what a fusion is given only that which the element is made of. Several results may be cut out of one array."""
        inner = self.computations[fusion.calls[0]]
        root = next(i for i in inner.values() if i.root)
        todo, seen, found = [root.args[element] if root.op == "tuple" else root.name], set(), set()
        while todo:
            name = plain(todo.pop())
            if name in seen or name not in inner:
                continue
            seen.add(name)
            instruction = inner[name]
            args = self.args(instruction)
            if instruction.op == "parameter":
                found.add(int(instruction.args[0]))
            elif instruction.op == "slice" and inner[plain(args[0])].op == "concatenate":
                args = [a for a in inner[plain(args[0])].args if inner[plain(a)].type == instruction.type] or args
            todo += args
        return [fusion.args[number] for number in sorted(found)]

    def what_needs_state(self):
        found = set()
        for instruction in self.entry.values():
            if instruction.op == "parameter":
                if re.match(r"s[\[.]", instruction.label):
                    found.add(instruction.name)
            elif any(plain(arg) in found for arg in self.args(instruction)):
                found.add(instruction.name)
        return found

    def factors(self, instruction):
        """What the product in it multiplies; []: there is none."""
        if instruction.op == "custom-call" and re.search("cublas|cudnn", instruction.target):
            return instruction.args[:2]
        inner = self.computations[instruction.calls[0]] if instruction.op == "fusion" and instruction.calls else {}
        todo, seen, found = [arg for i in inner.values() if i.op in ("dot", "convolution") for arg in i.args], set(), []
        while todo:
            name = plain(todo.pop())
            if name in inner and name not in seen:
                seen.add(name)
                todo += self.args(inner[name])
                found += [instruction.args[int(inner[name].args[0])]] if inner[name].op == "parameter" else []
        return found

    def phase(self, name):
        if name in self.needed:
            return None if name in self.stateful else "forward"
        factors = [plain(arg) for arg in self.factors(self.entry[name])]
        if name not in self.stateful or factors and not any(self.is_state(arg) for arg in factors):
            return "backward"
        return "update"

    def is_state(self, name):
        """An argument of the optimizer's, or what needs one."""
        return name in self.stateful or self.entry[name].op == "parameter" and bool(re.match(r"s[\[.]", self.entry[name].label))

    def phases(self, name):
        """Those that are right. What the loss does not need, but is made before it, is made ahead for the backward pass: both are true."""
        phase = self.phase(name)
        if phase == "backward" and self.places[name] < self.loss_place or "concatenate" in name and phase:
            return {"backward", "forward"}
        return {phase} - {None}

    def is_passing(self, instruction):
        return instruction.op in PASSING or instruction.name.startswith(("wrapped_transpose", "wrapped_convert", "wrapped_copy", "loop_pad_fusion"))

    def weight(self, arg):
        """That which an operand is, through what hands it on; None: it is none."""
        for _ in range(8):
            instruction = self.entry.get(plain(arg))
            if not instruction:
                return None
            if instruction.op == "parameter":
                return keys_of(instruction.label) if re.match(r"p[\[.]", instruction.label) else None
            if not self.is_passing(instruction) or not instruction.args:
                return None
            arg = instruction.args[0]
        return None

    def gradients(self, instruction, depth=3):
        """Whose gradient it makes: the update that takes it has the weight's own state."""
        found = set()
        for user in self.users[instruction.name]:
            states = [self.entry[plain(a)].label for a in user.args if plain(a) in self.entry and self.entry[plain(a)].op == "parameter"]
            found |= {keys_of(label) for label in states if label.startswith("s") and STATE.search(label)}
            if depth and (self.is_passing(user) or re.match(r"(loop|input)_(reduce|transpose)_fusion", user.name)) and user.name not in self.stateful:
                found |= self.gradients(user, depth - 1)
        return found

    def layers(self, instruction, phase):
        found = {self.weight(arg) for arg in self.args(instruction)} - {None}
        together = any("concatenate" in user.name for name in self.handed(instruction.name) for user in self.users[name])
        return set() if together else found | self.gradients(instruction) if phase == "backward" else found

    def handed(self, name):
        """What passes an instruction's result on, with itself."""
        return [name] + [user.name for user in self.users[name] if self.is_passing(user)]

    def rows_of(self, computation, loop):
        """loop: the entry's instruction whose body it is."""
        rows = []
        for instruction in computation.values():
            if instruction.body and instruction.op == "while":
                rows += self.rows_of(self.computations[instruction.body], instruction) * (instruction.trips or 1)
            elif instruction.op not in QUIET:
                phase, phases = (get(loop.name if loop else instruction.name) for get in (self.phase, self.phases))
                layers = self.loop_layers(computation, instruction, loop) if loop else self.layers(instruction, phase)
                rows.append(Row(instruction.name, instruction.op, instruction.target, phases, layers, size_of(instruction.type)))
        return rows

    def loop_layers(self, computation, instruction, loop):
        """What a body reads is an element of what the loop was given."""
        given, found = self.entry[plain(loop.args[0])], set()
        for arg in instruction.args:
            element = None
            for _ in range(4):
                source = computation.get(plain(arg))
                if not source:
                    break
                if source.op == "parameter" and "#" in arg:
                    element = int(arg.split("#")[1])
                elif source.op == "get-tuple-element" and computation[plain(source.args[0])].op == "parameter":
                    element = source.index
                elif self.is_passing(source) and source.args:
                    arg = source.args[0]
                    continue
                break
            if element is not None and given.op == "tuple":
                found.add(self.weight(given.args[element]))
        return found - {None}


# ---- calls ----

def stem(name):
    return re.sub(r"[._\-\d]+$", "", name.replace(".", "_").replace("-", "_"))


def is_copy(call):
    return call["name"] in ("memcpy", "memset") or "emcpy" in call["name"] or "emset" in call["name"]


def sizes_of(rows, calls):
    """How large copies are that take a time, where there are as many times as sizes: modelled times are the same for the same size."""
    sizes = sorted({row.size for row in rows if row.op in ("copy", "copy-start")})
    times = sorted({call["time_ns"] for call in calls if is_copy(call)})
    return dict(zip(times, sizes)) if len(sizes) == len(times) else {}


def fit(row, call, sizes):
    name = call["name"]
    if is_copy(call):
        if row.op in ("copy", "copy-start") and sizes.get(call["time_ns"], row.size) != row.size:
            return 0
        return 4 if row.op in ("copy", "copy-start") else 1 if "slice" in row.name or row.op == "custom-call" else 0
    if "cudnn" in name or "cublas" in name:
        kinds = (("BackwardFilter", "BackwardFilter"), ("BackwardData", "BackwardInput"), ("onvolution", "Forward"))
        wanted = next((target for kind, target in kinds if kind in name), "cublas")
        return 5 if wanted in row.target else 0
    if name == row.name.replace(".", "_").replace("-", "_"):
        return 6
    return 4 if stem(name) == stem(row.name) else 0


def align(rows, calls):
    """Pairs of a row and a call: the common subsequence that fits best."""
    sizes = sizes_of(rows, calls)
    best = [[0] * (len(calls) + 1) for _ in range(len(rows) + 1)]
    for i in range(len(rows) - 1, -1, -1):
        for j in range(len(calls) - 1, -1, -1):
            fits = fit(rows[i], calls[j], sizes)
            best[i][j] = max(best[i + 1][j], best[i][j + 1], fits + best[i + 1][j + 1] if fits else 0)
    pairs, i, j = [], 0, 0
    while i < len(rows) and j < len(calls):
        if best[i][j] == best[i + 1][j]:
            i += 1
        elif best[i][j] == best[i][j + 1]:
            j += 1
        else:
            pairs.append((rows[i], calls[j]))
            i, j = i + 1, j + 1
    return pairs


def read_calls(build, run):
    done = subprocess.run([build + "/bin/pmanalyze", "layers", "--why", "--json", run], capture_output=True, text=True)
    calls = json.loads(done.stdout)["workers"][0]["calls"]
    return [c for c in calls if c["time_ns"] and c["phase"] not in ("host to device", "h2d") and not c["name"].startswith("nccl")]


def is_within(path, layer):
    """Is all of the path in the layer's, in order, with its end at the end? Scopes of what calls a module may be between."""
    path, layer = path.split("/"), layer.split("/")
    rest = iter(layer)
    return path[-1] == layer[-1] and all(key in rest for key in path)


def is_layer(row, call, places):
    """The root module's name is the program's, and no key; a repetition of a loop has its number. places: of all weights."""
    layer = call["layer"] or ""
    if re.match(r"p[\[.]", layer):
        return "/".join(way_of(layer)) in row.layers
    layer = re.sub(r"\[\d+\]", "", layer)
    if layer in row.layers or layer.partition("/")[2] in row.layers:
        return True
    within = [place for place in places if is_within(place, layer)]
    return bool(within) and max(within, key=len) in row.layers


def judge(program, calls):
    time, wrong = collections.Counter(all=sum(c["time_ns"] for c in calls)), collections.Counter()
    for row, call in align(program.rows, calls):
        ns = call["time_ns"]
        if not row.phases:
            continue
        phase = call["phase"] in row.phases
        judged = bool(row.layers) and "update" not in row.phases
        layer = not judged or is_layer(row, call, program.weights)
        time.update(compared=ns, phase=phase * ns, judged=judged * ns, layer=(judged and layer) * ns, right=(phase and layer) * ns)
        if not (phase and layer):
            wrong["%s %s is %s %s (%s)" % ("/".join(sorted(row.phases)), "|".join(sorted(row.layers)) or "-", call["phase"], call["layer"] or "-", row.name)] += ns
    share = lambda part, whole: 100 * time[part] / time[whole] if time[whole] else None
    return {"compared": share("compared", "all"), "phase": share("phase", "compared"), "layer": share("layer", "judged"), "judged": share("judged", "compared"),
            "right": share("right", "compared"), "wrong_us": [[what, round(ns / 1000, 3)] for what, ns in wrong.most_common(12)]}


# ---- cells ----

def execute(program, python, gpu, options, run):
    for path in (run, run + ".dump"):
        shutil.rmtree(path, ignore_errors=True)
    values = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", SOFTGPU_DEVICES="2", PMHOOK_DEVICE="cupti",
                  XLA_FLAGS="%s --xla_dump_to=%s.dump --xla_dump_hlo_as_text" % (os.environ.get("XLA_FLAGS", ""), run))
    command = [options.build + "/bin/pmrun", "-q", "--softgpu=" + gpu, "-o", run, "--", python, options.source, program, str(STEPS)]
    done = subprocess.run(command, capture_output=True, text=True, env=values, stdin=subprocess.DEVNULL)
    return None if done.returncode == 0 else (done.stdout + done.stderr).strip()[-200:] or "status %d" % done.returncode


def make_cell(program, python, gpu, options, run):
    error = None if options.keep and os.path.isdir(run) else execute(program, python, gpu, options, run)
    if error:
        return {"error": error}
    report = subprocess.run([options.build + "/bin/pmanalyze", "report", "--json", run], capture_output=True, text=True)
    try:
        found = json.loads(report.stdout)
        paths = glob.glob(run + ".dump/*jit_step*gpu_after_optimizations.txt")
        cell = judge(Program(max(paths, key=os.path.getsize)), read_calls(options.build, run))
        cell.update(found=found["iterations_found"], confidence=found["confidence"], told=100 * (found["told_by_framework"] or 0), steps=STEPS)
    except (ValueError, KeyError, IndexError) as problem:
        cell = {"error": "not analysed: %r" % problem}
    if not options.keep:
        for path in (run, run + ".dump"):
            shutil.rmtree(path, ignore_errors=True)
    return cell


def text_of(cell):
    if not cell:
        return ""
    if cell.get("error"):
        return "does not run"
    numbers = " / ".join("-" if cell[n] is None else "%.1f" % cell[n] for n in ("phase", "layer", "right"))
    return numbers + (" (of %.0f%%)" % cell["compared"] if cell["compared"] < 95 else "")


def is_below(cell):
    if cell.get("error"):
        return False
    return any((cell[name] or 0) < limit for name, limit in LIMITS.items()) or cell.get("told", 0) > cell["right"] + CLAIMED_MOST


def print_table(columns, made):
    print("| program | " + " | ".join("JAX %s, %s" % column for column in columns) + " |\n|---|" + "---|" * len(columns))
    for program, cells in made.items():
        print("| %s | %s |" % (program, " | ".join(text_of(cells.get(column)) for column in columns)))
    print()
    for program, cells in made.items():
        for column, cell in cells.items():
            if cell.get("error") or cell["right"] is None or cell["right"] < 99.9:
                kinds = cell.get("error") or "; ".join("%.1f us %s" % (us, what) for what, us in cell["wrong_us"][:5])
                print("* %s, JAX %s, %s, %s of %s iterations: %s" % (program, *column, cell.get("found"), cell.get("steps"), kinds))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("out")
    parser.add_argument("--jax", action="append", default=[], type=lambda t: tuple(t.split("=", 1)))
    for name in ("--gpu", "--only"):
        parser.add_argument(name, action="append", default=[])
    for name in ("--again", "--table", "--hold", "--keep"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("--source", default=SOURCE + "/tests/jax/nets.py")
    options = parser.parse_args()
    options.build, options.out = os.path.abspath(options.build), os.path.abspath(options.out)
    options.gpu = options.gpu or ["a100", "h200"]
    os.makedirs(options.out, exist_ok=True)
    return options


def main():
    options = arguments()
    columns, made, bad = [(version, gpu) for version, _ in options.jax for gpu in options.gpu], collections.OrderedDict(), []
    for program in options.only or PROGRAMS:
        made[program] = {}
        for version, python in options.jax:
            for gpu in options.gpu:
                name = "%s.%s.%s" % (program, version, gpu)
                path = os.path.join(options.out, name + ".json")
                if os.path.exists(path) and not options.again:
                    with open(path) as file:
                        made[program][version, gpu] = json.load(file)
                    continue
                if options.table:
                    continue
                cell = make_cell(program, python, gpu, options, os.path.join(options.out, name))
                made[program][version, gpu] = cell
                with open(path, "w") as file:
                    json.dump(cell, file, indent=1)
                print("%s: %s" % (name, cell.get("error") or text_of(cell)), file=sys.stderr, flush=True)
        bad += [name for name, cell in made[program].items() if cell.get("error") or is_below(cell)]
    print_table(columns, made)
    return options.hold and bool(bad)


if __name__ == "__main__":
    sys.exit(main())
