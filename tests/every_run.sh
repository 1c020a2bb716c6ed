#!/usr/bin/env bash
# Runs files that are made to break whoever runs them: nothing crashes or hangs, and what is refused says why.
# usage: every_run.sh BIN networks|models
# Files of hostile/ may run or be refused; those that an operator must refuse (mini/*_Neg*) must not run, unless docs/kernels.md says why
# they are right. Both engines have to say the same. Sanitizers see every second; ORIGO_THOROUGH=1 in the environment: all.
set -uo pipefail
bin=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/tests/folder.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
models=$(folder_of "$2") || exit 1
# Under sanitizers a big convolution takes minutes; that it ends, the other builds show.
sanitized=$(grep -qa __asan_init "$bin/circle-interpreter" && echo yes || true)
every=1
[[ -z $sanitized || ${ORIGO_THOROUGH-0} != 0 ]] || every=2
export bin root models scratch sanitized
export ASAN_OPTIONS=exitcode=99:hard_rss_limit_mb=4096:allocator_may_return_null=1:${ASAN_OPTIONS-}
export UBSAN_OPTIONS=exitcode=99:halt_on_error=1:${UBSAN_OPTIONS-}

# Prints "VERDICT FILE: why".
one() {
  local file=$1 out=$scratch/$BASHPID status said fast
  local name=${file#"$models/"}
  mkdir "$out"
  timeout 60 "$bin/circle-interpreter" --seed 1 --timeout 30 "$file" "$out/result" >"$out/stdout" 2>"$out/stderr"
  status=$?
  timeout 60 "$bin/circle-interpreter" --seed 1 --timeout 30 --engine fast "$file" "$out.fast" >"$out.fast.stdout" 2>"$out.fast.stderr"
  fast=$?
  said=$(head -c 300 "$out/stderr" | tr '\n' ' ')
  if ((status == 1)); then
    if [[ ! -s $out/stderr ]] || grep -qv '^circle-interpreter: error: .' "$out/stderr"; then
      echo "FAILED $name: refused without a reason: $said"
    elif [[ -n $(ls "$out" | grep -v '^std') ]]; then
      echo "FAILED $name: refused, but there is output"
    elif ((fast != 1)) || ! cmp -s "$out/stderr" "$out.fast.stderr"; then
      echo "FAILED $name: the fast engine says another thing: $(head -c 300 "$out.fast.stderr" | tr '\n' ' ')"
    else
      echo "refused $name: $said"
    fi
  elif ((status == 124)) && [[ -n $sanitized ]]; then
    echo "slow $name"
  elif ((status != 0)); then
    echo "FAILED $name: exit status $status: $said"
  elif ((fast != 0)); then
    echo "FAILED $name: exit status $fast of the fast engine: $(head -c 300 "$out.fast.stderr" | tr '\n' ' ')"
  elif [[ $name == mini/* ]] && ! grep -qF "$(basename "$name")" "$root/docs/kernels.md"; then
    echo "FAILED $name: runs, although an operator in it must be refused"
  else
    echo "ran $name"
  fi
  rm -rf "$out" "$out".fast*
}
export -f one

find "$models/hostile" "$models/mini" -type f \( -path '*/hostile/*' -o -name '*_Neg*' \) \
  \( -name '*.tflite' -o -name '*.circle' \) -print0 | sort -z | awk -v RS='\0' -v ORS='\0' -v every=$every 'NR % every == 0' |
  xargs -0 -P "$(nproc)" -I{} bash -c 'one "$1"' _ {} >"$scratch/verdicts"

count() { grep -c "^$1 " "$scratch/verdicts"; }
grep '^FAILED ' "$scratch/verdicts" | sort
files=$(wc -l <"$scratch/verdicts")
echo "runs: $files files: $(count ran) ran, $(count refused) refused, $(count slow) too slow for sanitizers, $(count FAILED) failed"
(($(count ran) >= $([[ $2 == networks ]] && echo 0 || echo 1) && $(count refused) > 0 && $(count slow) <= 2 && $(count FAILED) == 0))
