#!/usr/bin/env python3
"""pmfit html, --plot and the model file: html.py PMFIT GOLDEN. The report is XML and stands alone; places in its pictures are those
of the data and of the formula, both computed here; it stays small; no name becomes markup; a report that cannot be written is an
error. A model file of each version loads for ever and predicts what its formula says.
"""
import csv
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as tree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from on_terminal import on_terminal  # noqa: E402

pmfit, golden = (os.path.abspath(path) for path in sys.argv[1:3])
failures = 0


OLD_KEYS = {"seconds"}  # of files from before; a reader ignores them


def check(holds, what):
    global failures
    if not holds:
        failures += 1
        print(what)


def run(command, *arguments, status=0, **more):
    result = subprocess.run([pmfit, command, *arguments], capture_output=True, check=False, **more)
    check(result.returncode == status,
          f"{command} {arguments}: exit status {result.returncode}, expected {status}: {result.stderr.decode()[:300]}")
    return result


def page_of(*arguments):
    text = run("html", "-q", "-o", "-", *arguments).stdout.decode()
    try:
        return tree.fromstring(text), text
    except tree.ParseError as error:
        check(False, f"{arguments}: not well-formed: {error}")
        return tree.fromstring("<html/>"), text


def words(element):
    return "".join(element.itertext())


def pictures(page, title):
    """The pictures of that title, each with its caption."""
    found = [(figure.find("svg"), words(figure.find("figcaption"))) for figure in page.iter("figure")
             if figure.find("svg").find("title").text == title]
    check(found, f"no picture '{title}'")
    return found


def axis(svg, name, log):
    """From a place in the picture to a number, by the first and the last tick alone."""
    ticks = [(float(text.get("x" if name == "xtick" else "y")) - (0 if name == "xtick" else 4), float(text.text))
             for text in svg.iter("text") if text.get("class") == f"axis {name}"]
    (place1, value1), (place2, value2) = ticks[0], ticks[-1]
    if log:
        value1, value2 = math.log(value1), math.log(value2)
    slope = (value2 - value1) / (place2 - place1)
    return lambda place: math.exp(value1 + slope * (place - place1)) if log else value1 + slope * (place - place1)


def circles(svg, colour):
    return [(float(circle.get("cx")), float(circle.get("cy"))) for circle in svg.iter("circle")
            if circle.get("class").split()[0] == colour and "hollow" not in circle.get("class")]


def near(x, y, share):
    return abs(x - y) <= share * max(abs(x), abs(y))


def formula(model, row):
    """(4.4) by the numbers of the file: written for this test, not taken from the program."""
    total, product, constant = 0, 1, 0
    power = {value["column"]: value["value"] for value in model["values"] if value["kind"] == "power"}
    for value in model["values"]:
        kind, column, number = value["kind"], value.get("column"), value["value"]
        if kind == "coefficient":
            total += number * float(row[column]) ** power[column]
        elif kind == "level" and row[column] == value["level"]:
            total += number
        elif kind == "exponent":
            product *= float(row[column]) ** number
        elif kind == "log factor" and row[column] == value["level"]:
            product *= math.exp(number)
        elif kind == "constant":
            constant = number
    offset = sum(float(row[column["name"]]) for column in model["columns"] if column["role"] == "offset")
    return total * product + constant + offset


def write_table(path, names, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)


def make_rows(count, model):
    """Rows within the golden model's range, with times by its formula and noise."""
    dice = random.Random(count)
    rows = []
    for _ in range(count):
        row = {"size": dice.choice([1, 2, 4, 8, 16]), "card": dice.choice(["a100", "v100"]),
               "kind": dice.choice(["groß", "klein"]), "gpus": dice.choice([1, 2, 4]), "io": dice.choice([0, 0.5, 1])}
        row["time"] = formula(model, row) * dice.uniform(0.8, 1.25)
        row["set"] = "train" if dice.random() < 0.6 else "test"
        rows.append(row)
    write_table(f"rows{count}.csv", list(rows[0]), [list(row.values()) for row in rows])
    return rows


