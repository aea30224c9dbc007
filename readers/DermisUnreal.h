// Drives the morph targets of a skeletal mesh in Unreal 5.1 or newer from the table of `dermis export drivers`.
//
// The GLB must come through Unreal's own glTF import, without an offset of rotation or scale. It turns (x, y, z) in
// metres into (x, z, y) in centimetres. The module needs bEnableExceptions = true in its Build.cs, because a table that
// contradicts itself is refused with an exception.
//
//   FString Text;
//   FFileHelper::LoadFileToString(Text, *(FPaths::ProjectContentDir() / TEXT("hero.json")));
//   const dermis::Drivers Drivers(dermis::Json::parse(TCHAR_TO_UTF8(*Text)));
//   DriveMorphs(Drivers, *MeshComponent); // in every frame, after the pose is evaluated
#pragma once
#include "Components/SkeletalMeshComponent.h"
#include "Engine/SkeletalMesh.h"
#include "dermis_drivers.hpp"

/// Returns a matrix of Unreal in the axes and the unit of the GLB. FMatrix multiplies rows, so its rows become columns.
inline dermis::Transform FromUnreal(const FMatrix& Matrix)
{
    const int Axis[3] = {0, 2, 1}; // Y and Z change places
    dermis::Transform Transform{};
    for (int R = 0; R < 3; ++R)
    {
        for (int C = 0; C < 3; ++C) Transform.linear[R][C] = Matrix.M[Axis[C]][Axis[R]];
        Transform.translation[R] = Matrix.M[3][Axis[R]] / 100; // centimetres
    }
    return Transform;
}

/// Sets the morph targets for the pose that the component has now.
inline void DriveMorphs(const dermis::Drivers& Drivers, USkeletalMeshComponent& Component)
{
    // The inverse bind matrices of the asset, not those of the table: an import may give bones axes of its own. What M
    // does to the mesh is the same.
    const TArray<FMatrix44f>& InverseBind = Component.GetSkeletalMeshAsset()->GetRefBasesInvMatrix();
    std::vector<dermis::Transform> Transforms;
    for (const std::string& Name : Drivers.bones)
    {
        const int32 Bone = Component.GetBoneIndex(FName(UTF8_TO_TCHAR(Name.c_str())));
        dermis::Json::demand(Bone != INDEX_NONE, "the rig has no bone " + Name);
        const FMatrix Pose = Component.GetBoneTransform(Bone, FTransform::Identity).ToMatrixWithScale();
        Transforms.push_back(FromUnreal(FMatrix(InverseBind[Bone]) * Pose));
    }
    const std::vector<double> Weights = Drivers.weights_of(Transforms);
    for (std::size_t I = 0; I < Weights.size(); ++I)
    {
        Component.SetMorphTarget(FName(UTF8_TO_TCHAR(Drivers.shapes[I].c_str())), float(Weights[I]));
    }
}
