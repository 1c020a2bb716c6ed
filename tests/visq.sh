#!/usr/bin/env bash
# The command lines about errors by layer, on a sample network: visq, circle-eval-diff, circle-interpreter --tap-source and --swap,
# origin-dump --join-values. What they say fits together, is the same again, and mistakes are one line.
# usage: visq.sh BIN
. "$(dirname "${BASH_SOURCE[0]}")/command_line.sh" "$1"

circle2circle "$root/res/mobilenet_v2.origo" net.tflite || fail "res/mobilenet_v2.origo"
circle2circle -O1 net.tflite fused.tflite || fail "-O1"
circle-quantizer --scheme int8 --input_data random net.tflite q.tflite 2>log || fail "circle-quantizer: $(<log)"

circle2circle "$root/res/resnet_preact.origo" small.tflite 2>/dev/null || fail "res/resnet_preact.origo"
circle-quantizer --scheme int8 --input_data random small.tflite small_q.tflite 2>log || fail "circle-quantizer: $(<log)"

# Every tensor of the source has figures, some of fused ones recovered; equal models have no error.
visq -f net.tflite -q fused.tflite --records 1 --json fused.json || fail "visq of a fused model"
grep -q '"recovered":true' fused.json || fail "nothing is recovered where operators were fused"
! grep -q '"unmeasured"' fused.json || fail "$(grep -m 1 '"unmeasured"' fused.json)"
visq -f net.tflite -q net.tflite --records 1 --mpeir_output same.json || fail "visq of equal models"
[[ $(sed -nE 's/^".*": ([0-9.e-]+),?$/\1/p' same.json | sort -u) == 0.0 ]] || fail "equal models differ"

# ONE's files, the same bytes each time, however many threads.
visq -f net.tflite -q q.tflite --records 2 --mpeir_output a.json --mse_output mse.json --dump_dot_graph || fail "visq"
visq --fp32_circle net.tflite --q_circle q.tflite --records 2 --threads 2 --mpeir_output b.json || fail "visq --threads"
cmp a.json b.json || fail "another number of threads makes another file"
visq -f net.tflite -q q.tflite --data random --records 2 --mpeir_output a.json && visq -f net.tflite -q q.tflite --input_data random --records 2 --mpeir_output b.json &&
  cmp a.json b.json || fail "--input_data is not --data"
grep -q '"metric":"MPEIR"' a.json && grep -q '"metric":"MSE"' mse.json || fail "the metric is not named"
grep -q '^digraph' a.json.dot && grep -q 'color_table' a.json.dot || fail "no picture"

# Parts of the records, put together in any order, are one run over all, to the byte, effects and all; however many threads.
errors() { visq -f small.tflite -q small_q.tflite "$@"; }
errors --records 4 --blame --stats whole.json --json whole --mse_output whole.mse || fail "--stats"
errors --records 1 --json single && errors --records 1 --threads 64 --json threads || fail "--threads 64"
cmp single threads || fail "64 threads make another file"
for processor in '' plain avx2; do
  ORIGO_PROCESSOR=$processor errors --records 1 --engine=reference --json "on$processor" || fail "ORIGO_PROCESSOR=$processor"
  cmp on "on$processor" || fail "processors add up to something else: $processor"
done
for part in 2 3 1; do errors --records 4 --blame --shard $part/3 --stats part$part.json || fail "--shard $part/3"; done
for order in "part1.json part2.json part3.json" "part3.json part1.json part2.json"; do
  # shellcheck disable=SC2086
  errors --merge $order --stats again.json --json merged --mse_output merged.mse || fail "--merge $order"
  cmp whole.json again.json && cmp whole merged && cmp whole.mse merged.mse || fail "parts are not the whole: $order"
