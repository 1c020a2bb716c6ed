#!/usr/bin/env bash
# Profiles from the command line: what only the tool as a whole does.
# usage: join.sh BIN
set -uo pipefail
bin=$(cd "$1" && pwd)
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
ln -s "$root/res" "$root/tests" "$root/docs" .
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
sed 's,^,I( 1234) ,; s,$,  (tflite),' $table >process.txt
sed -n '5,9s/.*/W( 1234) something else: 1.5  (other)/p' $table >>process.txt
sed 's,^,I( 1234: 1240) ,' $table >thread.txt
sed 's/\t/    /g' $table >blanks.txt
sed 's/^/09-12 10:11:12.345  1234  1234 I tflite  : /' blanks.txt >both.txt
for form in logcat brief process thread blanks both; do
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

# Sums of TensorFlow Lite Micro by type; with its events, these alone. Of two of one type, both are meant.
printf '"Unique Tag","Total ticks across all events with that tag."\nFULLY_CONNECTED, 5000\nMUL, 200\n"total number of ticks", 5200\n' >sums.csv
origin-dump --join sums.csv --clock=1000 while.circle >out 2>said || fail "sums by type: $(<said)"
grep -qE '^ *0.005 .* tensor +2:1 +FULLY_CONNECTED' out && grep -qE '^attributed  *0.005 ms  100.0 %' out || fail "sums by type: $(<out)"
circle2circle -O1 docs/example-backend/digits.origo digits.circle || fail "digits.circle"
printf 'I/tflm: "Unique Tag","Total ticks across all events with that tag."\nCONV_2D, 5000\nADD, 200\n' >sums.csv
origin-dump --join sums.csv digits.circle >out 2>said || fail "sums by type: $(<said)"
grep -qE '^ *0.005 .* partition +0, 1 +CONV_2D' out && grep -qE ' tensor +2 +ADD' out || fail "sums by type: $(<out)"
printf '"Event","Tag","Ticks"\n0,CONV_2D,900\n1,CONV_2D,100\n2,ADD,30\n3,RESHAPE,10\n4,FULLY_CONNECTED,60\n"Unique Tag","Total ticks across all events with that tag."\nCONV_2D, 1000\nADD, 30\nRESHAPE, 10\nFULLY_CONNECTED, 60\n"total number of ticks", 1100\n' >events.csv
origin-dump --join events.csv digits.circle >out 2>said || fail "events and sums: $(<said)"
[[ $(grep -c ' aligned ' out) == 5 ]] && grep -qE '^total  *0.001 ms' out || fail "events and sums: $(<out)"

# Languages with a decimal comma, and names that are there twice.
printf 'name;ms\nstem/relu;1,5\nblock/relu;"1.002,25"\nstem/relu;0,5\n' >comma.csv
origin-dump --join comma.csv --by=operator --csv digits.circle >out 2>said || fail "a decimal comma: $(<said)"
[[ $(awk -F, '{ sum += $3 } END { print sum }' out) == 1004250000 ]] || fail "a decimal comma: $(<out)"

# Many rows, in a list of flat objects; what is wrong with one is told as ever.
awk 'BEGIN { split("stem/relu block/conv block/relu flat scores", name, " "); print "["
  for (i = 0; i < 100000; ++i) printf "%s{\"name\": \"%s\", \"us\": %d.25}\n", i ? "," : "", name[1 + i % 5], i % 77; print "]" }' >many.json
origin-dump --join many.json --by=operator --csv digits.circle >out 2>said || fail "many rows: $(<said)"
[[ $(awk -F, '{ sum += $3 } END { printf "%d", sum }' out) == $(awk 'BEGIN { for (i = 0; i < 100000; ++i) sum += (i % 77 + 0.25) * 1000; printf "%d", sum }') ]] || fail "many rows: $(<out)"
sed '50000s/"us": /"us": -/' many.json >wrong.json
origin-dump --join wrong.json digits.circle >out 2>said && fail "a negative time is joined"
grep -q 'rows\[49998\]: "-[0-9.]*" is negative' said || fail "a negative time: $(<said)"
sed '50000s/"us": /"us": 1, "us": /' many.json >wrong.json
origin-dump --join wrong.json digits.circle >out 2>said && fail "a key that is there twice is joined"
grep -q 'has the key "us" twice' said || fail "a key that is there twice: $(<said)"

