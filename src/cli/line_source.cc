#include "cli/line_source.h"

#include <iostream>

#include "cli/console.h"

namespace paceline {
namespace {

class PlainLines : public LineSource {
 public:
  explicit PlainLines(bool prompts) : prompts_(prompts) {}

  Read read(const std::string& prompt) override {
    if (prompts_) tell(prompt);
    Read read;
    if (!std::getline(std::cin, read.text)) return {};
    if (read.text.ends_with('\r')) read.text.pop_back();
    read.kind = Kind::line;
    return read;
  }

 private:
  bool prompts_;
};

}  // namespace

std::unique_ptr<LineSource> make_plain_lines(bool prompts) { return std::make_unique<PlainLines>(prompts); }

}  // namespace paceline
