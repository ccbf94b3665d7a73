"""Everything that makes the small model that ships with paceline: data, tokenizer, training, evaluation, export."""
