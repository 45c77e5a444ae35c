"""Random well-typed programs, each written twice: as Kina and as Python on torch tensors.

A program is one function f of several parameters with statements, branches, loops, closures and calls, and
an argument for each parameter. Both texts are grown together, so that they mean the same thing by
construction. Numbers stay small: every expression carries a bound of its size and is scaled or squashed when
that grows. Whatever decides something (a branch, relu, max) goes through `decide` in the torch text, which
notes how near to a tie it was; the driver drops programs that come too near.
"""
import random

from helpers import HELPERS

LITERALS = ["0.125", "0.25", "0.375", "0.5", "0.625", "0.75", "0.875", "1.25", "1.5"]
SHAPES = [(), (2,), (3,), (4,), (2, 3), (3, 2), (3, 3), (2, 4), (4, 1), (1, 3), (2, 1), (2, 3, 2), (2, 1, 3)]
INDENT = "  "

# One operand: Kina, torch, and the bound of the result for a bound b of the operand.
UNARY = [
    ("tanh({0})", "torch.tanh({0})", lambda b: 1.0),
    ("sin({0})", "torch.sin({0})", lambda b: 1.0),
    ("cos({0})", "torch.cos({0})", lambda b: 1.0),
    ("sigmoid({0})", "torch.sigmoid({0})", lambda b: 1.0),
    ("atan({0})", "torch.atan({0})", lambda b: 1.6),
    ("erf({0})", "torch.erf({0})", lambda b: 1.0),
    ("erfc({0})", "torch.erfc({0})", lambda b: 2.0),
    ("softplus({0})", "F.softplus({0})", lambda b: b + 0.7),
    ("gelu({0})", "F.gelu({0})", lambda b: b),
    ("silu({0})", "F.silu({0})", lambda b: b),
    ("(-{0})", "(-{0})", lambda b: b),
    ("square({0})", "torch.square({0})", lambda b: b * b),
    ("exp((0.5 * {0}))", "torch.exp(0.5 * {0})", lambda b: 2.72 ** (b / 2)),
    ("exp2((0.5 * sin({0})))", "torch.exp2(0.5 * torch.sin({0}))", lambda b: 1.5),
    ("expm1((0.25 * {0}))", "torch.expm1(0.25 * {0})", lambda b: 2.72 ** (b / 4)),
    ("sqrt((square({0}) + 0.5))", "torch.sqrt(torch.square({0}) + 0.5)", lambda b: b + 1),
    ("rsqrt((square({0}) + 1.0))", "torch.rsqrt(torch.square({0}) + 1.0)", lambda b: 1.0),
    ("cbrt((square({0}) + 1.0))", "((torch.square({0}) + 1.0) ** (1.0 / 3.0))", lambda b: b + 1),
    ("reciprocal((square({0}) + 1.0))", "torch.reciprocal(torch.square({0}) + 1.0)", lambda b: 1.0),
    ("log((square({0}) + 1.5))", "torch.log(torch.square({0}) + 1.5)", lambda b: b + 0.5),
    ("log1p(square({0}))", "torch.log1p(torch.square({0}))", lambda b: b + 0.5),
    ("log2((square({0}) + 1.0))", "torch.log2(torch.square({0}) + 1.0)", lambda b: 1.5 * b + 0.5),
    ("asinh({0})", "torch.asinh({0})", lambda b: b),
    ("acosh((square({0}) + 1.5))", "torch.acosh(torch.square({0}) + 1.5)", lambda b: b + 1.5),
    ("atanh((0.5 * sin({0})))", "torch.atanh(0.5 * torch.sin({0}))", lambda b: 0.6),
    ("asin((0.5 * cos({0})))", "torch.asin(0.5 * torch.cos({0}))", lambda b: 0.6),
    ("acos((0.5 * sin({0})))", "torch.acos(0.5 * torch.sin({0}))", lambda b: 2.1),
    ("tan((0.5 * tanh({0})))", "torch.tan(0.5 * torch.tanh({0}))", lambda b: 0.6),
    ("sinh((0.5 * sin({0})))", "torch.sinh(0.5 * torch.sin({0}))", lambda b: 0.6),
    ("cosh((0.5 * sin({0})))", "torch.cosh(0.5 * torch.sin({0}))", lambda b: 1.2),
    ("lgamma((square({0}) + 1.0))", "gamma.lgamma(torch.square({0}) + 1.0)", lambda b: b * b + 0.2),
    ("digamma((square({0}) + 1.0))", "gamma.digamma(torch.square({0}) + 1.0)", lambda b: b + 1.0),
    ("relu({0})", "torch.relu(decide({0}, 0.0))", lambda b: b),
    ("abs({0})", "torch.abs(decide({0}, 0.0))", lambda b: b),
    ("clamp({0}, -0.5, 0.75)", "torch.clamp(decide(decide({0}, -0.5), 0.75), -0.5, 0.75)", lambda b: 0.75),
    ("stop_gradient({0})", "{0}.detach()", lambda b: b),
    ("copy({0})", "({0} * 1.0)", lambda b: b),
]

