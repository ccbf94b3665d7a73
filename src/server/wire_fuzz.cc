// Any bytes as a request's body: read as every kind of request, rendered into an error or not, never a crash.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "server/api_error.h"
#include "server/messages/messages_error.h"
#include "server/messages/messages_wire.h"
#include "server/ollama/ollama.h"
#include "server/responses/responses_wire.h"
#include "server/wire_chat.h"
#include "server/wire_completions.h"
#include "server/wire_tokens.h"
#include "session/gemma/gemma_call.h"
#include "session/qwen/json_call.h"
#include "session/qwen/tagged_call.h"

namespace {

// By the wires that leave unknown fields out, and by themselves refuse them.
void read_other_wires(const boost::json::object& body) {
  using namespace paceline;
  static responses::ResponseStore store(1 << 20);
  for (const bool ignores : {true, false}) {
    for (int kind = 0; kind < 4; ++kind) {
      const auto wire = kind == 0   ? responses::make_wire({&store, std::nullopt})
                        : kind == 1 ? messages::make_wire()
                                    : ollama::make_wire(kind == 2);
      FieldProblem problem(ignores);
      wire->read(body, {}, problem);
      if (problem.none()) continue;
      const ApiError error = api_error(*problem.first());
      if (error.status != 400) std::abort();
      (void)messages::error_object(error, "req");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace paceline;
  const std::string_view body(reinterpret_cast<const char*>(bytes), size);
  (void)read_gemma_call(body);
  static const CallableTools kTools{{"f", {{"n", kNumberType}, {"o", kStructuredType | kNullType}}}};
  for (const auto& call : {read_json_call(body, kTools), read_tagged_call(body, kTools)}) {
    FieldProblem wrong;
    if (call && !parse_body(call->arguments, wrong)) std::abort();
  }
  FieldProblem unreadable;
  const auto object = parse_body(body, unreadable);
  if (!object) {
    if (unreadable.none()) std::abort();
    return 0;
  }
  read_other_wires(*object);
  for (int kind = 0; kind < 4; ++kind) {
    FieldProblem problem;
    switch (kind) {
      case 0: (void)read_chat(*object, {}, problem); break;
      case 1: (void)read_completion(*object, {}, problem); break;
      case 2: (void)read_tokenize(*object, {}, problem); break;
      default: (void)read_detokenize(*object, problem);
    }
    // All that can be wrong with a body is the client's.
    if (problem.none()) continue;
    const ApiError error = api_error(*problem.first());
    if (error.status != 400) std::abort();
    (void)error_object(error);
  }
  return 0;
}
