#!/usr/bin/env bash
# Profiles from the command line: what only the tool as a whole does.
# usage: join.sh BIN
set -uo pipefail
bin=$(cd "$1" && pwd)
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
ln -s "$root/res" "$root/tests" .
PATH=$bin:$PATH

fail() { echo "FAILED: $*"; exit 1; }

circle2circle -O1 res/while.origo while.circle || fail "while.circle"

# A profile that names the model by the bytes of its file.
printf '[{"op_index": 1, "ns": 7, "model_sha": "%s"}]' "$(sha256sum while.circle | cut -d' ' -f1)" >own.json
origin-dump --join own.json --json while.circle | grep -q '"match":"exact"' || fail "own.json is not joined"
sed -i 's/"model_sha": "./"model_sha": "z/' own.json
origin-dump --join own.json while.circle >said 2>&1 && fail "a stale profile is joined"
grep -q '^origin-dump: error: own.json: stale profile: ' said || fail "$(<said)"

origin-dump --join tests/profiles/delegate.csv --json while.circle >out 2>said && fail "a foreign profile is joined"
[[ ! -s out ]] && grep -q '^origin-dump: error: tests/profiles/delegate.csv: foreign profile: ' said || fail "$(<said)"

# Names that are in no map come from the source.
circle2circle res/while.origo while.tflite
circle2circle -O1 --embed-origin=ids --no-origin-json while.tflite ids.circle || fail "ids.circle"
printf 'op_index,ns\n1,7\n' >one.csv
origin-dump --join one.csv --json ids.circle | grep -q '"by_operator": \[{"id":1,"name":"","ns":7}\]' || fail "names from nowhere"
origin-dump --join one.csv --json --source=while.tflite ids.circle | grep -q '"name":"result"' || fail "the source has names"

# The same table as Android's log has it, with its tabs pasted as blanks, and both.
table=tests/profiles/benchmark.txt
origin-dump --join $table --csv while.circle >table.csv 2>said || fail "$(<said)"
sed 's/^/09-12 10:11:12.345  1234  1234 I tflite  : /' $table >logcat.txt
sed 's,^,I/tflite  ( 1234): ,' $table >brief.txt
sed 's/\t/    /g' $table >blanks.txt
sed 's/^/09-12 10:11:12.345  1234  1234 I tflite  : /' blanks.txt >both.txt
for form in logcat brief blanks both; do
  origin-dump --join $form.txt --csv while.circle >$form.csv 2>said || fail "$form: $(<said)"
  cmp table.csv $form.csv || fail "$form.txt is joined as something else"
done
# TensorFlow up to 2.4 has names and no indices.
sed -E 's/(\t\[.*\]):[0-9]+$/\1/' $table >old.txt
grep -q '\[result\]$' old.txt && origin-dump --join old.txt while.circle >out 2>said || fail "a table without indices: $(<said)"
[[ $(grep -c ' tensor ' out) == 4 ]] && grep -q '^attributed  *0.190 ms  100.0 %' out || fail "a table without indices: $(<out)"
# Traces of Android name operators by number, others by tensor.
cat >trace.json <<'END'
{"traceEvents": [{"name": "Invoke", "ph": "X", "ts": 0, "dur": 100, "pid": 1, "tid": 1},
  {"name": "FULLY_CONNECTED@1/2", "ph": "X", "ts": 1, "dur": 30, "pid": 1, "tid": 1, "args": {}},
  {"name": "result", "ph": "X", "ts": 40, "dur": 10, "pid": 1, "tid": 1}, {"name": "something else", "ph": "X", "ts": 60, "dur": 5, "pid": 1, "tid": 1}]}
END
origin-dump --join trace.json while.circle >out 2>said || fail "trace.json: $(<said)"
grep -qE '^ *0.030 .* exact +2:1 ' out && grep -qE '^ *0.010 .* tensor +1 ' out && grep -qE '^unattributed  *0.005 ms' out || fail "trace.json: $(<out)"

