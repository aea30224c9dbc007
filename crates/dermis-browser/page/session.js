// A session in the page: what its recipes are, and how it is saved and opened again.

/** The bundle of a sculpt that is about to be learnt. */
const SCULPT = "results/sculpt.npz";

/** Recipes of a session in a folder: what `dermis session` runs. */
function sessionRecipes(folder) {
  const act = (act) => ({ session: { folder, act } });
  const input = (name) => ({ file: name });
  return {
    begin: (rig, motions, truths) => act({ new: { rig: input(rig), motions: motions.map(input), truths: truths.map(input) } }),
    next: (count, check) => act({ next: { count, check } }),
    add: (sculpt, role) => act({ add: role ? { sculpt, role } : { sculpt } }),
    status: () => act("status"),
    undo: (step = null) => act({ undo: { step } }),
    redo: (step = null) => act({ redo: { step } }),
    export: (out) => act({ export: { out, existing: "replace" } }),
  };
}

/** Poses for a rig that comes without a motion. */
function exerciseRecipe(rig, out) {
  return { exercise: { rig: { file: rig }, out, existing: "replace" } };
}

/** What a session is called: the rig's file, without its folder and ending. */
function sessionFolder(rig) {
  return `${rig.split("/").at(-1).replace(/\.[^.]+$/, "")}.session`;
}

/** The folder of the session among some files; undefined without one. */
function sessionAmong(names) {
  return names.find((name) => /(^|\/)session\.json$/.test(name))?.replace(/\/?session\.json$/, "");
}
