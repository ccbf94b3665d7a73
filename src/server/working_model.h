// A model at work: opened, and its engine running on a thread of its own.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "server/health.h"
#include "server/served_model.h"
#include "session/opened_model.h"

namespace paceline {

class WorkingModel {
 public:
  // stuck_s: see Health.
  static Result<std::unique_ptr<WorkingModel>> open(const OpenOptions& options, std::string name,
                                                    std::vector<std::string> aliases, double stuck_s);
  // One that somebody else has opened, who outlives it.
  WorkingModel(ServedModel& model, double stuck_s);
  ~WorkingModel();

  [[nodiscard]] ServedModel& served() { return *served_; }
  [[nodiscard]] Health& health() { return health_; }
  // None: somebody else's.
  [[nodiscard]] OpenedModel* opened() { return opened_.get(); }
  // The engine's thread ends, once it has nothing more to do.
  void stop();

 private:
  WorkingModel(std::unique_ptr<OpenedModel> opened, std::unique_ptr<ServedModel> served, double stuck_s);

  std::unique_ptr<OpenedModel> opened_;
  std::unique_ptr<ServedModel> own_;
  ServedModel* served_;
  Health health_;
  std::thread thread_;
};

}  // namespace paceline
