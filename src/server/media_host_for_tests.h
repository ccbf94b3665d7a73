// A host of media on a free port of this machine, plain or with a certificate of its own making: as good, as slow and
// as broken as its paths say.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace paceline {

// A key and a certificate that it signed itself, for one name.
struct TestCertificate {
  std::string key, certificate;  // PEM

  explicit TestCertificate(const std::string& name) {
    EVP_PKEY* pair = EVP_EC_gen("P-256");
    X509* made = X509_new();
    X509_set_version(made, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made), 1);
    X509_gmtime_adj(X509_getm_notBefore(made), -3600);
    X509_gmtime_adj(X509_getm_notAfter(made), 86400);
    X509_set_pubkey(made, pair);
    X509_NAME* subject = X509_get_subject_name(made);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const uint8_t*>(name.c_str()), -1, -1, 0);
    X509_set_issuer_name(made, subject);
    const std::string names = "DNS:" + name;
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names.c_str());
    X509_add_ext(made, extension, -1);
    X509_sign(made, pair, EVP_sha256());
    key = text([&](BIO* out) { PEM_write_bio_PrivateKey(out, pair, nullptr, nullptr, 0, nullptr, nullptr); });
    certificate = text([&](BIO* out) { PEM_write_bio_X509(out, made); });
    X509_EXTENSION_free(extension);
    X509_free(made);
    EVP_PKEY_free(pair);
  }

 private:
  static std::string text(const std::function<void(BIO*)>& write) {
    BIO* out = BIO_new(BIO_s_mem());
    write(out);
    char* letters = nullptr;
    const long size = BIO_get_mem_data(out, &letters);
    std::string made(letters, static_cast<size_t>(size));
    BIO_free(out);
    return made;
  }
};

class MediaHost {
  using tcp = boost::asio::ip::tcp;

 public:
  // One connection with one request, as a path's part sees it.
  struct Caller {
    std::function<bool(const std::string&)> write;  // false: it has gone
    std::function<void()> wait;                     // until it goes
  };
  using Part = std::function<void(const Caller&)>;

