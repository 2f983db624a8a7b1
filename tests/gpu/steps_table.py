"""The table of steps.tsv (steps.sh): medians of a step in ms, and what each mode adds to `nothing`."""
import collections
import statistics
import sys


def main():
    times = collections.defaultdict(lambda: collections.defaultdict(list))
    modes = []
    for line in open(sys.argv[1]):
        program, mode, _, ms = line.split("\t")
        times[program][mode].append(float(ms))
        if mode not in modes:
            modes.append(mode)
    modes.sort(key=lambda mode: mode != "nothing")
    print("%-14s" % "ms a step" + "".join("%20s" % mode for mode in modes))
    for program, of_mode in times.items():
        row = "%-14s" % program
        nothing = statistics.median(of_mode["nothing"]) if of_mode["nothing"] else None
        for mode in modes:
            if not of_mode[mode]:
                row += "%20s" % "-"
                continue
            ms = statistics.median(of_mode[mode])
            added = "" if mode == "nothing" or not nothing else " (%+.1f%%)" % ((ms / nothing - 1) * 100)
            row += "%20s" % ("%.3f%s" % (ms, added))
        print(row)
    print("least to greatest of the rounds:")
    for program, of_mode in times.items():
        print("%-14s" % program + "".join(
            "%20s" % ("%.3f..%.3f" % (min(of_mode[mode]), max(of_mode[mode])) if of_mode[mode] else "-") for mode in modes))


if __name__ == "__main__":
    main()
