// The web console's files over HTTP: from the program, or from a folder, for those who work on them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/http_call.h"

namespace paceline {

class ConsolePages {
 public:
  // folder: "": what is in the program.
  explicit ConsolePages(std::string folder) : folder_(std::move(folder)) {}

  // "/", and all below /console/ that is no route of its own.
  [[nodiscard]] static bool is_file(std::string_view path);
  [[nodiscard]] HttpAnswer answer(const HttpCall& call) const;

 private:
  [[nodiscard]] std::optional<HttpAnswer> packed(const HttpCall& call, std::string_view name, bool kept) const;
  [[nodiscard]] std::optional<HttpAnswer> from_folder(std::string_view name) const;

  std::string folder_;
};

}  // namespace paceline
