#!/bin/sh
# The small programs of small/ on modelled GPUs: the shares of device time with phase and layer right are checked against the limits of
# tests/bench/framework_matrix.txt, where a program has some. Two PyTorchs, each on its GPU, where there is an older one (find_torch.sh).
# Arguments: names of programs, which may be others of that list (all small ones).
set -eu
. "$SOURCE/tests/pytorch/find_torch.sh"
# shellcheck disable=SC2046
[ $# -gt 0 ] ||
	set -- $(sed -n 's/^\([a-z0-9_]*\);.*; small\/.*=.*/\1/p' "$SOURCE/tests/bench/framework_matrix.txt")
only=
for program; do only="$only --only $program"; done
# shellcheck disable=SC2086
sh "$SOURCE/tests/bench/framework_matrix.sh" "$BUILD" --pairs --hold $only
