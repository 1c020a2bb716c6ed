#!/bin/sh
# Fuzzes the readers of profiles from those of tests/profiles/; what ctest runs: profiles.sh FUZZER FOLDER [RUNS]
set -eu
fuzzer=$1 folder=$2 here=$(dirname "$0")
rm -rf "$folder"
mkdir -p "$folder"
cp -r "$here/../profiles" "$folder/seeds"
chmod -R u+w "$folder/seeds"
"$here/bounded.sh" "$fuzzer" "$folder" "${3:-5000}" 8000
