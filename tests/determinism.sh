#!/usr/bin/env bash
# The same model and options give the same bytes, model and side file, whatever the address space, the heap, the
# environment, the working directory and the name of the output are.
# usage: determinism.sh BIN networks|models
set -uo pipefail
bin=$(realpath "$1")
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/tests/folder.sh"
models=$(folder_of "$2") || exit 1
ways=("again" "with four threads" "with another heap" "from another directory" "under another name")
# Some containers refuse it; addresses are others in each run then.
setarch -R true 2>/dev/null && ways+=("without address randomisation")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/first" "$scratch/second/deeper"
big=$(printf '%060000d' 0)
optimise=("$bin/circle2circle" -O1 --common_subexpression_elimination --remove_duplicate_const --decompose_hardswish)

# run WAY INPUT OUTPUT
run() {
  case $1 in
  "again") "${optimise[@]}" "$2" "$3" ;;
  "with four threads") "${optimise[@]}" --threads=4 "$2" "$3" ;;
  "without address randomisation") env BIG="$big" setarch -R "${optimise[@]}" "$2" "$3" ;;
  "with another heap") env MALLOC_PERTURB_=165 MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=4096 "${optimise[@]}" "$2" "$3" ;;
  "from another directory") cd "$scratch/second/deeper" && "${optimise[@]}" "$(realpath --relative-to=. "$2")" "../$(basename "$3")" ;;
  *) "${optimise[@]}" "$2" "$3" ;;
  esac
}
# A side file names its target, which the last way calls something else.
target() { sed -E '/"target": \{/,/"subgraphs"/s/"file": "[^"]*"/"file": "TARGET"/' "$1"; }

files=0 compared=0 failed=0
for file in "$models"/*.tflite "$models"/*.circle "$root"/res/*.origo; do
  [[ $file == *.tflite ]] && format=tflite || format=circle
  first=$scratch/first/model.$format
  run first "$file" "$first" 2>/dev/null || continue # every_model.sh looks at these
  ((++files))
  for way in "${ways[@]}"; do
    second=$scratch/second/model.$format
    [[ $way == *name ]] && second=$scratch/second/other.$format
    rm -f "$scratch"/second/*.*
    ((++compared))
    if ! (run "$way" "$file" "$second" 2>/dev/null); then
      why="is refused"
    elif ! cmp -s "$first" "$second"; then
      why="gives another model"
    elif [[ $way == *name ]] && cmp -s <(target "$first.origin.json") <(target "$second.origin.json"); then
      continue
    elif cmp -s "$first.origin.json" "$second.origin.json"; then
      continue
    else
      why="gives another side file"
    fi
    echo "FAILED $(basename "$file"): $way it $why"
    ((++failed))
  done
done
echo "models: $files files written in ${#ways[@]} other ways: $compared compared, $failed differ"
((files > 40 && compared == ${#ways[@]} * files && failed == 0))