  explicit MediaHost(const TestCertificate* certificate = nullptr) : acceptor_(io_, {tcp::v4(), 0}) {
    if (certificate != nullptr) {
      tls_ = std::make_unique<boost::asio::ssl::context>(boost::asio::ssl::context::tls_server);
      tls_->use_certificate_chain(boost::asio::buffer(certificate->certificate));
      tls_->use_private_key(boost::asio::buffer(certificate->key), boost::asio::ssl::context::pem);
    }
    add_parts();
    thread_ = std::thread([this] { accept(); });
  }
  ~MediaHost() {
    ending_ = true;
    // Wakes the one that accepts.
    tcp::socket last(io_);
    boost::system::error_code ignored;
    last.connect({boost::asio::ip::address_v4::loopback(), port()}, ignored);
    thread_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const auto& socket : sockets_) socket->shutdown(tcp::socket::shutdown_both, ignored);
    }
    for (std::thread& thread : callers_) thread.join();
  }
  MediaHost(const MediaHost&) = delete;
  MediaHost& operator=(const MediaHost&) = delete;

  [[nodiscard]] uint16_t port() const { return acceptor_.local_endpoint().port(); }
  [[nodiscard]] std::string name(const std::string& host = "127.0.0.1") const {
    return host + ":" + std::to_string(port());
  }
  [[nodiscard]] std::string url(const std::string& path) const { return "http://" + name() + path; }
  std::map<std::string, Part>& parts() { return parts_; }
  [[nodiscard]] int asked() const { return asked_; }      // requests
  [[nodiscard]] int waiting() const { return waiting_; }  // in Caller::wait
  [[nodiscard]] std::string last_request() {
    const std::lock_guard lock(mutex_);
    return last_request_;
  }

  static std::string file(const char* path) {
    std::ifstream in(std::filesystem::path(PACELINE_SOURCE_DIR) / path, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  static std::string with_length(const std::string& body, const std::string& head = "200 OK") {
    return "HTTP/1.1 " + head + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  static Part redirect(const std::string& location) {
    return [=](const Caller& caller) { caller.write(with_length("", "302 Found\r\nLocation: " + location)); };
  }

 private:
  void add_parts() {
    const std::string picture = file("tests/default_model/picture0.png"), clip = file("tests/fuzz/video/h264.mp4");
    parts_["/picture.png"] = [=](const Caller& caller) { caller.write(with_length(picture)); };
    parts_["/clip.mp4"] = [=](const Caller& caller) { caller.write(with_length(clip)); };
    parts_["/to_the_end.png"] = [=](const Caller& caller) { caller.write("HTTP/1.0 200 OK\r\n\r\n" + picture); };
    parts_["/chunked.png"] = [=](const Caller& caller) {
      std::ostringstream length;
      length << std::hex << picture.size();
      caller.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + length.str() + "\r\n" + picture +
                   "\r\n0\r\n\r\n");
    };
    parts_["/large_by_length"] = [](const Caller& caller) {
      caller.write("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n");
      caller.wait();
    };
    parts_["/large_by_body"] = [](const Caller& caller) {
      const std::string chunk = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
      if (!caller.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")) return;
      while (caller.write(chunk)) {
      }
    };
    parts_["/slow"] = [](const Caller& caller) {
      caller.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nbegin");
      caller.wait();
    };
    parts_["/silent"] = [](const Caller& caller) { caller.wait(); };
    parts_["/broken"] = [](const Caller& caller) { caller.write("HELLO THERE\r\n\r\n"); };
    parts_["/truncated"] = [](const Caller& caller) {
      caller.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nbegin");
    };
    parts_["/packed"] = [](const Caller& caller) {
      caller.write(with_length("x", "200 OK\r\nContent-Encoding: gzip"));
    };
  }

  void accept() {
    for (;;) {
      auto socket = std::make_shared<tcp::socket>(io_);
      boost::system::error_code failed;
      acceptor_.accept(*socket, failed);
      if (ending_) return;
      if (failed) continue;
      {
        const std::lock_guard lock(mutex_);
        sockets_.push_back(socket);
      }
      callers_.emplace_back([this, socket] { serve(*socket); });
    }
  }

  void serve(tcp::socket& socket) {
    boost::system::error_code failed;
    if (tls_ == nullptr) {
      serve_stream(socket);
    } else {
      boost::asio::ssl::stream<tcp::socket&> stream(socket, *tls_);
      stream.handshake(boost::asio::ssl::stream_base::server, failed);
      if (!failed) serve_stream(stream);
      if (!failed) stream.shutdown(failed);
    }
    const std::lock_guard lock(mutex_);
    socket.shutdown(tcp::socket::shutdown_both, failed);
  }

  template <class Stream>
  void serve_stream(Stream& stream) {
    std::string request;
    boost::system::error_code failed;
    boost::asio::read_until(stream, boost::asio::dynamic_buffer(request), "\r\n\r\n", failed);
    if (failed) return;
    ++asked_;
    {
      const std::lock_guard lock(mutex_);
      last_request_ = request;
    }
    const std::string path = request.substr(4, request.find(' ', 4) - 4);
    const Caller caller{[&](const std::string& bytes) {
                          boost::asio::write(stream, boost::asio::buffer(bytes), failed);
                          return !failed;
                        },
                        [&] {
                          ++waiting_;
                          char byte = 0;
                          stream.read_some(boost::asio::buffer(&byte, 1), failed);
                          --waiting_;
                        }};
    const auto part = parts_.find(path);
    if (part != parts_.end()) {
      part->second(caller);
    } else {
      caller.write(with_length("nothing", "404 Not Found"));
    }
  }

  boost::asio::io_context io_;
  tcp::acceptor acceptor_;
  std::unique_ptr<boost::asio::ssl::context> tls_;
  std::map<std::string, Part> parts_;  // not changed any more when the first request comes
  std::atomic<bool> ending_ = false;
  std::atomic<int> asked_ = 0, waiting_ = 0;
  std::mutex mutex_;
  std::vector<std::shared_ptr<tcp::socket>> sockets_;
  std::string last_request_;
  std::vector<std::thread> callers_;
  std::thread thread_;
};

}  // namespace paceline
