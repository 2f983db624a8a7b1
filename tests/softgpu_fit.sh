#!/bin/sh
# softgpu_fit finds the curve that made a table: the times of the H200's products in 16 bits, as softgpu_fit itself says how far they are from
# a table of zeros' neighbours, are fitted again from another seed, and are met within some percent. And what it says of bad tables.
set -u
export PATH="$BUILD/bin:$PATH" LC_ALL=C
. "$SOURCE/tests/complain.sh"
says() { # what is expected on stderr, and the call
	wanted=$1
	shift
	"$@" >out 2>err && complain "$*: no error"
	grep -q -e "$wanted" err || complain "$*: $(cat err)"
}

# A device on which a product takes what its operations need at half of 1000 TFLOPS, and 3 us.
awk -F'  *' '/^fp16_tflops/ { print "fp16_tflops 1000"; next } /^(curves|near) / { next } { print }' \
	"$SOURCE/testapps/softgpu/profiles/h200.profile" >own.profile
awk 'BEGIN { srand(7); print "kind,shape,dtype,layout,flop,bytes,median_us,min_us,device_us"
	for (i = 0; i < 60; i++) {
		m = 1024 * int(1 + 8 * rand()); n = 1024 * int(1 + 8 * rand()); k = 1024 * int(1 + 4 * rand())
		tiles = m * n / 128 / 128; waves = int((tiles + 131) / 132)
		us = 3 + waves * 2 * 128 * 128 * k / (1e9 / 132 * 0.5)
		printf "product,1x%dx%dx%d,bf16,,0,0,0,0,%.3f\n", m, n, k, us } }' >table.csv
softgpu_fit --profile=./own.profile --generations=60 table.csv >own.curves 2>err || complain "fit: $(cat err)"
grep -q '^product *fp16 ' own.curves || complain "no curve: $(cat own.curves)"
awk '/^product fp16/ { found = 1; gsub("%", ""); for (i = 1; i <= NF; i++) if ($i == "error") { median = $(i + 1); if (median + 0 > 8) bad = 1 } }
	END { exit !found || bad }' err || complain "far from what made it: $(cat err)"
echo 'curves ./own.curves' >>own.profile
softgpu_fit --profile=./own.profile --near table.csv >own.near 2>err || complain "near: $(cat err)"
[ "$(grep -c '^near product fp16 ' own.near)" = 60 ] || complain "neighbours: $(head -n 3 own.near)"
echo 'near ./own.near' >>own.profile
softgpu_fit --profile=./own.profile --errors table.csv >out 2>err || complain "errors: $(cat err)"
[ ! -s out ] || complain "--errors prints: $(cat out)"

softgpu_fit --help | grep -q -e '--near' || complain "no help"
says 'expected a table of measured operations' softgpu_fit
says 'none.csv: No such file or directory; expected a table' softgpu_fit none.csv
echo 'a,b' >bad.csv
says "bad.csv:1: no column 'kind'" softgpu_fit bad.csv
echo 'kind,shape,dtype,layout,median_us' >empty.csv
says 'no matrix product or convolution in it' softgpu_fit empty.csv
says "found 'x', expected a number" softgpu_fit --generations=x table.csv
says 'expected a path' softgpu_fit --profile=none table.csv
exit $bad
