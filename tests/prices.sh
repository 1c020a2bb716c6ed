#!/usr/bin/env bash
# What circle2circle --prices says of each pass and of each rewrite is what the models themselves say.
# usage: prices.sh BIN
. "$(dirname "${BASH_SOURCE[0]}")/command_line.sh" "$1"
export TMPDIR=$scratch
operators() { circle-metrics --json "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["model"]["operators"])'; }

circle2circle "$root/res/resnet_preact.origo" net.tflite 2>log || fail "$(<log)"
circle2circle -O1 --prices=pass --prices-json net.tflite all.tflite >passes.json 2>log || fail "--prices=pass: $(<log)"
circle2circle -O1 net.tflite plain.tflite 2>log || fail "$(<log)"
cmp all.tflite plain.tflite || fail "--prices changes the result"
python3 -c 'import json; [print(row["pass"], row["with"]["operators"], row["without"]["operators"]) for row in json.load(open("passes.json"))]' >passes
(($(wc -l <passes) >= 3)) || fail "$(wc -l <passes) passes"
while read -r pass with without; do
  circle2circle -O1 --skip="$pass" net.tflite skipped.tflite 2>log || fail "--skip=$pass: $(<log)"
  (($(operators skipped.tflite) == without && $(operators plain.tflite) == with)) || fail "$pass: $with with it, $without without it"
done <passes

# Rewrites one by one add up to the difference between source and result; outputs are as near as rounding lets them.
circle2circle -O1 --prices=rewrite --prices-json net.tflite all.tflite >rewrites.json 2>log || fail "--prices=rewrite: $(<log)"
python3 - "$(operators net.tflite)" "$(operators all.tflite)" <<'PY' || fail "rewrites do not add up"
import json, sys
rows = json.load(open("rewrites.json"))
before, after = map(int, sys.argv[1:])
assert len(rows) >= 30, len(rows)
assert sum(row["with"]["operators"] - row["without"]["operators"] for row in rows) == after - before
for row in rows:
    assert row["millisecondsWith"] > 0 and row["millisecondsWithout"] > 0 and row["millisecondsNoise"] >= 0, row
    assert 0 <= row["off"] < 1e-4, row
assert any(row["off"] > 0 for row in rows), "no rewrite rounds otherwise"
PY
circle2circle -O1 --prices=pass net.tflite all.tflite 2>/dev/null >table || fail "a table"
[[ $(head -n 1 table) =~ ^PASS.*REWRITES.*OPERATORS.*MEMORY.*MILLISECONDS.*NOISE.*OFF$ ]] || fail "$(head -n 1 table)"
(($(wc -l <table) == $(wc -l <passes) + 1)) || fail "$(<table)"
[[ -z $(find . -name 'origo-prices*') ]] || fail "litter: $(find . -name 'origo-prices*')"
if circle2circle -O1 --prices-json net.tflite x.tflite 2>log; then fail "--prices-json alone"; fi
[[ $(<log) == *"goes with --prices"* && ! -e x.tflite ]] || fail "$(<log)"
