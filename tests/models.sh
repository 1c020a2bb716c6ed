#!/usr/bin/env bash
# Lays out in DIR the public models that ./check --models DIR wants (tests/models.tsv), by their SHA-256: copies what it finds in the
# folders FROM, whatever it is called there, and what clones among them have at the commit that the list names. Says what is
# missing, and where anybody gets it; then it exits with 1. May be run again with more folders.
# usage: tests/models.sh DIR [FROM…]      LIST in the environment: another list than tests/models.tsv
set -uo pipefail
[[ ${1-} && $1 != -* ]] || { sed -n '2,5s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 1; }
list=${LIST:-$(dirname "${BASH_SOURCE[0]}")/models.tsv}
folder=$1
shift
mkdir -p "$folder" || exit 1
for from; do
  [[ -d $from ]] || { echo "models.sh: there is no folder $from" >&2; exit 1; }
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

sums() { find "$@" -name .git -prune -o -type f -size -64M -print0 | xargs -0 -r sha256sum -z; }
# Rows that are not there yet, separated by what read does not take several of for one.
missing() {
  local -A have=()
  while IFS= read -r -d '' line; do have[${line:68}]=${line%% *}; done < <(cd "$folder" && sums .)
  while IFS=$'\x1f' read -r file repository commit path licence sum; do
    [[ ${have[$file]-} == "$sum" ]] || printf '%s\x1f%s\x1f%s\x1f%s\x1f%s\n' "$file" "$repository" "$commit" "$path" "$sum"
  done < <(grep -v '^#' "$list" | tail -n +2 | tr '\t' '\037')
}
# blob COMMIT PATH: what a clone has there; of PATH#NAME the bytes that the array NAME of a C header holds.
declare -A holder=()
blob() {
  local commit=$1 path=$2 clone
  [[ $commit != - && $path != */ ]] || return 1
  if [[ -z ${holder[$commit]-} ]]; then
    holder[$commit]=none
    for clone in "${clones[@]}"; do
      git -C "$clone" cat-file -e "$commit" 2>/dev/null && holder[$commit]=$clone && break
    done
  fi
  [[ ${holder[$commit]} != none ]] || return 1
  git -C "${holder[$commit]}" cat-file blob "$commit:${path%%#*}" 2>/dev/null | if [[ $path == *#* ]]; then
    NAME=${path#*#} perl -0777 -ne 'print map chr hex, $1 =~ /0x([0-9a-f]+)/gi if /\b$ENV{NAME}\s*\[\s*\d*\s*\]\s*=\s*\{(.*?)\}/s'
  else
    cat
  fi
}

if (($#)); then
  declare -A found=()
  while IFS= read -r -d '' line; do found[${line%% *}]=${line:66}; done < <(sums "$@")
  mapfile -t clones < <(find "$@" -name .git -prune -print | sed 's,/\.git$,,')
  missing >"$scratch/rows"
  while IFS=$'\x1f' read -r file repository commit path sum; do
    if [[ -n ${found[$sum]-} ]]; then
      install -D -m 644 "${found[$sum]}" "$folder/$file"
    elif blob "$commit" "$path" >"$scratch/blob" && [[ $(sha256sum <"$scratch/blob") == "$sum "* ]]; then
      install -D -m 644 "$scratch/blob" "$folder/$file"
    fi
  done <"$scratch/rows"
fi

missing >"$scratch/rows"
all=$(grep -vc '^#' "$list") left=$(wc -l <"$scratch/rows")
echo "$((all - 1 - left)) of $((all - 1)) files are in $folder"
((left == 0)) && exit
# By repository and commit, with the first file of each.
awk -F '\037' '
  { what = $2 " " $3; if (!count[what]++) { order[++n] = what; first[what] = $4 } }
  END {
    for (i = 1; i <= n; ++i) {
      split(order[i], part, " ")
      printf "missing: %d of https://github.com/%s", count[order[i]], part[1]
      printf part[2] == "-" ? "" : " at commit " part[2]
      printf ", such as %s\n", first[order[i]]
    }
  }' "$scratch/rows"
grep -q 'test\.recipe' "$scratch/rows" && echo "what comes of a test.recipe is made by tflchef and circlechef of that repository"
echo "clone these repositories, or download the files, then: $0 $folder FOLDER…"
exit 1
