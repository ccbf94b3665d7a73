#include "cli/nearest_word.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace paceline {
namespace {

// Levenshtein's distance, row by row.
size_t letters_apart(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_word(std::string_view typed, std::span<const std::string> words) {
  // Two letters turned around are two changes.
  size_t nearest = std::min<size_t>(2, typed.size() / 2);
  std::string found;
  for (const std::string& word : words) {
    const bool begun = typed.size() > 1 && word.starts_with(typed);
    const size_t apart = begun ? 0 : letters_apart(typed, word);
    if (apart > nearest || (apart == nearest && !found.empty())) continue;
    nearest = apart;
    found = word;
  }
  return found;
}

}  // namespace paceline
