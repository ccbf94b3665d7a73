// Several models in one process: small ones, loaded and unloaded while clients use them.
#include <gtest/gtest.h>

#include <atomic>
#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <thread>

#include "base/resident_memory.h"
#include "base/sanitized.h"
#include "base/units_text.h"
#include "server/http_client_for_tests.h"
#include "server/server_for_tests.h"
#include "weights/scratch_folder.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNames[] = {"dense", "ple", "moe"};
constexpr size_t kKvBytes = size_t{4} << 20;

// Checkpoints of the goldens with a tokenizer, as folders of models have them.
class ModelsServer {
 public:
  explicit ModelsServer(size_t budget = 0, ServerSettings settings = {}, bool has_drafters = false)
      : log_(LogLevel::error) {
    for (const char* name : kNames) link_model(name, has_drafters);
    std::vector<ShelfEntry> entries;
    for (const char* name : kNames) entries.push_back(entry(name, has_drafters));
    if (budget == 0) budget = size_t{1} << 30;
    routing_ = std::move(*RoutingLog::open({}));
    ShelfTerms terms{.budget_bytes = budget, .routing = routing_.get(), .rescan = [this] { return more_; }};
    shelf_ = std::make_unique<ModelShelf>(std::move(entries), std::move(terms), log_);
    settings.port = 0;
    server_ = std::move(*Server::start(*shelf_, log_, settings));
  }
  ~ModelsServer() { server_.reset(); }

  [[nodiscard]] TestClient client() const { return TestClient(server_->port()); }
  ModelShelf& shelf() { return *shelf_; }
  static std::string body(const std::string& model, const std::string& fields = R"("max_tokens":4)") {
    return R"({"model":")" + model + R"(","prompt":"def f(x):","temperature":0,)" + fields + "}";
  }
  [[nodiscard]] TestAnswer complete(const std::string& model, const std::string& fields = R"("max_tokens":4)") const {
    return client().post("/v1/completions", body(model, fields));
  }
  [[nodiscard]] boost::json::value model(const std::string& name) const {
    return client().get("/v1/models/" + name).json();
  }
  [[nodiscard]] std::string state(const std::string& name) const {
    return boost::json::value_to<std::string>(model(name).at("status").at("value"));
  }
  [[nodiscard]] size_t needs(const std::string& name) { return shelf_->look(name).needs.all(); }
  ShelfEntry entry(const std::string& name, bool drafts) {
    ShelfEntry made;
    made.name = name;
    made.open.run.model = (scratch_.path() / name).string();
    made.open.run.threads = 1;
    made.open.draft.draft = drafts ? "auto" : "none";
    made.open.draft.lazy = true;
    made.open.engine.kv_bytes = kKvBytes;
    made.head = read_model_head(scratch_.path() / name, {});
    return made;
  }
  void link_model(const std::string& name, bool has_drafter, const std::string& as = "") {
    const fs::path goldens = fs::path(PACELINE_SOURCE_DIR) / "tests/goldens";
    const fs::path folder = scratch_.path() / (as.empty() ? name : as);
    fs::create_directories(folder);
    for (const auto& file : fs::directory_iterator(goldens / name / "target"))
      fs::create_symlink(file.path(), folder / file.path().filename());
    fs::create_symlink(goldens / "tokenizer.json", folder / "tokenizer.json");
    if (has_drafter) fs::create_directory_symlink(goldens / name / "assistant", folder / "assistant");
  }
  ScratchFolder& scratch() { return scratch_; }
  void find_more(std::vector<ShelfEntry> entries) { more_ = std::move(entries); }

 private:
  ScratchFolder scratch_;
  Log log_;
  std::vector<ShelfEntry> more_;
  std::unique_ptr<RoutingLog> routing_;
  std::unique_ptr<ModelShelf> shelf_;
  std::unique_ptr<Server> server_;
};

std::string text_of(const TestAnswer& answer) {
  return boost::json::value_to<std::string>(answer.json().at("choices").at(0).at("text"));
}

TEST(SeveralModels, ComeAtFirstUse) {
  ModelsServer server;
  for (const char* name : kNames) EXPECT_EQ(server.state(name), "unloaded");
  // Looking loads nothing.
  const auto list = server.client().get("/v1/models").json();
  EXPECT_EQ(list.at("data").as_array().size(), 3u);
  EXPECT_EQ(list.at("memory").at("used").to_number<int64_t>(), 0);
  const TestAnswer first = server.complete("ple");
  ASSERT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(first.json().at("model"), "ple");
  EXPECT_EQ(server.state("ple"), "loaded");
  EXPECT_EQ(server.state("moe"), "unloaded");
  EXPECT_GT(server.model("ple").at("memory").at("weights").to_number<int64_t>(), 1'000'000);
  EXPECT_GT(server.model("moe").at("memory").at("needed_to_load").to_number<int64_t>(), 2'000'000);
  // Whoever does not say gets the first.
  EXPECT_EQ(server.complete("").json().at("model"), "dense");
  EXPECT_EQ(server.complete("nothing").status, 404);
  EXPECT_EQ(server.complete("nothing").error_field("code"), "model_not_found");
  // Each is another.
  const auto logprobs = [&](const char* name) {
    const auto answer = server.complete(name, R"("max_tokens":2,"logprobs":1)").json();
    return boost::json::serialize(answer.at("choices").at(0).at("logprobs").at("token_logprobs"));
  };
  EXPECT_NE(logprobs("moe"), logprobs("ple"));
  const std::string metrics = server.client().get("/metrics").body;
  EXPECT_NE(metrics.find("vllm:generation_tokens_total{model_name=\"ple\"} "), std::string::npos);
  EXPECT_EQ(metrics.find("# TYPE vllm:generation_tokens_total"), metrics.rfind("# TYPE vllm:generation_tokens_total"));
  EXPECT_EQ(server.client().get("/health").status, 200);
  EXPECT_NE(server.client().get("/v1/routing").head.find("jsonl"), std::string::npos);
}

