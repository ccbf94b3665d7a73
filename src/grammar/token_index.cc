#include "grammar/token_index.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace paceline::grammar {
namespace {

size_t characters_of(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

bool is_plain(Body body, std::string_view text) {
  const auto is_exception = [body](char c) {
    const auto byte = static_cast<uint8_t>(c);
    if (body == Body::json) return byte < 0x20 || byte == '"' || byte == '\\';
    return byte == '<' || (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r');
  };
  return std::none_of(text.begin(), text.end(), is_exception) && is_valid_utf8(text);
}

// `sorted`: ids by their bytes, none empty.
TokenTree make_tree(const TokenIndex& index, const std::vector<TokenId>& sorted) {
  TokenTree tree;
  std::vector<int32_t> path;  // nodes along the last string
  const auto leave = [&](size_t depth) {
    for (; path.size() > depth; path.pop_back()) tree.skip[path.back()] = tree.nodes();
  };
  std::string_view last;
  for (const TokenId id : sorted) {
    const std::string_view text = index.bytes_of(id);
    const auto differs =
        static_cast<size_t>(std::mismatch(text.begin(), text.end(), last.begin(), last.end()).first - text.begin());
    leave(differs);
    for (size_t i = differs; i < text.size(); ++i) {
      path.push_back(tree.nodes());
      tree.byte.push_back(static_cast<uint8_t>(text[i]));
      tree.depth.push_back(static_cast<uint8_t>(i + 1));
      tree.skip.push_back(0);
      tree.first_token.push_back(static_cast<int32_t>(tree.tokens.size()));
    }
    tree.tokens.push_back(id);
    last = text;
  }
  leave(0);
  tree.first_token.push_back(static_cast<int32_t>(tree.tokens.size()));
  for (auto* list : {&tree.byte, &tree.depth}) list->shrink_to_fit();
  for (auto* list : {&tree.skip, &tree.first_token}) list->shrink_to_fit();
  return tree;
}

}  // namespace

TokenTree::Range TokenTree::branch(uint8_t first_byte) const {
  for (int32_t node = 0; node < nodes(); node = skip[node]) {
    if (byte[node] == first_byte) return {node, skip[node]};
  }
  return {};
}

size_t TokenTree::bytes() const {
  return byte.capacity() + depth.capacity() +
         sizeof(int32_t) * (skip.capacity() + first_token.capacity() + tokens.capacity());
}

std::shared_ptr<const TokenIndex> TokenIndex::build(const Vocabulary& vocabulary) {
  const auto made = std::make_shared<TokenIndex>();
  const auto ids = static_cast<size_t>(vocabulary.id_end());
  made->words_ = (ids + 63) / 64;
  made->begin_.push_back(0);
  std::vector<TokenId> sorted;
  for (TokenId id = 0; id < vocabulary.id_end(); ++id) {
    std::string text = vocabulary.bytes_of(id);
    if (text.size() > kMaxTokenBytes || characters_of(text) > kMaxTokenChars) text.clear();
    if (!text.empty()) sorted.push_back(id);
    made->text_ += text;
    made->begin_.push_back(static_cast<uint32_t>(made->text_.size()));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](TokenId a, TokenId b) { return made->bytes_of(a) < made->bytes_of(b); });
  made->all_ = make_tree(*made, sorted);
  made->add_body(Body::json, sorted);
  made->add_body(Body::text, sorted);
  return made;
}

void TokenIndex::add_body(Body body, const std::vector<TokenId>& sorted) {
  BodyTokens& tokens = bodies_[slot(body)];
  std::vector<TokenId> rest;
  std::vector<std::vector<TokenId>> by_characters(1);
  for (const TokenId id : sorted) {
    const std::string_view text = bytes_of(id);
    if (!is_plain(body, text)) {
      rest.push_back(id);
      continue;
    }
    const size_t characters = characters_of(text);
    if (by_characters.size() <= characters) by_characters.resize(characters + 1);
    by_characters[characters].push_back(id);
  }
  tokens.rest = make_tree(*this, rest);
  std::vector<uint64_t> bitmap(words_);
  for (const auto& ids : by_characters) {
    for (const TokenId id : ids) bitmap[id / 64] |= uint64_t{1} << (id % 64);
    tokens.plain.push_back(bitmap);
  }
}

std::span<const uint64_t> TokenIndex::plain(Body body, int32_t characters) const {
  const auto& plain = bodies_[slot(body)].plain;
  return plain[std::min(static_cast<size_t>(characters), plain.size() - 1)];
}

size_t TokenIndex::memory_bytes() const {
  size_t sum = text_.capacity() + begin_.capacity() * sizeof(uint32_t) + all_.bytes();
  for (const BodyTokens& body : bodies_) sum += body.rest.bytes() + body.plain.size() * words_ * sizeof(uint64_t);
  return sum;
}

}  // namespace paceline::grammar
