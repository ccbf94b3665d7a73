// Any bytes as a conversation: rendered by the template that ships with the program into an error or a text, and that
// into tokens.
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/utf8.h"
#include "session/chat_request.h"
#include "tokenizer/packed_file.h"
#include "tokenizer/tokenizer.h"

namespace {

using namespace paceline;
namespace json = boost::json;

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}
  [[nodiscard]] bool empty() const { return rest_.empty(); }
  uint8_t next() {
    if (rest_.empty()) return 0;
    const auto byte = static_cast<uint8_t>(rest_[0]);
    rest_.remove_prefix(1);
    return byte;
  }
  // Some of the bytes as they stand, or a text that means something to templates.
  std::string text() {
    static constexpr std::string_view kTexts[] = {"",           "user",      "thought",      "<|channel>",
                                                  "<channel|>", "<turn|>\n", "<|tool_call>", "{{ messages }}",
                                                  "<|\"|>",     " \n\t",     "é€😀"};
    const uint8_t length = next();
    if (length >= 240) return std::string(kTexts[length % std::size(kTexts)]);
    const size_t taken = std::min<size_t>(length % 24, rest_.size());
    std::string made(rest_.substr(0, taken));
    rest_.remove_prefix(taken);
    return made;
  }

 private:
  std::string_view rest_;
};

json::value value_of(ByteReader& bytes, int depth) {
  switch (bytes.next() % (depth > 4 ? 5 : 8)) {
    case 0: return nullptr;
    case 1: return true;
    case 2: return static_cast<int64_t>(bytes.next()) - 128;
    case 3: return bytes.next() / 8.0;
    case 4: return json::value(bytes.text());
    case 5: {
      json::array list;
      for (int i = bytes.next() % 4; i > 0; --i) list.push_back(value_of(bytes, depth + 1));
      return list;
    }
    default: {
      static constexpr std::string_view kKeys[] = {"type",        "text",      "name",    "properties",
                                                   "description", "enum",      "items",   "required",
                                                   "parameters",  "arguments", "function"};
      json::object made;
      for (int i = bytes.next() % 4; i > 0; --i) {
        const uint8_t key = bytes.next();
        made[key < 200 ? std::string(kKeys[key % std::size(kKeys)]) : bytes.text()] = value_of(bytes, depth + 1);
      }
      return made;
    }
  }
}

json::value content_of(ByteReader& bytes) {
  const uint8_t kind = bytes.next();
  if (kind % 4 == 0) return value_of(bytes, 3);
  if (kind % 4 < 3) return json::value(bytes.text());
  static constexpr std::string_view kTypes[] = {"text", "image", "image_url", "audio", "video", "other"};
  json::array parts;
  for (int i = kind / 4 % 4; i > 0; --i) {
    parts.push_back({{"type", kTypes[bytes.next() % std::size(kTypes)]}, {"text", bytes.text()}});
  }
  return parts;
}

json::object message_of(ByteReader& bytes) {
  static constexpr std::string_view kRoles[] = {"user", "assistant", "tool", "system", "developer", "model"};
  const uint8_t shape = bytes.next();
  json::object message{{"role", kRoles[shape % std::size(kRoles)]}};
  if (bytes.next() % 8 > 0) message["content"] = content_of(bytes);
  if (shape & 16) message["reasoning"] = bytes.text();
  if (shape & 32) message["tool_call_id"] = bytes.text();
  if (shape & 64) message["name"] = bytes.text();
  if (shape & 128) {
    json::array calls;
    for (int i = bytes.next() % 3; i > 0; --i) {
      calls.push_back({{"id", bytes.text()},
                       {"type", "function"},
                       {"function", {{"name", bytes.text()}, {"arguments", value_of(bytes, 2)}}}});
    }
    message["tool_calls"] = std::move(calls);
  }
  return message;
}

ChatRequest request_of(std::string_view given) {
  ChatRequest request;
  ByteReader bytes(given);
  const uint8_t switches = bytes.next();
  if (given.starts_with('[')) {
    json::error_code failed;
    const json::value parsed = json::parse(given, failed);
    if (!failed && parsed.is_array()) request.messages = parsed.get_array();
  } else {
    request.add_generation_prompt = (switches & 1) != 0;
    request.continue_final_message = (switches & 6) == 6;
    if (switches & 8) request.variables["enable_thinking"] = true;
    if (switches & 16) {
      json::array tools;
      tools.push_back({{"type", "function"}, {"function", value_of(bytes, 0)}});
      request.tools = std::move(tools);
    }
    for (int i = 0; i < 8 && !bytes.empty(); ++i) request.messages.push_back(message_of(bytes));
  }
  request.variables["bos_token"] = "<bos>";
  return request;
}

std::string file(const char* name) {
  auto contents = read_packed_file(std::string(PACELINE_SOURCE_DIR "/models/default/") + name);
  CHECK(contents.ok());
  return std::move(*contents);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const jinja::Template kTemplate = jinja::Template::parse(file("chat_template.jinja")).value();
  static const Tokenizer kTokenizer = Tokenizer::load(file("tokenizer.json")).value();
  const ChatRequest request = request_of({reinterpret_cast<const char*>(bytes), size});
  jinja::RenderOptions options;
  options.limits = {.steps = 100'000, .depth = 600, .bytes = 4 << 20, .output_bytes = 1 << 18};
  const auto rendered = render_chat_request(kTemplate, request, options);
  if (!rendered.ok()) {
    CHECK(!rendered.error().message.empty());
    return 0;
  }
  CHECK(rendered->text.size() <= options.limits.output_bytes);
  CHECK(is_valid_utf8(rendered->text));
  for (const TokenId id : kTokenizer.encode(rendered->text, false)) CHECK(id >= 0 && id < kTokenizer.id_end());
  return 0;
}
