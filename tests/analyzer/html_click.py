#!/usr/bin/env python3
"""The HTML report as one works with it: html_click.py PMANALYZE MAKE_TRACE [FRAMES]. A headless Chromium opens reports of made-up runs;
clicks, keys and the wheel go through the browser's own input. Tables sort as their numbers say and filter; the timeline has as
many events of a layer as the exported traces, zooms, pans, folds, searches and tells what is under the pointer; a finding leads
to its layer and to the timeline. With FRAMES, only a page with over a million events is drawn so often, zooming; how long the
script takes for a frame is printed. Exits with 77 where there is no Chromium.
"""
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile

import html_events

pmanalyze, make_trace = (os.path.abspath(path) for path in sys.argv[1:3])
failures = 0


def check(holds, what):
    global failures
    if not holds:
        failures += 1
        print(what)


class Browser:
    """Chromium by its protocol over two pipes: one JSON message after another, each ended by a zero byte."""

    def __init__(self, program, folder):
        to_read, self.write = os.pipe()
        self.read, to_write = os.pipe()

        def place():
            # Descriptors 3 and 4, whichever numbers the pipes have.
            first, second = os.dup2(to_read, 100), os.dup2(to_write, 101)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
             "--window-size=1200,900", f"--user-data-dir={folder}", "about:blank"],
            preexec_fn=place, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.number, self.rest, self.session, self.errors = 0, b"", None, []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.ask("Page.enable")
        self.ask("Runtime.enable")

    def message(self):
        while b"\0" not in self.rest:
            got = os.read(self.read, 1 << 16)
            if not got:
                raise EOFError("Chromium ended")
            self.rest += got
        text, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(text)
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(message["params"]["exceptionDetails"].get("exception", {}).get("description", "an exception"))
        return message

    def ask(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, path):
        self.ask("Page.navigate", url="file://" + path)
        while self.message().get("method") != "Page.loadEventFired":
            pass
        self.settle()

    def value(self, expression):
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def settle(self):
        """Two frames: what was to be drawn is."""
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def place(self, element, across=0.5, down=0.5):
        return self.value(f"(() => {{ const e = {element}; e.scrollIntoView({{block: 'center', behavior: 'instant'}});"
                          "const b = e.getBoundingClientRect();"
                          f"return [b.left + b.width * {across}, b.top + b.height * {down}]; }})()")

    def mouse(self, kind, x, y, **more):
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, element, across=0.5, down=0.5):
        x, y = self.place(element, across, down)
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)
        self.settle()

    def key(self, key, text=""):
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, text=text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key)
        self.settle()

    def type(self, text):
        self.ask("Input.insertText", text=text)
        self.settle()

    def close(self):
        self.session = None
        try:
            self.ask("Browser.close")
        except (EOFError, OSError):
            pass
        self.process.wait()


def report(name, *more):
    subprocess.run([pmanalyze, "html", "--force", "-o", f"{name}.html", *more, name], check=True, stdout=subprocess.DEVNULL)
    return os.path.abspath(f"{name}.html")


def section(title):
    return f"[...document.querySelectorAll('section')].find(s => s.querySelector('h2')?.textContent === {title!r})"


KERNELS = section("Kernels")
VIEW = "document.querySelector('.view')"
STATUS = "document.querySelector('.status').textContent"


def window(browser):
    return [float(browser.value(f"{VIEW}.dataset.{end}")) for end in ("from", "to")]


def column(browser, title, name):
    """The texts of a column, as the reader sees them; the title may have a unit."""
    return browser.value(f"(() => {{ const t = {title}.querySelector('table.list');"
                         f"const i = [...t.tHead.rows[0].cells].findIndex(c => c.textContent.split(',')[0] === {name!r});"
                         "return [...t.tBodies[0].rows].filter(r => !r.hidden).map(r => r.cells[i].textContent); })()")


def check_tables(browser):
    header = f"[...{KERNELS}.querySelectorAll('thead button')].find(b => b.textContent.split(',')[0] === %r)"
    browser.click(header % "time")
    times = [float(text) for text in column(browser, KERNELS, "time")]
    check(len(times) > 3 and times == sorted(times, reverse=True), f"kernels by time: {times}")
    browser.click(header % "time")
    check([float(text) for text in column(browser, KERNELS, "time")] == sorted(times), "kernels by time, ascending")
    check(browser.value(f"{KERNELS}.querySelector('[aria-sort]').getAttribute('aria-sort')") == "ascending", "aria-sort")
    browser.click(header % "kernel")
    names = column(browser, KERNELS, "kernel")
    check(names == sorted(names, key=str.lower), f"kernels by name: {names}")
    browser.click(f"{KERNELS}.querySelector('input')")
    browser.type(names[0])
    left = column(browser, KERNELS, "kernel")
    check(0 < len(left) < len(names) and names[0] in left, f"filtered: {left}")


