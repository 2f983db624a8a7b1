#!/bin/sh
# Phase and layer by program, version of PyTorch and modelled GPU (framework_matrix.py), as docs/accuracy.md has it. PM_TORCH and PM_TORCH_OLDER
# as in tests/pytorch/find_torch.sh; both versions are run on both GPUs. OUT (a folder) keeps the cells, so that what was interrupted goes on;
# without it nothing is kept. LIST: other programs than those of framework_matrix.txt, such as those of public_programs.sh.
#
#     [OUT=FOLDER] [LIST=FILE] tests/bench/framework_matrix.sh BUILD [--gpu GPU] [--only NAME] [--kind KIND] [--pairs] [--again] [--keep] [--table] [--hold]
set -eu
build=$(cd "${1:?usage: framework_matrix.sh BUILD [OPTION]...}" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
SOURCE=$(cd "$here/../.." && pwd)
version() { "$1" -c 'import importlib.metadata; print(".".join(importlib.metadata.version("torch").split(".")[:2]))'; }

. "$here/../pytorch/find_torch.sh"
newest=$PYTHON
OLDER=1
. "$here/../pytorch/find_torch.sh"
[ "$PYTHON" = "$newest" ] || set -- --torch "$(version "$PYTHON")=$PYTHON" "$@"
out=${OUT:-}
[ -n "$out" ] || { out=$(mktemp -d) && trap 'rm -rf "$out"' EXIT; }
"$newest" "$here/framework_matrix.py" "$build" "${LIST:-$here/framework_matrix.txt}" "$out" --torch "$(version "$newest")=$newest" "$@"
