// HTTP messages between bytes and Beast's: heads as text, and parsers that are fed from a stream.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <cstdint>
#include <string>

#include "server/byte_stream.h"

namespace paceline {

// A message's head, the empty line behind it included.
std::string head_text(const boost::beast::http::request<boost::beast::http::empty_body>& request);
std::string head_text(const boost::beast::http::response<boost::beast::http::empty_body>& response);

enum class HttpPart : uint8_t {
  header,  // until the header is there
  some,    // some more, whatever it is
  whole,   // until the end
};

// Reads into `parser`, through `buffer`, which keeps what is behind the message. Fails with what the stream or the
// parser says; with end_of_stream where the peer has closed before the message began, buffer_overflow where the buffer
// is full.
template <bool kRequest>
boost::asio::awaitable<boost::system::error_code> read_http(ByteStream& stream, boost::beast::flat_buffer& buffer,
                                                            boost::beast::http::basic_parser<kRequest>& parser,
                                                            HttpPart part);

}  // namespace paceline