# Of rows about no operator, a person sees a thousand and the sum of the others; programs see all.
awk 'BEGIN { print "name,us\nstem/relu,2"; for (i = 0; i < 1500; ++i) printf "other%d,%d\n", i, i < 1499 ? 3 : 9 }' >foreign.csv
origin-dump --join foreign.csv digits.circle >out 2>said || fail "foreign rows: $(<said)"
[[ $(grep -c ' none ' out) == 1000 ]] && grep -q ' none .*other1499$' out &&
  grep -qx 'and 500 more rows that are about no operator, 1.500 ms' out && grep -qE '^unattributed  *4.506 ms' out || fail "foreign rows: $(tail -7 out)"
origin-dump --join foreign.csv --full digits.circle >out 2>said || fail "foreign rows: $(<said)"
[[ $(grep -c ' none ' out) == 1500 ]] || fail "--full leaves foreign rows out"

# Samples of perf, given to operators by time: of what runs within a loop, the inner one.
cat >times.json <<'END'
{"traceEvents": [{"name": "WHILE", "ph": "X", "ts": 1000000000, "dur": 100, "args": {"subgraph": 0, "operator": 0, "output": "steps\t"}},
  {"name": "ADD", "ph": "X", "ts": 1000000010, "dur": 20, "args": {"subgraph": 2, "operator": 0, "output": "next_step"}},
  {"name": "FULLY_CONNECTED", "ph": "X", "ts": 1000000040, "dur": 30, "args": {"subgraph": 2, "operator": 1, "output": "next_state"}},
  {"name": "MUL", "ph": "X", "ts": 1000000100.5, "dur": 30, "args": {"subgraph": 0, "operator": 1, "output": "result"}}]}
END
sed -i 's/"output": "steps\\t"/"output": ""/' times.json
for at in 005 015 050 060 110 900; do echo "net 17/18 1000.000$at:     200000 cpu-clock:u:      7f0 xnn_gemm (/srv/net)"; done >samples.txt
origin-dump --join samples.txt --layers=times.json --by=row while.circle >out 2>said || fail "samples by time: $(<said)"
grep -qE '^ *0.400 .* exact +2:1 ' out && grep -qE '^ *0.200 .* exact +2:0 ' out && grep -qE '^ *0.200 .* exact +1 ' out &&
  grep -qE '^unattributed  *0.200 ms' out || fail "samples by time: $(<out)"
sed 's/1000\.000/2000.000/' samples.txt >late.txt
origin-dump --join late.txt --layers=times.json while.circle >out 2>said && fail "samples of another run are joined"
grep -q 'no sample lies within an operator' said || fail "samples of another run: $(<said)"
# With threads that both know, each sample goes to what its thread did: of a helper the part, of another one nothing.
cat >threads.json <<'END'
{"traceEvents": [{"name": "MUL", "cat": "operator", "ph": "X", "tid": 18, "ts": 1000000000, "dur": 50, "args": {"subgraph": 0, "operator": 1, "output": "result"}},
  {"name": "MUL", "cat": "operator.part", "ph": "X", "tid": 19, "ts": 1000000000, "dur": 50, "args": {"subgraph": 0, "operator": 1, "output": "result"}}]}
