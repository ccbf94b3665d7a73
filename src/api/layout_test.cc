// Where the fields lie that programs have been compiled against. Numbers may be added here and not changed, unless
// PACELINE_ABI_VERSION is.
#include <gtest/gtest.h>
#include <paceline/paceline.h>

#include <cstddef>

namespace paceline::api {
namespace {

struct Place {
  const char* field;
  size_t found, expected;
};
#define PLACE(type, field, expected) \
  Place { #type "." #field, offsetof(type, field), expected }

TEST(CLayout, FieldsLieWhereTheyLay) {
  static_assert(sizeof(void*) == 8, "the numbers are those of machines with 64 bits");
  EXPECT_EQ(PACELINE_ABI_VERSION, 1);
  const Place places[] = {
      PLACE(paceline_open_options, model, 8),
      PLACE(paceline_open_options, user, 48),
      PLACE(paceline_open_options, device, 56),
      PLACE(paceline_open_options, kv_bytes, 80),
      PLACE(paceline_open_options, batch_rows, 96),
      PLACE(paceline_open_options, draft_up_to_context, 120),
      PLACE(paceline_open_options, latency_ms, 128),
      PLACE(paceline_open_options, draft_up_to_kv, 136),
      PLACE(paceline_open_options, queue_bytes, 144),
      PLACE(paceline_open_options, kv, 152),
      PLACE(paceline_open_options, lazy_drafter, 164),
      PLACE(paceline_facts, kv_bytes, 56),
      PLACE(paceline_facts, eos, 92),
      PLACE(paceline_facts, kv, 96),
      PLACE(paceline_load, waiting, 28),
      PLACE(paceline_message, content, 8),
      PLACE(paceline_chat, tools_json, 32),
      PLACE(paceline_chat, open_end, 52),
      PLACE(paceline_medium, path, 24),
      PLACE(paceline_medium, frames, 36),
      PLACE(paceline_request, on_event, 48),
      PLACE(paceline_request, max_tokens, 64),
      PLACE(paceline_request, has_seed, 100),
      PLACE(paceline_request, logit_bias, 112),
      PLACE(paceline_request, ignore_eos, 160),
      PLACE(paceline_request, response_format_json, 176),
      PLACE(paceline_request, media, 200),
      PLACE(paceline_request, deadline_ms, 216),
      PLACE(paceline_request, fresh, 232),
      PLACE(paceline_request, depth, 240),
      PLACE(paceline_request, thought_tokens, 244),
      PLACE(paceline_likely_token, logprob, 20),
      PLACE(paceline_token, top, 24),
      PLACE(paceline_token, origin, 40),
      PLACE(paceline_event, text, 16),
      PLACE(paceline_event, call, 48),
      PLACE(paceline_event, finish, 64),
      PLACE(paceline_event, generation, 80),
      PLACE(paceline_usage, rounds, 40),
      PLACE(paceline_usage, decode_ms, 80),
      PLACE(paceline_choice, calls, 40),
      PLACE(paceline_choice, finish, 88),
  };
  for (const Place& place : places) EXPECT_EQ(place.found, place.expected) << place.field;
  // Those without a size: what is pointed to is a list of them.
  EXPECT_EQ(sizeof(paceline_message), 16u);
  EXPECT_EQ(sizeof(paceline_logit_bias), 8u);
  EXPECT_EQ(sizeof(paceline_likely_token), 24u);
  EXPECT_EQ(sizeof(paceline_token), 48u);
  EXPECT_EQ(sizeof(paceline_tool_call), 16u);
}

TEST(CLayout, NumbersMeanWhatTheyMeant) {
  EXPECT_EQ(PACELINE_FAILED, 7);
  EXPECT_EQ(PACELINE_CANCELLED, 5);
  EXPECT_EQ(PACELINE_FINISH_FAILED, 6);
  EXPECT_EQ(PACELINE_EVENT_TEXT, 2);
  EXPECT_EQ(PACELINE_EVENT_END, 6);
  EXPECT_EQ(PACELINE_DEVICE_CUDA, 2);
  EXPECT_EQ(PACELINE_VISION_NEEDED, 2);
  EXPECT_EQ(PACELINE_KV_Q8, 2);
  EXPECT_EQ(PACELINE_EXTRA, 3);
}

}  // namespace
}  // namespace paceline::api
