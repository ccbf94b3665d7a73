// What paceline.hpp adds to the C interface: texts and lists, errors that are thrown, handles that close themselves.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <paceline/paceline.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace {

void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "wrapper: %s\n", what);
  std::exit(1);
}

paceline::Request story(uint64_t seed) {
  paceline::Request request;
  request.set_chat(paceline::Chat().user("Tell a story about a small boat.")).set_seed(seed);
  request.max_tokens = 30;
  return request;
}

void check_texts(paceline::Model& model) {
  const std::string text = model.render(paceline::Chat().system("Be kind.").user("Hello"));
  check(text.find("Be kind.") < text.find("Hello"), "render");
  const std::vector<int32_t> ids = model.tokenize(text, false);
  check(model.detokenize(ids, false) == text, "tokens and back");
  check(model.tokenize(std::string_view(), false).empty(), "tokens of nothing");
  check(model.facts().vocab > 0 && model.facts().has_chat == 1, "facts");
}

void check_requests(paceline::Model& model) {
  std::string heard;
  const auto append = [&](const paceline::Event& event) {
    if (event.kind == PACELINE_EVENT_TEXT) heard.append(event.text, event.text_bytes);
    return true;
  };
  const paceline::Generation whole = model.generate(story(1), append);
  check(heard.size() > 20 && whole.text() == heard, "pieces make up the text");
  check(whole.usage().completion_tokens > 0, "usage");
  // A request may be copied, and kept.
  paceline::Request copy = story(1);
  copy = paceline::Request(copy);
  check(model.generate(copy).text() == heard, "the same again");
  paceline::Request stopped = story(1);
  stopped.add_stop_string(heard.substr(10, 4));
  check(model.generate(stopped).text().size() < heard.size(), "a stop string");
  paceline::Request raw;
  raw.set_prompt("Once upon a time").max_tokens = 5;
  check(model.generate(raw).usage().completion_tokens <= 5, "a prompt as it is");
}

// Settings that came later than the structs: by their own names.
void check_settings() {
  paceline::OpenOptions options;
  options.kv = options.kv_sliding = PACELINE_KV_Q8;
  options.latency_ms = 20;
  options.reserve_tokens = 0;
  paceline::Model model(options);
  check(std::string(model.facts().kv) == "q8", "the format of keys and values");
  paceline::Request request = story(1);
  request.depth = 2;
  request.thought_tokens = 8;
  const paceline::Usage two = model.generate(request).usage();
  request.depth = 0;
  const paceline::Usage none = model.generate(request).usage();
  check(two.drafted > two.rounds && none.drafted == 0, "guesses as many as are asked for");
}

// Both callbacks of an opening: the remarks' own `user` stays theirs, and what the other throws comes out.
void check_opening() {
  paceline::OpenOptions options;
  int remarks = 0, steps = 0;
  options.user = &remarks;
  options.on_remark = [](void* user, const char*) { ++*static_cast<int*>(user); };
  const paceline::Model model(options, [&](int64_t, int64_t) { ++steps; });
  check(remarks > 0 && steps > 0, "progress and remarks");
  std::string thrown;
  try {
    const paceline::Model none(options, [](int64_t, int64_t) { throw std::runtime_error("mine"); });
  } catch (const std::runtime_error& error) {
    thrown = error.what();
  }
  check(thrown == "mine", "what a progress callback throws");
}