END
for at in 18:010 19:020 19:070 20:030; do echo "net 17/${at%:*} 1000.000${at#*:}:     200000 cpu-clock:u:      7f0 xnn_gemm (/srv/net)"; done >samples.txt
origin-dump --join samples.txt --layers=threads.json while.circle >out 2>said || fail "samples by thread: $(<said)"
grep -qE '^ *0.400 .* exact +1 ' out && grep -qE '^unattributed  *0.400 ms' out || fail "samples by thread: $(<out)"
sed 's, 17/, 17/1,' samples.txt >elsewhere.txt
origin-dump --join elsewhere.txt --layers=threads.json while.circle >out 2>said && grep -q 'no thread in common: time alone' said || fail "other threads: $(<said)"
grep -qE '^ *0.600 .* exact +1 ' out || fail "other threads: $(<out)"
# What the interpreter writes is in that time.
circle-interpreter --seed=1 --profile=own.trace while.circle >out || fail "own.trace"
/usr/bin/python3 -c 'import json, time; at = max(e["ts"] for e in json.load(open("own.trace"))["traceEvents"]); now = time.clock_gettime(time.CLOCK_MONOTONIC) * 1e6
assert now - 60e6 < at <= now, (at, now)' || fail "own.trace is in another time"

# The engine's trace: operators, the threads that help, source layers with arrows to what does their work, live memory.
circle2circle -O1 res/mobilenet_v2.origo net.circle 2>/dev/null || fail "net.circle"
circle-interpreter --engine=fast --threads=2 --seed=1 --trace=fast.json net.circle >out 2>said || fail "--trace: $(<said)"
/usr/bin/python3 - <<'END' || fail "fast.json is no trace of the run"
import json
trace = json.load(open('fast.json'))
events = trace['traceEvents']
of = lambda category, phase: [e for e in events if e['cat'] == category and e['ph'] == phase]
operators, parts, layers = of('operator', 'X'), of('operator.part', 'X'), of('source.layer', 'X')
assert trace['otherData']['model'] == 'net.circle' and len(operators) == 65, len(operators)
assert len({e['tid'] for e in operators}) == 1 and parts and {e['tid'] for e in parts}.isdisjoint({operators[0]['tid']})
named = {(e['pid'], e['tid']) for e in events if e['name'] == 'thread_name'}
assert {(e['pid'], e['tid']) for e in operators + parts + layers} == named, named
starts, ends = ({e['id']: e for e in of('source.layer', phase)} for phase in 'sf')
assert len(starts) == len(layers) and starts.keys() == ends.keys()
ran = [e for e in operators if e['dur'] > 0]
assert {e['args']['source'] for e in layers} == {i for e in ran for i in e['args']['origins']}
for i, end in ends.items():
    assert any(e['ts'] <= end['ts'] <= e['ts'] + e['dur'] and end['name'] in e['args']['sources'] for e in ran), end
live = [e['args']['bytes'] for e in of('memory', 'C')]
assert len(live) == 65 and max(live) > 400000 > live[-1] > 0, live
END
origin-dump --join fast.json --json net.circle | /usr/bin/python3 -c 'import json, sys
joined, trace = json.load(sys.stdin), json.load(open("fast.json"))
whole = sum(e["dur"] for e in trace["traceEvents"] if e["cat"] == "operator" and e["ph"] == "X")
assert abs(joined["total_ns"] / 1e3 - whole) < 1 and joined["attributed_ns"] == joined["total_ns"], (joined["total_ns"], whole)' || fail "fast.json is joined otherwise"
# It tells the model that it is of.
/usr/bin/python3 - >samples.txt <<'END'
import json
for e in json.load(open('fast.json'))['traceEvents']:
    if e['cat'] == 'operator' and e['ph'] == 'X' and e['dur'] > 1:
        print(f"net 1/{e['tid']} {(e['ts'] + e['dur'] / 2) / 1e6:.7f}: 1000 cpu-clock:u: 7f0 f (/net)")
END
origo profile --layers=fast.json samples.txt --json >out 2>said || fail "origo profile --layers: $(<said)"
[[ $(grep -c '"match":"exact"' out) == "$(wc -l <samples.txt)" ]] && grep -q '"unattributed_ns": 0' out || fail "origo profile --layers: $(<out)"

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