def check_alone(name, page, text):
    check("http:" not in text and "https:" not in text, f"{name}: an address")
    check("@import" not in text and "<script" not in text and "url(" not in text, f"{name}: not only itself")
    for element in page.iter():
        for attribute, value in element.attrib.items():
            check(attribute not in ("src", "href", "data", "srcset") and not attribute.startswith("on"),
                  f"{name}: {attribute}={value}")
    style = words(next(page.iter("style")))
    for svg in page.iter("svg"):
        for element in svg.iter():
            for kind in (element.get("class") or "").split():
                check(f".{kind}" in style or kind in ("xtick", "ytick", "key", "name", "plot"), f"{name}: no style {kind}")
            for place in ("x", "y", "cx", "cy", "width", "height"):
                check(element.get(place) is None or math.isfinite(float(element.get(place).rstrip('%'))), f"{name}: {place} is no number")
            for places in ("d", "points", "transform"):
                check(not re.search("nan|inf", element.get(places, "")), f"{name}: {places} {element.get(places)}")


def check_golden(model_path, model, rows):
    """The file of version 1 is read as it was meant, and by every part that reads models."""
    answer = json.loads(run("predict", "--json", model_path, "rows80.csv").stdout)
    for row, said in zip(rows, answer["rows"]):
        check(near(said["predicted"], formula(model, row), 1e-9), f"golden: {row}: {said['predicted']}")
    check(answer["interval"] == "bootstrap and residuals", "golden: what its intervals are made of")
    check(answer["time_unit"] == "ms", "golden: its unit")
    _, text = page_of(model_path)
    check("Seeds: 2 of 2 agree" in text, "golden: its seeds")


def fits(value, schema, place):
    """The part of JSON Schema that the program uses."""
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "number": (int, float), "integer": int, "null": type(None)}
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    check(not types or any(isinstance(value, kinds[kind]) and (kind == "boolean" or not isinstance(value, bool)) for kind in types),
          f"{place}: {value!r} is not {types}")
    check("const" not in schema or value == schema["const"], f"{place}: {value!r}")
    check("enum" not in schema or value in schema["enum"], f"{place}: {value!r} is not one of {schema.get('enum')}")
    check("minimum" not in schema or schema["minimum"] <= value <= schema.get("maximum", value), f"{place}: {value!r}")
    check("pattern" not in schema or re.search(schema["pattern"], value), f"{place}: {value!r}")
    check(all(key in value for key in schema.get("required", [])), f"{place}: a key is missing")
    if isinstance(value, dict):
        unknown = set(value) - set(schema["properties"]) - OLD_KEYS
        check(not unknown, f"{place}: {unknown} not in the schema")
        for key in set(value) & set(schema["properties"]):
            fits(value[key], schema["properties"][key], f"{place}.{key}")
    for index, item in enumerate(value if isinstance(value, list) else []):
        fits(item, schema["items"], f"{place}[{index}]")


def check_schema(models):
    schema = json.loads(run("fit", "--schema").stdout)
    for name, model in models.items():
        fits(model, schema, os.path.basename(name))
    run("fit", "-q", "--seeds", "1", "--time", "time", "--intrinsic", "size", "--extrinsic", "gpus", "-o", "new.json", "rows80.csv")
    with open("new.json", encoding="utf-8") as file:
        model = json.load(file)
    fits(model, schema, "new.json")
    with open("later.json", "w", encoding="utf-8") as file:
        json.dump({**model, "version": model["version"] + 1}, file)
    check(b"version" in run("html", "-o", "-", "later.json", status=1).stderr, "a later version is not refused")
    with open("more.json", "w", encoding="utf-8") as file:
        json.dump({**model, "more": [1]}, file)
    page_of("more.json")


