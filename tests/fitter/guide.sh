#!/bin/sh
# pmfit guide and pmfit strategy as commands: what they print of inputs whose answers are known, exit codes, sentences.
set -eu
export PATH="$BUILD/bin:$PATH" LC_ALL=C.UTF-8
. "$SOURCE/tests/complain.sh"

# t = 8 gpus^-1 + 2 ms, whatever the batch: 1, 2, 4, 8 GPUs take 10, 6, 4, 3
awk 'BEGIN {
	print "time,batch,gpus"
	for (i = 0; i < 60; i++) { b = 16 * 2 ^ (i % 3); g = 1 + i % 4; printf "%.10g,%d,%d\n", 8 / g + 2, b, g }
}' >table.csv
pmfit fit --time time --extrinsic batch,gpus --seeds 2 --bootstrap 20 -q -o model.json table.csv >/dev/null
pmfit guide --csv --unit ms --price 3.6 --batch 32,128 model.json >table
[ "$(awk -F, 'NR > 1 { printf "%.3f %.3f %d\n", $3, $6, $13 }' table | tr '\n' ' ')" = \
	"10.000 1.000 0 6.000 1.667 0 4.000 2.500 0 3.000 3.333 1 10.000 1.000 1 6.000 1.667 1 4.000 2.500 1 3.000 3.333 1 " ] ||
	complain "table: $(cat table)"
expect 0 '^Batch 32: adding GPUs pays up to 2; the next 2 give 42% of their number' pmfit guide --batch 32 model.json
expect 0 '^  gpus: the time scales as gpus^-0.667 here' pmfit guide --at gpus=2 model.json
expect 0 'constant C, independent of all settings: 33.3%' pmfit guide --at gpus=2 model.json
expect 0 'weak scaling' pmfit guide --batch-is local model.json
# the same batch on each of more GPUs in less time: that is said to be doubtful, and which reading it rests on
expect 0 '^Efficiency above 100% (up to 333\.3%, 8 GPUs at batch 32, extrapolated): with' pmfit guide --batch-is local --batch 32 model.json
grep -q -e '--batch-is global' output && grep -q 'by 3.17 (ideal: 2; doubtful)' output || complain "333% without a reason: $(cat output)"
expect 0 'by 1.59 (ideal: 2)' pmfit guide --batch 32 model.json
! grep -q 'Efficiency above' output || complain "at most 100%: $(cat output)"
expect 0 '"sentences":.*"Efficiency above 100% (up to 333.3%' pmfit guide --json --batch-is local --batch 32 model.json
# falling faster than GPUs are added, and by less than the model's error
awk 'BEGIN { print "time,gpus"; for (i = 0; i < 60; i++) { g = 1 + i % 4; printf "%.10g,%d\n", 8 * g ^ -1.2 + 0.001, g } }' >super.csv
awk 'BEGIN { print "time,gpus"; for (i = 0; i < 60; i++) { g = 1 + i % 4; printf "%.10g,%d\n", 8 * g ^ -1.01 * (i % 3 ? 0.97 : 1.05) + 0.001, g } }' >noisy.csv
for table in super noisy; do
	pmfit fit --time time --extrinsic gpus --seeds 2 -q -o $table.json $table.csv >/dev/null