TEST(SeveralModels, TheOneThatWasUsedLongestAgoMakesRoom) {
  size_t two = 0;
  {
    ModelsServer all;
    two = all.needs("dense") + all.needs("moe") + 1000;
  }
  ModelsServer server(two);
  const std::string alone = text_of(server.complete("dense", R"("max_tokens":16)"));
  EXPECT_EQ(server.complete("ple").status, 200);
  EXPECT_EQ(server.complete("dense").status, 200);
  EXPECT_EQ(server.complete("moe").status, 200);
  EXPECT_EQ(server.state("ple"), "unloaded");
  EXPECT_EQ(server.state("dense"), "loaded");
  EXPECT_LE(server.shelf().used_bytes(), two);
  // One that is pinned stays, though it is older.
  EXPECT_EQ(server.client().post("/v1/models/dense/load", R"({"pin":true})").status, 200);
  EXPECT_EQ(server.complete("moe").status, 200);
  EXPECT_EQ(server.complete("ple").status, 200);
  EXPECT_EQ(server.state("dense"), "loaded");
  EXPECT_EQ(server.state("moe"), "unloaded");
  EXPECT_EQ(text_of(server.complete("dense", R"("max_tokens":16)")), alone);
}

TEST(SeveralModels, OneThatNeverFitsSaysByHowMuch) {
  ModelsServer server(size_t{8} << 20);
  const TestAnswer answer = server.complete("moe");
  EXPECT_EQ(answer.status, 400) << answer.body;
  EXPECT_EQ(answer.error_field("code"), "model_does_not_fit");
  EXPECT_NE(answer.error_field("message").find("too much"), std::string::npos) << answer.body;
  EXPECT_EQ(server.client().post("/v1/models/moe/load", "").status, 400);
}

TEST(SeveralModels, AFailedLoadSaysWhyAndTheNextRequestTriesAgain) {
  ModelsServer server;
  const fs::path file = server.scratch().path() / "ple/model.safetensors";
  const fs::path target = fs::read_symlink(file);
  fs::remove(file);
  server.scratch().write("ple/model.safetensors", "no weights");
  for (int i = 0; i < 2; ++i) {
    const TestAnswer answer = server.complete("ple");
    EXPECT_EQ(answer.status, 500) << answer.body;
    EXPECT_EQ(answer.error_field("code"), "model_load_failed");
    EXPECT_NE(answer.error_field("message").find("model.safetensors"), std::string::npos) << answer.body;
  }
  EXPECT_EQ(server.state("ple"), "failed");
  EXPECT_EQ(server.complete("dense").status, 200);
  fs::remove(file);
  fs::create_symlink(target, file);
  EXPECT_EQ(server.complete("ple").status, 200);
}

TEST(SeveralModels, ADraftThatWasRefusedIsForgotten) {
  ModelsServer server(0, {}, true);
  for (const char* draft : {"/nonexistent", "moe"}) {
    const std::string place = draft[0] == '/' ? draft : (server.scratch().path() / draft).string();
    const TestAnswer refused = server.client().post("/v1/models/dense/load", R"({"draft":")" + place + R"("})");
    EXPECT_EQ(refused.status, 500) << refused.body;
    EXPECT_EQ(server.state("dense"), "failed");
    EXPECT_EQ(server.complete("dense").status, 200) << draft;
    ASSERT_EQ(server.client().post("/v1/models/dense/unload", "").status, 200);
  }
  // One that it came with is kept.
  ASSERT_EQ(server.client().post("/v1/models/dense/load", R"({"draft":"none"})").status, 200);
  ASSERT_EQ(server.client().post("/v1/models/dense/unload", "").status, 200);
  EXPECT_EQ(server.complete("dense").status, 200);
  EXPECT_EQ(server.model("dense").at("drafter").at("state"), "none");
}

TEST(SeveralModels, WhoHasGoneWaitsForNoModel) {
  const size_t one = ModelsServer().needs("moe") + 1000;
  ModelsServer server(one);
  ASSERT_EQ(server.complete("dense").status, 200);
  ModelLease busy = server.shelf().ask("dense")->model();
  const auto waiting = [&] { return server.model("moe").at("waiting").to_number<int>(); };
  {
    TestClient whole = server.client(), streamed = server.client();
    whole.send_post("/v1/completions", ModelsServer::body("moe"));
    streamed.send_post("/v1/completions", ModelsServer::body("moe", R"("max_tokens":4,"stream":true)"));
    ASSERT_TRUE(TestServer::soon([&] { return waiting() == 2; }));
  }
  EXPECT_TRUE(TestServer::soon([&] { return waiting() == 0; }));
  // There is room now, and nobody who wants it.
  busy.reset();
  EXPECT_EQ(server.complete("dense").status, 200);
  EXPECT_EQ(server.state("moe"), "unloaded");
  EXPECT_EQ(server.state("dense"), "loaded");
}