done
cmp <(errors --records 4 --blame) <(errors --merge part1.json,part2.json part3.json) || fail "parts print another table"
errors --merge part1.json part2.json --json some && grep -q '"records":3' some || fail "two parts are not three records"
errors --records 4 --shard 2/3 --stats bare.json || fail "--shard"
refused_after_notes 'has record 1, which another part has too' errors --merge part2.json part2.json
refused_after_notes 'measured with another --blame' errors --merge part1.json bare.json
refused_after_notes 'measured without --blame' errors --merge bare.json --blame
refused_after_notes 'another engine or processor (other' errors --merge part1.json <(sed 's/"engine":"fast/"engine":"other/' part2.json)
refused_after_notes 'damaged file of errors: its records do not ascend' errors --merge <(sed 's/"records":\[1\]/"records":[1,1]/' part2.json)
refused_after_notes 'is no file of errors' errors --merge net.tflite
refused_after_notes 'the errors are of other models' visq -f net.tflite -q q.tflite --merge part1.json
refused_after_notes 'without --shard and --merge' errors --bound 0.1 --merge part1.json
# Of nothing there is no verdict.
refused_after_notes '--records 0 leaves nothing' errors --records 0 --limit 0.1
refused_after_notes 'which are none' errors --bound 0.1 --blame_records 0
refused_after_notes '--shard needs --stats' errors --shard 1/2
refused_after_notes 'is not like 3/16' errors --shard 4/3 --stats x.json
refused_after_notes 'too many arguments: "part1.json"' errors part1.json
# On a terminal, what is left.
if command -v script >/dev/null; then
  script -qec "visq -f small.tflite -q small_q.tflite --records 2 --json typed.json" /dev/null </dev/null >typed || fail "on a terminal"
  grep -q 'record 2 of 2, 0 s left' typed || fail "no progress on a terminal: $(<typed)"
fi

# Own error: less than all of it, and the outputs agree with circle-eval-diff.
visq -f net.tflite -q q.tflite --records 2 --blame --metric MAE >table || fail "--blame"
[[ $(head -n 1 table) == *MAE*INHERITED*OWN*EFFECT* ]] || fail "$(head -n 1 table)"
output=$(circle-interpreter --seed 1 net.tflite | sed -nE 's/^output 0 "(.*)" .*/\1/p')
circle-eval-diff --first_model net.tflite --second_model q.tflite --print_mae --print_top1_match >diff || fail "circle-eval-diff"
grep -q "^MAE for $output is " diff && grep -q "^Mean Top-1 match ratio for $output is " diff || fail "$(<diff)"
mae=$(visq -f net.tflite -q q.tflite --metric MAE --engine fast | awk -v name="$output" '$1 == name { print $3 }')
[[ $(sed -nE 's/^MAE .* is //p' diff | xargs printf '%.4g') == "$mae" ]] || fail "visq says $mae, circle-eval-diff $(<diff)"

# All layers swapped are the source.
circle-interpreter --seed 1 net.tflite float || fail "net.tflite"
circle-interpreter --seed 1 --source net.tflite --swap "$(seq -s, 0 203)" fused.tflite swapped || fail "--swap"
cmp float0 swapped0 || fail "with all layers swapped the result is not the source"
circle-interpreter --seed 1 --source net.tflite --tap-source taps fused.tflite out 2>log || fail "--tap-source: $(<log)"
(($(find taps -type f | wc -l) >= 204)) || fail "--tap-source writes $(find taps -type f | wc -l) tensors"

# What the interpreter dumps of a model is what it runs here, by number or name; a wrong tensor is blamed, a missing one is told.
mkdir -p dump
circle-interpreter --seed 1 --tap dump --outputs out q.tflite || fail "--tap"
visq -f net.tflite -q q.tflite --records 1 --engine=reference --metric over_range --json here.json || fail "visq"
origin-dump --json --join-values dump --values-data random --source net.tflite q.tflite >joined.json 2>log || fail "--join-values: $(<log)"
figures() { sed -nE 's/.*"name":"([^"]*)".*"over_range":([0-9.e-]*).*/\1 \2/p' "$1"; }
# Tensors are compared in floats here, and in doubles there.
paste -d' ' <(figures here.json) <(figures joined.json) | awk '$1 != $3 || ($2 - $4) ^ 2 > ($2 * 1e-6) ^ 2' >difference
[[ $(figures here.json | wc -l) -gt 100 && ! -s difference ]] || fail "joined tensors have other figures: $(head -n 4 difference)"
(($(figures joined.json | wc -l) > 100)) || fail "only $(figures joined.json | wc -l) tensors are joined"
broken=$(find dump -name '0_*.npy' -size +2k | sort | sed -n 20p)
size=$(stat -c %s "$broken")
{ head -c 128 "$broken"; head -c $((size - 128)) /dev/zero; } >zeros && mv zeros "$broken"
origin-dump --join-values dump --values-data random --source net.tflite q.tflite >after 2>log || fail "--join-values: $(<log)"
origin-dump --from "$(basename "$broken" .npy | sed 's/0_//')" q.tflite >/dev/null 2>&1
cmp -s after <(origin-dump --join-values dump --values-data random --source net.tflite q.tflite 2>/dev/null) || fail "another table the second time"
rm "$broken"
origin-dump --join-values dump --values-data random --source net.tflite q.tflite >/dev/null 2>log || fail "--join-values"
grep -q 'have no file, and are computed here' log || fail "a missing tensor is not told: $(<log)"
echo extra >dump/nobody.npy
origin-dump --join-values dump --values-data random --source net.tflite q.tflite >/dev/null 2>log || fail "--join-values"
grep -q 'files or datasets are of no tensor' log || fail "an extra file is not told: $(<log)"

