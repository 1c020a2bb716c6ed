#!/usr/bin/env bash
# No verdict over nothing: of models that are not related, of outputs that the other one does not have, of bounds and budgets that
# what is written does not keep, and of a model that was written over.
# usage: verdicts.sh BIN
. "$(dirname "${BASH_SOURCE[0]}")/command_line.sh" "$1"
# STATUS TEXT COMMAND...: ends so, and the text is in the last line on stderr.
ends() {
  local expected=$1 text=$2 status=0
  shift 2
  "$@" >stdout 2>stderr || status=$?
  ((status == expected)) && [[ $(tail -n 1 stderr) == *"$text"* ]] || fail "$*: status $status, not $expected with \"$text\": $(<stderr)"
}
figure() { awk -v name="$1" '$1 == name { print $3 }' stdout; } # of a tensor in visq's table

# Two networks that have nothing in common but the shapes of their ends; and a third one whose ends are others.
network() { # NAME, a line a layer of "name OPERATOR", from x to the last
  local last=x
  echo "origo 1"; echo "model tflite version 3"
  echo "subgraph @main(%x: f32[1,8]) -> (%$2) {"
  echo "  %w: f32[8,8] = const seed $1 normal 0 0.4"
  while read -r name op; do
    [[ $op == FULLY_CONNECTED ]] && echo "  %$name: f32[1,8] = FULLY_CONNECTED(input=%$last, weights=%w)" || echo "  %$name: f32[1,8] = $op(%$last)"
    last=$name
  done
  echo "}"
}
printf '%s\n' 'a1 FULLY_CONNECTED' 'a2 RELU' 'a3 FULLY_CONNECTED' 'a4 TANH' | network 1 a4 >a.origo
printf '%s\n' 'b1 TANH' 'b2 FULLY_CONNECTED' 'b3 LOGISTIC' | network 2 b3 >b.origo
cat >c.origo <<'END'
origo 1
model tflite version 3
subgraph @main(%x: f32[1,8]) -> (%c1, %c2) {
  %c1: f32[1,8] = NEG(%x)
  %c2: f32[1,8] = EXP(%x)
}
END
for name in a b c; do circle2circle $name.origo $name.tflite 2>log || fail "$name: $(<log)"; done

# The output is compared, by position; nothing is recovered of the inputs alone.
ends 2 'visq: output "a4": max' visq -f a.tflite -q b.tflite --limit 0.0001 --metric max
awk '$1 == "a4" && $3 > 0.01 && !/recovered/ { ok = 1 } END { exit !ok }' stdout || fail "the output: $(<stdout)"
! grep -q recovered stdout || fail "something is recovered of nothing: $(<stdout)"
grep -q '^3 without figures: nothing of the result leads to it' stdout || fail "$(<stdout)"
visq -f a.tflite -q a.tflite --limit 0 --metric max >stdout 2>stderr || fail "a model and itself: $(<stderr)"
ends 1 'nothing to compare' visq -f a.tflite -q c.tflite
ends 1 'nothing to compare' visq -f a.tflite -q c.tflite --limit 1000
ends 1 'nothing to compare' origo blame a.tflite c.tflite
ends 1 'outputs' circle-eval-diff --first_model a.tflite --second_model c.tflite --print_mae
# A tensor that somebody asks for is not made up either, nor are layers swapped that have no place.
circle-interpreter --seed 1 --source a.tflite --tap-source taps b.tflite out 2>stderr || fail "--tap-source: $(<stderr)"
grep -q ', 0 are recovered; the result tells nothing of the others' stderr || fail "--tap-source: $(<stderr)"
ends 1 'have no place there' circle-interpreter --seed 1 --source a.tflite --swap a3 c.tflite

# An output that the result does not have is no output of it, whatever is computed there; outputs that changed places are others.
cat >two.origo <<'END'
origo 1
model tflite version 3
subgraph @main(%x: f32[1,8]) -> (%p, %q) {
  %p: f32[1,8] = NEG(%x)
  %q: f32[1,8] = EXP(%p)
}
END
sed 's/(%p, %q)/(%q, %p)/' two.origo >turned.origo
for name in two turned; do circle2circle $name.origo $name.tflite 2>log || fail "$name: $(<log)"; done
circle2circle --change_outputs=p two.tflite one.tflite 2>log || fail "$(<log)"
ends 2 'output "q": no max, for it is no output of the result' visq -f two.tflite -q one.tflite --limit 1000 --metric max
ends 2 'visq: output "p": max' visq -f two.tflite -q turned.tflite --limit 0.0001 --metric max
# A constant that is put out is compared, too.
for number in 1 2; do
  printf '%s\n' 'origo 1' 'model tflite version 3' 'subgraph @main(%x: f32[1]) -> (%y, %k) {' "  %k: f32[1] = const [$number]" \
    '  %y: f32[1] = NEG(%x)' '}' >constant$number.origo
  circle2circle constant$number.origo constant$number.tflite 2>log || fail "$(<log)"
