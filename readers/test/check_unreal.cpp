// Runs DermisUnreal.h with stand-ins for the types of Unreal, and compares it with the core: check_unreal TABLE POSES
//
//   g++ -std=c++17 -O1 -Wall -Wextra -Werror -Ireaders/test/unreal readers/test/check_unreal.cpp -o check_unreal
//
// Matrices are those of an import that turns (x, y, z) metres into (x, z, y) centimetres, and gives every bone axes of
// its own. Exit 0: all weights within 1e-6; 1: not.
#include "../DermisUnreal.h"
#include <cstdio>
#include <fstream>

static dermis::Json read(const char* path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return dermis::Json::parse(text.str());
}

/// A matrix of the GLB, column by column, as one of Unreal.
static FMatrix imported(const dermis::Matrix4& matrix) {
    const int axis[4] = {0, 2, 1, 3};
    FMatrix made;
    for (int r = 0; r < 4; ++r)
        for (int c = 0; c < 4; ++c) made.M[c][r] = matrix[4 * axis[c] + axis[r]] * (c == 3 && r < 3 ? 100 : 1);
    return made;
}

static dermis::Matrix4 of(const dermis::Numbers& numbers) {
    dermis::Matrix4 made;
    std::copy(numbers.begin(), numbers.end(), made.begin());
    return made;
}

int main(int, char** arguments) {
    const dermis::Json table = read(arguments[1]), poses = read(arguments[2]);
    const dermis::Drivers drivers(table);
    // A quarter turn about X: the bone's own axes after the import, and back.
    const FMatrix turn = imported(of({1, 0, 0, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 0, 0, 1}));
    const FMatrix back = imported(of({1, 0, 0, 0, 0, 0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 1}));
    USkeletalMesh asset;
    USkeletalMeshComponent component{&asset, drivers.bones, {}, {}};
    for (const dermis::Json& bone : table["bones"].list()) {
        const auto rows = bone["inverse_bind"].rows(3, 4, "inverse_bind");
        dermis::Matrix4 matrix{};
        matrix[15] = 1;
        for (int r = 0; r < 3; ++r)
            for (int c = 0; c < 4; ++c) matrix[4 * c + r] = rows[r][c];
        const FMatrix made = imported(matrix) * back;
        FMatrix44f single;
        for (int r = 0; r < 4; ++r)
            for (int c = 0; c < 4; ++c) single.M[r][c] = float(made.M[r][c]);
        asset.InverseBind.push_back(single);
    }
    double worst = 0;
    for (const dermis::Json& pose : poses["poses"].list()) {
        const auto world_of = [&](const std::string& bone) { return of(pose["matrices"][bone].numbers(16, bone)); };
        component.Pose.clear();
        for (const std::string& bone : drivers.bones) component.Pose.push_back({turn * imported(world_of(bone))});
        DriveMorphs(drivers, component);
        const dermis::Numbers expected = drivers.weights(world_of);
        for (std::size_t i = 0; i < expected.size(); ++i)
            worst = std::max(worst, std::abs(component.Morphs[drivers.shapes[i]] - expected[i]));
    }
    std::printf("at most %.1e from the core\n", worst);
    return worst < 1e-6 ? 0 : 1;
}