done
expect 0 '^Efficiency above 100% (up to 13.*, 4 GPUs): the time falls faster' pmfit guide --gpus 1,2,4 super.json
expect 0 "^Efficiency above 100% (up to 10.*, 4 GPUs): within twice the model's error" pmfit guide --gpus 1,2,4 noisy.json
expect 0 '^Fastest is 2 GPUs' pmfit guide --batch 32 --at-most-gpus 2 model.json
# limits hold for what pays too
expect 0 '^Batch 32: adding GPUs pays up to the largest number allowed, 2$' pmfit guide --batch 32 --at-most-gpus 3 --worth 0.3 model.json
! grep -q 'pays up to 4' output || complain "more GPUs pay than are allowed: $(cat output)"
expect 0 '"pays_up_to":.*null' pmfit guide --json --batch 32 --gpus 2,4 --at-most-gpus 1 model.json
! grep -q 'pays up to' output || complain "no number of GPUs is allowed, and some pay: $(cat output)"
expect 0 '^No configuration of the table is within' pmfit guide --batch 32 --at-most-local-batch 1 model.json
pmfit guide --json model.json | python3 -c 'import json, sys
guide = json.load(sys.stdin)
assert abs(guide["columns"][-1]["power"]["value"] + 1) < 1e-3, guide["columns"]
assert len(guide["table"]) == 12 and guide["recommendation"] in guide["sentences"]
assert any(sentence.startswith("gpus: the time scales as gpus^-0.667 here") for sentence in guide["sentences"]), guide["sentences"]' || complain "JSON"
expect 1 'the unit of time' sh -c 'pmfit guide --price 1 model.json; exit 1'
expect 1 'no column foo' pmfit guide --at foo=1 model.json
expect 1 "no column gpu (did you mean 'gpus'?)" pmfit guide --gpu-column gpu model.json
expect 1 'positive' pmfit guide --at gpus=0 model.json
expect 1 'No such file' pmfit guide nothing.json
expect 2 'expected a model' pmfit guide
expect 2 'increasing positive' pmfit guide --gpus 4,2 model.json
expect 2 'iteration or epoch' pmfit guide --time-of day model.json
expect 2 'one of --speeds' pmfit guide --divide 8

# a device half as fast gets half: 10 in 5 / 0.5 against 7 / 1
expect 0 '^Computation takes 10 with equal shares and 7 with these shares: 30.0% less' pmfit guide --divide 10 --speeds 1,0.5
expect 0 '"sentences":.*30.0% less' pmfit guide --json --divide 10 --speeds 1,0.5
printf 'rank,forward_ns,backward_ns\n0,100,200\n1,50,100\n0,100,200\n1,50,100\n' >times.csv
expect 0 '^1,0.02,6,8,' pmfit guide --divide 12 --times times.csv --csv
expect 1 'column forward_ns not found' pmfit guide --divide 12 --times table.csv --rank-column gpus
expect 2 'positive numbers' pmfit guide --divide 12 --speeds 1,-1

# four equal layers of 1 + 2 ms at batch 8; links for which messages and sums are nothing
layers() { # batch, ns forward
	awk -v b="$1" -v f="$2" 'BEGIN { printf "{\"layers\": ["
		for (i = 0; i < 4; i++) printf "%s{\"layer\": \"fc%d\", \"kind\": \"fc%d\", \"input\": \"%dx10\", \"parameters\": 110, \"forward_ns\": %d, \"backward_ns\": %d, \"communication_ns\": 0, \"update_ns\": 0}", i ? ", " : "", i, i, b, f, 2 * f
		print "]}" }'
}
layers 8 1000000 >b8.json
layers 2 250000 >b2.json
printf 'workers 4\nlink_latency_us 0\nlink_gb_s 1e9 # so to speak\n' >cluster
pmfit strategy --cluster cluster --csv --batch 8 --recompute off --micro-batches 4 b2.json b8.json >strategies
# 12 ms alone; a quarter; all in turn; (4 + 4 - 1) / 16 of it, also with 1F1B; a quarter; two stages of two replicas, (2 + 2 - 1) / 8;
# a quarter also where memory is divided: links cost nothing here
[ "$(awk -F, 'NR > 1 { printf "%s %.3f ", $1, $2 / 1e6 }' strategies)" = \
	"one worker 12.000 data 3.000 model 12.000 gpipe 5.250 pipedream 3.000 1f1b 5.250 hybrid 4.500 layerwise 3.000 tensor 3.000 zero-1 3.000 zero-2 3.000 zero-3 3.000 " ] || complain "strategies: $(cat strategies)"
