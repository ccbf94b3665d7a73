#include "tokenizer/tokenizer.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>

#include "base/utf8.h"
#include "tokenizer/byte_level/byte_level_parts.h"
#include "tokenizer/stream_decoder.h"
#include "tokenizer/tokenizer_file.h"
#include "tokenizer/tokenizer_parts.h"

namespace paceline {
namespace {

constexpr size_t kMaxTextBytes = size_t{1} << 30;

const AddedToken* find_added(const std::vector<AddedToken>& by_id, TokenId id) {
  const auto at = std::lower_bound(by_id.begin(), by_id.end(), id,
                                   [](const AddedToken& token, TokenId wanted) { return token.id < wanted; });
  return at == by_id.end() || at->id != id ? nullptr : &*at;
}

// An added token is a piece of the vocabulary under the same id, or is new in content and id.
Status check_added(const std::vector<AddedToken>& by_id, const std::vector<const AddedToken*>& by_content,
                   const PieceTable& vocab) {
  for (size_t i = 1; i < by_id.size(); ++i) {
    if (by_id[i].id == by_id[i - 1].id) {
      return Error{fmt::format("added_tokens: expected every id once, found {} for \"{}\" and \"{}\"", by_id[i].id,
                               by_id[i - 1].content, by_id[i].content)};
    }
    if (by_content[i]->content == by_content[i - 1]->content) {
      return Error{fmt::format("added_tokens: expected every token once, found \"{}\" again", by_content[i]->content)};
    }
  }
  for (const AddedToken& token : by_id) {
    const auto own = vocab.id_of(token.content);
    const auto other = vocab.piece(token.id);
    if (own && *own != token.id) {
      return Error{fmt::format("added_tokens: expected \"{}\" under its id in the vocabulary, {}; found {}",
                               token.content, *own, token.id)};
    }
    if (other && *other != token.content) {
      return Error{fmt::format("added_tokens: expected a free id for \"{}\", found {}, which is \"{}\"", token.content,
                               token.id, *other)};
    }
  }
  return Done{};
}

}  // namespace

struct Tokenizer::Parts {
  std::unique_ptr<const TextEncoder> encoder;
  Surroundings surroundings;
  DecodePlan decoder;
  std::vector<AddedToken> added;                    // by id
  std::vector<const AddedToken*> added_by_content;  // into `added`
  AddedTokenFinders finders;
  size_t size = 0;

