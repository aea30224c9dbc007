// The 3D views of a page of figures: each starts when the reader comes near it, because a browser gives a page few of them.
(() => {
  const { root, element, digits, nice, fail } = pageTools;
  const start = (host, data) => {
    try {
      if (!data.rig) {
        startView(host, data, { element, digits, nice, fail }, () => {});
        return;
      }
      const view = makeRigView({ host, rig: data.rig, element, fail });
      if (view.rows[data.paint]) view.paint(data.paint);
      view.choose(data.bone);
    } catch (error) {
      fail(error);
    }
  };
  try {
    const all = new Map(Object.values(pageData("in-3d")).flat().map((data) => [data.id, data]));
    const near = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting || !all.has(target.id)) continue;
        near.unobserve(target);
        const data = all.get(target.id);
        all.delete(target.id);
        start(target, data);
      }
    }, { rootMargin: "400px" });
    document.querySelectorAll(".view-host").forEach((host) => near.observe(host));
    if (root.dataset.state !== "error") root.dataset.state = "ready";
  } catch (error) {
    fail(error);
  }
})();
