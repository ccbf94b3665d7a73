// Which URLs are read, and what they are read as; which hosts are listed.
#include "server/media_url.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

std::string read(std::string_view url) {
  const auto made = read_media_url(url);
  if (!made.ok()) return "error: " + made.error().message;
  return (made->is_secure ? "https " : "http ") + made->host + " " + made->port + " " + made->target;
}

bool lists(const std::string& host, std::string_view url) {
  const std::string hosts[] = {"other.example", host};
  return is_listed(read_media_url(url).value(), hosts);
}

TEST(MediaUrlTest, IsReadInItsParts) {
  EXPECT_EQ(read("http://a.example/b.png"), "http a.example 80 /b.png");
  EXPECT_EQ(read("HTTPS://A.Example:8443/B?c=d&e=%20#f"), "https a.example 8443 /B?c=d&e=%20");
  EXPECT_EQ(read("https://a.example"), "https a.example 443 /");
  EXPECT_EQ(read("https://a.example?q"), "https a.example 443 /?q");
  EXPECT_EQ(read("http://[::1]:81/x"), "http ::1 81 /x");
  EXPECT_EQ(read_media_url("https://a.example:443/")->authority(), "a.example");
  EXPECT_EQ(read_media_url("http://[::1]:81/")->authority(), "[::1]:81");
}

TEST(MediaUrlTest, WhatIsNoneOfThemIsAnError) {
  for (const char* url : {"",
                          "http",
                          "https",
                          "ftp://a/b",
                          "file:///etc/passwd",
                          "//a/b",
                          "a/b",
                          "http:/a",
                          "http://",
                          "http://user@a/b",
                          "http://u:p@a/",
                          "http://a@b@c/",
                          "http://a\\@b/",
                          "http://a:/",
                          "http://a:0/",
                          "http://a:65536/",
                          "http://a:080/",
                          "http://a:8x/",
                          "http://a b/",
                          "http://a/b c",
                          "http://a/\r\nHost: b",
                          "http://ä/",
                          "http://a/ä",
                          "http://a%2e/",
                          "http://[::1/",
                          "http://[x]/",
                          "http://[]/",
                          "http://[::1]x/"}) {
    EXPECT_TRUE(read(url).starts_with("error: ")) << url;
  }
  EXPECT_TRUE(read("http://a/" + std::string(9000, 'x')).starts_with("error: "));
}

TEST(MediaUrlTest, RedirectsLeadWhereTheySay) {
  const MediaUrl from = read_media_url("https://a.example:8443/b/c.png?d").value();
  const auto to = [&](const char* location) {
    const auto made = follow_location(from, location);
    return made.ok() ? made->authority() + made->target : "error";
  };
  EXPECT_EQ(to("http://x.example/y"), "x.example/y");
  EXPECT_EQ(to("//x.example/y"), "x.example/y");
  EXPECT_EQ(to("/y?u=http://z/"), "a.example:8443/y?u=http://z/");
  EXPECT_EQ(to("y"), "a.example:8443/b/y");
  EXPECT_EQ(to("?y"), "a.example:8443/b/c.png?y");
  EXPECT_EQ(to("file:///etc/passwd"), "error");
  EXPECT_EQ(to("https://me@x.example/"), "error");
}

TEST(MediaHostsTest, AreListedExactly) {
  EXPECT_TRUE(lists("a.example", "http://A.example/x"));
  EXPECT_TRUE(lists("A.Example", "https://a.example/x"));
  EXPECT_FALSE(lists("a.example", "http://a.example:8080/x"));
  EXPECT_FALSE(lists("a.example", "http://b.a.example/x"));
  EXPECT_FALSE(lists("a.example", "http://a.example.b/x"));
  EXPECT_FALSE(lists("a.example", "http://a.example./x"));
  EXPECT_FALSE(lists("a.example", "http://xa.example/x"));
  EXPECT_TRUE(lists("a.example:8080", "http://a.example:8080/x"));
  EXPECT_FALSE(lists("a.example:8080", "http://a.example/x"));
  EXPECT_TRUE(lists("a.example:443", "https://a.example/x"));
  EXPECT_TRUE(lists("[::1]:81", "http://[::1]:81/x"));
  for (const char* good : {"a", "a.example:1", "127.0.0.1", "[::1]", "[::1]:80"})
    EXPECT_TRUE(check_media_host(good).ok()) << good;
  for (const char* bad : {"", "*", "*.example", "http://a", "a/b", "a:", "a:b", "::1", "a b", "u@a"})
    EXPECT_FALSE(check_media_host(bad).ok()) << bad;
}

}  // namespace
}  // namespace paceline
