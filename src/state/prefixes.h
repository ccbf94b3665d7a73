// Beginnings of texts whose keys and values are kept for later: a tree of pages. A page is found again by its tokens
// (and the pictures in it) and everything before it. Least recently used pages go first when memory is wanted.
//
// Pages of a window are only needed near the place where a text goes on, and go one by one; a page whose part of a
// window has gone can still lie on the way to a later one. A recurrent state belongs to the end of one page: a text
// goes on only where one was kept.
//
// A page that begins like the text but goes on otherwise, and the unfinished one that a text has left at its end, serve
// as well: whoever goes on from within a page has a copy of it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "state/kv.h"
#include "state/prefix_miss.h"
#include "state/prefix_text.h"

namespace paceline {

class Prefixes {
 public:
  struct Page;

  explicit Prefixes(const KvLayout& layout);
  ~Prefixes();
  Prefixes(const Prefixes&) = delete;
  Prefixes& operator=(const Prefixes&) = delete;

  // A sequence's way through the tree: the last page that it has found or left here. That page stays until the walk
  // ends.
  class Walk {
   public:
    Walk() = default;
    Walk(Walk&& other) noexcept { *this = std::move(other); }
    Walk& operator=(Walk&& other) noexcept;
    ~Walk() { end(); }
    void end();
    [[nodiscard]] int32_t pages() const { return pages_; }

   private:
    friend class Prefixes;
    Prefixes* tree_ = nullptr;
    Page* at_ = nullptr;
    int32_t pages_ = 0;
  };

  // The longest beginning of the text's prompt that is here and can be gone on from, leaving at least the prompt's
  // last token to be run. `walk` stands at the end of its whole pages.
  // whole_pictures: a text must not go on from within one.
  struct Found {
    std::vector<KvCache::PageBlocks> pages;  // in order, for KvCache::adopt
    KvCache::PageBlocks open;                // the next one, for KvCache::adopt_open
    int32_t open_tokens = 0;                 // that are the text's; 0: there is none
    bool needs_open = false;                 // without it nobody may go on: the whole pages end in a picture
  };
  Found find(const PrefixText& text, bool whole_pictures, Walk& walk);
  // The same, whole pages alone.
  std::vector<KvCache::PageBlocks> find_whole(const PrefixText& text, bool whole_pictures, Walk& walk);

  // Why no more than the first `known` tokens of the prompt were found, by the walk that found them.
  [[nodiscard]] PrefixMiss why_missed(const PrefixText& text, const Walk& walk, int32_t known) const;

  // The same for a sequence on its way: whether there is more of its prompt here by now than it has come to. All pages
  // from the first on, or none where there is not.
  std::vector<KvCache::PageBlocks> find_more(const PrefixText& text, bool whole_pictures, Walk& walk);
  // Whether two sequences stand at the same page and read the same one next, which `text` can take from here once
  // the other has left it.
  static bool read_the_same(const Walk& walk, const PrefixText& text, const Walk& other, const PrefixText& other_text);

  // The page behind the walk's, of the sequence's tokens, has been computed. Where it is here already, the sequence
  // goes on with the blocks that are: those of pages that a walk stands on are a running sequence's, always, so all
  // that only the tree owns can be given up. A recurrent state is kept at the text's last page and at coarse steps.
  void leave(Walk& walk, const PrefixText& text, std::span<const TokenId> tokens, KvCache& kv);
  // The sequence has ended: what it has of the page behind the walk's, where nobody has left as much.
  void leave_open(Walk& walk, const PrefixText& text, std::span<const TokenId> tokens, const KvCache& kv);

  // The first position behind this one where a text's recurrent state would be kept, if a step ended there; 0: there
  // are no such states.
  [[nodiscard]] int32_t next_state(const PrefixText& text, int32_t pos) const;

  // Gives up the blocks that were used the longest ago. False: there are none.
  bool reclaim();
  // Gives up everything that no walk stands at.
  void clear();

  // Scopes that it has pages of, or walks in.
  [[nodiscard]] size_t scopes() const { return roots_.size(); }
  // Pages that were looked at so far, to find one: what finding costs.
  [[nodiscard]] int64_t looks() const { return looks_; }
  // All that it holds.
  void visit_blocks(const std::function<void(StateKind, const KvBlockRef&)>& visit) const;

