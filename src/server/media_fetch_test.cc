// Media by URL: from listed hosts, within limits, and with an error that says what the host did.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cstdlib>

#include "server/media_host_for_tests.h"
#include "server/server_for_tests.h"

namespace paceline {
namespace {

using Clock = std::chrono::steady_clock;

std::string part(const std::string& url, bool is_video = false) {
  const std::string type = is_video ? "video_url" : "image_url";
  return R"({"type":")" + type + R"(",")" + type + R"(":{"url":")" + url + R"("}})";
}

std::string body(const std::string& parts) {
  return R"({"temperature":0,"max_tokens":24,"messages":[{"role":"user","content":[)" + parts +
         R"(,{"type":"text","text":"Describe the picture."}]}]})";
}

class MediaFetchTest : public testing::Test {
 protected:
  static ServerSettings listing(std::vector<std::string> hosts) {
    ServerSettings settings;
    settings.limits.media_hosts = std::move(hosts);
    settings.limits.max_frames = 2;
    return settings;
  }
  static TestAnswer ask(TestServer& server, const std::string& parts) {
    return server.client().post("/v1/chat/completions", body(parts));
  }
  static void expect_picture_seen(TestServer& server, const TestAnswer& answer) {
    ASSERT_EQ(answer.status, 200) << answer.body;
    const auto json = answer.json();
    const int64_t text_tokens = server.tokens_of_chat("Describe the picture.");
    EXPECT_EQ(json.at("usage").at("prompt_tokens").as_int64(), text_tokens + 64 + 2);
    const std::string text(json.at("choices").at(0).at("message").at("content").as_string());
    EXPECT_NE(text.find("brown square"), std::string::npos) << text;
  }
  static void expect_refused(const TestAnswer& answer, const std::string& reason,
                             const std::string& code = "media_not_fetched") {
    EXPECT_EQ(answer.status, 400) << answer.body;
    EXPECT_EQ(answer.error_field("param"), "messages[0].content[0].image_url.url");
    EXPECT_EQ(answer.error_field("code"), code);
    EXPECT_NE(answer.error_field("message").find(reason), std::string::npos) << answer.body;
  }

