#!/usr/bin/env bash
# visq's figures beside those of figures.mjs, for every float network of the shared folder, quantised in int8, and for the pairs
# that others have quantised.
# usage: figures.sh BIN; exits with 77 (skipped) where there are no model files.
set -uo pipefail
bin=$(realpath "$1")
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
shared=${ORIGO_SHARED:-$root/../shared}
if [[ ! -d $shared/models ]]; then
  echo "errors: figures skipped, there is no folder $shared/models (ORIGO_SHARED says where it is)"
  exit 77
fi
shared=$(cd "$shared" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
jobs=()
for model in "$shared"/models/*_f32.tflite; do
  name=$(basename "$model" .tflite)
  # Seconds with the reference kernels, for nothing that others do not show.
  [[ $name == @(mtcnn_pnet_f32|pose_hourglass_v1_f32|conformer_f32|hair_segm_customops_f32|deeplabv3_257_mv_f32) ]] && continue
  "$bin/circle-quantizer" --scheme int8 --input_data random "$model" "$scratch/$name.tflite" 2>/dev/null &&
    jobs+=("$name=$model:$scratch/$name.tflite")
done
for pair in ad01 mnist_dw mnist_valid; do
  jobs+=("$pair=$shared/pairs/${pair}_f32.tflite:$shared/pairs/${pair}_i8.tflite")
done
for pair in cifar10 vww_96; do
  jobs+=("$pair=$shared/models/${pair}_f32.tflite:$shared/pairs/${pair}_i8.tflite")
done
node "$root/tests/errors/figures.mjs" "$bin" "$scratch" "${jobs[@]}" >"$scratch/said"
status=$?
cat "$scratch/said"
ok=$(grep -c ': OK: [1-9]' "$scratch/said")
echo "models: the figures of $ok of ${#jobs[@]} pairs are those of another program"
((status == 0 && ok >= 24))
