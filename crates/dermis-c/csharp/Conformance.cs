// Does C# evaluate the models of a table as the table says? Conformance DIR, with DIR/table.txt as in tests/conformance.c.
//
//   mcs -warnaserror -out:conformance.exe Conformance.cs DermisNative.cs DermisModel.cs
//   LD_LIBRARY_PATH=FOLDER_OF_LIBDERMIS_C mono conformance.exe DIR
//
// With -define:UNITY_5_3_OR_NEWER, DermisSkin.cs and UnityStandIns.cs, every model also runs in DermisSkin.
// Exit 0: all within tolerance; 1: not; 2: it could not run.
using System;
using System.IO;
using System.Runtime.InteropServices;
using Dermis;

static class Conformance
{
    static int models, poses;
    static long failed;
    static double largest;

    static int Main(string[] arguments)
    {
        if (arguments.Length != 1)
        {
            Console.Error.WriteLine("usage: Conformance DIR");
            return 2;
        }
        foreach (string line in File.ReadAllLines(Path.Combine(arguments[0], "table.txt")))
            if (line != "") Check(arguments[0], line.Split('\t'));
        Console.WriteLine(models + " models, " + poses + " poses: largest deviation " + largest + " of its tolerance");
        return failed == 0 && models > 0 && Refused() ? 0 : 1;
    }

    static void Check(string folder, string[] fields)
    {
        double tolerance = double.Parse(fields[4], System.Globalization.CultureInfo.InvariantCulture);
        byte[] file = File.ReadAllBytes(Path.Combine(folder, fields[1]));
        double[] transforms = Npy(Path.Combine(folder, fields[2])), expected = Npy(Path.Combine(folder, fields[3]));
        using (var model = new SkinModel(file))
        using (var runner = new SkinRunner(model, 1))
        {
            int bones = (int)model.Info.Bones, vertices = (int)model.Info.Vertices, count = transforms.Length / bones / 16;
            Native.ModelHandle handle;
            Native.RunnerHandle exact;
            DermisException.ThrowIf(
                Native.dermis_model_read(Native.AbiVersion, file, (UIntPtr)(uint)file.Length, out handle));
            DermisException.ThrowIf(Native.dermis_runner_new(handle, 0, out exact));
            var skin = new float[6 * vertices]; // position and normal of a vertex side by side
            GCHandle matrices = GCHandle.Alloc(transforms, GCHandleType.Pinned), room = GCHandle.Alloc(skin, GCHandleType.Pinned);
            for (int pose = 0; pose < count; pose++, poses++)
            {
                var given = new Native.Pose
                {
                    Matrices = matrices.AddrOfPinnedObject() + pose * bones * 128,
                    MatricesBytes = (UIntPtr)(uint)(bones * 128),
                    Bones = (uint)bones,
                    Layout = Native.Rows4x4,
                    Numbers = Native.Double,
                    Meaning = Native.Skinning,
                };
                var positions = new Native.Floats
                {
                    First = room.AddrOfPinnedObject(), Count = (UIntPtr)(uint)skin.Length, Stride = (UIntPtr)24u,
                };
                var normals = positions;
                normals.First += 12;
                normals.Count = (UIntPtr)(uint)(skin.Length - 3);
                DermisException.ThrowIf(Native.dermis_runner_evaluate(exact, ref given, ref positions, ref normals));
                // The class for engines: the same matrices as columns of floats.
                for (int at = 0; at < runner.Matrices.Length; at++)
                    runner.Matrices[at] = (float)transforms[16 * (pose * bones + at / 16) + 4 * (at % 4) + at % 16 / 4];
                runner.Evaluate();
#if UNITY_5_3_OR_NEWER
                UnityEngine.StandIns.Compare(model, file, runner);
#endif
                for (int v = 0; v < vertices; v++)
                {
                    double off = 0, rounded = 0, size = 1;
                    for (int axis = 0; axis < 3; axis++)
                    {
                        double x = skin[6 * v + axis], y = runner.Positions[3 * v + axis];
                        off += Math.Pow(x - expected[3 * (pose * vertices + v) + axis], 2);
                        rounded += Math.Pow(x - y, 2);
                        size = Math.Max(size, Math.Abs(x));
                    }
                    off = Math.Sqrt(off);
                    largest = Math.Max(largest, off == 0 ? 0 : off / tolerance);
                    // Floats of matrices cost a millionth of where the vertex is; written so that NaN fails.
                    if (off <= tolerance && Math.Sqrt(rounded) <= 2e-5 * size) continue;
                    Console.WriteLine(fields[0] + ", pose " + pose + ", vertex " + v + ": " + off + " m from what is "
                        + "expected, " + Math.Sqrt(rounded) + " m with matrices of floats; " + tolerance + " is allowed");
                    failed++;
                }
            }
            matrices.Free();
            room.Free();
            DermisException.ThrowIf(Native.dermis_runner_free(exact));
            DermisException.ThrowIf(Native.dermis_model_free(handle));
        }
        models++;
    }

    /// <summary>Bad input throws, with the words of the library.</summary>
    static bool Refused()
    {
        try
        {
            new SkinModel(new byte[] { 1, 2, 3 });
        }
        catch (DermisException refusal)
        {
            if (refusal.Status == 6 && refusal.Message.Contains("model")) return true;
            Console.WriteLine("status " + refusal.Status + ": " + refusal.Message);
        }
        return false;
    }

    /// <summary>The doubles of an NPY file of version 1.</summary>
    static double[] Npy(string path)
    {
        byte[] bytes = File.ReadAllBytes(path);
        int start = 10 + bytes[8] + 256 * bytes[9];
        var numbers = new double[(bytes.Length - start) / 8];
        Buffer.BlockCopy(bytes, start, numbers, 0, 8 * numbers.Length);
        return numbers;
    }
}
