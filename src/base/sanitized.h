// What this build is instrumented with, whichever compiler did it.
#pragma once

namespace paceline {

#if defined(__has_feature)
#define PACELINE_HAS_FEATURE(name) __has_feature(name)
#else
#define PACELINE_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || PACELINE_HAS_FEATURE(address_sanitizer)
inline constexpr bool kAddressSanitized = true;
#else
inline constexpr bool kAddressSanitized = false;
#endif
#if defined(__SANITIZE_THREAD__) || PACELINE_HAS_FEATURE(thread_sanitizer)
inline constexpr bool kThreadSanitized = true;
#else
inline constexpr bool kThreadSanitized = false;
#endif
#undef PACELINE_HAS_FEATURE

// Ten to thirty times slower, and with memory of its own beside ours.
inline constexpr bool kSanitized = kAddressSanitized || kThreadSanitized;

}  // namespace paceline