def check_predicted(page, rows, model):
    svg, _ = pictures(page, "Predicted against measured")[0]
    to_x, to_y = axis(svg, "xtick", True), axis(svg, "ytick", True)
    for colour, which in (("s0", "train"), ("s1", "test")):
        expected = [(row["time"], formula(model, row)) for row in rows if row["set"] == which]
        drawn = circles(svg, colour)[1:]
        check(len(drawn) == len(expected), f"{which}: {len(drawn)} points, not {len(expected)}")
        for (x, y), (measured, predicted) in zip(drawn, expected):
            check(near(to_x(x), measured, 2e-3) and near(to_y(y), predicted, 2e-3),
                  f"{which}: drawn at {to_x(x)}, {to_y(y)}, not {measured}, {predicted}")


def check_residuals(page, rows, model):
    svg, _ = pictures(page, "Residuals")[0]
    to_x, to_y = axis(svg, "xtick", True), axis(svg, "ytick", False)
    expected = [row for row in rows if row["set"] == "train"]
    for (x, y), row in zip(circles(svg, "s0")[1:], expected):
        residual = 100 * (row["time"] / formula(model, row) - 1)
        check(near(to_x(x), formula(model, row), 2e-3) and abs(to_y(y) - residual) < 0.1, f"residual {residual} at {to_y(y)}")
    # over a column: dots of one path, a place each; those of the fitted rows over gpus
    svg = next(svg for svg, _ in pictures(page, "Residuals") if "gpus" in [text.text for text in svg.iter("text")])
    path = next(path for path in svg.iter("path") if path.get("class").startswith("s0 dots"))
    to_x, to_y = axis(svg, "xtick", False), axis(svg, "ytick", False)
    places = [tuple(map(float, place.split())) for place in re.findall(r"M([\d.]+ [\d.]+)h0", path.get("d"))]
    check(len(places) == len(expected), f"{len(places)} residuals over gpus, not {len(expected)}")
    for (x, y), row in zip(places, expected):
        check(abs(to_x(x) - row["gpus"]) < 0.02 and
              abs(to_y(y) - 100 * (row["time"] / formula(model, row) - 1)) < 0.2, f"over gpus: {to_x(x)}, {row['gpus']}")


def check_outlier(model_path, model):
    """One sample at 30 times its time: the others are drawn as without it, and it is counted; a sentence where the data go the
    other way than the model."""
    rows = make_rows(80, model)
    page, text = page_of("--data", "rows80.csv", model_path)
    check("at the edge" not in text and "From low to high" not in text, "an outlier or a direction in good data")
    rows[9]["time"] *= 30
    write_table("outlier.csv", list(rows[0]), [list(row.values()) for row in rows])
    page, _ = page_of("--data", "outlier.csv", model_path)
    for svg, _ in pictures(page, "Residuals"):
        check(any(text.text == "residual (%); 1 outlier at the edge" for text in svg.iter("text")), "the outlier is not counted")
    svg, _ = pictures(page, "Residuals")[0]
    to_y = axis(svg, "ytick", False)
    drawn = sorted(to_y(y) for _, y in circles(svg, "s0")[1:])
    residuals = sorted(100 * (row["time"] / formula(model, row) - 1) for row in rows)
    check(abs(drawn[0] - residuals[0]) < 0.2 and abs(drawn[-2] - residuals[-2]) < 0.2, "samples beside the outlier")
    check(residuals[-2] < drawn[-1] < 2 * residuals[-2], f"the outlier is drawn at {drawn[-1]}%")
    for row in rows:
        row["time"] = 1 / formula(model, row)
    write_table("upside_down.csv", list(rows[0]), [list(row.values()) for row in rows])
    _, text = page_of("--data", "upside_down.csv", model_path)
    check("From low to high size the measured times fall" in text, "no word of the direction")


