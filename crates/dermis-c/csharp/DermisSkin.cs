// A learnt skin in Unity: replaces the skinning of a SkinnedMeshRenderer by a model of Dermis.
//
// The rig must come through glTFast or UnityGLTF, from the GLB that the model was fitted on. Both flip X.
#if UNITY_5_3_OR_NEWER
using System;
using System.Collections.Generic;
using UnityEngine;

namespace Dermis
{
    /// <summary>Goes beside the SkinnedMeshRenderer. Draws the learnt skin with a MeshRenderer of its own.</summary>
    [RequireComponent(typeof(SkinnedMeshRenderer))]
    public sealed class DermisSkin : MonoBehaviour
    {
        [Tooltip("The model, hero.dermis renamed to hero.dermis.bytes")]
        public TextAsset model;

        readonly List<Transform> bones = new List<Transform>();
        readonly List<Matrix4x4> bindposes = new List<Matrix4x4>();
        SkinModel read;
        SkinRunner runner;
        uint[] sources;
        Vector3[] positions, normals;
        Mesh mesh;

        void Start()
        {
            var skin = GetComponent<SkinnedMeshRenderer>();
            read = new SkinModel(model.bytes);
            runner = new SkinRunner(read);
            runner.SetAxes(new double[] { -1, 0, 0, 0, 1, 0, 0, 0, 1 });
            var names = Array.ConvertAll(skin.bones, bone => bone.name);
            foreach (string name in read.Bones)
            {
                int at = Array.IndexOf(names, name);
                if (at < 0) throw new ArgumentException("the renderer has no bone " + name);
                bones.Add(skin.bones[at]);
                bindposes.Add(skin.sharedMesh.bindposes[at]);
            }
            sources = read.DrawnVertices();
            int found = skin.sharedMesh.vertexCount;
            if (found != sources.Length)
                throw new ArgumentException("the mesh has " + found + " vertices, the model draws " + sources.Length);
            positions = new Vector3[found];
            normals = new Vector3[found];
            mesh = Instantiate(skin.sharedMesh);
            mesh.MarkDynamic();
            gameObject.AddComponent<MeshFilter>().sharedMesh = mesh;
            gameObject.AddComponent<MeshRenderer>().sharedMaterials = skin.sharedMaterials;
            skin.enabled = false;
        }

        /// <summary>After the animation of the frame.</summary>
        void LateUpdate()
        {
            if (mesh == null) return; // Start has refused the model
            Matrix4x4 toLocal = transform.worldToLocalMatrix;
            for (int bone = 0; bone < bones.Count; bone++)
            {
                Matrix4x4 m = toLocal * bones[bone].localToWorldMatrix * bindposes[bone];
                for (int at = 0; at < 16; at++) runner.Matrices[16 * bone + at] = m[at]; // columns
            }
            runner.Evaluate();
            for (int v = 0; v < sources.Length; v++)
            {
                int at = 3 * (int)sources[v];
                positions[v] = new Vector3(runner.Positions[at], runner.Positions[at + 1], runner.Positions[at + 2]);
                normals[v] = new Vector3(runner.Normals[at], runner.Normals[at + 1], runner.Normals[at + 2]);
            }
            mesh.vertices = positions;
            mesh.normals = normals;
            mesh.RecalculateBounds();
        }

        void OnDestroy()
        {
            if (runner != null) runner.Dispose();
            if (read != null) read.Dispose();
            if (mesh != null) Destroy(mesh);
        }
    }
}
#endif
