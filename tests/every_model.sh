#!/usr/bin/env bash
# Sends every model file through circle2circle -O1 and lets origin-dump --check judge the result by the bytes of the two files.
# usage: every_model.sh BIN networks|models           each is done right, or refused and listed in docs/refused-models.md
#        every_model.sh BIN samples                   the same for res/
#        every_model.sh BIN hostile networks|models   each of their hostile/ is done right or refused in one line; nothing crashes,
#                                                     hangs or grows
# Every second public model is taken, of the models of few operators that the tree makes every fifth, and a sixth of these under sanitizers;
# ORIGO_THOROUGH=1 in the environment takes them all.
set -uo pipefail
bin=$1 what=$2
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/tests/folder.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
case $what in
samples) models=$root/res ;;
hostile) models=$(folder_of "$3")/hostile ;;
*) models=$(folder_of "$what") || exit 1 ;;
esac
[[ -d $models ]] || { echo "FAILED: there is no folder $models"; exit 1; }
export bin what root models scratch
export ASAN_OPTIONS=exitcode=99:hard_rss_limit_mb=2048:${ASAN_OPTIONS-}
export UBSAN_OPTIONS=exitcode=99:${UBSAN_OPTIONS-}
# Address space is a bound on memory, which sanitizers do not leave usable.
sanitized=$(grep -qa __asan_init "$bin/circle2circle" && echo yes || true)
export sanitized

# Prints "VERDICT FILE: why" for one file that is written as .$2.
one() {
  local file=$1 out=$scratch/$BASHPID.$2 status said
  local name=${file#"$models/"}
  local written=$out/model.$2
  mkdir "$out"
  (
    [[ -n $sanitized ]] || ulimit -v $((128 * 1024 + 8 * $(stat -c %s "$file") / 1024))
    timeout 60 "$bin/circle2circle" -O1 "$file" "$written" >"$out/stdout" 2>"$out/stderr"
  )
  status=$?
  said=$(head -c 300 "$out/stderr" | tr '\n' ' ')
  if ((status == 1)); then
    if (($(wc -l <"$out/stderr") != 1)); then
      echo "FAILED $name: not one line: $said"
    elif [[ -n $(ls "$out" | grep -v '^std') ]]; then
      echo "FAILED $name: refused, but there is output"
    elif [[ $what != hostile ]] && ! grep -qF "$(basename "$name")" "$root/docs/refused-models.md"; then
      echo "FAILED $name: not in docs/refused-models.md: $said"
    else
      echo "refused $name: $said"
    fi
  elif ((status != 0)); then
    echo "FAILED $name: exit status $status: $said"
  else
    said=$(timeout 60 "$bin/origin-dump" --check --source "$file" "$written" 2>&1)
    status=$?
    if ((status == 0)); then echo "done $name"; else echo "FAILED $name: origin-dump --check: exit status $status: ${said:0:300}"; fi
  fi
  rm -rf "$out"
}
# A text is made a file first, so that the checker has bytes to look at.
sample() {
  local file=$scratch/$(basename "$1" .origo).tflite
  "$bin/circle2circle" --no-origin-json "$1" "$file" && both "$file" || echo "FAILED $1: cannot be converted"
}
# To circle, which is what the toolchain takes, and back into its own format.
both() {
  local verdict
  verdict=$(one "$1" circle)
  [[ $verdict == done* && $1 == *.tflite ]] && verdict=$(one "$1" tflite)
  echo "$verdict"
}
export -f both sample
export -f one

each=both every=1
[[ $what == models ]] && every=2
[[ $what == samples ]] && each=sample
[[ $what == networks ]] && every=5
[[ -n $sanitized ]] && every=$((6 * every))
case $what in
samples | hostile) find "$models" -type f \( -name '*.tflite' -o -name '*.circle' -o -name '*.origo' \) | sort ;;
*) swept "$what" $every ;;
esac | tr '\n' '\0' |
  xargs -0 -P "$(nproc)" -I{} bash -c "$each"' "$1"' _ {} >"$scratch/verdicts"

count() { grep -c "^$1 " "$scratch/verdicts"; }
sort "$scratch/verdicts" | if [[ $what == hostile ]]; then grep '^FAILED '; else grep -v '^done '; fi
files=$(wc -l <"$scratch/verdicts")
echo "models: $files files of $what: $(count done) optimised and their maps checked, $(count refused) refused, $(count FAILED) failed"
((files > 0 && $(count FAILED) == 0))
