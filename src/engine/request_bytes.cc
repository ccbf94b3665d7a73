#include "engine/request_bytes.h"

#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/sequence.h"

namespace paceline {
namespace {

// What several requests may hold together, counted once.
struct SharedPart {
  const void* part;
  size_t bytes;
};

std::vector<SharedPart> shared_parts(const Request& request) {
  std::vector<SharedPart> parts;
  for (const RequestPicture& picture : request.pictures) {
    if (picture.patches != nullptr) parts.push_back({picture.patches.get(), picture.patches->values.capacity()});
  }
  const TokenConstraint* constraint = request.sampling.constraint.get();
  if (constraint != nullptr) parts.push_back({constraint, constraint->bytes()});
  return parts;
}

size_t own_bytes(const Request& request) {
  return sizeof(Accepted) + request.prompt.capacity() * sizeof(TokenId) +
         request.pictures.size() * (sizeof(RequestPicture) + sizeof(PrefixPicture)) +
         request.sampling.logit_bias.capacity() * sizeof(LogitBias) + request.stop_ids.capacity() * sizeof(TokenId) +
         request.listener_bytes;
}

}  // namespace

struct RequestBytes::Count {
  explicit Count(size_t of) : most(of) {}

  struct Holders {
    size_t bytes = 0;
    int64_t number = 0;
  };
  const size_t most;
  std::mutex mutex;
  size_t held = 0;
  std::unordered_map<const void*, Holders> shared;
};

// What one request has taken of the count, and gives back.
struct RequestBytes::Taken {
  Taken(std::shared_ptr<Count> of, std::vector<SharedPart> shared) : count(std::move(of)), parts(std::move(shared)) {}
  ~Taken() {
    const std::lock_guard lock(count->mutex);
    count->held -= own;
    for (size_t i = 0; i < shares; ++i) {
      const auto found = count->shared.find(parts[i].part);
      if (--found->second.number > 0) continue;
      count->held -= found->second.bytes;
      count->shared.erase(found);
    }
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;

  const std::shared_ptr<Count> count;
  const std::vector<SharedPart> parts;
  size_t own = 0, shares = 0;  // how many of the parts
};

RequestBytes::RequestBytes(size_t most) : count_(std::make_shared<Count>(most)) {}

size_t RequestBytes::held() const {
  const std::lock_guard lock(count_->mutex);
  return count_->held;
}

// Where memory ends on the way, what was counted until then is given back, once nobody is locked out any more.
RequestBytes::Hold RequestBytes::try_hold(const Request& request) {
  const auto taken = std::make_shared<Taken>(count_, shared_parts(request));
  const size_t own = own_bytes(request);
  const std::lock_guard lock(count_->mutex);
  size_t wanted = own;
  for (const SharedPart& part : taken->parts) {
    if (!count_->shared.contains(part.part)) wanted += part.bytes;
  }
  if (count_->held > 0 && (count_->held > count_->most || wanted > count_->most - count_->held)) return nullptr;
  count_->held += taken->own = own;
  for (const SharedPart& part : taken->parts) {
    Count::Holders& holders = count_->shared[part.part];
    if (holders.number++ == 0) count_->held += holders.bytes = part.bytes;
    ++taken->shares;
  }
  return taken;
}

}  // namespace paceline
