#!/usr/bin/env bash
# Every figure of docs/experiments/en-pt-memory.md for one memory.
#
#   recipes/en-pt-memory/evaluate.sh MODEL BASE FOLDER DATA OUT
#
# MODEL is the memory, BASE the imported model below it, FOLDER what cut.py wrote, with pronouns.json beside it, DATA has
# flores, europarl-en-pt and ctxpro. What is translated and printed is kept in OUT. `ABRIDGE` names the program.
set -euo pipefail
model=$1 base=$2 folder=$3 data=$4 out=$5
abridge=${ABRIDGE:-abridge}
mkdir -p "$out"

for set in both pronouns agreement; do
  "$abridge" contrast --model "$model" --set "$folder/$set.json" --languages en-pt --controls none,random --draws 5 \
    | tee "$out/$set.txt"
done

bleu() { # name, source, reference, arguments of translate
  local name=$1 source=$2 reference=$3
  shift 3
  "$abridge" translate --quiet --model "$base" "$@" "$source" --output "$out/$name.base.pt"
  "$abridge" translate --quiet --model "$model" "$@" "$source" --output "$out/$name.memory.pt"
  "$abridge" evaluate "$out/$name.base.pt" "$out/$name.memory.pt" --reference "$reference" --metrics bleu | tee "$out/$name.bleu"
}
bleu flores "$data/flores/flores-dev.en" "$data/flores/flores-dev.pt"
debates=$data/europarl-en-pt/valid
bleu debates "$debates.en" "$debates.pt" --docids "$debates.docids"

"$abridge" cxmi --model "$model" --source "$debates.en" --reference "$debates.pt" --docids "$debates.docids" | tee "$out/cxmi.txt"
for set in formality auxiliary; do
  "$abridge" ctxpro --model "$model" --set "$data/ctxpro/$set.en-pt" --per-rule 100 --controls none,random | tee "$out/$set.txt"
done
