// What reports on models of every family have: matrices summed up by use and format, and numbers as people read them.
#pragma once

#include <boost/json/array.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "tensor/matrix.h"
#include "weights/checkpoint.h"

namespace paceline {

// Matrices of one use and format.
struct MatrixGroup {
  std::string use;     // "attention", "ffn", "experts", …
  std::string format;  // "bf16", "q4 group 64"
  int64_t matrices = 0;
  int64_t parameters = 0;
  uint64_t bytes = 0;
  std::vector<std::string> shapes;  // "q [4096, 2816]", each once
};

// Sums matrices up by use and format, in the order they come.
class MatrixTally {
 public:
  void add(const char* use, const char* name, const Matrix& matrix, int64_t count = 1);

  std::vector<MatrixGroup> groups;

 private:
  MatrixGroup& group_of(const char* use, const std::string& format);
};

enum class Hashing : uint8_t { skip, sha256 };

// Of a checkpoint's weights files; the digest is empty where it was not asked for.
struct FileFacts {
  uint64_t bytes = 0;
  std::string sha256;
};
Result<FileFacts> file_facts(const Checkpoint& checkpoint, Hashing hashing);

// Who quantised a checkpoint, and that what it says of activations is not used; empty where nobody did.
std::string quantisation_text(const Checkpoint& checkpoint);

// "1.25 GiB"; "2.61 billion"
std::string size_text(uint64_t bytes);
std::string count_text(int64_t count);

std::string matrices_text(const std::vector<MatrixGroup>& groups);
boost::json::array matrices_json(const std::vector<MatrixGroup>& groups);

}  // namespace paceline
