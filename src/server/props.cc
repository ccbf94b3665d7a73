#include "server/props.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <cstdlib>
#include <span>

#include "session/checkpoint_chat.h"
#include "weights/sha256.h"

namespace paceline {

namespace json = boost::json;

namespace {

// 0.7 and not 0.699999988: the shortest digits that are this number.
double as_written(float number) { return std::strtod(fmt::format("{}", number).c_str(), nullptr); }

json::value digest_of(const std::string& text) {
  const auto digest = sha256_hex(std::as_bytes(std::span(text.data(), text.size())));
  return digest.ok() ? json::value("sha256:" + *digest) : json::value();
}

}  // namespace

json::object props_object(const ServedModel& model, const RequestLimits& limits, size_t max_body_bytes) {
  const ModelConfig& config = model.text().loaded.config;
  const RequestDefaults& defaults = limits.defaults;
  json::object sampling{{"temperature", as_written(defaults.temperature.value_or(config.temperature))},
                        {"top_p", as_written(defaults.top_p.value_or(config.top_p))},
                        {"top_k", defaults.top_k.value_or(config.top_k)},
                        {"n_predict", limits.default_max_tokens}};
  json::object made{{"model_alias", model.name()},
                    {"model_path", model.text().loaded.checkpoint->folder().string()},
                    {"total_slots", model.description().settings.most_running},
                    {"build_info", "paceline " PACELINE_VERSION},
                    {"is_sleeping", false}};
  made["default_generation_settings"] = {{"n_ctx", model.maker().context(limits.context)},
                                         {"params", std::move(sampling)}};
  made["modalities"] = {{"vision", model.vision() != nullptr}, {"audio", false}};
  const auto templates = load_chat_templates(model.text().loaded.checkpoint->folder().string());
  const bool has_template = templates.ok() && templates->has_value();
  made["chat_template"] = has_template ? json::value((*templates)->main) : json::value();
  made["chat_template_digest"] = has_template ? digest_of((*templates)->main) : json::value();
  made["limits"] = {{"max_choices", limits.max_choices},   {"max_images", limits.max_images},
                    {"max_videos", limits.max_videos},     {"max_messages", limits.max_messages},
                    {"request_seconds", limits.request_s}, {"max_body_bytes", max_body_bytes}};
  made["engine"] = model.object(limits.context)["engine"];
  return made;
}

}  // namespace paceline