def check_signed(browser):
    """Differences of two runs, which have their signs, are sorted as numbers."""
    part = section("causes against three")
    browser.click(f"[...{part}.querySelectorAll('thead button')].find(b => b.textContent.split(',')[0] === 'differs')")
    numbers = [float(text) for text in column(browser, part, "differs")]
    check(len(numbers) > 3 and min(numbers) < 0 < max(numbers) and numbers == sorted(numbers, reverse=True), f"sorted: {numbers}")


def check_timeline(browser, ranks):
    events = int(browser.value(STATUS).split(" events")[0].replace(",", ""))
    check(events > 400 * ranks, f"events: {browser.value(STATUS)}")
    check(browser.value("document.querySelectorAll('.view > .row').length") == ranks, "rows of the timeline")
    check(browser.value("document.querySelector('details table.lines') !== null"), "the still picture is not kept")
    before = window(browser)
    browser.value(f"{VIEW}.focus()")
    browser.key("+", "+")
    after = window(browser)
    check(abs((after[1] - after[0]) * 2 - (before[1] - before[0])) < 1, f"zoomed from {before} to {after}")
    browser.key("ArrowRight")
    moved = window(browser)
    check(moved[0] > after[0] and abs((moved[1] - moved[0]) - (after[1] - after[0])) < 1, f"moved from {after} to {moved}")
    x, y = browser.place("document.querySelector('.view > .row canvas')")
    browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-100, modifiers=2)
    browser.settle()
    wheeled = window(browser)
    check(wheeled[1] - wheeled[0] < moved[1] - moved[0], f"the wheel: {moved} to {wheeled}")
    browser.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
    browser.mouse("mouseMoved", x - 60, y, button="left", buttons=1)
    browser.mouse("mouseReleased", x - 60, y, button="left", clickCount=1)
    browser.settle()
    check(window(browser)[0] > wheeled[0], f"dragged from {wheeled} to {window(browser)}")
    browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-100)
    browser.settle()
    check(window(browser)[1] - window(browser)[0] < wheeled[1] - wheeled[0], "the wheel does not zoom what was clicked")
    browser.value("document.activeElement.blur()")
    narrow = window(browser)
    browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-100)
    browser.settle()
    check(window(browser) == narrow, "the wheel zooms what was not clicked")
    x, y = browser.place("document.querySelector('.view > .row canvas')")
    browser.mouse("mouseMoved", x, y)
    for key, wider in (("s", 1), ("w", -1)):
        narrow = window(browser)
        browser.key(key, key)
        check((window(browser)[1] - window(browser)[0] - narrow[1] + narrow[0]) * wider > 0, f"{key} under the pointer")
    check_map(browser)
    folds = "document.querySelector('.view > .row button').getAttribute('aria-expanded')"
    check(browser.value(folds) == "true", "a rank is folded at the start")
    browser.click("document.querySelector('.view > .row button')")
    check(browser.value(folds) == "false", "a rank does not fold")
    browser.click("document.querySelector('.view > .row button')")


def check_map(browser):
    """A click in the overview brings the window there, dragging the window moves it, and the whole is never left."""
    wide = window(browser)[1] - window(browser)[0]
    place = "document.querySelector('canvas.map')"
    browser.click(place, 0.9)
    check(abs(window(browser)[1] - window(browser)[0] - wide) < 1, "a click in the overview zooms")
    late = window(browser)[0]
    browser.click(place, 0.1)
    check(window(browser)[0] < late, f"clicks in the overview: {window(browser)} after {late}")
    early = window(browser)
    x, y = browser.place(place, 0.1)
    browser.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
    browser.mouse("mouseMoved", x + 100, y, button="left", buttons=1)
    browser.mouse("mouseReleased", x + 100, y, button="left", clickCount=1)
    browser.settle()
    check(window(browser)[0] > early[0], f"the window of the overview: {early} to {window(browser)}")


def check_flame(browser):
    """A click on a box of the flame graph makes it as wide as the page, with what is in it; one on the uppermost shows all again."""
    boxes = "[...document.querySelectorAll('svg.flame svg.box')]"
    widths = f"{boxes}.map(b => b.style.display === 'none' ? 0 : parseFloat(b.getAttribute('width')))"
    before = browser.value(widths)
    wide = browser.value(f"{boxes}.filter(b => b.querySelector('text').getComputedTextLength() > b.getBoundingClientRect().width)"
                         ".map(b => b.querySelector('text').textContent)")
    check(not wide, f"the flame graph: names without room: {wide}")
    check(browser.value(f"{boxes}.some(b => /^c.+…$/.test(b.querySelector('text').textContent))"), "the flame graph: no name is shortened")
    chosen = next(i for i, wide in enumerate(before) if 5 < wide < 60)
    browser.click(f"{boxes}[{chosen}]")
    after = browser.value(widths)
    check(abs(after[chosen] - 100) < 0.01 and after.count(0) > 0, f"the flame graph: {before[chosen]}% became {after[chosen]}%")
    browser.click(f"{boxes}[0]")
    check(all(abs(a - b) < 0.01 for a, b in zip(before, browser.value(widths))), "the flame graph does not come back")


