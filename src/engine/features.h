// What the vision side made of pictures: computed when a sequence comes to them, and kept by content within a budget of
// bytes, so that a second question about a picture skips the tower.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "engine/sequence.h"
#include "model/vision/vision_forward.h"

namespace paceline {

class Features {
 public:
  using Running = std::vector<std::unique_ptr<Sequence>>;
  // vision: none where the model takes no pictures.
  Features(VisionForward* vision, size_t kept_bytes) : vision_(vision), most_bytes_(kept_bytes) {}

  // Looks for the oldest sequence whose prompt comes to a picture next, at as many of its pictures as one passage
  // takes; and only for as long as a step of those who write takes, or some milliseconds, since they wait: then it goes
  // on at the next call. False: nobody needed it.
  bool look(const Running& running, double writing_ms);

  [[nodiscard]] int64_t seen() const { return seen_; }    // pictures that went through the tower
  [[nodiscard]] int64_t known() const { return known_; }  // and those that did not have to
  [[nodiscard]] size_t kept_bytes() const { return bytes_; }

 private:
  using Rows = std::shared_ptr<const std::vector<float>>;
  struct Kept {
    Fingerprint content;
    Rows rows;
  };
  // What is being looked at.
  struct Passing {
    std::vector<RequestPicture> pictures;
    std::unique_ptr<VisionPassage> passage;
  };
  [[nodiscard]] bool is_wanted(const Running& running) const;
  void recall(Sequence& seq);
  void begin(const Sequence& seq);
  void go_on(const Running& running, double most_ms);
  void show(const RequestPicture& picture, const Rows& rows, const Running& running);
  [[nodiscard]] Rows find(const Fingerprint& content);
  void keep(const Fingerprint& content, Rows rows);

  VisionForward* vision_;
  size_t most_bytes_, bytes_ = 0;
  std::list<Kept> kept_;  // used last in front
  std::map<Fingerprint, std::list<Kept>::iterator> by_content_;
  std::optional<Passing> passing_;
  int64_t seen_ = 0, known_ = 0;
};

}  // namespace paceline
