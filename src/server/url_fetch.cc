#include "server/url_fetch.h"

#include <fmt/format.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

#include "server/await.h"

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

http::request<http::empty_body> request_for(const MediaUrl& url) {
  http::request<http::empty_body> request(http::verb::get, url.target, 11);
  request.set(http::field::host, url.authority());
  request.set(http::field::user_agent, "paceline/" PACELINE_VERSION);
  request.set(http::field::accept, "*/*");
  request.set(http::field::accept_encoding, "identity");
  request.keep_alive(false);
  return request;
}

struct OpenStream {
  OpenStream(beast::tcp_stream*& place, beast::tcp_stream& stream) : place_(place) { place_ = &stream; }
  ~OpenStream() { place_ = nullptr; }
  OpenStream(const OpenStream&) = delete;
  OpenStream& operator=(const OpenStream&) = delete;

 private:
  beast::tcp_stream*& place_;
};

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

void UrlFetch::cancel() {
  cancelled_ = true;
  if (names_ != nullptr) names_->bell.cancel();
  if (open_ != nullptr) open_->close();
}

std::string UrlFetch::text_of(error_code failed) const {
  if (cancelled_) return "was not waited for";
  if (failed == beast::error::timeout) return "took longer than it may";
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

asio::awaitable<Fetched> UrlFetch::run(MediaUrl url) {
  Fetched fetched;
  for (int redirects = 0;; ++redirects) {
    Step step;
    co_await ask(url, step);
    if (!step.problem.empty()) {
      fetched.problem = fmt::format("{} {}", url.authority(), step.problem);
      fetched.found_no_room = step.found_no_room;
      break;
    }
    if (step.location.empty()) {
      fetched.bytes = std::move(step.bytes);
      break;
    }
    const Result<MediaUrl> next = follow_location(url, step.location);
    if (!next.ok()) {
      fetched.problem =
          fmt::format("{} redirects to a URL that is not taken: {}", url.authority(), next.error().message);
    } else if (!is_listed(*next, terms_.hosts)) {
      fetched.problem = fmt::format("{} redirects to {}, which is not among the hosts that media are fetched from",
                                    url.authority(), next->authority());
    } else if (redirects == kMostRedirects) {
      fetched.problem = fmt::format("{} redirects once more after {} redirects", url.authority(), kMostRedirects);
    }
    if (!fetched.problem.empty()) break;
    url = *next;
  }
  co_return fetched;
}

asio::awaitable<void> UrlFetch::ask(const MediaUrl& url, Step& step) {
  if (!url.is_secure) {
    beast::tcp_stream stream(strand_);
    const OpenStream opened(open_, stream);
    const bool connected = co_await connect(stream, url, step);
    if (connected) co_await exchange(stream, url, step);
    co_return;
  }
  beast::ssl_stream<beast::tcp_stream> stream(strand_, tls_);
  const OpenStream opened(open_, stream.next_layer());
  const bool connected = co_await connect(stream.next_layer(), url, step);
  if (!connected) co_return;
  // The name in the clear, for hosts with several certificates; addresses have none.
  error_code is_name;
  (void)asio::ip::make_address(url.host, is_name);
  if (is_name) SSL_set_tlsext_host_name(stream.native_handle(), url.host.c_str());
  stream.set_verify_mode(ssl::verify_peer);
  stream.set_verify_callback(ssl::host_name_verification(url.host));
  const auto [failed] = co_await stream.async_handshake(ssl::stream_base::client, kAwaitTuple);
  if (failed) {
    step.problem = text_of(failed);
    co_return;
  }
  co_await exchange(stream, url, step);
}

asio::awaitable<bool> UrlFetch::connect(beast::tcp_stream& stream, const MediaUrl& url, Step& step) {
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
  if (!names->done || names->failed || cancelled_) {
    const error_code failed = names->done ? names->failed : error_code(beast::error::timeout);
    step.problem = text_of(failed);
    co_return false;
  }
  stream.expires_at(terms_.deadline);
  const auto [failed, endpoint] = co_await stream.async_connect(names->found, kAwaitTuple);
  (void)endpoint;
  if (failed) step.problem = text_of(failed);
  co_return !failed;
}

template <class Stream>
asio::awaitable<void> UrlFetch::exchange(Stream& stream, const MediaUrl& url, Step& step) {
  const http::request<http::empty_body> request = request_for(url);
  const auto [write_failed, written] = co_await http::async_write(stream, request, kAwaitTuple);
  (void)written;
  if (write_failed) {
    step.problem = text_of(write_failed);
    co_return;
  }
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.header_limit(kMostHeaderBytes);
  parser.body_limit(terms_.most_bytes);
  const auto [header_failed, header_bytes] = co_await http::async_read_header(stream, buffer, parser, kAwaitTuple);
  (void)header_bytes;
  const auto& answer = parser.get();
  // Too long a body is known from the header; but what a status says goes first.
  if (header_failed && header_failed != http::error::body_limit) {
    step.problem = text_of(header_failed);
  } else if (is_redirect(answer.result()) && !answer[http::field::location].empty()) {
    step.location = answer[http::field::location];
  } else if (answer.result() != http::status::ok) {
    step.problem = fmt::format("answered {}", answer.result_int());
  } else if (header_failed) {
    step.problem = text_of(header_failed);
  } else if (const auto coding = answer[http::field::content_encoding];
             !coding.empty() && !beast::iequals(coding, "identity")) {
    step.problem = "answered with a Content-Encoding, which was not asked for";
  }
  if (!step.problem.empty() || !step.location.empty()) co_return;
  for (size_t kept = 0; !parser.is_done();) {
    const auto [failed, count] = co_await http::async_read_some(stream, buffer, parser, kAwaitTuple);
    (void)count;
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
