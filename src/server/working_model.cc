#include "server/working_model.h"

#include <utility>

namespace paceline {

Result<std::unique_ptr<WorkingModel>> WorkingModel::open(const OpenOptions& options, std::string name,
                                                         std::vector<std::string> aliases, double stuck_s) {
  TRY_ASSIGN(auto opened, OpenedModel::open(options));
  auto served = std::make_unique<ServedModel>(opened->text(), opened->engine(), opened->vision(), std::move(name),
                                              opened->description());
  served->set_aliases(std::move(aliases));
  served->set_thinks(options.defaults.thinks);
  return std::unique_ptr<WorkingModel>(new WorkingModel(std::move(opened), std::move(served), stuck_s));
}

WorkingModel::WorkingModel(std::unique_ptr<OpenedModel> opened, std::unique_ptr<ServedModel> served, double stuck_s)
    : opened_(std::move(opened)), own_(std::move(served)), served_(own_.get()), health_(&served_->engine(), stuck_s) {
  thread_ = std::thread([this] { served_->engine().run(); });
}

WorkingModel::WorkingModel(ServedModel& model, double stuck_s) : served_(&model), health_(&model.engine(), stuck_s) {
  thread_ = std::thread([this] { served_->engine().run(); });
}

WorkingModel::~WorkingModel() {
  stop();
  if (opened_ != nullptr) opened_->keep_costs();
}

void WorkingModel::stop() {
  served_->engine().stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace paceline
