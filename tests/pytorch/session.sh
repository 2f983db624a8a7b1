#!/bin/sh
# The session of docs/pytorch.md: its commands, run as they stand there, print what stands there, numbers and line breaks aside.
# PM_TORCH as in find_torch.sh; it has to have torchrun and torchvision.
set -eu
. "$SOURCE/tests/pytorch/find_torch.sh"
export PATH="$BUILD/bin:$(dirname "$PYTHON"):$PATH" PYTHONDONTWRITEBYTECODE=1 LC_ALL=C.UTF-8
command -v torchrun >/dev/null || { echo "no torchrun beside $PYTHON" && exit 77; }
ln -s "$SOURCE/tests" tests

# Numbers say how fast the machine is; that of the slow rank and its factor do not, and are checked apart.
mask() {
	tr -s '\n ' '  ' | sed 's/ on [^ ,]*, / on HOST, /; s/-\{0,1\}[0-9][0-9.]*/N/g; s/ N [mu]s/ N UNIT/g'
}

awk '/^[^ ]/ { on = 0 } /^    [$] / { on = 1 } on && /^    / { print substr($0, 5) }' "$SOURCE/docs/pytorch.md" >session
sed -n 's/^\$ //p' session >commands
grep -v '^\$ ' session >expected
[ -s expected ] && [ -s commands ] || { echo "not ok: no session in docs/pytorch.md" && exit 1; }
# what the ranks print is not the session's
sed '/^pmrun /s/$/ >ranks 2>\&1/' commands >script
sh -e ./script >output || { echo "not ok: a command failed; the ranks' last words: $(tail -n 3 ranks)" && exit 1; }
grep -q 'Straggler rank 5: slower throughout' output && grep -q '1\.50×' output || {
	echo "not ok: the slow rank is not found"
	cat output
	exit 1
}
# a thread of a process that ends may still make a call when the trace has been closed
sed -i '/^Lost in .* records (.*closed at$/,/without them\.$/d' output
mask <expected >expected.masked
mask <output >output.masked
cmp -s expected.masked output.masked || { echo "not ok: the session prints something else:" && cat output && exit 1; }