 private:
  // Ordered by tokens: of all keys the one with the most of them in common stands beside its place.
  struct Key {
    std::vector<TokenId> tokens;
    std::vector<PrefixPicture> pictures;  // from where the page begins
    auto operator<=>(const Key&) const = default;
  };
  struct Before {
    int64_t* looks;
    bool operator()(const Key& a, const Key& b) const {
      ++*looks;
      return a < b;
    }
  };
  // Pages behind another: a root may have as many as there are texts, and anybody can write one.
  using Pages = std::map<Key, std::unique_ptr<Page>, Before>;
  static Key key_of(const PrefixText& text, std::span<const TokenId> page_tokens, int32_t page);
  static Page* child(Page& parent, const Key& key);
  Page& add(Page& parent, Pages::iterator before, Key key, KvCache::PageBlocks blocks);
  // How many tokens of a text's next page this one has, where it goes on otherwise or ends.
  static int32_t shared_tokens(const Key& key, const Page& page);
  // The page behind the path that has the most of the text's next one.
  void find_open(const PrefixText& text, bool whole_pictures, Page& at, Found& found);
  // Unfinished pages that are the beginning of this one.
  void drop_beginnings_of(Page& page);
  Page& root(const Fingerprint& scope);
  // A page and all before it, in a number.
  static uint64_t mark_of(uint64_t before, const Key& key);
  // Whether the text's first page is here for somebody else; of very many scopes the first are asked.
  [[nodiscard]] bool others_hold(const PrefixText& text) const;
  // Whether what is known behind this page begins like the text and goes on otherwise.
  static bool parts_behind(const Page& at, const PrefixText& text);
  // How many pages of a prompt can be taken from here: the last token is always run.
  static int32_t most_pages(const PrefixText& text) {
    return static_cast<int32_t>((text.prompt.size() - 1) / kPageTokens);
  }
  [[nodiscard]] bool keeps_state(const PrefixText& text, int32_t page) const {
    const int32_t end = (page + 1) * kPageTokens;
    return layout_.is_recurrent() && (page + 1 == most_pages(text) || end % layout_.state_step() == 0);
  }
  // The prompt's page of this number.
  static Key key_of(const PrefixText& text, int32_t page);
  // The pages behind `path`, of which `at` is the last, as far as they are here.
  void follow(const PrefixText& text, Page* at, std::vector<Page*>& path);
  std::vector<KvCache::PageBlocks> take(const PrefixText& text, bool whole_pictures, std::span<Page* const> path,
                                        Walk& walk);
  [[nodiscard]] int32_t usable(const PrefixText& text, bool whole_pictures, std::span<Page* const> path) const;
  // The path's end sees pages of all windows that are still here.
  [[nodiscard]] bool sees_windows(std::span<Page* const> path) const;
  void touch(Page& page);
  // Where it stands among those that may go. Neither takes memory: a walk ends while something is thrown, too.
  void list(Page& page);
  void unlist(Page& page);
  void move_walk(Walk& walk, Page& to, int32_t pages);
  void remove(Page& page);
  void drop_empty(Page& page);
  // The kind whose part of a page was used the longest ago.
  [[nodiscard]] std::optional<StateKind> oldest_part() const;

  // Least recently used first; of pages used at once, those deeper in the text stay longer where it is their window's
  // part, and go earlier where it is all of them.
  struct Place {
    uint64_t used;
    int64_t order;
    Page* page;
    auto operator<=>(const Place&) const = default;
  };
  using Places = std::set<Place>;
  static Places::node_type new_node();
  static void put_in(Places& places, Place place, Places::node_type& node);
  static void take_out(Places& places, const Place& place, Places::node_type& node);

  const KvLayout& layout_;
  uint64_t clock_ = 0;
  int64_t looks_ = 0;
  std::map<Fingerprint, std::unique_ptr<Page>> roots_;
  GonePages gone_;
  Places leaves_;         // pages that nothing stands on: neither a page nor a walk
  ByKind<Places> parts_;  // pages that have their part of a window, or a recurrent state
};

}  // namespace paceline
