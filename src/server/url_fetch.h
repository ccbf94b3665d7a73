// The bytes behind one URL, over http or https; redirects are followed to listed hosts only. All calls on one strand.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "server/byte_stream.h"
#include "server/media_url.h"

namespace paceline {

// Trusts the certificates that OpenSSL trusts: the system's, or those of $SSL_CERT_FILE and $SSL_CERT_DIR.
std::unique_ptr<boost::asio::ssl::context> make_tls_context();

// Whether bytes that came may be kept.
enum class Taken : uint8_t {
  well,
  too_much,  // for one request
  no_room,   // beside other requests
};

struct FetchTerms {
  std::span<const std::string> hosts;  // that may be asked; outlives the fetch
  size_t most_bytes = 0;
  std::chrono::steady_clock::time_point deadline;  // of everything, names and redirects included
  std::function<Taken(size_t)> takes;              // so many more bytes
  std::string api_key = "";                        // for the first host; "": none
};

struct Fetched {
  std::string problem;  // "": it went well. Names the host, and says what it did
  std::string bytes;
  bool found_no_room = false;  // the problem is the server's own
};

class UrlFetch {
 public:
  UrlFetch(boost::asio::any_io_executor strand, boost::asio::ssl::context& tls, FetchTerms terms)
      : strand_(std::move(strand)), tls_(tls), terms_(std::move(terms)), deadline_(strand_, terms_.deadline) {}

  // Once. The URL's host is listed.
  boost::asio::awaitable<Fetched> run(MediaUrl url);
  // It ends soon, with some problem.
  void cancel();

 private:
  struct Names;
  // What one host answered: a problem, a place to look at instead, or the bytes.
  struct Step {
    std::string problem, location, bytes;
    bool found_no_room = false;
  };
  // A connection, which is closed when it is late or no longer wanted.
  struct Open;
  boost::asio::awaitable<void> ask(const MediaUrl& url, Step& step);
  boost::asio::awaitable<void> ask(boost::asio::ip::tcp::socket& socket, const MediaUrl& url, Step& step);
  boost::asio::awaitable<bool> connect(boost::asio::ip::tcp::socket& socket, const MediaUrl& url, Step& step);
  boost::asio::awaitable<void> exchange(ByteStream& stream, const MediaUrl& url, Step& step);
  [[nodiscard]] std::string text_of(boost::system::error_code failed) const;
  static std::string problem_of(const MediaUrl& url, const std::string& problem);
  [[nodiscard]] std::string redirect_problem(const MediaUrl& url, const Result<MediaUrl>& next, int redirects) const;

  boost::asio::any_io_executor strand_;
  boost::asio::ssl::context& tls_;
  FetchTerms terms_;
  boost::asio::steady_timer deadline_;
  bool cancelled_ = false, late_ = false;
  std::shared_ptr<Names> names_;  // while a name is looked up
  std::shared_ptr<Open> open_;    // while one is
};

}  // namespace paceline
