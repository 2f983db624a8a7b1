#!/usr/bin/env python3
"""Which link is slow, of jobs (jobs.py) of which it is known: slow_links.py PRINT_LINKS PMANALYZE. Of summaries it is not
known, and they say so."""
import os
import subprocess
import sys
import tempfile

import jobs

NEAR = [[0, 1], [2, 3], [4, 5], [6, 7]]
FAR = [[0, 2], [1, 3], [4, 6], [5, 7]]
FARTHEST = [[0, 4], [1, 5], [2, 6], [3, 7]]
TWO_EACH = "A A B B C C D D".split()


def slow_if(is_slow):
    return lambda group: 900.0 if is_slow(group) else 300.0


# name, groups, their times, hosts, what is printed, ranks with a trace
CASES = [
    ("none", NEAR, lambda group: 300.0, [], "0", None),
    ("less than links differ by", NEAR, lambda group: 300.0 + 10 * group[0], [], "0", None),
    ("one pair, each rank in one", NEAR, slow_if(lambda group: group == [4, 5]), [], "1 pair 4 5 hosts 0", None),
    ("one pair of a mesh", NEAR + FAR, slow_if(lambda group: group == [4, 5]), [], "1 pair 4 5 hosts 0", None),
    ("one rank", NEAR + FAR, slow_if(lambda group: 5 in group), [], "2 rank 5 0 hosts 0", None),
    ("the same within hosts", NEAR + FAR, slow_if(lambda group: 5 in group), ["A"] * 4 + ["B"] * 4, "2 rank 5 0 hosts 1", None),
    ("all of a host", FAR + FARTHEST, slow_if(lambda group: max(group) > 5), TWO_EACH, "4 host 6 0 hosts 2", None),
    ("the same, hosts unknown", FAR + FARTHEST, slow_if(lambda group: max(group) > 5), [], "4 unknown 0 0 hosts 0", None),
    ("two pairs", NEAR, slow_if(lambda group: group[0] in (2, 4)), [], "2 unknown 0 0 hosts 0", None),
    ("a slow dimension of the mesh is how it is built", NEAR + FARTHEST, slow_if(lambda group: group[1] - group[0] == 4), [], "0", None),
    ("groups of four", [[0, 1, 2, 3], [4, 5, 6, 7]], slow_if(lambda group: 4 in group), [], "1 unknown 0 0 hosts 0", None),
    ("a rank of the slow pair has no trace", NEAR, slow_if(lambda group: group == [4, 5]), [], "0", [0, 1, 2, 3, 4, 6, 7]),
]


def judge(case, folder):
    name, groups, times, hosts, expected, only = case
    jobs.write(folder, ranks=8, steps=6, groups=groups, group_time=times, only=only)
    printed = subprocess.run([sys.argv[1], folder] + hosts, capture_output=True, check=True, text=True).stdout.strip()
    return [] if printed == expected else [f"{name}: {printed}, expected {expected}"]


def judge_summaries(folder):
    """Of a pair with a slow link: no cause is named, and links are among what summaries do not have."""
    jobs.write(folder, ranks=8, groups=NEAR, network=lambda step: 100.0, group_time=slow_if(lambda group: group == [4, 5]))
    summary = os.path.join(folder, "all.pmsum")
    subprocess.run([sys.argv[2], "reduce", "-o", summary, folder], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    report = subprocess.run([sys.argv[2], "report", summary], capture_output=True, check=True, text=True)
    text = " ".join(report.stdout.split())
    wanted = ["Straggler rank 4: cause not identified", "what calls or slow links do is not in summaries. Weak: ",
              "what outliers have that others have not, slow links, stages"]
    return [f"summaries: no \"{words}\" in {text}" for words in wanted if words not in text]


def main():
    wrong = []
    with tempfile.TemporaryDirectory() as scratch:
        wrong += judge_summaries(os.path.join(scratch, "summaries"))
        for number, case in enumerate(CASES):
            wrong += judge(case, os.path.join(scratch, str(number)))
    print("\n".join(wrong + [f"{len(CASES)} jobs, {len(wrong)} wrong"]))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
