#!/usr/bin/env python3
"""The HTML report on made-up traces: html.py PMANALYZE MAKE_TRACE. It is XML, stands alone, has every layer and rank, says what
the made-up program was told to be slow at, and lets no name of a trace become markup; a report that cannot be written is an error.
What its pictures are as wide as is computed here from what the other commands say.
"""
import csv
import io
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as tree

import html_events

pmanalyze, make_trace = (os.path.abspath(path) for path in sys.argv[1:3])
failures = 0

# The layers of the made-up program (model_net.c).
LENET = ["conv1", "pool1", "conv2", "pool2", "fc1", "fc2", "fc3", "softmax"]
# Of its iteration without the names of modules: the sum of the times that model_net.c gives the layers.
FORWARD_US, BACKWARD_US = 123, 195


def check(holds, what):
    global failures
    if not holds:
        failures += 1
        print(what)


def run(*arguments, status=0, **more):
    result = subprocess.run([pmanalyze, "html", *arguments], capture_output=True, check=False, **more)
    check(result.returncode == status,
          f"html {arguments}: exit status {result.returncode}, expected {status}: {result.stderr.decode()}")
    return result


def page_of(*arguments):
    text = run("-o", "-", *arguments).stdout.decode()
    try:
        return tree.fromstring(text), text
    except tree.ParseError as error:
        check(False, f"{arguments}: not well-formed: {error}")
        return tree.fromstring("<html/>"), text


def words(element):
    return "".join(element.itertext())


def section(page, heading):
    for item in page.iter("section"):
        if any(words(title) == heading for title in item.iter("h2")):
            return item
    check(False, f"no section '{heading}'")
    return tree.fromstring("<section/>")


def percent(element, name):
    return float(element.get(name, "0").rstrip("%"))


def check_alone(name, page, text):
    check("http:" not in text and "https:" not in text, f"{name}: an address")
    check("@import" not in text and "import(" not in text and "fetch(" not in text, f"{name}: not only itself")
    # What is not data is the report's own: one script, at the end.
    scripts = [script for script in page.iter("script") if script.get("type") != "application/json"]
    check(len(scripts) == 1 and page.find("body")[-1] is scripts[0], f"{name}: {len(scripts)} scripts")
    for script in page.iter("script"):
        if script not in scripts:
            json.loads(words(script))
    check(text.count("url(") == text.count("url(#"), f"{name}: refers to a file")
    for element in page.iter():
        for attribute, value in element.attrib.items():
            check(attribute not in ("src", "data", "srcset") and not attribute.startswith("on"), f"{name}: {attribute}={value}")
            check(attribute != "href" or value.startswith("#"), f"{name}: {attribute}={value}")


def check_contents(name, page):
    """Links lead to sections, one to each, in the order of the page."""
    links = [(link.get("href").lstrip("#"), words(link)) for link in next(page.iter("nav")).iter("a")]
    targets = {element.get("id"): element for element in page.iter() if element.get("id", "").startswith("s")}
    check(list(targets) == [place for place, _ in links], f"{name}: contents {links}, but {list(targets)}")
    for place, title in links:
        heading = targets[place] if targets[place].tag == "h1" else targets[place][0]
        check(words(heading).endswith(title), f"{name}: the link '{title}' leads to '{words(heading)}'")


def check_losses(page, runs):
    """Where runs stand side by side the page names the first finding of each, with what it can gain."""
    tables = [table for table in page.iter("table") if any(words(cell) == "loses most to" for cell in table.iter("th"))]
    rows = [[words(cell) for cell in row.iter("td")] for table in tables for row in table.iter("tr") if row.find("td") is not None]
    check([row[0] for row in rows] == runs, f"losses of {rows}")
    unit = next((words(cell).split(", ")[1] for table in tables for cell in table.iter("th") if words(cell).startswith("at most")), "")
    for name, title, gain, share in rows:
        first = told(["report", "--json"], name)["findings"][0]
        near(name, title, float(gain) * {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1}.get(unit, 0), first["gain_ns"], 6)
        check(title == first["title"] and share.endswith("%"), f"{name}: loses most to {title}, not {first['title']}")


