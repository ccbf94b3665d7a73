#!/bin/sh
# Trains, measures and exports the default model: train/run_all.sh [SHARED] [OUT]. One GPU, about half an hour of it at most.
set -eu
shared=${1:-../shared}
out=${2:-train-out}
paceline=${PACELINE:-build/release/paceline}
python3 -m train.tokenizer --shared "$shared" --out "$out/tokenizer"
python3 -m train.corpus --shared "$shared" --tokenizer "$out/tokenizer" --out "$out/corpus"
python3 -m train.train_target --corpus "$out/corpus" --tokenizer "$out/tokenizer" --out "$out/run"
python3 -m train.train_drafter --corpus "$out/corpus" --target "$out/run/target.pt" --out "$out/run"
python3 -m train.evaluate --corpus "$out/corpus" --tokenizer "$out/tokenizer" --run "$out/run"
python3 -m train.export --run "$out/run" --tokenizer "$out/tokenizer" --out "$out/export"
"$paceline" quantize "$out/export/target" "$out/default" --bits 4 --group 64
"$paceline" quantize "$out/export/assistant" "$out/default/assistant" --bits 4 --group 64
python3 -m train.goldens --export "$out/export" --packed "$out/default" --out "$out/goldens"