done
ends 2 'output "k": max 1, more than' visq -f constant1.tflite -q constant2.tflite --limit 0.0001 --metric max
visq -f constant1.tflite -q constant1.tflite --limit 0 --metric max >/dev/null 2>log || fail "$(<log)"

# What is finite in one of the two only is no small difference.
printf '%s\n' 'origo 1' 'model tflite version 3' 'subgraph @main(%x: f32[4]) -> (%y) {' '  %n: f32[4] = ABS(%x)' '  %y: f32[4] = SQRT(%n)' '}' >sound.origo
sed 's/ABS/NEG/' sound.origo >odd.origo
for name in sound odd; do circle2circle $name.origo $name.tflite 2>log || fail "$(<log)"; done
circle-eval-diff --first_model sound.tflite --second_model odd.tflite --print_mae --print_mpeir >stdout 2>log || fail "$(<log)"
[[ $(grep -c 'is nan$' stdout) == 2 ]] || fail "NaN is averaged away: $(<stdout)"
ends 2 'finite in one of the two only' visq -f sound.tflite -q odd.tflite --limit 1000 --metric max

# A bound holds for what is written, ends and all; the ends alone may be more than it allows.
cat >deep.origo <<'END'
origo 1
model tflite version 3
subgraph @main(%x: f32[1,8,8,3]) -> (%y) {
  %f: f32[8,3,3,3] = const seed 1 normal 0 0.3
  %b: f32[8] = const seed 2 normal 0 0.1
  %w: f32[10,8] = const seed 4 normal 0 0.4
  %axes: i32[2] = const [1, 2]
  %conv: f32[1,8,8,8] = CONV_2D(%x, %f, %b) {padding=SAME, stride_w=1, stride_h=1, fused_activation_function=RELU}
  %mean: f32[1,8] = MEAN(%conv, %axes)
  %y: f32[1,10] = FULLY_CONNECTED(%mean, %w)
}
END
circle2circle deep.origo deep.tflite 2>log || fail "$(<log)"
errorOf() { visq -f deep.tflite -q "$1" --metric mae >stdout 2>stderr || fail "visq: $(<stderr)"; figure y; }
solve() { circle-mpqsolver --data random --input_model deep.tflite "$@"; }
for kind in int8 uint8; do
  levels=
  [[ $kind == uint8 ]] && levels=--levels=uint8,float32 # there, weights of 16 bits have no kernel here
  ends 2 'the error is still' solve --quantized_dtype $kind --max_error 1e-6 --output_model never.tflite
  [[ ! -e never.tflite ]] || fail "a model in spite of the verdict"
  held=0
  for most in 1e-4 1e-3 3e-3 1e-2 1e-1; do
    for ends in "" "--input_dtype float32 --output_dtype float32"; do
      rm -f written.*
      # shellcheck disable=SC2086
      solve --quantized_dtype $kind --max_error $most $levels $ends --output_model written.circle >said 2>stderr && held=$((held + 1))
      case $? in
        0)
          said=$(sed -nE 's/^mean absolute error: ([0-9.e+-]+) at .*/\1/p' said)
          is=$(errorOf written.circle) || { echo "$is"; exit 1; }
          awk -v is="$is" -v said="$said" -v most=$most 'BEGIN { exit !(is <= most * 1.001 && (is - said) ^ 2 <= (said * 0.01) ^ 2) }' ||
            fail "$kind, $most, $ends: says $said, is $is"
          ;;
        2) grep -q 'the error is still' stderr || fail "$(<stderr)" ;;
        *) fail "$kind $most: $(<stderr)" ;;
      esac
    done
  done
  ((held >= 4)) || fail "$kind: only $held bounds held"
