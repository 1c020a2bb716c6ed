#!/usr/bin/env bash
# C++ stands as clang-format writes it (.clang-format), and the page's JavaScript in lines of at most 160 columns.
# usage: format.sh ROOT
set -uo pipefail
cd "$1" || exit 1
command -v clang-format-14 >/dev/null || { echo "FAILED: this test needs clang-format-14 (./setup --install)"; exit 1; }
failed=0
sources() {
  find schema ir origin eval quantize import export passes report view commands tools readers python docs tests \( -name node_modules -o -name __pycache__ \) -prune -o \
    \( -name '*.cpp' -o -name '*.h' \) -print0
}
while IFS= read -r file; do
  echo "FAILED: clang-format-14 -i $file"
  failed=1
done < <(sources | xargs -0 -P "$(nproc)" -n 20 clang-format-14 --dry-run 2>&1 | sed -nE 's/^([^ :]+):[0-9]+:[0-9]+: warning: code should be.*/\1/p' | sort -u)
while IFS= read -r place; do
  echo "FAILED: $place has more than 160 columns"
  failed=1
done < <(awk 'length($0) > 160 { print FILENAME ":" FNR }' view/page/*.js)
count=$(sources | tr -cd '\0' | wc -c)
echo "$count files of C++"
((count > 900 && !failed))
