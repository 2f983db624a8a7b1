#!/bin/sh
# What careless hands type: each gets the exit status and one sentence that names what is wrong, and what to do where that is not plain.
# A row is STATUS | what the message says (a regular expression) | the command.
set -u
. "$SOURCE/tests/preload.sh"
export PATH="$BUILD/bin:$PATH" LC_ALL=C LD_LIBRARY_PATH="$BUILD/softgpu"
unset RANK WORLD_SIZE PMI_RANK SLURM_PROCID OMPI_COMM_WORLD_RANK 2>/dev/null
. "$SOURCE/tests/complain.sh"

pmrun -q -n 2 -o run --softgpu=a100 -- train_cnn --synthetic --batch 64 --iterations 12 --print 0 >/dev/null || exit 1
trace=$(echo run/*.0.pmtrace)
mkdir empty_folder "with blank" "n$(printf '\303\266')n"
cp run/*.pmtrace "with blank" && cp run/*.pmtrace n*n
: >empty && : >empty.csv && : >script.py && echo hello >text && head -c 100 "$trace" >cut.pmtrace
printf 'x,y\n1,2\n2,4\n3,6\n4,8\n' >table.csv
printf 'x,y\n1,2\n2\n' >short.csv
printf 'x,y\na,b\nc,d\n' >words.csv
echo '{' >broken.json
awk 'BEGIN { print "x,y"; for (i = 1; i <= 30; i++) print i "," 3 * i + i % 4 }' >errors.csv
awk 'BEGIN { print "batch,gpus,time_ms"; for (b = 8; b <= 128; b *= 2) for (g = 1; g <= 8; g *= 2) print b "," g "," 3 + 0.2 * b + 2 * g }' >steps.csv
# files of other versions
{ pmfit fit -q --time y --intrinsic x --seeds 1 -o model.json errors.csv && pmfit step -o steps.json steps.csv && pmanalyze reduce -o sums run; } >/dev/null || exit 1
sed 's/"version":[^,]*/"version": 99/' model.json >later.json
sed 's/"version":[^,]*/"version": 99/' steps.json >later_steps.json
cp sums/*.0.pmsum other.pmsum && printf '\011' | dd of=other.pmsum bs=1 seek=12 conv=notrunc 2>/dev/null

rows=0
while IFS='|' read -r status says command; do
	[ -n "$command" ] || continue
	rows=$((rows + 1))
	got=0
	sh -c "$command" >out 2>err </dev/null || got=$?
	[ "$got" = "$((status))" ] || complain "$command: exit status $got, not $((status)): $(cat err)"
	says=$(echo "$says" | sed 's/^ *//; s/ *$//')
	{ [ "$says" = '^$' ] && [ ! -s err ]; } || grep -Eq -- "$says" err || complain "$command: says: $(cat err)"
	# one sentence, and where it is a matter of usage where help is
	[ "$(grep -vc "^Try '\|^usage:\|^Usage:" err)" -le 1 ] || [ "$command" = " pmanalyze" ] || complain "$command: says much: $(cat err)"
done <<'END'
2 | usage: pmanalyze COMMAND                                   | pmanalyze
2 | no run given                                               | pmanalyze report
2 | unknown command 'reprot' .did you mean 'report'            | pmanalyze reprot run
2 | unknown command 'run': the command comes before the files  | pmanalyze run report
2 | unknown command 'wat'                                      | pmanalyze help wat
2 | unknown option '--jsn' .did you mean '--json'              | pmanalyze report --jsn run
2 | '--ranks' takes no argument, and there is no file '99'     | pmanalyze report --rank 99 run
2 | '--ranks' takes no argument, and there is no file '99'     | pmanalyze report run --ranks 99
2 | --json and --csv: one of them                              | pmanalyze report --json --csv run
2 | --json and --csv: one of them                              | pmanalyze layers run --csv --json
2 | --json and --csv: one of them                              | pmanalyze report --js --cs run
2 | option '--c' is ambiguous                                  | pmanalyze report --json --c run
2 | --skip -1: expected an integer of at least 0               | pmanalyze report --skip -1 run
2 | --skip many: expected an integer                           | pmanalyze report --skip many run
1 | run: --skip 1000 leaves no iteration: 12 are alike         | pmanalyze report --skip 1000 run
1 | run: no call matches --iteration-at nothing: pmanalyze dump | pmanalyze report --iteration-at nothing run
1 | run: no job 9: there is 1                                  | pmanalyze report --job 9 run 2>both; s=$?; head -n 1 both >&2; exit $s
1 | nowhere: No such file or directory                         | pmanalyze report nowhere
1 | empty_folder: no \*.pmtrace file and no trace of another   | pmanalyze report empty_folder
1 | empty: byte 0: not a trace: an empty file$                  | pmanalyze report empty
1 | empty: byte 0: invalid JSON: an empty file                  | pmanalyze memory empty
1 | run: a folder, expected a file                              | pmanalyze memory run
0 | ^$                                                          | pmanalyze export --perfetto -o - run >one.json; [ -s one.json ] && [ ! -e ./- ]
1 | text: byte 0: not a trace                                  | pmanalyze report text
1 | cut.pmtrace: byte 0: a file of 100 bytes, expected a header                                 | pmanalyze report cut.pmtrace
1 | run: a folder, expected one trace: name a \*.pmtrace file  | pmanalyze dump run
1 | run: no file ending in one of .* pmanalyze report          | pmanalyze window run
1 | run: no file ending in one of .* pmanalyze report          | pmanalyze arrivals run
2 | at least two runs are needed                               | pmanalyze compare run
1 | nowhere: No such file or directory                         | pmanalyze compare run nowhere
1 | empty_folder: Is a directory                               | pmanalyze html -o empty_folder run
1 | nowhere/x.html: No such file or directory                  | pmanalyze html -o nowhere/x.html run
1 | twice.html: file exists; --force overwrites it             | pmanalyze html -o twice.html run && pmanalyze html -o twice.html run
1 | /dev/full: No space left on device                         | pmanalyze html -o /dev/full run
1 | standard output: No space left on device                   | pmanalyze report run >/dev/full
2 | choose a format: --perfetto, --kineto, --observations or --times      | pmanalyze export run
2 | --layer: no layer "conv9"; pmanalyze layers lists          | pmanalyze whatif --layer conv9=2 run
2 | expected one table                                         | pmfit fit
1 | table.csv: no time column: expected --time                 | pmfit fit table.csv
1 | table.csv: time column z not found                         | pmfit fit --time z table.csv
1 | table.csv: no column is intrinsic.*pmfit auto              | pmfit fit --time y table.csv
1 | empty.csv: the file is empty: expected a header line       | pmfit auto empty.csv
1 | short.csv: line 3 has 1 cells: expected 2                  | pmfit fit --time y --intrinsic x short.csv
1 | words.csv: line 2: .*expected a number                     | pmfit fit --time y --intrinsic x words.csv
1 | run: a folder, expected a file                             | pmfit auto run
1 | table.csv: too few rows .4. for a model: at least 10       | pmfit auto --time y table.csv
1 | table.csv: not a model: pmfit fit, search, step or auto    | pmfit html table.csv
1 | broken.json: byte 2: invalid JSON                          | pmfit predict broken.json table.csv
2 | no command given                                           | pmrun
2 | --ranks: expected an integer from 1 to 1024, found 'x'     | pmrun -n x true
2 | --output: the folder's name is empty                       | pmrun -o "" true
125 | 'text' is not a folder: name another with -o             | pmrun -o text true
125 | cannot create folder 'text/x': Not a directory           | pmrun -o text/x true
125 | 'run' contains the traces of another run: use another    | pmrun -o run true
127 | cannot run 'nosuch': No such file                        | pmrun nosuch
126 | cannot run './script.py': .*a script: put its interpreter | chmod -x script.py; pmrun ./script.py
127 | cannot run 'text': .*put ./ in front                     | pmrun text
126 | cannot run './empty_folder': .*it is a folder            | pmrun ./empty_folder
127 | cannot run 'h200': .*--softgpu=a100                      | pmrun --softgpu h200 true
2 | PMHOOK_WINDWO.*PMHOOK_WINDOW                               | PMHOOK_WINDWO=1-2 pmrun true
2 | PMHOOK_MODE: expected full.ring.count.off, found 'all'          | PMHOOK_MODE=all pmrun true
2 | demo: ranks and GPUs are fixed                              | pmrun -n 2 demo
127 | cannot run 'demo': .*takes no option but --html          | pmrun demo --help
2 | --json: the command comes before its options, as in pmanalyze report --json | pmanalyze --json report run
2 | unknown option '--verson' .did you mean '--version'        | pmanalyze --verson
2 | --time: the command comes before its options               | pmfit --time y auto table.csv
2 | --fail-if-slower 5: expected a share, such as 1% or 0.01   | pmanalyze compare --fail-if-slower 5 run run
2 | option '--fail-if-slower' requires an argument             | pmanalyze compare run run --fail-if-slower
2 | --layer 0: expected a number of at least 0.001             | pmanalyze whatif --layer conv1=0 run
2 | --layer: expected NAME=K, not "conv1"                      | pmanalyze whatif --layer conv1 run
1 | run/nothing\*: No such file or directory                   | pmanalyze report 'run/nothing*'
1 | --json: No such file or directory                          | pmanalyze report -- --json
1 | table.csv: column y is the time and cannot be a predictor  | pmfit fit --time y --intrinsic y table.csv
1 | table.csv: column q not found .did you mean 'x'            | pmfit fit --time y --intrinsic q table.csv
2 | expected a model and a table                               | pmfit predict table.csv
2 | --batch -4: expected an integer from 1                     | train_cnn --synthetic --batch -4
2 | unknown option '--batchs'                                  | train_cnn --synthetic --batchs 4
2 | --lr nan: expected a number from 0 to 1000                 | train_mlp --synthetic --batch 64 --lr nan
1 | nowhere/train-images-idx3-ubyte: No such file or directory | train_cnn --data nowhere
2 | --train 0: expected an integer from 5 to 1000000           | mkdata --dataset mnist --out data --train 0
2 | --dataset nosuch: expected one of mnist.cifar10            | mkdata --dataset nosuch --out data
1 | other.pmsum: byte 0: summary version 9, expected 1: make it again | pmanalyze report other.pmsum
1 | later.json: version 99 of the file, .*: fit the table again | pmfit predict later.json errors.csv
1 | later_steps.json: the file is of a newer pmfit: fit .* again | pmfit predict later_steps.json steps.csv
1 | table.csv: not a model                                     | pmfit export --python table.csv
1 | run: a folder, expected a file                             | pmfit fit -d run errors.csv
1 | nowhere.txt: No such file or directory                     | pmfit fit -d nowhere.txt errors.csv
2 | --confidence 2: expected a number between 0 and 1          | pmfit fit --time y --intrinsic x --confidence 2 errors.csv
2 | --confidence 2: expected a number between 0 and 1          | pmfit baselines --time y --intrinsic x --confidence 2 errors.csv
2 | --bounds-powers 5: expected two numbers, such as 0,1000    | pmfit fit --time y --intrinsic x --bounds-powers 5 errors.csv
2 | --bounds-powers 5,-5: expected the lower bound first       | pmfit fit --time y --intrinsic x --bounds-powers 5,-5 errors.csv
2 | --seeds 0: expected an integer of at least 1               | pmfit fit --time y --intrinsic x --seeds 0 errors.csv
2 | --method foo: expected one of jso, varpro, de              | pmfit fit --time y --intrinsic x --method foo errors.csv
2 | unknown option '--jsn' .did you mean '--json'              | pmfit auto --jsn errors.csv
2 | option '--time' requires an argument                       | pmfit auto --time
2 | --json and --csv: one of them                              | pmfit next --json --csv steps.csv
1 | /dev/full: No space left on device                         | pmfit fit -q --time y --intrinsic x --seeds 1 -o /dev/full errors.csv
1 | standard output: No space left on device                   | pmfit step steps.csv >/dev/full
1 | nowhere/x.json: No such file or directory                  | pmfit step -o nowhere/x.json steps.csv
1 | empty_folder: Is a directory                               | pmfit html -o empty_folder model.json
1 | level V1: the model has no levels                          | pmfit export --excel --level V1 steps.json
2 | expected one of --python, --c, --excel and --json          | pmfit export --python --c model.json
2 | --gpus 1,x: expected increasing positive numbers           | pmfit guide --gpus 1,x steps.json
2 | --cluster is required: a file, or one of dgx-1             | pmfit strategy empty
1 | nowhere: No such file or directory, and no known cluster   | pmfit strategy --cluster nowhere empty
2 | --devices and --to are required                            | pmfit transfer table.csv
1 | pmanalyze: nowhere: No such file or directory              | pmfit advise nowhere
1 | nospace: No such file or directory, and no space installed | pmfit sweep nospace -- true
1 | nospace: No such file or directory, and no space installed | pmfit study nospace -- true
1 | run: a folder, expected a file                             | pmfit sweep run -- true
2 | --softgpu=wat: no GPU of that name, and no profile file    | pmrun --softgpu=wat true
2 | --softgpu=./run: no GPU of that name, and no profile file  | pmrun --softgpu=./run true
2 | the command's name is empty                                | pmrun ""
2 | unknown option '--wat'                                     | pmrun --wat true
2 | option '--ranks' requires an argument                      | pmrun --ranks
2 | --grace: expected an integer from 0 to 86400, found '-1'   | pmrun -g -1 true
2 | --hang-end: the job is not watched. Add --hang-after       | pmrun --hang-end true
2 | --stacks: expected an integer from 1                       | pmrun --stacks x
125 | process 999999999: its Python stack cannot be read       | pmrun --stacks 999999999
125 | '/dev/full' is not a folder: name another with -o        | pmrun -o /dev/full true
125 | standard output: No space left on device                 | pmrun --hooks >/dev/full
0 | ^$                                                         | pmanalyze help report && pmanalyze report "with blank" && pmanalyze report n*n && pmanalyze html --force -o twice.html run
0 | ^$                                                         | pmanalyze html -o /dev/stdout run
0 | run: given twice: it is counted as two runs                | pmanalyze report run run
0 | run/: the same run as run: it is counted as another one    | pmanalyze compare run run/
END
[ "$rows" -ge 120 ] || complain "$rows rows"

# a folder that may not be read, by somebody who may go where it is and start the program
chmod 755 . && chmod 700 run
if [ "$(id -u)" = 0 ] && su nobody -s /bin/sh -c "cd '$PWD' && test -x '$BUILD/bin/pmanalyze'" 2>/dev/null; then
	su nobody -s /bin/sh -c "cd '$PWD' && '$BUILD/bin/pmanalyze' report run" 2>err && complain "a folder that may not be read was"
	grep -q 'run: Permission denied' err || complain "unreadable: $(cat err)"
fi

# lines fit a narrow terminal, and so do tables
for command in "report run" "report --calls run" "balance run" "layers run" "kernels run" "path run" "whatif run" "compare run run"; do
	# shellcheck disable=SC2086
	python3 "$SOURCE/tests/on_terminal.py" 60 pmanalyze $command 2>/dev/null | tr -d '\r' >narrow
	[ -s narrow ] || complain "$command prints nothing on a terminal"
	python3 -c '
import re, sys
wide = [line for line in open("narrow", encoding="utf-8").read().split("\n") if len(re.sub(r"\x1b\[[0-9;]*[mK]", "", line)) > 60]
print(*(f"not ok: {sys.argv[1]}: wider than 60: {line}" for line in wide), sep="\n", end="\n" if wide else "")
sys.exit(bool(wide))' "$command" || bad=1
done

# so does help, but for a word that is longer, in the signs of the locale
for program in pmrun pmanalyze pmfit; do
	commands=$("$program" --help | sed -n '/COMMAND --help/q; s/^  \([a-z]*\)  *[a-z].*/\1/p')
	for command in "" $commands; do
		# shellcheck disable=SC2086
		python3 "$SOURCE/tests/on_terminal.py" 40 $program $command --help | tr -d '\r' >narrow
		awk 'length($0) > 40 && !/^ *[^ ]*$/' narrow | grep . && complain "$program $command --help: wider than 40"
		if grep -q '[^ -~]' narrow; then complain "$program $command --help: not ASCII in the locale C"; fi
		[ "$program" != pmrun ] || break
	done
	[ "$program" = pmrun ] || [ "$(echo "$commands" | wc -w)" -ge 15 ] || complain "$program: commands $commands"
done

# a wide one is used, and signs are those that the locale has; what is for programs is UTF-8 everywhere
python3 "$SOURCE/tests/on_terminal.py" 200 pmanalyze report run 2>/dev/null | grep -q '^.\{150,\}' || complain "200 columns are not used"
for locale in C:2x C.UTF-8:2×; do
	LC_ALL=${locale%:*} pmanalyze whatif run 2>/dev/null | grep -q "communication ${locale#*:} as fast" || complain "signs of ${locale%:*}"
done
[ "$(LC_ALL=C pmanalyze html -o - run 2>/dev/null | iconv -f UTF-8 -t UTF-8 | grep -c -e × -e ’)" -ge 1 ] || complain "a page is not in UTF-8"

# and an error stays on the line of the figure that it belongs to, where the table goes on below between two of them
python3 "$SOURCE/tests/on_terminal.py" 70 pmfit baselines --time y --intrinsic x errors.csv | tr -d '\r' >narrow
[ "$(grep -c '^  method  *set ' narrow)" -ge 2 ] || complain "not in parts: $(cat narrow)"
if grep '^  method  *set  *+-' narrow; then complain "an error without its figure: $(cat narrow)"; fi

# Ctrl-C, which goes to the whole group of the terminal, here one of its own: the trace is good. The shell is not built with the
# sanitizer of the libraries that are loaded into it, so its runtime has to come first
got=0
LD_PRELOAD=$(sanitizer_runtime) setsid -w pmrun -o stopped --softgpu=a100 -- sh -c 'train_cnn --synthetic --batch 64 --iterations 12 --print 0 >/dev/null
	kill -INT 0; sleep 9' 2>err || got=$?
[ "$got" = 130 ] || complain "Ctrl-C: exit status $got: $(cat err)"
grep -q "'sh' was killed by signal 2 " err || complain "Ctrl-C: $(cat err)"
pmanalyze report stopped >out 2>err || complain "after Ctrl-C: $(cat err)"
exit $bad
