// Any bytes as a request's body: read as every kind of request, rendered into an error or not, never a crash. Most of
// them are mutated as JSON, so that they are read and not only refused. With PACELINE_FUZZ_WIRE=responses (or another
// of the names below) that wire alone is fuzzed; at the end stands how many bodies each has read.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "server/api_error.h"
#include "server/json_mutation_for_tests.h"
#include "server/messages/messages_error.h"
#include "server/messages/messages_wire.h"
#include "server/ollama/ollama.h"
#include "server/responses/responses_wire.h"
#include "server/wire.h"
#include "server/wire_tokens.h"
#include "session/conversation.h"
#include "session/gemma/gemma_call.h"
#include "session/qwen/json_call.h"
#include "session/qwen/tagged_call.h"

namespace {

using namespace paceline;

struct FuzzedWire {
  const char* name;
  std::unique_ptr<Wire> (*make)();
  size_t read = 0, taken = 0;  // bodies that were objects; and of them those without a mistake
};

responses::ResponseStore& kept_responses() {
  static responses::ResponseStore store(1 << 20);
  return store;
}

// Says what there was once the fuzzer has ended.
struct FuzzedWires {
  std::array<FuzzedWire, 6> all{{
      {"chat", [] { return make_chat_wire(); }},
      {"completions", [] { return make_completion_wire(); }},
      {"responses",
       [] {
         return responses::make_wire({&kept_responses(), std::nullopt});
       }},
      {"messages", [] { return messages::make_wire(); }},
      {"ollama-chat", [] { return ollama::make_wire(true); }},
      {"ollama-generate", [] { return ollama::make_wire(false); }},
  }};
  const char* only = std::getenv("PACELINE_FUZZ_WIRE");

  [[nodiscard]] bool is_asked(const FuzzedWire& wire) const {
    return only == nullptr || std::strcmp(only, wire.name) == 0;
  }

