// Lines that somebody types, or that come from a file or a pipe.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace paceline {

class LineSource {
 public:
  // dropped: what was being typed is to be forgotten (Ctrl-C).
  enum class Kind : uint8_t { line, dropped, end };
  struct Read {
    Kind kind = Kind::end;
    std::string text;  // without the line's end
  };

  LineSource() = default;
  LineSource(const LineSource&) = delete;
  LineSource& operator=(const LineSource&) = delete;
  virtual ~LineSource() = default;

  virtual Read read(const std::string& prompt) = 0;
};

// From stdin as they come; a prompt is shown where `prompts`, on stderr.
std::unique_ptr<LineSource> make_plain_lines(bool prompts);

// From a terminal, with a line editor: history, arrow keys, Tab for the words and for files. The history is read from
// the file and written there at the end; an empty path: it is forgotten. Null: there is no editor in this build.
struct EditorSettings {
  std::filesystem::path history;
  std::vector<std::string> words;  // that a line may begin with
};
std::unique_ptr<LineSource> make_edited_lines(const EditorSettings& settings);

}  // namespace paceline
