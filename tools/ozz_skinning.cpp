// Linear blend skinning by ozz-animation's SkinningJob: what `cargo xtask bench evaluate --ozz DIR` compares Dermis with.
//
//     c++ -O3 -march=native -std=c++17 -I DIR/include tools/ozz_skinning.cpp DIR/src/geometry/runtime/skinning_job.cc -o ozz_skinning
//     ./ozz_skinning FOLDER SECONDS
//
// FOLDER holds what dermis-bench writes: `rest` (V, 3), `transforms` (P, B, 3, 4) and, for 1, 2, 3, 4 and 8 influences, `bones-N` and
// `weights-N` (V, N), `skin-N` and `normals-N` (V, 3), our result for pose 1. Prints one JSON object: vertices per second, best run, a new
// pose every run, and the largest distance from our result. Rest normals are the directions of rest positions.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "ozz/base/maths/simd_math.h"
#include "ozz/geometry/runtime/skinning_job.h"

namespace {

struct Array {
  std::vector<size_t> shape;
  std::vector<char> bytes;
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(bytes.data());
  }
};

[[noreturn]] void fail(const std::string& reason) {
  std::fprintf(stderr, "error: %s\n", reason.c_str());
  std::exit(2);
}

// A NumPy file of version 1, in C order.
Array read(const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name + ".npy";
  std::ifstream file(path, std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (all.size() < 10 || all.compare(1, 5, "NUMPY") != 0) fail(path + " is no NumPy file");
  const size_t header = 10 + static_cast<uint8_t>(all[8]) + 256u * static_cast<uint8_t>(all[9]);
  const size_t open = all.find("'shape': (") + 10;
  Array array;
  for (const char* at = all.c_str() + open; *at != ')';) {
    char* end;
    array.shape.push_back(std::strtoull(at, &end, 10));
    if (end == at) fail(path + " has no shape");
    at = end;
    while (*at == ',' || *at == ' ') ++at;
  }
  array.bytes.assign(all.begin() + header, all.end());
  return array;
}

double largest_distance(const float* a, const float* b, size_t points) {
  double most = 0;
  for (size_t v = 0; v < points; ++v) {
    double square = 0;
    for (size_t j = 0; j < 3; ++j) {
      const double apart = static_cast<double>(a[3 * v + j]) - b[3 * v + j];
      square += apart * apart;
    }
    most = std::max(most, std::sqrt(square));
  }
  return most;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) fail("ozz_skinning FOLDER SECONDS");
  const std::string folder = arguments[1];
  const double budget = std::atof(arguments[2]);
  const Array rest = read(folder, "rest"), transforms = read(folder, "transforms");
  const size_t vertices = rest.shape[0], poses = transforms.shape[0], bones = transforms.shape[1];
  const float* positions = rest.as<float>();
  std::vector<float> normals(3 * vertices), out(3 * vertices), turned(3 * vertices);
  for (size_t v = 0; v < vertices; ++v) {
    const float* p = positions + 3 * v;
    const float length = std::sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
    for (size_t j = 0; j < 3; ++j) normals[3 * v + j] = p[j] / length;
  }
  std::vector<ozz::math::Float4x4> matrices(poses * bones);
  for (size_t at = 0; at < matrices.size(); ++at) {
    const float* m = transforms.as<float>() + 12 * at;
    for (size_t c = 0; c < 4; ++c) {
      matrices[at].cols[c] = ozz::math::simd_float4::Load(m[c], m[4 + c], m[8 + c], c == 3 ? 1.f : 0.f);
    }
  }
  std::printf("{\"rows\": [");
  bool first = true;
  for (const size_t influences : {1, 2, 3, 4, 8}) {
    const std::string suffix = "-" + std::to_string(influences);
    const Array listed = read(folder, "bones" + suffix), weighed = read(folder, "weights" + suffix);
    const Array skin = read(folder, "skin" + suffix), expected = read(folder, "normals" + suffix);
    std::vector<uint16_t> indices(vertices * influences);
    std::vector<float> weights(vertices * (influences - 1));
    for (size_t v = 0; v < vertices; ++v) {
      for (size_t k = 0; k < influences; ++k) {
        indices[v * influences + k] = static_cast<uint16_t>(listed.as<int64_t>()[v * influences + k]);
        if (k + 1 < influences) weights[v * (influences - 1) + k] = weighed.as<float>()[v * influences + k];
      }
    }
    for (const bool with_normals : {false, true}) {
      ozz::geometry::SkinningJob job;
      job.vertex_count = static_cast<int>(vertices);
      job.influences_count = static_cast<int>(influences);
      job.joint_indices = ozz::make_span(indices);
      job.joint_indices_stride = influences * sizeof(uint16_t);
      job.joint_weights = ozz::make_span(weights);
      job.joint_weights_stride = (influences - 1) * sizeof(float);
      job.in_positions = {positions, 3 * vertices};
      job.out_positions = ozz::make_span(out);
      job.in_positions_stride = job.out_positions_stride = 3 * sizeof(float);
      if (with_normals) {
        job.in_normals = ozz::make_span(normals);
        job.out_normals = ozz::make_span(turned);
        job.in_normals_stride = job.out_normals_stride = 3 * sizeof(float);
      }
      const auto run = [&](size_t pose) {
        job.joint_matrices = {matrices.data() + pose * bones, bones};
        if (!job.Run()) fail("SkinningJob does not run");
      };
      run(1);
      const double off = largest_distance(out.data(), skin.as<float>(), vertices);
      const double normals_off = with_normals ? largest_distance(turned.data(), expected.as<float>(), vertices) : 0.0;
      using Clock = std::chrono::steady_clock;
      const auto seconds = [](Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); };
      double best = 1e9;
      size_t pose = 0;
      for (const auto start = Clock::now(); seconds(start) < budget;) {
        pose = (pose + 1) % poses;
        const auto begin = Clock::now();
        run(pose);
        best = std::min(best, seconds(begin));
      }
      std::printf("%s{\"influences\": %zu, \"normals\": %s, \"vertices_per_s\": %.6g, \"largest_distance\": %.3g, "
                  "\"normals_distance\": %.3g}",
                  first ? "" : ", ", influences, with_normals ? "true" : "false", vertices / best, off, normals_off);
      first = false;
    }
  }
  std::printf("]}\n");
}
