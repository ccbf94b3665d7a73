#include "server/url_fetch.h"

#include <fmt/format.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "server/await.h"
#include "server/http_bytes.h"

namespace paceline {
namespace {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr int kMostRedirects = 3;
constexpr uint32_t kMostHeaderBytes = 32 << 10;

bool is_redirect(http::status status) {
  switch (status) {
    case http::status::moved_permanently:
    case http::status::found:
    case http::status::see_other:
    case http::status::temporary_redirect:
    case http::status::permanent_redirect: return true;
    default: return false;
  }
}

http::request<http::empty_body> request_for(const MediaUrl& url, const std::string& api_key) {
  http::request<http::empty_body> request(http::verb::get, url.target, 11);
  request.set(http::field::host, url.authority());
  request.set(http::field::user_agent, "paceline/" PACELINE_VERSION);
  request.set(http::field::accept, "*/*");
  request.set(http::field::accept_encoding, "identity");
  if (!api_key.empty()) request.set(http::field::authorization, "Bearer " + api_key);
  request.keep_alive(false);
  return request;
}

}  // namespace

std::unique_ptr<ssl::context> make_tls_context() {
  auto context = std::make_unique<ssl::context>(ssl::context::tls_client);
  error_code ignored;  // who trusts nobody fails at the first handshake, and that says why
  context->set_default_verify_paths(ignored);
  context->set_verify_mode(ssl::verify_peer, ignored);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  return context;
}

// A look-up of names cannot be broken off. So this is what it writes to, whether or not somebody still waits.
struct UrlFetch::Names {
  explicit Names(const asio::any_io_executor& strand) : resolver(strand), bell(strand) {}
  tcp::resolver resolver;
  asio::steady_timer bell;
  bool done = false;
  error_code failed;
  tcp::resolver::results_type found;
};

struct UrlFetch::Open {
  explicit Open(const asio::any_io_executor& strand) : socket(strand) {}
  tcp::socket socket;
  void close() {
    error_code ignored;
    socket.close(ignored);
  }
};

void UrlFetch::cancel() {
  cancelled_ = true;
  if (names_ != nullptr) names_->bell.cancel();
  if (open_ != nullptr) open_->close();
}

std::string UrlFetch::text_of(error_code failed) const {
  if (cancelled_) return "was not waited for";
  if (late_) return "took longer than it may";
  if (failed == http::error::body_limit) return fmt::format("has more than the {} bytes allowed", terms_.most_bytes);
  if (failed == http::error::header_limit) return fmt::format("sent a header of over {} bytes", kMostHeaderBytes);
  if (failed == http::error::partial_message || failed == http::error::end_of_stream || failed == asio::error::eof ||
      failed == ssl::error::stream_truncated || failed == asio::error::connection_reset)
    return "broke off before the end";
  if (failed.category() == asio::error::get_ssl_category())
    return fmt::format("cannot be trusted: {}", failed.message());
  if (failed.category() == http::make_error_code(http::error::bad_method).category()) return "answered no valid HTTP";
  return fmt::format("cannot be reached: {}", failed.message());
}

// What a fetch says is written here and not in the coroutine: clang 14 mixes up the arguments of such texts there.
std::string UrlFetch::problem_of(const MediaUrl& url, const std::string& problem) {
  return fmt::format("{} {}", url.authority(), problem);
}

// Why a redirect is not followed; empty: it is.
std::string UrlFetch::redirect_problem(const MediaUrl& url, const Result<MediaUrl>& next, int redirects) const {
  if (!next.ok())
    return fmt::format("{} redirects to a URL that is not taken: {}", url.authority(), next.error().message);
  if (!is_listed(*next, terms_.hosts))
    return fmt::format("{} redirects to {}, which is not among the hosts that media are fetched from", url.authority(),
                       next->authority());
  if (redirects == kMostRedirects)
    return fmt::format("{} redirects once more after {} redirects", url.authority(), kMostRedirects);
  return "";
}

asio::awaitable<Fetched> UrlFetch::run(MediaUrl url) {
  Fetched fetched;
  for (int redirects = 0;; ++redirects) {
    Step step;
    co_await ask(url, step);
    if (!step.problem.empty()) {
      fetched.problem = problem_of(url, step.problem);
      fetched.found_no_room = step.found_no_room;
      break;
    }
    if (step.location.empty()) {
      fetched.bytes = std::move(step.bytes);
      break;
    }
    const Result<MediaUrl> next = follow_location(url, step.location);
    fetched.problem = redirect_problem(url, next, redirects);
    if (!fetched.problem.empty()) break;
    if (next->authority() != url.authority()) terms_.api_key.clear();
    url = *next;
  }
  co_return fetched;
}

asio::awaitable<void> UrlFetch::ask(const MediaUrl& url, Step& step) {
  const auto open = std::make_shared<Open>(strand_);
  open_ = open;
  deadline_.async_wait([this, weak = std::weak_ptr<Open>(open)](error_code cancelled) {
    const auto late = weak.lock();
    if (cancelled || late == nullptr) return;
    late_ = true;
    late->close();
  });
  co_await ask(open->socket, url, step);
  open_.reset();
  deadline_.cancel();
}

asio::awaitable<void> UrlFetch::ask(tcp::socket& socket, const MediaUrl& url, Step& step) {
  const bool connected = co_await connect(socket, url, step);
  if (!connected) co_return;
  if (!url.is_secure) {
    TcpBytes bytes(socket);
    co_await exchange(bytes, url, step);
    co_return;
  }
  TlsBytes bytes(socket, tls_);
  const error_code failed = co_await bytes.shake_hands(url.host);
  if (failed) {
    step.problem = text_of(failed);
    co_return;
  }
  co_await exchange(bytes, url, step);
}

asio::awaitable<bool> UrlFetch::connect(tcp::socket& socket, const MediaUrl& url, Step& step) {
  const auto names = std::make_shared<Names>(strand_);
  names_ = names;
  names->bell.expires_at(terms_.deadline);
  names->resolver.async_resolve(url.host, url.port, tcp::resolver::numeric_service,
                                [names](error_code failed, tcp::resolver::results_type found) {
                                  names->failed = failed;
                                  names->found = std::move(found);
                                  names->done = true;
                                  names->bell.cancel();
                                });
  co_await names->bell.async_wait(kAwaitTuple);
  names_.reset();
  late_ = late_ || !names->done;
  if (late_ || names->failed || cancelled_) {
    step.problem = text_of(names->failed);
    co_return false;
  }
  const auto [failed, endpoint] = co_await asio::async_connect(socket, names->found, kAwaitTuple);
  (void)endpoint;
  if (failed) step.problem = text_of(failed);
  co_return !failed;
}

asio::awaitable<void> UrlFetch::exchange(ByteStream& stream, const MediaUrl& url, Step& step) {
  const std::string request = head_text(request_for(url, terms_.api_key));
  const error_code write_failed = co_await stream.write(asio::buffer(request), {});
  if (write_failed) {
    step.problem = text_of(write_failed);
    co_return;
  }
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.header_limit(kMostHeaderBytes);
  parser.body_limit(terms_.most_bytes);
  const error_code header_failed = co_await read_http(stream, buffer, parser, HttpPart::header);
  const auto& answer = parser.get();
  // Too long a body is known from the header; but what a status says goes first.
  if (header_failed && header_failed != http::error::body_limit) {
    step.problem = text_of(header_failed);
  } else if (is_redirect(answer.result()) && !answer[http::field::location].empty()) {
    step.location = answer[http::field::location];
  } else if (answer.result() != http::status::ok) {
    step.problem = "answered " + std::to_string(answer.result_int());
  } else if (header_failed) {
    step.problem = text_of(header_failed);
  } else if (const auto coding = answer[http::field::content_encoding];
             !coding.empty() && !beast::iequals(coding, "identity")) {
    step.problem = "answered with a Content-Encoding, which was not asked for";
  }
  if (!step.problem.empty() || !step.location.empty()) co_return;
  for (size_t kept = 0; !parser.is_done();) {
    const error_code failed = co_await read_http(stream, buffer, parser, HttpPart::some);
    if (failed) {
      step.problem = text_of(failed);
      co_return;
    }
    const size_t size = answer.body().size();
    if (const Taken taken = terms_.takes(size - kept); taken != Taken::well) {
      step.found_no_room = taken == Taken::no_room;
      step.problem = "has more bytes than are left for the media of one request";
      co_return;
    }
    kept = size;
  }
  step.bytes = std::move(parser.get().body());
}

}  // namespace paceline