done
# Bytes are those of the written model, biases included; costs of nobody bound nothing.
solve --quantized_dtype int8 --max_bytes 1500 --output_model small.tflite >said 2>stderr || fail "--max_bytes: $(<stderr)"
awk '/^mean absolute error/ { exit !($0 ~ /at a cost of/) }' said || fail "$(<said)"
ends 2 'the cost is still' solve --quantized_dtype int8 --max_bytes 100 --output_model never.tflite
echo '{"layers": []}' >nobody.json
ends 1 'gives no layer a cost' solve --max_time 1 --costs nobody.json --output_model never.circle

# What is found on some records is held against all of them.
circle-quantizer --scheme int8 --input_data random deep.tflite q.tflite 2>log || fail "$(<log)"
bound() { visq -f deep.tflite -q q.tflite --records 4 "$@"; }
status=0
least=$(for count in 1 2 3 4; do bound --blame_records $count --bound 1e9 2>/dev/null | sed -nE 's/^output error ([0-9.e+-]+).*/\1/p'; done | sort -g | head -n 1)
bound --blame_records 1 --bound "$least" --config keep.json >said 2>stderr || status=$?
((status == 0 || status == 2)) || fail "--bound: status $status: $(<stderr)"
((status == 0)) || { grep -q 'on all 4, more than' stderr && [[ ! -e keep.json ]] || fail "--bound: $(<stderr)"; }

# What is written over is compared as it was.
circle2circle "$root/res/resnet_preact.origo" net.tflite 2>log || fail "$(<log)"
cp net.tflite same.tflite
size=$(stat -c %s net.tflite)
origo optimize net.tflite other.tflite >apart 2>log || fail "$(<log)"
for how in same.tflite ./same.tflite; do
  cp net.tflite same.tflite
  origo optimize same.tflite $how >together 2>stderr || fail "$(<stderr)"
  cmp <(grep '^operators' apart | tr -s ' ') <(grep '^operators' together | tr -s ' ') || fail "in place: $(<together)"
  grep -q "; $size bytes, " stderr || fail "in place: $(<stderr)"
done
cp net.tflite same.tflite
origo quantize same.tflite same.tflite >together 2>log && ! grep -q '^file .* the same' together || fail "in place: $(<together) $(<log)"
for level in -O3 -O4; do ends 1 'no such level' origo optimize $level net.tflite never.tflite; done
circle2circle -O1 --embed-origin=none net.tflite bare.tflite 2>log && ! grep -q 'origins included' log || fail "none are included: $(<log)"
circle2circle -O1 net.tflite full.tflite 2>log && grep -q 'origins included' log || fail "$(<log)"

# What describes inputs and outputs by their place goes with them, with a note; else it stays.
cat >described.origo <<'END'
origo 1
model tflite version 3
metadata "TFLITE_METADATA" "what users are told of each"
subgraph @main(%x: f32[1,8]) -> (%p, %q) {
  %h: f32[1,8] = NEG(%x)
  %s: f32[1,8] = NEG(%h)
  %p: f32[1,8] = EXP(%s)
  %q: f32[1,8] = TANH(%s)
}
END
circle2circle described.origo described.tflite 2>log && grep -q TFLITE_METADATA described.tflite || fail "$(<log)"
# FILE COMMAND...: the command, and whether the description is in FILE and a note says that it is not
keeps() { "${@:2}" 2>log || fail "${*:2}: $(<log)"; grep -q TFLITE_METADATA "$1" && ! grep -q TFLITE_METADATA log || fail "${*:2}: lost: $(<log)"; }
drops() { "${@:2}" 2>log || fail "${*:2}: $(<log)"; ! grep -q TFLITE_METADATA "$1" && grep -q "note: metadata 'TFLITE_METADATA' is dropped" log || fail "${*:2}: stays: $(<log)"; }
for kind in tflite circle origo; do
  keeps out.$kind circle2circle -O1 described.tflite out.$kind
  keeps out.$kind circle2circle --change_outputs=p,q described.tflite out.$kind
  for outputs in p q,p p,q,s; do drops out.$kind circle2circle --change_outputs=$outputs described.tflite out.$kind; done
done
keeps out.tflite circle-quantizer --scheme int8 --input_type int8 --output_type int8 --input_data random described.tflite out.tflite
drops out.tflite circle-opselector --by_id 0-2 described.tflite out.tflite
drops out.tflite circle-resizer --input_shapes '[2,8]' described.tflite out.tflite
keeps out.tflite circle-resizer --input_shapes '[1,8]' described.tflite out.tflite
echo "passed"
