#!/usr/bin/env bash
# tests/models.sh: models by their hash.
# usage: models_list.sh own       from a made-up clone and a folder, of which one file is missing
#        models_list.sh models    the folder of public models has all of tests/models.tsv, and is taken over byte for byte
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
if [[ $1 == models ]]; then
  source "$root/tests/folder.sh"
  folder=$(folder_of models)/.. || exit 1
  said=$("$root/tests/models.sh" "$scratch/to" "$folder" 2>&1) || fail "$said"
  (cd "$scratch/to" && find . -type f -print0) | while IFS= read -r -d '' file; do
    cmp "$folder/$file" "$scratch/to/$file" || exit 1
  done || fail "other bytes"
  echo "models: ${said/ in \"$scratch\/to\"/ found by their hash}"
  exit
fi
cd "$scratch" || exit 1
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
git() { command git -c user.name=a -c user.email=a@b "$@"; }
sum() { sha256sum | cut -d' ' -f1; }
mkdir -p "from/some where" from/clone/deep
git init -q from/clone
echo 'a model' >from/clone/deep/m.bin
printf 'const int n = 3;\nconst unsigned char array[] = {\n  0x61, 0x0a,\n  0xff};\n' >from/clone/h.h
git -C from/clone add . && git -C from/clone commit -q -m one || fail "git"
commit=$(git -C from/clone rev-parse HEAD)
echo 'another model' >from/clone/deep/m.bin
git -C from/clone commit -q -a -m two || fail "git"
printf 'a third' >"from/some where/called otherwise"
{
  printf '# Words.\nfile\trepository\tcommit\tpath\tlicence\tsha256\n'
  printf 'models/old.tflite\tsomebody/clone\t%s\tdeep/m.bin\tMIT\t%s\n' "$commit" "$(echo 'a model' | sum)"
  printf 'models/mini/array.tflite\tsomebody/clone\t%s\th.h#array\tMIT\t%s\n' "$commit" "$(printf 'a\n\xff' | sum)"
  printf 'pairs/third.tflite\tsomebody/else\t-\tany/\tMIT\t%s\n' "$(printf 'a third' | sum)"
  printf 'models/gone.tflite\tnobody/any\t0123\tgone.bin\tMIT\t%s\n' "$(echo gone | sum)"
} >list
export LIST=list
said=$("$root/tests/models.sh" to from 2>&1) && fail "nothing is missing? $said"
[[ $said == "3 of 4 files are in to"$'\n'"missing: 1 of https://github.com/nobody/any at commit 0123, such as gone.bin"$'\n'* ]] || fail "$said"
[[ $(find to -type f | sort | xargs cat | sum) == "$(printf 'a\n\xffa model\na third' | sum)" ]] || fail "other files: $(find to -type f)"
echo gone >from/x
echo changed >to/models/old.tflite
said=$("$root/tests/models.sh" to from 2>&1) || fail "$said"
[[ $said == "4 of 4 files are in to" && $(<to/models/old.tflite) == 'a model' ]] || fail "$said"
"$root/tests/models.sh" to nowhere >/dev/null 2>&1 && fail "a folder that is not there"
"$root/tests/models.sh" >/dev/null 2>&1 && fail "no folder"
echo "models: by hash, out of a folder and a clone"
