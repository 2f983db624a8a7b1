#!/bin/sh
# A trainer that was linked against the vendor's libraries runs on softgpu by library path alone, with and without the hook,
# and prints what the trainer linked against softgpu prints.
set -eu
. "$SOURCE/tests/preload.sh"
export LD_LIBRARY_PATH="$BUILD/softgpu" PMHOOK_OUT="$SCRATCH"
"$BUILD/bin/mkdata" --dataset mnist --out data --train 300 --test 50
options="--data data --batch 32 --iterations 4 --print 1 --optimizer adam --gpus 2"
# shellcheck disable=SC2086
{
	"$BUILD/bin/train_cnn" $options >own
	"$BUILD/bin/foreign_train_cnn" $options >foreign
	with_hook "$BUILD/bin/foreign_train_cnn" $options >hooked
}
[ -s own ]
cmp own foreign
cmp own hooked
[ "$(find . -name '*.pmtrace' | wc -l)" = 1 ]
