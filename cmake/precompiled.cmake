# Other people's headers are read once for a kind of target and not once for every group of files. Sources include what
# they use all the same: a build for clang-tidy has none of this.
set(precompiled_headers <algorithm> <array> <chrono> <cmath> <cstdint> <cstring> <filesystem> <fstream> <functional> <limits>
    <map> <memory> <mutex> <optional> <set> <span> <string> <string_view> <thread> <unordered_map> <utility> <variant>
    <vector> <fmt/format.h> <boost/json.hpp>)

# precompile(TARGET HEADERS...): those, and others besides.
function(precompile target)
  target_precompile_headers(${target} PRIVATE ${precompiled_headers} ${ARGN})
endfunction()
