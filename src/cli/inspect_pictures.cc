#include "cli/inspect_pictures.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/regular_file.h"
#include "media/decode.h"

namespace paceline {
namespace {

struct PictureReport {
  std::string file;
  std::string format;
  int32_t width = 0, height = 0;                  // of the file's picture, upright
  int32_t resized_width = 0, resized_height = 0;  // of what is cut
  int32_t patch = 0, patch_columns = 0, patch_rows = 0;
  int32_t token_columns = 0, token_rows = 0, tokens = 0;
};

Result<PictureReport> report_on(const Vision& vision, const std::string& file, FileBytes bytes, int32_t budget) {
  TRY_ASSIGN(const Picture picture, decode_picture(bytes));
  TRY_ASSIGN(const Patches patches, vision.cut(picture, budget));
  PictureReport report{file, picture_format(bytes), picture.width, picture.height};
  report.patch = patches.side;
  report.patch_columns = patches.columns;
  report.patch_rows = patches.rows;
  report.resized_width = patches.columns * patches.side;
  report.resized_height = patches.rows * patches.side;
  const int32_t token_side = vision.config().shape.token_side();
  report.token_columns = report.resized_width / token_side;
  report.token_rows = report.resized_height / token_side;
  report.tokens = patches.tokens;
  return report;
}

std::string text_of(const PictureReport& report) {
  return fmt::format("{}: {}, {} × {} pixels → {} × {}: {} × {} patches of {} × {}, {} × {} = {} tokens\n", report.file,
                     report.format, report.width, report.height, report.resized_width, report.resized_height,
                     report.patch_columns, report.patch_rows, report.patch, report.patch, report.token_columns,
                     report.token_rows, report.tokens);
}

boost::json::object json_of(const PictureReport& report) {
  return {{"file", report.file},
          {"format", report.format},
          {"width", report.width},
          {"height", report.height},
          {"resized_width", report.resized_width},
          {"resized_height", report.resized_height},
          {"patch", report.patch},
          {"patch_columns", report.patch_columns},
          {"patch_rows", report.patch_rows},
          {"token_columns", report.token_columns},
          {"token_rows", report.token_rows},
          {"tokens", report.tokens}};
}

}  // namespace

Result<std::string> inspect_pictures(const Vision& vision, const std::vector<std::string>& files, int32_t budget,
                                     bool json) {
  std::string text;
  boost::json::array list;
  for (const std::string& file : files) {
    TRY_ASSIGN(const std::string contents, read_file(file, PictureLimits{}.bytes));  // an error names the file
    const FileBytes bytes(reinterpret_cast<const uint8_t*>(contents.data()), contents.size());
    const auto report = report_on(vision, file, bytes, budget);
    if (!report.ok()) return Error{fmt::format("{}: {}", file, report.error().message)};
    text += text_of(*report);
    list.push_back(json_of(*report));
  }
  if (!json) return text;
  const boost::json::object whole{{"budget", budget > 0 ? budget : vision.budget()}, {"pictures", std::move(list)}};
  return boost::json::serialize(whole) + "\n";
}

}  // namespace paceline
