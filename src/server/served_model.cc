#include "server/served_model.h"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <ctime>

#include "server/utc_text.h"
#include "weights/checkpoint.h"
#include "weights/sha256.h"

namespace paceline {
namespace {

namespace json = boost::json;

json::value or_null(const std::optional<std::string>& text) { return text ? json::value(*text) : json::value(); }

}  // namespace

std::string folder_name(const std::filesystem::path& folder) {
  return (folder.has_filename() ? folder.filename() : folder.parent_path().filename()).string();
}

ServedModel::ServedModel(const TextModel& text, Engine& engine, const Vision* vision, std::string name,
                         EngineDescription description)
    : text_(text),
      engine_(engine),
      vision_(vision),
      name_(std::move(name)),
      description_(std::move(description)),
      maker_(text),
      created_(std::time(nullptr)),
      drafter_digests_(description_.drafter_folders.size()) {
  if (name_.empty()) name_ = folder_name(text.loaded.checkpoint->folder());
}

json::object ServedModel::object(int32_t context_limit) const {
  const EngineSettings& settings = description_.settings;
  json::object engine;
  engine["kernels"] = description_.kernels;
  engine["precision"] = description_.precision;
  engine["kv"] = description_.kv;
  engine["threads"] = description_.threads;
  engine["kv_bytes"] = settings.kv_bytes;
  engine["batch_rows"] = settings.batch_rows;
  engine["chunk_rows"] = settings.chunk_rows;
  engine["max_running"] = settings.most_running;
  const EngineStats stats = engine_.stats();
  engine["queue_length"] = stats.queue_length;
  engine["prefix_cache"] = settings.keeps_prefixes;

  json::object drafter{{"name", description_.drafter}, {"kind", description_.drafter_kind}};
  const std::optional<int32_t> depth = stats.depth ? stats.depth : settings.fixed_depth;
  drafter["depth"] = depth ? json::value(*depth) : json::value("adaptive");
  drafter["drafted"] = stats.speculation.drafted;
  drafter["accepted"] = stats.speculation.accepted;

  json::object object{{"id", name_}, {"object", "model"}, {"created", created_}, {"owned_by", "paceline"}};
  // As Anthropic's clients read them.
  object["type"] = "model";
  object["display_name"] = name_;
  object["created_at"] = utc_text(created_);
  object["aliases"] = json::array(aliases_.begin(), aliases_.end());
  object["context_length"] = maker_.context(context_limit);
  object["max_model_len"] = maker_.context(context_limit);  // as vLLM calls it
  object["chat"] = text_.has_chat();
  object["images"] = vision_ != nullptr;
  object["videos"] = vision_ != nullptr && text_.loaded.config.ids.video >= 0;
  object["drafter"] = std::move(drafter);
  object["engine"] = std::move(engine);
  const std::lock_guard lock(digest_mutex_);
  // One, or where there are several, each by its name.
  json::value drafters = drafter_digests_.empty() ? json::value(nullptr) : or_null(drafter_digests_.front());
  if (drafter_digests_.size() > 1) {
    json::object each;
    for (size_t i = 0; i < drafter_digests_.size(); ++i)
      each[description_.drafter_folders[i].filename().string()] = or_null(drafter_digests_[i]);
    drafters = std::move(each);
  }
  object["sha256"] = {{"target", or_null(target_digest_)}, {"drafter", std::move(drafters)}};
  return object;
}

std::string ServedModel::digest() const {
  const std::lock_guard lock(digest_mutex_);
  return target_digest_.value_or("");
}

void ServedModel::hash(const std::filesystem::path& folder, std::optional<std::string>& digest,
                       const std::stop_token& stop) {
  const auto checkpoint = Checkpoint::open(folder);
  if (!checkpoint.ok()) return;
  auto made = sha256_hex((*checkpoint)->files(), stop);
  if (!made.ok()) return;
  const std::lock_guard lock(digest_mutex_);
  digest = std::move(*made);
}

void ServedModel::start_hashing() {
  hashing_ = std::jthread([this](const std::stop_token& stop) {
    hash(text_.loaded.checkpoint->folder(), target_digest_, stop);
    for (size_t i = 0; i < drafter_digests_.size(); ++i)
      hash(description_.drafter_folders[i], drafter_digests_[i], stop);
  });
}

}  // namespace paceline
