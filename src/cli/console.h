// What the program says to people and to scripts: one line per error on stderr, results on stdout and nothing else.
#pragma once

#include <string>
#include <string_view>

namespace paceline {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailure = 1;  // a broken model, a missing file, a result that is wrong
inline constexpr int kExitUsage = 2;    // what the command line asked for makes no sense
// As shells report a program ended by Ctrl-C.
inline constexpr int kExitInterrupted = 130;

// "paceline: message" as one line on stderr, whatever breaks the message has; returns the code, for `return fail(…)`.
int fail(int exit_code, std::string_view message);

// A remark, likewise on stderr.
void remark(std::string_view message);

bool stderr_is_terminal();
bool stdin_is_terminal();
bool stdout_is_terminal();

// Writes to stdout and flushes. False when it cannot, as when the disk is full.
bool write_out(std::string_view text);

// 1234567 → "1.2 MB"
std::string bytes_text(double bytes);
// 1234.5 → "1.23 s", 12.3 → "12.3 ms"
std::string time_text(double ms);

}  // namespace paceline
