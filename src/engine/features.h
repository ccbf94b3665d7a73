// What the vision side made of pictures: computed when a sequence comes to them, and kept by content within a budget of
// bytes, so that a second question about a picture skips the tower.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <vector>

#include "engine/sequence.h"
#include "model/vision_forward.h"

namespace paceline {

class Features {
 public:
  // vision: none where the model takes no pictures.
  Features(VisionForward* vision, size_t kept_bytes) : vision_(vision), most_bytes_(kept_bytes) {}

  // Runs the tower for the oldest sequence whose prompt comes to a picture next, for as many of its pictures as one
  // call takes. One call a step is how long others wait at most. False: nobody needed it.
  bool look(const std::vector<std::unique_ptr<Sequence>>& running);

  [[nodiscard]] int64_t seen() const { return seen_; }    // pictures that went through the tower
  [[nodiscard]] int64_t known() const { return known_; }  // and those that did not have to
  [[nodiscard]] size_t kept_bytes() const { return bytes_; }

 private:
  using Rows = std::shared_ptr<const std::vector<float>>;
  struct Kept {
    Fingerprint content;
    Rows rows;
  };
  void recall(Sequence& seq);
  void run(Sequence& seq);
  [[nodiscard]] Rows find(const Fingerprint& content);
  void keep(const Fingerprint& content, Rows rows);

  VisionForward* vision_;
  size_t most_bytes_, bytes_ = 0;
  std::list<Kept> kept_;  // used last in front
  std::map<Fingerprint, std::list<Kept>::iterator> by_content_;
  int64_t seen_ = 0, known_ = 0;
};

}  // namespace paceline
