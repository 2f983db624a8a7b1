#!/usr/bin/env python3
"""The HTML report on made-up traces: html.py PMANALYZE MAKE_TRACE. It is XML, stands alone, has every layer and rank, says what
the made-up program was told to be slow at, and lets no name of a trace become markup; a report that cannot be written is an error.
"""
import os
import resource
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as tree

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
    check("@import" not in text and "<script" not in text, f"{name}: not only itself")
    check(text.count("url(") == text.count("url(#"), f"{name}: refers to a file")
    for element in page.iter():
        for attribute, value in element.attrib.items():
            check(attribute not in ("src", "href", "data", "srcset") and not attribute.startswith("on"),
                  f"{name}: {attribute}={value}")


def check_pictures(name, page):
    for rectangle in page.iter("rect"):
        if rectangle.get("x"):
            end = percent(rectangle, "x") + percent(rectangle, "width")
            check(percent(rectangle, "x") >= 0 and end <= 100.1, f"{name}: a rectangle ends at {end}%")
    defined = {pattern.get("id") for pattern in page.iter("pattern")}
    style = words(next(page.iter("style")))
    for use in style.split("url(#")[1:]:
        check(use.split(")")[0] in defined, f"{name}: no pattern {use[:20]}")
    for rectangle in page.iter("rect"):
        kind = rectangle.get("class")
        check(kind is None or f".{kind}{{fill" in style, f"{name}: no colour {kind}")


def check_run(name, ranks, layers):
    page, text = page_of(name)
    check_alone(name, page, text)
    check_pictures(name, page)
    for heading in ["Phases by rank", "An iteration over ranks"] + (
            ["Who waits for whom", "Load imbalance by layer and rank"] if ranks > 1 else []):
        shown = words(section(page, heading))
        for rank in range(ranks):
            check(f"rank {rank}" in shown, f"{name}: {heading} without rank {rank}")
    for heading in ["Layers"] + (["Load imbalance by layer and rank"] if ranks > 1 else []):
        cells = [words(cell) for row in section(page, heading).iter("tr") for cell in row]
        for layer in layers:
            check(any(cell == layer or cell.startswith(layer + " ") for cell in cells),
                  f"{name}: {heading} without {layer}")
    return page


def check_bars(name, page):
    """Exclusive phases add up to the iteration: the slowest rank's bar is full."""
    ends = []
    for row in section(page, "Phases by rank").findall("table")[-1].iter("tr"):
        pieces = list(row.iter("rect"))
        for before, after in zip(pieces, pieces[1:]):
            check(abs(percent(before, "x") + percent(before, "width") - percent(after, "x")) < 0.01,
                  f"{name}: pieces of a bar overlap or have a gap")
        ends.append(percent(pieces[-1], "x") + percent(pieces[-1], "width"))
    check(abs(max(ends) - 100) < 0.01, f"{name}: the longest bar ends at {max(ends)}%")


def check_roofline():
    """A point for each layer and pass that has operations and a time, inside the picture, and a row for each."""
    part = section(page_of("one")[0], "Roofline")
    points = [circle for circle in part.iter("circle") if circle.get("cx").endswith("%")]
    rows = list(part.iter("tr"))[1:]
    # conv1 without its data's gradient but for the activation's: each layer has three passes and an update, or two
    check(len(points) == len(rows) == 28, f"one: {len(points)} points, {len(rows)} rows")
    for point in points:
        check(0 <= percent(point, "cx") <= 100 and 0 <= float(point.get("cy")) <= 380, "one: a point outside the picture")
    check(any("conv2, gradient of the parameters: 29.000 us" in words(point) for point in points), "one: conv2 without its point")
    check("no roof" in words(part), "one: a roof from nowhere")


def check_timeline():
    """The lanes have the time that the made-up program gave its work; who comes last does not wait."""
    rows = {words(row.find("th")): row for row in section(page_of("three")[0], "An iteration over ranks").iter("tr")}
    waits = {name: sum(percent(piece, "width") for piece in row.iter("rect") if piece.get("class") == "wait")
             for name, row in rows.items()}
    check(waits["rank 0"] > 5 and waits["rank 1"] > 5 and waits["rank 2"] == 0, f"three: waiting {waits}")
    # Less than a bin of the window: the begin of the next update, at its edge.
    short = [piece.get("class") for row in rows.values() for piece in row.iter("rect") if " short, " in words(piece)]
    check(short == ["update"], f"three: short calls {short}")
    part = section(page_of("one")[0], "An iteration over ranks")
    window_us = float(words(part.find("p")).split(" us")[0])
    for phase, expected_us in [("forward", FORWARD_US), ("backward", BACKWARD_US)]:
        pieces = [piece for piece in part.find("table").iter("rect") if piece.get("class") == phase]
        shown_us = sum(percent(piece, "width") for piece in pieces) * window_us / 100
        check(abs(shown_us - expected_us) < 0.5, f"one: {phase} is drawn {shown_us} us long, not {expected_us}")


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
    check(any("\"'&<>?\u00e91" in cell for cell in cells), "hostile layer's name")
    check(any("<script>\"" in cell for cell in cells), "a layer named as an element")
    known = {"html", "head", "meta", "title", "style", "body", "svg", "defs", "pattern", "rect", "path", "circle", "section",
             "h1", "h2", "p", "span", "ol", "ul", "li", "b", "table", "thead", "tbody", "tr", "th", "td", "div", "line", "text"}
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
    # What the made-up programs were told to be slow at.
    sentences = [words(item) for item in next(page_of("causes")[0].iter("ol")).iter("li")]
    check(len(sentences) == 3 and "rank 1 holds the others up" in sentences[2], f"causes: {sentences}")
    sentences = [words(item) for item in next(page_of("three")[0].iter("ol")).iter("li")]
    check("rank 2 holds the others up" in sentences[2] and "slower throughout" in sentences[2], f"three: {sentences}")
    cause_list = [words(item) for item in section(page_of("causes")[0], "Who waits for whom").iter("li")]
    check(any("conv2" in item for item in cause_list), f"causes: {cause_list}")
    check("rank 0 gpu 1" in page_of("two_gpus")[1], "two_gpus: the second is not named")
    check("the end is missing" in page_of("killed")[1], "killed: no warning")
    check("no device times" in page_of("host_only")[1], "host_only: no warning")
    both, both_text = page_of("one", "three")
    check_alone("both", both, both_text)
    check_pictures("both", both)
    check([words(title).split()[-1] for title in both.iter("h1")][1:] == ["one", "three"], "not each run has its part")
    check("2 runs side by side" in both_text, "no comparison")
    check_timeline()
    check_roofline()
    check_hostile()
    check_files()
    os.chdir("/")
sys.exit(failures > 0)