// A load stops where it can once the last has gone who waited for it; for one who stays it goes on.
TEST(SeveralModels, ALoadThatNobodyWaitsForIsGivenUp) {
  std::atomic<bool> holds = true;
  std::atomic<int> begun = 0, warmed = 0;
  const auto stage = [&](const char* what) {
    if (std::string_view(what) == "warm-up") ++warmed;
    if (std::string_view(what) != "weights") return;
    ++begun;
    (void)TestServer::soon([&] { return !holds; });
  };
  ModelsServer server;
  ShelfEntry slow = server.entry("moe", false);
  slow.name = "slow";
  slow.open.stage = stage;
  server.find_more({slow});
  ASSERT_EQ(server.client().post("/v1/models/rescan", "").json().at("added").to_number<int>(), 1);
  const auto waiting = [&] { return server.model("slow").at("waiting").to_number<int>(); };
  {
    TestClient first = server.client(), second = server.client();
    first.send_post("/v1/completions", ModelsServer::body("slow"));
    second.send_post("/v1/completions", ModelsServer::body("slow"));
    ASSERT_TRUE(TestServer::soon([&] { return begun == 1 && waiting() == 2; }));
  }
  ASSERT_TRUE(TestServer::soon([&] { return waiting() == 0; }));
  EXPECT_EQ(server.state("slow"), "loading");
  holds = false;
  EXPECT_TRUE(TestServer::soon([&] { return server.state("slow") != "loading"; }));
  EXPECT_EQ(server.state("slow"), "unloaded");
  EXPECT_EQ(warmed, 0);
  EXPECT_TRUE(server.model("slow").at("status").at("error").is_null());
  // One of two stays.
  holds = true;
  TestClient stays = server.client();
  {
    TestClient goes = server.client();
    stays.send_post("/v1/completions", ModelsServer::body("slow"));
    goes.send_post("/v1/completions", ModelsServer::body("slow"));
    ASSERT_TRUE(TestServer::soon([&] { return begun == 2 && waiting() == 2; }));
  }
  ASSERT_TRUE(TestServer::soon([&] { return waiting() == 1; }));
  holds = false;
  EXPECT_EQ(stays.read_answer().status, 200);
  EXPECT_EQ(warmed, 1);
}

TEST(SeveralModels, WhoWaitsForOneIsListedAndCanBeEnded) {
  const size_t one = ModelsServer().needs("moe") + 1000;
  ServerSettings settings;
  settings.ollama = true;
  ModelsServer server(one, settings);
  ASSERT_EQ(server.complete("dense").status, 200);
  ModelLease busy = server.shelf().ask("dense")->model();
  TestClient waits = server.client();
  waits.send_post("/v1/completions", ModelsServer::body("moe"));
  const auto waiting = [&] { return server.client().get("/v1/requests").json().at("waiting").as_array(); };
  const auto newest = [&] { return server.client().get("/v1/requests").json().at("recent").at(0); };
  ASSERT_TRUE(TestServer::soon([&] { return waiting().size() == 1; }));
  const boost::json::value record = waiting()[0];
  EXPECT_EQ(record.at("state"), "loading");
  EXPECT_EQ(record.at("model"), "moe");
  EXPECT_EQ(record.at("wire"), "completions");
  EXPECT_EQ(record.at("client"), "127.0.0.1");
  EXPECT_EQ(record.at("queued_s"), record.at("age_s"));
  const std::string id = boost::json::value_to<std::string>(record.at("id"));
  EXPECT_EQ(server.client().post("/v1/requests/" + id + "/cancel", "").status, 200);
  EXPECT_EQ(waits.read_answer().error_field("code"), "cancelled");
  EXPECT_TRUE(TestServer::soon([&] { return waiting().empty(); }));
  EXPECT_EQ(server.client().post("/v1/requests/" + id + "/cancel", "").status, 404);
  EXPECT_EQ(server.state("moe"), "unloaded");
  EXPECT_EQ(newest().at("id"), id.c_str());
  EXPECT_EQ(newest().at("state"), "ended");
  EXPECT_EQ(newest().at("end"), "cancelled");
  // Another, on each wire, has one name from the beginning to its end; and who goes is among the last, too.
  for (const auto& [route, body] : std::vector<std::pair<const char*, std::string>>{
           {"/v1/completions", ModelsServer::body("moe")},
           {"/api/generate",
            R"({"model":"moe","prompt":"x","raw":true,"stream":false,"options":{"num_predict":2}})"}}) {
    TestClient other = server.client(), goes = server.client();
    goes.send_post(route, body);
    ASSERT_TRUE(TestServer::soon([&] { return waiting().size() == 1; }));
    const std::string gone = boost::json::value_to<std::string>(waiting()[0].at("id"));
    goes.close();
    ASSERT_TRUE(TestServer::soon([&] { return newest().at("id") == gone.c_str(); }));
    other.send_post(route, body);
    ASSERT_TRUE(TestServer::soon([&] { return waiting().size() == 1; }));
    const std::string name = boost::json::value_to<std::string>(waiting()[0].at("id"));
    busy.reset();
    const TestAnswer answer = other.read_answer();
    ASSERT_EQ(answer.status, 200) << answer.body;
    if (answer.json().as_object().contains("id")) {
      EXPECT_EQ(answer.json().at("id"), name.c_str());
    }
    EXPECT_NE(answer.head.find(name.substr(name.find('-') + 1)), std::string::npos) << "x-request-id has its letters";
    ASSERT_TRUE(TestServer::soon([&] { return newest().at("id") == name.c_str(); }));
    ASSERT_EQ(server.complete("dense").status, 200);
    busy = server.shelf().ask("dense")->model();
  }
}

// Who does not wait for a model that is asked for is told that it comes, also while it waits for room.
TEST(SeveralModels, OneThatIsWantedIsLoading) {
  const size_t one = ModelsServer().needs("moe") + 1000;
  ModelsServer server(one);
  ASSERT_EQ(server.complete("dense").status, 200);
  ModelLease busy = server.shelf().ask("dense")->model();
  const auto told = server.client().post("/v1/models/moe/load", R"({"wait":false})");
  ASSERT_EQ(told.status, 200) << told.body;
  EXPECT_EQ(told.json().at("status").at("value"), "loading");
  EXPECT_EQ(told.json().at("status").at("stage"), "waiting");
  EXPECT_EQ(told.json().at("memory").at("weights").to_number<int64_t>(), 0);
  EXPECT_EQ(server.state("moe"), "loading");
  busy.reset();
  EXPECT_TRUE(TestServer::soon([&] { return server.state("moe") == "loaded"; }));
}

