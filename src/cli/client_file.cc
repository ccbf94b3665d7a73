#include "cli/client_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "cli/merged_file.h"
#include "weights/sha256.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOld = ".before-paceline";
// Where nothing was before.
constexpr const char* kNothing = ".none-before-paceline";
// The digest of what we wrote.
constexpr const char* kWritten = ".written-by-paceline";
constexpr const char* kEdited = ".before-restore";

Status failed(const std::string& path, const std::error_code& why) {
  return Error{fmt::format("{}: {}", path, why.message())};
}

std::string text_of(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

Status write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::trunc | std::ios::binary);
  file << text;
  file.close();
  return file ? Status(Done{}) : Error{fmt::format("{}: cannot be written", path)};
}

Result<std::string> digest_of(const std::string& text) {
  return sha256_hex(std::as_bytes(std::span(text.data(), text.size())));
}

bool was_written(const std::string& path) {
  std::error_code error;
  return fs::exists(path + kOld, error) || fs::exists(path + kNothing, error);
}

// Not as we wrote it, as far as can be told.
Result<bool> is_edited(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return false;
  TRY_ASSIGN(const std::string digest, digest_of(text_of(path)));
  return digest != text_of(path + kWritten);
}

Result<std::string> merged(const std::string& path, const ClientSettings& settings) {
  const std::string old = text_of(path);
  const std::string kind = fs::path(path).extension().string();
  auto made = kind == ".json" || kind == ".jsonc" ? merged_json(old, settings.text)
              : kind == ".toml"                   ? merged_toml(old, settings.text, settings.replaces)
                                                  : Result<std::string>(settings.text);
  if (!made.ok()) return Error{fmt::format("{}: {}; nothing was written", path, made.error().message)};
  return made;
}

// Nothing was written: nothing is put back later.
void forget_old(const std::string& path) {
  std::error_code error;
  for (const char* beside : {kOld, kNothing}) fs::remove(path + beside, error);
}

Status keep_old(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return write_text(path + kNothing, "");
  fs::copy_file(path, path + kOld, error);
  return error ? failed(path + kOld, error) : Status(Done{});
}

// A pipe would be waited for, a folder or a device is nobody's settings.
Status check_kind(const std::string& path) {
  std::error_code error;
  const fs::file_status found = fs::status(path, error);
  if (!fs::exists(found) || fs::is_regular_file(found)) return Done{};
  return Error{fmt::format("{}: expected a file, found something else; nothing was changed", path)};
}

// What a link stands for, even if that is not there.
std::string behind_links(std::string path) {
  std::error_code error;
  for (int left = 40; left > 0 && fs::is_symlink(path, error); --left) {
    const fs::path target = fs::read_symlink(path, error);
    if (error) break;
    path = (fs::path(path).parent_path() / target).string();
  }
  return path;
}

// As the settings call it.
std::string usual_file(const ClientSettings& settings, const std::function<const char*(const char*)>& environment) {
  if (settings.file.empty()) return "";
  const char* moved = settings.moved_by != nullptr ? environment(settings.moved_by) : nullptr;
  if (moved != nullptr && *moved != 0)
    return (fs::path(moved) / settings.file.substr(settings.file.find('/') + 1)).string();
  const char* home = environment("HOME");
  return (fs::path(home != nullptr ? home : ".") / settings.file).string();
}

// "": there is no other name.
std::string file_instead(const ClientSettings& settings, const std::string& usual) {
  return settings.instead == nullptr ? "" : (fs::path(usual).parent_path() / settings.instead).string();
}

}  // namespace

std::string client_file(const ClientSettings& settings, const std::function<const char*(const char*)>& environment) {
  const std::string usual = usual_file(settings, environment), instead = file_instead(settings, usual);
  std::error_code error;
  return !instead.empty() && fs::exists(instead, error) ? instead : usual;
}

std::string written_client_file(const ClientSettings& settings,
                                const std::function<const char*(const char*)>& environment) {
  const std::string usual = usual_file(settings, environment), instead = file_instead(settings, usual);
  return !instead.empty() && was_written(instead) ? instead : usual;
}

Status write_client_file(const std::string& path, const ClientSettings& settings) {
  std::error_code error;
  TRY(check_kind(path));
  fs::create_directories(fs::path(path).parent_path(), error);
  if (error) return failed(path, error);
  TRY_ASSIGN(const std::string text, merged(path, settings));
  const bool is_first = !was_written(path);
  // What somebody changed in between is in the text, too: the old digest goes on telling that.
  bool tells_digest = is_first;
  if (!is_first) {
    TRY_ASSIGN(const bool edited, is_edited(path));
    tells_digest = !edited;
  }
  const bool is_new = !fs::exists(path, error);
  const std::string before = text_of(path);
  if (is_first) TRY(keep_old(path));
  if (const Status written = write_text(path, text); !written.ok()) {
    if (is_first && text_of(path) == before) forget_old(path);
    return written;
  }
  // A key may be in it.
  if (is_new) fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write, error);
  if (!tells_digest) return Done{};
  TRY_ASSIGN(const std::string digest, digest_of(text));
  return write_text(path + kWritten, digest);
}

Result<std::string> restore_client_file(const std::string& path) {
  if (!was_written(path))
    return Error{fmt::format("{} was not written by paceline: there is nothing to put back", path)};
  TRY(check_kind(path));
  std::error_code error;
  std::string kept;
  TRY_ASSIGN(const bool edited, is_edited(path));
  if (edited) {
    kept = path + kEdited;
    for (int number = 2; fs::exists(kept, error); ++number) kept = fmt::format("{}{}-{}", path, kEdited, number);
    fs::copy_file(path, kept, error);
    if (error) return Error{fmt::format("{}: {}", kept, error.message())};
  }
  if (fs::exists(path + kOld, error)) {
    fs::copy_file(path + kOld, path, fs::copy_options::overwrite_existing, error);
  } else {
    fs::remove(behind_links(path), error);
  }
  if (error) return Error{fmt::format("{}: {}", path, error.message())};
  for (const char* beside : {kOld, kNothing, kWritten}) fs::remove(path + beside, error);
  return kept;
}

}  // namespace paceline
