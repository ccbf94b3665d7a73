#include "state/prefixes.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/check.h"

namespace paceline {

struct Prefixes::Page {
  Page* parent = nullptr;
  Fingerprint scope{};  // of a root
  int32_t depth = 0;    // pages before it
  int32_t walks = 0;
  uint64_t used = 0;
  uint64_t mark = 0;
  ByKind<KeptBlock> blocks;
  Pages children;
  Pages::iterator place;  // among its parent's
  // While it is not among those that may go.
  Places::node_type leaf_node = new_node();
  ByKind<Places::node_type> part_nodes;

  explicit Page(int64_t* looks) : children(Before{looks}) {}
  void make_part_node(StateKind kind) {
    if (part_nodes[kind].empty()) part_nodes[kind] = new_node();
  }
  // A text's end: nothing stands on it.
  [[nodiscard]] bool is_open() const { return key().tokens.size() < kPageTokens; }
  [[nodiscard]] const Key& key() const { return place->first; }
};

namespace {

// What can be given up of a page while the page stays.
constexpr std::array kPartKinds{StateKind::window, StateKind::draft_window, StateKind::recurrent};

// Fewer tokens than these of a page are no beginning that two texts share: all chats begin alike.
constexpr int32_t fewest_open(int32_t page) { return page == 0 ? 16 : 1; }

bool lies_within(const PrefixText& text, int32_t pos) {
  return std::any_of(text.pictures.begin(), text.pictures.end(), [&](const PrefixPicture& picture) {
    return picture.first_pos < pos && pos < picture.first_pos + picture.count;
  });
}

}  // namespace

Prefixes::Prefixes(const KvLayout& layout) : layout_(layout) {}

Prefixes::~Prefixes() { clear(); }

Prefixes::Walk& Prefixes::Walk::operator=(Walk&& other) noexcept {
  end();
  tree_ = std::exchange(other.tree_, nullptr);
  at_ = std::exchange(other.at_, nullptr);
  pages_ = std::exchange(other.pages_, 0);
  return *this;
}

void Prefixes::Walk::end() {
  if (at_ == nullptr) return;
  tree_->unlist(*at_);
  --at_->walks;
  tree_->list(*at_);
  tree_->drop_empty(*at_);
  at_ = nullptr;
  pages_ = 0;
}

Prefixes::Key Prefixes::key_of(const PrefixText& text, std::span<const TokenId> page_tokens, int32_t page) {
  Key key;
  key.tokens.assign(page_tokens.begin(), page_tokens.end());
  const int32_t begin = page * kPageTokens, end = begin + static_cast<int32_t>(page_tokens.size());
  for (const PrefixPicture& picture : text.pictures) {
    if (picture.first_pos >= end || picture.first_pos + picture.count <= begin) continue;
    key.pictures.push_back({picture.first_pos - begin, picture.count, picture.content});
  }
  return key;
}

Prefixes::Key Prefixes::key_of(const PrefixText& text, int32_t page) {
  return key_of(text, text.prompt.subspan(static_cast<size_t>(page) * kPageTokens, kPageTokens), page);
}

Prefixes::Page* Prefixes::child(Page& parent, const Key& key) {
  const auto found = parent.children.find(key);
  return found == parent.children.end() ? nullptr : found->second.get();
}

Prefixes::Page& Prefixes::root(const Fingerprint& scope) {
  std::unique_ptr<Page>& root = roots_[scope];
  if (root == nullptr) {
    root = std::make_unique<Page>(&looks_);
    root->depth = -1;
    root->scope = scope;
    root->mark = scope[0] ^ scope[1];
  }
  return *root;
}

Prefixes::Places::node_type Prefixes::new_node() {
  Places one;
  return one.extract(one.insert(Place{}).first);
}

void Prefixes::put_in(Places& places, Place place, Places::node_type& node) {
  if (node.empty()) return;
  node.value() = place;
  places.insert(std::move(node));
}

void Prefixes::take_out(Places& places, const Place& place, Places::node_type& node) {
  if (node.empty()) node = places.extract(place);
}

void Prefixes::list(Page& page) {
  if (page.parent == nullptr) return;
  if (page.children.empty() && page.walks == 0) put_in(leaves_, {page.used, -page.depth, &page}, page.leaf_node);
  for (const StateKind kind : kPartKinds)
    if (page.blocks[kind]) put_in(parts_[kind], {page.used, page.depth, &page}, page.part_nodes[kind]);
}

void Prefixes::unlist(Page& page) {
  take_out(leaves_, {page.used, -page.depth, &page}, page.leaf_node);
  for (const StateKind kind : kPartKinds) take_out(parts_[kind], {page.used, page.depth, &page}, page.part_nodes[kind]);
}

void Prefixes::touch(Page& page) {
  unlist(page);
  page.used = clock_;
  list(page);
}

void Prefixes::move_walk(Walk& walk, Page& to, int32_t pages) {
  unlist(to);
  ++to.walks;
  list(to);
  walk.end();
  walk.tree_ = this;
  walk.at_ = &to;
  walk.pages_ = pages;
}

int32_t Prefixes::next_state(const PrefixText& text, int32_t pos) const {
  const int32_t step = layout_.state_step(), last = most_pages(text) * kPageTokens;
  if (step == 0) return 0;
  const int32_t next = (pos / step + 1) * step;
  return pos < last ? std::min(next, last) : next;
}

bool Prefixes::sees_windows(std::span<Page* const> path) const {
  const auto count = static_cast<int32_t>(path.size());
  return std::all_of(kWindowKinds.begin(), kWindowKinds.end(), [&](StateKind kind) {
    int32_t page = count - 1;
    const int32_t first = layout_.first_page_needed(count * kPageTokens, kind);
    while (page >= first && path[static_cast<size_t>(page)]->blocks[kind]) --page;
    return page < first;
  });
}

// How many of the pages found can be gone on from: their end sees pages of all windows that are still here, and has the
// state that was there.
int32_t Prefixes::usable(const PrefixText& text, bool whole_pictures, std::span<Page* const> path) const {
  for (auto count = static_cast<int32_t>(path.size()); count > 0; --count) {
    if (whole_pictures && lies_within(text, count * kPageTokens)) continue;
    if (layout_.is_recurrent() && !path[static_cast<size_t>(count - 1)]->blocks[StateKind::recurrent]) continue;
    if (sees_windows(path.first(static_cast<size_t>(count)))) return count;
  }
  return 0;
}

void Prefixes::follow(const PrefixText& text, Page* at, std::vector<Page*>& path) {
  while (static_cast<int32_t>(path.size()) < most_pages(text) && !at->children.empty()) {
    at = child(*at, key_of(text, static_cast<int32_t>(path.size())));
    if (at == nullptr) return;
    path.push_back(at);
  }
}

Prefixes::Found Prefixes::find(const PrefixText& text, bool whole_pictures, Walk& walk) {
  Page& from = root(text.scope);
  std::vector<Page*> path;
  follow(text, &from, path);
  move_walk(walk, from, 0);
  Found found;
  const bool may_open = !layout_.is_recurrent() && sees_windows(path);
  if (may_open) find_open(text, whole_pictures, path.empty() ? from : *path.back(), found);
  const bool ends_in_picture = whole_pictures && lies_within(text, static_cast<int32_t>(path.size()) * kPageTokens);
  found.needs_open = found.open_tokens > 0 && ends_in_picture;
  found.pages = take(text, whole_pictures && !found.needs_open, path, walk);
  return found;
}

std::vector<KvCache::PageBlocks> Prefixes::find_whole(const PrefixText& text, bool whole_pictures, Walk& walk) {
  Page& from = root(text.scope);
  std::vector<Page*> path;
  follow(text, &from, path);
  move_walk(walk, from, 0);
  return take(text, whole_pictures, path, walk);
}

uint64_t Prefixes::mark_of(uint64_t before, const Key& key) {
  constexpr uint64_t kPrime = 0x100000001b3;
  uint64_t mark = before;
  const auto mix = [&](uint64_t value) { mark = (mark ^ value) * kPrime + (mark >> 29); };
  for (const TokenId token : key.tokens) mix(static_cast<uint32_t>(token));
  for (const PrefixPicture& picture : key.pictures) mix(picture.content[0]);
  return mark;
}

bool Prefixes::others_hold(const PrefixText& text) const {
  constexpr int kMostAsked = 64;
  if (most_pages(text) == 0) return false;
  const Key key = key_of(text, 0);
  int asked = 0;
  for (const auto& [scope, root] : roots_) {
    if (++asked > kMostAsked) return false;
    if (scope != text.scope && child(*root, key) != nullptr) return true;
  }
  return false;
}

bool Prefixes::parts_behind(const Page& at, const PrefixText& text) {
  const auto begin = static_cast<size_t>(at.depth + 1) * kPageTokens;
  if (begin >= text.prompt.size()) return false;
  const Key key =
      key_of(text, text.prompt.subspan(begin, std::min<size_t>(kPageTokens, text.prompt.size() - begin)), at.depth + 1);
  const auto parts = [&](const Page& page) {
    const int32_t shared = shared_tokens(key, page);
    return shared >= fewest_open(at.depth + 1) && shared < static_cast<int32_t>(page.key().tokens.size()) &&
           shared < static_cast<int32_t>(key.tokens.size());
  };
  const auto behind = at.children.lower_bound(key);
  return (behind != at.children.end() && parts(*behind->second)) ||
         (behind != at.children.begin() && parts(*std::prev(behind)->second));
}

PrefixMiss Prefixes::why_missed(const PrefixText& text, const Walk& walk, int32_t known) const {
  if (known + 1 >= static_cast<int32_t>(text.prompt.size())) return PrefixMiss::none;
  CHECK(walk.at_ != nullptr);
  Page& at = *walk.at_;
  if (walk.pages_ < most_pages(text)) {
    const Key next = key_of(text, walk.pages_);
    if (child(at, next) != nullptr) return layout_.is_recurrent() ? PrefixMiss::state : PrefixMiss::evicted;
    if (gone_.has(mark_of(at.mark, next))) return PrefixMiss::evicted;
  }
  if (parts_behind(at, text)) return PrefixMiss::differs;
  return walk.pages_ == 0 && others_hold(text) ? PrefixMiss::scope : PrefixMiss::unknown;
}

int32_t Prefixes::shared_tokens(const Key& key, const Page& page) {
  const Key& other = page.key();
  const auto apart =
      std::mismatch(key.tokens.begin(), key.tokens.end(), other.tokens.begin(), other.tokens.end()).first;
  auto shared = static_cast<int32_t>(apart - key.tokens.begin());
  // Up to the first picture that is not both's.
  const auto [mine, its] =
      std::mismatch(key.pictures.begin(), key.pictures.end(), other.pictures.begin(), other.pictures.end());
  if (mine != key.pictures.end()) shared = std::min(shared, mine->first_pos);
  if (its != other.pictures.end()) shared = std::min(shared, its->first_pos);
  return shared;
}

void Prefixes::find_open(const PrefixText& text, bool whole_pictures, Page& at, Found& found) {
  const int32_t begin = (at.depth + 1) * kPageTokens;
  const auto most = std::min(static_cast<int32_t>(text.prompt.size()) - 1 - begin, kPageTokens - 1);
  const int32_t fewest = fewest_open(at.depth + 1);
  if (most < fewest || at.children.empty()) return;
  const Key key =
      key_of(text, text.prompt.subspan(static_cast<size_t>(begin), static_cast<size_t>(most)), at.depth + 1);
  const auto behind = at.children.lower_bound(key);
  Page* best = nullptr;
  const auto consider = [&](Page& page) {
    const bool is_whole = std::all_of(kPageKinds.begin(), kPageKinds.end(), [&](StateKind kind) {
      return page.blocks[kind] || layout_.blocks.units[kind] == 0;
    });
    const int32_t shared = shared_tokens(key, page);
    if (!is_whole || shared <= found.open_tokens || shared < fewest) return;
    if (whole_pictures && lies_within(text, begin + shared)) return;
    found.open_tokens = shared;
    best = &page;
  };
  if (behind != at.children.end()) consider(*behind->second);
  if (behind != at.children.begin()) consider(*std::prev(behind)->second);
  if (best == nullptr) return;
  ++clock_;
  touch(*best);
  for (const StateKind kind : kPageKinds) found.open[kind] = best->blocks[kind].block();
}

std::vector<KvCache::PageBlocks> Prefixes::find_more(const PrefixText& text, bool whole_pictures, Walk& walk) {
  if (walk.at_ == nullptr || walk.at_->children.empty() || walk.pages_ >= most_pages(text)) return {};
  std::vector<Page*> path;
  for (Page* at = walk.at_; at->parent != nullptr; at = at->parent) path.push_back(at);
  std::reverse(path.begin(), path.end());
  follow(text, walk.at_, path);
  return take(text, whole_pictures, path, walk);
}

// The beginning of the path that can be gone on from, if that is further than the walk has come.
std::vector<KvCache::PageBlocks> Prefixes::take(const PrefixText& text, bool whole_pictures,
                                                std::span<Page* const> path, Walk& walk) {
  const int32_t count = usable(text, whole_pictures, path);
  if (count <= walk.pages_) return {};
  ++clock_;
  std::vector<KvCache::PageBlocks> blocks;
  int32_t first_seen = count;
  for (const StateKind kind : kWindowKinds)
    first_seen = std::min(first_seen, layout_.first_page_needed(count * kPageTokens, kind));
  for (int32_t page = 0; page < count; ++page) {
    Page& found = *path[static_cast<size_t>(page)];
    // The windows' parts before are not what made this a hit.
    const bool has_parts = std::any_of(kWindowKinds.begin(), kWindowKinds.end(),
                                       [&](StateKind kind) { return static_cast<bool>(found.blocks[kind]); });
    if (page >= first_seen || !has_parts) touch(found);
    KvCache::PageBlocks& page_blocks = blocks.emplace_back();
    for (const StateKind kind : kStateKinds) page_blocks[kind] = found.blocks[kind].block();
  }
  move_walk(walk, *path[static_cast<size_t>(count - 1)], count);
  return blocks;
}

bool Prefixes::read_the_same(const Walk& walk, const PrefixText& text, const Walk& other,
                             const PrefixText& other_text) {
  if (walk.at_ == nullptr || walk.at_ != other.at_ || walk.pages_ >= most_pages(text)) return false;
  const size_t end = static_cast<size_t>(walk.pages_ + 1) * kPageTokens;
  const Prefixes& tree = *walk.tree_;
  return other_text.prompt.size() >= end && tree.key_of(text, walk.pages_) == tree.key_of(other_text, walk.pages_);
}

Prefixes::Page& Prefixes::add(Page& parent, Pages::iterator before, Key key, KvCache::PageBlocks blocks) {
  auto made = std::make_unique<Page>(&looks_);
  for (const StateKind kind : kPartKinds)
    if (blocks[kind]) made->make_part_node(kind);
  unlist(parent);
  const auto place = parent.children.emplace_hint(before, std::move(key), std::move(made));
  Page& page = *place->second;
  page.parent = &parent;
  page.place = place;
  page.depth = parent.depth + 1;
  page.used = ++clock_;
  page.mark = mark_of(parent.mark, page.key());
  for (const StateKind kind : kStateKinds) page.blocks[kind].keep(std::move(blocks[kind]));
  list(page);
  list(parent);
  drop_beginnings_of(page);
  return page;
}

void Prefixes::drop_beginnings_of(Page& page) {
  while (page.place != page.parent->children.begin()) {
    Page& before = *std::prev(page.place)->second;
    const auto tokens = static_cast<int32_t>(before.key().tokens.size());
    if (!before.is_open() || shared_tokens(page.key(), before) < tokens) return;
    remove(before);
  }
}

void Prefixes::leave(Walk& walk, const PrefixText& text, std::span<const TokenId> tokens, KvCache& kv) {
  CHECK(walk.at_ != nullptr);
  const int32_t page = walk.pages_;
  Key key = key_of(text, tokens.subspan(static_cast<size_t>(page) * kPageTokens, kPageTokens), page);
  KvCache::PageBlocks blocks = kv.page_blocks(page);
  if (!keeps_state(text, page)) blocks[StateKind::recurrent].give_back();
  Page& parent = *walk.at_;
  const auto place = parent.children.lower_bound(key);
  if (place == parent.children.end() || place->first != key) {
    move_walk(walk, add(parent, place, std::move(key), std::move(blocks)), page + 1);
    return;
  }
  // Both hold the same numbers; whose they are makes no difference.
  Page& same = *place->second;
  for (const StateKind kind : kPartKinds) {
    if (same.blocks[kind] || !blocks[kind]) continue;
    same.make_part_node(kind);
    unlist(same);
    same.blocks[kind].keep(std::move(blocks[kind]));
    list(same);
  }
  for (const StateKind kind : kStateKinds) blocks[kind] = same.blocks[kind].block();
  kv.share(page, blocks);
  move_walk(walk, same, page + 1);
}

void Prefixes::leave_open(Walk& walk, const PrefixText& text, std::span<const TokenId> tokens, const KvCache& kv) {
  const size_t begin = static_cast<size_t>(walk.pages_) * kPageTokens;
  const auto fewest = static_cast<size_t>(fewest_open(walk.pages_));
  if (walk.at_ == nullptr || layout_.is_recurrent() || tokens.size() < begin + fewest) return;
  Key key = key_of(text, tokens.subspan(begin, std::min(tokens.size() - begin, size_t{kPageTokens - 1})), walk.pages_);
  Page& parent = *walk.at_;
  const auto place = parent.children.lower_bound(key);
  const auto count = static_cast<int32_t>(key.tokens.size());
  if (place != parent.children.end() && shared_tokens(key, *place->second) == count) return;
  add(parent, place, std::move(key), kv.page_blocks(walk.pages_));
}

void Prefixes::remove(Page& page) {
  unlist(page);
  Page& parent = *page.parent;
  unlist(parent);
  parent.children.erase(page.place);
  list(parent);
  drop_empty(parent);
}

// A scope's root with nothing in it.
void Prefixes::drop_empty(Page& page) {
  if (page.parent != nullptr || !page.children.empty() || page.walks > 0) return;
  roots_.erase(Fingerprint(page.scope));
}

std::optional<StateKind> Prefixes::oldest_part() const {
  std::optional<StateKind> oldest;
  for (const StateKind kind : kPartKinds) {
    if (layout_.blocks.units[kind] == 0 || parts_[kind].empty()) continue;
    const Place& first = *parts_[kind].begin();
    if (!oldest ||
        std::pair(first.used, first.order) < std::pair(parts_[*oldest].begin()->used, parts_[*oldest].begin()->order))
      oldest = kind;
  }
  return oldest;
}

bool Prefixes::reclaim() {
  if (const auto kind = oldest_part();
      kind && (leaves_.empty() || parts_[*kind].begin()->used <= leaves_.begin()->used)) {
    Page& page = *parts_[*kind].begin()->page;
    unlist(page);
    page.blocks[*kind].give_up();
    list(page);
    return true;
  }
  if (leaves_.empty()) return false;
  Page& page = *leaves_.begin()->page;
  gone_.add(page.mark);
  remove(page);
  return true;
}

void Prefixes::clear() {
  while (!leaves_.empty()) remove(*leaves_.begin()->page);
}

void Prefixes::visit_blocks(const std::function<void(StateKind, const KvBlockRef&)>& visit) const {
  std::vector<const Page*> open;
  for (const auto& [scope, root] : roots_) open.push_back(root.get());
  while (!open.empty()) {
    const Page* page = open.back();
    open.pop_back();
    for (const auto& [key, child] : page->children) open.push_back(child.get());
    for (const StateKind kind : kStateKinds)
      if (page->blocks[kind]) visit(kind, page->blocks[kind].block());
  }
}

}  // namespace paceline
