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
  std::shared_ptr<paceline::api::Generation> state;
};