def held_in(caption, model):
    names = {column["name"] for column in model["columns"]}
    pairs = re.match(r"Held: (.*?)\. (?:The points|No config|$)", caption + " ").group(1).split(", ")
    held = dict(pair.split(" ", 1) for pair in pairs)
    check(set(held) < names, f"held: {held}")
    return held


def check_scaling(page, model):
    svg, caption = pictures(page, "Time over gpus")[0]
    held = held_in(caption, model)
    to_x, to_y = axis(svg, "xtick", True), axis(svg, "ytick", True)
    line = next(line for line in svg.iter("polyline") if words(line) == "predicted")
    places = [tuple(map(float, place.split(","))) for place in line.get("points").split()]
    for x, y in places[::7]:
        expected = formula(model, {**held, "gpus": to_x(x)})
        check(near(to_y(y), expected, 4e-3), f"the curve is at {to_y(y)}, not {expected}")
    shades = [shade for shade in svg.iter("rect") if shade.get("class") == "shade"]
    check(near(to_x(float(shades[0].get("x")) + float(shades[0].get("width"))), 1, 0.01) and
          near(to_x(float(shades[1].get("x"))), 4, 0.01), "what is outside of 1 to 4 is not what is shaded")
    check(near(to_x(places[-1][0]), 16, 0.01), f"the curve ends at {to_x(places[-1][0])} GPUs")
    check("The power is -0.8:" in caption and "0.574× the time" in caption, f"words: {caption}")  # 2^-0.8


def check_values(page, model):
    svg, _ = pictures(page, "Powers")[0]
    to_x = axis(svg, "xtick", False)
    expected = [value for value in model["values"] if value["kind"] in ("power", "exponent", "log factor")]
    drawn = circles(svg, "s0")[1:]
    check(len(drawn) == len(expected), f"{len(drawn)} powers")
    bars = [path.get("d") for path in svg.iter("path") if "bar" in path.get("class") and "H" in path.get("d")]
    for (x, _), value, bar in zip(drawn, expected, bars):
        low, high = (to_x(float(re.search(r, bar).group(1))) for r in (r"M([\d.]+) ", r"H([\d.]+)"))
        check(abs(to_x(x) - value["value"]) < 0.005, f"{value['name']} at {to_x(x)}")
        check(abs(low - value["low"]) < 0.005 and abs(high - value["high"]) < 0.005, f"{value['name']}: {low} to {high}")


def check_many(model_path, model):
    """Ten thousand rows: a file of bounded size, nothing said to be all that is not, the extreme point there."""
    rows = make_rows(10000, model)
    rows[77]["time"] = 40 * formula(model, rows[77])
    write_table("rows10000.csv", list(rows[0]), [list(row.values()) for row in rows])
    page, text = page_of("--data", "rows10000.csv", model_path)
    check(len(text) < 2000000, f"{len(text)} bytes of 10000 rows")
    check("markers represent 10000 points" in text, "the merging of points is not stated")
    svg, _ = pictures(page, "Predicted against measured")[0]
    to_x = axis(svg, "xtick", True)
    check(any(near(to_x(x), rows[77]["time"], 0.01) for x, _ in circles(svg, "s0")), "the point that lies apart is not drawn")


def check_hostile(model):
    """Names that are markup, very long, or no text, in the model and the table."""
    column, level = "<b>&\"'</title><script>alert(1)</script>", "]]>" + "lang" * 60
    text = json.dumps(model, ensure_ascii=False).replace('"size"', json.dumps(column)).replace("a size", "<i>x</i>" + "y" * 200)
    text = text.replace("groß", level)
    name = "<u>&'\".json"
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)
    rows = [[row["time"], row["size"], row["card"], level if row["kind"] == "groß" else row["kind"], row["gpus"], row["io"]]
            for row in make_rows(80, model)]
    write_table("hostile.csv", ["time", column, "card", "kind", "gpus", "io"], rows)
    page, text = page_of("--data", "hostile.csv", name)
    check_alone("hostile", page, text)
    known = {"html", "head", "meta", "title", "style", "body", "svg", "rect", "path", "circle", "polyline", "polygon", "section", "h1",
             "h2", "p", "span", "b", "br", "sup", "table", "thead", "tbody", "tr", "th", "td", "div", "text", "figure", "figcaption"}
    check({element.tag for element in page.iter()} <= known, f"elements {({element.tag for element in page.iter()} - known)}")
    check(words(next(page.iter("h1"))) == name, "the file's name")
    check(column in words(page), "the column's name")
    with open("bytes.json", "wb") as file:
        file.write(json.dumps(model, ensure_ascii=False).encode().replace(b'"io"', b'"i\xff\xed\xa0\x80"'))
    check("i????" in page_of("bytes.json")[1], "bytes that are no text")


