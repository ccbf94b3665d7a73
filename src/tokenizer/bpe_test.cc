// Bpe cuts words where no merge can cross, looks through short stretches and keeps queues for long ones. All of that
// must give what the definition gives: merge the pair of the lowest rank, leftmost first, until there is none.
#include "tokenizer/bpe.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace paceline {
namespace {

struct RandomBpe {
  std::vector<std::string> pieces;
  std::vector<std::pair<std::string, std::string>> merges;
};

// Few letters and many merges, so that neighbours quarrel; several merges may lead to one piece.
RandomBpe make_random(std::mt19937& random, size_t letters, size_t merge_count, size_t longest) {
  RandomBpe bpe;
  for (size_t i = 0; i < letters; ++i) bpe.pieces.push_back(std::string(1, static_cast<char>('a' + i)));
  while (bpe.merges.size() < merge_count) {
    const std::string left = bpe.pieces[random() % bpe.pieces.size()], right = bpe.pieces[random() % bpe.pieces.size()];
    if (left.size() + right.size() > longest) continue;
    bpe.merges.emplace_back(left, right);
    if (std::find(bpe.pieces.begin(), bpe.pieces.end(), left + right) == bpe.pieces.end())
      bpe.pieces.push_back(left + right);
  }
  std::shuffle(bpe.merges.begin(), bpe.merges.end(), random);
  return bpe;
}

std::vector<std::string> encode_by_definition(const RandomBpe& bpe, const std::string& word) {
  std::map<std::pair<std::string, std::string>, size_t> ranks;
  for (size_t i = 0; i < bpe.merges.size(); ++i) ranks[bpe.merges[i]] = i;
  std::vector<std::string> symbols;
  for (const char letter : word) symbols.emplace_back(1, letter);
  while (true) {
    size_t best = bpe.merges.size(), at = 0;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto found = ranks.find({symbols[i], symbols[i + 1]});
      if (found != ranks.end() && found->second < best) best = found->second, at = i;
    }
    if (best == bpe.merges.size()) return symbols;
    symbols[at] += symbols[at + 1];
    symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(at) + 1);
  }
}

TEST(Bpe, EqualsTheDefinition) {
  std::mt19937 random(7);
  for (int round = 0; round < 120; ++round) {
    // Every other one is crowded: most pieces come about in several ways, so that queued pairs often expire.
    const RandomBpe drawn = round % 2 == 0 ? make_random(random, 2 + random() % 8, 2 + random() % 60, 8)
                                           : make_random(random, 2 + random() % 2, 100 + random() % 300, 5);
    PieceTable vocab;
    for (size_t i = 0; i < drawn.pieces.size(); ++i) vocab.add(drawn.pieces[i], static_cast<TokenId>(3 * i));
    ASSERT_TRUE(vocab.finish().ok());
    MergeList merges;
    for (const auto& [left, right] : drawn.merges) merges.add(left, right);
    const auto bpe = Bpe::make({}, std::move(vocab), merges);
    ASSERT_TRUE(bpe.ok()) << bpe.error().message;
    for (const size_t length : {1, 5, 20, 24, 25, 26, 60, 300, 4500}) {
      if (length > 300 && round != 1) continue;  // the definition takes a second
      std::string word;
      const size_t letters = length > 300 ? 2 : 1 + random() % 9;
      while (word.size() < length) word += static_cast<char>('a' + random() % letters);
      std::erase_if(word, [&](char letter) { return !bpe->vocab().id_of(std::string(1, letter)); });
      std::vector<TokenId> ids;
      bpe->encode(word, ids);
      std::vector<std::string> found;
      for (const TokenId id : ids) found.emplace_back(*bpe->vocab().piece(id));
      ASSERT_EQ(found, encode_by_definition(drawn, word)) << "round " << round << ", word " << word;
    }
  }
}

TEST(Bpe, RefusesMergesOfWhatIsNoPiece) {
  for (const auto& [left, right] :
       std::vector<std::pair<std::string, std::string>>{{"a", "x"}, {"x", "a"}, {"b", "a"}}) {
    PieceTable vocab;
    vocab.add("a", 0);
    vocab.add("b", 1);
    vocab.add("ab", 2);
    ASSERT_TRUE(vocab.finish().ok());
    MergeList merges;
    merges.add("a", "b");
    merges.add(left, right);
    const auto bpe = Bpe::make({}, std::move(vocab), merges);
    ASSERT_FALSE(bpe.ok());
    EXPECT_NE(bpe.error().message.find("entry 1"), std::string::npos) << bpe.error().message;
  }
}

}  // namespace
}  // namespace paceline