def check_pictures(name, page):
    for rectangle in page.iter("rect"):
        if rectangle.get("x", "").endswith("%"):
            end = percent(rectangle, "x") + percent(rectangle, "width")
            check(percent(rectangle, "x") >= 0 and end <= 100.1, f"{name}: a rectangle ends at {end}%")
    defined = {pattern.get("id") for pattern in page.iter("pattern")}
    style = words(next(page.iter("style")))
    for use in style.split("url(#")[1:]:
        check(use.split(")")[0] in defined, f"{name}: no pattern {use[:20]}")
    for rectangle in page.iter("rect"):
        for kind in rectangle.get("class", "").removesuffix(" faded").split():
            check(f".{kind}{{fill" in style, f"{name}: no colour {kind}")


def check_run(name, ranks, layers):
    page, text = page_of(name)
    check_alone(name, page, text)
    check_pictures(name, page)
    check_contents(name, page)
    for heading in ["Phases by rank", "One iteration over ranks"] + (
            ["Waiting and stragglers", "Load imbalance by layer and rank"] if ranks > 1 else []):
        shown = words(section(page, heading))
        for rank in range(ranks):
            check(f"rank {rank}" in shown, f"{name}: {heading} without rank {rank}")
    for heading in ["Layers"] + (["Load imbalance by layer and rank"] if ranks > 1 else []):
        cells = [words(cell) for row in section(page, heading).iter("tr") for cell in row]
        for layer in layers:
            check(any(cell == layer or cell.startswith(layer + " ") for cell in cells),
                  f"{name}: {heading} without {layer}")
    check_layers(name, page)
    return page


def check_layers(name, page):
    """The layers of pmanalyze layers, each with its times stacked, and what the script finds it by."""
    layers = told(["layers", "--json"], name)["layers"]
    part = section(page, "Layers")
    rows = [row for row in part.iter("tr") if row.find("td") is not None]
    keys = {"forward": "forward_ns", "backward": "backward_ns", "communication": "communication_ns", "update": "update_ns"}
    longest = max(sum(layer[key] or 0 for key in keys.values()) for layer in layers) or 1
    check([row.get("data-layer") for row in rows] == [layer["layer"] for layer in layers], f"{name}: layers of {len(rows)} rows")
    check({row.get("data-run") for row in rows} == {"0"}, f"{name}: runs of layers")
    for row, layer in zip(rows, layers):
        end = 0
        for piece in row.iter("rect"):
            near(name, f"{layer['layer']}: a piece's start", percent(piece, "x"), end)
            near(name, f"{layer['layer']}: {piece.get('class')}", percent(piece, "width"), 100 * layer[keys[piece.get("class")]] / longest)
            end += percent(piece, "width")
        near(name, f"{layer['layer']}: the bar", end, 100 * sum(layer[key] or 0 for key in keys.values()) / longest, 0.02)


def check_bars(name, page):
    """Exclusive phases add up to the iteration: the slowest rank's bar is full."""
    ends = []
    for row in list(section(page, "Phases by rank").iter("table"))[-1].iter("tr"):
        pieces = list(row.iter("rect"))
        if row.find("td") is None:
            continue
        for before, after in zip(pieces, pieces[1:]):
            check(abs(percent(before, "x") + percent(before, "width") - percent(after, "x")) < 0.01,
                  f"{name}: pieces of a bar overlap or have a gap")
        ends.append(percent(pieces[-1], "x") + percent(pieces[-1], "width"))
    check(abs(max(ends) - 100) < 0.01, f"{name}: the longest bar ends at {max(ends)}%")


def check_roofline():
    """A point for each layer and pass that has operations and a time, inside the picture, and a row for each."""
    part = section(page_of("one")[0], "Roofline")
    points = [circle for circle in part.iter("circle") if circle.find("title") is not None]
    frame = next(shape for shape in part.iter("rect") if shape.get("class") == "frame")
    left, top, wide, high = (float(frame.get(side)) for side in ("x", "y", "width", "height"))
    rows = list(part.iter("tr"))[1:]
    # conv1 without its data's gradient but for the activation's: each layer has three passes and an update, or two
    check(len(points) == len(rows) == 28, f"one: {len(points)} points, {len(rows)} rows")
    for point in points:
        check(left <= float(point.get("cx")) <= left + wide and top <= float(point.get("cy")) <= top + high,
              "one: a point outside the picture")
    check(any("conv2, parameter gradient: 29.000 us" in words(point) for point in points), "one: conv2 without its point")
    check("no roof" in words(part), "one: a roof from nowhere")