# Two operands that broadcast.
BINARY = [
    ("({0} + {1})", "({0} + {1})", lambda a, b: a + b),
    ("({0} - {1})", "({0} - {1})", lambda a, b: a + b),
    ("({0} * {1})", "({0} * {1})", lambda a, b: a * b),
    ("({0} * {1})", "({0} * {1})", lambda a, b: a * b),
    ("({0} / (square({1}) + 1.0))", "({0} / (torch.square({1}) + 1.0))", lambda a, b: a),
    ("atan2({0}, (square({1}) + 0.5))", "torch.atan2({0}, torch.square({1}) + 0.5)", lambda a, b: 1.6),
    # Not at an exponent of 0, where torch's second derivative is wrong (it is 0 and should be 1/x).
    ("pow((square({0}) + 0.5), tanh({1}))", "torch.pow(torch.square({0}) + 0.5, torch.tanh(decide({1}, 0.0)))",
     lambda a, b: max(a * a + 0.5, 2.0)),
    ("maximum({0}, {1})", "larger({0}, {1})", max),
    ("minimum({0}, {1})", "smaller({0}, {1})", max),
]


class Expression:
    """The two texts of an expression, its shape, and a bound of its elements' size."""

    def __init__(self, kina, torch, shape, bound):
        self.kina, self.torch, self.shape, self.bound = kina, torch, shape, bound


class Variable(Expression):
    def __init__(self, name, shape, bound):
        super().__init__(name, name, shape, bound)
        self.name = name


class Block:
    """Lines of the two texts at one depth of nesting, and the names that they bind."""

    def __init__(self, scope, depth, counter=None):
        self.scope, self.depth, self.counter = list(scope), depth, counter
        self.kina, self.torch = [], []
        self.unused = []
        self.own = []

    def bind(self, variable):
        self.scope.append(variable)
        self.unused.append(variable)
        self.own.append(variable)
        return variable

    def read(self, variable):
        if variable in self.unused:
            self.unused.remove(variable)
        return variable


def dims(shape):
    return "[" + ", ".join(map(str, shape)) + "]"


