"""JupyterLab with a real kernel in a real browser."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

import nbformat
import pytest


@contextmanager
def jupyter_lab(folder):
    """A server for the notebooks of a folder: its address; skips the test if JupyterLab is not installed."""
    pytest.importorskip("jupyterlab", reason="jupyterlab is not installed")
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    settings = folder / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    quiet = {"checkForUpdates": False, "doNotDisturbMode": True, "fetchNews": "false"}
    (settings / "notification.jupyterlab-settings").write_text(json.dumps(quiet))
    own = {
        "JUPYTERLAB_SETTINGS_DIR": "settings", "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "JUPYTER_CONFIG_DIR": "config", "JUPYTER_RUNTIME_DIR": "runtime", "IPYTHONDIR": "ipython",
    }  # fmt: skip
    env = os.environ | {name: str(folder / part) for name, part in own.items()}
    options = [
        "--no-browser", "--allow-root", f"--port={port}", "--ServerApp.port_retries=0", "--ip=127.0.0.1",
        "--IdentityProvider.token=", f"--ServerApp.root_dir={folder}", "--LabApp.expose_app_in_browser=True",
        "--LabApp.extension_manager=readonly", "--ServerApp.terminals_enabled=False",
    ]  # fmt: skip
    with (folder / "lab.log").open("w") as log:
        server = subprocess.Popen([sys.executable, "-m", "jupyterlab", *options], env=env, stdout=log, stderr=log)
    try:
        address = f"http://127.0.0.1:{port}"
        for _ in range(300):
            if server.poll() is not None:
                break
            try:
                urllib.request.urlopen(f"{address}/api", timeout=1).close()
            except OSError:
                time.sleep(0.1)
            else:
                yield address
                return
        raise RuntimeError((folder / "lab.log").read_text())
    finally:
        server.terminate()
        server.wait(timeout=20)


def write_notebook(path, *cells):
    """A notebook with these cells, not run yet."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, path)


class Notebook:
    """A notebook that is open in JupyterLab."""

    def __init__(self, page, address, path):
        self.page = page
        page.goto(f"{address}/lab/tree/{path.name}?reset")
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
        page.wait_for_selector(".jp-NotebookPanel-toolbar")

    def run(self, number):
        """Run one cell and wait until the kernel has answered; its text output."""
        self.page.evaluate(
            """async number => { const app = window.jupyterapp; const panel = app.shell.currentWidget;
                await panel.sessionContext.ready; panel.content.activeCellIndex = number;
                await app.commands.execute('notebook:run-cell'); }""",
            number,
        )
        return (
            self.page.locator(".jp-Notebook .jp-CodeCell")
            .nth(number)
            .locator(".jp-OutputArea-output")
            .all_inner_texts()
        )
