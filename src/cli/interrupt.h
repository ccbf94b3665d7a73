// Ctrl-C asks a running generation to end at its next token; a second one ends the program at once.
#pragma once

namespace paceline {

// From here on the first SIGINT or SIGTERM only sets the flag.
void catch_interrupts();
bool interrupted();

}  // namespace paceline