  ~FuzzedWires() {
    for (const FuzzedWire& wire : all) {
      if (wire.read > 0) std::fprintf(stderr, "%s: %zu bodies read, %zu taken\n", wire.name, wire.read, wire.taken);
    }
  }
};

FuzzedWires& wires() {
  static FuzzedWires made;
  return made;
}

// All that can be wrong with a body is the client's.
void check_problem(const FieldProblem& problem) {
  if (problem.none()) return;
  const ApiError error = api_error(*problem.first());
  if (error.status != 400) std::abort();
  (void)error_object(error);
  (void)messages::error_object(error, "req");
}

void read_as(FuzzedWire& fuzzed, const boost::json::object& body) {
  ++fuzzed.read;
  bool is_taken = false;
  for (const bool ignores : {true, false}) {
    const auto wire = fuzzed.make();
    FieldProblem problem(ignores);
    wire->read(body, {}, problem);
    check_problem(problem);
    // What is taken has something to be answered.
    if (problem.none() && wire->chat() == nullptr && wire->text() == nullptr) std::abort();
    is_taken = is_taken || problem.none();
  }
  fuzzed.taken += is_taken ? 1 : 0;
}

void read_calls(std::string_view body) {
  (void)read_gemma_call(body);
  static const CallableTools kTools{{"f", {{"n", kNumberType}, {"o", kStructuredType | kNullType}}}};
  for (const auto& call : {read_json_call(body, kTools), read_tagged_call(body, kTools)}) {
    FieldProblem wrong;
    if (call && !parse_body(call->arguments, wrong)) std::abort();
  }
}

// What is read is written, and read as the same again.
void read_talk(std::string_view body) {
  const auto saved = read_conversation(body);
  if (!saved.ok()) return;
  const auto again = read_conversation(written(*saved));
  if (!again.ok() || again->conversation != saved->conversation || again->seed != saved->seed) std::abort();
}

const std::vector<std::string>& words() {
  static const std::vector<std::string> kWords = {"messages",
                                                  "role",
                                                  "content",
                                                  "user",
                                                  "assistant",
                                                  "system",
                                                  "developer",
                                                  "tool",
                                                  "tools",
                                                  "tool_calls",
                                                  "tool_call_id",
                                                  "tool_choice",
                                                  "function",
                                                  "name",
                                                  "arguments",
                                                  "parameters",
                                                  "type",
                                                  "text",
                                                  "image_url",
                                                  "video_url",
                                                  "url",
                                                  "data:image/png;base64,AAAA",
                                                  "http://127.0.0.1/x.png",
                                                  "file:///etc/passwd",
                                                  "max_tokens",
                                                  "temperature",
                                                  "top_p",
                                                  "seed",
                                                  "stop",
                                                  "stream",
                                                  "stream_options",
                                                  "n",
                                                  "logprobs",
                                                  "top_logprobs",
                                                  "logit_bias",
                                                  "response_format",
                                                  "json_schema",
                                                  "json_object",
                                                  "schema",
                                                  "properties",
                                                  "required",
                                                  "pattern",
                                                  "^[a-z]+$",
                                                  "additionalProperties",
                                                  "enum",
                                                  "const",
                                                  "anyOf",
                                                  "allOf",
                                                  "$ref",
                                                  "#",
                                                  "#/$defs/x",
                                                  "$defs",
                                                  "items",
                                                  "strict",
                                                  "speculative",
                                                  "report",
                                                  "detailed",
                                                  "trace",
                                                  "reasoning",
                                                  "reasoning_content",
                                                  "reasoning_effort",
                                                  "effort",
                                                  "summary",
                                                  "auto",
                                                  "none",
                                                  "any",
                                                  "input",
                                                  "instructions",
                                                  "output",
                                                  "input_text",
                                                  "output_text",
                                                  "input_image",
                                                  "function_call",
                                                  "function_call_output",
                                                  "custom_tool_call",
                                                  "custom_tool_call_output",
                                                  "item_reference",
                                                  "call_id",
                                                  "id",
                                                  "namespace",
                                                  "custom",
                                                  "web_search",
                                                  "format",
                                                  "grammar",
                                                  "allowed_tools",
                                                  "mode",
                                                  "previous_response_id",
                                                  "store",
                                                  "max_output_tokens",
                                                  "include",
                                                  "message.output_text.logprobs",
                                                  "truncation",
                                                  "background",
                                                  "thinking",
                                                  "enabled",
                                                  "adaptive",
                                                  "disabled",
                                                  "budget_tokens",
                                                  "tool_use",
                                                  "tool_result",
                                                  "tool_use_id",
                                                  "image",
                                                  "source",
                                                  "base64",
                                                  "media_type",
                                                  "image/png",
                                                  "AAAA",
                                                  "document",
                                                  "redacted_thinking",
                                                  "signature",
                                                  "input_schema",
                                                  "stop_sequences",
                                                  "cache_control",
                                                  "disable_parallel_tool_use",
                                                  "output_config",
                                                  "x-anthropic-billing-header: a",
                                                  "images",
                                                  "options",
                                                  "num_predict",
                                                  "num_ctx",
                                                  "think",
                                                  "keep_alive",
                                                  "5m",
                                                  "raw",
                                                  "suffix",
                                                  "template",
                                                  "prompt",
                                                  "echo",
                                                  "best_of",
                                                  "prompt_cache_key",
                                                  "metadata",
                                                  "chat_template_kwargs",
                                                  "enable_thinking",
                                                  "mm_processor_kwargs",
                                                  "max_soft_tokens",
                                                  "continue_final_message",
                                                  "ignore_eos",
                                                  "",
                                                  "\n",
                                                  "{\"a\": 1}",
                                                  "{",
                                                  "\xF0\x9F\x90\x88",
                                                  "model"};
  return kWords;
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* bytes, size_t size, size_t most);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* bytes, size_t size, size_t most, unsigned int seed) {
  if (seed % 8 == 0) return LLVMFuzzerMutate(bytes, size, most);
  const std::string made =
      JsonMutation(seed, words()).mutate(std::string_view(reinterpret_cast<const char*>(bytes), size));
  if (made.empty() || made.size() > most) return LLVMFuzzerMutate(bytes, size, most);
  std::memcpy(bytes, made.data(), made.size());
  return made.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(bytes), size);
  const bool reads_all = wires().only == nullptr;
  if (reads_all) {
    read_calls(body);
    read_talk(body);
  }
  FieldProblem unreadable;
  const auto object = parse_body(body, unreadable);
  if (!object) {
    if (unreadable.none()) std::abort();
    return 0;
  }
  for (FuzzedWire& wire : wires().all) {
    if (wires().is_asked(wire)) read_as(wire, *object);
  }
  if (!reads_all) return 0;
  for (const bool tokens : {true, false}) {
    FieldProblem problem;
    if (tokens) {
      (void)read_tokenize(*object, {}, problem);
    } else {
      (void)read_detokenize(*object, problem);
    }
    check_problem(problem);
  }
  return 0;
}