rm dump/nobody.npy

# The same from HDF5, whose groups hold a record each; with channels first, and of other numbers than wanted.
if [[ -x $bin/make_data ]]; then
  mkdir -p dumps/{0,1}
  for record in 0 1; do circle-interpreter --seed $((record + 1)) --tap dumps/$record --outputs out small_q.tflite || fail "--tap"; done
  join() { origin-dump --json --join-values "$1" --values-data random --source small.tflite small_q.tflite 2>log; }
  join dumps >dumps.json || fail "--join-values: $(<log)"
  make_data tensors dumps.h5 dumps/0 dumps/1 || fail "make_data tensors"
  join dumps.h5 >hdf5.json || fail "--join-values of HDF5: $(<log)"
  cmp dumps.json hdf5.json || fail "HDF5 gives other figures"
  make_data tensors one.h5 dumps/0 && join one.h5 >one.json || fail "--join-values of one record: $(<log)"
  mkdir folder && cp one.h5 folder && join folder >folder.json && cmp one.json folder.json || fail "HDF5 in a folder: $(<log)"
  ! cmp -s one.json dumps.json || fail "one record is as two"
  make_data tensors turned.h5 turn dumps/0 && join turned.h5 >turned.json || fail "--join-values of channels first: $(<log)"
  grep -qE '[1-9][0-9]* tensors have channels first, and are turned' log || fail "channels first are not told: $(<log)"
  cmp one.json turned.json || fail "channels first give other figures"
  head -c 3000 one.h5 >half.h5
  refused_after_notes 'half.h5: is no HDF5 file, or a damaged one' origin-dump --join-values half.h5 --source small.tflite small_q.tflite
  make_data hdf5 other.h5 2 || fail "make_data"
  refused_after_notes 'no file is of a tensor of the model' origin-dump --join-values other.h5 --values-data random --source small.tflite small_q.tflite
else
  echo "visq: skipped HDF5, for libhdf5-dev or libstb-dev was not there when this was built"
fi

# The fewest layers for a bound, and the config that keeps them float.
visq -f net.tflite -q q.tflite --records 1 --blame_records 1 --bound 0.001 --config keep.json >found || fail "--bound: $(<found)"
grep -q '"dtype": "float32"' keep.json || fail "no layer is kept: $(<found)"
circle-quantizer --scheme int8 --input_data random --config keep.json net.tflite kept.tflite 2>log || fail "--config: $(<log)"
visq -f net.tflite -q kept.tflite --records 1 --blame_records 1 --bound 0.001 | grep -q 'within the bound' || fail "the config does not keep what it promises"

# A verdict for scripts: status 2, and which output. Of random records there are as many as wanted.
errors --records 1 --limit 1000 >/dev/null || fail "--limit 1000"
status=0
errors --records 1 --limit 0.0000001 >/dev/null 2>log || status=$?
((status == 2)) && grep -q '^visq: output ".*": MPEIR .*, more than 1e-07$' log || fail "--limit: status $status: $(<log)"
errors --records 7 --json seven && grep -q '"records":7' seven || fail "seven random records"
refused_after_notes '--limit goes with a metric of which more is worse' errors --limit 1 --metric cosine

refused_after_notes 'needs --fp32_circle and --q_circle' visq -f net.tflite
refused_after_notes 'no operator, kind or scope is called "nonsense"' circle-interpreter --seed 1 --source net.tflite --swap nonsense q.tflite
refused_after_notes '--source goes with --tap-source or --swap' circle-interpreter --seed 1 --source net.tflite q.tflite
refused_after_notes '--metric: "nonsense" is none' visq -f net.tflite -q q.tflite --metric nonsense
refused_after_notes 'nothing is to be printed' circle-eval-diff --first_model net.tflite --second_model q.tflite
refused_after_notes '--join-values needs the model' origin-dump --join-values dump q.tflite
mkdir empty
refused_after_notes 'no file is there' origin-dump --join-values empty --source net.tflite q.tflite
echo "visq: fine"
