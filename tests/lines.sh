#!/usr/bin/env bash
# Lines by folder, without what is generated: of what users get, of tests, of docs.
# usage: lines.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
git ls-files -- '*.cpp' '*.h' '*.def' '*.fbs' '*.py' '*.pyi' '*.js' '*.mjs' '*.css' '*.html' '*.sh' '*.md' '*CMakeLists.txt' |
  while IFS= read -r file; do printf '%s %s\n' "$(wc -l <"$file")" "${file%%/*}"; done |
  awk '$2 ~ /\./ { $2 = "." } { lines[$2] += $1; files[$2]++ } END { for (folder in lines) printf "%8d lines %5d files  %s\n", lines[folder], files[folder], folder }' | LC_ALL=C sort -k5
