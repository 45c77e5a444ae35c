import lit.formats

config.name = "compiled Kina"
config.test_format = lit.formats.ShTest()
config.suffixes = [".test"]
config.substitutions += [("%kina", "kina-interp"), ("%cc", "gcc")]
config.environment["PATH"] = __import__("os").environ["PATH"]
