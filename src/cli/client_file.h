// The file of a client's settings: where it lies, ours written into it, and the way back.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "cli/client_settings.h"

namespace paceline {

// Where the client looks for it, by what is set in its environment; "": it has none. Begins with ~/ where nobody says
// where home is.
std::string client_file(const ClientSettings& settings, const std::function<const char*(const char*)>& environment);
// The same, where it was written: it may have had another name then.
std::string written_client_file(const ClientSettings& settings,
                                const std::function<const char*(const char*)>& environment);

// Writes ours into what is there, JSON and TOML; other files are replaced. What was there before the first time is kept
// beside it; before the first time again, where nothing of ours is left in it. An error where the file is not what it
// should be; then nothing is written.
Status write_client_file(const std::string& path, const ClientSettings& settings);

// Puts back what was there before; what nobody had written goes. Where others have edited it since, ours is taken out
// and the rest stays as they have it. Where that cannot be done, all of it is kept under the name that comes back.
struct RestoredFile {
  bool was_edited = false;
  bool keeps_edits = false;  // but for what was ours
  std::string kept;          // where all of an edited one is; "": it was not
};
Result<RestoredFile> restore_client_file(const std::string& path, const ClientSettings& settings);

}  // namespace paceline