  MediaHost host_;
};

TEST_F(MediaFetchTest, PicturesAndClipsAreFetched) {
  TestServer server(listing({host_.name()}));
  expect_picture_seen(server, ask(server, part(host_.url("/picture.png"))));
  EXPECT_NE(host_.last_request().find("Host: " + host_.name() + "\r\n"), std::string::npos) << host_.last_request();
  expect_picture_seen(server, ask(server, part(host_.url("/chunked.png"))));
  expect_picture_seen(server, ask(server, part(host_.url("/to_the_end.png"))));
  const TestAnswer clip = ask(server, part(host_.url("/clip.mp4"), true));
  ASSERT_EQ(clip.status, 200) << clip.body;
  // Two frames, each behind its time, and a space between them.
  const int64_t text_tokens = server.tokens_of_chat("Describe the picture.");
  EXPECT_EQ(clip.json().at("usage").at("prompt_tokens").as_int64(), text_tokens + 2 * (6 + 64 + 2) + 1);
  // Several at once, and streams.
  const std::string both = part(host_.url("/picture.png")) + "," + part(host_.url("/clip.mp4"), true);
  EXPECT_EQ(ask(server, both).status, 200);
  std::string streamed = body(part(host_.url("/picture.png")));
  streamed.insert(1, R"("stream":true,)");
  EXPECT_TRUE(server.client().post("/v1/chat/completions", streamed).done());
}

TEST_F(MediaFetchTest, OnlyListedHostsAreAsked) {
  TestServer none;
  expect_refused(ask(none, part(host_.url("/picture.png"))), "--media-hosts", "unsupported");
  TestServer server(listing({host_.name("localhost"), "127.0.0.1"}));
  expect_refused(ask(server, part(host_.url("/picture.png"))), host_.name() + " is not among the hosts", "unsupported");
  expect_refused(ask(server, part("file:///etc/passwd")), "http://", "invalid_value");
  expect_refused(ask(server, part("http://me:secret@" + host_.name("localhost") + "/picture.png")), "password",
                 "invalid_value");
  EXPECT_EQ(host_.asked(), 0);
  expect_picture_seen(server, ask(server, part("http://" + host_.name("LocalHost") + "/picture.png")));
  // Conversations are counted without their media.
  EXPECT_EQ(server.client().post("/tokenize", body(part(host_.url("/picture.png")))).status, 400);
}

TEST_F(MediaFetchTest, RedirectsAreFollowedToListedHostsAndNotForever) {
  MediaHost other;
  host_.parts()["/moved"] = MediaHost::redirect("/moved/again");
  host_.parts()["/moved/again"] = MediaHost::redirect("../picture.png?");
  host_.parts()["/moved/../picture.png?"] = MediaHost::redirect(host_.url("/picture.png"));
  host_.parts()["/away"] = MediaHost::redirect(other.url("/picture.png"));
  host_.parts()["/file"] = MediaHost::redirect("file:///etc/passwd");
  host_.parts()["/round"] = MediaHost::redirect("/round");
  TestServer server(listing({host_.name()}));
  expect_picture_seen(server, ask(server, part(host_.url("/moved"))));
  expect_refused(ask(server, part(host_.url("/away"))), "redirects to " + other.name() + ", which is not among");
  EXPECT_EQ(other.asked(), 0);
  expect_refused(ask(server, part(host_.url("/file"))), "redirects to a URL that is not taken");
  const int before = host_.asked();
  expect_refused(ask(server, part(host_.url("/round"))), "after 3 redirects");
  EXPECT_EQ(host_.asked() - before, 4);
}

TEST_F(MediaFetchTest, TooLargeIsNotRead) {
  ServerSettings settings = listing({host_.name()});
  settings.limits.media_bytes = 300'000;
  TestServer server(settings);
  expect_refused(ask(server, part(host_.url("/large_by_length"))), "more than the 300000 bytes");
  expect_refused(ask(server, part(host_.url("/large_by_body"))), "more than the 300000 bytes");
  // Together, too.
  const std::string half(200'000, 'x');
  host_.parts()["/half"] = [=](const MediaHost::Caller& caller) { caller.write(MediaHost::with_length(half)); };
  const std::string one = part(host_.url("/half"));
  const TestAnswer answer = ask(server, one + "," + one);
  EXPECT_EQ(answer.status, 400);
  EXPECT_NE(answer.error_field("message").find("left for the media of one request"), std::string::npos) << answer.body;
  // A picture's own limit, where the request's is above it.
  TestServer wide(listing({host_.name()}));
  expect_refused(ask(wide, part(host_.url("/large_by_length"))), "more than the 67108864 bytes");
}

// Of all requests together; what one has had decoded, or gave up, is free for the next.
TEST_F(MediaFetchTest, WhatIsFetchedIsBoundedOverRequests) {
  ServerSettings settings = listing({host_.name()});
  settings.fetched_bytes = 100'000;
  TestServer server(settings);
  host_.parts()["/large"] = [](const MediaHost::Caller& caller) {
    caller.write(MediaHost::with_length(std::string(200'000, 'x')));
  };
  for (int i = 0; i < 3; ++i) {
    const TestAnswer refused = ask(server, part(host_.url("/large")));
    EXPECT_EQ(refused.status, 429) << refused.body;
    EXPECT_NE(refused.head.find("Retry-After"), std::string::npos);
    EXPECT_NE(refused.error_field("message").find("media are being fetched"), std::string::npos) << refused.body;
  }
  host_.parts()["/most"] = [](const MediaHost::Caller& caller) {
    caller.write(MediaHost::with_length(std::string(90'000, 'x')));
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(server, part(host_.url("/most"))).status, 400) << "no picture";
  expect_picture_seen(server, ask(server, part(host_.url("/picture.png"))));
}

TEST_F(MediaFetchTest, SlowHostsAreNotWaitedFor) {
  ServerSettings settings = listing({host_.name()});
  settings.limits.media_s = 2;  // for a good host on a busy machine, too
  TestServer server(settings);
  for (const char* path : {"/slow", "/silent"}) {
    // The one that waits does not hold up others, though there are as many of it as workers.
    TestClient waiting = server.client(), second = server.client();
    waiting.send_post("/v1/chat/completions", body(part(host_.url(path))));
    second.send_post("/v1/chat/completions", body(part(host_.url(path))));
    EXPECT_TRUE(TestServer::soon([&] { return host_.waiting() == 2; }));
    expect_picture_seen(server, ask(server, part(host_.url("/picture.png"))));
    // These hosts never come to an end: that there is an answer says that they were given up.
    expect_refused(waiting.read_answer(), "took longer than it may");
    expect_refused(second.read_answer(), host_.name());
    EXPECT_TRUE(TestServer::soon([&] { return host_.waiting() == 0; }));
  }
}

TEST_F(MediaFetchTest, BrokenHostsAreNamedWithWhatTheyDid) {
  TestServer server(listing({host_.name(), "127.0.0.1:1", "no-such-host.invalid"}));
  expect_refused(ask(server, part(host_.url("/missing"))), host_.name() + " answered 404");
  expect_refused(ask(server, part(host_.url("/broken"))), "no valid HTTP");
  expect_refused(ask(server, part(host_.url("/truncated"))), "broke off");
  expect_refused(ask(server, part(host_.url("/packed"))), "Content-Encoding");
  expect_refused(ask(server, part("http://127.0.0.1:1/x")), "cannot be reached");
  expect_refused(ask(server, part("http://no-such-host.invalid/x")), "no-such-host.invalid cannot be reached");
  // Of several, the others are not waited for.
  EXPECT_EQ(ask(server, part(host_.url("/missing")) + "," + part(host_.url("/slow"))).status, 400);
  EXPECT_TRUE(TestServer::soon([&] { return host_.waiting() == 0; }));
  // What is no picture is known only when it is there.
  host_.parts()["/text"] = [](const MediaHost::Caller& caller) { caller.write(MediaHost::with_length("hello")); };
  EXPECT_EQ(ask(server, part(host_.url("/text"))).error_field("param"), "messages");
}

TEST_F(MediaFetchTest, WhoGoesAwayTakesItsFetchesAlong) {
  TestServer server(listing({host_.name()}));
  TestClient client = server.client();
  client.send_post("/v1/chat/completions", body(part(host_.url("/slow")) + "," + part(host_.url("/silent"))));
  EXPECT_TRUE(TestServer::soon([&] { return host_.waiting() == 2; }));
  client.reset();
  EXPECT_TRUE(TestServer::soon([&] { return host_.waiting() == 0; }, 5));
  // As does the server itself: at once when it drains, and when it ends without a word.
  TestClient drained = server.client();
  drained.send_post("/v1/chat/completions", body(part(host_.url("/slow"))));
  EXPECT_TRUE(TestServer::soon([&] { return host_.waiting() == 1; }));
  server.server().drain();
  EXPECT_EQ(drained.read_answer().status, 503);
  {
    TestServer short_lived(listing({host_.name()}));
    TestClient left = short_lived.client();
    left.send_post("/v1/chat/completions", body(part(host_.url("/slow"))));
    EXPECT_TRUE(TestServer::soon([&] { return host_.waiting() == 1; }));
  }
  EXPECT_TRUE(TestServer::soon([&] { return host_.waiting() == 0; }));
}

// Trusted is what $SSL_CERT_FILE has; and only under its own name.
TEST(SecureMediaFetchTest, CertificatesAreChecked) {
  const TestCertificate ours("localhost"), strange("localhost"), misnamed("other.example");
  const auto file = std::filesystem::temp_directory_path() / ("paceline_trust_" + std::to_string(::getpid()));
  std::ofstream(file) << ours.certificate << misnamed.certificate;
  ::setenv("SSL_CERT_FILE", file.c_str(), 1);
  MediaHost host(&ours), stranger(&strange), wrong(&misnamed), plain;
  host.parts()["/to_plain"] = MediaHost::redirect(plain.url("/picture.png"));
  ServerSettings settings;
  settings.limits.media_s = 1;
  for (const MediaHost* each : {&host, &stranger, &wrong, &plain})
    settings.limits.media_hosts.push_back(each->name("localhost"));
  {
    TestServer server(settings);
    const auto ask = [&](const MediaHost& from, const char* path) {
      return server.client().post("/v1/chat/completions", body(part("https://" + from.name("localhost") + path)));
    };
    const TestAnswer good = ask(host, "/picture.png");
    EXPECT_EQ(good.status, 200) << good.body;
    for (const MediaHost* bad : {&stranger, &wrong}) {
      const TestAnswer answer = ask(*bad, "/picture.png");
      EXPECT_EQ(answer.status, 400);
      EXPECT_NE(answer.error_field("message").find("certificate verify failed"), std::string::npos) << answer.body;
      EXPECT_EQ(bad->asked(), 0);
    }
    EXPECT_EQ(ask(plain, "/picture.png").status, 400);
    EXPECT_EQ(ask(host, "/truncated").status, 400);
    EXPECT_EQ(ask(host, "/to_plain").status, 400) << "127.0.0.1 is not listed, localhost is";
  }
  ::unsetenv("SSL_CERT_FILE");
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace paceline
