#!/bin/sh
# Makes the default model from nothing: train/run_all.sh [SHARED] [OUT]. One GPU, about half an hour of it at most.
# BEGIN=models/default trains what is there further, by `continued` of config.json.
# The tokenizer of models/default is kept, so that ids stay what they are; NEW_TOKENIZER=1 learns one from the data.
set -eu
shared=${1:-../shared}
out=${2:-train-out}
paceline=${PACELINE:-build/release/paceline}
begin=${BEGIN:+--begin $BEGIN}
continued=${BEGIN:+--continued}
mkdir -p "$out/tokenizer"
rm -f "$out/stories.jsonl"
python3 "$shared/data/story_generator/gen_stories.py" "$out/stories.jsonl" --tokens 1.8e7 --batch 6144 --seed 2
if [ "${NEW_TOKENIZER:-0}" = 1 ]; then
  python3 -m train.tokenizer --shared "$shared" --out "$out/tokenizer"
else
  cp models/default/tokenizer.json models/default/tokenizer_config.json train/chat_template.jinja "$out/tokenizer"
fi
python3 -m train.corpus $continued --shared "$shared" --tokenizer "$out/tokenizer" --more-stories "$out/stories.jsonl" --out "$out/corpus"
python3 -m train.train_target $begin --corpus "$out/corpus" --tokenizer "$out/tokenizer" --out "$out/run"
python3 -m train.train_drafter $begin --corpus "$out/corpus" --target "$out/run/target.pt" --out "$out/run"
python3 -m train.export --run "$out/run" --tokenizer "$out/tokenizer" --out "$out/export"
"$paceline" quantize "$out/export/target" "$out/default" --bits 4 --group 64
"$paceline" quantize "$out/export/assistant" "$out/default/assistant" --bits 4 --group 64
"$paceline" quantize "$out/export/dflash" "$out/default/drafters/dflash" --bits 4 --group 64
python3 -m train.goldens --export "$out/export" --packed "$out/default" --out "$out/goldens"
# What goldens has had transformers write, in place of what was packed.
cp "$out/export/target/processor_config.json" "$out/default"
rm -f "$out/default/preprocessor_config.json"
echo "$out/default belongs in models/default, $out/goldens/golden-*.json in tests/default_model"
