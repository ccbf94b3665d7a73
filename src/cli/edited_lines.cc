// Lines typed on a terminal, edited by libedit.
#include <histedit.h>
#include <langinfo.h>
#include <termios.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <string_view>
#include <system_error>

#include "cli/line_source.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr int kMostRemembered = 1000;

class EditedLines : public LineSource {
 public:
  explicit EditedLines(const EditorSettings& settings) : settings_(settings) {
    read_as_utf8();
    editor_ = el_init("paceline", stdin, stdout, stderr);
    history_ = history_init();
    HistEvent event;
    history(history_, &event, H_SETSIZE, kMostRemembered);
    history(history_, &event, H_SETUNIQUE, 1);
    if (!settings_.history.empty()) history(history_, &event, H_LOAD, settings_.history.c_str());
    set_up();
  }

  ~EditedLines() override {
    keep_history();
    history_end(history_);
    el_end(editor_);
  }

  Read read(const std::string& prompt) override {
    prompt_ = prompt;
    dropped_ = false;
    // Before the prompt is there: whoever sees it may type.
    el_set(editor_, EL_PREP_TERM, 1);
    make_ctrl_c_a_key();
    int count = 0;
    const char* line = el_gets(editor_, &count);
    if (dropped_) return {Kind::dropped, ""};
    if (line == nullptr || count <= 0) return {};
    std::string_view text(line, static_cast<size_t>(count));
    while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
    remember(text);
    return {Kind::line, std::string(text)};
  }

 private:
  // Text is UTF-8 here whatever the locale says.
  static void read_as_utf8() {
    (void)std::setlocale(LC_CTYPE, "");
    if (std::string_view(nl_langinfo(CODESET)) != "UTF-8") (void)std::setlocale(LC_CTYPE, "C.UTF-8");
  }

  void set_up() {
    el_set(editor_, EL_CLIENTDATA, this);
    el_set(editor_, EL_PROMPT, &EditedLines::prompt_of);
    el_set(editor_, EL_EDITOR, "emacs");
    el_set(editor_, EL_HIST, history, history_);
    // The terminal is left as it was found when the program is ended or suspended in the middle of a line.
    el_set(editor_, EL_SIGNAL, 1);
    el_set(editor_, EL_ADDFN, "drop-line", "Forgets the line", &EditedLines::drop_line);
    el_set(editor_, EL_BIND, "^C", "drop-line", nullptr);
    el_set(editor_, EL_ADDFN, "complete", "Completes a command or a file", &EditedLines::complete);
    el_set(editor_, EL_BIND, "^I", "complete", nullptr);
    el_set(editor_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    el_set(editor_, EL_BIND, "\\e[1~", "ed-move-to-beg", nullptr);
    el_set(editor_, EL_BIND, "\\e[4~", "ed-move-to-end", nullptr);
    el_set(editor_, EL_BIND, "\\e[3~", "ed-delete-next-char", nullptr);
    el_set(editor_, EL_BIND, "\\e[1;5C", "em-next-word", nullptr);
    el_set(editor_, EL_BIND, "\\e[1;5D", "ed-prev-word", nullptr);
    // What the user has for all programs that use the same editor.
    el_source(editor_, nullptr);
  }

  // While a line is edited; the editor puts back what the terminal had before.
  static void make_ctrl_c_a_key() {
    termios mode{};
    if (tcgetattr(STDIN_FILENO, &mode) != 0) return;
    mode.c_cc[VINTR] = _POSIX_VDISABLE;
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &mode);
  }

  static EditedLines& of(EditLine* editor) {
    void* self = nullptr;
    el_get(editor, EL_CLIENTDATA, &self);
    return *static_cast<EditedLines*>(self);
  }

  static char* prompt_of(EditLine* editor) { return of(editor).prompt_.data(); }

  static unsigned char drop_line(EditLine* editor, int) {
    of(editor).dropped_ = true;
    std::fputs("^C\n", stdout);
    return CC_NEWLINE;
  }

  // The first word of a line as one of ours, others as files.
  static unsigned char complete(EditLine* editor, int key) {
    const LineInfo* line = el_line(editor);
    const std::string_view typed(line->buffer, static_cast<size_t>(line->cursor - line->buffer));
    if (!typed.starts_with('/') || typed.find(' ') != std::string_view::npos) return _el_fn_complete(editor, key);
    const std::string* found = nullptr;
    for (const std::string& word : of(editor).settings_.words) {
      if (!word.starts_with(typed)) continue;
      if (found != nullptr) return CC_REFRESH_BEEP;
      found = &word;
    }
    if (found == nullptr) return CC_REFRESH_BEEP;
    el_insertstr(editor, (found->substr(typed.size()) + " ").c_str());
    return CC_REFRESH;
  }

  void remember(std::string_view text) {
    if (text.find_first_not_of(" \t") == std::string_view::npos) return;
    HistEvent event;
    history(history_, &event, H_ENTER, std::string(text).c_str());
  }

  // What somebody said to a model is for nobody else: libedit writes the file for its owner alone.
  void keep_history() {
    if (settings_.history.empty()) return;
    std::error_code ignored;
    fs::create_directories(settings_.history.parent_path(), ignored);
    HistEvent event;
    history(history_, &event, H_SAVE, settings_.history.c_str());
  }

  EditorSettings settings_;
  EditLine* editor_ = nullptr;
  History* history_ = nullptr;
  std::string prompt_;
  bool dropped_ = false;
};

}  // namespace

std::unique_ptr<LineSource> make_edited_lines(const EditorSettings& settings) {
  return std::make_unique<EditedLines>(settings);
}

}  // namespace paceline
