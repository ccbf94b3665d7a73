// Speculation as the command line asks for it, and what it says about it afterwards.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "base/result.h"
#include "cli/command_line.h"
#include "session/drafting.h"
#include "speculate/counters.h"

namespace paceline {

void add_draft_options(const Command& command, DraftOptions& options);
// Whether they make sense together; before anything is loaded.
Status check_draft_options(const DraftOptions& options);

// "": nobody drafts. tokens_per_ms: as they were written, at about this context.
std::string draft_summary(const Drafting& drafting, const SpeculationCounters& counters, double tokens_per_ms,
                          int32_t context);
boost::json::object draft_json(const Drafting& drafting, const SpeculationCounters& counters);

}  // namespace paceline
