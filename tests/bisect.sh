#!/usr/bin/env bash
# circle2circle --bisect judges the run that the command line asks for, whatever options meet, and blames no model for a command that
# cannot be started.
# usage: bisect.sh BIN
. "$(dirname "${BASH_SOURCE[0]}")/command_line.sh" "$1"

cat >net.origo <<'END'
origo 1
model circle version 0
subgraph @main(%x: f32[1?,4,4,1], %u: f32[2,8]) -> (%y, %z, %v) {
  %w: f32[1,1,1,1] = const [2]
  %b: f32[1] = const [0]
  %s: f32[4,8] = const [0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6]
  %c: f32[1?,4,4,1] = CONV_2D(%x, %w, %b) {padding=VALID, stride_w=1, stride_h=1, dilation_w_factor=1, dilation_h_factor=1}
  %r: f32[1?,4,4,1] = RELU(%c)
  %y: f32[1?,4,4,1] = RELU(%r)
  %m: f32[1?,4,4,1] = ABS(%x)
  %n: f32[1?,4,4,1] = ABS(%m)
  %z: f32[1?,4,4,1] = EXP(%n)
  %v: f32[2,4] = FULLY_CONNECTED(input=%u, weights=%s)
}
END
circle2circle net.origo net.circle 2>log || fail "net.origo: $(<log)"
cat >npu.json <<'END'
{"target": "npu", "schema_version": 1, "ops": {"RELU": {}, "ABS": {}, "EXP": {}, "FULLY_CONNECTED": {},
  "CONV_2D": {"attributes": {"fused_activation_function": {"in": ["NONE"]}}}}}
END

# Keeps what it is given. It fails on what the whole run writes.
cat >judge.sh <<'END'
#!/bin/bash
cp "$1" "seen/$(ls seen | wc -l)"
! cmp -s "$1" whole/model
END
chmod +x judge.sh

# OPTION...: --bisect sees what the run writes, with all rewrites and with none, and leaves the first that fails, side file and all.
agrees() {
  local kind=${1##*.}
  shift
  rm -rf out.* side.json whole seen
  mkdir whole seen
  circle2circle -O1 "$@" net.circle "out.$kind" 2>log || fail "$*: $(<log)"
  cp "out.$kind" whole/model
  cat "out.$kind.origin.json" side.json >whole/side 2>/dev/null
  rm -f "out.$kind.origin.json" side.json
  circle2circle -O1 "$@" --bisect=./judge.sh net.circle "out.$kind" >found 2>log || fail "--bisect $*: $(<log)"
  cmp -s whole/model seen/0 || fail "--bisect $*: the first model that it judges is not the run's"
  cmp -s whole/model "out.$kind" || fail "--bisect $*: leaves another model"
  cmp -s whole/side <(cat "out.$kind.origin.json" side.json 2>/dev/null) || fail "--bisect $*: another side file"
  circle2circle -O1 "$@" --fuel=0 net.circle "out.$kind" 2>log || fail "--fuel=0 $*: $(<log)"
  cmp -s "out.$kind" seen/1 || fail "--bisect $*: without rewrites it judges another model"
}
options=("--change_outputs=y,v" "--target=npu.json" "--dynamic_batch_to_single_batch" "--sparsify_tensor=s --sparsify_format=d,s"
  "--skip=fuse-activation" "--embed-origin=ids" "--embed-origin=none" "--no-origin-json" "--origin-json=side.json" "--origin=ignore"
  "--verify-each" "--verify-numerics")
circle2circle -O1 net.circle plain.circle 2>log || fail "$(<log)"
for ((i = 0; i < ${#options[@]}; ++i)); do
  # shellcheck disable=SC2086
  ((i >= 7)) || { circle2circle -O1 ${options[i]} net.circle other.circle 2>log && ! cmp -s plain.circle other.circle; } ||
    fail "${options[i]} changes nothing, so that it shows nothing: $(<log)"
  for ((k = i; k < ${#options[@]}; ++k)); do
    [[ ${options[i]} == --embed-origin=* && ${options[k]} == --embed-origin=* && $i != "$k" ]] && continue
    second=${options[k]}
    ((i == k)) && second=
    # shellcheck disable=SC2086
    agrees circle ${options[i]} $second
  done
done
agrees tflite --target=npu.json
agrees origo --target=npu.json --change_outputs=y,v

# It does not go beyond --fuel, which the run does not.
rm -rf seen && mkdir seen
circle2circle -O1 --fuel=1 net.circle out.circle 2>log && cp out.circle whole/model
circle2circle -O1 --fuel=1 --bisect=./judge.sh net.circle out.circle >found 2>log || fail "--fuel: $(<log)"
grep -q '^the command fails first after rewrite 1 ' found || fail "--fuel=1: $(<found)"

# What the target refuses is never blamed, and what is no output is not there to be judged.
cat >net2.origo <<'END'
origo 1
model circle
subgraph @main(%x: f32[1,4,4,1]) -> (%y) {
  %w: f32[1,1,1,1] = const [2]
  %b: f32[1] = const [0]
  %c: f32[1,4,4,1] = CONV_2D(%x, %w, %b) {padding=VALID, stride_w=1, stride_h=1, dilation_w_factor=1, dilation_h_factor=1}
  %y: f32[1,4,4,1] = RELU(%c)
}
END
cat >needs_relu.sh <<'END'
#!/bin/bash
origin-dump "$1" | grep -q '^1 *RELU'
END
chmod +x needs_relu.sh
circle2circle -O1 --target=npu.json --bisect=./needs_relu.sh net2.origo out.circle >found 2>log || fail "$(<log)"
[[ $(<found) == "the command succeeds after all 0 rewrites" ]] || fail "a rewrite that the target refuses is blamed: $(<found)"
circle2circle -O1 --bisect=./needs_relu.sh net2.origo out.circle >found 2>log || fail "$(<log)"
grep -q '^the command fails first after rewrite 1 (fuse-activation' found || fail "$(<found)"

# A command that cannot be started, or that somebody ends, says nothing about the model.
echo 'exit 0' >no_program.sh
refused_after_notes 'cannot be started (exit status 127)' circle2circle -O1 --bisect=./nowhere net.circle out.circle
refused_after_notes 'cannot be started (exit status 126)' circle2circle -O1 --bisect=./no_program.sh net.circle out.circle
echo 'exit 130' >ends.sh && chmod +x ends.sh
refused_after_notes 'was interrupted' circle2circle -O1 --bisect=./ends.sh net.circle out.circle
refused_after_notes 'that the command can read' circle2circle -O1 --bisect=true net.circle -
refused_after_notes 'fails before the first rewrite' circle2circle -O1 --bisect=false net.circle out.circle
echo "passed: ${#options[@]} options, each with each"
