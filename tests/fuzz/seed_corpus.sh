#!/bin/sh
# Fills a folder with small model files to start fuzzing from: seed_corpus.sh FOLDER [LARGEST]
set -eu
folder=${1:?usage: seed_corpus.sh FOLDER [LARGEST BYTES]}
largest=${2:-20000}
models=${ORIGO_SHARED:-$(dirname "$0")/../../../shared}/models
[ -d "$models" ] || { echo "no model files in $models: set ORIGO_SHARED" >&2; exit 1; }
mkdir -p "$folder"
find "$models" -type f \( -name '*.tflite' -o -name '*.circle' \) -size -"$largest"c -exec cp -f {} "$folder" \;
chmod -R u+w "$folder"
echo "$(ls "$folder" | wc -l) files in $folder"
