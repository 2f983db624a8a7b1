#!/bin/sh
# The HTML report of a long run of many ranks: what pmanalyze takes to make it, and Chromium to open it beyond a blank page;
# medians of seven, blank page and report in turns. Then how long the script takes for a frame, zooming. The run is trained here,
# on softgpu. Needs python3 and a Chromium.
#
#     tests/bench/page.sh BUILD [RANKS [ITERATIONS]]
set -eu
build=$(cd "${1:?usage: page.sh BUILD [RANKS [ITERATIONS]]}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
"$build/bin/pmrun" -q -n "${2-16}" -o run --softgpu=v100 -- "$build/bin/train_cnn" --synthetic --batch 64 --iterations "${3-775}" --print 0 >/dev/null
echo "${2-16} ranks, ${3-775} iterations, traces of $(du -m run | cut -f 1) MB; processors: $(nproc), load: $(cut -d ' ' -f 1 /proc/loadavg)"
python3 "$here/page.py" "$build/bin/pmanalyze" run
