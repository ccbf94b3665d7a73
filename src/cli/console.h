// What the program says to people and to scripts: one line per error on stderr, results on stdout and nothing else.
#pragma once

#include <string>
#include <string_view>
#include <system_error>

namespace paceline {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailure = 1;   // a broken model, a missing file or device, a result that is wrong
inline constexpr int kExitRestart = 75;  // a device hung or failed: another start may do better
inline constexpr int kExitUsage = 2;     // what the command line asked for makes no sense
// As shells report a program ended by Ctrl-C.
inline constexpr int kExitInterrupted = 130;
// As shells report one whose reader went away.
inline constexpr int kExitReaderGone = 141;

// "paceline: message" as one line on stderr, whatever breaks the message has; returns the code, for `return fail(…)`.
int fail(int exit_code, std::string_view message);

// A remark, likewise on stderr.
void remark(std::string_view message);

// As it is, to stderr. Whether it can be read there changes nothing else that the program does.
void tell(std::string_view text);

bool stderr_is_terminal();
bool stdin_is_terminal();
// Stdout is a terminal, and nobody says that it should stay without colours (NO_COLOR, TERM=dumb).
bool stdout_is_terminal();
bool stdout_shows_colours();

// Writes to stdout and flushes. What went wrong, as when the disk is full; std::errc::interrupted where nobody reads it
// and Ctrl-C was pressed (see interrupt.h).
std::error_code write_out(std::string_view text);

// The exit code of a program that cannot write its result. One whose reader has gone (`paceline generate | head -1`)
// has done what was wanted of it, and says nothing; nor does one that Ctrl-C ended.
int fail_to_write(const std::error_code& error);

}  // namespace paceline
