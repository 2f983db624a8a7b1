#!/bin/sh
# The hook table against what the vendor's libraries export: every row is a symbol of its library, and every symbol is a row, a question
# that need not be intercepted (PM_NOT_HOOKED), or listed with a reason in not_hooked.txt.
set -eu
bad=0
"$BUILD/bin/pmrun" --hooks | awk '{ print $1, $3 }' | sort >"$SCRATCH/rows"
sed -n 's/^PM_NOT_HOOKED(\([a-z]*\), .*/\1 &/p' "$SOURCE/preload/pm_hooks.def" | sed 's/ PM_NOT_HOOKED([a-z]*, [a-zA-Z_ *]*, */ /; s/,.*//' |
	sort >"$SCRATCH/plain"
for library in cudart cuda cudnn cublas cublaslt nccl; do
	case $library in
	cuda) file=$VENDOR/stubs/libcuda.so ;;
	cublaslt) file=$VENDOR/libcublasLt.so ;;
	*) file=$VENDOR/lib$library.so ;;
	esac
	[ -e "$file" ] || { echo "no $file" && exit 77; }
	# the stub has no old names that are only looked up
	nm -D --defined-only "$file" | awk '$2 ~ /[TWi]/ { sub(/@.*/, "", $3); print $3 }' | grep -v '^_\(init\|fini\)$' | sort -u >"$SCRATCH/exports"
	awk -v library=$library '$1 == library { print $2 }' "$SCRATCH/rows" | sort >"$SCRATCH/hooked"
	comm -23 "$SCRATCH/hooked" "$SCRATCH/exports" >"$SCRATCH/unknown"
	if [ -s "$SCRATCH/unknown" ]; then
		echo "not ok: rows that $file does not export: $(tr '\n' ' ' <"$SCRATCH/unknown")"
		bad=1
	fi
	awk -v library=$library '$1 == library { print $2 }' "$SCRATCH/plain" | sort - "$SCRATCH/hooked" >"$SCRATCH/known"
	awk -F'\t' -v library=$library '$1 == library { print "^(" $2 ")$" }' "$SOURCE/tests/not_hooked.txt" >"$SCRATCH/patterns"
	comm -13 "$SCRATCH/known" "$SCRATCH/exports" | grep -Evf "$SCRATCH/patterns" >"$SCRATCH/left" || true
	if [ -s "$SCRATCH/left" ]; then
		echo "not ok: exports of $library neither intercepted nor excused: $(tr '\n' ' ' <"$SCRATCH/left")"
		bad=1
	fi
	echo "$library: $(wc -l <"$SCRATCH/exports") exports, $(wc -l <"$SCRATCH/hooked") intercepted"
done
exit $bad