// What pinned models hold comes back when somebody unloads them, not by waiting.
TEST(SeveralModels, NoRoomBesidePinnedOnesIsSaidAtOnce) {
  size_t one = 0, moe = 0, dense = 0;
  {
    ModelsServer all;
    dense = all.needs("dense"), moe = all.needs("moe");
    one = std::max(dense, moe) + 1000;
  }
  ModelsServer server(one);
  ASSERT_EQ(server.client().post("/v1/models/dense/load", R"({"pin":true})").status, 200);
  for (const char* fields : {R"("max_tokens":4)", R"("max_tokens":4,"stream":true)"}) {
    const TestAnswer refused = server.complete("moe", fields);
    EXPECT_EQ(refused.status, 409) << refused.body;
    EXPECT_EQ(refused.error_field("code"), "models_pinned");
    const std::string lacks = bytes_text(static_cast<double>(dense + moe - one));
    EXPECT_NE(refused.error_field("message").find(": " + lacks + " too much"), std::string::npos) << refused.body;
  }
  EXPECT_EQ(server.client().post("/v1/models/moe/load", "").error_field("code"), "models_pinned");
  EXPECT_EQ(server.complete("dense").status, 200);
  // One that waits for a busy model hears of it when that one is pinned.
  ASSERT_EQ(server.client().post("/v1/models/dense/load", R"({"pin":false})").status, 200);
  {
    const ModelLease busy = server.shelf().ask("dense")->model();
    TestClient waits = server.client();
    waits.send_post("/v1/completions", ModelsServer::body("moe"));
    ASSERT_TRUE(TestServer::soon([&] { return server.model("moe").at("waiting").to_number<int>() == 1; }));
    ASSERT_EQ(server.client().post("/v1/models/dense/load", R"({"pin":true})").status, 200);
    EXPECT_EQ(waits.read_answer().error_field("code"), "models_pinned");
  }
  ASSERT_EQ(server.client().post("/v1/models/dense/load", R"({"pin":false})").status, 200);
  EXPECT_EQ(server.complete("moe").status, 200);
}

TEST(SeveralModels, ComeAndGoByName) {
  ModelsServer server;
  const auto loaded = server.client().post("/v1/models/ple/load", R"({"idle_seconds":100})");
  ASSERT_EQ(loaded.status, 200) << loaded.body;
  EXPECT_EQ(loaded.json().at("status").at("value"), "loaded");
  EXPECT_EQ(loaded.json().at("idle_seconds").to_number<double>(), 100);
  EXPECT_EQ(server.client().post("/models/load", R"({"model":"moe"})").body, R"({"success":true})");
  EXPECT_EQ(server.client().post("/models/load", "{}").error_field("code"), "missing_required_parameter");
  EXPECT_EQ(server.client().get("/models").json().at("data").as_array().size(), 3u);
  const auto gone = server.client().post("/v1/models/ple/unload", "");
  ASSERT_EQ(gone.status, 200) << gone.body;
  EXPECT_EQ(gone.json().at("status").at("value"), "unloaded");
  EXPECT_EQ(server.client().post("/models/unload", R"({"model":"moe"})").body, R"({"success":true})");
  EXPECT_EQ(server.shelf().used_bytes(), 0u);
  EXPECT_EQ(server.client().post("/v1/models/none/load", "").status, 404);
  EXPECT_EQ(server.client().post("/v1/models/ple/load", R"({"wat":1})").status, 400);
  EXPECT_EQ(server.client().get("/v1/models/ple/load").status, 405);
  server.link_model("ple", false, "org/another");
  server.find_more({server.entry("org/another", false)});
  EXPECT_EQ(server.client().post("/v1/models/rescan", "").json().at("added").to_number<int>(), 1);
  EXPECT_EQ(server.complete("org/another").status, 200);
  EXPECT_EQ(server.state("org/another"), "loaded");
  EXPECT_EQ(server.state("org%2Fanother"), "loaded") << "as clients write it";
  const auto unloaded = server.client().post("/v1/models/org%2fanother/unload", "");
  EXPECT_EQ(unloaded.status, 200) << unloaded.body;
  EXPECT_EQ(server.state("org/another"), "unloaded");
  for (const char* other : {"org%252Fanother", "org%2Fanother%0a", "org%2", "%"})
    EXPECT_EQ(server.client().get(std::string("/v1/models/") + other).status, 404) << other;
}

TEST(SeveralModels, OneWhoseFilesAreGoneIsNoLongerThere) {
  ModelsServer server;
  server.link_model("ple", false, "another");
  server.find_more({server.entry("another", false)});
  const auto rescan = [&] { return server.client().post("/v1/models/rescan", "").body; };
  EXPECT_EQ(rescan(), R"({"added":1,"removed":0,"models":4})");
  EXPECT_EQ(server.complete("another").status, 200);
  fs::remove_all(server.scratch().path() / "another");
  server.find_more({});
  // Who is loaded serves on.
  EXPECT_EQ(rescan(), R"({"added":0,"removed":0,"models":4})");
  EXPECT_EQ(server.complete("another").status, 200);
  ASSERT_EQ(server.client().post("/v1/models/another/unload", "").status, 200);
  const TestAnswer lost = server.complete("another");
  EXPECT_EQ(lost.status, 500);
  EXPECT_EQ(lost.body.find(server.scratch().path().string()), std::string::npos) << lost.body;
  EXPECT_NE(lost.body.find("not there any more"), std::string::npos) << lost.body;
  EXPECT_EQ(rescan(), R"({"added":0,"removed":1,"models":3})");
  EXPECT_EQ(server.complete("another").status, 404);
  EXPECT_EQ(server.client().get("/v1/models/another").status, 404);
  EXPECT_EQ(server.client().get("/v1/models").json().at("data").as_array().size(), 3u);
  server.link_model("ple", false, "another");
  server.find_more({server.entry("another", false)});
  EXPECT_EQ(rescan(), R"({"added":1,"removed":0,"models":4})");
  EXPECT_EQ(server.complete("another").status, 200);
}

