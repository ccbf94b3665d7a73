// A client of bare sockets, for tests: it can be as slow, as rude and as broken as needed.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paceline {

struct TestAnswer {
  int status = 0;  // 0: none came
  std::string head, body;
  bool whole = false;

  [[nodiscard]] boost::json::value json() const {
    boost::json::error_code failed;
    auto value = boost::json::parse(body, failed);
    EXPECT_FALSE(failed) << body;
    return value;
  }
  [[nodiscard]] std::string error_field(const char* name) const {
    const auto value = json();
    const auto* object = value.if_object();
    if (object == nullptr || !object->contains("error")) return "no error";
    const auto& field = object->at("error").at(name);
    return field.is_string() ? std::string(field.get_string()) : "null";
  }
  // The objects of a stream, [DONE] left out.
  [[nodiscard]] std::vector<boost::json::value> events() const {
    std::vector<boost::json::value> made;
    for (size_t at = 0; (at = body.find("data: ", at)) != std::string::npos;) {
      const size_t end = body.find("\n\n", at);
      const std::string line = body.substr(at + 6, end - at - 6);
      at = end;
      if (line != "[DONE]") made.push_back(boost::json::parse(line));
    }
    return made;
  }
  [[nodiscard]] bool done() const { return body.ends_with("data: [DONE]\n\n"); }
};

class TestClient {
 public:
  explicit TestClient(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) close();
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  TestClient(TestClient&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)), buffer_(std::move(other.buffer_)) {}
  ~TestClient() { close(); }

  [[nodiscard]] bool connected() const { return socket_ >= 0; }
  [[nodiscard]] int handle() const { return socket_; }
  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }
  // As a process that was killed: no goodbye.
  void reset() {
    const linger at_once{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close();
  }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  void send_post(std::string_view path, std::string_view body, std::string_view headers = "") {
    send("POST " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(headers) +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body));
  }
  // Some more bytes; false: the end, or none within the time.
  bool read_some(int timeout_ms = 240'000) {
    pollfd waits{socket_, POLLIN, 0};
    if (::poll(&waits, 1, timeout_ms) <= 0) return false;
    char bytes[16384];
    const ssize_t count = ::recv(socket_, bytes, sizeof(bytes), 0);
    if (count <= 0) return false;
    buffer_.append(bytes, static_cast<size_t>(count));
    return true;
  }
  // Whether the server closes the connection, with what it says before in buffered(). Not where nothing happens at all.
  bool is_closed(int timeout_ms = 240'000) {
    while (true) {
      pollfd waits{socket_, POLLIN, 0};
      if (::poll(&waits, 1, timeout_ms) <= 0) return false;
      if (!read_some(0)) return true;
    }
  }
  [[nodiscard]] const std::string& buffered() const { return buffer_; }
  bool read_until(std::string_view text, int timeout_ms = 240'000) {
    while (buffer_.find(text) == std::string::npos) {
      if (!read_some(timeout_ms)) return false;
    }
    return true;
  }

  TestAnswer read_answer(bool has_body = true) {
    TestAnswer answer;
    if (!read_until("\r\n\r\n")) return answer;
    const size_t border = buffer_.find("\r\n\r\n") + 4;
    answer.head = buffer_.substr(0, border);
    buffer_.erase(0, border);
    answer.status = std::stoi(answer.head.substr(9, 3));
    if (answer.status == 100) return read_answer();
    if (answer.head.find("chunked") != std::string::npos) {
      answer.whole = read_chunks(answer.body);
    } else if (const size_t at = answer.head.find("Content-Length: "); at != std::string::npos && has_body) {
      const auto length = static_cast<size_t>(std::stoul(answer.head.substr(at + 16)));
      while (buffer_.size() < length && read_some()) {
      }
      answer.whole = buffer_.size() >= length;
      answer.body = buffer_.substr(0, length);
      buffer_.erase(0, answer.body.size());
    }
    return answer;
  }
  TestAnswer post(std::string_view path, std::string_view body, std::string_view headers = "") {
    send_post(path, body, headers);
    return read_answer();
  }
  TestAnswer get(std::string_view path, std::string_view headers = "") {
    send("GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(headers) + "\r\n");
    return read_answer();
  }

 private:
  bool read_chunks(std::string& body) {
    while (read_until("\r\n")) {
      const size_t line = buffer_.find("\r\n");
      size_t length = 0;
      std::from_chars(buffer_.data(), buffer_.data() + line, length, 16);
      while (buffer_.size() < line + 2 + length + 2) {
        if (!read_some()) return false;
      }
      body += buffer_.substr(line + 2, length);
      buffer_.erase(0, line + 2 + length + 2);
      if (length == 0) return true;
    }
    return false;
  }

  int socket_;
  std::string buffer_;
};

}  // namespace paceline
