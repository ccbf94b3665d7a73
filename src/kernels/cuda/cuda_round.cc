// CudaOps over tokens: drafts, choices, and how long they took.
#include "kernels/cuda/cuda_ops.h"
#include "kernels/cuda/rounds.h"

namespace paceline::kernels::cuda {

void CudaOps::pick_tokens(const PickArgs& args) {
  flush();
  PickRows a;
  a.given = sent(args.given);
  if (!args.from.empty()) a.from = sent(args.from);
  a.drafted = args.known;
  a.to = args.to;
  a.rows = static_cast<int32_t>(args.given.size());
  if (status_.ok()) cuda::pick_tokens(a, stream_);
}

void CudaOps::side_by_side(const float* a, const float* b, int32_t rows, int32_t width, float* y) {
  flush();
  written(y, int64_t{2} * rows * width);
  BesideArgs args{a, b, y, nullptr, rows, width};
  if (wants_bf16(y)) args.y_bf16 = make_bf16(y, rows, 2 * width, args.y_stride);
  if (status_.ok()) cuda::side_by_side(args, stream_);
}

void CudaOps::best_of_clusters(const ClustersArgs& args, Activation activation) {
  flush();
  if (!takes("clusters", args.clusters->count, kMostCentroids)) return;
  if (!takes("the width of a cluster", args.clusters->first.cols, kMostClusterHidden)) return;
  ClusterRows a;
  a.centroid_scores = args.centroid_scores;
  a.clusters = weight_of(*args.clusters, 1);
  a.tokens = args.tokens;
  a.x = args.x;
  a.rows = args.rows;
  a.centroids = args.clusters->count;
  a.top = args.top;
  a.exact = activation == Activation::f32 ? 1 : 0;
  a.best = args.best;
  const size_t all = static_cast<size_t>(args.rows) * static_cast<size_t>(args.top);
  a.chosen = static_cast<int32_t*>(grown(clusters_, all * sizeof(int32_t)));
  a.keys = static_cast<uint64_t*>(grown(cluster_keys_, all * sizeof(uint64_t)));
  if (status_.ok()) cuda::best_of_clusters(a, stream_);
}

void CudaOps::choose(const ChooseArgs& args) {
  flush();
  ChooseRows a;
  a.logits = args.logits;
  a.row_tokens = args.row_tokens;
  a.hidden = args.hidden;
  a.vocab = args.vocab;
  a.width = args.width;
  make_room((args.rows.size_bytes() + args.chains.size_bytes()) * 2);
  a.rows = sent(args.rows);
  a.chains = sent(args.chains);
  a.row_count = static_cast<int32_t>(args.rows.size());
  a.chain_count = static_cast<int32_t>(args.chains.size());
  a.tops = static_cast<uint64_t*>(
      grown(choice_tops_, args.rows.size() * static_cast<size_t>(choice_pieces(args.vocab)) * sizeof(uint64_t)));
  a.chosen = args.chosen;
  if (status_.ok()) cuda::choose(a, stream_);
}

void CudaOps::mark(Mark at) {
  flush();
  cudaEvent_t& event = marks_[static_cast<size_t>(at)];
  if (event == nullptr) fine(cudaEventCreate(&event), "timing");
  if (status_.ok()) launches_->mark(event);
}

double CudaOps::ms_between(Mark from, Mark to) {
  float ms = 0;
  const cudaEvent_t begin = marks_[static_cast<size_t>(from)], end = marks_[static_cast<size_t>(to)];
  if (!status_.ok() || begin == nullptr || end == nullptr) return 0;
  fine(cudaEventElapsedTime(&ms, begin, end), "timing");
  return static_cast<double>(ms);
}

}  // namespace paceline::kernels::cuda
