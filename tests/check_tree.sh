#!/bin/sh
# What must agree in the tree does: who includes whom, headers that stand alone, the hook's exports against the table, what
# the hook needs at run time.
set -eu
cd "$SOURCE"
. "$SOURCE/tests/complain.sh"

python3 tests/check_layers.py . >"$SCRATCH/layers" || complain "$(cat "$SCRATCH/layers")"

# The trainers know nothing of the profiler.
if grep -il 'pmhook\|pm_format\|pm_hooks\|PMHOOK' testapps/trainers/*; then
	complain "a trainer names the profiler"
fi

# Every header compiles alone.
find preload analyzer fitter -name '*.h' | sort >"$SCRATCH/headers"
while read -r header; do
	"$CC" -std=gnu11 -D_GNU_SOURCE -fsyntax-only -x c -Ipreload -I"${header%%/*}" -Ianalyzer "$header" 2>"$SCRATCH/errors" ||
		complain "$header does not compile alone: $(head -n 3 "$SCRATCH/errors")"
done <"$SCRATCH/headers"

# The fitter's interface is C++ as well, where the compiler has a C++ part.
if echo | "$CC" -x c++ -fsyntax-only - 2>/dev/null; then
	"$CC" -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c++ fitter/pm_fit.h 2>"$SCRATCH/errors" ||
		complain "fitter/pm_fit.h is no C++: $(head -n 3 "$SCRATCH/errors")"
fi

# The library exports the table's functions, the name by which two copies know each other, the function for notes, NVTX's, and nothing else.
nm -D --defined-only "$HOOK" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | grep -v '^__\(a\|t\|ub\)san\|^__odr_asan\|^_\(init\|fini\)$' | sort >"$SCRATCH/exports"
{ "$BUILD/bin/pmrun" --hooks | awk '{ print $3 }' && printf '%s\n' pmhook_is_here pmhook_note InitializeInjectionNvtx2; } | sort >"$SCRATCH/table"
diff "$SCRATCH/table" "$SCRATCH/exports" || complain "the exports are not the table"

# What functions do is in their rows.
python3 tests/check_names.py . "$SCRATCH/table" >"$SCRATCH/names" || complain "$(cat "$SCRATCH/names")"

# libc alone at run time.
if [ -z "$PM_SANITIZE" ]; then
	needed=$(readelf -d "$HOOK" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | tr '\n' ' ')
	case $needed in
	"libc.so.6 " | "libc.so.6 ld-linux-x86-64.so.2 ") ;;
	*) complain "the library needs $needed" ;;
	esac
fi
exit $bad
