// The drafter that lies in a model's own files, where it has one.
#pragma once

#include <memory>

#include "base/result.h"
#include "base/thread_pool.h"
#include "model/forward.h"
#include "speculate/drafter.h"

namespace paceline {

// None: the model has none. An error says what is wrong with it.
Result<std::unique_ptr<Drafter>> make_own_drafter(Forward& target, ThreadPool& pool);

}  // namespace paceline
