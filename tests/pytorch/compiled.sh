#!/bin/sh
# Programs that torch.compile compiles, held against their limits in tests/bench/framework_matrix.txt (small.sh). Inductor's kernels want
# Triton in each PyTorch that find_torch.sh names.
set -eu
. "$SOURCE/tests/pytorch/find_torch.sh"
"$PYTHON" -c 'import triton' 2>/dev/null || { echo "$PYTHON has no Triton" && exit 77; }
OLDER=1
. "$SOURCE/tests/pytorch/find_torch.sh"
"$PYTHON" -c 'import triton' 2>/dev/null || { echo "$PYTHON has no Triton" && exit 77; }
unset OLDER
exec sh "$SOURCE/tests/pytorch/small.sh" compile compile_mlp compile_resnet compile_amp compile_evaluate compile_graphs
