#!/usr/bin/env bash
# visq's figures beside those of figures.mjs, for every float network, quantised in int8, and, beside public models, for the pairs
# that others have quantised.
# usage: figures.sh BIN networks|models
set -uo pipefail
bin=$(realpath "$1")
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/tests/folder.sh"
models=$(folder_of "$2") || exit 1
pairs=$models/../pairs least=15
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
jobs=()
for model in "$models"/*_f32.tflite; do
  name=$(basename "$model" .tflite)
  # Seconds with the reference kernels, for nothing that others do not show.
  [[ $name == @(mtcnn_pnet_f32|pose_hourglass_v1_f32|conformer_f32|hair_segm_customops_f32|deeplabv3_257_mv_f32) ]] && continue
  "$bin/circle-quantizer" --scheme int8 --input_data random "$model" "$scratch/$name.tflite" 2>/dev/null &&
    jobs+=("$name=$model:$scratch/$name.tflite")
done
if [[ $2 == models ]]; then
  least=24
  for pair in ad01 mnist_dw mnist_valid; do jobs+=("$pair=$pairs/${pair}_f32.tflite:$pairs/${pair}_i8.tflite"); done
  for pair in cifar10 vww_96; do jobs+=("$pair=$models/${pair}_f32.tflite:$pairs/${pair}_i8.tflite"); done
fi
node "$root/tests/errors/figures.mjs" "$bin" "$scratch" "${jobs[@]}" >"$scratch/said"
status=$?
cat "$scratch/said"
ok=$(grep -c ': OK: [1-9]' "$scratch/said")
echo "models: the figures of $ok of ${#jobs[@]} pairs are those of another program"
((status == 0 && ok >= least))
