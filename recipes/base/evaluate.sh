#!/usr/bin/env bash
# Every figure of the card of an English-German model (models/en-de/README.md).
#
#   recipes/base/evaluate.sh MODEL DATA OUT
#
# DATA is the folder of data.toml, with the test sets flores, iwslt17-ted-en-de, contrapro-en-de and ctxpro beside
# the corpora. What is translated and printed is kept in OUT. `ABRIDGE` names the program.
set -euo pipefail
model=$1 data=$2 out=$3
abridge=${ABRIDGE:-abridge}
mkdir -p "$out"

bleu() { # name, source, reference, arguments of translate
  local name=$1 source=$2 reference=$3
  shift 3
  for context in 0 trained; do
    size=()
    [ "$context" = trained ] || size=(--context-size "$context")
    "$abridge" translate --quiet --model "$model" "${size[@]}" "$@" "$source" --output "$out/$name.$context.de"
  done
  # The baseline of the test is the translation without context.
  "$abridge" evaluate "$out/$name.0.de" "$out/$name.trained.de" --reference "$reference" --metrics bleu | tee "$out/$name.bleu"
}

bleu europarl "$data/europarl-en-de/valid.en" "$data/europarl-en-de/valid.de" --docids "$data/europarl-en-de/valid.docids"
bleu msdocs "$data/msdocs-en-de/valid.en" "$data/msdocs-en-de/valid.de" --docids "$data/msdocs-en-de/valid.docids"
bleu tst2015 "$data/iwslt17-ted-en-de/tst2015.en" "$data/iwslt17-ted-en-de/tst2015.de" --docids "$data/iwslt17-ted-en-de/tst2015.docids"
bleu flores "$data/flores/flores-dev.en" "$data/flores/flores-dev.de"

# This copy of the set has one sentence of context.
"$abridge" contrast --model "$model" --context-size 1 --set "$data/contrapro-en-de" --controls none,random | tee "$out/contrapro.txt"
for set in formality auxiliary; do
  "$abridge" ctxpro --model "$model" --set "$data/ctxpro/$set.en-de" --per-rule 250 --controls none,random | tee "$out/$set.txt"
done
