// paceline ls: the models that lie on this machine.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "cli/commands.h"
#include "cli/console.h"
#include "model/report_parts.h"
#include "session/model_list.h"

namespace paceline {
namespace {

constexpr const char* kLsExamples = R"(
Examples:
  paceline ls
  paceline ls --json | jq -r '.[].name'

Looked at: the model that came with the program; the Hugging Face caches ($HF_HUB_CACHE, $HF_HOME/hub,
~/.cache/huggingface/hub); LM Studio's folder (~/.lmstudio/models); Ollama's store ($OLLAMA_MODELS, ~/.ollama/models).
Nothing is downloaded.)";

std::string json_of(const std::vector<ListedModel>& models) {
  boost::json::array list;
  for (const ListedModel& model : models) {
    list.push_back(
        {{"name", model.name},
         {"path", model.place.string()},
         {"type", model.type},
         {"format", model.format},
         {"bytes", model.bytes},
         {"drafter", model.drafter.empty() ? boost::json::value(nullptr) : boost::json::value(model.drafter)},
         {"is_drafter", model.is_drafter},
         {"problem", model.problem.empty() ? boost::json::value(nullptr) : boost::json::value(model.problem)}});
  }
  return boost::json::serialize(list) + "\n";
}

std::string table_of(const std::vector<ListedModel>& models) {
  size_t width = 4;
  for (const ListedModel& model : models) width = std::max(width, model.name.size());
  std::string text =
      fmt::format("{:<{}}  {:<18} {:<10} {:>12}  {}\n", "name", width, "type", "format", "size", "drafter");
  for (const ListedModel& model : models) {
    const std::string last = !model.problem.empty() ? "not read: " + model.problem
                             : model.is_drafter     ? "is one"
                                                    : (model.drafter.empty() ? "–" : model.drafter);
    text += fmt::format("{:<{}}  {:<18} {:<10} {:>12}  {}\n", model.name, width, model.type, model.format,
                        model.bytes > 0 ? size_text(model.bytes) : "", last);
  }
  return text;
}

int run_ls(bool json) {
  const std::vector<ListedModel> models = list_models(HubCaches::from_environment());
  const std::error_code error = write_out(json ? json_of(models) : table_of(models));
  return error ? fail_to_write(error) : kExitDone;
}

}  // namespace

void add_ls_command(const Command& program, Action& action) {
  const Command command = program.add_subcommand("ls", "List the models on this machine");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "One JSON list instead of the table");
  command->footer(kLsExamples);
  command->callback([json, &action] { action = [json] { return run_ls(*json); }; });
}

}  // namespace paceline