TEST(SeveralModels, OneThatCannotBeLoadedIsNotMeantByDefault) {
  ModelsServer server;
  const fs::path file = server.scratch().path() / "dense/model.safetensors";
  fs::remove(file);
  server.scratch().write("dense/model.safetensors", "no weights");
  EXPECT_EQ(server.complete("dense").status, 500);
  EXPECT_EQ(server.complete("").json().at("model"), "ple");
}

TEST(SeveralModels, OneThatNobodyUsesGoes) {
  ModelsServer server;
  ASSERT_EQ(server.client().post("/v1/models/ple/load", R"({"idle_seconds":0.2})").status, 200);
  EXPECT_TRUE(TestServer::soon([&] { return server.state("ple") == "unloaded"; }));
}

// What holds for all is changed while they are loaded; one that has its own keeps it.
TEST(SeveralModels, TheTimeThatAllMayBeIdleChanges) {
  ServerSettings settings;
  settings.check_setting = [](const std::string&, const std::string&) -> Status { return Done{}; };
  settings.change_setting = [](const std::string&, const std::string& value) -> Result<LiveSettings> {
    LiveSettings live;
    live.model_idle_s = std::stod(value);
    return live;
  };
  ModelsServer server(0, settings);
  ASSERT_EQ(server.client().post("/v1/models/moe/load", R"({"idle_seconds":1000})").status, 200);
  ASSERT_EQ(server.complete("ple").status, 200);
  ASSERT_EQ(server.client().post("/v1/settings", R"({"model-idle-seconds":0.2})").status, 200);
  EXPECT_TRUE(TestServer::soon([&] { return server.state("ple") == "unloaded"; }));
  EXPECT_EQ(server.state("moe"), "loaded");
  EXPECT_EQ(server.model("moe").at("idle_seconds").to_number<double>(), 1000);
}

// There is no room while another is at work: a stream shows that it lives, and what does not stream is told to come
// again.
TEST(SeveralModels, WhoWaitsShowsThatItLives) {
  const size_t one = ModelsServer().needs("moe") + 1000;
  ServerSettings settings;
  settings.life_sign_s = 0.1;
  settings.load_s = 0.5;
  ModelsServer server(one, settings);
  ASSERT_EQ(server.complete("dense").status, 200);
  // A lease is what somebody at work has.
  ModelLease busy = server.shelf().ask("dense")->model();
  const TestAnswer late = server.complete("moe");
  EXPECT_EQ(late.status, 503) << late.body;
  EXPECT_EQ(late.error_field("code"), "model_loading");
  EXPECT_NE(late.head.find("Retry-After: "), std::string::npos);
  for (const bool comes : {false, true}) {
    TestClient client = server.client();
    client.send_post("/v1/completions", ModelsServer::body("moe", R"("max_tokens":4,"stream":true)"));
    ASSERT_TRUE(client.read_until(": \n\n"));
    if (comes) busy.reset();
    const TestAnswer answer = client.read_answer();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.done(), comes) << answer.body;
    EXPECT_EQ(answer.body.find("model_loading") == std::string::npos, comes) << answer.body;
  }
}

// Its clients count events, and want the last one.
TEST(SeveralModels, AResponseThatWaitsForItsModelHasItsEvents) {
  const size_t one = ModelsServer().needs("moe") + 1000;
  ServerSettings settings;
  settings.life_sign_s = 0.1;
  settings.load_s = 0.5;
  ModelsServer server(one, settings);
  ASSERT_EQ(server.complete("dense").status, 200);
  ModelLease busy = server.shelf().ask("dense")->model();
  TestClient client = server.client();
  client.send_post("/v1/responses", R"({"model":"moe","input":"x","stream":true,"max_output_tokens":4})");
  const TestAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body.find(": \n\n"), std::string::npos) << answer.body;
  const std::vector<boost::json::value> events = answer.events();
  ASSERT_GE(events.size(), 4u) << answer.body;
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].at("sequence_number").to_number<size_t>(), i);
    EXPECT_EQ(events[i].at("response").at("id"), events[0].at("response").at("id"));
    const char* type = i == 0 ? "response.created" : i + 1 < events.size() ? "response.in_progress" : "response.failed";
    EXPECT_EQ(events[i].at("type"), type);
  }
  const auto& error = events.back().at("response").at("error");
  EXPECT_EQ(error.at("code"), "rate_limit_exceeded");
  EXPECT_NE(std::string(error.at("message").as_string()).find("try again in 10s"), std::string::npos);
}

TEST(SeveralModels, OllamasClientsSayHowLongAModelStays) {
  ServerSettings settings;
  settings.ollama = true;
  ModelsServer server(0, settings);
  const auto loaded = server.client().post("/api/generate", R"({"model":"ple:latest"})");
  ASSERT_EQ(loaded.status, 200) << loaded.body;
  EXPECT_EQ(loaded.json().at("done_reason"), "load");
  EXPECT_EQ(server.state("ple"), "loaded");
  EXPECT_EQ(server.client().post("/api/chat", R"({"model":"ple","messages":[],"keep_alive":"1h30m"})").status, 200);
  EXPECT_EQ(server.model("ple").at("idle_seconds").to_number<double>(), 5400);
  EXPECT_EQ(server.client().post("/api/generate", R"({"model":"ple","keep_alive":"zz"})").status, 400);
  EXPECT_EQ(server.client().post("/api/generate", R"({"model":"none"})").status, 404);
  // Who pinned it wants it to stay.
  ASSERT_EQ(server.client().post("/v1/models/ple/load", R"({"pin":true})").status, 200);
  const auto stays = server.client().post("/api/generate", R"({"model":"ple","keep_alive":0})");
  EXPECT_EQ(stays.status, 409) << stays.body;
  EXPECT_NE(stays.body.find("pinned"), std::string::npos) << stays.body;
  EXPECT_EQ(server.state("ple"), "loaded");
  ASSERT_EQ(server.client().post("/v1/models/ple/load", R"({"pin":false})").status, 200);
  const auto gone = server.client().post("/api/chat", R"({"model":"ple","messages":[],"keep_alive":0})");
  EXPECT_EQ(gone.json().at("done_reason"), "unload") << gone.body;
  EXPECT_TRUE(TestServer::soon([&] { return server.state("ple") == "unloaded"; }));
  for (const char* path : {"/api/pull", "/api/push", "/api/create", "/api/copy", "/api/delete", "/api/blobs/sha256:0"})
    EXPECT_EQ(server.client().post(path, "{}").status, 501) << path;
  const auto shown = server.client().post("/api/show", R"({"model":"ple"})").json();
  const std::string family(shown.at("details").at("family").as_string());
  EXPECT_EQ(family, server.shelf().look("ple").entry.head.type);
  EXPECT_EQ(shown.at("model_info").at("general.architecture"), family.c_str());
  EXPECT_TRUE(shown.at("model_info").as_object().contains(family + ".context_length"));
  EXPECT_NE(shown.at("details").at("parameter_size"), "");
  EXPECT_NE(shown.at("details").at("quantization_level"), "");
  EXPECT_EQ(shown.at("template"), "") << "it has none";
}

