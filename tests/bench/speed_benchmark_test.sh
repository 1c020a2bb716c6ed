#!/usr/bin/env bash
# speed_benchmark.sh with a native runtime that is none: its table and its means follow from what each engine says.
# usage: speed_benchmark_test.sh BIN_DIR
set -euo pipefail
bin=$1
work=$(mktemp -d)
models=$work/models
mkdir -p $models/mini
"$bin/circle2circle" -O1 res/mobilenet_v1.origo $models/mobilenet_v1.tflite 2>"$work/errors"
printf 'origo 1\nmodel tflite version 3\nsubgraph @main(%%x: f32[1,8]) -> (%%y) {\n  %%y: f32[1,8] = ADD(%%x, %%x)\n}\n' >"$work/add.origo"
"$bin/circle2circle" -O0 "$work/add.origo" $models/mini/add.tflite 2>"$work/errors"
trap 'rm -rf "$work"' EXIT
fail() { echo "speed_benchmark_test.sh: $*" >&2; exit 1; }
# A thousand seconds where the delegate is made explicitly; refused else.
printf '#!/bin/sh\n[ "$4" = 1 ] && echo 900000.0 1000000.0 3 || echo nointerp\n' >"$work/native"
chmod +x "$work/native"
run() { LEAST=0 ONLY=${1-mobilenet_v1} ROUNDS=2 SECONDS_EACH=0.01 tests/bench/speed_benchmark.sh "$bin" $models "$work/native" 2>"$work/errors"; }
table=$(run)
grep -qE '^\| `mobilenet_v1` \| [0-9.]+ \| 1000000\.000 \| [0-9]{5,}\.[0-9]+ \| [0-9.]+–[0-9.]+ \| [-0-9.]+, [-0-9.]+ \| [0-9.]+, [0-9.]+ \|$' <<<"$table" || fail "$table"
grep -q '^of 1 that the delegate runs best: ' <<<"$table" || fail "$table"
grep -qx 'below 1: none' <<<"$table" || fail "$table"
[[ $(MEASURE=least run) == *' 900000.000 '* ]] || fail "MEASURE=least"
table=$(OPTIMISE=1 run)
grep -qE '^\| `mobilenet_v1` \|.*\| [0-9.]+ \| 1\.00 \|$' <<<"$table" || fail "OPTIMISE=1: $table $(cat "$work/errors")"
grep -qE '^as it is / -O1, geometric mean: here [0-9.]+, native 1\.00$' <<<"$table" || fail "OPTIMISE=1: $table"
# What differs from round to round is measured as often as it may be, and named.
printf '#!/bin/sh\necho >>"%s/calls"\n[ $(($(wc -l <"%s/calls") %% 2)) = 1 ] && echo 1 100 3 || echo 1 300 3\n' "$work" "$work" >"$work/native"
table=$(MOST=5 FIRSTS=3 run)
grep -qx 'more than 3 % wide: mobilenet_v1' <<<"$table" || fail "$table"
# Calls: each mode three times, first runs of the small model and of this one, and five rounds.
[[ $(wc -l <"$work/calls") == $((6 + 2 * 3 + 5)) ]] || fail "$(wc -l <"$work/calls") calls"
printf '#!/bin/sh\necho 0.0000009 0.000001 3\n' >"$work/native"
table=$(run)
grep -qx 'below 1: mobilenet_v1' <<<"$table" || fail "what is slower is not said"
printf '#!/bin/sh\necho nomodel\nexit 1\n' >"$work/native"
run >"$work/table"
grep -qx 'mobilenet_v1: left out: the native runtime does not run it' "$work/errors" || fail "$(cat "$work/errors")"
