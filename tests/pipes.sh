#!/bin/sh
# A pipe, which has no writer, in the place of a file is not waited for: each command says that it is no regular file.
set -eu
pmanalyze=$BUILD/bin/pmanalyze
bad=0
rows=0

# refuses PATH COMMAND...
refuses() {
	path=$1
	shift
	status=0
	rows=$((rows + 1))
	timeout 20 "$pmanalyze" "$@" >out 2>err </dev/null || status=$?
	[ $status = 1 ] && grep -q "$path: not a regular file" err || {
		echo "not ok: $*: exit status $status: $(head -n 3 err)"
		bad=1
	}
}

mkdir own sums json pipeline sqlite made
mkfifo own/x.0.pmtrace sums/x.0.pmsum json/x.json sqlite/x.sqlite pipeline/config.json other
for command in report hang top metrics 'html -o x.html' layers kernels comm balance path whatif roofline model 'compare own' \
	'snap -o copies' reduce 'export --perfetto'; do
	# shellcheck disable=SC2086
	refuses own/x.0.pmtrace $command own
	# shellcheck disable=SC2086
	refuses own/x.0.pmtrace $command own/x.0.pmtrace
done
refuses own/x.0.pmtrace dump own/x.0.pmtrace
refuses sums/x.0.pmsum report sums
for command in report window arrivals slowdown; do
	refuses json/x.json $command json
	refuses sqlite/x.sqlite $command sqlite
	refuses pipeline/config.json $command pipeline
	refuses other $command other
done
# a pipe beside traces is one that cannot be read, and one for the stage of a pipeline, too
"$BUILD/bin/make_trace" made three || exit 1
mkfifo made/x.9.pmtrace made/pmanalyze.iterations
timeout 20 "$pmanalyze" report made >out 2>err || { echo "not ok: beside traces: $(head -n 3 err)" && bad=1; }
grep -q 'x.9.pmtrace: not a regular file' out err || { echo "not ok: beside traces: it is not said: $(cat err)" && bad=1; }
rm pipeline/config.json
echo '{"pp_size": 1}' >pipeline/config.json
mkfifo pipeline/pp_rank_0.json
refuses pipeline/pp_rank_0.json slowdown pipeline
[ "$rows" -ge 50 ] || { echo "not ok: $rows rows" && bad=1; }
exit $bad