def lane_of(part, piece):
    """The lane of a rectangle of the still picture, by its place from above."""
    lanes = words(part.find("p")).split("from above: ")[1].split(".")[0].split(", ")
    return lanes[(int(piece.get("y")) - 1) // 13]


def check_timeline():
    """The lanes have the time that the made-up program gave its work; who comes last does not wait."""
    rows = {words(row.find("th")): row for row in section(page_of("three")[0], "One iteration over ranks").iter("tr")}
    waits = {name: sum(percent(piece, "width") for piece in row.iter("rect") if piece.get("class") == "wait")
             for name, row in rows.items()}
    check(waits["rank 0"] > 5 and waits["rank 1"] > 5 and waits["rank 2"] == 0, f"three: waiting {waits}")
    # Less than a bin of the window: the start of the next update, at its edge.
    part = section(page_of("three")[0], "One iteration over ranks")
    short = [piece.get("class") for row in rows.values() for piece in row.iter("rect")
             if " short, " in words(piece) and lane_of(part, piece) not in ("layer", "host calls")]
    check(short == ["update"], f"three: short calls {short}")
    part = section(page_of("one")[0], "One iteration over ranks")
    window_us = float(words(part.find("p")).split(" us")[0])
    for phase, expected_us in [("forward", FORWARD_US), ("backward", BACKWARD_US)]:
        pieces = [piece for piece in part.find("noscript").iter("rect") if piece.get("class") == phase and lane_of(part, piece) == "compute"]
        shown_us = sum(percent(piece, "width") for piece in pieces) * window_us / 100
        check(abs(shown_us - expected_us) < 0.5, f"one: {phase} is drawn {shown_us} us long, not {expected_us}")


def check_head():
    """The head says when and where the trace was recorded, as its header has it, and which version made the page."""
    trace = next(entry.path for entry in os.scandir("one") if entry.name.endswith(".pmtrace"))
    with open(trace, "rb") as file:
        content = bytearray(file.read())
    struct.pack_into("<Q", content, 64, 1764336000 * 10**9)
    os.mkdir("dated")
    with open("dated/dated.pmtrace", "wb") as file:
        file.write(content)
    page, _ = page_of("dated")
    facts = {words(row[0]): words(row[1]) for row in next(table for table in page.iter("table") if table.get("class") == "facts").iter("tr")}
    host = content[80:144].split(b"\0")[0].decode()
    expected = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(1764336000))
    check(facts.get("Date") == expected, f"one: {facts}, not {expected}")
    check(facts.get("Host") == f"{host}, 1 process", f"one: {facts}, not on {host}")
    version = subprocess.run([pmanalyze, "--version"], capture_output=True, check=True).stdout.decode().split()[1]
    check(facts.get("Page by") == f"pmanalyze {version}", f"one: {facts}, not {version}")


def check_flame(name):
    """The uppermost box is the GPU time of the kernels' table; children are inside their parents, and no two side by side overlap."""
    part = section(page_of(name)[0], "GPU time by module")
    kernels = told(["kernels", "--json"], name)["runs"][0]
    boxes = [(int(box.get("y")), percent(box, "x"), percent(box, "width"), words(box)) for box in part.iter("svg") if box.get("class") == "box"]
    units = {"us": 1e3, "ms": 1e6}
    shown, unit = words(part.find("p")).split()[:2]
    near(name, "GPU time", float(shown) * units[unit], sum(kernel["time_ns"] for kernel in kernels["kernels"]), 1)
    check(len(boxes) > 10 and boxes[0][:3] == (0, 0, 100), f"{name}: boxes {boxes[:2]}")
    for row, start, wide, text in boxes[1:]:
        check(any(above == row - 17 and left <= start + 0.01 and start + wide <= left + room + 0.01 for above, left, room, _ in boxes),
              f"{name}: '{text}' is in no box")
        check(not any(other == row and left > start and left < start + wide - 0.01 for other, left, _, _ in boxes), f"{name}: boxes overlap: {text}")
    layers = {layer["layer"]: layer for layer in told(["layers", "--json"], name)["layers"]}
    for row, _, wide, text in boxes:
        layer = layers.get(text.split(":")[0])
        if row == 17 and layer and layer["update_ns"] is not None:
            expected = sum(layer[key] or 0 for key in ("forward_ns", "backward_ns", "communication_ns", "update_ns", "wait_ns"))
            near(name, f"the box of {layer['layer']}", wide, 100 * expected / sum(kernel["time_ns"] for kernel in kernels["kernels"]), 0.5)