def check_little(model_path, model):
    rows = make_rows(80, model)
    write_table("one.csv", list(rows[0]), [list(rows[0].values())])
    page, _ = page_of("--data", "one.csv", model_path)
    svg, _ = pictures(page, "Predicted against measured")[0]
    check(len(circles(svg, "s0")) == 2, "one row: not one point and its key")
    rows[3]["size"] = rows[4]["time"] = ""
    rows[5]["time"] = "nan"
    write_table("missing.csv", list(rows[0]), [list(row.values()) for row in rows])
    check(b"missing.csv" in run("html", "-o", "-", "--data", "missing.csv", model_path, status=1).stderr, "missing values")
    result = run("html", "-o", "-", "--skip-bad", "--data", "missing.csv", model_path)
    check(b"3 rows skipped" in result.stderr, f"missing values, left out: {result.stderr}")
    page, _ = page_of(model_path)  # no data at all: what is known without
    check(not [svg for svg in page.iter("svg") if svg.find("title").text.startswith("Predicted")], "points without data")
    pictures(page, "Time over gpus")
    old = {key: value for key, value in model.items() if key not in ("residuals", "resamples")}
    for value in old["values"]:
        value["low"] = value["high"] = None
    with open("old.json", "w", encoding="utf-8") as file:
        json.dump(old, file)
    old["values"][5]["flags"] = ["undetermined"]
    with open("doubtful.json", "w", encoding="utf-8") as file:
        json.dump(old, file)
    svg, _ = pictures(page_of("doubtful.json")[0], "Powers")[0]
    faint = [circle for circle in svg.iter("circle") if "faint" in circle.get("class") and circle.find("title") is not None]
    check([words(circle) for circle in faint] == [words(circle) for circle in faint if ", undetermined" in words(circle)] and
          len(faint) == 1, "what is undetermined is not shown so")
    _, text = page_of("old.json")
    check("Intervals unavailable" in text, "a model without residuals and intervals")


def check_files(model_path):
    run("html", model_path)
    check(os.path.getsize("report.html") > 10000, "no report.html")
    check(b"--force" in run("html", model_path, status=1).stderr, "overwriting is not explained")
    run("html", "--force", model_path)
    os.symlink("/dev/full", "full.html")  # so that nothing but the link could be removed
    check(b"No space" in run("html", "--force", "-o", "full.html", model_path, status=1).stderr, "full disk: no message")
    check(os.path.islink("full.html"), "what is no file was removed")

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))

    run("html", "-o", "half.html", model_path, status=1, preexec_fn=small_files)
    check(not os.path.exists("half.html"), "half a report was left")
    run("html", "-o", "nothing/there.html", model_path, status=1)
    run("html", "rows80.csv", status=1)
    run("html", status=2)
    check(b"--data" in run("html", "--path", model_path, status=2).stderr, "--path without data")
    run("html", "--data", "a", "--data", "b", model_path, status=2)
    check(b"not found" in run("html", "-o", "-", "--data", "one.csv", "--time", "seconds", model_path, status=1).stderr,
          "no such time")


