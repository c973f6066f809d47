"""Which file of Python uses which of the same folder, by its imports, also those within functions."""

import ast


def uses_in(folder):
    """{(file, file): {name}}, in the form of `rust_modules.uses_in`."""
    files = {file.stem: file for file in sorted(folder.glob("*.py"))}
    uses = {}
    for file in files.values():
        for node in ast.walk(ast.parse(file.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and node.level < 2:
                names = [node.module]
            elif isinstance(node, ast.ImportFrom) and node.level == 1:
                names = [alias.name for alias in node.names]
            for name in names:
                other = files.get(name.split(".")[0])
                if other not in (None, file):
                    uses.setdefault((file, other), set()).add(name)
    return uses