def check_host():
    """The host's lane has the calls of the trace, at their times, and each call of the iterations that gives work; a layer's stay
    in the lane above is from the first of its calls to the end of the last."""
    trace = next(entry.path for entry in os.scandir("one") if entry.name.endswith(".pmtrace"))
    result = subprocess.run([pmanalyze, "dump", "--records", "--csv", trace], capture_output=True, check=True)
    calls = {(int(row["start_ns"]), int(row["start_ns"]) + int(row["duration_ns"]), row["function"])
             for row in csv.DictReader(io.StringIO(result.stdout.decode())) if row["kind"] == "call"}
    events = html_events.of_page(page_of("one")[1])["rank 0"]
    shown = [(start, end, name) for lane, start, end, _, name, _ in events if lane == "host calls"]
    check(len(shown) > 300, f"one: {len(shown)} host calls")
    origins = [start - shown[0][0] for start, _, name in calls if name == shown[0][2]]
    origin = next((origin for origin in origins if all((start + origin, end + origin, name) in calls for start, end, name in shown)), None)
    check(origin is not None, "one: the host's lane has calls that the trace has not")
    if origin is None:
        return
    here = {(start + origin, end + origin, name) for start, end, name in shown}
    between = [call in here for call in sorted(calls) if min(here) <= call <= max(here)]
    missing = [part for part in "".join("01"[known] for known in between).split("1") if part]
    # What is missing between iterations is all of an evaluation, of 40 calls or so.
    check(all(len(part) > 30 for part in missing), f"one: calls are missing: {missing}")
    waits = {name for lane, _, _, phase, name, _ in events if phase == "blocked"}
    check("cudaStreamSynchronize" in waits and not any("Convolution" in name for name in waits), f"one: blocked in {waits}")
    stays = [(start, end, layer) for lane, start, end, _, _, layer in events if lane == "layer"]
    for start, end, layer in stays:
        inside = [(a, b) for lane, a, b, _, _, of in events if lane == "host calls" and of == layer and a >= start and b <= end]
        check(inside and min(inside)[0] == start and max(b for _, b in inside) == end, f"one: a stay in {layer} from {start} to {end}")
    check({layer for _, _, layer in stays} == set(LENET) | {"dropout1"}, f"one: stays in {sorted({layer for _, _, layer in stays})}")


def told(command, name):
    result = subprocess.run([pmanalyze, *command, name], capture_output=True, check=True)
    return json.loads(result.stdout) if "--json" in command else list(csv.DictReader(io.StringIO(result.stdout.decode())))


def near(name, what, shown, expected, tolerance=0.01):
    check(abs(shown - expected) <= tolerance, f"{name}: {what} is {shown}, not {expected}")


def bars(part, columns=1):
    """(what the row begins with, the width of its bar, its row) of a table of bars."""
    return [(" ".join(words(cell) for cell in list(row)[:columns]), percent(next(piece for piece in row.iter("rect") if piece.get("height") == "100%"), "width"), row)
            for table in part.iter("table") if table.get("class") == "list"
            for row in table.iter("tr") if any(piece.get("height") == "100%" for piece in row.iter("rect"))]


def check_help(name, page):
    """A bar for each change that saves 0.05%, the greatest first, as long as what it saves."""
    run = told(["whatif", "--json"], name)["runs"][0]
    changes = [item for item in run["changes"] if item["gain_ns"] > 0.0005 * run["replayed_ns"]]
    part = section(page, "Optimization candidates")
    shown = bars(part)
    check(len(shown) == len(changes), f"{name}: {len(shown)} changes, not {len(changes)}")
    for (title, wide, row), item in zip(shown, changes):
        expected = {"rank": f"{item['worker']} like other ranks", "layer": f"{item['layer']} 2× as fast",
                    "communication": "communication 2× as fast", "overlap": "communication hidden behind computation",
                    "host": "zero launch time", "input": "zero wait for the batch", "balance": "all ranks balanced",
                    "stages": "all stages and ranks balanced"}[item["kind"]]
        check(title == expected, f"{name}: '{title}', not '{expected}'")
        near(name, title, wide, 100 * item["gain_ns"] / changes[0]["gain_ns"])
        check(f"{100 * item['gain_ns'] / run['replayed_ns']:.1f}%" in words(row), f"{name}: {words(row)}: another share")
    if name != "one":
        check(f"S = {run['slowdown']:.3f}" in words(part), f"{name}: no slowdown")
        # (3.8) of the computing times of the balance's table of ranks
        times = [row["computing_ns"] for row in told(["balance", "--json"], name)["runs"][0]["ranks"]]
        check(f"LIF = {len(times) * max(times) / sum(times):.3f}" in words(part), f"{name}: no LIF")


