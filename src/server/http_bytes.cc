#include "server/http_bytes.h"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/fields.hpp>

namespace paceline {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

// At once: headers are short, and many clients may be slow to send theirs.
constexpr size_t kBytesOfHeader = 4096, kBytesOfBody = size_t{64} << 10;

// One step of the parser, with bytes that are there or that come.
template <bool kRequest>
asio::awaitable<error_code> read_more(ByteStream& stream, beast::flat_buffer& buffer,
                                      http::basic_parser<kRequest>& parser) {
  const size_t most = parser.is_header_done() ? kBytesOfBody : kBytesOfHeader;
  for (bool has_bytes = buffer.size() > 0;; has_bytes = true) {
    error_code failed;
    if (has_bytes) {
      buffer.consume(parser.put(buffer.cdata(), failed));
      if (failed != http::error::need_more) co_return failed;
    }
    const size_t room = std::min(buffer.max_size() - buffer.size(), most);
    if (room == 0) co_return http::error::buffer_overflow;
    const ByteStream::Read read = co_await stream.read_some(buffer.prepare(room));
    if (read.failed == asio::error::eof) {
      if (!parser.got_some()) co_return http::error::end_of_stream;
      error_code end;
      parser.put_eof(end);
      co_return end;
    }
    if (read.failed) co_return read.failed;
    buffer.commit(read.count);
  }
}

}  // namespace

std::string head_text(const http::request<http::empty_body>& request) {
  http::fields::writer writer(request, request.version(), request.method());
  return beast::buffers_to_string(writer.get());
}

std::string head_text(const http::response<http::empty_body>& response) {
  http::fields::writer writer(response, response.version(), response.result_int());
  return beast::buffers_to_string(writer.get());
}

template <bool kRequest>
asio::awaitable<error_code> read_http(ByteStream& stream, beast::flat_buffer& buffer,
                                      http::basic_parser<kRequest>& parser, HttpPart part) {
  // What comes behind the header is left to whoever asks for it.
  parser.eager(part != HttpPart::header);
  const auto done = [&] { return part == HttpPart::header ? parser.is_header_done() : parser.is_done(); };
  error_code failed;
  while (!failed && !done()) {
    failed = co_await read_more(stream, buffer, parser);
    if (part == HttpPart::some) break;
  }
  co_return failed;
}

template asio::awaitable<error_code> read_http(ByteStream&, beast::flat_buffer&, http::basic_parser<true>&, HttpPart);
template asio::awaitable<error_code> read_http(ByteStream&, beast::flat_buffer&, http::basic_parser<false>&, HttpPart);

}  // namespace paceline
