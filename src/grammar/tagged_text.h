// Text as it stands between two tags, a value of a tool call: any characters but what would read as the closing tag.
#pragma once

#include <map>

#include "grammar/parts.h"

namespace paceline::grammar {

inline constexpr std::string_view kParameterEnd = "</parameter>";

class TaggedText {
 public:
  explicit TaggedText(Parts& parts) : parts_(parts), builder_(parts.builder()) {}

  // Each returns the state to call. Behind any text the part may end.
  StateId any();
  // So many characters, of which none is a '/' behind a '<': a counted text that could begin with the tag would take a
  // state for each of its letters at each length.
  StateId of(const LengthBounds& characters);

 private:
  AutomatonBuilder::EdgeListId list_of(bool after_angle, bool takes, bool ends);
  StateId counted(const LengthBounds& characters, StateId next);

  Parts& parts_;
  AutomatonBuilder& builder_;
  StateId any_ = kNoState;
  std::map<LengthBounds, StateId> counted_;
  std::map<std::pair<ChainPlace, int>, StateId> alike_;
  AutomatonBuilder::EdgeListId lists_[2][2][2] = {{{-1, -1}, {-1, -1}}, {{-1, -1}, {-1, -1}}};
};

}  // namespace paceline::grammar
