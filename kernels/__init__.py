"""Compiled kernels: arrays and scalars in, arrays out; no files, no configuration, no Dataset."""

if not __name__.startswith("hsmdc."):
    raise ImportError(
        "this folder is the package 'hsmdc.kernels'; install the project (pip install -e .) and "
        "import it by that name"
    )
