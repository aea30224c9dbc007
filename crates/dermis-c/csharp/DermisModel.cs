// A learnt skin in C#: a model and its runners over DermisNative.cs. Errors are DermisException.
using System;
using System.Runtime.InteropServices;
using System.Text;

namespace Dermis
{
    /// <summary>What the library refused, in its words.</summary>
    public sealed class DermisException : Exception
    {
        public readonly int Status;

        DermisException(int status, string message) : base(message) { Status = status; }

        /// <summary>Throws if a call failed.</summary>
        public static void ThrowIf(int status)
        {
            if (status != Native.Ok) throw new DermisException(status, Text(Native.dermis_last_error()));
        }

        /// <summary>A text of the library, UTF-8.</summary>
        internal static string Text(IntPtr text)
        {
            int length = 0;
            while (Marshal.ReadByte(text, length) != 0) length++;
            var bytes = new byte[length];
            Marshal.Copy(text, bytes, 0, length);
            return Encoding.UTF8.GetString(bytes);
        }
    }

    /// <summary>A model. It never changes: any number of threads may use it.</summary>
    public sealed class SkinModel : IDisposable
    {
        internal Native.ModelHandle Handle;
        public readonly Native.ModelInfo Info;
        /// <summary>Names of the bones; a parent comes before its children.</summary>
        public readonly string[] Bones;

        /// <summary>A model from the bytes of a .dermis file.</summary>
        public SkinModel(byte[] file)
        {
            var length = (UIntPtr)(uint)file.Length;
            DermisException.ThrowIf(Native.dermis_model_read(Native.AbiVersion, file, length, out Handle));
            DermisException.ThrowIf(Native.dermis_model_info(Handle, out Info));
            Bones = new string[Info.Bones];
            for (uint bone = 0; bone < Info.Bones; bone++)
            {
                IntPtr name;
                DermisException.ThrowIf(Native.dermis_model_bone_name(Handle, bone, out name));
                Bones[bone] = DermisException.Text(name);
            }
        }

        /// <summary>For every vertex that the rig's file draws, the vertex of the model that it hangs on.</summary>
        public uint[] DrawnVertices()
        {
            var vertices = new uint[Info.DrawnVertices > 0 ? Info.DrawnVertices : Info.Vertices];
            if (Info.DrawnVertices == 0)
                for (uint v = 0; v < vertices.Length; v++) vertices[v] = v;
            else
                DermisException.ThrowIf(
                    Native.dermis_model_drawn_vertices(Handle, vertices, (UIntPtr)(uint)vertices.Length));
            return vertices;
        }

        /// <summary>Frees the model; its runners go on.</summary>
        public void Dispose()
        {
            Native.dermis_model_free(Handle);
            Handle.Id = 0;
            GC.SuppressFinalize(this);
        }

        ~SkinModel() { Native.dermis_model_free(Handle); }
    }

    /// <summary>Evaluates a model, for one thread at a time, without an allocation per frame.</summary>
    public sealed class SkinRunner : IDisposable
    {
        /// <summary>Sixteen numbers per bone, columns of M = T B^-1: fill them in, then call Evaluate.</summary>
        public readonly float[] Matrices;
        /// <summary>Three numbers per vertex, after Evaluate.</summary>
        public readonly float[] Positions, Normals;

        Native.RunnerHandle handle;
        Native.Pose pose;
        Native.Floats positions, normals;
        readonly GCHandle[] pinned;

        /// <summary>A runner. With 0 threads it uses those that all such runners share.</summary>
        public SkinRunner(SkinModel model, uint threads = 0)
        {
            DermisException.ThrowIf(Native.dermis_runner_new(model.Handle, threads, out handle));
            Matrices = new float[16 * model.Info.Bones];
            Positions = new float[3 * model.Info.Vertices];
            Normals = new float[3 * model.Info.Vertices];
            // The collector leaves them where they are while the runner lives.
            pinned = Array.ConvertAll(
                new object[] { Matrices, Positions, Normals }, array => GCHandle.Alloc(array, GCHandleType.Pinned));
            pose.Matrices = pinned[0].AddrOfPinnedObject();
            pose.MatricesBytes = (UIntPtr)(4 * (uint)Matrices.Length);
            pose.Bones = model.Info.Bones;
            pose.Layout = Native.Columns4x4;
            pose.Numbers = Native.Float;
            pose.Meaning = Native.Skinning;
            positions.First = pinned[1].AddrOfPinnedObject();
            normals.First = pinned[2].AddrOfPinnedObject();
            positions.Count = normals.Count = (UIntPtr)(uint)Positions.Length;
        }

        /// <summary>Axes and unit of matrices, positions and normals: nine numbers of A, x_model = A x, row after row.</summary>
        public void SetAxes(double[] axes)
        {
            if (axes != null && axes.Length != 9) throw new ArgumentException("axes are 9 numbers, not " + axes.Length);
            DermisException.ThrowIf(Native.dermis_runner_set_axes(handle, axes));
        }

        /// <summary>A number of the poses to come that is no joint.</summary>
        public void SetChannel(uint channel, double value)
        {
            DermisException.ThrowIf(Native.dermis_runner_set_channel(handle, channel, value));
        }

        /// <summary>Positions and Normals in the pose of Matrices.</summary>
        public void Evaluate()
        {
            DermisException.ThrowIf(Native.dermis_runner_evaluate(handle, ref pose, ref positions, ref normals));
        }

        public void Dispose()
        {
            Free();
            GC.SuppressFinalize(this);
        }

        ~SkinRunner() { Free(); }

        void Free()
        {
            Native.dermis_runner_free(handle);
            handle.Id = 0;
            if (pinned == null) return; // the constructor threw
            foreach (GCHandle array in pinned)
                if (array.IsAllocated) array.Free();
        }
    }
}
