// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Closure.h"
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <cstdlib>

using namespace shoal::remat;

namespace {

using Traits =
    boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using VertexState =
    boost::property<boost::vertex_color_t, boost::default_color_type,
                    boost::property<boost::vertex_distance_t, long,
                                    boost::property<boost::vertex_predecessor_t,
                                                    Traits::edge_descriptor>>>;
using EdgeState =
    boost::property<boost::edge_capacity_t, int64_t,
                    boost::property<boost::edge_residual_capacity_t, int64_t,
                                    boost::property<boost::edge_reverse_t,
                                                    Traits::edge_descriptor>>>;
using Network = boost::adjacency_list<boost::vecS, boost::vecS,
                                      boost::directedS, VertexState, EdgeState>;

/// A network whose edges have their reverse, as the library wants them.
class FlowNetwork {
public:
  explicit FlowNetwork(size_t vertices) : network(vertices) {}

  void addEdge(size_t from, size_t to, int64_t capacity) {
    auto edge = boost::add_edge(from, to, network).first;
    auto reverse = boost::add_edge(to, from, network).first;
    boost::put(boost::edge_capacity, network, edge, capacity);
    boost::put(boost::edge_capacity, network, reverse, 0);
    boost::put(boost::edge_reverse, network, edge, reverse);
    boost::put(boost::edge_reverse, network, reverse, edge);
  }

  /// What a maximal flow leaves reachable from `source`: the smallest side of a
  /// minimum cut.
  std::vector<bool> cut(size_t source, size_t sink) {
    boost::boykov_kolmogorov_max_flow(network, source, sink);
    std::vector<bool> reached(boost::num_vertices(network));
    std::vector<size_t> open = {source};
    reached[source] = true;
    while (!open.empty()) {
      size_t vertex = open.back();
      open.pop_back();
      auto [edge, end] = boost::out_edges(vertex, network);
      for (; edge != end; ++edge) {
        size_t next = boost::target(*edge, network);
        if (reached[next] ||
            boost::get(boost::edge_residual_capacity, network, *edge) == 0)
          continue;
        reached[next] = true;
        open.push_back(next);
      }
    }
    return reached;
  }

private:
  Network network;
};

} // namespace

std::vector<bool> ClosureProblem::solve() const {
  int64_t infinite = 1;
  for (int64_t weight : weights)
    infinite += std::abs(weight);
  size_t source = weights.size(), sink = source + 1;
  FlowNetwork network(weights.size() + 2);
  for (size_t item = 0; item < weights.size(); ++item) {
    if (forced[item])
      network.addEdge(source, item, infinite);
    if (weights[item] > 0)
      network.addEdge(item, sink, weights[item]);
    else if (weights[item] < 0)
      network.addEdge(source, item, -weights[item]);
  }
  for (auto [item, other] : requirements)
    network.addEdge(item, other, infinite);
  std::vector<bool> closure = network.cut(source, sink);
  closure.resize(weights.size());
  return closure;
}
