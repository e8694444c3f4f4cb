if not __name__.startswith("hsmdc."):
    raise ImportError(
        "this folder is the package 'hsmdc.validation'; install the project (pip install -e .) and "
        "import it by that name"
    )
