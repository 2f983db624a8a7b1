# To be sourced: PYTHON, a Python that has torch, and TORCH, torch's folder; exits with 77 where there is none. PM_TORCH names a virtual
# environment or a Python; otherwise it is python3. A test for which an older PyTorch will do sets OLDER=1 before: it takes that of PM_TORCH_OLDER,
# where there is one, so that two versions on two GPUs are tested in the time of one. GPU: the modelled GPU.
PYTHON=${PM_TORCH:-python3} GPU=a100
[ -z "${OLDER:-}" ] || [ -z "${PM_TORCH_OLDER:-}" ] || { PYTHON=$PM_TORCH_OLDER && GPU=h200; }
[ ! -d "$PYTHON" ] || PYTHON=$PYTHON/bin/python
TORCH=$("$PYTHON" -c 'import importlib.util, os
found = importlib.util.find_spec("torch")
print(os.path.dirname(found.origin) if found and found.origin else "")' 2>/dev/null) || TORCH=
[ -n "$TORCH" ] || { echo "$PYTHON has no torch: PM_TORCH names a virtual environment that has it" && exit 77; }
[ -e "$TORCH/lib/libtorch_cuda.so" ] || { echo "the torch of $PYTHON is built without CUDA" && exit 77; }
export PYTHONPATH="$SOURCE/tests/pytorch/at_exit${PYTHONPATH:+:$PYTHONPATH}"
