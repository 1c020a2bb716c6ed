#!/usr/bin/env bash
# Runs the commands of a page of docs/ and compares what they print with the page: lines "    $ COMMAND", each followed by its
# output. A line "…" stands for any number of lines. A command of which no output is shown only has to succeed. Times differ,
# and so may a figure of digits read right, so of commands with those neither numbers nor the order of lines count.
# usage: pages.sh BIN PAGE COMMANDS   COMMANDS: how many the page has at least
#        ORIGO_BLESS=1 in the environment writes the page anew
set -uo pipefail
bin=$(realpath "$1") page=$2 least=$3
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
file=$root/docs/$page.md
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
ln -s "$root/res" "$root/tests" .
mkdir path
PATH=$bin:$scratch/path:$PATH
# Graphviz need not be there; that what we write is of its language, viewers_samples looks at.
command -v dot >/dev/null || { printf '#!/bin/sh\ngrep -q "^digraph"\n' >path/dot && chmod +x path/dot; }

# block N: the Nth ```json block of the page.
block() { awk -v n="$1" '/^```json$/ { inside = ++at == n; next } /^```$/ { inside = 0 } inside' "$file"; }
mobilenet() { circle2circle -O1 res/mobilenet_v2.origo net.circle && circle2circle res/mobilenet_v2.origo net.tflite; }
case $page in
walkthrough)
  circle2circle res/mobilenet_v2.origo net.tflite 2>/dev/null && rm net.tflite.origin.json
  cat >npu.json <<'TARGET'
{"target": "npu", "ops": {
  "CONV_2D": {"filter": {"constant": true}}, "DEPTHWISE_CONV_2D": {"filter": {"constant": true}}, "ADD": {}, "RELU": {},
  "MEAN": {}, "FULLY_CONNECTED": {}}}
TARGET
  ;;
blame)
  cat >norm.origo <<'NET'
origo 1
model circle version 0
subgraph @main(%x: f32[1,4]) -> (%y) {
  %gamma: f32[4] = const [0.5, -0.5, 2, 1]
  %beta: f32[4] = const [1, -3, 0, 1]
  %b: f32[1,4] = FLOOR(%x)
  %scaled: f32[1,4] = MUL(%b, %gamma)
  %shifted: f32[1,4] = ADD(%scaled, %beta) {fused_activation_function=RELU}
  %y: f32[1,4] = EXP(%shifted)
}
NET
  mkdir records && perl -e 'print pack("f<*", 0, -10, 1, 2)' >records/0
  ;;
profiles) mobilenet && block 1 >kernels.json ;;
targets) block 3 >npu.json ;;
viewers) mobilenet && circle2circle --origin=ignore res/mobilenet_v2.origo net.tflite ;;
onecc | cookbook)
  circle2circle res/mobilenet_v2.origo net.tflite 2>/dev/null
  cat >net.cfg <<'CFG'
[onecc]
one-import-tflite = True
one-optimize = True
one-quantize = True
include = O1

[one-import-tflite]
input_path = net.tflite
output_path = net.circle

[one-optimize]
input_path = net.circle
output_path = net.opt.circle

[one-quantize]
input_path = net.opt.circle
output_path = net.q8.circle
granularity = channel      # one scale for each channel of weights
CFG
  ;;
failing-models)
  cat >net.origo <<'NET'
origo 1
model circle version 0
subgraph @main(%x: f32[2,3]) -> (%y, %z) {
  %w: f32[2,3] = const seed 1 normal 0 1
  %a: f32[2,3] = MUL(%x, %w)
  %b: f32[2,3] = ADD(%a, %w) {fused_activation_function=RELU}
  %c: f32[2,3] = EXP(%b)
  %d: f32[2,3] = NEG(%c)
  %y: f32[2,3] = TANH(%d)
  %z: f32[2,3] = ABS(%x)
}
NET
  circle2circle net.origo net.circle 2>/dev/null
  printf '#!/bin/sh\ncircledump "$1" | grep -A1 "= EXP" | grep -q "= NEG" && echo "NEG behind EXP" && exit 1\nexit 0\n' >fails.sh
  chmod +x fails.sh
  ;;
