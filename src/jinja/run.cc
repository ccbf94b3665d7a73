#include "jinja/run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "jinja/characters.h"

namespace paceline::jinja {
namespace {

constexpr size_t kObjectBytes = 64;      // about what a string or a list takes besides its contents
constexpr int64_t kStepsPerLook = 8192;  // a look takes as long as some of them

// Shared values can make a small list immense for whoever goes through all of it, and a deep one ends the stack.
Status check_extent(const Extent& extent) {
  if (extent.depth > kMaxValueDepth)
    return Error{fmt::format("expected values nested at most {} deep, found more", kMaxValueDepth)};
  if (extent.weight > kMaxValueWeight)
    return Error{fmt::format("expected a value of at most {} parts, found more", kMaxValueWeight)};
  return Done{};
}

Result<Extent> extent_over(const std::vector<Value>& items) {
  Extent all{1, 1};
  for (const Value& item : items) {
    const Extent extent = item.extent();
    all.depth = std::max(all.depth, extent.depth + 1);
    all.weight += extent.weight;
  }
  TRY(check_extent(all));
  return all;
}

}  // namespace

Run::~Run() {
  for (const ObjectPtr& object : kept_) object->clear();
}

bool Run::spend(size_t steps) {
  if (is_late_ || steps > static_cast<size_t>(limits_.steps - steps_)) return false;
  steps_ += static_cast<int64_t>(steps);
  if (steps_ < next_look_) return true;
  next_look_ = steps_ + kStepsPerLook;
  is_late_ = deadline_.passed();
  return !is_late_;
}

Error Run::exhausted() const {
  if (is_late_) return Error{fmt::format("rendering took longer than {} ms", limits_.time.count())};
  return Error{"the template takes too many steps"};
}

Status Run::reserve(size_t bytes) {
  if (bytes > limits_.bytes - bytes_)
    return Error{fmt::format("the template makes more than {} bytes of values", limits_.bytes)};
  bytes_ += bytes;
  return Done{};
}

Result<Value> Run::string(std::string text, bool markup) {
  TRY(reserve(text.size() + kObjectBytes));
  return markup ? Value::markup(std::move(text)) : Value::string(std::move(text));
}

Result<Value> Run::sequence(Kind kind, std::vector<Value> items) {
  TRY(reserve(items.size() * sizeof(Value) + kObjectBytes));
  auto made = std::make_shared<Sequence>();
  TRY_ASSIGN(made->extent, extent_over(items));
  made->items = std::move(items);
  return Value::object(kind, std::move(made));
}

Result<Value> Run::slice(const Value& sequence, size_t first, size_t count) {
  TRY(reserve(kObjectBytes));
  auto whole = std::static_pointer_cast<const Sequence>(sequence.pointer());
  if (whole->whole != nullptr) {
    first += whole->first;
    whole = whole->whole;
  }
  if (whole->weights.empty()) {
    SPEND(*this, whole->items.size() / 8);
    TRY(reserve((whole->items.size() + 1) * sizeof(int64_t)));
    whole->weights.reserve(whole->items.size() + 1);
    whole->weights.push_back(0);
    for (const Value& item : whole->items) whole->weights.push_back(whole->weights.back() + item.extent().weight);
  }
  auto made = std::make_shared<Sequence>();
  made->extent = {whole->extent.depth, 1 + whole->weights[first + count] - whole->weights[first]};
  made->first = first;
  made->count = count;
  made->whole = std::move(whole);
  return Value::object(sequence.kind(), std::move(made));
}

Result<Value> Run::iterator(std::vector<Value> items) {
  TRY(reserve(items.size() * sizeof(Value) + kObjectBytes));
  auto made = std::make_shared<Iterator>();
  TRY_ASSIGN(made->extent, extent_over(items));
  made->items = std::move(items);
  return Value::object(Kind::iterator, std::move(made));
}

Result<Value> Run::dict(std::shared_ptr<Dict> dict) {
  TRY(reserve(dict->size() * (2 * sizeof(Value) + kObjectBytes) + kObjectBytes));
  TRY(check_extent(dict->extent));
  return Value::object(Kind::dict, std::move(dict));
}

Result<Value> Run::view(const Value& dict, View::What what) {
  TRY(reserve(kObjectBytes));
  TRY(check_extent({dict.extent().depth + 1, 1}));
  auto made = std::make_shared<View>();
  made->what = what;
  made->dict = std::static_pointer_cast<const Dict>(dict.pointer());
  return Value::object(Kind::view, std::move(made));
}

namespace {

Result<std::vector<Value>> characters(Run& run, const std::string& text) {
  std::vector<Value> items;
  for (size_t pos = 0; pos < text.size();) {
    const size_t bytes = char_at(text, pos).bytes;
    SPEND(run, 1);
    TRY_ASSIGN(Value item, run.string(text.substr(pos, bytes)));
    items.push_back(std::move(item));
    pos += bytes;
  }
  return items;
}

Result<std::vector<Value>> entries(Run& run, const Dict& dict, View::What what) {
  std::vector<Value> items;
  items.reserve(dict.size());
  for (const auto& [key, value] : dict.entries()) {
    if (what == View::What::items) {
      TRY_ASSIGN(Value pair, run.tuple({key, value}));
      items.push_back(std::move(pair));
    } else {
      items.push_back(what == View::What::keys ? key : value);
    }
  }
  return items;
}

}  // namespace

Items::Items(std::vector<Value> made) {
  auto held = std::make_shared<Sequence>();
  held->items = std::move(made);
  view_ = held->items;
  owner_ = std::move(held);
}

Result<Items> iterate(Run& run, const Value& value) {
  switch (value.kind()) {
    case Kind::undefined: return Items();
    case Kind::string: {
      TRY_ASSIGN(std::vector<Value> made, characters(run, value.text()));
      return Items(std::move(made));
    }
    case Kind::list:
    case Kind::tuple: return Items(value.pointer(), value.items());
    case Kind::range: return Items(value.pointer(), value.range());
    case Kind::dict:
    case Kind::view: {
      const Dict& dict = value.is(Kind::dict) ? value.dict() : *value.view().dict;
      const View::What what = value.is(Kind::dict) ? View::What::keys : value.view().what;
      SPEND(run, what == View::What::items ? dict.size() : dict.size() / 8);
      TRY_ASSIGN(std::vector<Value> made, entries(run, dict, what));
      return Items(std::move(made));
    }
    case Kind::iterator: {
      Iterator& iterator = value.iterator();
      const auto rest = std::span<const Value>(iterator.items).subspan(iterator.next);
      iterator.next = iterator.items.size();
      return Items(value.pointer(), rest);
    }
    default: return Error{fmt::format("'{}' object is not iterable", type_name(value))};
  }
}

Result<std::vector<Value>> own_items(Run& run, const Value& value) {
  TRY_ASSIGN(const Items items, iterate(run, value));
  SPEND(run, items.size() / 8);
  std::vector<Value> own;
  own.reserve(items.size());
  for (size_t i = 0; i < items.size(); ++i) own.push_back(items[i]);
  return own;
}

Result<size_t> length_of(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined: return size_t{0};
    case Kind::string: return count_characters(value.text());
    case Kind::list:
    case Kind::tuple: return value.items().size();
    case Kind::range: return value.range().count;
    case Kind::dict: return value.dict().size();
    case Kind::view: return value.view().dict->size();
    default: return Error{fmt::format("object of type '{}' has no len()", type_name(value))};
  }
}

}  // namespace paceline::jinja
