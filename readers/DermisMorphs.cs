// Drives the blend shapes of a character in Unity from the table of `dermis export drivers`.
//
// The GLB must come through glTFast or UnityGLTF. Both turn the right-handed space of glTF into Unity's by flipping X.
#if UNITY_5_3_OR_NEWER
using System.Collections.Generic;
using UnityEngine;

namespace Dermis
{
    /// <summary>Goes beside the SkinnedMeshRenderer of the mesh that the table names.</summary>
    [RequireComponent(typeof(SkinnedMeshRenderer))]
    public sealed class DermisMorphs : MonoBehaviour
    {
        [Tooltip("The JSON that dermis export drivers wrote")]
        public TextAsset table;

        /// <summary>Values of a pose beside its joints, by name.</summary>
        public readonly Dictionary<string, double> Channels = new Dictionary<string, double>();

        readonly Dictionary<string, Transform> bones = new Dictionary<string, Transform>();
        readonly double[] world = new double[16];
        SkinnedMeshRenderer skin;
        Drivers drivers;

        void Start()
        {
            skin = GetComponent<SkinnedMeshRenderer>();
            var read = new Drivers(Json.Parse(table.text));
            foreach (Transform bone in skin.bones) bones[bone.name] = bone;
            foreach (string bone in read.Bones) Json.Demand(bones.ContainsKey(bone), "the rig has no bone " + bone);
            int found = skin.sharedMesh.blendShapeCount, wanted = read.Shapes.Length;
            Json.Demand(found >= wanted, "the mesh has " + found + " blend shapes, the table " + wanted); // further ones are the scene's own
            drivers = read;
        }

        /// <summary>After the animation of the frame.</summary>
        void LateUpdate()
        {
            if (drivers == null) return; // Start has refused the table
            double[] weights = drivers.Weights(WorldOf, Channels);
            for (int i = 0; i < weights.Length; i++)
            {
                // A shape is full at 100 or at 1, as the importer has it.
                float full = skin.sharedMesh.GetBlendShapeFrameWeight(i, 0);
                skin.SetBlendShapeWeight(i, full * (float)weights[i]);
            }
        }

        /// <summary>F T F, with F the flip of X: the joint-to-world matrix in the axes of the GLB.</summary>
        double[] WorldOf(string bone)
        {
            Matrix4x4 m = bones[bone].localToWorldMatrix;
            for (int c = 0; c < 4; c++)
                for (int r = 0; r < 4; r++)
                    world[4 * c + r] = (r == 0) != (c == 0) ? -m[r, c] : m[r, c];
            return world;
        }
    }
}
#endif