def exported_events(name, layer):
    """How many pieces of work of a layer the exported traces have."""
    subprocess.run([pmanalyze, "export", "--kineto", "-o", f"{name}.kineto", name], check=True, stdout=subprocess.DEVNULL)
    count = 0
    for file in os.listdir(f"{name}.kineto"):
        with gzip.open(f"{name}.kineto/{file}") as source:
            count += sum(event.get("cat") in ("kernel", "gpu_memcpy") and event["args"].get("layer") == layer
                         for event in json.load(source)["traceEvents"])
    return count


def check_search(browser, layer):
    search = "document.querySelector('.tools input[aria-label^=\"search events\"]')"
    browser.click(search)
    browser.type(f"layer:{layer}")
    count = int(browser.value(STATUS).split(" ")[0].replace(",", ""))
    with open("three.html", encoding="utf-8") as page:
        events = [event for rank in html_events.of_page(page.read()).values() for event in rank if event[5] == layer]
    check(count == len(events), f"search of {layer}: {browser.value(STATUS)}, not {len(events)}")
    device = sum(event[0] in ("compute", "communication", "copies") and event[3] != "wait" for event in events)
    check(device == exported_events("three", layer), f"the page has {device} pieces of work of {layer}")
    browser.key("Enter", "\r")
    check(layer in browser.value(STATUS), f"the next match: {browser.value(STATUS)}")
    browser.value(f"{VIEW}.focus()")
    browser.key("Enter", "\r")
    start, end = window(browser)
    # What is found and zoomed to is in the middle of the window: the pointer finds it there, in one of the lanes.
    lanes = int(browser.value("document.querySelectorAll('.view > .row')[0].querySelectorAll('.lanes span').length"))
    tip = ""
    for lane in range(lanes):
        x, y = browser.place("document.querySelector('.view > .row canvas')", 0.5, (lane + 0.5) / lanes)
        browser.mouse("mouseMoved", x, y)
        browser.settle()
        tip += browser.value("document.querySelector('.tip').hidden ? '' : document.querySelector('.tip').textContent")
    check(layer in tip and "starts at" in tip and start < end, f"the tip: {tip!r}")


def check_links(browser):
    item = "document.querySelector('li[data-layer]')"
    layer = browser.value(f"{item}.dataset.layer")
    buttons = f"[...{item}.querySelectorAll('button')].find(b => b.textContent === %r)"
    browser.click(buttons % "layer")
    check(browser.value("document.querySelector('tr.hit').dataset.layer") == layer, "the finding's layer")
    browser.click("document.querySelector('tr.hit button')")
    check(layer in browser.value(STATUS), f"from the layer to the timeline: {browser.value(STATUS)}")
    browser.value("window.scrollTo(0, 0)")
    browser.click(buttons % "timeline")
    status = browser.value(STATUS)
    check(layer in status and browser.value(f"{item}.dataset.rank") in status, f"from the finding to the timeline: {status}")
    check(browser.value(f"document.activeElement === {VIEW}"), "the timeline has not the keyboard")
    check_search_left = browser.value("document.querySelector('.tools input[aria-label^=\"search events\"]').value")
    check(check_search_left == f"layer:{layer}", f"searched: {check_search_left}")
    browser.value("document.querySelector('.tools input[aria-label^=\"search events\"]').value = ''")


def measure(browser, frames):
    os.mkdir("many")
    subprocess.run([make_trace, "many", "three", "10000"], check=True)
    browser.open(report("many", "--events", "1300000"))
    print(browser.value(STATUS).split(".")[0])
    browser.click("[...document.querySelectorAll('.tools button')].find(b => b.textContent === 'all')")
    times = []
    for frame in range(frames):
        browser.value(f"{VIEW}.focus()")
        browser.key("-+"[frame % 2], "-+"[frame % 2])
        times.append(float(browser.value(f"{VIEW}.dataset.frame")))
    times.sort()
    print(f"{frames} frames: median {times[len(times) // 2]} ms, longest {times[-1]} ms")


def main():
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not program:
        print("skipped: no Chromium is installed")
        return 77
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    browser = Browser(program, os.path.join(folder, "profile"))
    try:
        for name in ("three", "causes"):
            os.mkdir(name)
            subprocess.run([make_trace, name, name], check=True, stdout=subprocess.DEVNULL)
        if len(sys.argv) > 3:
            measure(browser, int(sys.argv[3]))
            return 0
        browser.open(report("three"))
        check_tables(browser)
        check_timeline(browser, 3)
        check_search(browser, "conv2")
        check_flame(browser)
        browser.open(report("causes"))
        check_links(browser)
        browser.open(report("causes", "three"))
        check_signed(browser)
        check(not browser.errors, f"errors in the script: {browser.errors}")
    finally:
        browser.close()
        shutil.rmtree(folder, ignore_errors=True)
    return failures != 0


sys.exit(main())
