#include "state/prefixes.h"

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <unordered_map>

#include "base/check.h"

namespace paceline {

struct Prefixes::Page {
  Page* parent = nullptr;
  Fingerprint scope{};  // of a root
  Key key;
  int32_t depth = 0;  // pages before it
  int32_t walks = 0;
  uint64_t used = 0;
  ByKind<KeptBlock> blocks;
  // By the hash of their keys: a root may have as many as there are texts, and anybody can write one.
  std::unordered_multimap<uint64_t, std::unique_ptr<Page>> children;
};

namespace {

// What can be given up of a page while the page stays.
constexpr std::array kPartKinds{StateKind::window, StateKind::draft_window, StateKind::recurrent};

uint64_t mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
  return hash ^ (hash >> 29);
}

}  // namespace

// Whoever writes texts must not know which of them fall together.
Prefixes::Prefixes(const KvLayout& layout)
    : layout_(layout), seed_(uint64_t{std::random_device{}()} << 32 | std::random_device{}()) {}

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

Prefixes::Key Prefixes::key_of(const PrefixText& text, std::span<const TokenId> page_tokens, int32_t page) const {
  Key key;
  key.hash = seed_;
  key.tokens.assign(page_tokens.begin(), page_tokens.end());
  for (const TokenId token : page_tokens) key.hash = mixed(key.hash, static_cast<uint64_t>(token));
  const int32_t begin = page * kPageTokens, end = begin + kPageTokens;
  for (const PrefixPicture& picture : text.pictures) {
    if (picture.first_pos >= end || picture.first_pos + picture.count <= begin) continue;
    key.pictures.push_back(picture.content);
    key.pictures.push_back({static_cast<uint64_t>(picture.first_pos - begin), static_cast<uint64_t>(picture.count)});
  }
  for (const Fingerprint& print : key.pictures) key.hash = mixed(mixed(key.hash, print[0]), print[1]);
  return key;
}

Prefixes::Key Prefixes::key_of(const PrefixText& text, int32_t page) const {
  return key_of(text, text.prompt.subspan(static_cast<size_t>(page) * kPageTokens, kPageTokens), page);
}

Prefixes::Page* Prefixes::child(Page& parent, const Key& key) {
  const auto [begin, end] = parent.children.equal_range(key.hash);
  const auto found = std::find_if(begin, end, [&](const auto& entry) {
    ++looks_;
    return entry.second->key == key;
  });
  return found == end ? nullptr : found->second.get();
}

Prefixes::Page& Prefixes::root(const Fingerprint& scope) {
  std::unique_ptr<Page>& root = roots_[scope];
  if (root == nullptr) {
    root = std::make_unique<Page>();
    root->depth = -1;
    root->scope = scope;
  }
  return *root;
}

void Prefixes::list(Page& page) {
  if (page.parent == nullptr) return;
  if (page.children.empty() && page.walks == 0) leaves_.insert({page.used, -page.depth, &page});
  for (const StateKind kind : kPartKinds)
    if (page.blocks[kind]) parts_[kind].insert({page.used, page.depth, &page});
}

void Prefixes::unlist(Page& page) {
  leaves_.erase({page.used, -page.depth, &page});
  for (const StateKind kind : kPartKinds) parts_[kind].erase({page.used, page.depth, &page});
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

// How many of the pages found can be gone on from: their end sees pages of all windows that are still here, and has the
// state that was there.
int32_t Prefixes::usable(const PrefixText& text, bool whole_pictures, std::span<Page* const> path) const {
  const auto within_picture = [&](int32_t pos) {
    return whole_pictures && std::any_of(text.pictures.begin(), text.pictures.end(), [&](const PrefixPicture& picture) {
             return picture.first_pos < pos && pos < picture.first_pos + picture.count;
           });
  };
  for (auto count = static_cast<int32_t>(path.size()); count > 0; --count) {
    if (within_picture(count * kPageTokens)) continue;
    if (layout_.is_recurrent() && !path[static_cast<size_t>(count - 1)]->blocks[StateKind::recurrent]) continue;
    const bool sees_all = std::all_of(kWindowKinds.begin(), kWindowKinds.end(), [&](StateKind kind) {
      int32_t page = count - 1;
      const int32_t first = layout_.first_page_needed(count * kPageTokens, kind);
      while (page >= first && path[static_cast<size_t>(page)]->blocks[kind]) --page;
      return page < first;
    });
    if (sees_all) return count;
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

std::vector<KvCache::PageBlocks> Prefixes::find(const PrefixText& text, bool whole_pictures, Walk& walk) {
  Page& from = root(text.scope);
  std::vector<Page*> path;
  follow(text, &from, path);
  move_walk(walk, from, 0);
  return take(text, whole_pictures, path, walk);
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

void Prefixes::leave(Walk& walk, const PrefixText& text, std::span<const TokenId> tokens, KvCache& kv) {
  CHECK(walk.at_ != nullptr);
  const int32_t page = walk.pages_;
  Key key = key_of(text, tokens.subspan(static_cast<size_t>(page) * kPageTokens, kPageTokens), page);
  KvCache::PageBlocks blocks = kv.page_blocks(page);
  if (!keeps_state(text, page)) blocks[StateKind::recurrent].give_back();
  Page& parent = *walk.at_;
  Page* next = child(parent, key);
  if (next == nullptr) {
    unlist(parent);
    next = parent.children.emplace(key.hash, std::make_unique<Page>())->second.get();
    next->parent = &parent;
    next->key = std::move(key);
    next->depth = parent.depth + 1;
    next->used = ++clock_;
    for (const StateKind kind : kStateKinds) next->blocks[kind].keep(std::move(blocks[kind]));
    list(*next);
    list(parent);
  } else {
    // Both hold the same numbers; whose they are makes no difference.
    for (const StateKind kind : kPartKinds) {
      if (next->blocks[kind] || !blocks[kind]) continue;
      unlist(*next);
      next->blocks[kind].keep(std::move(blocks[kind]));
      list(*next);
    }
    for (const StateKind kind : kStateKinds) blocks[kind] = next->blocks[kind].block();
    kv.share(page, blocks);
  }
  move_walk(walk, *next, page + 1);
}

void Prefixes::remove(Page& page) {
  unlist(page);
  Page& parent = *page.parent;
  unlist(parent);
  const auto [begin, end] = parent.children.equal_range(page.key.hash);
  const auto place = std::find_if(begin, end, [&](const auto& entry) {
    ++looks_;
    return entry.second.get() == &page;
  });
  CHECK(place != end);
  parent.children.erase(place);
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
  remove(*leaves_.begin()->page);
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
    for (const auto& [hash, child] : page->children) open.push_back(child.get());
    for (const StateKind kind : kStateKinds)
      if (page->blocks[kind]) visit(kind, page->blocks[kind].block());
  }
}

}  // namespace paceline
