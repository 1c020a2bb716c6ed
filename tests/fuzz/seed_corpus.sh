#!/bin/sh
# Fills a folder with small model files to start fuzzing from: seed_corpus.sh MODELS FOLDER [LARGEST]
set -eu
usage="usage: seed_corpus.sh MODELS FOLDER [LARGEST BYTES]"
models=${1:?$usage} folder=${2:?$usage}
largest=${3:-20000}
mkdir -p "$folder"
find "$models" -type f \( -name '*.tflite' -o -name '*.circle' \) -size -"$largest"c -exec cp -f {} "$folder" \;
chmod -R u+w "$folder"
echo "$(ls "$folder" | wc -l) files in $folder"
