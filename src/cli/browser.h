// The desktop's browser.
#pragma once

#include <string>

namespace paceline {

// Shows it the page. False: there is no desktop, or nothing that opens pages.
bool open_browser(const std::string& url);

}  // namespace paceline
