#include "server/console/benchmarks.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <condition_variable>

namespace paceline {
namespace {

namespace json = boost::json;

// A measurement that does what the test says, step by step.
class BenchmarkRoutes : public testing::Test {
 protected:
  ServerSettings settings() {
    ServerSettings made;
    made.benchmark_kinds = {"prose", "code"};
    made.run_benchmark = [this](const std::string& url, const BenchmarkPlan& plan, const BenchmarkHooks& hooks) {
      return measure(url, plan, hooks);
    };
    return made;
  }

  Result<std::string> measure(const std::string& url, const BenchmarkPlan& plan, const BenchmarkHooks& hooks) {
    std::unique_lock lock(mutex_);
    url_ = url;
    plan_ = plan;
    hooks.begin("1 at once, plain");
    hooks.progress(1, 4);
    hooks.hear(R"({"cells":[{"tokens_per_s":12.5}]})");
    while (!ends_ && !hooks.stopped()) changed_.wait_for(lock, std::chrono::milliseconds(5));
    if (hooks.stopped()) return Error{"cancelled"};
    if (!problem_.empty()) return Error{problem_};
    hooks.progress(4, 4);
    return std::string("<svg/>");
  }

  void end(const std::string& problem = "") {
    const std::lock_guard lock(mutex_);
    problem_ = problem;
    ends_ = true;
    changed_.notify_all();
  }

  HttpAnswer call(const std::string& method, const std::string& rest = "", const std::string& body = "") {
    HttpCall made;
    made.method = method;
    made.path = "/v1/benchmarks" + rest;
    made.host = "127.0.0.1:8000";
    made.body = body;
    return routes_.handle(made);
  }
  json::value runs() { return json::parse(call("GET").body).at("runs"); }
  json::value newest_in(const std::string& state) {
    for (int i = 0; i < 4000; ++i) {
      json::value run = runs().at(0);
      if (run.at("state") == json::string_view(state)) return run;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return runs().at(0);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::string problem_, url_;
  BenchmarkPlan plan_;
  std::atomic<int> ended_requests_ = 7;
  // Last: it ends what runs, by the members above.
  Benchmarks routes_{
      settings(),
      [this] { return "vllm:request_success_total{a=\"b\"} " + std::to_string(ended_requests_.load()) + "\n"; },
      [] {
        return json::object{{"build", "x"}};
      }};
};

TEST_F(BenchmarkRoutes, PlansThatMakeNoSense) {
  for (const char* body : {"",
                           "[]",
                           "{",
                           R"({"at_once":[]})",
                           R"({"at_once":[0]})",
                           R"({"at_once":[65]})",
                           R"({"at_once":["1"]})",
                           R"({"at_once":[1,1,1,1,1,1,1,1,1,1,1,1,1]})",
                           R"({"requests":0})",
                           R"({"requests":1.5})",
                           R"({"rounds":10})",
                           R"({"output_tokens":0})",
                           R"({"prompt_words":[0]})",
                           R"({"prompt_words":"9"})",
                           R"({"kinds":["poems"]})",
                           R"({"kinds":"prose"})",
                           R"({"kinds":["prose","code","prose"]})",
                           R"({"depths":[]})",
                           R"({"depths":[0]})",
                           R"({"depths":[16]})",
                           R"({"depths":["deep"]})",
                           R"({"depths":4})"}) {
    EXPECT_EQ(call("POST", "", body).status, 400) << body;
  }
  EXPECT_TRUE(runs().as_array().empty());
}

TEST_F(BenchmarkRoutes, APlanIsRunAsItWasWritten) {
  const HttpAnswer begun = call("POST", "",
                                R"({"at_once":[1,2],"requests":3,"rounds":2,"output_tokens":8,"prompt_words":[5,50],)"
                                R"("kinds":["code"],"depths":[2,"auto"]})");
  ASSERT_EQ(begun.status, 200);
  json::value run;
  for (int i = 0; i < 4000 && (run.is_null() || run.at("done") != 1); ++i) {
    run = runs().at(0);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(run.at("id"), json::parse(begun.body).at("id"));
  EXPECT_EQ(run.at("state"), "running");
  EXPECT_EQ(run.at("now"), "1 at once, plain");
  EXPECT_EQ(run.at("facts").at("build"), "x");
  EXPECT_EQ(json::serialize(run.at("plan")), R"({"at_once":[1,2],"requests":3,"rounds":2,"output_tokens":8,)"
                                             R"("prompt_words":[5,50],"kinds":["code"],"depths":[2,"auto"]})");
  EXPECT_EQ(call("POST", "", "{}").status, 409);
  // Four runs of three requests are its own, and two more are not.
  ended_requests_ += 4 * 3 + 2;
  end();
  run = newest_in("done");
  EXPECT_EQ(run.at("state"), "done");
  EXPECT_EQ(run.at("others"), 2);
  EXPECT_EQ(run.at("now"), "");
  EXPECT_EQ(run.at("report").at("cells").at(0).at("tokens_per_s"), 12.5);
  EXPECT_EQ(url_, "http://127.0.0.1:8000");
  EXPECT_EQ(plan_.depths, (std::vector<std::optional<int32_t>>{2, std::nullopt}));
  const std::string id(run.at("id").as_string());
  EXPECT_EQ(json::parse(call("GET", "/" + id).body).at("svg"), "<svg/>");
}

TEST_F(BenchmarkRoutes, OneIsCancelledAndOneFails) {
  EXPECT_EQ(call("DELETE", "/bench_none").status, 404);
  ASSERT_EQ(call("POST", "", "{}").status, 200);
  const std::string id(runs().at(0).at("id").as_string());
  EXPECT_EQ(call("DELETE", "/" + id).status, 200);
  EXPECT_EQ(newest_in("cancelled").at("state"), "cancelled");
  end("no such server");
  ASSERT_EQ(call("POST", "", "{}").status, 200);
  const json::value failed = newest_in("failed");
  EXPECT_EQ(failed.at("state"), "failed");
  EXPECT_EQ(failed.at("problem"), "no such server");
}

TEST_F(BenchmarkRoutes, TheLastTwentyAreKept) {
  end();
  std::string first;
  for (int i = 0; i < 21; ++i) {
    ASSERT_EQ(call("POST", "", "{}").status, 200);
    if (i == 0) first = runs().at(0).at("id").as_string();
    ASSERT_EQ(newest_in("done").at("state"), "done");
  }
  EXPECT_EQ(runs().as_array().size(), 20U);
  EXPECT_EQ(call("GET", "/" + first).status, 404);
}

TEST_F(BenchmarkRoutes, OneThatHasEndedGoesForGood) {
  end();
  ASSERT_EQ(call("POST", "", "{}").status, 200);
  const std::string id(newest_in("done").at("id").as_string());
  EXPECT_EQ(call("DELETE", "/" + id).status, 200);
  EXPECT_TRUE(runs().as_array().empty());
  EXPECT_EQ(call("DELETE", "/" + id).status, 404);
}

TEST(Benchmarks, NobodyMeasuresWhereNobodyCan) {
  const ServerSettings settings;
  Benchmarks routes(
      settings, [] { return std::string(); }, [] { return json::object(); });
  HttpCall call;
  call.method = "POST";
  call.path = "/v1/benchmarks";
  call.body = "{}";
  EXPECT_EQ(routes.handle(call).status, 501);
}

}  // namespace
}  // namespace paceline
