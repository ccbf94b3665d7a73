// Of a build without libedit: lines are read as the terminal gives them.
#include "cli/line_source.h"

namespace paceline {

std::unique_ptr<LineSource> make_edited_lines(const EditorSettings&) { return nullptr; }

}  // namespace paceline
