#!/usr/bin/env python3
"""The HTML report as one works with it: html_click.py PMANALYZE MAKE_TRACE. A headless Chromium opens reports of made-up runs;
clicks, keys and the wheel go through the browser's own input. Tables sort as their numbers say and filter; the timeline has as
many events of a layer as the exported traces, zooms, pans, folds, searches and tells what is under the pointer; a finding leads
to its layer and to the timeline. The still picture is parsed when it is unfolded. Exits with 77 where there is no Chromium.
"""
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile

import browser as chromium
import html_events

pmanalyze, make_trace = (os.path.abspath(path) for path in sys.argv[1:3])
failures = 0


def check(holds, what):
    global failures
    if not holds:
        failures += 1
        print(what)


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
    still = f"{VIEW}.parentElement.querySelectorAll('details table.lines .rule').length"
    check(browser.value(still) == 0, "the still picture is parsed before it is asked for")
    browser.click(f"{VIEW}.parentElement.querySelector('summary')")
    check(browser.value(still) == ranks, "the still picture is not kept")
    browser.click(f"{VIEW}.parentElement.querySelector('summary')")
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


def check_ranges(browser):
    """A range has the colour that it was pushed with, text on it that can be read, and its domain under the pointer; others keep theirs."""
    row = "document.querySelector('.view > .row')"
    browser.place(row)  # what is not in sight is not drawn
    browser.settle()
    lanes = int(browser.value(f"{row}.querySelectorAll('.lanes span').length"))
    lane = (f"(() => {{ const c = {row}.querySelector('canvas'), p = c.getContext('2d').getImageData(0, c.height * (%d + 0.5) / {lanes}, c.width, 1).data;"
            "return Array.from({length: c.width}, (_, i) => [...p.slice(4 * i, 4 * i + 3)].join()); })()")
    first, second = (browser.value(lane % number) for number in (0, 1))
    check(first.count("75,0,130") > len(first) // 2, f"the colour of a range: {sorted(set(first), key=first.count)[-3:]}")
    lightest = max(min(map(int, pixel.split(","))) for pixel in first)
    check(lightest > 150, f"the text on a dark range is not light: {lightest} of 255")
    check("75,0,130" not in second, "a range without a colour has another's")
    x, y = browser.place(f"{row}.querySelector('canvas')", 0.5, 0.5 / lanes)
    browser.mouse("mouseMoved", x, y)
    browser.settle()
    tip = browser.value("document.querySelector('.tip').textContent")
    check(tip.startswith("step\nrange, domain train\n"), f"the tip of a range: {tip!r}")
    browser.click("document.querySelector('.tools input[aria-label^=\"search events\"]')")
    browser.type("train")
    with open("ranges.html", encoding="utf-8") as page:
        ranges = sum(event[0] == "ranges" for rank in html_events.of_page(page.read()).values() for event in rank)
    check(ranges >= 2 and browser.value(STATUS).startswith(f"{ranges} events match"), f"{ranges} ranges of a domain: {browser.value(STATUS)}")


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


def main():
    program = chromium.find()
    if not program:
        print("skipped: no Chromium is installed")
        return 77
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    browser = chromium.Browser(program, os.path.join(folder, "profile"))
    try:
        for name in ("three", "causes", "ranges"):
            os.mkdir(name)
            subprocess.run([make_trace, name, name], check=True, stdout=subprocess.DEVNULL)
        browser.open(report("three"))
        check_tables(browser)
        check_timeline(browser, 3)
        check_search(browser, "conv2")
        check_flame(browser)
        browser.open(report("ranges"))
        check_ranges(browser)
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
