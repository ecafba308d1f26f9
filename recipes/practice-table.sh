#!/usr/bin/env bash
# Trains all ten models on the practice corpus and prints their contrastive accuracy.
#
#   recipes/practice-table.sh [FOLDER]        # about half an hour on two cores
#
# Interrupted, it goes on where it was: finished models are not trained again.
set -euo pipefail
cd "$(dirname "$0")/.."
out="${1:-runs/practice-table}"
abridge="${ABRIDGE:-cargo run --release --quiet --}"

$abridge prepare "$out/data" --practice --quiet
presets=(sentence single-encoder multi-encoder caching-tokens caching-sentence
  pooling-avg pooling-max pooling-linear grouping selecting)
for preset in "${presets[@]}"; do
  [ -e "$out/$preset/model/MANIFEST.json" ] || $abridge train --data "$out/data" \
    --run "$out/$preset" --recipe recipes/practice.toml --set "model.preset=$preset" \
    --set stop.max_updates=2000 --quiet
  printf '\n== %s\n' "$preset"
  $abridge contrast --model "$out/$preset/model" --set "$out/data/text/contrastive.json"
done
