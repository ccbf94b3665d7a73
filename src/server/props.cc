#include "server/props.h"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "session/checkpoint_chat.h"

namespace paceline {

namespace json = boost::json;

json::object props_object(const ServedModel& model, const RequestLimits& limits, size_t max_body_bytes) {
  const ModelConfig& config = model.text().loaded.config;
  const RequestDefaults& defaults = limits.defaults;
  json::object sampling{{"temperature", defaults.temperature.value_or(config.temperature)},
                        {"top_p", defaults.top_p.value_or(config.top_p)},
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
  made["limits"] = {{"max_choices", limits.max_choices},   {"max_images", limits.max_images},
                    {"max_videos", limits.max_videos},     {"max_messages", limits.max_messages},
                    {"request_seconds", limits.request_s}, {"max_body_bytes", max_body_bytes}};
  made["engine"] = model.object(limits.context)["engine"];
  return made;
}

}  // namespace paceline
