#!/usr/bin/env bash
# Every model file through the tools that know of targets.
# usage: every_target.sh BIN limits networks|models   what `circle-check --limits-of eval` lets through runs in circle-interpreter
#        every_target.sh BIN parts networks|models    the parts of --partition, of circle-opselector and of circle-resizer keep the law
# Every eighth is taken, of networks that the tree makes every second; ORIGO_THOROUGH=1 in the environment takes them all.
set -uo pipefail
bin=$1 what=$2
source "$(dirname "${BASH_SOURCE[0]}")/folder.sh"
models=$(folder_of "$3") || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export bin models scratch

# What no limits on types, ranks and options can say: a file that contradicts itself, or numbers that an operator cannot
# compute with. A kernel that is missing, or refuses a type, is none of these.
export values='states another shape|has another shape|another number of elements|division by zero|stride of 0|is missing|index -?[0-9]+ of|'\
'axis -?[0-9]+ of|axis or batch dimensions out of range|dimension [0-9]+ is not 1|elements in a new shape|another length than|'\
'(RESHAPE|SLICE)\): the shape of result|axis -?[0-9]+ is (not one|out)|must be (a|two)|not a single|computed by nothing|cut beyond|'\
'not a permutation|a range that does not end|largest elements of|is outside dimension|was never assigned|do not add up|elements below zero'

limits() {
  local file=$1 name=${1#"$models/"} out=$scratch/$BASHPID status said
  "$bin/circle-check" --target "$scratch/eval.json" --json "$file" >"$out.json" 2>"$out.err"
  case $? in
  0) ;;
  2) echo "other $name" && return ;;
  1) echo "refused $name" && return ;;
  *) echo "FAILED $name: circle-check: $(head -c 200 "$out.err")" && return ;;
  esac
  timeout 300 "$bin/circle-interpreter" --seed=1 "$file" "$out." >/dev/null 2>"$out.err"
  status=$?
  said=$(head -n 1 "$out.err" | head -c 300)
  rm -f "$out".*
  if ((status == 0)); then
    echo "ran $name"
  elif ((status == 1)) && grep -qE "$values" <<<"$said"; then
    echo "value $name: $said"
  else
    echo "FAILED $name: accepted, but ends with $status: $said"
  fi
}

# Exit status 1 with one line is a refusal; anything else but 0 and 2 is a failure.
judge() {
  local what=$1 status=$2 err=$3
  if ((status == 1)) && (($(wc -l <"$err") == 1)); then
    echo "refused $what: $(head -c 200 "$err")"
  else
    echo "FAILED $what: ends with $status: $(head -c 300 "$err")"
  fi
}

lawful() { # MODEL SOURCE WHAT
  local said
  if said=$("$bin/origin-dump" --check --source "$2" "$1" 2>&1) && [[ $said == ok || $said == *$'\n'ok ]]; then
    echo "kept $3"
  else
    echo "FAILED $3: $(head -c 400 <<<"$said" | tr '\n' ' ')"
  fi
}

parts() {
  local file=$1 name=${1#"$models/"} out=$scratch/$BASHPID status part number
  mkdir -p "$out/optimised"
  # What was optimised has a history, which has to come along.
  local optimised=$out/optimised/net.circle
  "$bin/circle2circle" -O1 "$file" "$optimised" >/dev/null 2>&1 || optimised=$file
  "$bin/circle-check" --target "$scratch/npu.json" --partition --work_path "$out" "$optimised" >/dev/null 2>"$out/err"
  status=$?
  if ((status == 0 || status == 2)); then
    number=0
    for part in "$out"/*_*.circle; do
      lawful "$part" "$file" "part $name $(basename "$part")"
      ((++number >= 12)) && break
    done
    [[ -s $(echo "$out"/*.conn.json) && -s $(echo "$out"/*.conn.ini) && -s $(echo "$out"/*.part) ]] ||
      echo "FAILED part $name: not all of .part, .conn.ini and .conn.json"
  else
    judge "part $name" $status "$out/err"
  fi
  for ids in 0 0-2 1; do
    "$bin/circle-opselector" --by_id $ids "$optimised" "$out/part.circle" 2>"$out/err"
    status=$?
    if ((status == 0)); then
      lawful "$out/part.circle" "$file" "select $name $ids"
    else
      judge "select $name $ids" $status "$out/err"
    fi
  done
  rm -rf "$out"
}
export -f limits parts judge lawful

"$bin/circle-check" --limits-of eval >"$scratch/eval.json" || exit 1
echo '{"target": "npu", "ops": {"CONV_2D": {}, "DEPTHWISE_CONV_2D": {}, "RELU": {}, "RELU6": {}, "ADD": {}, "MUL": {},
  "FULLY_CONNECTED": {}, "RESHAPE": {}, "WHILE": {}, "LESS": {}}}' >"$scratch/npu.json"
least=60
[[ ${ORIGO_THOROUGH-0} != 0 ]] && least=300
[[ $what == parts ]] && least=$((least * 3))
swept "$3" 8 2 | if [[ $3 == networks ]]; then grep -v _Neg_; else cat; fi | tr '\n' '\0' |
  xargs -0 -P "$(nproc)" -I{} bash -c "$what \"\$1\"" _ {} >"$scratch/all"

cut -d' ' -f1 "$scratch/all" | sort | uniq -c
grep -E "^(FAILED|value|refused part)" "$scratch/all" | sort
good=$(grep -cE '^(ran|kept)' "$scratch/all")
if ((good < least)); then
  echo "only $good, which is too few to tell anything"
  exit 1
fi
! grep -q '^FAILED' "$scratch/all"
