// Runs DermisMorphs.cs with stand-ins for the types of Unity, and compares it with the core:
//
//   mcs -define:UNITY_5_3_OR_NEWER -out:check_unity.exe readers/test/CheckUnity.cs readers/Dermis*.cs
//   mono check_unity.exe TABLE.json POSES.json
//
// Matrices are in single precision, as an importer that flips X makes them. Blend shapes are full at 1, then at 100.
// Exit 0: all weights within 1e-6; 1: not.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using UnityEngine;

namespace UnityEngine
{
    public sealed class TooltipAttribute : Attribute { public TooltipAttribute(string text) { } }
    public sealed class RequireComponent : Attribute { public RequireComponent(Type type) { } }
    public class TextAsset { public string text; }
    public struct Matrix4x4 { public float[] Columns; public float this[int r, int c] => Columns[4 * c + r]; }
    public class Transform { public string name; public Matrix4x4 localToWorldMatrix; }
    public class Mesh
    {
        public int blendShapeCount;
        public float Full;
        public float GetBlendShapeFrameWeight(int i, int frame) => Full;
    }
    public class SkinnedMeshRenderer
    {
        public Transform[] bones;
        public Mesh sharedMesh;
        public float[] Weights;
        public void SetBlendShapeWeight(int i, float weight) => Weights[i] = weight;
    }
    public class MonoBehaviour { public object Component; public T GetComponent<T>() => (T)Component; }
}

static class CheckUnity
{
    const BindingFlags Private = BindingFlags.NonPublic | BindingFlags.Instance;

    static int Main(string[] arguments)
    {
        string table = File.ReadAllText(arguments[0]);
        var drivers = new Dermis.Drivers(Dermis.Json.Parse(table));
        double worst = 0;
        foreach (float full in new[] { 1f, 100f })
            foreach (Dermis.Json pose in Dermis.Json.Parse(File.ReadAllText(arguments[1]))["poses"].List)
            {
                Func<string, double[]> worldOf = bone => pose["matrices"][bone].Numbers(16, bone);
                var skin = new SkinnedMeshRenderer
                {
                    bones = drivers.Bones.Select(name => Bone(name, worldOf(name))).ToArray(),
                    sharedMesh = new Mesh { blendShapeCount = drivers.Shapes.Length, Full = full },
                    Weights = new float[drivers.Shapes.Length],
                };
                var morphs = new Dermis.DermisMorphs { Component = skin, table = new TextAsset { text = table } };
                if (pose.Has("channels"))
                    foreach (var member in pose["channels"].Members) morphs.Channels[member.Key] = member.Value.Number;
                foreach (string message in new[] { "Start", "LateUpdate" })
                    typeof(Dermis.DermisMorphs).GetMethod(message, Private).Invoke(morphs, null);
                double[] expected = drivers.Weights(worldOf, morphs.Channels);
                for (int i = 0; i < expected.Length; i++)
                    worst = Math.Max(worst, Math.Abs(skin.Weights[i] / full - expected[i]));
            }
        Console.WriteLine("at most " + worst.ToString("e1") + " from the core");
        return worst < 1e-6 ? 0 : 1;
    }

    static Transform Bone(string name, double[] world)
    {
        double[] flip = { -1, 1, 1, 1 };
        var columns = Enumerable.Range(0, 16).Select(at => (float)(flip[at % 4] * world[at] * flip[at / 4])).ToArray();
        return new Transform { name = name, localToWorldMatrix = new Matrix4x4 { Columns = columns } };
    }
}
