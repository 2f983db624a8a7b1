#!/bin/sh
# Phase and layer of JAX's programs by version and modelled GPU (jax_matrix.py), as docs/accuracy.md has it. PM_JAX and PM_JAX_OLDER name a virtual
# environment each, with JAX, its CUDA plugin, flax and optax. OUT (a folder) keeps the cells, so that what was interrupted goes on.
#
#     PM_JAX=VENV [PM_JAX_OLDER=VENV] [OUT=FOLDER] tests/bench/jax_matrix.sh BUILD [--gpu GPU] [--only NAME] [--again] [--table] [--hold]
set -eu
build=$(cd "${1:?usage: jax_matrix.sh BUILD [OPTION]...}" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
out=${OUT:-}
[ -n "$out" ] || { out=$(mktemp -d) && trap 'rm -rf "$out"' EXIT; }
for venv in "${PM_JAX_OLDER:-}" "${PM_JAX:?names a virtual environment with JAX}"; do
	[ -n "$venv" ] || continue
	python=$venv/bin/python
	version=$("$python" -c 'import importlib.metadata; print(importlib.metadata.version("jax"))')
	set -- --jax "$version=$python" "$@"
done
python3 "$here/jax_matrix.py" "$build" "$out" "$@"
