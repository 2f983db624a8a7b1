#!/bin/sh
# pmanalyze snap --slower on a live run of constant size: a rank is stopped for a while; the copy has that iteration whole.
set -eu
bin=$BUILD/bin

. "$SOURCE/tests/complain.sh"

# RUN EPOCHS
train() {
	PMHOOK_MODE=ring PMHOOK_RING_MB=64 exec "$bin/pmrun" -q -n 2 -o "$1" --softgpu=a100 -- \
		"$bin/train_mlp" --synthetic --batch 512 --epochs "$2" --print 0 >ranks 2>&1
}

# RUN: the longest used iteration, in ms
longest() {
	"$bin/pmanalyze" report --iterations --csv "$1" 2>/dev/null | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i }
		NR > 1 && $column["kind"] == "used" { ms = ($column["end_ns"] - $column["start_ns"]) / 1e6; if (ms > most) most = ms }
		END { printf "%d", most }'
}

iterations() {
	"$bin/pmanalyze" top --once --json "$1" 2>/dev/null | sed -n 's/^\t"iterations":\t\([0-9]*\).*/\1/p'
}

(train ended 1)
"$bin/pmanalyze" snap --slower 100000 -o none ended >said || complain "of a run that has ended: $?"
grep -qx 'no iteration took 100000 times the median' said || complain "of a run that has ended: $(cat said)"

train run 1000000 &
run=$!
trap 'kill $run $snap 2>/dev/null; wait' EXIT
snap=
until [ "$(iterations run)" -gt 500 ] 2>/dev/null; do
	kill -0 $run || { cat ranks && exit 1; }
done
pid=$("$bin/pmanalyze" dump --json run/train_mlp.1.pmtrace | sed -n 's/^\t"pid":\t\([0-9]*\).*/\1/p')
"$bin/pmanalyze" snap --slower 20 --every 0.2 --copies 1 -o slow run >said 2>snap.err &
snap=$!
kill -STOP "$pid"
sleep 0.6
kill -CONT "$pid"
until grep -Eq 'took ([6-9][0-9]{2}|[0-9]{4,})\.' said; do
	kill -0 $snap || { cat said snap.err && exit 1; }
	sleep 0.1
done
copy=$(sed -n 's/: rank [01] took \([6-9][0-9]\{2\}\|[0-9]\{4,\}\)\.[0-9] ms, [0-9.]* times the median$//p' said | head -n 1)
[ -n "$copy" ] && [ "$(longest "$copy")" -ge 600 ] || complain "'$copy' does not have the iteration: $(cat said)"
exit $bad
