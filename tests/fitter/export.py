"""pmfit export: what leaves the program says what `pmfit predict` says. export.py PMFIT CC

Models of each kind, in Python, C and as a sheet, are run on random settings inside and beyond the data and held
against `pmfit predict --json`, to nine digits. Sheets are calculated by a small evaluator of their formulas.
"""
import csv
import io
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile

pmfit, cc = sys.argv[1], sys.argv[2:]
bad = 0
random.seed(7)


def run(*command, status=0, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode != status:
        print(f"{' '.join(command)}: status {done.returncode}, not {status}: {done.stderr[:300]}")
        sys.exit(1)
    return done.stdout + (done.stderr if status else "")


def complain(text):
    global bad
    bad += 1
    if bad < 20:
        print("not ok:", text)


class Column(list):
    """A range: what is calculated with it is calculated with each cell."""

    def of(self, other, what):
        return Column(what(a, b) for a, b in zip(self, other if isinstance(other, Column) else [other] * len(self)))

    def __truediv__(self, other):
        return self.of(other, lambda a, b: a / b)

    def __rmul__(self, other):
        return self.of(other, lambda a, b: a * b)


def flat(arguments):
    for a in arguments:
        if isinstance(a, Column):
            yield from (x for x in a if isinstance(x, float))
        else:
            yield a


class Sheet:
    """The formulas of spreadsheets that the exports have."""

    def __init__(self, text):
        self.cells = [row[:] for row in csv.reader(io.StringIO(text))]
        self.compiled, self.values = {}, {}

    @staticmethod
    def place(name):
        letters, digits = re.fullmatch(r"\$?([A-Z]+)\$?(\d+)", name).groups()
        column = 0
        for letter in letters:
            column = 26 * column + ord(letter) - 64
        return int(digits) - 1, column - 1

    def set(self, row, column, value):
        self.cells[row][column] = value
        self.values = {}

    def cell(self, name):
        return self.at(*self.place(name))

    def range(self, name):
        (r0, c0), (r1, c1) = map(self.place, name.split(":"))
        return Column(self.at(r, c) for r in range(r0, r1 + 1) for c in range(c0, c1 + 1))

    def at(self, row, column):
        if (row, column) not in self.values:
            self.values[row, column] = self.calculate(row, column)
        return self.values[row, column]

    def calculate(self, row, column):
        text = self.cells[row][column] if row < len(self.cells) and column < len(self.cells[row]) else ""
        if not text.startswith("="):
            try:
                return float(text)
            except ValueError:
                return text.removeprefix("'")
        if text not in self.compiled:
            self.compiled[text] = compile(self.translate(text[1:]), text[:60], "eval")
        return eval(self.compiled[text], self.functions())

    @staticmethod
    def translate(text):
        parts = re.split(r'("[^"]*")', text)
        for i in range(0, len(parts), 2):
            t = re.sub(r"\$[A-Z]+\$\d+:\$[A-Z]+\$\d+", lambda m: f"_r('{m[0]}')", parts[i])
            t = re.sub(r"(?<![\w'$])([A-Z]+\d+)(?![\w(:'])", r"_c('\1')", t)
            t = re.sub(r"(?<![<>=])=(?!=)", "==", t)
            parts[i] = re.sub(r"\bIF\(", "_if(lambda: ", t)
        return Sheet.lazy("".join(parts))

    @staticmethod
    def lazy(text):
        """The branches of IF are calculated where they are taken."""
        out, depth, stack, in_string = "", 0, [], False
        for i, c in enumerate(text):
            in_string ^= c == '"'
            if not in_string and c == "(":
                depth += 1
                if text[:i].endswith("_if"):
                    stack.append(depth)
            elif not in_string and c == ")":
                if stack and stack[-1] == depth:
                    stack.pop()
                depth -= 1
            out += c
            if c == "," and not in_string and stack and stack[-1] == depth:
                out += "lambda: "
        return out

    def functions(self):
        return {"_c": self.cell, "_r": self.range, "_if": lambda c, a, b: a() if c() else b(),
                "POWER": math.pow, "LN": math.log, "ABS": abs, "CHOOSE": lambda i, *numbers: numbers[int(i) - 1],
                "EXP": lambda x: Column(map(math.exp, x)) if isinstance(x, Column) else math.exp(x),
                "MAX": lambda *a: max(flat(a)), "MIN": lambda *a: min(flat(a)), "SUM": lambda *a: sum(flat(a)),
                "AND": lambda *a: all(a), "OR": lambda *a: any(a), "TRUE": True, "NA": self.missing,
                "MATCH": lambda x, names, _: [n.lower() for n in names].index(x.lower()) + 1,
                "MEDIAN": lambda x: (sorted(x)[(len(x) - 1) // 2] + sorted(x)[len(x) // 2]) / 2,
                "INDEX": lambda x, _, at: x[int(at) - 1],
                "SUMPRODUCT": lambda a, b: sum(x * y for x, y in zip(a, b, strict=True))}

    @staticmethod
    def missing():
        raise ValueError("#N/A")


def number(call):
    try:
        return call()
    except (ValueError, IndexError):
        return math.nan


def same(a, b):
    return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-9)


def predicted(model, rows):
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    answer = json.loads(run(pmfit, "predict", "--json", model, "-", text=text.getvalue()))
    return [math.nan if row["predicted"] is None else row["predicted"] for row in answer["rows"]]


def check(model, rows, names, levels=None, sheets=None):
    """names: of the columns in the exports; levels: for sheets of a model of steps."""
    wanted = predicted(model, rows)
    renamed = [{names.get(key, key): value for key, value in row.items()} for row in rows]
    module = {"__name__": "exported"}
    exec(compile(run(pmfit, "export", "--python", model), "exported", "exec"), module)
    if "NUMBERS" in module:  # what the formula does not need is no setting of it
        needed = {name for name, *_ in module["NUMBERS"]} | set(module["LEVELS"])
        renamed = [{key: value for key, value in row.items() if key in needed} for row in renamed]
    for row, want in zip(renamed, wanted):
        got = number(lambda: module["predict"](**row))
        if not same(got, want):
            complain(f"{model} as Python: {row}: {got}, not {want}")
    with open("exported.c", "w") as file:
        file.write(run(pmfit, "export", "--c", "--name", "exported", model))
    run(*cc, "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-DPMFIT_MAIN", "-o", "exported", "exported.c", "-lm")
    for row, want in list(zip(renamed, wanted))[:60]:
        got = float(run("./exported", *(f"{key}={value}" for key, value in row.items())).split()[0])
        if not same(got, want):
            complain(f"{model} as C: {row}: {got}, not {want}")
    for level in levels or [None]:
        sheet = Sheet(run(pmfit, "export", "--excel", *(["--level", level] if level else []), model))
        for row, want in list(zip(renamed, wanted))[:60]:
            if level and row["level"] != level:
                continue
            for column, name in enumerate(sheet.cells[4]):
                if name in row:
                    sheet.set(5, column, str(row[name]))
            got = number(lambda: sheet.at(2, 1))
            if not same(got, want):
                complain(f"{model} as a sheet: {row}: {got}, not {want}")
    json.loads(run(pmfit, "export", "--json", model))
    inside = sum(1 for row in renamed if number(lambda: module["inside"](**row)) is True)
    known = sum(1 for want in wanted if not math.isnan(want))
    print(f"{model}: {len(rows)} settings, {known} answered, {inside} of them inside the data")
    if not 5 < inside < known:
        complain(f"{model}: not both inside and beyond")


def settings(count, **columns):
    return [{name: random.choice(values) if isinstance(values, list) else float(f"{math.exp(random.uniform(*map(math.log, values))):.5g}")
             for name, values in columns.items()} for _ in range(count)]


scratch = tempfile.TemporaryDirectory()
os.chdir(scratch.name)

# 1. the generic model, with every role, names that are no identifiers and a level that nobody can misread
with open("runs.csv", "w") as file:
    print('time,batch,gpus,filters,for,lay-er,known', file=file)
    for i in range(240):
        b, g, f = random.choice([16, 32, 64, 128]), random.choice([1, 2, 3, 4]), random.choice([8, 16, 32])
        kind, gpu, known = random.choice(["cnn", "mlp \\ x"]), random.choice(["A", "B", "C"]), random.random()
        time = (0.02 * f**1.5 + 3 * (kind == "cnn")) * b**0.8 * g**-0.7 * (1 + "ABC".index(gpu)) + 2 + known
        print(f'{time * random.uniform(0.98, 1.02):.8g},{b},{g},{f},{kind},{gpu},{known:.4f}', file=file)
run(pmfit, "fit", "-q", "--time", "time,ms", "--intrinsic", "filters", "--extrinsic", "batch,gpus", "--categorical", "for",
    "--factor", 'lay-er', "--offset", "known", "--seeds", "1", "-o", "generic.json", "runs.csv")
columns = {"batch": (8, 600), "gpus": [1, 2, 3, 4, 8, 32], "filters": (4, 64), "for": ["cnn", "mlp \\ x"],
           'lay-er': ["A", "B", "C"], "known": [0.1, 0.5, 2]}
check("generic.json", settings(200, **columns), {"for": "for_", 'lay-er': "lay_er"})

# 2. what search finds there, and a formula that has every kind of part
run(pmfit, "search", "-q", "--work", "2", "--time", "time,ms", "--intrinsic", "filters", "--extrinsic", "batch,gpus", "--categorical",
    'for,lay-er', "-o", "found.json", "runs.csv")
check("found.json", settings(200, **columns), {"for": "for_", 'lay-er': "lay_er"})


def leaf(coefficient, *factors):
    return {"op": "leaf", "coefficient": coefficient, "factors": list(factors)}


def op(name, parts, *factors, **more):
    return {"op": name, "factors": list(factors), "parts": parts, **more}


by_kind = {"levels_of": "kind", "groups": [0, 1, 1], "factors": [1, 2.5]}
power_by_kind = {"column": "depth", "levels_of": "kind", "groups": [0, 0, 1], "powers": [0.7, 1.2]}
by_one = {"levels_of": "gpus", "groups": [0, 1], "factors": [1, 1.3]}
whole = op("sum", [
    op("max", [leaf(2, {"column": "batch", "power": 0.9, "fixed": False}), leaf(40, by_kind), leaf(90, by_one)]),
    op("norm", [leaf(3, power_by_kind), leaf(5, {"column": "gpus", "log2": True})], norm=2.3),
    op("harmonic", [leaf(7, {"column": "depth", "power": 1, "fixed": True}), leaf(20)], {"column": "batch", "power": 0.3, "fixed": True}),
    leaf(0.5, {"column": "gpus", "power": -1, "fixed": True})])
with open("parts.json", "w") as file:
    json.dump({"format": "pmfit expression", "version": 1, "formula": "", "time_unit": "ms", "expression": whole, "train": {}, "residuals": [1],
               "columns": [{"name": "batch", "role": "extrinsic", "least": 16, "greatest": 256, "plus_one": False, "is_count": True},
                           {"name": "gpus", "role": "extrinsic", "least": 1, "greatest": 8, "plus_one": False, "is_count": True},
                           {"name": "depth", "role": "extrinsic", "least": 0, "greatest": 30, "plus_one": True, "is_count": False},
                           {"name": "kind", "role": "factor", "levels": ["a", "b", "c"]}]}, file)
check("parts.json", settings(300, batch=(8, 2000), gpus=[1, 2, 4, 8, 64], depth=[0, 1, 5.5, 30, 50], kind=["a", "b", "c"]), {})

# 3. steps: levels, a batch of all GPUs, several nodes, configurations of which no row tells
with open("steps.csv", "w") as file:
    print("cluster,total_batch,gpus,nodes,step_ms", file=file)
    for cluster, slow in (("east", 1), ("west", 1.7)):
        for nodes, gpus in ((1, 1), (1, 2), (1, 4), (2, 4), (2, 8), (4, 8), (4, 16)):
            for batch in (8, 16, 32, 64):
                if cluster == "west" and nodes > 1:
                    continue
                time = slow * (5 + 0.4 * batch) + (0 if gpus == 1 else 4 if nodes == 1 else 12 + 3 * math.log2(nodes))
                print(f"{cluster},{batch * gpus},{gpus},{nodes},{time * random.uniform(0.97, 1.03):.6g}", file=file)
run(pmfit, "step", "-o", "steps.json", "steps.csv")
asked = settings(200, cluster=["east", "west"], total_batch=[8, 32, 64, 256, 1024, 5000], gpus=[1, 2, 3, 4, 8, 16, 32, 128], nodes=[1, 2, 4, 8, 16])
asked = [row for row in asked if row["nodes"] <= row["gpus"]]
check("steps.json", asked, {"cluster": "level", "total_batch": "batch"}, levels=["east", "west"])
with open("steps.csv") as file:
    rows = [line.split(",", 1)[1].replace("total_batch", "local_bsz") for line in file if not line.startswith("west")]
with open("one.csv", "w") as file:
    file.writelines(rows)
run(pmfit, "step", "-o", "one.json", "one.csv")
asked = settings(150, local_bsz=[1, 8, 32, 100, 512], gpus=[1, 2, 4, 8, 64], nodes=[1, 2, 4, 8])
check("one.json", [row for row in asked if row["nodes"] <= row["gpus"]], {"local_bsz": "batch"})

with open("few.csv", "w") as file:  # few
    print("local_bsz,gpus,nodes,step_ms", file=file)
    for gpus in (1, 2, 4):
        for batch in (8, 16, 32):
            print(f"{batch},{gpus},1,{(5 + 0.4 * batch + (gpus > 1) * 4) * random.uniform(0.97, 1.03):.6g}", file=file)
run(pmfit, "step", "-o", "few.json", "few.csv")
check("few.json", settings(60, local_bsz=[8, 20, 32, 64], gpus=[1, 2, 4, 8], nodes=[1]), {"local_bsz": "batch"})

# 4. as programs; careless callers
run(pmfit, "export", "--python", "-o", "generic.py", "generic.json")
said = run(sys.executable, "generic.py", "batch=64", "gpus=2", "filters=16", "for_=cnn", "lay_er=A", "known=0.5")
if not re.fullmatch(r"[\d.]+ ms *\n", said):
    complain(f"the module as a program: {said}")
for arguments, wrong in ((["batch=64", "gpus=2", "for_=cnn"], "missing: filters, known, lay_er"), (["batch"], "'batch': expected NAME=VALUE"),
                         (["batch=64", "gpus=x", "filters=16", "for_=cnn", "lay_er=A", "known=1"], "could not convert")):
    said = run(sys.executable, "generic.py", *arguments, status=1)
    if not said.startswith(f"generic.py: {wrong}") or said.count("\n") != 1:
        complain(f"the module with {arguments}: {said}")
for command, status, words in ((["export", "generic.json"], 2, "expected one of --python"), (["export", "--c", "--python", "generic.json"], 2, "expected one of"),
                               (["export", "--c", "--name", "for", "generic.json"], 2, "expected letters"), (["export", "--c", "none.json"], 1, "none.json"),
                               (["export", "--python", "-o", "generic.py", "generic.json"], 1, "--force"),
                               (["export", "--excel", "steps.json"], 1, "name it with --level"), (["export", "--excel", "--level", "x", "steps.json"], 1, "not measured"),
                               (["export", "--c", "--level", "east", "steps.json"], 2, "--level")):
    if words not in (text := run(pmfit, *command, status=status)):
        complain(f"{command}: no '{words}' in {text}")
sys.exit(bad != 0)