void check_errors(paceline::Model& model) {
  // An error's words are the library's, and not only the result's name.
  const auto result_of = [](const auto& does) {
    try {
      does();
    } catch (const paceline::Error& error) {
      check(std::strchr(error.what(), ' ') != nullptr, "an error without words");
      return error.result();
    }
    return paceline_result{PACELINE_OK};
  };
  paceline::OpenOptions nowhere;
  nowhere.model = "/nowhere";
  check(result_of([&] { paceline::Model none(nowhere); }) == PACELINE_NO_MODEL, "a model that is not there");
  try {
    paceline::Model none(nowhere);
  } catch (const paceline::Error& error) {
    check(std::strstr(error.what(), "/nowhere") != nullptr, "an error says what was found");
  }
  paceline::Request wrong = story(1);
  wrong.top_p = 7;
  check(result_of([&] { model.submit(wrong); }) == PACELINE_INVALID, "a setting that makes no sense");
  const std::string zero("one\0two", 7);
  check(result_of([&] { model.render(paceline::Chat().user(zero)); }) == PACELINE_INVALID, "a zero byte in a message");
  check(result_of([&] { model.submit(story(1).add_stop_string(zero)); }) == PACELINE_INVALID, "and in a stop string");
  check(
      result_of([&] { model.generate(story(1), [](const paceline::Event&) { return false; }); }) == PACELINE_CANCELLED,
      "a callback that wants no more");
  std::string thrown;
  try {
    model.generate(story(1), [](const paceline::Event&) -> bool { throw std::runtime_error("mine"); });
  } catch (const std::runtime_error& error) {
    thrown = error.what();
  }
  check(thrown == "mine", "what a callback throws comes out of wait()");
  paceline::Request endless = story(1);
  endless.max_tokens = 0;
  endless.ignore_eos = 1;
  paceline::Generation running = model.submit(endless);
  running.cancel();
  check(result_of([&] { running.wait(); }) == PACELINE_CANCELLED, "cancel");
  const paceline::Generation left = model.submit(endless);  // cancelled where it goes out of scope
}

// What was thrown is thrown as often as it is asked for, and the message beside it is given back each time.
void check_waiting_again(paceline::Model& model) {
  paceline::Generation thrown =
      model.submit(story(1), [](const paceline::Event&) -> bool { throw std::runtime_error("mine"); });
  const auto wait = [&](int times) {
    int caught = 0;
    for (int i = 0; i < times; ++i) {
      try {
        thrown.wait();
      } catch (const std::runtime_error&) {
        ++caught;
      }
    }
    check(caught == times, "what a callback threw, again");
  };
  wait(100);
#ifdef __GLIBC__
  const size_t before = mallinfo2().uordblks;
  wait(10000);
  check(mallinfo2().uordblks < before + 100000, "what wait() leaves");
#endif
}

// What a callback holds says when it is given back.
struct Held {
  explicit Held(std::function<void()> does) : goes(std::move(does)) {}
  ~Held() { goes(); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  std::function<void()> goes;
};

// One variable for one request after the other: what the first one's callback holds stays until it has returned.
void check_reassignment(paceline::Model& model) {
  std::atomic<bool> is_inside{false}, goes_early{false};
  auto held = std::make_shared<const Held>([&] { goes_early = is_inside.load(); });
  paceline::Generation running = model.submit(story(1), [&is_inside, held](const paceline::Event&) {
    std::atomic<bool>& inside = is_inside;  // also where the callback itself is gone
    inside = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    inside = false;
    return true;
  });
  held.reset();
  while (!is_inside) std::this_thread::yield();
  running = model.submit(story(2));
  check(!goes_early, "a callback stays as long as it may be called");
  running.wait();
  check(!running.text().empty(), "the second request in the first one's place");
}

// A handle that was moved from refers to no request.
void check_moved(paceline::Model& model) {
  paceline::Generation first = model.submit(story(1));
  paceline::Generation second = std::move(first);
  second.wait();
  bool is_told = false;
  try {
    first.wait();  // NOLINT(bugprone-use-after-move)
  } catch (const paceline::Error& error) {
    is_told = error.result() == PACELINE_INVALID;
  }
  check(is_told, "waiting for a handle that was moved from");
}

}  // namespace

int main() {
  int64_t last = -1;
  paceline::Model model(paceline::OpenOptions(), [&](int64_t done, int64_t) { last = done; });
  check(last > 0, "progress");
  check_texts(model);
  check_requests(model);
  check_settings();
  check_opening();
  check_errors(model);
  check_waiting_again(model);
  check_reassignment(model);
  check_moved(model);
  return 0;
}
