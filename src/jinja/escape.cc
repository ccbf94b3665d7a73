#include "jinja/escape.h"

#include "jinja/print.h"

namespace paceline::jinja {

std::string html_escaped(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '\'': escaped += "&#39;"; break;
      case '"': escaped += "&#34;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

Result<std::string> escaped(Run& run, const Value& value) {
  TRY_ASSIGN(std::string text, to_text(run, value));
  if (value.is_markup()) return text;
  // At most five bytes for one.
  TRY(run.reserve(5 * text.size()));
  return html_escaped(text);
}

}  // namespace paceline::jinja
