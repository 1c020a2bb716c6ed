#!/usr/bin/env bash
# Networks that stand both as .tflite and as .onnx, converted by two programs: which layers agree, and which part first.
# usage: diff_onnx.sh BIN MODELS ONNX
set -uo pipefail
PATH=$(cd "$1" && pwd):$PATH models=$(cd "$2" && pwd) onnx=$(cd "$3" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
fail() { echo "FAILED: $*"; exit 1; }

# imported NAME OPTIONS…: with the layout that circle has, as NAME.circle
imported() {
  onnx2circle "${@:2}" "$onnx/$1.onnx" first.circle 2>/dev/null && circle2circle -O1 --nchw_to_nhwc_input_shape first.circle "$1.circle" 2>/dev/null ||
    fail "$1 is not converted"
}
# The same weights and the same layers: all that the two have in common agrees.
imported basic_pitch_tf2onnx_op15 --shape=serving_default_input_2:0=1,43844,1
said=$(origo diff --by=scope "$models/basic_pitch_nmp_f32.tflite" basic_pitch_tf2onnx_op15.circle 2>/dev/null)
[[ $said =~ ([0-9]+)\ of\ ([0-9]+)\ tensors\ agree && ${BASH_REMATCH[1]} == "${BASH_REMATCH[2]}" && ${BASH_REMATCH[1]} -ge 60 ]] || fail "basic_pitch: $said"
[[ $said == *"123 of 123 operators related"* && $said == *"model_1/conv2d_5/ "* ]] || fail "basic_pitch by scope: $said"
# The same weights, normalised otherwise in the tenth layer: what is behind it is off by a little more.
imported ultraface_rfb320_op9
said=$(origo diff --by=operator --json "$models/ultraface_rfb320_f32.tflite" ultraface_rfb320_op9.circle 2>/dev/null)
node -e 'const told = JSON.parse(process.argv[1]);
  if (!(told.tensors >= 30 && told.agree >= 25 && told.agree < told.tensors && told.first.off < 1e-3 && told.first.name.includes("basenet.11."))) throw said' "$said" ||
  fail "ultraface: $said"
[[ $said == *"operator 10 is the first that has a constant that is not the source"* ]] || fail "ultraface: $said"
echo "diff_onnx: two networks, converted twice"
