// How many files and sockets this process may have open.
#pragma once

namespace paceline {

// As many as the system lets it have.
void raise_file_limit();

}  // namespace paceline
