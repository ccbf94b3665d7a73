// The default model behind a server on a free port of this machine.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "kernels/cpu_ops.h"
#include "model/gemma4/gemma4_forward.h"
#include "server/http_client_for_tests.h"
#include "server/server.h"

namespace paceline {

// Loaded once per program.
struct TestModel {
  ThreadPool pool{2};
  kernels::CpuOps ops{**kernels::find_cpu_table(""), pool};
  TextModel text = *load_text_model(std::filesystem::path(PACELINE_SOURCE_DIR) / "models/default", pool);
  Gemma4Forward forward{as_gemma4(text.loaded.weights), ops, Precision::bf16};
  std::unique_ptr<Vision> vision = *Vision::load(text.loaded, Precision::bf16, pool, ops);

  static TestModel& shared() {
    static TestModel model;
    return model;
  }
};

// What a test may reach into.
struct TestHooks {
  std::function<void()> on_step;  // by the engine's thread, within each step
  Forward* forward = nullptr;     // instead of the model's own
  Drafter* drafter = nullptr;     // none: no drafts
  LogLevel log_level = LogLevel::error;
  int log_fd = STDERR_FILENO;
};

class TestServer {
 public:
  explicit TestServer(ServerSettings settings = {}, EngineSettings engine_settings = {}, TestHooks hooks = {})
      : metrics_("default"), observer_(metrics_, std::move(hooks.on_step)), log_(hooks.log_level, hooks.log_fd) {
    TestModel& model = TestModel::shared();
    settings.port = 0;
    engine_ = std::make_unique<Engine>(EngineParts{.forward = hooks.forward != nullptr ? hooks.forward : &model.forward,
                                                   .pool = &model.pool,
                                                   .drafter = hooks.drafter,
                                                   .observer = &observer_,
                                                   .vision = &model.vision->forward()},
                                       engine_settings);
    EngineDescription description;
    description.settings = engine_settings;
    description.kernels = "test";
    served_ = std::make_unique<ServedModel>(model.text, *engine_, model.vision.get(), "", std::move(description));
    auto started = Server::start(*served_, metrics_, log_, settings);
    EXPECT_TRUE(started.ok());
    server_ = std::move(*started);
  }
  // Whatever a test did, all memory has come back.
  ~TestServer() {
    stop();
    while (engine_->step()) {
    }
    EXPECT_STREQ(engine_->integrity_problem(), "");
  }

  [[nodiscard]] TestClient client() const { return TestClient(server_->port()); }
  [[nodiscard]] uint16_t port() const { return server_->port(); }
  Server& server() { return *server_; }
  // Without waiting for anything.
  void stop() { server_.reset(); }
  ServedModel& model() { return *served_; }
  [[nodiscard]] EngineStats stats() const { return engine_->stats(); }
  TestAnswer chat(std::string_view fields, std::string_view text = "Tell a short story.") {
    return client().post("/v1/chat/completions", chat_body(fields, text));
  }
  // Of a conversation of one message, without anything to look at.
  [[nodiscard]] int64_t tokens_of_chat(std::string_view text) const {
    return client().post("/tokenize", chat_body("", text)).json().at("count").as_int64();
  }
  static std::string chat_body(std::string_view fields, std::string_view text = "Tell a short story.") {
    return R"({"messages":[{"role":"user","content":")" + std::string(text) + "\"}]" + (fields.empty() ? "" : ",") +
           std::string(fields) + "}";
  }

  // Whether it comes true before one would say that it hangs.
  static bool soon(const std::function<bool()>& holds, double seconds = 120) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  }

 private:
  struct Observer final : StepObserver {
    Observer(Metrics& to, std::function<void()> hook) : metrics(to), on_step(std::move(hook)) {}
    void observe(const StepReport& report) override {
      if (on_step) on_step();
      metrics.observe(report);
    }
    Metrics& metrics;
    std::function<void()> on_step;
  };

  Metrics metrics_;
  Observer observer_;
  Log log_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<ServedModel> served_;
  std::unique_ptr<Server> server_;
};

}  // namespace paceline
