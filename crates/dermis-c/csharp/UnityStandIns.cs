// Stand-ins for the types of Unity that DermisSkin.cs uses, as far as it uses them, and a run of it on them.
#if UNITY_5_3_OR_NEWER
using System;
using System.Linq;
using System.Reflection;
using Dermis;

namespace UnityEngine
{
    public sealed class TooltipAttribute : Attribute { public TooltipAttribute(string text) { } }
    public sealed class RequireComponent : Attribute { public RequireComponent(Type type) { } }
    public class TextAsset { public byte[] bytes; }
    public struct Vector3
    {
        public float x, y, z;
        public Vector3(float x, float y, float z) { this.x = x; this.y = y; this.z = z; }
    }

    /// <summary>Numbers column after column, as Unity counts them.</summary>
    public struct Matrix4x4
    {
        public float[] Columns;
        public float this[int at] => Columns[at];
        public static Matrix4x4 Identity => new Matrix4x4 { Columns = new float[] { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1 } };
        public static Matrix4x4 operator *(Matrix4x4 a, Matrix4x4 b)
        {
            var columns = new float[16];
            for (int at = 0; at < 16; at++)
                for (int k = 0; k < 4; k++) columns[at] += a.Columns[4 * k + at % 4] * b.Columns[4 * (at / 4) + k];
            return new Matrix4x4 { Columns = columns };
        }
    }

    public class Transform
    {
        public string name;
        public Matrix4x4 localToWorldMatrix;
        public Matrix4x4 worldToLocalMatrix = Matrix4x4.Identity;
    }
    public class Material { }
    public class Mesh
    {
        public int vertexCount;
        public Matrix4x4[] bindposes;
        public Vector3[] vertices, normals;
        public void MarkDynamic() { }
        public void RecalculateBounds() { }
    }
    public class SkinnedMeshRenderer
    {
        public Transform[] bones;
        public Mesh sharedMesh;
        public Material[] sharedMaterials;
        public bool enabled = true;
    }
    public class MeshFilter { public Mesh sharedMesh; }
    public class MeshRenderer { public Material[] sharedMaterials; }
    public class GameObject { public T AddComponent<T>() where T : new() { return new T(); } }
    public class MonoBehaviour
    {
        public SkinnedMeshRenderer Skin;
        public Transform transform = new Transform();
        public GameObject gameObject = new GameObject();
        public T GetComponent<T>() => (T)(object)Skin;
        public static Mesh Instantiate(Mesh mesh) => mesh;
        public static void Destroy(object what) { }
    }

    static class StandIns
    {
        /// <summary>Throws unless DermisSkin shows the mirror image of what a runner has just computed.</summary>
        public static void Compare(SkinModel model, byte[] file, SkinRunner runner)
        {
            int bones = model.Bones.Length, vertices = (int)model.Info.Vertices;
            var mesh = new Mesh
            {
                vertexCount = model.DrawnVertices().Length,
                bindposes = Enumerable.Repeat(Matrix4x4.Identity, bones).ToArray(),
            };
            var skin = new SkinnedMeshRenderer
            {
                // In another order than the model's: bones go by name.
                bones = Enumerable.Range(0, bones).Reverse().Select(bone => Bone(model, runner, bone)).ToArray(),
                sharedMesh = mesh,
            };
            var component = new DermisSkin { Skin = skin, model = new TextAsset { bytes = file } };
            foreach (string message in new[] { "Start", "LateUpdate" })
                typeof(DermisSkin).GetMethod(message, BindingFlags.NonPublic | BindingFlags.Instance).Invoke(component, null);
            for (int v = 0; v < vertices; v++)
            {
                Vector3 p = mesh.vertices[v];
                float x = -runner.Positions[3 * v], y = runner.Positions[3 * v + 1], z = runner.Positions[3 * v + 2];
                double size = Math.Max(1, Math.Abs(x) + Math.Abs(y) + Math.Abs(z));
                double off = Math.Abs(p.x - x) + Math.Abs(p.y - y) + Math.Abs(p.z - z);
                if (!(off <= 1e-6 * size)) throw new Exception("DermisSkin, vertex " + v + ": " + off + " m off");
                Vector3 n = mesh.normals[v];
                double turned = Math.Abs(n.x + runner.Normals[3 * v]) + Math.Abs(n.y - runner.Normals[3 * v + 1]);
                if (!(turned <= 1e-2)) throw new Exception("DermisSkin, vertex " + v + ": its normal is " + turned + " off");
            }
            typeof(DermisSkin).GetMethod("OnDestroy", BindingFlags.NonPublic | BindingFlags.Instance).Invoke(component, null);
            if (skin.enabled) throw new Exception("DermisSkin left the renderer on");
        }

        static Transform Bone(SkinModel model, SkinRunner runner, int bone)
        {
            float[] flip = { -1, 1, 1, 1 };
            var columns = new float[16];
            for (int at = 0; at < 16; at++) columns[at] = flip[at % 4] * runner.Matrices[16 * bone + at] * flip[at / 4];
            return new Transform { name = model.Bones[bone], localToWorldMatrix = new Matrix4x4 { Columns = columns } };
        }
    }
}
#endif
