#!/usr/bin/env bash
# The command lines about errors by layer, on a sample network: visq, circle-eval-diff, circle-interpreter --tap-source and --swap,
# origin-dump --join-values. What they say fits together, is the same again, and mistakes are one line.
# usage: visq.sh BIN
. "$(dirname "${BASH_SOURCE[0]}")/command_line.sh" "$1"

circle2circle "$root/res/mobilenet_v2.origo" net.tflite || fail "res/mobilenet_v2.origo"
circle2circle -O1 net.tflite fused.tflite || fail "-O1"
circle-quantizer --scheme int8 --input_data random net.tflite q.tflite 2>log || fail "circle-quantizer: $(<log)"

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
grep -q '"metric":"MPEIR"' a.json && grep -q '"metric":"MSE"' mse.json || fail "the metric is not named"
grep -q '^digraph' a.json.dot && grep -q 'color_table' a.json.dot || fail "no picture"

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
diff <(figures here.json) <(figures joined.json) >difference || fail "joined tensors have other figures: $(head -n 4 difference)"
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
grep -q 'files are of no tensor' log || fail "an extra file is not told: $(<log)"

# The fewest layers for a bound, and the config that keeps them float.
visq -f net.tflite -q q.tflite --records 1 --blame_records 1 --bound 0.001 --config keep.json >found || fail "--bound: $(<found)"
grep -q '"dtype": "float32"' keep.json || fail "no layer is kept: $(<found)"
circle-quantizer --scheme int8 --input_data random --config keep.json net.tflite kept.tflite 2>log || fail "--config: $(<log)"
visq -f net.tflite -q kept.tflite --records 1 --blame_records 1 --bound 0.001 | grep -q 'within the bound' || fail "the config does not keep what it promises"

refused_after_notes 'needs --fp32_circle and --q_circle' visq -f net.tflite
refused_after_notes 'no operator of the source, and no scope, is called "nonsense"' circle-interpreter --seed 1 --source net.tflite --swap nonsense q.tflite
refused_after_notes '--source goes with --tap-source or --swap' circle-interpreter --seed 1 --source net.tflite q.tflite
refused_after_notes '--metric: "nonsense" is none' visq -f net.tflite -q q.tflite --metric nonsense
refused_after_notes 'nothing is to be printed' circle-eval-diff --first_model net.tflite --second_model q.tflite
refused_after_notes '--join-values needs the model' origin-dump --join-values dump q.tflite
mkdir empty
refused_after_notes 'no file is there' origin-dump --join-values empty --source net.tflite q.tflite
echo "visq: fine"