def check_sections(model_path):
    """Paths, baselines and several models."""
    page, text = page_of("--data", "rows80.csv", "--split", "set", "--path", "--baselines", "--seeds", "1", model_path)
    check_alone("all", page, text)
    lines = run("path", "-q", "--csv", "--seeds", "1", "--time", "time", "--intrinsic", "size", "--categorical", "kind", "--factor",
                "card", "--extrinsic", "gpus", "--offset", "io", "--split", "set", "rows80.csv").stdout.decode().splitlines()
    svg, _ = pictures(page, "R2 over lambda")[0]
    to_y = axis(svg, "ytick", False)
    for colour, column in (("s0", "fitted_r2"), ("s1", "held_out_r2"), ("s2", "test_r2")):
        drawn = [to_y(y) for _, y in circles(svg, colour)]
        expected = [float(row[column]) for row in csv.DictReader(lines)]
        spread = max(expected) - min(expected) + 1e-3
        check(len(drawn) == 8 and all(abs(x - y) < 0.02 * spread + 2e-4 for x, y in zip(drawn, expected)),
              f"{column}: {drawn}, not {expected}")
    cells = [words(cell) for cell in page.iter("td")]
    check("forest" in cells and "svr" in cells, "no table of baselines")
    shutil.copy(model_path, "second.json")
    page, text = page_of("--data", "rows80.csv", model_path, "second.json")
    check("2 models" in text and len([1 for title in page.iter("h2") if words(title) == "Fit"]) == 2, "two models")
    pictures(page, "Powers")
    # of other columns, each with a table of its own
    write_table("other.csv", ["time", "work"], [[3 * x ** 0.5 + 1, x] for x in range(1, 30)])
    run("fit", "-q", "--seeds", "1", "--time", "time", "--intrinsic", "work", "-o", "other.json", "other.csv")
    page, _ = page_of("--data", "rows80.csv", "--data", "other.csv", model_path, "other.json")
    pictures(page, "Time over work")


def written_on_terminal(columns, *arguments, **environment):
    status, text = on_terminal(columns, pmfit, *arguments, stderr=subprocess.DEVNULL, env={**os.environ, **environment})
    check(status == 0, f"{arguments}: exit status")
    return text.decode()


def check_step():
    """The page of a model of steps: every configuration is left out once, and a table's rows stand beside."""
    rows = [[8 * 2**b, g, n, round((5 + 3.2 * 2**b + (0 if g == 1 else 4 if n == 1 else 15)) * (1 + (b * 7 + g) % 5 / 100), 3)]
            for g, n in ((1, 1), (2, 1), (4, 1), (4, 2), (8, 2)) for b in range(4)]
    write_table("steps.csv", ["local_bsz", "gpus", "nodes", "step_ms"], rows)
    write_table("more.csv", ["local_bsz", "gpus", "nodes", "step_s"], [[48, 4, 1, 0.03], [16, 8, 2, 0.027]])
    run("step", "-o", "<b>steps.json", "steps.csv")
    page, text = page_of("<b>steps.json")
    check_alone("steps", page, text)
    check(words(next(page.iter("h1"))) == "<b>steps.json", "the name of a model of steps")
    (svg, _), = pictures(page, "Predicted against measured")
    marks = [mark for mark in svg.iter("circle") if mark.find("title") is not None]
    check(len(marks) == len(rows), f"{len(marks)} of {len(rows)} configurations were left out")
    check(len(pictures(page, "Residuals")) == 4, "residuals over the prediction and three columns")
    check("missed by" in text and "Left out, by column" in text, "what was left out")
    page, text = page_of("--data", "more.csv", "<b>steps.json")
    marks = [words(mark.find("title")) for mark in pictures(page, "Predicted against measured")[0][0].iter("circle") if mark.find("title") is not None]
    check(len(marks) == len(rows) + 2 and any(mark.startswith("line 2: measured 30,") for mark in marks), "rows of a table, in the model's unit")
    check(b"--path and --baselines" in run("html", "-o", "-", "--data", "steps.csv", "--path", "<b>steps.json", status=1).stderr, "--path")