def check_phases(name, page):
    """The phases of report, each with its colour, and the iteration below them."""
    phases = {item["symbol"]: item for item in told(["report", "--json"], name)["phases"]}
    rows = [list(row) for row in next(section(page, "Phases of an iteration").iter("table")).iter("tr")]
    units = {"us": 1e3, "ms": 1e6, "s": 1e9}
    unit = units[words(rows[0][3]).split(", ")[1]]
    check(len(rows) > 5 and words(rows[-1][1]) == "t_iter", f"{name}: phases {[words(row[0]) for row in rows]}")
    for row in rows[1:]:
        item = phases[words(row[1])]
        near(name, f"{words(row[0])}, exclusive", float(words(row[3])), item["exclusive_ns"] / unit)
        check(words(row[2]) == "-" if item["busy_ns"] is None or row is rows[-1] else
              abs(float(words(row[2])) - item["busy_ns"] / unit) < 0.01, f"{name}: {words(row[0])} is busy for {words(row[2])}")
        check((next(row[0].iter("rect"), None) is not None) == (row is not rows[-1]), f"{name}: the square of {words(row[0])}")


def check_calls(name, page):
    """Of the rank that is idle for longest, the bars of its calls are as long as the GPU is idle in them."""
    calls = told(["report", "--json"], name)["host_calls"]
    part = section(page, "Idle time by host call")
    rank = words(part.find("p")).split(",")[0].removeprefix("Of ")
    idle = {item["call"].strip("()"): item["idle_ns"] for item in calls if item["worker"] == rank}
    rows = bars(part)
    check(len(rows) > 2 and rows[-1][0] == "in no call", f"{name}: calls {[row[0] for row in rows]}")
    for call, wide, _ in rows:
        near(name, f"idle in {call}", wide, 100 * idle[call] / max(idle.values()))


