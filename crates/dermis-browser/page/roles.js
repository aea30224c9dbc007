// What each dropped file is for, guessed from what `inspect` tells of it; a person can say otherwise.

/** The roles, in the order of the menu: their names in the page. */
const ROLES = {
  rig: "rig",
  examples: "examples",
  held: "held out",
  poses: "poses of the skins below",
  sculpt: "sculpt",
  none: "not used",
};

/** Names that say that a file is to be held out. */
const HELD = /(?<![a-z])(walk|run|test|held|unseen|valid)/i;

/** What a file can be: its roles, the likeliest first. */
function rolesOf(told) {
  const isRig = told.mesh && told.skeleton;
  const roles = [];
  if (told.format === "model") return ["none"];
  if (told.skins > 0 || told.morph_targets?.length > 0 || (told.corrections ?? 0) > 0) roles.push("examples", "held");
  if (told.clips?.length > 0 || told.poses > 0) roles.push("poses");
  if (isRig) roles.unshift("rig");
  if (told.mesh && !told.skeleton && !(told.skins > 1)) roles.unshift("sculpt");
  return [...new Set(roles), "none"];
}

/** Guesses a role for every file: `told` are records of `inspect`. Result: names of roles, in the same order. */
function guessRoles(told) {
  const can = told.map(rolesOf);
  // The rig is the file that has a skin and the fewest examples; of several, the first.
  const rank = (at) => (told[at].influences ? 0 : 2) + (told[at].skins > 0 ? 1 : 0);
  const rigs = can.map((_, at) => at).filter((at) => can[at].includes("rig")).sort((a, b) => rank(a) - rank(b) || a - b);
  const rig = rigs[0];
  const hasSkins = told.some((file, at) => at !== rig && file.skins > 0 && !can[at].includes("sculpt"));
  const roles = can.map((list, at) => {
    if (at === rig) return "rig";
    if (list.includes("sculpt")) return "sculpt";
    const isHeld = HELD.test(told[at].file) && hasSkins;
    if (list.includes("examples")) return isHeld ? "held" : "examples";
    return list.includes("poses") ? "poses" : "none";
  });
  // Something must be learnt from: a set that is held out alone is the set of examples.
  if (!roles.includes("examples") && !roles.includes("sculpt")) {
    const held = roles.indexOf("held");
    if (held >= 0) roles[held] = "examples";
    // A bundle that is rig and examples at once.
    else if (rig !== undefined && can[rig].includes("examples")) return { roles, alsoExamples: true };
  }
  return { roles, alsoExamples: false };
}
