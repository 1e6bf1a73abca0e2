// A cell that is run in the first second waits for the notebook's kernel. JupyterLab alone asks which kernel to take,
// or drops the cell, where the kernel of the lesson is still being started.
//
// A JupyterLab extension as its loader takes one: a container that is given what JupyterLab shares, and gives plugins.
(() => {
  let shared;

  const load = async (name) => {
    const version = Object.values(shared[name])[0];
    return (await version.get())();
  };

  const plugin = async () => {
    const { INotebookCellExecutor, runCell } = await load("@jupyterlab/notebook");
    return {
      id: "custom-autograd-functions:patience",
      description: "Runs a cell when the notebook's kernel has been started.",
      autoStart: true,
      provides: INotebookCellExecutor,
      activate: () => ({
        runCell: async (options) => {
          await options.sessionContext?.ready;
          return runCell(options);
        },
      }),
    };
  };

  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB["custom-autograd-functions"] = {
    init: (scope) => {
      shared = scope;
    },
    get: async () => {
      const found = await plugin();
      return () => ({ __esModule: true, default: found });
    },
  };
})();
