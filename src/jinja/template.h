// A Jinja template, parsed once and rendered many times: our own interpreter, with the environment that Hugging Face's
// chat templates expect (docs: ImmutableSandboxedEnvironment, trim_blocks, lstrip_blocks, loop controls, generation).
// Both the template and its variables may come from anywhere: errors are values, and work is bounded.
#pragma once

#include <boost/json/object.hpp>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "jinja/run.h"

namespace paceline::jinja {

struct Tree;

struct RenderOptions {
  Limits limits;
  std::optional<std::tm> now;  // what strftime_now says; none: the machine's local time
};

struct Rendering {
  std::string text;
  bool used_clock = false;  // another day may give another text
};

class Template {
 public:
  // An error names the line.
  static Result<Template> parse(std::string_view source);

  // Safe from many threads at once.
  [[nodiscard]] Result<Rendering> render(const boost::json::object& variables, const RenderOptions& options = {}) const;

 private:
  explicit Template(std::shared_ptr<const Tree> tree) : tree_(std::move(tree)) {}

  std::shared_ptr<const Tree> tree_;
};

}  // namespace paceline::jinja