def check_path(name, page):
    """The path's phases, its longest segments, and an iteration's pieces: on one rank at a time, without gap."""
    run = told(["path", "--json"], name)["runs"][0]
    phases = {item["phase"]: item["share"] for item in run["phases"]}
    part = section(page, "Critical path")
    tables = list(part.iter("table"))
    shown = {piece.get("class"): percent(piece, "width") for piece in tables[0].iter("rect")}
    check(set(shown) | {"path"} == set(phases), f"{name}: phases on the path {set(shown)}")
    for phase, wide in shown.items():
        near(name, f"{phase} on the path", wide, 100 * phases[phase])
    segments = run["segments"][:10]
    for (where, wide, _), item in zip(bars(part, 2), segments):
        check(where == f"{item['worker']} {item['layer'] or ''}", f"{name}: {where} on the path, not {item}")
        near(name, f"{where} on the path", wide, 100 * item["path_ns"] / segments[0]["path_ns"])
    number = int(next(words(p) for p in part.iter("p") if words(p).startswith("Iteration ")).split()[1])
    iteration = next(item for item in run["iterations"] if item["iteration"] == number)
    pieces = [piece for piece in tables[1].iter("rect")]
    check(abs(percent(pieces[0], "x")) < 0.02, f"{name}: the path begins at {percent(pieces[0], 'x')}%")
    for before, after in zip(pieces, pieces[1:]):
        near(name, "the end of a piece of the path", percent(before, "x") + percent(before, "width"), percent(after, "x"), 0.03)
    near(name, "the path's end", percent(pieces[-1], "x") + percent(pieces[-1], "width"), 100, 0.03)
    rows = [words(span) for span in tables[1].iter("span")]
    check({piece.get("y") for piece in pieces} == {str(18 * i + 3) for i in range(len(rows))}, f"{name}: rows of {rows}")
    check(rows[int(pieces[-1].get("y")) // 18] == iteration["worker"], f"{name}: the path ends not on {iteration['worker']}")
    hops = sum(before.get("y") != after.get("y") for before, after in zip(pieces, pieces[1:]))
    lines = [line for line in tables[1].iter("line") if line.get("class") == "hop"]
    check(hops == len(lines) and hops <= iteration["crossings"], f"{name}: {hops} hops, {len(lines)} lines, {iteration}")
    for phase in ["forward", "backward", "communication"]:
        wide = sum(percent(piece, "width") for piece in pieces if piece.get("class") == phase)
        # what is too short to be seen is drawn with its neighbour
        near(name, f"{phase} of iteration {number}", wide, 100 * iteration[phase + "_ns"] / iteration["path_ns"], 2)


def check_waits(name, page):
    """The ranks of balance, their bars as long as the wait that each causes."""
    ranks = told(["balance", "--json"], name)["runs"][0]["ranks"]
    table = next(table for table in section(page, "Waiting and stragglers").iter("table") if table.get("class") == "list")
    rows = [row for row in table.iter("tr") if row.find("td") is not None]
    greatest = max(rank["wait_caused_ns"] for rank in ranks)
    check([words(row[0]) for row in rows] == [rank["worker"] for rank in ranks], f"{name}: ranks {[words(row[0]) for row in rows]}")
    for row, rank in zip(rows, ranks):
        wide = [percent(piece, "width") for piece in row.iter("rect")]
        near(name, f"{rank['worker']}'s bar", wide[0] if wide else 0, 100 * rank["wait_caused_ns"] / greatest)
        check(f"{100 * rank['last']:.1f}%" == words(row[-1]), f"{name}: {words(row)}: another share of last arrivals")


def check_model(name, page):
    """A bar for each assumption, and a line for what was measured on the same scale."""
    model = told(["model", "--json"], name)
    rows = bars(section(page, "Model"))
    predictions = model["predictions"]
    measured = model["runs"][0]["t_iter_ns"]
    longest = max([1.02 * measured] + [item["with_rest_ns"] for item in predictions])
    check([title.removesuffix(" ✓") for title, _, _ in rows] == [item["title"] for item in predictions],
          f"{name}: assumptions {[title for title, _, _ in rows]}")
    for (title, wide, row), item in zip(rows, predictions):
        near(name, title, wide, 100 * item["with_rest_ns"] / longest)
        near(name, f"{title}: the line", percent(next(row.iter("line")), "x1"), 100 * measured / longest)
        check(title.endswith("✓") == (model["runs"][0]["behaviour"] == item["assumption"]), f"{name}: {title} is called the best")


def check_iterations(name, page):
    """A bar for each iteration, as tall as it is long, with its exposed communication; faded where it is not used."""
    times = {}
    for row in told(["report", "--iterations", "--csv"], name):
        item = times.setdefault(f"rank {row['rank']}", {}).setdefault(int(row["iteration"]), {"kind": row["kind"]})
        item["ns"] = int(row["end_ns"]) - int(row["start_ns"])
        if row["phase"] == "communication":
            item["exposed"] = float(row["exclusive_ns"])
    used = sorted(item["ns"] for rank in times.values() for item in rank.values() if item["kind"] == "used")
    tallest = min(max(item["ns"] for rank in times.values() for item in rank.values()), 2.5 * used[len(used) // 2])
    part = section(page, "Iterations in sequence")
    for row in part.find("table").iter("tr"):
        rank = words(row.find("th"))
        groups = list(row.iter("g"))
        check(len(groups) == len(times[rank]), f"{name}: {rank} has {len(groups)} bars")
        for group, (number, item) in zip(groups, sorted(times[rank].items())):
            pieces = {piece.get("class").split()[0]: float(piece.get("height")) for piece in group.iter("rect")}
            near(name, f"{rank}, iteration {number}", sum(pieces.values()), 40 * min(item["ns"] / tallest, 1), 0.3)
            near(name, f"{rank}, exposed of {number}", pieces.get("communication", 0), 40 * item["exposed"] / tallest, 0.2)
            faded = any("faded" in piece.get("class") for piece in group.iter("rect"))
            check(faded == (item["kind"] != "used"), f"{name}: {rank}, iteration {number} is {item['kind']}, faded: {faded}")


def check_findings():
    """What the made-up programs were told to be slow at comes first, with what it would save."""
    def findings(name):
        panel = next(div for div in page_of(name)[0].iter("div") if div.get("class") == "lead")
        return words(panel.find("p")), [words(item) for item in panel.find("ol")]

    for name in ("causes", "three", "one"):
        step, sentences = findings(name)
        report = told(["report", "--json"], name)
        check(step.startswith("Step: median "), f"{name}: {step}")
        # The list of the report, in its order.
        check(len(sentences) == min(len(report["findings"]), 6)
              and all(sentence.startswith(item["title"]) for sentence, item in zip(sentences, report["findings"])),
              f"{name}: {sentences}")
    sentences = findings("causes")[1]
    check(sentences[0].startswith("Straggler rank 1: slower layer conv2"), f"causes: {sentences}")
    sentences = findings("three")[1]
    check(sentences[0].startswith("Straggler rank 2: slower throughout"), f"three: {sentences}")
    # Its passes, update, copies and division take 1.5 times as long: half of what they take at the others, and no more than those wait.
    saved = float(sentences[0].split("at most ")[1].split(" us")[0])
    near("three", "what rank 2 costs", saved, 0.5 * (FORWARD_US + BACKWARD_US + 10 + 18) - 1, 2)
    check(not any("Straggler rank" in item for item in findings("one")[1]), "one: a straggler of one rank")


def labelled_trace(path):
    """Two data ranks of two stages with four micro-batches; the last stage computes twice as long, and the first waits for it."""
    events = []
    for step in range(3):
        for data in range(2):
            for stage in range(2):
                at = 100000 * step + 1000 * stage
                for label, wide in [("forward-compute", 1000), ("backward-compute", 2000)]:
                    for batch in range(4):
                        events.append({"ph": "X", "name": label, "pid": data, "tid": stage, "ts": at, "dur": wide * (1 + stage),
                                       "args": {"step": step, "mb_id": batch, "model_chunk": 0, "dp_rank": data, "pp_rank": stage}})
                        at += wide * 2
                    at += 1000 + 8000 * (1 - stage)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": events}, file)


def check_labelled():
    """Labelled phases: what uneven work costs, a cell for each worker, and what cannot be told."""
    labelled_trace("labelled.json")
    page, text = page_of("labelled.json")
    check_alone("labelled", page, text)
    check_pictures("labelled", page)
    check_contents("labelled", page)
    slowdown = told(["slowdown", "--json"], "labelled.json")
    # One forward of the first stage, four of the last, four backward of it, one of the first: 27 ms, evenly 22.5 ms.
    near("labelled", "the slowdown", slowdown["slowdown"], 27 / 22.5, 0.0001)
    part = section(page, "Slowdown by imbalance")
    gains = {item["effect"]: slowdown["replayed_ns"] - item["without_ns"] for item in slowdown["causes"]}
    effects = list(part.iter("table"))[0]
    titles = {"stages": "stage imbalance", "workers": "slow worker", "batches": "operations vary",
              "communication": "communication", "collection": "garbage collection", "update": "optimizer"}
    shown = {words(row[0]): sum(percent(bar, "width") for bar in row.iter("rect")) for row in effects.iter("tr")}
    for key, gain in gains.items():
        near("labelled", titles[key], shown[titles[key]], 100 * max(gain, 0) / max(gains.values()))
    for part_key, tables in (("stages", 2), ("data_ranks", 3)):
        rows = {words(row[0]): sum(percent(bar, "width") for bar in row.iter("rect")) for row in list(part.iter("table"))[tables].iter("tr")}
        longest = max(item["computing_ns"] for item in slowdown[part_key])
        for item in slowdown[part_key]:
            name = item[part_key[:-1]]
            near("labelled", name, rows[name], 100 * item["computing_ns"] / longest)
    cells = {}
    for piece in next(table for table in part.iter("table") if table.get("class") == "lines map").iter("rect"):
        name, rest = words(piece).split(": S = ")
        cells[name] = (float(rest.split(",")[0]), percent(piece, "x"))
    check({row["worker"]: round(row["slowdown"], 3) for row in slowdown["workers"]} ==
          {name: cell[0] for name, cell in cells.items()}, f"labelled: cells {cells}")
    check(all(cell[1] == 50 * name.endswith("pp1") for name, cell in cells.items()), f"labelled: places of {cells}")
    panel = next(div for div in page.iter("div") if div.get("class") == "lead")
    check(words(panel.find("ol")).strip().startswith("Imbalance: stage imbalance"), f"labelled: {words(panel)}")
    check(any("the trace has phase labels only" in words(item) for item in page.iter("li")), "labelled: nothing is untold")
    check(not any(words(title) == "Optimization candidates" for title in page.iter("h2")), "labelled: replayed without devices")


def check_hostile():
    """Bytes of the same length in place of names in the trace; and the folder's name."""
    name = "<i>&\"'"
    os.mkdir(name)
    for file in os.listdir("modules"):
        with open(f"modules/{file}", "rb") as source, open(f"{name}/{file}", "wb") as target:
            data = source.read().replace(b"program\0", b"<b>&\xc3<\xff\0", 1)
            target.write(data.replace(b"net.conv1", b"\"'&<>\x01\xc3\xa91").replace(b"net.conv2", b"<script>\""))
    page, _ = page_of(name)
    title = words(next(page.iter("h1")))
    check("<b>&?<?" in title and name in title, f"hostile names in the title: {title}")
    cells = [words(cell) for cell in section(page, "Layers").iter("td")]
    check(any("\"'&<>\\x01\u00e91" in cell for cell in cells), "hostile layer's name")
    check(any("<script>\"" in cell for cell in cells), "a layer named as an element")
    known = {"html", "head", "meta", "title", "style", "body", "svg", "defs", "pattern", "rect", "path", "circle", "section",
             "h1", "h2", "p", "span", "ol", "ul", "li", "b", "table", "thead", "tbody", "tr", "th", "td", "div", "line", "text",
             "nav", "a", "g", "br", "details", "summary", "script", "noscript"}
    check({element.tag for element in page.iter()} <= known, "an element that nobody wrote")
    check(not list(page.iter("i")), "the folder's name became an element")


def check_files():
    run("three")
    check(os.path.getsize("three.html") > 10000, "no three.html")
    with open("three.html", "w", encoding="utf-8") as file:
        file.write("mine")
    check(b"--force" in run("three", status=1).stderr, "overwriting is not explained")
    with open("three.html", encoding="utf-8") as file:
        check(file.read() == "mine", "overwritten without --force")
    run("--force", "three")
    check(os.path.getsize("three.html") > 10000, "not overwritten with --force")
    os.symlink("/dev/full", "full.html")  # so that nothing but the link could be removed
    check(b"No space" in run("--force", "-o", "full.html", "three", status=1).stderr, "full disk: no message")
    check(os.path.islink("full.html"), "what is no file was removed")
    with open("/dev/full", "wb") as full:
        result = subprocess.run([pmanalyze, "html", "-o", "-", "three"], stdout=full, stderr=subprocess.PIPE, check=False)
        check(result.returncode == 1 and b"No space" in result.stderr, "full standard output")

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))

    run("-o", "half.html", "three", status=1, preexec_fn=small_files)
    check(not os.path.exists("half.html"), "half a report was left")
    run("-o", "nothing/there.html", "three", status=1)
    run(status=2)
    run("nothing", status=1)


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    for made in ["one", "three", "overlap", "causes", "two_gpus", "killed", "graph", "host_only", "modules"]:
        os.mkdir(made)
        subprocess.run([make_trace, made, made], check=True)
    for made, rank_count in [("one", 1), ("three", 3), ("overlap", 3), ("causes", 3), ("graph", 1)]:
        check_bars(made, check_run(made, rank_count, LENET))
    check_run("modules", 1, ["net.conv1", "net.conv2", "net.fc1"])
    for made in ["one", "three", "overlap", "causes"]:
        shown_page = page_of(made)[0]
        check_help(made, shown_page)
        check_phases(made, shown_page)
        check_path(made, shown_page)
        check_model(made, shown_page)
        if made != "one":
            check_waits(made, shown_page)
        check_iterations(made, shown_page)
    check_calls("causes", page_of("causes")[0])
    check_findings()
    check_labelled()
    cause_list = [words(item) for item in section(page_of("causes")[0], "Waiting and stragglers").iter("li")]
    check(any("conv2" in item for item in cause_list), f"causes: {cause_list}")
    check("rank 0 gpu 1" in page_of("two_gpus")[1], "two_gpus: the second is not named")
    check("the end is missing" in page_of("killed")[1], "killed: no warning")
    check("no device times" in page_of("host_only")[1], "host_only: no warning")
    both, both_text = page_of("one", "three")
    check_alone("both", both, both_text)
    check_pictures("both", both)
    check_contents("both", both)
    check([words(title).split()[-1] for title in both.iter("h1")][1:] == ["one", "three"], "not each run has its part")
    check("2 runs side by side" in both_text, "no comparison")
    check_losses(both, ["one", "three"])
    check_timeline()
    check_host()
    check_head()
    for made in ["one", "three", "overlap", "causes"]:
        check_flame(made)
    check_roofline()
    check_hostile()
    check_files()
    os.chdir("/")
sys.exit(failures > 0)