class Program:
    """A random program: `.functions` (Kina), `.torch` (Python), `.parameters` [(name, shape)], `.result` shape."""

    def __init__(self, seed, dtype):
        self.random = random.Random(seed)
        self.dtype = dtype
        self.names = 0
        self.helpers = {}
        chance = self.random
        self.shapes = [(), *chance.sample(SHAPES[1:], 4)]  # few, so that variables of one shape meet
        self.parameters = [(f"p{k}", chance.choice(self.shapes)) for k in range(chance.randint(2, 4))]
        self.count_at = chance.randint(0, len(self.parameters))  # where the integer parameter n stands
        self.count = chance.randint(0, 4)
        self.result = chance.choice([(), (), (), (2,), (2, 3), (3, 1)])
        self.write()

    # ---- text ----

    def type(self, shape):
        return f"tensor<{self.dtype}, {dims(shape)}>" if shape else self.dtype

    def name(self):
        self.names += 1
        return f"v{self.names}"

    def signature(self):
        parts = [f"{name}: {self.type(shape)}" for name, shape in self.parameters]
        parts.insert(self.count_at, "n: I32")
        return ", ".join(parts)

    def write(self):
        block = Block([Variable(name, shape, 1.5) for name, shape in self.parameters], 1)
        block.unused, block.own = list(block.scope), list(block.scope)
        self.statements(block, self.random.randint(3, 7), nesting=2)
        final = self.close(block, self.result)
        helpers = [HELPERS[name] for name in sorted(self.helpers)]
        head = f"fn f({self.signature()}) -> {self.type(self.result)} {{\n"
        self.functions = "".join(h.kina.replace("DT", self.dtype) + "\n" for h in helpers) \
            + head + "".join(line + "\n" for line in block.kina) + INDENT + final.kina + "\n}\n"
        names = [name for name, _ in self.parameters]
        self.torch = "".join(h.torch + "\n" for h in helpers) + f"def f(n, {', '.join(names)}):\n" \
            + "".join(line + "\n" for line in block.torch) + f"{INDENT}return {final.torch}\n"

    def line(self, block, kina, torch):
        for text, lines in ((kina, block.kina), (torch, block.torch)):
            lines += [INDENT * block.depth + line for line in text.split("\n")] if text else []

    # ---- expressions ----

    def bounded(self, e):
        """e, scaled or squashed so that its elements stay below 3."""
        if e.bound <= 3.0:
            return e
        if e.bound <= 6.0:
            return Expression(f"(0.5 * {e.kina})", f"(0.5 * {e.torch})", e.shape, e.bound / 2)
        return Expression(f"tanh((0.25 * {e.kina}))", f"torch.tanh(0.25 * {e.torch})", e.shape, 1.0)

    def constant(self, shape):
        """Lists of multiples of 1/8, all different in a small tensor, so that max has no ties."""
        size = 1
        for d in shape:
            size *= d
        numbers = self.random.sample(range(-12, 13), size) if size <= 25 else [self.random.randint(-12, 12) for _ in range(size)]

        def nested(dims):
            return [nested(dims[1:]) for _ in range(dims[0])] if dims else numbers.pop() / 8
        return str(nested(shape))

    def leaf(self, block, shape):
        """A variable of the shape, or one of another shape brought to it with the help of a constant."""
        same = [v for v in block.scope if v.shape == shape]
        if same and self.random.random() < 0.9:
            fresh = [v for v in same if v in block.unused]
            return block.read(self.random.choice(fresh or same))
        other = block.read(self.random.choice(block.unused or block.scope))
        mean = Expression(other.kina, other.torch, (), other.bound) if not other.shape else \
            Expression(f"mean({other.kina})", f"torch.mean({other.torch})", (), other.bound)
        if not shape:
            return mean
        if self.random.random() < 0.2:
            literal = self.random.choice(LITERALS)
            return Expression(f"({self.type(shape)}({literal}) * {mean.kina})",
                              f"(full({shape}, {literal}) * {mean.torch})", shape, mean.bound * 1.5)
        numbers, sign = self.constant(shape), self.random.choice("+*")
        return Expression(f"({self.type(shape)}({numbers}) {sign} {mean.kina})", f"(const({numbers}) {sign} {mean.torch})",
                          shape, mean.bound * 1.5 + 1.5)

    def operand_shapes(self, shape):
        """Two shapes that broadcast to `shape` through missing axes and literal ones."""
        def less(s):
            roll = self.random.random()
            if roll < 0.5 or not s:
                return s
            if roll < 0.65:
                return ()
            if roll < 0.8:
                return s[1:]
            return tuple(1 if self.random.random() < 0.5 else d for d in s)
        return (shape, less(shape)) if self.random.random() < 0.5 else (less(shape), shape)

    def expression(self, block, shape, depth):
        if depth <= 0:
            return self.leaf(block, shape)
        roll = self.random.random()
        if roll < 0.34:
            kina, torch, bound = self.random.choice(UNARY)
            x = self.expression(block, shape, depth - 1)
            e = Expression(kina.format(x.kina), torch.format(x.torch), shape, bound(x.bound))
        elif roll < 0.60:
            kina, torch, bound = self.random.choice(BINARY)
            left, right = self.operand_shapes(shape)
            x, y = self.expression(block, left, depth - 1), self.expression(block, right, depth - 1)
            if "maximum" in kina or "minimum" in kina:  # never a tie by having one operand twice
                y = Expression(f"(0.5 * {y.kina} + 0.125)", f"(0.5 * {y.torch} + 0.125)", right, y.bound)
            e = Expression(kina.format(x.kina, y.kina), torch.format(x.torch, y.torch), shape, bound(x.bound, y.bound))
        elif roll < 0.66:
            literal = self.random.choice(LITERALS)
            x = self.expression(block, shape, depth - 1)
            sign = self.random.choice("+-*")
            e = Expression(f"({literal} {sign} {x.kina})", f"({literal} {sign} {x.torch})", shape, x.bound * 1.5 + 1.5)
        elif roll < 0.72:
            e = self.choice_by_mask(block, shape, depth)
        else:
            makers = self.structural(shape)
            e = self.random.choice(makers)(block, shape, depth) if makers else self.leaf(block, shape)
        return self.bounded(e)

    def choice_by_mask(self, block, shape, depth):
        x, y = self.expression(block, shape, depth - 1), self.expression(block, shape, depth - 1)
        test = self.expression(block, shape, depth - 1)
        literal = self.random.choice(LITERALS)
        torch = f"torch.where(decide({test.torch}, {literal}) > {literal}, {x.torch}, {y.torch})"
        if shape and self.random.random() < 0.5:
            kina = f"(if ({test.kina} > {literal}) {{ {x.kina} }} else {{ {y.kina} }})"
        else:
            kina = f"where({test.kina} > {literal}, {x.kina}, {y.kina})"
        return Expression(kina, torch, shape, max(x.bound, y.bound))

    def structural(self, shape):
        """The ways to come by a tensor of this shape that are not elementwise."""
        ways = [self.reduction, self.reduction, self.row, self.call]
        if not shape:
            ways += [self.whole_reduction, self.whole_reduction, self.dot, self.entry, self.product]
        if shape:
            ways += [self.part, self.part, self.joined, self.softmax, self.spread, self.reshaped, self.gathered, self.scattered]
        if 2 <= len(shape) <= 3:
            ways += [self.matmul, self.matmul, self.permuted]
        if len(shape) == 1:
            ways += [self.vector_product]
        if len(shape) == 2:
            ways += [self.outer]
        if 1 in shape:
            ways += [self.kept_reduction]
        return ways

    def reduced(self, block, source, depth, axis, keep, shape):
        kind = self.random.choice(["sum", "mean", "logsumexp", "max", "min"])
        x = self.expression(block, source, depth - 1)
        n = source[axis]
        torch = {"sum": f"torch.sum({x.torch}, {axis}, {keep})", "mean": f"torch.mean({x.torch}, {axis}, {keep})",
                 "logsumexp": f"torch.logsumexp({x.torch}, {axis}, {keep})",
                 "max": f"torch.amax(apart({x.torch}, {axis}), {axis}, {keep})",
                 "min": f"torch.amin(apart({x.torch}, {axis}), {axis}, {keep})"}[kind]
        keepdims = ", keepdims=true" if keep else ""
        at = self.random.choice([axis, axis - len(source)])
        bound = {"sum": x.bound * n, "logsumexp": x.bound + n}.get(kind, x.bound)
        return Expression(f"{kind}({x.kina}, axis={at}{keepdims})", torch, shape, bound)

    def reduction(self, block, shape, depth):
        axis = self.random.randint(0, len(shape))
        source = shape[:axis] + (self.random.randint(2, 4),) + shape[axis:]
        return self.reduced(block, source, depth, axis, False, shape)

    def kept_reduction(self, block, shape, depth):
        axis = self.random.choice([a for a, d in enumerate(shape) if d == 1])
        source = shape[:axis] + (self.random.randint(2, 4),) + shape[axis + 1:]
        return self.reduced(block, source, depth, axis, True, shape)

    def whole_reduction(self, block, shape, depth):
        source = self.random.choice([s for s in SHAPES if s])
        x = self.expression(block, source, depth - 1)
        size = 1
        for d in source:
            size *= d
        kind, bound = self.random.choice([("sum", x.bound * size), ("mean", x.bound)])
        return Expression(f"{kind}({x.kina})", f"torch.{kind}({x.torch})", (), bound)

    def product(self, block, shape, depth):
        x = self.expression(block, (3,), depth - 1)
        return Expression(f"prod(sin({x.kina}))", f"torch.prod(torch.sin({x.torch}))", (), 1.0)

    def dot(self, block, shape, depth):
        n = self.random.randint(2, 4)
        x, y = self.expression(block, (n,), depth - 1), self.expression(block, (n,), depth - 1)
        form = self.random.choice(["dot({0}, {1})", "({0} @ {1})"])
        return Expression(form.format(x.kina, y.kina), f"torch.dot({x.torch}, {y.torch})", (), n * x.bound * y.bound)

    def entry(self, block, shape, depth):
        x = self.expression(block, (3, 2), depth - 1)
        i, j = self.random.choice(["0", "1", "2", "-1"]), self.random.choice(["0", "1", "-2"])
        return Expression(f"{x.kina}[{i}, {j}]", f"{x.torch}[{i}, {j}]", (), x.bound)

    def row(self, block, shape, depth):
        """x[i], by a constant, the counter of the loop around, or the parameter n."""
        n = self.random.randint(2, 4)
        x = self.expression(block, (n,) + shape, depth - 1)
        index = self.random.choice([str(self.random.randrange(n)), "-1", f"({block.counter or 'n'} % {n})"])
        return Expression(f"{x.kina}[{index}]", f"{x.torch}[{index}]", shape, x.bound)

    def part(self, block, shape, depth):
        """A slice along one axis, forwards, backwards or in steps of two."""
        axis = self.random.randrange(len(shape))
        d = shape[axis]
        kind = self.random.choice(["range", "reverse", "step"])
        if kind == "reverse":
            x = self.expression(block, shape, depth - 1)
            cut, torch = "::-1", f"torch.flip({x.torch}, ({axis},))"
        else:
            lo, step = self.random.randint(0, 2), 1 if kind == "range" else 2
            size = lo + step * (d - 1) + 1 + self.random.randint(0, 1)
            x = self.expression(block, shape[:axis] + (size,) + shape[axis + 1:], depth - 1)
            cut = f"{lo}:{lo + step * (d - 1) + 1}" + (":2" if step == 2 else "")
            torch = f"{x.torch}[{', '.join([':'] * axis + [cut])}]"
        return Expression(f"{x.kina}[{', '.join([':'] * axis + [cut])}]", torch, shape, x.bound)

    def joined(self, block, shape, depth):
        axis = self.random.randrange(len(shape))
        d = shape[axis]
        if d == 2 and self.random.random() < 0.5:
            inner = shape[:axis] + shape[axis + 1:]
            x, y = self.expression(block, inner, depth - 1), self.expression(block, inner, depth - 1)
            return Expression(f"stack(({x.kina}, {y.kina}), axis={axis})", f"torch.stack(({x.torch}, {y.torch}), {axis})",
                              shape, max(x.bound, y.bound))
        if d < 2:
            return self.leaf(block, shape)
        cut = self.random.randint(1, d - 1)
        x, y = (self.expression(block, shape[:axis] + (k,) + shape[axis + 1:], depth - 1) for k in (cut, d - cut))
        return Expression(f"concat(({x.kina}, {y.kina}), axis={axis})", f"torch.cat(({x.torch}, {y.torch}), {axis})",
                          shape, max(x.bound, y.bound))

    def softmax(self, block, shape, depth):
        x = self.expression(block, shape, depth - 1)
        axis = self.random.randrange(len(shape))
        kind = self.random.choice(["softmax", "log_softmax"])
        return Expression(f"{kind}({x.kina}, axis={axis})", f"torch.{kind}({x.torch}, {axis})", shape,
                          1.0 if kind == "softmax" else 2 * x.bound + 2)

    def spread(self, block, shape, depth):
        source = self.random.choice([(), shape[1:], tuple(1 for _ in shape)])
        x = self.expression(block, source, depth - 1)
        return Expression(f"broadcast({x.kina}, {dims(shape)})", f"torch.broadcast_to({x.torch}, {shape})", shape, x.bound)

    def reshaped(self, block, shape, depth):
        size = 1
        for d in shape:
            size *= d
        sources = [s for s in [(size,), (1, size), (size, 1), (2, size // 2), (size // 2, 2)]
                   if s != shape and s[0] * (s[1] if len(s) > 1 else 1) == size]
        source = self.random.choice(sources)
        x = self.expression(block, source, depth - 1)
        return Expression(f"reshape({x.kina}, {dims(shape)})", f"torch.reshape({x.torch}, {shape})", shape, x.bound)

    def permuted(self, block, shape, depth):
        if len(shape) == 2:
            x = self.expression(block, shape[::-1], depth - 1)
            return Expression(f"transpose({x.kina})", f"{x.torch}.T", shape, x.bound)
        axes = self.random.choice([(1, 2, 0), (2, 0, 1), (0, 2, 1), (2, 1, 0)])
        source = [0] * 3
        for k, axis in enumerate(axes):
            source[axis] = shape[k]
        x = self.expression(block, tuple(source), depth - 1)
        return Expression(f"permute({x.kina}, {dims(axes)})", f"torch.permute({x.torch}, {axes})", shape, x.bound)

    def gathered(self, block, shape, depth):
        n = self.random.randint(2, 4)
        axis = self.random.randrange(len(shape))
        x = self.expression(block, shape[:axis] + (n,) + shape[axis + 1:], depth - 1)
        indices = dims([self.random.randrange(n) for _ in range(shape[axis])])
        return Expression(f"take({x.kina}, {indices}, axis={axis})",
                          f"torch.index_select({x.torch}, {axis}, torch.tensor({indices}))", shape, x.bound)

    def scattered(self, block, shape, depth):
        indices = [self.random.randrange(shape[0]) for _ in range(3)]
        x = self.expression(block, shape, depth - 1)
        y = self.expression(block, (3,) + shape[1:], depth - 1)
        return Expression(f"scatter_add({x.kina}, {dims(indices)}, {y.kina})",
                          f"torch.index_add({x.torch}, 0, torch.tensor({indices}), {y.torch})", shape, x.bound + 3 * y.bound)

    def matmul(self, block, shape, depth):
        k = self.random.randint(2, 4)
        right = shape[:-2] if self.random.random() < 0.5 else ()
        x = self.expression(block, shape[:-1] + (k,), depth - 1)
        y = self.expression(block, right + (k, shape[-1]), depth - 1)
        return Expression(f"({x.kina} @ {y.kina})", f"({x.torch} @ {y.torch})", shape, k * x.bound * y.bound)

    def vector_product(self, block, shape, depth):
        k = self.random.randint(2, 4)
        if self.random.random() < 0.5:
            x, y = self.expression(block, (k,), depth - 1), self.expression(block, (k,) + shape, depth - 1)
        else:
            x, y = self.expression(block, shape + (k,), depth - 1), self.expression(block, (k,), depth - 1)
        return Expression(f"({x.kina} @ {y.kina})", f"({x.torch} @ {y.torch})", shape, k * x.bound * y.bound)

    def outer(self, block, shape, depth):
        x, y = self.expression(block, shape[:1], depth - 1), self.expression(block, shape[1:], depth - 1)
        return Expression(f"outer({x.kina}, {y.kina})", f"torch.outer({x.torch}, {y.torch})", shape, x.bound * y.bound)

    def call(self, block, shape, depth):
        """A call of a helper whose result has this shape."""
        fitting = [(name, fit) for name, h in sorted(HELPERS.items()) if (fit := h.fit(shape, self.random))]
        if not fitting:
            return self.leaf(block, shape)
        name, shapes = self.random.choice(fitting)
        self.helpers[name] = True
        for needed in HELPERS[name].needs:
            self.helpers[needed] = True
        arguments = [self.expression(block, s, depth - 1) for s in shapes]
        extra = HELPERS[name].extra(block.counter or "n")
        return Expression(f"{name}({', '.join([a.kina for a in arguments] + extra)})",
                          f"{name}({', '.join([a.torch for a in arguments] + extra)})", shape,
                          HELPERS[name].bound(max(a.bound for a in arguments)))

    # ---- statements ----

    def statements(self, block, count, nesting):
        for _ in range(count):
            roll = self.random.random()
            if nesting and roll < 0.22:
                self.branch(block, nesting)
            elif nesting and roll < 0.42:
                self.loop(block, nesting)
            elif nesting and roll < 0.50:
                self.loop_until(block, nesting)
            elif roll < 0.56:
                self.closure(block)
            else:
                shape = self.random.choice(self.shapes)
                e = self.bounded(self.expression(block, shape, 2))
                if isinstance(e, Variable):  # another name would be the same tensor, to end in a loop with it
                    e = Expression(f"copy({e.kina})", f"({e.torch} * 1.0)", shape, e.bound)
                v = block.bind(Variable(self.name(), shape, e.bound))
                self.line(block, f"let {v.name} = {e.kina};", f"{v.name} = {e.torch}")

    def close(self, block, shape):
        """The block's value: an expression of the shape that reads whatever nothing has read so far."""
        e = self.expression(block, shape, 1)
        while block.unused:
            v = block.read(block.unused[0])
            kina, torch = (f"mean({v.kina})", f"torch.mean({v.torch})") if v.shape else (v.kina, v.torch)
            e = self.bounded(Expression(f"({e.kina} + 0.25 * {kina})", f"({e.torch} + 0.25 * {torch})", shape,
                                        e.bound + v.bound / 4))
        return Expression(f"tanh({e.kina})", f"torch.tanh({e.torch})", shape, 1.0)

    def condition(self, block):
        if block.counter and self.random.random() < 0.4:
            remainder = f"{block.counter} % 2 == {self.random.randint(0, 1)}"
            return remainder, remainder
        e = self.expression(block, (), 1)
        literal = self.random.choice(LITERALS)
        sign = self.random.choice(["<", "<=", ">", ">="])
        if self.random.random() < 0.25:
            return f"({e.kina} {sign} {literal}) && n < 3", f"bool(decide({e.torch}, {literal}) {sign} {literal}) and n < 3"
        return f"{e.kina} {sign} {literal}", f"decide({e.torch}, {literal}) {sign} {literal}"

    def branch(self, block, nesting):
        shape = self.random.choice(self.shapes)
        v = self.name()
        kina, torch = self.condition(block)
        sides = []
        for _ in range(2):
            side = Block(block.scope, block.depth + 1, block.counter)
            self.statements(side, self.random.randint(0, 2), nesting - 1)
            sides.append((side, self.close(side, shape)))
        for word, (side, end) in zip((f"let {v} = if ({kina}) {{", "} else {"), sides):
            self.line(block, word, "")
            block.kina += side.kina
            self.line(block, INDENT + end.kina, "")
        self.line(block, "};", "")
        for word, (side, end) in zip((f"if {torch}:", "else:"), sides):
            self.line(block, "", word)
            block.torch += side.torch
            self.line(block, "", f"{INDENT}{v} = {end.torch}")
        block.bind(Variable(v, shape, 1.0))

    def carried(self, block, count):
        """Names, shapes and initial values of a loop's carried tensors."""
        carries = []
        for _ in range(count):
            shape = self.random.choice(self.shapes)
            movable = [v for v in block.own if v.shape and v in block.scope]
            if movable and self.random.random() < 0.3:  # the loop takes the variable: it ends here
                init = block.read(self.random.choice(movable))
                block.scope.remove(init)
                shape = init.shape
            else:
                e = self.expression(block, shape, 1)
                init = Expression(f"tanh({e.kina})", f"torch.tanh({e.torch})", shape, 1.0)
            carries.append((self.name(), shape, init))
        return carries

    def loop(self, block, nesting):
        """A counted loop: by a constant or by the parameter n."""
        carries = self.carried(block, self.random.randint(1, 2))
        i = f"i{self.names}"
        trips = self.random.choice(["n", "n", "0", "1", "2", "3", "5"])
        body = Block(block.scope, block.depth + 1, i)
        self.iterate(block, nesting, body, carries, [(i, "0", f"{i} + 1")], f"{i} < {trips}", f"{i} < {trips}")

    def loop_until(self, block, nesting):
        """A loop whose trip count depends on the numbers."""
        carries = self.carried(block, 1)
        acc = self.name()
        start = self.expression(block, (), 1)
        body = Block(block.scope, block.depth + 1, block.counter)
        body.bind(Variable(acc, (), 3.0))
        step = self.expression(block, (), 1)
        step_kina = f"{acc} + 0.375 + 0.25 * sigmoid({step.kina})"
        step_torch = f"{acc} + 0.375 + 0.25 * torch.sigmoid({step.torch})"
        self.iterate(block, nesting, body, carries,
                     [(acc, (f"0.25 * tanh({start.kina})", f"0.25 * torch.tanh({start.torch})"), (step_kina, step_torch))],
                     f"{acc} < 1.5", f"decide({acc}, 1.5) < 1.5")

    def iterate(self, block, nesting, body, carries, counters, test_kina, test_torch):
        """Writes a loop over `carries` and over `counters` (name, init, next), whose texts may differ."""
        for name, shape, init in carries:
            body.bind(Variable(name, shape, max(1.0, init.bound)))
        self.statements(body, self.random.randint(0, 2), nesting - 1)
        ends = [self.close(body, shape) for _, shape, _ in carries[:-1]]
        ends.append(self.close(body, carries[-1][1]))

        def both(text):
            return text if isinstance(text, tuple) else (text, text)
        inits = [(n, init.kina, init.torch) for n, _, init in carries] + [(n, *both(init)) for n, init, _ in counters]
        nexts = [(e.kina, e.torch) for e in ends] + [both(after) for _, _, after in counters]
        names = [self.name() for _ in carries]
        left = f"({', '.join(names)})" if len(names) > 1 else names[0]
        self.line(block, f"let {left} = while ({test_kina}) [{', '.join(f'{n} = {k}' for n, k, _ in inits)}] {{", "")
        block.kina += body.kina
        self.line(block, INDENT + "(" + ", ".join(k for k, _ in nexts) + ")\n};", "")
        all_names = ", ".join(n for n, _, _ in inits)
        self.line(block, "", f"{all_names} = {', '.join(t for _, _, t in inits)}\nwhile {test_torch}:")
        block.torch += body.torch
        self.line(block, "", f"{INDENT}{all_names} = {', '.join(t for _, t in nexts)}")
        self.line(block, "", ", ".join(names) + " = " + ", ".join(n for n, _, _ in carries))
        for name, (_, shape, init) in zip(names, carries):
            block.bind(Variable(name, shape, max(1.0, init.bound)))

    def closure(self, block):
        """A local function over one variable of the scope, called twice."""
        shape = self.random.choice(self.shapes)
        g, u, v = self.name(), self.name(), self.name()
        inner = Block(block.scope, block.depth + 1, block.counter)
        inner.bind(Variable(u, shape, 3.0))
        e = self.close(inner, shape)
        x, y = self.expression(block, shape, 1), self.expression(block, shape, 1)
        self.line(block, f"let {g} = fn({u}: {self.type(shape)}) -> {self.type(shape)} {{ {e.kina} }};",
                  f"def {g}({u}):\n{INDENT}return {e.torch}")
        self.line(block, f"let {v} = {g}({x.kina}) - 0.5 * {g}({y.kina});", f"{v} = {g}({x.torch}) - 0.5 * {g}({y.torch})")
        block.bind(Variable(v, shape, 1.5))