# Two results of one source.
origin-dump --join one.csv --json while.circle >own.times
circle2circle -O1 res/mobilenet_v2.origo a.circle && circle-quantizer --scheme dynamic res/mobilenet_v2.origo b.circle || fail "two results"
origin-dump --compare --csv a.circle b.circle >all.csv 2>said || fail "$(<said)"
[[ $(head -1 all.csv) == id,name,a_became,b_became,a_bytes,b_bytes ]] || fail "$(head -1 all.csv)"
changed=$(awk -F'","' 'NR > 1 { split($3, last, "\""); n += $2 != last[1] } END { print n }' all.csv)
((changed > 30)) || fail "only $changed layers became something else"
origin-dump --compare a.circle b.circle >table 2>said
grep -q "^origin-dump: note: $changed of $(($(wc -l <all.csv) - 1)) source operators became something else" said || fail "$(<said), counted $changed"
grep -Eq ' CONV_2D\+RELU6 +CONV_2D' table || fail "$(<table)"
# What a whole takes is what its layers take.
[[ $(awk -F, 'NR > 1 { a += $(NF - 1); b += $NF } END { print a, b }' all.csv) == "$(origin-dump --compare --json a.circle b.circle 2>/dev/null |
  sed -n 's/^  "\(synthetic_\)*bytes": \([0-9]*\),*$/\2/p' | xargs | awk '{ print $1 - $2, $3 - $4 }')" ]] || fail "the parts are not the whole"
origin-dump --compare a.circle a.circle >table 2>said && [[ $(wc -l <table) == 3 ]] && grep -q 'note: 0 of ' said || fail "a model differs from itself"
for m in a b; do
  circle-interpreter --seed=1 --profile=$m.profile $m.circle >/dev/null && origin-dump --join $m.profile --json $m.circle >$m.times || fail "times of $m"
  visq -f res/mobilenet_v2.origo -q $m.circle --records 1 --json $m.errors >/dev/null || fail "errors of $m"
done
origin-dump --compare --csv --times=a.times,b.times --errors=a.errors,b.errors a.circle b.circle 2>/dev/null >all.csv || fail "with figures"
[[ $(head -1 all.csv) == *,a_bytes,b_bytes,a_ns,b_ns,a_error,b_error ]] || fail "$(head -1 all.csv)"
awk -F, 'NR > 1 { ns += $(NF - 2); e += $NF > 0 } END { exit !(ns > 0 && e > 30) }' all.csv || fail "no figures in $(head -3 all.csv)"
origin-dump --compare --by=scope a.circle b.circle 2>/dev/null | grep -Eq ' [1-9][0-9]* +1  block1/$' || fail "by scope"
# Logs that say types in the order of running, and rows of delegates.
for file in tflm_log.txt gpu_kernels.txt vela4_per-layer.csv tflm_shifted.csv xnnpack_rows.txt real/tflite-xnnpack.mobilenet_v2.txt; do
  origin-dump --join tests/profiles/$file --json a.circle >out 2>said || fail "$file: $(<said)"
  grep -q '"match":"exact"' out && fail "a row of $file is exact"
  [[ $file != *xnnpack* ]] || { [[ $(grep -c '"match":"aligned".*"score":' out) == 65 ]] && grep -q '"delegate_overhead_ns": [1-9]' out; } || fail "$file: $(tail -3 out)"
  origin-dump --join tests/profiles/$file --by=scope a.circle >table 2>/dev/null && grep -q ' 1  block1/$' table || fail "$file by scope: $(<table)"
done
# Twelve nodes in one list, and three: what is a sum over some of them is divided, and all of it adds up.
for network in conformer_f32 unet_i8_per_tensor; do
  summary=tests/profiles/real/tflite-xnnpack.${network%%_f32*}.txt
  [[ -f $summary ]] || summary=tests/profiles/real/tflite-xnnpack.unet_i8.txt
  origin-dump --join $summary "$ORIGO_NETWORKS/$network.tflite" >out 2>said || fail "$network: $(<said)"
  grep -q 'carries no origin map: its operators are those of the source' said || fail "$network: $(<said)"
  grep -q ' merged ' out && grep -q '^of it merged over several partitions, ' out || fail "$network: $(<out)"
  grep 'Delegate/' out | grep -qE ' (none|approx) ' && fail "$network: $(grep -E ' (none|approx) ' out)"
  [[ $(awk '/^total /{t = $2} /^unattributed /{u = $2} /^of it delegate/{ print (t > 0 && u == $5) }' out) == 1 ]] || fail "$network: $(tail -9 out)"
done
# Nothing in a file has a name of this model.
for text in '{"traceEvents": [{"name": "result", "ph": "R", "ts": 1}]}' '[{"name": "x", "time": "1 ms"}]'; do
  echo "$text" >nothing.json
  origin-dump --join nothing.json while.circle >out 2>said && fail "$text is joined"
  grep -q 'foreign profile' said || fail "$text: $(<said)"
done

refused() { local what=$1; shift; "$@" >out 2>said && fail "$* succeeds"; grep -q "$what" said || fail "$*: $(<said)"; }
refused 'results of different sources' origin-dump --compare a.circle while.circle
refused 'and the times are of different sources' origin-dump --compare --times=a.times,own.times a.circle b.circle
refused 'takes two files: --times=' origin-dump --compare --times=a.times a.circle b.circle
refused 'is not what visq --json writes' origin-dump --compare --errors=a.errors,a.times a.circle b.circle
refused 'go with --compare of two models' origin-dump --compare --times=a.times,b.times a.times b.times
refused 'takes two files' origin-dump --compare a.circle
echo ok
