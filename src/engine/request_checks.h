// Whether a request can be run at all. Whoever makes one has checked it before, in the words of its own caller; this is
// the engine's last look, so that nothing which comes from outside can lead it astray.
#pragma once

#include "base/result.h"
#include "engine/request.h"
#include "model/config.h"
#include "model/vision/vision_forward.h"

namespace paceline {

// vision: none where the engine takes no pictures.
Status check_request(const Request& request, const ModelConfig& config, const VisionForward* vision);

}  // namespace paceline
