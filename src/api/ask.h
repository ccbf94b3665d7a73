// From a request of the C interface to what the engine is asked for.
#pragma once

#include <paceline/paceline.h>

#include "api/outcome.h"
#include "api/running_model.h"
#include "session/completion_maker.h"

namespace paceline::api {

// Reads, decodes, renders and encodes: all that can be wrong with a request is found here.
Outcome read_request(RunningModel& model, const paceline_request& request, MadeCompletion& made);

// A conversation as the model reads it.
Outcome render(RunningModel& model, const paceline_chat& chat, std::string& text);

}  // namespace paceline::api
