"""What must hold of how any finding is stated: walk.walk(PMANALYZE, RUN) answers the sentences that break it.

A percentage says of what, and that of the title is the gain of the mean step in text, JSON and HTML; a sentence has medians or means, not
both; what `whatif` predicts is no more than the findings about that change say, or it says why; the time that a rank waits in an exchange is
no layer's, but in the column of its own, and all of it.
"""
import json
import os
import re
import subprocess
import tempfile

OF = re.compile(r"%(?! of [a-z]| of (?:its|theirs|it)\b)")  # a percentage that does not say of what
ALLOWED = re.compile(r"confidence \d+%|\d+% or more")
ENTITIES = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&amp;": "&"}


def run(pmanalyze, *arguments):
    result = subprocess.run([pmanalyze, *arguments], capture_output=True, check=False)
    return result.stdout.decode(errors="replace")


def one_line(text):
    return " ".join(text.split())


def page_of(pmanalyze, path):
    """The HTML page as its reader has it: a module html is not to be had in this folder, which has a test of that name."""
    with tempfile.TemporaryDirectory() as place:
        target = os.path.join(place, "page.html")
        run(pmanalyze, "html", "-o", target, path)
        with open(target, encoding="utf-8") as file:
            text = re.sub(r"<[^>]*>", "", file.read())
    for entity, letter in ENTITIES.items():
        text = text.replace(entity, letter)
    return one_line(text)


def sentences(text):
    return re.split(r"(?<=[a-z0-9)%])[.;:] ", text)


def check_words(finding):
    wrong = []
    for part in ("title", "text", "basis", "advice"):
        for sentence in sentences(finding[part]):
            words = sentence.lower()
            if OF.search(ALLOWED.sub("", sentence)):
                wrong.append(f"a percentage of nothing: {sentence}")
            if "median" in words and re.search(r"\bmeans?\b|average", words):
                wrong.append(f"a median and a mean: {sentence}")
    return wrong


def check_titles(report, text, page):
    """Of a mean step, or of the whole recording where no iterations are known."""
    of, each = ("the recording", "of the recording") if "% of the recording" in text else ("the mean step", "a step")
    stated = f"% of {of}" in text and f"of findings are of {of}" in page
    wrong = [] if stated else ["nothing says of what percentages are"]
    for number, finding in enumerate(report["findings"]):
        if finding["gain_ns"] is None:
            continue
        share = 100 * finding["gain_ns"] / report["step"]["mean_ns"]
        said = re.escape(finding["title"]) + rf": at most [\d.]+ [a-z]+ {each} \({share:.1f}%\)"
        if number < 3 and not re.search(rf"{number + 1}\. {said}\. ", text):
            wrong.append(f"report has no {said}")
        if number < 6 and not re.search(said, page):
            wrong.append(f"html has no {said}")
    return wrong


def check_changes(whatif):
    wrong = []
    for job in whatif.get("runs", []):
        for change in job.get("changes", []):
            if change["kind"] in ("layer", "several"):
                continue
            more = change["gain_ns"] - change["found_ns"]
            if (more > 0.01 * job["step"]["mean_ns"]) != bool(change.get("why_more")):
                wrong.append(f"whatif: {change['what']}: {more:.0f} ns more than findings {change['findings']}: {change.get('why_more')}")
            numbers = [int(number) for number in change["findings"].split(",") if number]
            if abs(sum(job["findings"][number - 1]["gain_ns"] for number in numbers) - change["found_ns"]) > 1:
                wrong.append(f"whatif: {change['what']}: findings {numbers} say {change['found_ns']}")
    return wrong


def check_waiting(layers, report):
    """Each exchange's time is a layer's, or of none, or waiting: together they are the report's."""
    waits, busy = report.get("communication_wait_ns"), {row["phase"]: row["busy_ns"] for row in report["phases"]}.get("communication")
    if waits is None or busy is None or "layers" not in layers:
        return []
    rows = layers["layers"] + [layers["no_layer"]]
    sums = [sum(row[key] or 0 for row in rows) for key in ("wait_ns", "communication_ns")]
    if sum(sums) > 1.01 * busy:  # exchanges at the same time, as of a pipeline's two directions
        return []
    if abs(sums[0] - waits) > 0.01 * waits + 1 or abs(sum(sums) - busy) > 0.01 * busy + 1:
        return [f"layers wait {sums[0]:.0f} ns and exchange {sums[1]:.0f} ns, the report {waits:.0f} ns of {busy:.0f} ns"]
    return []


def walk(pmanalyze, path):
    report = json.loads(run(pmanalyze, "report", "--json", path) or "{}")
    if "findings" not in report:  # no iteration that figures could be of
        return []
    text, page = one_line(run(pmanalyze, "report", path)), page_of(pmanalyze, path)
    wrong = []
    for finding in report["findings"]:
        wrong += check_words(finding)
    wrong += check_titles(report, text, page) + check_changes(json.loads(run(pmanalyze, "whatif", "--json", path) or "{}"))
    wrong += check_waiting(json.loads(run(pmanalyze, "layers", "--json", path) or "{}"), report)
    if re.search(r"Equation \(3\.\d\)[^)]*\+\d", text):
        wrong.append("the equation has a percentage of itself")
    return [f"{path}: {sentence}" for sentence in wrong]
