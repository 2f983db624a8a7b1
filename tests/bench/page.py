"""What the HTML report of a run takes to be made, opened and drawn: see page.sh. page.py PMANALYZE RUN [PAGE]...
With PAGEs, pages made before are opened in turns with it, to compare."""
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "analyzer"))
import browser as chromium  # noqa: E402

TIMES, FRAMES = 7, 40
VIEW = "document.querySelector('.view')"


def make(pmanalyze, run, page):
    """(wall, processors) in s"""
    begin, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([pmanalyze, "html", "--force", "-o", page, run], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - begin, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def opened(browser, page):
    """(wall, of it Chromium's main thread) in s, until two frames after load"""
    begin = time.monotonic()
    browser.open(os.path.abspath(page))
    return time.monotonic() - begin, browser.busy()


def frames(browser, page):
    browser.open(os.path.abspath(page))
    browser.click("[...document.querySelectorAll('.tools button')].find(b => b.textContent === 'all')")
    times = []
    for frame in range(FRAMES):
        browser.value(f"{VIEW}.focus()")
        browser.key("-+"[frame % 2], "-+"[frame % 2])
        times.append(float(browser.value(f"{VIEW}.dataset.frame")))
    return statistics.median(times), max(times)


def main():
    pmanalyze, run, *others = sys.argv[1:]
    program = chromium.find()
    if not program:
        print("no Chromium is installed")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        page, blank = os.path.join(folder, "page.html"), os.path.join(folder, "blank.html")
        with open(blank, "w", encoding="ascii") as file:
            file.write("<!DOCTYPE html><html><body>blank</body></html>")
        made = [make(pmanalyze, run, page) for _ in range(TIMES)]
        wall, work = (statistics.median(column) for column in zip(*made))
        print(f"made: {wall:.2f} s wall, {work:.2f} s of processors, {os.path.getsize(page) / 1e6:.1f} MB")
        browser = chromium.Browser(program, os.path.join(folder, "profile"))
        pages = [blank, page, *others]
        times = {name: [] for name in pages}
        for _ in range(TIMES):
            for name in pages:
                times[name].append(opened(browser, name))
        blank_wall, _ = (statistics.median(column) for column in zip(*times[blank]))
        for name in pages[1:]:
            wall, busy = (statistics.median(column) for column in zip(*times[name]))
            print(f"opened: {wall - blank_wall:.2f} s beyond a blank page's {blank_wall:.2f} s, main thread {busy:.2f} s: {os.path.basename(name)}")
        print("frame, zooming: median {:.1f} ms, longest {:.1f} ms".format(*frames(browser, page)))
        browser.close()
    return 0


sys.exit(main())
