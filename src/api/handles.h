// What the C interface's opaque pointers point to.
#pragma once

#include <paceline/paceline.h>

#include <memory>

#include "api/generation.h"
#include "api/running_model.h"

struct paceline_model {
  std::shared_ptr<paceline::api::RunningModel> running;
};

struct paceline_generation {
  paceline_generation() = default;
  paceline_generation(const paceline_generation&) = delete;
  paceline_generation& operator=(const paceline_generation&) = delete;
  // Also of one that its caller never got to see: nobody hears any more.
  ~paceline_generation() {
    if (state != nullptr) state->leave();
  }

  std::shared_ptr<paceline::api::Generation> state;
};
