"""Random functions that can be lowered to MLIR: every dtype, ranks 0 to 4, numbers by value and as tensors, branches,
loops whose trips depend on data, sizes that only a run knows, functions as values.

Each function is self-contained text with a name, and says what it takes and gives: ports (dtype, shape, by value).
"""

FLOATS, INTEGERS = ("F32", "F64"), ("I32", "I64")
INDENT = "    "
OF_FLOATS = ("exp expm1 log log2 log1p exp2 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sqrt rsqrt cbrt "
             "reciprocal sigmoid softplus gelu silu erf erfc lgamma floor ceil round step").split()
OF_NUMBERS = "abs sign square relu".split()


def literal(dtype, rng):
    if dtype == "Bool":
        return rng.choice(["true", "false"])
    return str(rng.randint(0, 5)) if dtype in INTEGERS else rng.choice(["0.5", "1.25", "2.0", "0.1", "3.0"])


class Value:
    """A name with its type. dims: numbers, or names where only a run knows the size."""

    def __init__(self, text, dtype, dims):
        self.text, self.dtype, self.dims = text, dtype, tuple(dims)

    @property
    def rank(self):
        return len(self.dims)


class Function:
    def __init__(self, name, rng):
        self.name, self.rng = name, rng
        self.differentiated = rng.random() < 0.5    # its gradient is called too
        self.sizes = {"B": rng.randint(1, 4), "D": rng.randint(1, 4)}
        self.lines, self.values, self.helpers, self.count = [], [], [], 0
        self.depth = 1
        self.parameters = [self.parameter(i) for i in range(rng.randint(1, 4))]
        self.known = {d for p in self.parameters for d in p.dims if isinstance(d, str)}
        self.values = list(self.parameters)
        for _ in range(rng.randint(2, 9)):
            self.statement()
        self.finish()

    # ---- what it takes and gives ----

    def dims(self, rank):
        return [self.rng.choice([1, 2, 3, 4, "B", "D"]) for _ in range(rank)]

    def parameter(self, i):
        dtype = self.rng.choice(["F32", "F32", "F64", "I32", "I64", "Bool"])
        rank = self.rng.choice([0, 0, 1, 1, 2, 2, 3, 4])
        return Value(f"p{i}", dtype, self.dims(rank))

    def written(self, v):
        """A type as its parameter or result spells it; a number by value or as a tensor of rank 0."""
        if v.rank == 0 and v.by_value:
            return v.dtype
        return f"tensor<{v.dtype}, [{', '.join(map(str, v.dims))}]>"

    def finish(self):
        rng = self.rng
        given = [rng.choice(self.values) for _ in range(rng.choice([1, 1, 2, 3]))]
        given[0] = self.values[-1]
        floating = [v for v in self.values if v.dtype in FLOATS]
        self.differentiated = self.differentiated and any(p.dtype in FLOATS for p in self.parameters)
        if self.differentiated:
            given = [floating[-1]]
        self.results = [Value(v.text, v.dtype, v.dims) for v in given]
        for v in self.parameters + self.results:
            v.by_value = v.rank == 0 and rng.random() < 0.6
        names = ", ".join(v.text for v in self.results)
        types = ", ".join(self.written(v) for v in self.results)
        many = len(self.results) > 1
        parameters = ", ".join(f"{v.text}: {self.written(v)}" for v in self.parameters)
        self.lines.append(INDENT + (f"({names})" if many else names))
        head = f"fn {self.name}({parameters}) -> {f'({types})' if many else types} {{\n"
        self.text = "".join(self.helpers) + head + "\n".join(self.lines) + "\n}\n"
        self.signatures = [(self.name, [(v.dtype, v.dims, v.by_value) for v in self.results])]
        if self.differentiated:
            self.add_gradient(parameters)

    def add_gradient(self, parameters):
        """A function beside it that gives the primal and the gradients; nothing is spelled, so by descriptor."""
        floating = [v for v in self.parameters if v.dtype in FLOATS]
        called = ", ".join(v.text for v in self.parameters)
        self.text += f"fn {self.name}_grad({parameters}) {{ handle {self.name}({called}) with reverseMode }}\n"
        results = [(v.dtype, v.dims, False) for v in self.results + floating]
        self.signatures.append((f"{self.name}_grad", results))

    def size(self, d):
        return self.sizes[d] if isinstance(d, str) else d

    def argument_shape(self, v):
        return [self.size(d) for d in v.dims]

    # ---- statements ----

    def fresh(self):
        self.count += 1
        return f"v{self.count}"

    def let(self, text, dtype, dims):
        v = Value(self.fresh(), dtype, dims)
        self.lines.append(f"{INDENT * self.depth}let {v.text} = {text};")
        self.values.append(v)
        return v

    def pick(self, *dtypes, rank=None, least=0):
        found = [v for v in self.values if (not dtypes or v.dtype in dtypes) and (rank is None or v.rank == rank)
                 and v.rank >= least]
        return self.rng.choice(found[-6:] if self.rng.random() < 0.6 else found) if found else None

    def statement(self):
        makers = [self.unary, self.unary, self.binary, self.binary, self.broadcasting, self.compare, self.reduce,
                  self.reduce, self.along, self.shape, self.shape, self.index, self.gather, self.product, self.cast,
                  self.branch, self.loop, self.closure, self.making, self.integer]
        for _ in range(8):
            if self.rng.choice(makers)():
                return

    def unary(self):
        v = self.pick(*FLOATS, *INTEGERS, "Bool")
        if v is None:
            return False
        if v.dtype == "Bool":
            self.let(f"!{v.text}", v.dtype, v.dims)
        else:
            names = OF_NUMBERS + (OF_FLOATS if v.dtype in FLOATS else []) + ["-"]
            if self.differentiated:
                names.remove("lgamma") if "lgamma" in names else None   # its gradient has no lowering
            name = self.rng.choice(names)
            self.let(f"-{v.text}" if name == "-" else f"{name}({v.text})", v.dtype, v.dims)
        return True

    def two(self, dtypes):
        v = self.pick(*dtypes)
        if v is None:
            return None, None
        others = [w.text for w in self.values if w.dtype == v.dtype and (w.dims == v.dims or w.rank == 0)]
        return v, self.rng.choice(others + ([literal(v.dtype, self.rng)] if v.dtype != "Bool" else []))

    def binary(self):
        v, w = self.two(FLOATS + INTEGERS)
        if v is None:
            return False
        form = self.rng.choice(["{0} + {1}", "{0} - {1}", "{0} * {1}", "maximum({0}, {1})", "minimum({0}, {1})"] +
                               (["{0} / {1}", "pow({0}, {1})", "atan2({0}, {1})", "mod({0}, {1})"]
                                if v.dtype in FLOATS else []))
        self.let(form.format(v.text, w), v.dtype, v.dims)
        return True

    def broadcasting(self):
        v = self.pick(*FLOATS, *INTEGERS, least=2)
        if v is None:
            return False
        row = self.let(f"sum({v.text}, axis=0)", v.dtype, v.dims[1:])
        column = self.let(f"max({v.text}, axis=-1, keepdims=true)", v.dtype, v.dims[:-1] + (1,))
        self.let(f"({row.text} + {v.text}) * {column.text}", v.dtype, v.dims)
        return True

    def compare(self):
        v, w = self.two(FLOATS + INTEGERS)
        if v is None:
            return False
        mask = self.let(f"{v.text} {self.rng.choice(['<', '<=', '>', '>=', '==', '!='])} {w}", "Bool", v.dims)
        self.let(f"where({mask.text}, {v.text}, {literal(v.dtype, self.rng)})", v.dtype, v.dims)
        if v.rank > 0:
            self.let(f"{self.rng.choice(['any', 'all'])}({mask.text})", "Bool", ())
        return True

    def reduce(self):
        v = self.pick(*FLOATS, *INTEGERS, least=1)
        if v is None:
            return False
        name = self.rng.choice(["sum", "sum", "prod", "max", "min", "argmax", "argmin"] +
                               (["mean", "logsumexp"] if v.dtype in FLOATS else []))
        dtype = "I64" if name.startswith("arg") else v.dtype
        axis = self.rng.randrange(v.rank)
        rest = v.dims[:axis] + v.dims[axis + 1:]
        kind = self.rng.randrange(3)
        if kind == 0:
            self.let(f"{name}({v.text})", dtype, ())
        elif kind == 1:
            self.let(f"{name}({v.text}, axis={axis})", dtype, rest)
        else:
            self.let(f"{name}({v.text}, axis={axis}, keepdims=true)", dtype,
                     v.dims[:axis] + (1,) + v.dims[axis + 1:])
        return True

    def along(self):
        v = self.pick(*FLOATS, *INTEGERS, least=1)
        if v is None:
            return False
        name = self.rng.choice(["cumsum", "cumprod"] +
                               (["softmax", "log_softmax", "logcumsumexp"] if v.dtype in FLOATS else []))
        self.let(f"{name}({v.text}, axis={self.rng.randrange(v.rank)})", v.dtype, v.dims)
        return True

    def shape(self):
        v = self.pick(least=1)
        if v is None:
            return False
        kind = self.rng.randrange(7)
        axis = self.rng.randrange(v.rank)
        if kind == 0:
            order = list(range(v.rank))
            self.rng.shuffle(order)
            self.let(f"permute({v.text}, {order})", v.dtype, [v.dims[i] for i in order])
        elif kind == 1 and v.rank < 4:
            self.let(f"expand_dims({v.text}, {axis})", v.dtype, v.dims[:axis] + (1,) + v.dims[axis:])
        elif kind == 2 and all(isinstance(d, int) for d in v.dims):
            size = 1
            for d in v.dims:
                size *= d
            self.let(f"reshape({v.text}, [{size}])", v.dtype, (size,))
        elif kind == 3 and 1 in v.dims:
            at = v.dims.index(1)
            self.let(f"squeeze({v.text}, {at})", v.dtype, v.dims[:at] + v.dims[at + 1:])
        elif kind == 4 and isinstance(v.dims[axis], int):
            self.let(f"concat(({v.text}, {v.text}), axis={axis})", v.dtype,
                     v.dims[:axis] + (2 * v.dims[axis],) + v.dims[axis + 1:])
        elif kind == 5 and v.rank < 4:
            self.let(f"broadcast({v.text}, [2, {', '.join(map(str, v.dims))}])", v.dtype, (2,) + v.dims)
        else:
            self.let(f"transpose({v.text})", v.dtype, v.dims[::-1])
        return True

    def index(self):
        v = self.pick(least=1)
        if v is None:
            return False
        subscripts, dims = [], []
        for d in v.dims[:self.rng.randint(1, v.rank)]:
            kind = self.rng.randrange(5)
            if kind == 0 or not isinstance(d, int):
                subscripts.append(":" if kind < 3 else "0")
                dims += [d] if kind < 3 else []
            elif kind == 1:
                subscripts.append("::-1")
                dims.append(d)
            elif kind == 2:
                subscripts.append(f"{d - 1}")
            elif kind == 3:
                subscripts.append("::2")
                dims.append((d + 1) // 2)
            else:
                subscripts.append(f"{d - 1}:{d}")
                dims.append(1)
        dims += v.dims[len(subscripts):]
        self.let(f"{v.text}[{', '.join(subscripts)}]", v.dtype, dims)
        return True

    def places(self, v, axis, dims):
        """Indices within the axis, of a shape that a tensor of integers has, or that is written."""
        size = f"dim({v.text}, {axis})"
        w = self.pick(*INTEGERS, least=0)
        if w is not None and w.rank <= 2:
            to = w.dtype
            return self.let(f"mod({w.text}, {to}({size}))", to, w.dims)
        return self.let(f"mod([3, 0, 7, 1], I32({size}))", "I32", (4,))

    def gather(self):
        v = self.pick(*FLOATS, *INTEGERS, least=1)
        if v is None:
            return False
        axis = self.rng.randrange(v.rank)
        at = self.places(v, axis, v.dims)
        dims = v.dims[:axis] + at.dims + v.dims[axis + 1:]
        if len(dims) > 4:
            return False
        taken = self.let(f"take({v.text}, {at.text}, axis={axis})", v.dtype, dims)
        if self.rng.random() < 0.6:
            self.let(f"scatter_add({v.text}, {at.text}, {taken.text}, axis={axis})", v.dtype, v.dims)
        return True

    def product(self):
        v = self.pick(*FLOATS, *INTEGERS, least=1)
        if v is None:
            return False
        others = [w for w in self.values if w.dtype == v.dtype and w.rank >= 1]
        w = self.rng.choice(others)
        inner = w.dims[-2] if w.rank > 1 else w.dims[0]
        if v.dims[-1] == inner and v.rank <= 2 and w.rank <= 2:
            self.let(f"{v.text} @ {w.text}", v.dtype, v.dims[:-1] + (w.dims[1:] if w.rank > 1 else ()))
        elif v.rank == 2:
            self.let(f"{v.text} @ transpose({v.text})", v.dtype, (v.dims[0], v.dims[0]))
        elif v.rank == 3:
            self.let(f"{v.text} @ permute({v.text}, [0, 2, 1])", v.dtype, (v.dims[0], v.dims[1], v.dims[1]))
        else:
            return False
        return True

    def cast(self):
        v = self.pick()
        to = self.rng.choice(["F32", "F64", "I32", "I64", "Bool"])
        self.let(f"{to}({v.text})", to, v.dims)
        return True

    def integer(self):
        v, w = self.two(INTEGERS)
        if v is None:
            return False
        divisor = self.let(f"where({w} == 0, 3, {w})" if not w.isdigit() else f"{int(w) + 1}",
                           v.dtype, ()) if w.isdigit() else None
        if divisor is not None:
            self.values.pop()
            self.lines.pop()
            by = str(int(w) + 1)
        else:
            by = f"where({w} == {v.dtype}(0), {v.dtype}(3), {w})"
        self.let(self.rng.choice(["{0} / {1}", "{0} % {1}", "mod({0}, {1})"]).format(v.text, by), v.dtype, v.dims)
        return True

    def condition(self):
        v = self.pick(*FLOATS, *INTEGERS)
        if v is None:
            return None
        number = v.text if v.rank == 0 else f"sum({v.text})"
        return f"{number} > {literal(v.dtype, self.rng)}"

    def branch(self):
        condition, v = self.condition(), self.pick(*FLOATS, *INTEGERS)
        if condition is None or v is None:
            return False
        other = self.rng.choice([f"-{v.text}", f"{v.text} + {v.text}", f"square({v.text})"])
        self.let(f"if ({condition}) {{ {v.text} * {literal(v.dtype, self.rng)} }} else {{ {other} }}", v.dtype, v.dims)
        return True

    def loop(self):
        """Trips depend on the data: on a sum that grows, and on a count."""
        v = self.pick(*FLOATS)
        if v is None:
            return False
        total = "x" if v.rank == 0 else "sum(x)"
        bound = self.rng.randint(1, 5)
        step = self.rng.choice([f"x * 0.5 + {v.text}", "sin(x) + x", f"maximum(x, {v.text}) - 0.25"])
        self.let(f"while (i < {bound} && {total} < 4.0) [x = copy({v.text}), i = 0] {{ ({step}, i + 1) }}", v.dtype, v.dims)
        return True

    def closure(self):
        v = self.pick(*FLOATS)
        scalar = self.pick(v.dtype, rank=0) if v is not None else None
        if v is None or scalar is None:
            return False
        name = f"{self.name}_twice{len(self.helpers)}"
        t = Value("", v.dtype, v.dims)
        t.by_value = False
        written = self.written(t) if v.rank > 0 else v.dtype
        self.helpers.append(f"fn {name}(f: fn({written}) -> {written}, x: {written}) -> {written} {{ f(f(x)) }}\n"
                            if all(isinstance(d, int) for d in v.dims) else "")
        if not self.helpers[-1]:
            self.let(f"(fn(y: {written}) -> {written} {{ y * {scalar.text} }})({v.text})", v.dtype, v.dims)
        else:
            self.let(f"{name}(fn(y: {written}) -> {written} {{ y * {scalar.text} }}, {v.text})", v.dtype, v.dims)
        return True

    def making(self):
        v = self.pick(least=1)
        if v is None:
            return False
        kind = self.rng.randrange(5)
        d = self.rng.choice(v.dims)
        if kind == 0:
            self.let(f"arange({d})", "I32", (d,))
        elif kind == 1:
            self.let(f"eye({d})", "F32", (d, d))
        elif kind == 2:
            self.let(f"zeros([{', '.join(map(str, v.dims))}])", "F32", v.dims)
        elif kind == 3 and v.dtype != "Bool":
            self.let(f"ones_like({v.text}) + {v.text}", v.dtype, v.dims)
        else:
            self.let(f"full([{d}, 2], 1.5)", "F32", (d, 2))
        return True
