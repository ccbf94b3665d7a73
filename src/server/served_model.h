// The model behind the routes, and what they say about it.
#pragma once

#include <boost/json/object.hpp>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "session/completion_maker.h"
#include "session/engine_description.h"
#include "session/text_model.h"
#include "session/vision.h"

namespace paceline {

class ServedModel {
 public:
  // All must outlive it. `vision`: none where the model takes no pictures. `name`: how clients call it.
  ServedModel(const TextModel& text, Engine& engine, const Vision* vision, std::string name,
              EngineDescription description);

  [[nodiscard]] const TextModel& text() const { return text_; }
  [[nodiscard]] Engine& engine() const { return engine_; }
  [[nodiscard]] const Vision* vision() const { return vision_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const EngineDescription& description() const { return description_; }
  CompletionMaker& maker() { return maker_; }
  [[nodiscard]] const CompletionMaker& maker() const { return maker_; }

  // Further names; one that ends in * stands for all that begin so.
  void set_aliases(std::vector<std::string> aliases) { aliases_ = std::move(aliases); }
  [[nodiscard]] const std::vector<std::string>& aliases() const { return aliases_; }
  // Whether it thinks where a request does not say; none: as its template has it.
  void set_thinks(std::optional<bool> thinks) { thinks_ = thinks; }
  [[nodiscard]] std::optional<bool> thinks() const { return thinks_; }
  // An entry of GET /v1/models.
  // SHA-256 of its weights; "": not known yet.
  [[nodiscard]] std::string digest() const;
  [[nodiscard]] boost::json::object object(int32_t context_limit) const;

  // Digests take a while for large files: computed beside, and null until they are known.
  void start_hashing();

 private:
  void hash(const std::filesystem::path& folder, std::optional<std::string>& digest, const std::stop_token& stop);

  const TextModel& text_;
  Engine& engine_;
  const Vision* vision_;
  std::string name_;
  std::vector<std::string> aliases_;
  std::optional<bool> thinks_;
  EngineDescription description_;
  CompletionMaker maker_;
  int64_t created_;
  mutable std::mutex digest_mutex_;
  std::optional<std::string> target_digest_;
  std::vector<std::optional<std::string>> drafter_digests_;  // of each of the description's folders
  std::jthread hashing_;
};

// A path that ends with a slash has an empty last part.
std::string folder_name(const std::filesystem::path& folder);

}  // namespace paceline
