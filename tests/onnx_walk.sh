#!/usr/bin/env bash
# The walk of docs/onnx.md on a speech network as its exporter wrote it: which line takes the time, and which does not stand integers.
# usage: onnx_walk.sh BIN ONNX
set -uo pipefail
PATH=$(cd "$1" && pwd):$PATH net=$(cd "$2" && pwd)/silero_vad_dynamo_op18.onnx
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
fail() { echo "FAILED: $*"; exit 1; }
says() { # TEXT COMMAND…
  local said
  said=$("${@:2}" 2>errors) || fail "${*:2}: $(cat errors)"
  [[ $said == *"$1"* ]] || fail "${*:2}: $said, and nothing of $1"
}

# The sample rate decides which of two networks runs.
/usr/bin/python3 -c "import numpy; numpy.save('rate.npy', numpy.array(16000, numpy.int64))"
onnx2circle --shape=input=1,576 --shape=state=2,1,128 --bind=sr=rate.npy "$net" net.circle 2>/dev/null || fail "it is not converted"
circle2circle -O1 net.circle opt.circle 2>/dev/null || fail "it is not optimised"
circle-quantizer --scheme int8 --input_data random opt.circle int8.circle 2>/dev/null || fail "it is not quantised"
for made in net opt int8; do says ok origin-dump --check --source "$net" $made.circle; done
says "lives in operator" origin-dump --where=3806684016.py:17 opt.circle
says "output" origo run --seed=1 opt.circle
says "3806684016.py:17" origo profile opt.circle --by=line
says "3806684016.py:17" origo blame net.circle int8.circle
says "3806684016.py:17" visq -f net.circle -q int8.circle --blame --by=line
# A line that takes nearly all of the time is told by itself.
origo profile opt.circle --by=line | awk '$3 == "3806684016.py:17" { found = $2 > 30 } END { exit !found }' || fail "the time is of no line"
echo "onnx_walk: from lines of a notebook to those that int8 breaks"