proof)
  cat >net.origo <<'NET'
origo 1
model circle version 0
subgraph @main(%x: f32[1,4]) -> (%y) {
  %c: f32[] = const [0.3]
  %d: f32[] = const [0.7]
  %a: f32[1,4] = MUL(%x, %c)
  %y: f32[1,4] = MUL(%a, %d)
}
NET
  ;;
quantization)
  mkdir build && ln -s "$bin" build/bin
  ;;
origo) circle2circle res/mobilenet_v2.origo net.tflite && rm net.tflite.origin.json ;;
esac || exit 1

# like EXPECTED ACTUAL COMMAND: as the page says.
like() {
  local expected actual i j
  if [[ $3 == *--profile* || $3 == *after.json* || $3 == *digits.py* ]]; then
    diff <(printf %s "$1" | timeless) <(printf %s "$2" | timeless)
    return
  fi
  mapfile -t expected <<<"$1"
  mapfile -t actual <<<"$2"
  for ((i = j = 0; i < ${#expected[@]}; ++i)); do
    if [[ ${expected[i]} == "…" ]]; then
      ((++i))
      while ((j < ${#actual[@]})) && [[ $i -ge ${#expected[@]} || ${actual[j]} != "${expected[i]}" ]]; do ((++j)); done
      ((i < ${#expected[@]})) || break
    fi
    if [[ $j -ge ${#actual[@]} || ${actual[j]} != "${expected[i]}" ]]; then
      diff <(echo "$1") <(echo "$2")
      return 1
    fi
    ((++j))
  done
  if ((j < ${#actual[@]})); then
    diff <(echo "$1") <(echo "$2")
    return 1
  fi
}
timeless() { sed -E 's/-?[0-9]+\.[0-9]+/#/g; s/ +/ /g; s/^ //' | sort; }

mapfile -t lines <"$file"
commands=0 failed=0 at=0
while ((at < ${#lines[@]})); do
  line=${lines[at++]}
  echo "$line" >&3
  [[ $line == "    \$ "* ]] || continue
  ((++commands))
  command=${line#    \$ } expected= blank=
  while ((at < ${#lines[@]})) && [[ -z ${lines[at]} || (${lines[at]} == "    "* && ${lines[at]} != "    \$ "*) ]]; do
    if [[ -z ${lines[at]} ]]; then
      blank+=$'\n'
    else
      expected+=$blank$(sed 's/ *$//' <<<"${lines[at]#    }")$'\n' blank=
    fi
    ((++at))
  done
  ((at -= ${#blank}))
  actual=$(bash -o pipefail -c "$command" 2>&1)
  status=$?
  # 1 is what ./fails.sh is for.
  [[ $command == ./fails.sh* && $status == 1 ]] && status=0
  # 2 is a verdict, and 141 a tool whose reader has seen enough; anything else must not become a page.
  if ((status != 0 && status != 2 && status != 141)); then
    echo "FAILED: docs/$page.md: \"$command\" ends with $status: $actual"
    exit 1
  fi
  actual=$(sed 's/ *$//' <<<"$actual")
  expected=${expected%$'\n'}
  if [[ -n $expected ]] && ! differs=$(like "$expected" "$actual" "$command"); then
    echo "docs/$page.md shows something else than \"$command\" prints:"$'\n'"$differs"
    expected=$actual failed=1
  fi
  [[ -z $expected ]] || sed 's/^\(.\)/    \1/' <<<"$expected" >&3
done 3>new.md
if [[ -n ${ORIGO_BLESS-} ]]; then
  cp new.md "$file"
elif ((failed)); then
  echo "FAILED: ORIGO_BLESS=1 $0 BIN $page $least writes the page anew"
  exit 1
fi
((commands >= least)) || { echo "FAILED: docs/$page.md has $commands commands, $least expected"; exit 1; }
echo "models: $commands commands of docs/$page.md print what the page says"