  [[nodiscard]] const AddedToken* find_content(std::string_view content) const {
    const auto at =
        std::lower_bound(added_by_content.begin(), added_by_content.end(), content,
                         [](const AddedToken* token, std::string_view wanted) { return token->content < wanted; });
    return at == added_by_content.end() || (*at)->content != content ? nullptr : *at;
  }
  [[nodiscard]] std::optional<std::string_view> piece(TokenId id) const {
    if (const AddedToken* token = find_added(added, id)) return token->content;
    return encoder->vocab().piece(id);
  }
  Status check_surroundings() const;
  void encode_plain(std::string_view text, std::vector<TokenId>& ids) const;
};

// A model is fed what the post-processor adds, so that it must be known.
Status Tokenizer::Parts::check_surroundings() const {
  for (const auto* ids : {&surroundings.before, &surroundings.behind}) {
    for (const TokenId id : *ids) {
      if (!piece(id)) return Error{fmt::format("post_processor: expected ids of the vocabulary, found {}", id)};
    }
  }
  return Done{};
}

Tokenizer::Tokenizer(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<Tokenizer> Tokenizer::load(std::string_view tokenizer_json) {
  TRY_ASSIGN(TokenizerFile file, read_tokenizer_file(tokenizer_json));
  TRY(check_tokenizer_file(file));
  TRY_ASSIGN(TokenizerParts read,
             is_byte_level(file.settings) ? read_byte_level_parts(file) : read_character_parts(file));
  AddedTokenFinders finders = make_finders(read.added, *read.encoder);
  auto parts = std::make_unique<Parts>(Parts{.encoder = std::move(read.encoder),
                                             .surroundings = std::move(read.surroundings),
                                             .decoder = std::move(read.decoder),
                                             .added = std::move(read.added),
                                             .added_by_content = {},
                                             .finders = std::move(finders)});
  std::sort(parts->added.begin(), parts->added.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  for (const AddedToken& token : parts->added) parts->added_by_content.push_back(&token);
  std::sort(parts->added_by_content.begin(), parts->added_by_content.end(),
            [](const auto* a, const auto* b) { return a->content < b->content; });
  const PieceTable& vocab = parts->encoder->vocab();
  TRY(check_added(parts->added, parts->added_by_content, vocab));
  parts->size = vocab.size();
  for (const AddedToken& token : parts->added) parts->size += vocab.piece(token.id) ? 0 : 1;
  TRY(parts->check_surroundings());
  return Tokenizer(std::move(parts));
}

void Tokenizer::Parts::encode_plain(std::string_view text, std::vector<TokenId>& ids) const {
  const std::string normal = encoder->normalize(text);
  for (const TextPart& part : finders.normalized.split(normal)) {
    if (part.token) {
      ids.push_back(*part.token);
    } else {
      encoder->encode(part.text, ids);
    }
  }
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, bool add_special) const {
  CHECK(check_size(text.size()).ok());
  std::string repaired;
  if (!is_valid_utf8(text)) {
    repaired = with_invalid_utf8_replaced(text);
    text = repaired;
  }
  std::vector<TokenId> ids;
  if (add_special) ids = parts_->surroundings.before;
  for (const TextPart& part : parts_->finders.plain.split(text)) {
    if (part.token) {
      ids.push_back(*part.token);
    } else {
      parts_->encode_plain(part.text, ids);
    }
  }
  const std::vector<TokenId>& behind = parts_->surroundings.behind;
  if (add_special) ids.insert(ids.end(), behind.begin(), behind.end());
  return ids;
}

Status Tokenizer::check_size(size_t bytes) {
  if (bytes < kMaxTextBytes) return Done{};
  return Error{fmt::format("the text must be shorter than {} bytes, which can be encoded at once; found {}",
                           kMaxTextBytes, bytes)};
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  StreamDecoder decoder(*this, {.skip_special = skip_special, .byte_runs = ByteRuns::whole});
  std::string text;
  for (const TokenId id : ids) decoder.push(id, text);
  decoder.finish(text);
  return text;
}

std::optional<std::string_view> Tokenizer::piece(TokenId id) const { return parts_->piece(id); }

std::optional<TokenId> Tokenizer::id_of(std::string_view piece) const {
  if (const AddedToken* token = parts_->find_content(piece)) return token->id;
  return parts_->encoder->vocab().id_of(piece);
}

size_t Tokenizer::size() const { return parts_->size; }

TokenId Tokenizer::id_end() const {
  const TokenId added_end = parts_->added.empty() ? 0 : parts_->added.back().id + 1;
  return std::max(added_end, parts_->encoder->vocab().id_end());
}

bool Tokenizer::is_special(TokenId id) const {
  const AddedToken* token = find_added(parts_->added, id);
  return token != nullptr && token->special;
}

bool Tokenizer::is_added(TokenId id) const { return find_added(parts_->added, id) != nullptr; }

std::optional<TokenId> Tokenizer::bos() const {
  const AddedToken* token = parts_->find_content("<bos>");
  return token != nullptr && token->special ? std::optional(token->id) : std::nullopt;
}

std::optional<TokenId> Tokenizer::eos() const {
  const AddedToken* token = parts_->find_content("<eos>");
  return token != nullptr && token->special ? std::optional(token->id) : std::nullopt;
}

const DecodePlan& Tokenizer::decode_plan() const { return parts_->decoder; }

}  // namespace paceline
