// paceline.h for C++17 and later: handles that close themselves, texts as std::string, errors thrown. All of it is in
// this header, over the C interface; what holds there about threads and callbacks holds here.
//
//     paceline::Model model;  // the one that was installed with the library
//     paceline::Request request;
//     request.set_chat(paceline::Chat().user("Why is the sky blue?"));
//     std::cout << model.generate(request).text();
#ifndef PACELINE_PACELINE_HPP
#define PACELINE_PACELINE_HPP

#include <paceline/paceline.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paceline {
// Of this version of the header, so that no other code of that name is taken for it.
inline namespace cpp1 {

class Error : public std::runtime_error {
 public:
  Error(paceline_result result, const std::string& message) : std::runtime_error(message), result_(result) {}
  paceline_result result() const { return result_; }

 private:
  paceline_result result_;
};

namespace detail {

struct Free {
  void operator()(void* memory) const { paceline_free(memory); }
};
using Text = std::unique_ptr<char, Free>;

// `call` is given the place for the message, and has returned before that is read; it may throw, too.
template <class Call>
void check(const Call& call) {
  struct Problem {
    char* text = nullptr;
    ~Problem() { paceline_free(text); }
  } problem;
  const paceline_result result = call(&problem.text);
  if (result != PACELINE_OK) throw Error(result, problem.text ? problem.text : paceline_result_name(result));
}

}  // namespace detail

using Event = paceline_event;
using Facts = paceline_facts;
using Usage = paceline_usage;
// Called on the model's own thread. False: no more.
using OnEvent = std::function<bool(const Event&)>;

struct OpenOptions : paceline_open_options {
  OpenOptions() { paceline_open_options_init(this, sizeof(paceline_open_options)); }
};

namespace detail {

// C ends a text at a zero byte.
inline const char* text_for_c(const std::string& text, const char* what) {
  if (text.find('\0') == std::string::npos) return text.c_str();
  throw Error(PACELINE_INVALID, std::string(what) + " must not hold a zero byte");
}

}  // namespace detail

// A conversation. Its settings are those of paceline_chat.
class Chat : public paceline_chat {
 public:
  Chat() { paceline_chat_init(this, sizeof(paceline_chat)); }

  Chat& add(std::string role, std::string content) {
    said_.emplace_back(std::move(role), std::move(content));
    return *this;
  }
  Chat& system(std::string content) { return add("system", std::move(content)); }
  Chat& user(std::string content) { return add("user", std::move(content)); }
  Chat& assistant(std::string content) { return add("assistant", std::move(content)); }

 private:
  friend class Model;
  friend class Request;
  // The same for C, as long as this is there and `messages` too.
  paceline_chat for_c(std::vector<paceline_message>& messages_out) const {
    paceline_chat made = *this;
    if (said_.empty()) return made;
    for (const auto& message : said_)
      messages_out.push_back(
          {detail::text_for_c(message.first, "a role"), detail::text_for_c(message.second, "a message")});
    made.messages = messages_out.data();
    made.message_count = messages_out.size();
    return made;
  }

  std::vector<std::pair<std::string, std::string>> said_;
};

// Settings are those of paceline_request; what is set by a function here is kept here.
class Request : public paceline_request {
 public:
  Request() { paceline_request_init(this, sizeof(paceline_request)); }

  Request& set_chat(Chat asked) {
    asked_ = std::make_shared<const Chat>(std::move(asked));
    return *this;
  }
  Request& set_prompt(std::string text) {
    text_ = std::make_shared<const std::string>(std::move(text));
    return *this;
  }
  Request& set_seed(uint64_t number) {
    has_seed = 1;
    seed = number;
    return *this;
  }
  Request& add_stop_string(std::string text) {
    stops_.push_back(std::move(text));
    return *this;
  }
  Request& add_picture(std::string path_of_file) {
    pictures_.push_back(std::move(path_of_file));
    return *this;
  }

 private:
  friend class Model;
  // What for_c() points to.
  struct Parts {
    paceline_chat chat;
    std::vector<paceline_message> messages;
    std::vector<const char*> stops;
    std::vector<paceline_medium> media;
  };
  paceline_request for_c(Parts& parts) const {
    paceline_request made = *this;
    if (asked_) {
      parts.chat = asked_->for_c(parts.messages);
      made.chat = &parts.chat;
    }
    if (text_) {
      made.prompt = text_->data();
      made.prompt_bytes = text_->size();
    }
    for (const std::string& text : stops_) parts.stops.push_back(detail::text_for_c(text, "a stop string"));
    if (!stops_.empty()) {
      made.stop_strings = parts.stops.data();
      made.stop_string_count = parts.stops.size();
    }
    for (const std::string& path : pictures_) {
      paceline_medium picture;
      paceline_medium_init(&picture, sizeof(picture));
      picture.path = detail::text_for_c(path, "a picture's path");
      parts.media.push_back(picture);
    }
    if (!pictures_.empty()) {
      made.media = parts.media.data();
      made.media_count = parts.media.size();
    }
    return made;
  }

  std::shared_ptr<const Chat> asked_;
  std::shared_ptr<const std::string> text_;
  std::vector<std::string> stops_, pictures_;
};

// A request that is being computed, or has been. Where it goes out of scope while it runs, it is cancelled; its own
// OnEvent is the one place where it must not. What an OnEvent holds stays until it has returned.
class Generation {
 public:
  Generation(Generation&&) noexcept = default;
  // What ran here is released before the ear that it calls goes.
  Generation& operator=(Generation&& other) noexcept {
    handle_ = std::move(other.handle_);
    ear_ = std::move(other.ear_);
    return *this;
  }
  ~Generation() = default;

  // Until it has ended. What OnEvent threw is thrown here, whenever it is asked.
  void wait() {
    detail::check([&](char** problem) {
      const paceline_result result = paceline_wait(handle_.get(), problem);
      // Within an OnEvent nothing was waited for, and nothing is known.
      if (result != PACELINE_INVALID && has_thrown()) std::rethrow_exception(ear_->thrown);
      return result;
    });
  }
  // From any thread.
  void cancel() const { paceline_cancel(handle_.get()); }

  // Once it has ended.
  Usage usage() const {
    Usage made{};
    made.size = sizeof(made);
    detail::check([&](char** problem) { return paceline_usage_of(handle_.get(), &made, problem); });
    return made;
  }
  // What it points to lives as long as this does.
  paceline_choice choice(int32_t number = 0) const {
    paceline_choice made{};
    made.size = sizeof(made);
    detail::check([&](char** problem) { return paceline_choice_of(handle_.get(), number, &made, problem); });
    return made;
  }
  std::string text(int32_t number = 0) const {
    const paceline_choice found = choice(number);
    return std::string(found.text, found.text_bytes);
  }
  paceline_generation* get() const { return handle_.get(); }

 private:
  friend class Model;
  struct Ear {
    OnEvent hear;
    std::exception_ptr thrown;
    std::weak_ptr<Ear> self;
  };
  struct Release {
    void operator()(paceline_generation* handle) const { paceline_release(handle); }
  };
  Generation(paceline_generation* handle, std::shared_ptr<Ear> ear) : ear_(std::move(ear)), handle_(handle) {}

  bool has_thrown() const { return ear_ != nullptr && ear_->thrown != nullptr; }

  static int32_t hear(void* user, const paceline_event* event) {
    // Until it has returned: where two models' callbacks release each other's generations, nobody waits for that.
    const std::shared_ptr<Ear> ear = static_cast<Ear*>(user)->self.lock();
    if (ear == nullptr) return 1;
    try {
      return ear->hear(*event) ? 0 : 1;
    } catch (...) {
      if (!ear->thrown) ear->thrown = std::current_exception();
      return 1;
    }
  }

  std::shared_ptr<Ear> ear_;  // outlives the handle, which calls it
  std::unique_ptr<paceline_generation, Release> handle_;
};

// Closed where it goes out of scope, which waits for what it computes. An OnEvent, of whatever model, is no place for
// that: there nothing is waited for, and the model stays.
class Model {
 public:
  using OnProgress = std::function<void(int64_t done, int64_t total)>;

  // What it throws is thrown here, once the model has been opened and closed again.
  explicit Model(const OpenOptions& options = OpenOptions(), const OnProgress& on_progress = OnProgress()) {
    paceline_open_options asked = options;
    Opening opening{on_progress, options, nullptr};
    if (on_progress) {
      asked.on_progress = &Opening::progress;
      asked.on_remark = options.on_remark != nullptr ? &Opening::remark : nullptr;
      asked.user = &opening;
    }
    paceline_model* opened = nullptr;
    detail::check([&](char** problem) { return paceline_open(&asked, &opened, problem); });
    handle_.reset(opened);
    if (opening.thrown) std::rethrow_exception(opening.thrown);
  }

  // What its pointers point to lives as long as the model does.
  Facts facts() const {
    Facts made{};
    made.size = sizeof(made);
    detail::check([&](char** problem) { return paceline_model_facts(handle_.get(), &made, problem); });
    return made;
  }

  std::string render(const Chat& chat) const {
    std::vector<paceline_message> messages;
    const paceline_chat asked = chat.for_c(messages);
    char* text = nullptr;
    detail::check([&](char** problem) { return paceline_render(handle_.get(), &asked, &text, problem); });
    return detail::Text(text).get();
  }
  std::vector<int32_t> tokenize(std::string_view text, bool add_special = true) const {
    int32_t* ids = nullptr;
    size_t count = 0;
    detail::check([&](char** problem) {
      const char* begin = text.data() != nullptr ? text.data() : "";
      return paceline_tokenize(handle_.get(), begin, text.size(), add_special ? 1 : 0, &ids, &count, problem);
    });
    const std::unique_ptr<int32_t, detail::Free> owned(ids);
    return std::vector<int32_t>(ids, ids + count);
  }
  std::string detokenize(const std::vector<int32_t>& ids, bool skip_special = true) const {
    char* text = nullptr;
    size_t bytes = 0;
    detail::check([&](char** problem) {
      return paceline_detokenize(handle_.get(), ids.data(), ids.size(), skip_special ? 1 : 0, &text, &bytes, problem);
    });
    const detail::Text owned(text);
    return std::string(text, bytes);
  }

  // Returns at once; many may be on their way.
  Generation submit(const Request& request, OnEvent on_event = OnEvent()) {
    Request::Parts parts;
    paceline_request asked = request.for_c(parts);
    const auto ear = std::make_shared<Generation::Ear>();
    ear->hear = std::move(on_event);
    ear->self = ear;
    if (ear->hear) {
      asked.on_event = &Generation::hear;
      asked.user = ear.get();
    }
    paceline_generation* made = nullptr;
    detail::check([&](char** problem) { return paceline_submit(handle_.get(), &asked, &made, problem); });
    return Generation(made, ear);
  }
  // And waits.
  Generation generate(const Request& request, OnEvent on_event = OnEvent()) {
    Generation generation = submit(request, std::move(on_event));
    generation.wait();
    return generation;
  }

  paceline_model* get() const { return handle_.get(); }

 private:
  // What the callbacks of an opening are told of: OnProgress, and the caller's own options for the other.
  struct Opening {
    const OnProgress& heard;
    const paceline_open_options& options;
    std::exception_ptr thrown;

    static void progress(void* user, int64_t done, int64_t total) {
      auto* opening = static_cast<Opening*>(user);
      if (opening->thrown) return;
      try {
        opening->heard(done, total);
      } catch (...) {
        opening->thrown = std::current_exception();
      }
    }
    static void remark(void* user, const char* text) {
      const paceline_open_options& options = static_cast<Opening*>(user)->options;
      options.on_remark(options.user, text);
    }
  };
  struct Close {
    void operator()(paceline_model* model) const { paceline_close(model); }
  };
  std::unique_ptr<paceline_model, Close> handle_;
};

}  // namespace cpp1
}  // namespace paceline

#endif
