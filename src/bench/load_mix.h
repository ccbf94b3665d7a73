// The requests that a load is made of: prompts and outputs of several lengths, shared beginnings, clients that go away.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace paceline {

struct LoadMix {
  std::vector<int32_t> prompt_words;            // one of them each; empty: short questions
  std::string kind;                             // that these are of (bench_kinds); "": of all
  std::vector<int32_t> output_tokens{64, 128};  // most tokens, one of them each
  bool ignores_eos = false;                     // outputs are as long as they may be
  double shared = 0;                            // share of requests that begin alike
  int32_t shared_words = 500;                   // how far
  double cancelled = 0;                         // share of requests whose client goes away
  float temperature = 0;
  std::optional<int32_t> depth;  // of those that speculate; none: as the server chooses
  std::string model;             // "": not named
  std::string cache_salt;        // pages are shared among those with the same; "": with all
  bool shares_nothing = false;   // with a salt: each has a salt of its own: no cache helps
  uint64_t seed = 1;
};

struct MixedRequest {
  std::string body;
  std::optional<int64_t> cancel_after;  // pieces of text
};

// The same seed gives the same requests, and one that speculates asks for the same text as one that does not.
class LoadMaker {
 public:
  explicit LoadMaker(LoadMix mix);
  MixedRequest next(bool speculates);
  // A request whose prompt is exactly this.
  [[nodiscard]] std::string body_of(const std::string& prompt, int32_t max_tokens, uint64_t seed,
                                    bool speculates) const;
  std::string words(int32_t count);

 private:
  bool happens(double share) { return std::uniform_real_distribution<double>(0, 1)(random_) < share; }
  template <class T>
  const T& one_of(const std::vector<T>& all) {
    return all[std::uniform_int_distribution<size_t>(0, all.size() - 1)(random_)];
  }
  std::string prompt();

  LoadMix mix_;
  std::vector<std::string> questions_;
  int64_t made_ = 0;
  std::mt19937_64 random_;
  std::string shared_beginning_;
};

}  // namespace paceline
