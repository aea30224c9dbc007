// Prints the weights of every pose: Check TABLE.json POSES.json
using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;

static class Check
{
    static int Main(string[] arguments)
    {
        try
        {
            var drivers = new Dermis.Drivers(Dermis.Json.Parse(File.ReadAllText(arguments[0])));
            var poses = Dermis.Json.Parse(File.ReadAllText(arguments[1]))["poses"].List;
            Console.WriteLine("[" + string.Join(",", poses.Select(pose => Row(drivers, pose))) + "]");
            return 0;
        }
        catch (FormatException refusal)
        {
            Console.Error.WriteLine(refusal.Message);
            return 1;
        }
    }

    static string Row(Dermis.Drivers drivers, Dermis.Json pose)
    {
        var channels = new Dictionary<string, double>();
        if (pose.Has("channels"))
            foreach (var member in pose["channels"].Members) channels[member.Key] = member.Value.Number;
        var weights = drivers.Weights(bone => pose["matrices"][bone].Numbers(16, bone), channels);
        return "[" + string.Join(",", weights.Select(w => w.ToString("R", CultureInfo.InvariantCulture))) + "]";
    }
}
