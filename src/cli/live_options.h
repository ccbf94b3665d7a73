// The options of a server while it serves: some of them can change, and whoever reads them meanwhile reads them whole.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"
#include "cli/serve_options.h"
#include "server/settings.h"

namespace paceline {

// May be used by several threads.
class LiveOptions {
 public:
  // options: what the command's options are read into; outlive it.
  LiveOptions(const Command& command, ServeOptions& options) : command_(command), options_(options) {}

  // What change() would say to it.
  [[nodiscard]] Status check(const std::string& name, const std::string& value) const;
  // Whether a server could start with a file of this text; where not, the line and why.
  [[nodiscard]] static Status check_file(const std::string& text);
  // As a flag would give it; all of them as they are then.
  Result<LiveSettings> change(const std::string& name, const std::string& value);
  // Nothing changes while it reads.
  template <class Reader>
  auto read(const Reader& reader) const {
    const std::lock_guard lock(mutex_);
    return reader(static_cast<const ServeOptions&>(options_));
  }

  // For the console's page of settings.
  [[nodiscard]] std::vector<DescribedSetting> described() const;

 private:
  [[nodiscard]] static bool can_change(std::string_view name);

  // None: as the policy has it.
  [[nodiscard]] Result<std::optional<int32_t>> read_depth(const std::string& value) const;

  Command command_;
  ServeOptions& options_;
  // Not among the options: engines that are opened later are opened as the first were.
  std::optional<int32_t> depth_;
  mutable std::mutex mutex_;
};

}  // namespace paceline