TEST(SeveralModels, OllamasClientsSeeWhatTheFilesSay) {
  ServerSettings settings;
  settings.ollama = true;
  ModelsServer server(0, settings);
  std::ofstream(server.scratch().path() / "ple/chat_template.jinja") << "{{ messages }}";
  fs::last_write_time(
      server.scratch().path() / "ple/chat_template.jinja",
      fs::file_time_type::clock::from_sys(std::chrono::sys_seconds(std::chrono::seconds(4'000'000'000))));
  EXPECT_EQ(server.entry("ple", false).head.changed, 4'000'000'000);
  const auto shown = server.client().post("/api/show", R"({"model":"ple"})").json();
  EXPECT_EQ(shown.at("template"), "{{ messages }}");
  EXPECT_GT(server.model("moe").at("created").to_number<int64_t>(), 1'000'000'000) << "not loaded";
  ASSERT_EQ(server.complete("dense").status, 200);
  const auto tags = server.client().get("/api/tags").json().at("models").as_array();
  ASSERT_EQ(tags.size(), 3u);
  for (const auto& tag : tags) EXPECT_GT(boost::json::value_to<std::string>(tag.at("modified_at")), "2020") << tag;
  // The digest of one that is loaded comes when it has been computed.
  const auto digest = [&] {
    const auto all = server.client().get("/api/tags").json();
    for (const auto& tag : all.at("models").as_array())
      if (tag.at("name") == "dense:latest") return boost::json::value_to<std::string>(tag.at("digest"));
    return std::string();
  };
  EXPECT_TRUE(TestServer::soon([&] { return digest().size() == 64; }));
  EXPECT_EQ(digest(), boost::json::value_to<std::string>(server.model("dense").at("sha256").at("target")));
}

TEST(SeveralModels, OllamasRawPromptHasNoTemplate) {
  ServerSettings settings;
  settings.ollama = true;
  ModelsServer server(0, settings);
  const auto raw = server.client().post(
      "/api/generate",
      R"({"model":"dense","prompt":"def f(x):","raw":true,"stream":false,"options":{"num_predict":4,"temperature":0}})");
  ASSERT_EQ(raw.status, 200) << raw.body;
  const auto plain = server.complete("dense");
  EXPECT_EQ(boost::json::value_to<std::string>(raw.json().at("response")), text_of(plain));
  EXPECT_EQ(raw.json().at("prompt_eval_count"), plain.json().at("usage").at("prompt_tokens"));
  for (const char* field : {R"("system":"x")", R"("format":"json")", R"("images":["aGk="])"}) {
    const auto refused = server.client().post(
        "/api/generate", std::string(R"({"model":"dense","prompt":"x","raw":true,)") + field + "}");
    EXPECT_EQ(refused.status, 400) << field << refused.body;
    EXPECT_NE(refused.body.find("beside raw"), std::string::npos) << refused.body;
  }
}

TEST(SeveralModels, WhoIsAtWorkEndsBeforeItsModelGoes) {
  ServerSettings settings;
  settings.drain_s = 0.3;
  ModelsServer server(0, settings);
  ASSERT_EQ(server.complete("dense").status, 200);
  ModelLease busy = server.shelf().ask("dense")->model();
  const TestAnswer refused = server.client().post("/v1/models/dense/unload", "");
  EXPECT_EQ(refused.status, 409) << refused.body;
  EXPECT_EQ(server.state("dense"), "loaded");
  EXPECT_EQ(server.client().post("/v1/models/dense/unload", R"({"wait":false})").json().at("status").at("value"),
            "unloading");
  // Who comes meanwhile waits until it has gone and come back.
  TestClient next = server.client();
  next.send_post("/v1/completions", ModelsServer::body("dense"));
  EXPECT_FALSE(next.read_some(200));
  busy.reset();
  EXPECT_EQ(next.read_answer().status, 200);
  // By force.
  TestClient running = server.client();
  running.send_post("/v1/completions",
                    ModelsServer::body("dense", R"("max_tokens":480,"ignore_eos":true,"stream":true)"));
  ASSERT_TRUE(running.read_until("data: "));
  EXPECT_EQ(server.client().post("/v1/models/dense/unload", R"({"force":true})").status, 200);
  EXPECT_EQ(server.state("dense"), "unloaded");
}

TEST(SeveralModels, DraftersGoFirstAndComeBack) {
  size_t without = 0;
  {
    ModelsServer all(0, {}, true);
    const ModelView dense = all.shelf().look("dense");
    ASSERT_GT(dense.needs.drafter, 0u);
    without = dense.needs.all() - dense.needs.drafter + all.needs("ple") + 1000;
  }
  ModelsServer server(without, {}, true);
  const std::string fields = R"("max_tokens":32,"speculative":{"max_depth":4})";
  const std::string drafted = text_of(server.complete("dense", fields));
  EXPECT_EQ(server.complete("ple").status, 200);
  EXPECT_EQ(server.state("dense"), "loaded");
  EXPECT_EQ(server.model("dense").at("drafter").at("state"), "dropped");
  EXPECT_NE(server.model("ple").at("drafter").at("state"), "dropped");
  EXPECT_EQ(text_of(server.complete("dense", fields)), drafted);
  ASSERT_EQ(server.client().post("/v1/models/ple/unload", "").status, 200);
  EXPECT_TRUE(TestServer::soon([&] { return server.model("dense").at("drafter").at("state") != "dropped"; }));
  EXPECT_EQ(text_of(server.complete("dense", fields)), drafted);
}

// Alone, beside one that is pinned, one that is idle, and one that is at work: no model goes for a drafter.
TEST(SeveralModels, OneThatFitsWithoutItsDrafterAloneComesWithoutIt) {
  ModelView dense;
  size_t ple = 0;
  const std::string fields = R"("max_tokens":32,"speculative":{"max_depth":4})";
  std::string drafted;
  {
    ModelsServer all(0, {}, true);
    dense = all.shelf().look("dense");
    ple = all.shelf().look("ple").needs.without_drafter().all();
    drafted = text_of(all.complete("dense", fields));
  }
  ASSERT_GT(dense.needs.drafter, 0u);
  const auto comes_undrafted = [&](ModelsServer& server, size_t budget) {
    const TestAnswer answer = server.complete("dense", fields);
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(text_of(answer), drafted);
    EXPECT_EQ(server.model("dense").at("drafter").at("state"), "dropped");
    EXPECT_LE(server.shelf().used_bytes(), budget);
  };
  {
    const size_t budget = dense.needs.all() - 1;
    ModelsServer server(budget, {}, true);
    comes_undrafted(server, budget);
    // Without it there is a bound as well, and it says so.
    ModelsServer small(dense.needs.without_drafter().all() - 1, {}, true);
    EXPECT_EQ(small.complete("dense").error_field("code"), "model_does_not_fit");
  }
  const size_t both = dense.needs.without_drafter().all() + ple;
  {
    ModelsServer server(both, {}, true);
    ASSERT_EQ(server.client().post("/v1/models/ple/load", R"({"pin":true,"draft":"none"})").status, 200);
    comes_undrafted(server, both);
    EXPECT_EQ(server.state("ple"), "loaded");
  }
  {
    ModelsServer server(both, {}, true);
    ASSERT_EQ(server.client().post("/v1/models/ple/load", R"({"draft":"none"})").status, 200);
    comes_undrafted(server, both);
    EXPECT_EQ(server.state("ple"), "loaded");
    EXPECT_EQ(server.complete("ple").status, 200);
    EXPECT_EQ(server.state("dense"), "loaded");
  }
  {
    // One that has to go for the model itself leaves room for its drafter, too.
    const size_t one = std::max(dense.needs.all(), both - 1);
    ModelsServer server(one, {}, true);
    ASSERT_EQ(server.client().post("/v1/models/ple/load", R"({"draft":"none"})").status, 200);
    ASSERT_EQ(server.complete("dense", fields).status, 200);
    EXPECT_EQ(server.state("ple"), "unloaded");
    EXPECT_NE(server.model("dense").at("drafter").at("state"), "dropped");
  }
  ModelsServer server(both, {}, true);
  {
    ASSERT_EQ(server.client().post("/v1/models/ple/load", R"({"draft":"none"})").status, 200);
    const ModelLease busy = server.shelf().ask("ple")->model();
    comes_undrafted(server, both);
  }
  ASSERT_EQ(server.client().post("/v1/models/ple/unload", "").status, 200);
  EXPECT_TRUE(TestServer::soon([&] { return server.model("dense").at("drafter").at("state") != "dropped"; }));
  EXPECT_EQ(text_of(server.complete("dense", fields)), drafted);
}

TEST(SeveralModels, ADrafterThatDoesNotFitIsRefused) {
  ModelsServer server;
  server.link_model("dense", false, "odd");
  // Of another model.
  const fs::path other = fs::path(PACELINE_SOURCE_DIR) / "models/default/assistant";
  fs::create_directory_symlink(other, server.scratch().path() / "odd/assistant");
  server.find_more({server.entry("odd", true)});
  ASSERT_EQ(server.client().post("/v1/models/rescan", "").status, 200);
  EXPECT_GT(server.needs("odd"), server.needs("dense"));
  ASSERT_EQ(server.complete("odd").status, 200);
  const boost::json::value odd = server.model("odd");
  EXPECT_EQ(odd.at("drafter").at("state"), "refused");
  const auto reason = boost::json::value_to<std::string>(odd.at("drafter").at("reason"));
  EXPECT_NE(reason.find("assistant: does not fit the model: "), std::string::npos) << reason;
  EXPECT_EQ(reason.find(server.scratch().path().string()), std::string::npos) << reason;
  EXPECT_EQ(odd.at("memory").at("drafter").to_number<int64_t>(), 0);
}

// Who wrote what: the pieces are the text, and the rounds are those that were counted.
TEST(SeveralModels, TracesSayWhoWroteWhat) {
  ModelsServer server(0, {}, true);
  for (const bool speculates : {true, false}) {
    const std::string fields =
        R"("max_tokens":48,"stream":true,"stream_options":{"include_usage":true},"speculative":)" +
        std::string(speculates ? R"({"max_depth":6,"trace":true})" : R"({"enabled":false,"trace":true})");
    const TestAnswer answer = server.complete("dense", fields);
    ASSERT_EQ(answer.status, 200) << answer.body;
    int64_t drafted = 0, accepted = 0, rounds = 0, last = 0, numbered = 0;
    size_t accepted_bytes = 0;
    boost::json::value usage;
    for (const boost::json::value& event : answer.events()) {
      if (event.at("choices").as_array().empty()) {
        usage = event.at("usage").at("speculative");
        continue;
      }
      const boost::json::object& trace = event.at("speculation").as_object();
      std::string text;
      for (const boost::json::value& span : trace.at("spans").as_array()) {
        text += span.at("text").as_string();
        if (span.at("origin") == "accepted") accepted_bytes += span.at("text").as_string().size();
        if (!speculates) {
          EXPECT_EQ(span.at("origin"), "plain");
        }
      }
      EXPECT_EQ(text, event.at("choices").at(0).at("text").as_string());
      const boost::json::value alone(boost::json::array{trace});
      int64_t accepted_apart = 0;
      for (const boost::json::value& one : trace.contains("each") ? trace.at("each").as_array() : alone.as_array()) {
        if (trace.at("rounds") != 0) ++numbered;
        EXPECT_EQ(one.at("round").to_number<int64_t>(), numbered) << "one behind the other";
        EXPECT_LE(one.at("accepted").to_number<int64_t>(), one.at("drafted").to_number<int64_t>());
        accepted_apart += one.at("accepted").to_number<int64_t>();
      }
      // What the policy expects of no drafts, of one, …
      if (speculates && trace.at("rounds") != 0) {
        EXPECT_GT(trace.at("expected").as_array().at(0).to_number<double>(), 0);
      }
      EXPECT_EQ(accepted_apart, trace.at("accepted").to_number<int64_t>());
      drafted += trace.at("drafted").to_number<int64_t>();
      accepted += trace.at("accepted").to_number<int64_t>();
      rounds += trace.at("rounds").to_number<int64_t>();
      EXPECT_GE(trace.at("round").to_number<int64_t>(), last);
      last = trace.at("round").to_number<int64_t>();
    }
    EXPECT_EQ(drafted, usage.at("drafted").to_number<int64_t>());
    EXPECT_EQ(accepted, usage.at("accepted").to_number<int64_t>());
    EXPECT_EQ(rounds, usage.at("rounds").to_number<int64_t>());
    EXPECT_EQ(rounds, last);
    EXPECT_EQ(accepted_bytes > 0, accepted > 0);
    EXPECT_EQ(accepted > 0, speculates) << "a drafter that never guesses right shows nothing";
  }
  // Without being asked nothing is said, and the text is the same.
  const std::string plain = server.complete("dense", R"("max_tokens":48,"stream":true)").body;
  EXPECT_EQ(plain.find("\"speculation\""), std::string::npos);
}

// As deep as is asked for, except where the text's end is nearer; and the text is the same.
TEST(SeveralModels, ADepthThatIsAskedForIsTaken) {
  ModelsServer server(0, {}, true);
  const std::string plain = text_of(server.complete("dense", R"("max_tokens":48,"speculative":{"enabled":false})"));
  for (const int64_t depth : {1, 3, 7}) {
    const TestAnswer answer =
        server.complete("dense", R"("max_tokens":48,"speculative":{"depth":)" + std::to_string(depth) + "}");
    ASSERT_EQ(answer.status, 200) << answer.body;
    const boost::json::value counts = answer.json().at("usage").at("speculative");
    // The first token comes from the prompt, before anybody could draft.
    const int64_t all = depth * (counts.at("rounds").to_number<int64_t>() - 1);
    EXPECT_LE(counts.at("drafted").to_number<int64_t>(), all);
    EXPECT_GE(counts.at("drafted").to_number<int64_t>(), all - depth * (depth + 1) / 2) << "but at the end";
    EXPECT_EQ(text_of(answer), plain);
  }
}

// Loads and unloads while clients use all three: nobody is refused, and the memory comes back.
TEST(SeveralModels, ComeAndGoUnderTraffic) {
  ModelsServer server;
  const auto unload_all = [&] {
    for (const char* name : kNames)
      EXPECT_EQ(server.client().post("/v1/models/" + std::string(name) + "/unload", "").status, 200);
  };
  std::atomic<int> served = 0, failed = 0;
  const auto round = [&](int turns) {
    std::atomic<bool> stops = false;
    std::vector<std::thread> clients;
    for (unsigned i = 0; i < 3; ++i) {
      clients.emplace_back([&, i] {
        std::minstd_rand random(i + 1);
        while (!stops) {
          const bool streams = random() % 2 == 0;
          const TestAnswer answer =
              server.complete(kNames[random() % 3], streams ? R"("max_tokens":8,"stream":true)" : R"("max_tokens":8)");
          const bool good = answer.status == 200 && (!streams || answer.done());
          ++(good ? served : failed);
          EXPECT_TRUE(good) << answer.body;
        }
      });
    }
    for (int i = 0; i < turns; ++i) {
      const std::string model = std::string("/v1/models/") + kNames[i % 3];
      EXPECT_EQ(server.client().post(model + "/load", "").status, 200);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_EQ(server.client().post(model + "/unload", "").status, 200);
    }
    stops = true;
    for (std::thread& thread : clients) thread.join();
    unload_all();
    give_freed_memory_back();
  };
  // Until the heap has seen whatever meets whatever, and the records of what happened are as many as are kept.
  // (Sanitizers look for other faults, and keep what is freed.)
  const int turns = kSanitized ? 6 : 30;
  while (served < (kSanitized ? 1 : 5000)) round(turns);
  const size_t before = resident_bytes();
  // What is lost, is lost each time; where the heap has its holes is chance.
  size_t after = std::numeric_limits<size_t>::max();
  for (int i = 0; i < 3; ++i) {
    round(turns);
    after = std::min(after, resident_bytes());
  }
  EXPECT_EQ(failed, 0);
  EXPECT_GT(served, turns);
  if (!kSanitized) {
    EXPECT_LT(static_cast<double>(after), 1.02 * static_cast<double>(before)) << before << " before, " << after;
  }
  RecordProperty("served", served);
  std::printf("%d requests, %.1f MB before, %.1f MB after\n", served.load(), static_cast<double>(before) / 1e6,
              static_cast<double>(after) / 1e6);
}

}  // namespace
}  // namespace paceline
