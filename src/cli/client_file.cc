#include "cli/client_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "base/replaced_file.h"
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

// Something that lies beside it under our names and is not known to be ours is not enough.
bool was_written(const std::string& path) {
  std::error_code error;
  return fs::exists(path + kWritten, error) && (fs::exists(path + kOld, error) || fs::exists(path + kNothing, error));
}

// Not as we wrote it, as far as can be told.
Result<bool> is_edited(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return false;
  TRY_ASSIGN(const std::string digest, digest_of(text_of(path)));
  return digest != text_of(path + kWritten);
}

enum class FileKind : uint8_t { json, toml, other };
FileKind kind_of(const std::string& path) {
  const std::string ending = fs::path(path).extension().string();
  return ending == ".json" || ending == ".jsonc" ? FileKind::json
         : ending == ".toml"                     ? FileKind::toml
                                                 : FileKind::other;
}

Result<std::string> merged(const std::string& path, const ClientSettings& settings) {
  const std::string old = text_of(path);
  const FileKind kind = kind_of(path);
  auto made = kind == FileKind::json   ? merged_json(old, settings.text)
              : kind == FileKind::toml ? merged_toml(old, settings.text, settings.replaces)
                                       : Result<std::string>(settings.text);
  if (!made.ok()) return Error{fmt::format("{}: {}; nothing was written", path, made.error().message)};
  return made;
}

// What others have made of it, without ours.
Result<std::string> unmerged(const std::string& path, const ClientSettings& settings) {
  const std::string now = text_of(path), before = text_of(path + kOld);
  switch (kind_of(path)) {
    case FileKind::json: return unmerged_json(now, before, settings.text);
    case FileKind::toml: return unmerged_toml(now, before, settings.replaces);
    default: return Error{"its parts are not known"};
  }
}

// Of an edited one. Where all of our names were there before, nothing tells: then it does.
bool holds_ours(const std::string& path, const ClientSettings& settings) {
  const std::string now = text_of(path), before = text_of(path + kOld);
  switch (kind_of(path)) {
    case FileKind::json:
      return holds_json(now, before, settings.text) || !holds_json(settings.text, before, settings.text);
    case FileKind::toml:
      return holds_toml(now, before, settings.replaces) || !holds_toml(settings.text, before, settings.replaces);
    default: return now.find("paceline") != std::string::npos;
  }
}

// That nothing is there yet.
std::string free_name(const std::string& wanted) {
  std::error_code error;
  std::string name = wanted;
  for (int number = 2; fs::exists(name, error); ++number) name = fmt::format("{}-{}", wanted, number);
  return name;
}

// Nothing was written: nothing is put back later.
void forget_old(const std::string& path) {
  std::error_code error;
  for (const char* beside : {kOld, kNothing, kWritten}) fs::remove(path + beside, error);
}

Status keep_old(const std::string& path) {
  std::error_code error;
  // Of another time, or another's.
  if (fs::exists(path + kOld, error)) fs::rename(path + kOld, free_name(path + kOld), error);
  if (error) return failed(path + kOld, error);
  fs::remove(path + kNothing, error);
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

Status check_kinds(const std::string& path) {
  for (const char* beside : {"", kOld, kNothing, kWritten}) TRY(check_kind(path + beside));
  return Done{};
}

// As the settings call it.
std::string usual_file(const ClientSettings& settings, const std::function<const char*(const char*)>& environment) {
  if (settings.file.empty()) return "";
  const char* moved = settings.moved_by != nullptr ? environment(settings.moved_by) : nullptr;
  if (moved != nullptr && *moved != 0)
    return (fs::path(moved) / settings.file.substr(settings.file.find('/') + 1)).string();
  const char* home = environment("HOME");
  return (fs::path(home != nullptr && *home != 0 ? home : "~") / settings.file).string();
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
  TRY(check_kinds(path));
  fs::create_directories(fs::path(path).parent_path(), error);
  if (error) return failed(path, error);
  TRY_ASSIGN(const std::string text, merged(path, settings));
  TRY_ASSIGN(const bool edited, is_edited(path));
  // What lies beside one that has nothing of ours any more is of another time.
  const bool is_first = !was_written(path) || (edited && !holds_ours(path, settings));
  // What somebody changed in between is in the text, too: the old digest goes on telling that.
  const bool tells_digest = is_first || !edited;
  const bool is_new = !fs::exists(path, error);
  const std::string before = text_of(path);
  if (is_first) TRY(keep_old(path));
  // Before the file: without it there would be no way back.
  const std::string told = text_of(path + kWritten);
  TRY_ASSIGN(const std::string digest, digest_of(text));
  Status written = tells_digest ? write_text(path + kWritten, digest) : Status(Done{});
  if (written.ok()) written = write_text(path, text);
  if (!written.ok()) {
    if (text_of(path) != before) return written;
    if (is_first) {
      forget_old(path);
    } else if (tells_digest) {
      (void)write_text(path + kWritten, told);
    }
    return written;
  }
  // A key may be in it.
  if (is_new) fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write, error);
  return Done{};
}

Result<RestoredFile> restore_client_file(const std::string& path, const ClientSettings& settings) {
  TRY(check_kinds(path));
  if (!was_written(path))
    return Error{fmt::format("{} was not written by paceline: there is nothing to put back", path)};
  std::error_code error;
  RestoredFile made;
  TRY_ASSIGN(made.was_edited, is_edited(path));
  const auto without = made.was_edited ? unmerged(path, settings) : Result<std::string>(Error{""});
  made.keeps_edits = without.ok();
  // Even where all but ours stays: what we had put there may have been edited, too.
  if (made.was_edited) {
    made.kept = free_name(path + kEdited);
    fs::copy_file(path, made.kept, error);
    if (error) return Error{fmt::format("{}: {}", made.kept, error.message())};
  }
  if (without.ok()) {
    TRY(write_text(path, *without));
  } else if (fs::exists(path + kOld, error)) {
    fs::copy_file(path + kOld, path, fs::copy_options::overwrite_existing, error);
  } else {
    fs::remove(behind_links(path), error);
  }
  if (error) return Error{fmt::format("{}: {}", path, error.message())};
  for (const char* beside : {kOld, kNothing, kWritten}) fs::remove(path + beside, error);
  return made;
}

}  // namespace paceline
