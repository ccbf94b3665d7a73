// Somebody waits for a model to come, or to go.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "server/api_error.h"
#include "server/served_model.h"

namespace paceline {

// Holds a model in its place while somebody works with it.
using ModelLease = std::shared_ptr<ServedModel>;

// May be used by several threads. Who lets go of it waits no more.
class ModelTicket {
 public:
  // Called once, by any thread, when there is something to say; at once where there is already.
  void set_wake(std::function<void()> wake) {
    {
      const std::lock_guard lock(mutex_);
      if (!is_settled_) {
        wake_ = std::move(wake);
        return;
      }
    }
    wake();
  }
  void settle(ModelLease model, std::optional<ApiError> problem) {
    std::function<void()> wake;
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(is_settled_, true)) return;
      model_ = std::move(model);
      problem_ = std::move(problem);
      wake = std::exchange(wake_, {});
    }
    if (wake) wake();
  }
  [[nodiscard]] bool is_settled() const {
    const std::lock_guard lock(mutex_);
    return is_settled_;
  }
  // When it is settled: the model, or none where it was to go, or why there is none.
  [[nodiscard]] ModelLease model() const {
    const std::lock_guard lock(mutex_);
    return model_;
  }
  [[nodiscard]] std::optional<ApiError> problem() const {
    const std::lock_guard lock(mutex_);
    return problem_;
  }

 private:
  mutable std::mutex mutex_;
  bool is_settled_ = false;
  ModelLease model_;
  std::optional<ApiError> problem_;
  std::function<void()> wake_;
};

}  // namespace paceline