def check_text(model_path):
    plain = {**os.environ, "LC_ALL": "C"}
    arguments = ["predict", "-q", "--plot", model_path, "rows80.csv"]
    text = subprocess.run([pmfit, *arguments], env=plain, capture_output=True, check=True).stdout
    check(text.isascii() and b"Predicted against measured" in text and b"measured (ms)" in text, "plain text")
    drawn = text[text.index(b"Predicted against"):]
    check(max(map(len, drawn.splitlines())) <= 80 and b"\x1b" not in text, "wider than 80, or coloured, where there is no terminal")
    text = subprocess.run([pmfit, *arguments], env={**plain, "LC_ALL": "C.UTF-8"}, capture_output=True, check=True).stdout.decode()
    check(any("\u2801" <= letter <= "\u28ff" for letter in text), "no braille")
    text = subprocess.run([pmfit, *arguments, "--plain"], env={**plain, "LC_ALL": "C.UTF-8"}, capture_output=True, check=True).stdout
    check(text.isascii(), "--plain")
    text = written_on_terminal(100, *arguments, LC_ALL="C.UTF-8", NO_COLOR="")
    check("\x1b[3" in text, "no colours on a terminal")
    text = re.sub("\x1b\\[[0-9]*m", "", text[text.index("Predicted against"):])
    check(90 < max(map(len, text.splitlines())) <= 100, f"not as wide as the terminal: {max(map(len, text.splitlines()))}")
    check("\x1b" not in written_on_terminal(60, *arguments, LC_ALL="C", NO_COLOR="1"), "NO_COLOR")
    columns = ["--time", "time,ms", "--intrinsic", "size", "--categorical", "kind", "--factor", "card", "--extrinsic", "gpus", "--offset", "io"]
    text = run("fit", "-q", "--seeds", "1", "--plot", *columns, "rows80.csv", env=plain).stdout
    check(b"Predicted against measured" in text and b"Time over gpus" in text, "fit --plot")
    text = run("path", "-q", "--seeds", "1", "--lambdas", "0,0.01", "--folds", "3", "--plot", *columns, "rows80.csv", env=plain).stdout
    check(b"R2 over lambda" in text and b"Powers over lambda" in text, "path --plot")
    json.loads(run("fit", "-q", "--seeds", "1", "--plot", "--json", *columns, "rows80.csv").stdout)
    write_table("ask.csv", ["size", "kind", "card", "gpus", "io"], [[2, "klein", "a100", 2, 0], [16, "groß", "v100", 1, 0]])
    check(b"Predictions and intervals" in run("predict", "--plot", model_path, "ask.csv", env=plain).stdout, "nothing measured")


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    made_by = {}
    for file_name in sorted(os.listdir(golden)):
        if file_name.endswith(".json"):
            with open(f"{golden}/{file_name}", encoding="utf-8") as golden_file:
                made_by[f"{golden}/{file_name}"] = json.load(golden_file)
    check(f"{golden}/model_v1.json" in made_by, "no golden model")
    for golden_path, golden_model in made_by.items():
        check_golden(golden_path, golden_model, make_rows(80, golden_model))
    path, first = f"{golden}/model_v1.json", made_by[f"{golden}/model_v1.json"]
    table = make_rows(80, first)
    report, report_text = page_of("--data", "rows80.csv", "--split", "set", path)
    check_alone("report", report, report_text)
    check_predicted(report, table, first)
    check_residuals(report, table, first)
    check_outlier(path, first)
    check_scaling(report, first)
    check_values(report, first)
    check_schema(made_by)
    check_many(path, first)
    check_hostile(first)
    check_sections(path)
    check_little(path, first)
    check_files(path)
    check_text(path)
    check_step()
    os.chdir("/")
sys.exit(failures > 0)