grep -q '^gpipe,.*,4,1-1-1-1,"1,2,3",[0-9]*,,0-1-2-3,as numbered,' strategies || complain "partition: $(cat strategies)"
# without the worker that is three times as slow two stages of two layers take 6 ms each, not 9: in turn; (4 + 2 - 1) / 8
printf 'workers 3\nlink_latency_us 0\nlink_gb_s 1e9\nslow 0 3\n' >mixed
pmfit strategy --cluster mixed --csv --batch 8 --recompute off --micro-batches 4 b2.json b8.json >strategies
[ "$(awk -F, '$1 == "model" || $1 == "gpipe" || $1 == "data-fewer" { n = NF; printf "%s %.3f %s %s ", $1, $2 / 1e6, $(n - 5), $(n - 4) }' strategies)" = \
	"model 12.000 1-2 exact gpipe 7.500 1-2 exact data-fewer 6.000 1-2  " ] || complain "unlike workers: $(cat strategies)"
expect 0 'gpipe .*workers 1-2 (exact)' pmfit strategy --cluster mixed --batch 8 --micro-batches 4 b2.json b8.json
printf 'workers 3\nlink_latency_us 0\nlink_gb_s 1e9\nmemory_gib 1\nmemory_gib 1-2 1e-7\n' >small
expect 0 '^ *data .*does not fit: .* GiB more than one of its workers has' pmfit strategy --cluster small --batch 9 b8.json
expect 0 '^ *data .* ≥ [0-9.e-]* ' pmfit strategy --cluster cluster --batch 8 b8.json # memory: the file has none
expect 0 '^Recommended: data, 4.00× as fast' pmfit strategy --cluster cluster --batch 8 b8.json
expect 0 '^A tie: .* or pipedream' pmfit strategy --cluster cluster --batch 8 --micro-batches 4 b2.json b8.json
pmfit strategy --cluster cluster --json b8.json | python3 -c 'import json, sys
found = json.load(sys.stdin)
assert found["tied"] == [] and {found["recommended_any"], *found["tied_any"]} == {"data", "pipedream", "layerwise"}, found["tied_any"]
may = [row["strategy"] for row in found["strategies"] if row["may_be_quickest"]]
assert may == ["data", "pipedream", "layerwise"], may
assert found["recommended"] == "data" and found["sentences"][0].startswith("Recommended: data, "), found["sentences"]
assert any(said.startswith("From 4 layers measured on one GPU") for said in found["sentences"]), found["sentences"]' || complain "strategy: JSON"
expect 1 'too few cut points\|no workers' sh -c 'pmfit strategy --cluster cluster --workers 6 --batch 12 b8.json; exit 1'
# a program of PyTorch, by its call sites: ZeRO's stages and tensor parallelism are those that were validated against runs
sed 's/"forward_ns"/"site": "libtorch_cuda.so+0x1", &/' b8.json >torch.json
expect 0 '^A PyTorch program: data is DistributedDataParallel' pmfit strategy --cluster cluster --batch 8 torch.json
pmfit strategy --cluster cluster --batch 8 torch.json >strategies
grep '^ *zero-' strategies | grep 'no run was held' && complain "ZeRO of PyTorch is untried: $(cat strategies)"
grep '^ *tensor ' strategies | grep 'no run was held' && complain "tensor parallelism of an MLP is untried: $(cat strategies)"
# all of these take a quarter here: that which only divides the batch is recommended
grep -q '^Recommended: data, 4.00' strategies || complain "not data: $(cat strategies)"
sed 's/forward_ns/forward/' b8.json >broken.json
expect 1 'broken.json: layer fc0: forward_ns missing' pmfit strategy --cluster cluster broken.json
expect 1 'batch 8 is in two files' pmfit strategy --cluster cluster b8.json b8.json
expect 1 'invalid JSON' pmfit strategy --cluster cluster cluster
expect 1 'line 2: unknown setting .speed' sh -c 'printf "workers 4\nspeed 4\n" >odd; pmfit strategy --cluster odd b8.json'
expect 1 'link_gb_s is missing' sh -c 'printf "workers 4\n" >odd; pmfit strategy --cluster odd b8.json'
expect 1 'fewer samples than' pmfit strategy --cluster cluster --batch 3 b8.json
expect 2 'is required' pmfit strategy b8.json
exit $bad
