#!/bin/sh
# The page's program, compiled as it stands there by a plain compiler (and its header by a C++ one, if there is any), finds
# what its data were made from.
set -eu
sed -n '/^```c$/,/^```$/p' "$SOURCE/docs/libpmfit.md" | grep -v '^```' >example.c
"$CC" -std=c11 -Wall -Wextra -Werror ${PM_SANITIZE:+-fsanitize=$PM_SANITIZE} -I"$SOURCE/fitter" example.c "$BUILD/fitter/libfitter.a" \
	-lcjson -lpthread -lm -o example
./example | tee output
grep -q '^p batch 1.000$' output
grep -q '^q gpus -1.000$' output
grep -q '^C 0.500$' output
grep -q '^first: measured 2.900, predicted 2.900$' output
[ -s model.json ]
echo '#include "pm_fit.h"' >header.cc
! command -v c++ >/dev/null || c++ -Wall -Wextra -Werror -I"$SOURCE/fitter" -fsyntax-only header.cc
