// Stand-ins for the types of Unreal that DermisUnreal.h uses, for check_unreal.cpp. FMatrix multiplies row vectors.
#pragma once
#include <map>
#include <string>
#include <vector>

using int32 = int;
constexpr int INDEX_NONE = -1;
template <class T> using TArray = std::vector<T>;
using FName = std::string;
inline const char* UTF8_TO_TCHAR(const char* text) { return text; }

struct FMatrix44f { float M[4][4]; };

struct FMatrix {
    double M[4][4] = {};
    FMatrix() = default;
    explicit FMatrix(const FMatrix44f& other) {
        for (int r = 0; r < 4; ++r)
            for (int c = 0; c < 4; ++c) M[r][c] = other.M[r][c];
    }
    FMatrix operator*(const FMatrix& other) const {
        FMatrix product;
        for (int r = 0; r < 4; ++r)
            for (int c = 0; c < 4; ++c)
                for (int k = 0; k < 4; ++k) product.M[r][c] += M[r][k] * other.M[k][c];
        return product;
    }
};

struct FTransform {
    static const FTransform Identity;
    FMatrix Matrix;
    FMatrix ToMatrixWithScale() const { return Matrix; }
};
inline const FTransform FTransform::Identity;

struct USkeletalMesh {
    TArray<FMatrix44f> InverseBind;
    const TArray<FMatrix44f>& GetRefBasesInvMatrix() const { return InverseBind; }
};

struct USkeletalMeshComponent {
    USkeletalMesh* Asset;
    TArray<FName> Bones;
    TArray<FTransform> Pose;
    std::map<FName, float> Morphs;
    USkeletalMesh* GetSkeletalMeshAsset() const { return Asset; }
    int32 GetBoneIndex(FName name) const {
        for (std::size_t bone = 0; bone < Bones.size(); ++bone)
            if (Bones[bone] == name) return int32(bone);
        return INDEX_NONE;
    }
    FTransform GetBoneTransform(int32 bone, const FTransform&) const { return Pose[std::size_t(bone)]; }
    void SetMorphTarget(FName name, float weight) { Morphs[name] = weight; }
};
