// The commands of the program. Each adds itself to the application: its options, its help, and what it does once the
// whole command line has been read.
#pragma once

#include <functional>

#include "cli/command_line.h"

namespace paceline {

// What the command line asked for; returns the exit code.
using Action = std::function<int()>;

void add_generate_command(const Command& program, Action& action);
void add_chat_command(const Command& program, Action& action);
void add_inspect_command(const Command& program, Action& action);
void add_ls_command(const Command& program, Action& action);
void add_quantize_command(const Command& program, Action& action);
void add_check_command(const Command& program, Action& action);
void add_bench_command(const Command& program, Action& action);
void add_serve_command(const Command& program, Action& action);
void add_connect_command(const Command& program, Action& action);
// Both write about the commands that were added before them.
void add_completion_command(const Command& program, Action& action);
void add_manual_command(const Command& program, Action& action);

}  // namespace paceline
