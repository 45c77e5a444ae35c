"""What each op should compute: cases of a Kina expression, the same in torch, and operands.

CASES has an entry for every op of runtime/ops.def with a surface name, and for every builtin of
interp/builtins.def that computes; the driver fails on one that is missing. Operands are torch tensors and are
called x, y, z in the expression. Where torch has another idea of an edge value than the language, the
edge is tested elsewhere (tests/lang, the unit tests).
"""
import math

import gamma
import torch

try:
    from torch import func
except ImportError:
    import functorch as func

F64, F32, I32, I64 = torch.float64, torch.float32, torch.int32, torch.int64
GENERATOR = torch.Generator().manual_seed(20260601)


class Case:
    def __init__(self, kina, reference, *operands):
        self.kina, self.reference, self.operands = kina, reference, operands


def draw(*shape, lo=-2.0, hi=2.0):
    """Uniform numbers: the k-th call always gives the same."""
    return lo + (hi - lo) * torch.rand(shape, dtype=F64, generator=GENERATOR)


def f64(data):
    return torch.tensor(data, dtype=F64)


def i32(data):
    return torch.tensor(data, dtype=I32)


def i64(data):
    return torch.tensor(data, dtype=I64)


def boolean(data):
    return torch.tensor(data, dtype=torch.bool)


def unary(kina, reference, lo=-2.0, hi=2.0, edges=()):
    """A matrix, a number, an empty and a strided operand, and the edge values."""
    cases = [Case(kina, reference, draw(2, 3, lo=lo, hi=hi)), Case(kina, reference, draw(lo=lo, hi=hi)),
             Case(kina, reference, draw(37, lo=lo, hi=hi)), Case(kina, reference, draw(0, 3)),
             Case(kina.replace("(x)", "(transpose(x)[::-1])"), lambda x: reference(torch.flip(x.T, (0,))),
                  draw(3, 5, lo=lo, hi=hi))]
    if edges:
        cases.append(Case(kina, reference, f64(list(edges))))
    return cases


PAIRS = [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2, 3)), ((4,), ()), ((), ()), ((2, 3, 2), (3, 1)),
         ((0, 3), (3,)), ((33,), (33,))]


def binary(kina, reference, lo=-2.0, hi=2.0, more=()):
    """All the ways to broadcast."""
    return [Case(kina, reference, draw(*s, lo=lo, hi=hi), draw(*t, lo=lo, hi=hi)) for s, t in PAIRS] + list(more)


def compare(sign, reference):
    x, y = f64([[1.0, 2.0, 3.0], [-1.0, 0.0, math.nan]]), f64([2.0, 2.0, 2.0])
    return [Case(f"x {sign} y", reference, x, y), Case(f"x {sign} y", reference, i32([1, 2, 3]), i32([3, 2, 1])),
            Case(f"x {sign} y", reference, f64(0.5), f64(0.5))]


def reduction(name, reference, shapes=((2, 3, 4),)):
    """Over every axis, two axes, all, with and without keepdims. reference(x, axes, keep)."""
    cases = []
    for shape in shapes:
        x = draw(*shape)
        for axis in (0, 1, -1):
            cases.append(Case(f"{name}(x, axis={axis})", lambda x, a=axis: reference(x, (a,), False), x))
        cases += [Case(f"{name}(x, axis=1, keepdims=true)", lambda x: reference(x, (1,), True), x),
                  Case(f"{name}(x, axis=[0, 2])", lambda x: reference(x, (0, 2), False), x),
                  Case(f"{name}(x, axis=[0, -1], keepdims=true)", lambda x: reference(x, (0, 2), True), x),
                  Case(f"{name}(x)", lambda x: reference(x, (0, 1, 2), False), x),
                  Case(f"{name}(permute(x, [2, 0, 1]), axis=1)", lambda x: reference(x.permute(2, 0, 1), (1,), False), x)]
    return cases


def along(name, reference):
    """Along each axis, in several layouts. reference(x, axis)."""
    return [Case(f"{name}(x)", lambda x: reference(x, -1), draw(2, 4)), Case(f"{name}(x)", lambda x: reference(x, -1), draw(1)),
            Case(f"{name}(x, axis=0)", lambda x: reference(x, 0), draw(3, 4)),
            Case(f"{name}(x, axis=1)", lambda x: reference(x, 1), draw(2, 3, 2)),
            Case(f"{name}(transpose(x), axis=-2)", lambda x: reference(x.T, 0), draw(2, 3)),
            Case(f"{name}(x[::-1])", lambda x: reference(torch.flip(x, (0,)), -1), draw(5)),
            Case(f"{name}(x, axis=1)", lambda x: reference(x, 1), draw(2, 0, 3))]


def cube_root(x):
    return torch.sign(x) * torch.pow(torch.abs(x), 1.0 / 3.0)


def index_add(x, axis, index, y):
    return torch.index_add(x, axis, index.long(), y)


def nll(logp, targets):
    return torch.nn.functional.nll_loss(logp, targets.long())


def mean_all(x, axes, keep):
    return torch.mean(x, axes, keepdim=keep)


def regular(*shape):
    """Matrices far from singular, and not symmetric."""
    return draw(*shape) + 2.0 * shape[-1] * torch.eye(shape[-1], dtype=F64)


def solve(a, b):
    """A right-hand side of rank 1 is a vector, every other one is made of matrices."""
    return torch.linalg.solve(a, b.unsqueeze(-1)).squeeze(-1) if b.dim() == 1 else torch.linalg.solve(a, b)


def triangular(a, b, lower=True):
    if b.dim() == 1:
        return triangular(a, b.unsqueeze(-1), lower).squeeze(-1)
    return torch.linalg.solve_triangular(a, b, upper=not lower)


def definite(*shape):
    """Symmetric positive definite matrices."""
    m = draw(*shape)
    return m @ m.transpose(-1, -2) + torch.eye(shape[-1], dtype=F64)


B, C = draw(2, 3), draw(2, 3)
MASK = boolean([[True, False, True], [False, False, True]])
T4 = f64([[1.0, 3.0, 3.0, -2.0], [0.5, 0.5, 0.5, 0.5]])  # ties
E = torch.nn.functional

EQUATIONS = [
    ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("ji", (2, 3)), ("ii", (3, 3)), ("ii->i", (3, 3)), ("ii->", (3, 3)),
    ("ij->", (2, 3)), ("ij->j", (2, 3)), ("i,i->", (4,), (4,)), ("i,j->ij", (2,), (3,)), ("i,j->ji", (2,), (3,)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 2)), ("bij,bjk->ki", (2, 3, 4), (2, 4, 2)), ("bi,bi->b", (2, 3), (2, 3)),
    ("ij,ij->ij", (2, 3), (2, 3)), ("ij,ji->ij", (2, 3), (3, 2)), ("...ij,...jk->...ik", (2, 2, 3), (2, 3, 2)),
    ("...ij,jk->...ik", (2, 2, 3), (3, 2)), ("i...->...i", (2, 3, 4)), ("...", (2, 3)), ("iji->j", (2, 3, 2)),
    ("iij,j->i", (2, 2, 3), (3,)), ("iijj->ij", (2, 2, 3, 3)), ("iii->i", (3, 3, 3)), ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    ("ij,k,k->i", (2, 3), (4,), (4,)), ("a,ab,b->", (3,), (3, 2), (2,)), ("abc,cde,e->abd", (2, 2, 3), (3, 2, 2), (2,)),
    ("Ab,bA->A", (2, 3), (3, 2)), ("zB,Bz", (2, 3), (3, 2)), ("ij,jk->ik", (2, 0), (0, 3)), ("ij,jk->ik", (0, 2), (2, 3)),
    (",i->i", (), (3,)), ("i,i,i->i", (3,), (3,), (3,)), ("abcd,cdef->abef", (2, 1, 3, 2), (3, 2, 1, 2)), ("i->", (0,)),
    ("ibj,kbj->bik", (2, 3, 4), (5, 3, 4)), ("...a,...a->...", (2, 3), (2, 3)), ("b...,b...->...", (2, 3), (2, 3)),
]

CASES = {
    "neg": unary("neg(x)", torch.neg) + [Case("-x", torch.neg, draw(3)), Case("-x", torch.neg, i32([1, -2]))],
    "abs": unary("abs(x)", torch.abs, edges=[0.0, -0.0]),
    "sign": unary("sign(x)", torch.sign, edges=[0.0]),
    "square": unary("square(x)", torch.square),
    "sqrt": unary("sqrt(x)", torch.sqrt, 0.1, 4.0),
    "rsqrt": unary("rsqrt(x)", torch.rsqrt, 0.1, 4.0),
    "cbrt": unary("cbrt(x)", cube_root) + [Case("cbrt(x)", cube_root, f64([-8.0, 27.0]))],
    "reciprocal": unary("reciprocal(x)", torch.reciprocal, 0.2, 3.0),
    "exp": unary("exp(x)", torch.exp, -5.0, 5.0),
    "exp2": unary("exp2(x)", torch.exp2),
    "expm1": unary("expm1(x)", torch.expm1, edges=[0.0, 1e-10]),
    "log": unary("log(x)", torch.log, 0.1, 9.0),
    "log2": unary("log2(x)", torch.log2, 0.1, 9.0),
    "log1p": unary("log1p(x)", torch.log1p, -0.5, 3.0, edges=[0.0, 1e-10]),
    "sin": unary("sin(x)", torch.sin, -9.0, 9.0),
    "cos": unary("cos(x)", torch.cos, -9.0, 9.0),
    "tan": unary("tan(x)", torch.tan, -1.3, 1.3),
    "asin": unary("asin(x)", torch.asin, -0.9, 0.9),
    "acos": unary("acos(x)", torch.acos, -0.9, 0.9),
    "atan": unary("atan(x)", torch.atan, -5.0, 5.0),
    "sinh": unary("sinh(x)", torch.sinh),
    "cosh": unary("cosh(x)", torch.cosh),
    "tanh": unary("tanh(x)", torch.tanh, edges=[0.0, 30.0, -30.0]),
    "asinh": unary("asinh(x)", torch.asinh),
    "acosh": unary("acosh(x)", torch.acosh, 1.2, 4.0),
    "atanh": unary("atanh(x)", torch.atanh, -0.9, 0.9),
    "sigmoid": unary("sigmoid(x)", torch.sigmoid, edges=[800.0, -700.0]),
    "softplus": unary("softplus(x)", lambda x: E.softplus(x, threshold=1e9), edges=[600.0, -600.0]),
    "relu": unary("relu(x)", torch.relu, edges=[0.0]),
    "gelu": unary("gelu(x)", E.gelu),
    "silu": unary("silu(x)", E.silu),
    "erf": unary("erf(x)", torch.erf),
    "erfc": unary("erfc(x)", torch.erfc, edges=[5.0]),
    "lgamma": unary("lgamma(x)", gamma.lgamma, 0.2, 6.0),
    "digamma": unary("digamma(x)", gamma.digamma, 0.3, 6.0),
    "floor": unary("floor(x)", torch.floor),
    "ceil": unary("ceil(x)", torch.ceil),
    "round": unary("round(x)", torch.round, edges=[0.5, 1.5, 2.5, -0.5]),
    "step": unary("step(x)", lambda x: torch.heaviside(x.detach(), f64(0.0)) + 0.0 * x, edges=[0.0]),
    "not": [Case("!x", torch.logical_not, MASK), Case("!x", torch.logical_not, boolean(True))],

    "add": binary("x + y", torch.add, more=[Case("x + y", torch.add, i32([2147483647, 1]), i32([1, 2]))]),
    "sub": binary("x - y", torch.sub),
    "mul": binary("x * y", torch.mul, more=[Case("x * y", torch.mul, i64([2, 3]), i64(-4))]),
    "strong_mul": binary("strong_mul(x, y)", torch.mul),
    "div": binary("x / y", torch.div, 0.3, 2.0, more=[
        Case("x / y", lambda x, y: torch.div(x, y, rounding_mode="trunc"), i32([7, -7, 7]), i32([2, 2, -2]))]),
    "rem": [Case("x % y", torch.fmod, i32([7, -7, 7, -7]), i32([2, 2, -2, -2])), Case("x % y", torch.fmod, i64(9), i64(4))],
    "mod": [Case("mod(x, y)", torch.remainder, f64([5.5, -5.5, 1.25]), f64([2.0, 2.0, 0.5])),
            Case("mod(x, y)", torch.remainder, i32([7, -7, 7, -7]), i32([2, 2, -2, -2]))],
    "pow": binary("pow(x, y)", torch.pow, 0.2, 2.0, more=[
        Case("pow(x, 2.0)", lambda x: torch.pow(x, 2.0), f64([-1.5, 0.0, 2.0])),
        Case("pow(x, 3.0)", lambda x: torch.pow(x, 3.0), f64([-1.5, 0.0, 2.0]))]),
    "atan2": binary("atan2(x, y)", torch.atan2),
    "maximum": binary("maximum(x, y)", torch.maximum, more=[
        Case("maximum(x, y)", torch.maximum, f64([1.0, 2.0, 3.0]), f64([1.0, 3.0, 2.0]))]),
    "minimum": binary("minimum(x, y)", torch.minimum, more=[
        Case("minimum(x, y)", torch.minimum, f64([1.0, 2.0, 3.0]), f64([1.0, 3.0, 2.0]))]),
    "lt": compare("<", torch.lt), "le": compare("<=", torch.le), "gt": compare(">", torch.gt),
    "ge": compare(">=", torch.ge), "eq": compare("==", torch.eq), "ne": compare("!=", torch.ne),
    "and": [Case("x && y", torch.logical_and, MASK, boolean([True, True, False]))],
    "or": [Case("x || y", torch.logical_or, MASK, boolean([True, True, False]))],
    "where": [Case("where(x, y, z)", torch.where, MASK, B, C), Case("where(x, y, z)", torch.where, MASK, draw(3), draw(2, 1)),
              Case("where(x, y, z)", torch.where, boolean([True, False, True]), B, draw()),
              Case("if (x > 0.0) { x * y } else { y }", lambda x, y: torch.where(x > 0, x * y, y), B, C)],
    "clamp": [Case("clamp(x, -0.5, 1.0)", lambda x: torch.clamp(x, -0.5, 1.0), draw(3, 4)),
              Case("clamp(x, y, z)", torch.clamp, draw(2, 3), draw(3, lo=-1.0, hi=-0.2), draw(2, 1, lo=0.2, hi=1.0))],

    "sum": reduction("sum", lambda x, a, k: torch.sum(x, a, keepdim=k)) + [
        Case("sum(x)", torch.sum, draw(0, 3)), Case("sum(x, axis=0)", lambda x: torch.sum(x, 0), draw(0, 3)),
        Case("sum(x)", torch.sum, draw(1000)), Case("sum(x)", lambda x: torch.sum(x, dtype=I32), i32([3, 4, 5]))],
    "mean": reduction("mean", mean_all),
    "prod": [Case("prod(x, axis=1)", lambda x: torch.prod(x, 1), draw(3, 4)), Case("prod(x)", torch.prod, draw(5)),
             Case("prod(x)", torch.prod, f64([2.0, 0.0, 3.0])), Case("prod(x)", torch.prod, f64([2.0, 0.0, 0.0])),
             Case("prod(x, axis=0, keepdims=true)", lambda x: torch.prod(x, 0, keepdim=True), draw(3, 2))],
    "max": reduction("max", lambda x, a, k: torch.amax(x, a, keepdim=k)) + [
        Case("max(x, axis=1)", lambda x: torch.amax(x, 1), T4), Case("max(x)", lambda x: torch.amax(x, (0, 1)), T4)],
    "min": reduction("min", lambda x, a, k: torch.amin(x, a, keepdim=k)) + [
        Case("min(x, axis=1)", lambda x: torch.amin(x, 1), T4)],
    "logsumexp": reduction("logsumexp", lambda x, a, k: torch.logsumexp(x, a, keepdim=k)) + [
        Case("logsumexp(x, axis=1)", lambda x: torch.logsumexp(x, 1), f64([[1e4, 1e4, 0.0], [-1e4, -1e4, -math.inf]]))],
    "any": [
        Case("any(x, axis=1)", lambda x: torch.any(x, 1), MASK), Case("any(x)", torch.any, MASK),
        Case("any(x)", torch.any, boolean([False, False]))],
    "all": [Case("all(x, axis=0)", lambda x: torch.all(x, 0), MASK), Case("all(x)", torch.all, boolean([True, True])),
            Case("all(x, axis=1, keepdims=true)", lambda x: torch.all(x, 1, keepdim=True), MASK)],
    "argmax": [Case("argmax(x, axis=1)", lambda x: torch.argmax(x, 1), draw(3, 5)), Case("argmax(x)", torch.argmax, draw(3, 5)),
               Case("argmax(x, axis=0, keepdims=true)", lambda x: torch.argmax(x, 0, keepdim=True), draw(3, 5)),
               Case("argmax(x, axis=1)", lambda x: i64([1, 0]), T4)],
    "argmin": [Case("argmin(x, axis=1)", lambda x: torch.argmin(x, 1), draw(3, 5)), Case("argmin(x)", torch.argmin, draw(7))],

    "softmax": [Case("softmax(x)", lambda x: torch.softmax(x, -1), draw(2, 4)),
                Case("softmax(x, axis=0)", lambda x: torch.softmax(x, 0), draw(3, 4)),
                Case("softmax(x, axis=1)", lambda x: torch.softmax(x, 1), draw(2, 3, 2)),
                Case("softmax(x)", lambda x: torch.softmax(x, -1), f64([1e4, -1e4, 9999.0]))],
    "log_softmax": [Case("log_softmax(x)", lambda x: torch.log_softmax(x, -1), draw(2, 4)),
                    Case("log_softmax(x, axis=0)", lambda x: torch.log_softmax(x, 0), draw(3, 4)),
                    Case("log_softmax(x)", lambda x: torch.log_softmax(x, -1), f64([1e4, -1e4, 9999.0]))],

    "cumsum": along("cumsum", torch.cumsum) + [
        Case("cumsum(x)", lambda x: torch.cumsum(x, -1), draw(300)),
        Case("cumsum(x)", lambda x: torch.cumsum(x, -1, dtype=I32), i32([3, 4, -5])),
        Case("cumsum(x, axis=0)", lambda x: torch.cumsum(x, 0), draw(3, 70))],
    "cumprod": along("cumprod", torch.cumprod) + [
        Case("cumprod(x)", lambda x: torch.cumprod(x, -1), f64([2.0, 0.0, 3.0, -1.5])),
        Case("cumprod(x)", lambda x: torch.cumprod(x, -1), f64([2.0, 0.0, 3.0, 0.0, 1.5])),
        Case("cumprod(x)", lambda x: torch.cumprod(x, -1), f64([0.0, 0.0])),
        Case("cumprod(x)", lambda x: torch.cumprod(x, -1, dtype=I32), i32([3, 4, -5]))],
    "logcumsumexp": along("logcumsumexp", torch.logcumsumexp) + [
        Case("logcumsumexp(x)", lambda x: torch.logcumsumexp(x, -1), f64([1e4, -1e4, 9999.0, 1e4])),
        Case("logcumsumexp(x)", lambda x: torch.logcumsumexp(x, -1), f64([-1e4, 0.0, 1e4, -5.0])),
        Case("logcumsumexp(x)", lambda x: torch.logcumsumexp(x, -1), draw(200, lo=-30.0, hi=30.0))],
    "argsort": along("argsort", lambda x, a: torch.argsort(x, dim=a)) + [
        Case("argsort(x)", lambda x: i64([4, 1, 3, 0, 2, 5]), f64([1.0, -0.0, math.nan, 0.0, -math.inf, math.nan])),
        Case("argsort(x)", lambda x: torch.argsort(x), draw(1000)),
        Case("argsort(x)", lambda x: i64([1, 3, 0, 2]), i32([5, -7, 5, -7]))],

    "reshape": [Case("reshape(x, [3, 2])", lambda x: torch.reshape(x, (3, 2)), B),
                Case("reshape(transpose(x), [6])", lambda x: torch.reshape(x.T, (6,)), B),
                Case("reshape(x, [1, 1])", lambda x: torch.reshape(x, (1, 1)), draw())],
    "permute": [Case("permute(x, [2, 0, 1])", lambda x: x.permute(2, 0, 1), draw(2, 3, 4))],
    "broadcast": [Case("broadcast(x, [4, 2, 3])", lambda x: torch.broadcast_to(x, (4, 2, 3)), draw(2, 1)),
                  Case("broadcast(x, [3])", lambda x: torch.broadcast_to(x, (3,)), draw())],
    "expand_dims": [Case("expand_dims(x, 1)", lambda x: x.unsqueeze(1), B), Case("expand_dims(x, -1)", lambda x: x.unsqueeze(-1), B)],
    "squeeze": [Case("squeeze(x, 1)", lambda x: x.squeeze(1), draw(2, 1, 3))],
    "concat": [Case("concat((x, y), axis=1)", lambda x, y: torch.cat((x, y), 1), B, draw(2, 2)),
               Case("concat((x, y, x))", lambda x, y: torch.cat((x, y, x), 0), draw(2), draw(3))],
    "take": [Case("take(x, y)", lambda x, y: torch.index_select(x, 0, y.long()), draw(4, 3), i32([2, 0, 2])),
             Case("take(x, y, axis=1)", lambda x, y: torch.index_select(x, 1, y), draw(4, 3), i64([1, 1])),
             Case("take(x, y)", lambda x, y: x[y.long()], draw(4), i32([[0, 3], [3, 1]]))],
    "take_along_axis": [Case("take_along_axis(x, y, axis=1)", lambda x, y: torch.gather(x, 1, y.long()), draw(2, 4),
                             i32([[3, 3, 0], [1, 0, 2]])),
                        Case("take_along_axis(x, y, 0)", lambda x, y: torch.gather(x, 0, y), draw(3), i64([2, 2]))],
    "scatter_add": [Case("scatter_add(x, y, z)", lambda x, y, z: index_add(x, 0, y, z), draw(3, 2), i32([2, 0, 2]), draw(3, 2)),
                    Case("scatter_add(x, y, z, axis=1)", lambda x, y, z: index_add(x, 1, y, z), draw(2, 3), i64([1, 1]), draw(2, 2))],
    "scatter_along_axis": [Case("scatter_along_axis(x, y, z, axis=1)", lambda x, y, z: torch.scatter_add(x, 1, y.long(), z),
                                draw(2, 4), i32([[3, 3, 0], [1, 0, 2]]), draw(2, 3))],
    "one_hot": [Case("one_hot(x, 4)", lambda x: E.one_hot(x, 4).to(F32), i64([2, 0, 3])),
                Case("one_hot(x, 3)", lambda x: E.one_hot(x.long(), 3).to(F32), i32([[2], [1]]))],

    "matmul": [Case("x @ y", torch.matmul, draw(*s), draw(*t)) for s, t in [
        ((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,)), ((2, 4, 3), (2, 3, 2)), ((2, 4, 3), (3, 2)),
        ((4, 3), (2, 3, 2)), ((2, 1, 4, 3), (1, 3, 3, 2)), ((2, 4, 3), (3,)), ((3,), (2, 3, 4)), ((0, 3), (3, 2)),
        ((2, 0), (0, 3)), ((70, 65), (65, 33))]] + [
        Case("matmul(transpose(x), y)", lambda x, y: x.T @ y, draw(3, 2), draw(3, 4)),
        Case("x @ transpose(y)", lambda x, y: x @ y.T, draw(2, 3), draw(4, 3)),
        Case("x @ y[::-1]", lambda x, y: x @ torch.flip(y, (0,)), draw(2, 3), draw(3, 4)),
        Case("x @ x", lambda x: x @ x, draw(3, 3))],

    "inv": [Case("inv(x)", torch.linalg.inv, regular(*s)) for s in [(3, 3), (2, 3, 3), (2, 1, 4, 4), (0, 3, 3), (40, 40)]] + [
        Case("inv(transpose(x)[::-1])", lambda x: torch.linalg.inv(torch.flip(x.T, (0,))), torch.flip(regular(3, 3), (1,))),
        Case("inv(inv(x) + x)", lambda x: torch.linalg.inv(torch.linalg.inv(x) + x), regular(3, 3))],
    "solve": [Case("solve(x, y)", solve, regular(*s), draw(*t)) for s, t in [
        ((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (3,)), ((2, 3, 3), (3, 4)), ((3, 3), (2, 3, 1)),
        ((2, 1, 3, 3), (1, 4, 3, 2)), ((0, 2, 2), (2, 3)), ((2, 2), (2, 0)), ((40, 40), (40, 9))]] + [
        Case("solve(transpose(x), transpose(y))", lambda x, y: solve(x.T, y.T), regular(3, 3), draw(2, 3)),
        Case("solve(a=x, b=x)", lambda x: solve(x, x), regular(3, 3))],

    "cholesky": [Case("cholesky(x)", torch.linalg.cholesky, definite(*s))
                 for s in [(3, 3), (2, 3, 3), (2, 1, 4, 4), (0, 3, 3), (1, 1), (30, 30)]],
    "solve_triangular": [Case("solve_triangular(x, y)", triangular, regular(*s), draw(*t)) for s, t in [
        ((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (3,)), ((2, 1, 3, 3), (1, 4, 3, 2)), ((0, 2, 2), (2, 3))]] + [
        Case("solve_triangular(x, y, lower=false)", lambda x, y: triangular(x, y, False), regular(3, 3), draw(3, 2)),
        Case("solve_triangular(transpose(x), y, false)", lambda x, y: triangular(x.T, y, False), regular(3, 3), draw(3))],

    "det": [Case("det(x)", torch.linalg.det, draw(*s))
            for s in [(3, 3), (2, 3, 3), (2, 1, 4, 4), (0, 3, 3), (1, 1), (12, 12)]],
    "logdet": [Case("logdet(x)", torch.logdet, regular(*s)) for s in [(3, 3), (2, 3, 3), (2, 1, 4, 4), (1, 1), (30, 30)]],

    "conv1d": [Case("conv1d(x, w=y)", E.conv1d, draw(2, 3, 7), draw(4, 3, 3)),
               Case("conv1d(x, y, stride=2, padding=3, dilation=2, groups=2)",
                    lambda x, y: E.conv1d(x, y, None, 2, 3, 2, 2), draw(2, 4, 9), draw(6, 2, 3)),
               Case("conv1d(x, y, [3], [1])", lambda x, y: E.conv1d(x, y, None, 3, 1), draw(1, 1, 500), draw(2, 1, 4)),
               Case("conv1d(x, y)", E.conv1d, draw(1, 40, 90), draw(3, 40, 20)),
               Case("conv1d(permute(x, [0, 2, 1]), y)", lambda x, y: E.conv1d(x.permute(0, 2, 1), y), draw(2, 7, 3), draw(4, 3, 1))],
    "conv2d": [Case("conv2d(x, y)", E.conv2d, draw(2, 3, 6, 5), draw(4, 3, 3, 2)),
               Case("conv2d(x, y, stride=[2, 1], padding=[1, 2], dilation=[1, 2])",
                    lambda x, y: E.conv2d(x, y, None, (2, 1), (1, 2), (1, 2)), draw(2, 3, 7, 6), draw(4, 3, 3, 2)),
               Case("conv2d(x, y, groups=4, padding=1)", lambda x, y: E.conv2d(x, y, None, 1, 1, 1, 4), draw(1, 4, 5, 5), draw(8, 1, 3, 3)),
               Case("conv2d(x, y, padding=5)", lambda x, y: E.conv2d(x, y, None, 1, 5), draw(1, 1, 2, 2), draw(1, 1, 3, 3)),
               Case("conv2d(x, y, stride=3)", lambda x, y: E.conv2d(x, y, None, 3), draw(2, 2, 8, 8), draw(3, 2, 1, 1)),
               Case("conv2d(x, y)", E.conv2d, draw(2, 3, 4, 4), draw(2, 3, 1, 1)),
               Case("conv2d(x, y)", E.conv2d, draw(0, 3, 4, 4), draw(2, 3, 2, 2)),
               Case("conv2d(x, y, padding=2)", lambda x, y: E.conv2d(x, y, None, 1, 2), draw(3, 8, 40, 31), draw(8, 8, 5, 5))],

    "max_pool2d": [Case("max_pool2d(x, 2)", lambda x: E.max_pool2d(x, 2), draw(2, 3, 6, 5)),
                   Case("max_pool2d(x, window=[3, 2], stride=[2, 1], padding=1)",
                        lambda x: E.max_pool2d(x, (3, 2), (2, 1), 1), draw(2, 3, 7, 6)),
                   Case("max_pool2d(x, [2, 2], padding=[0, 1])", lambda x: E.max_pool2d(x, 2, None, (0, 1)), draw(1, 1, 4, 4)),
                   Case("max_pool2d(x, 2)", lambda x: E.max_pool2d(x, 2), f64([[[[1, 1, 2, 0], [1, 1, 2, 2]]]])),
                   Case("max_pool2d(permute(x, [3, 2, 1, 0]), 2)", lambda x: E.max_pool2d(x.permute(3, 2, 1, 0), 2), draw(5, 4, 3, 2))],
    "avg_pool2d": [Case("avg_pool2d(x, 2)", lambda x: E.avg_pool2d(x, 2), draw(2, 3, 6, 5)),
                   Case("avg_pool2d(x, window=[3, 2], stride=[2, 1], padding=1)",
                        lambda x: E.avg_pool2d(x, (3, 2), (2, 1), 1), draw(2, 3, 7, 6)),
                   Case("avg_pool2d(x, 1, 2)", lambda x: E.avg_pool2d(x, 1, 2), draw(1, 1, 4, 4)),
                   Case("avg_pool2d(x, 3, 1)", lambda x: E.avg_pool2d(x, 3, 1), draw(2, 2, 30, 40))],

    "full": [Case("full([2, 3], x)", lambda x: x * torch.ones(2, 3, dtype=F64), draw())],
    "arange": [Case("arange(5) + x", lambda x: torch.arange(5, dtype=I32) + x, i32(1))],
    "eye": [Case("eye(3, F64) * x", lambda x: torch.eye(3, dtype=F64) * x, draw())],
}

# Torch draws other random numbers: these cases state what must hold of ours, as a Bool that is true.
KEY = i64(42)
CASES["random_bits"] = [
    Case("all(random_bits(x, [8]) == random_bits(x, [8])) && any(random_bits(x, [8]) != random_bits(x + 1, [8]))",
         lambda x: boolean(True), KEY)]
CASES["random_uniform"] = [
    Case("min(random_uniform(x, [4096], F64)) >= 0.0 && max(random_uniform(x, [4096], F64)) < 1.0 && "
         "abs(mean(random_uniform(x, [4096], F64)) - 0.5) < 0.02", lambda x: boolean(True), KEY),
    Case("min(random_uniform(x, [4096])) >= 0.0 && max(random_uniform(x, [4096])) < 1.0 && "
         "abs(mean(square(random_uniform(x, [4096]))) - 0.333) < 0.02", lambda x: boolean(True), KEY)]
CASES["random_normal"] = [
    Case("abs(mean(random_normal(x, [4096], F64))) < 0.06 && abs(mean(square(random_normal(x, [4096], F64))) - 1.0) < 0.1",
         lambda x: boolean(True), KEY)]

# Builtins that are several ops or none.
CASES.update({
    "mean_nll": [Case("nll(x, y)", nll, draw(3, 4), i64([1, 0, 3])), Case("nll(x, y)", nll, draw(3, 4), i32([1, 1, 1]))],
    "cross_entropy": [Case("cross_entropy(x, y)", lambda x, y: E.cross_entropy(x, y.long()), draw(3, 4), i32([1, 0, 3]))],
    "var": reduction("var", lambda x, a, k: torch.var(x, a, correction=0, keepdim=k)) + [
        Case("var(x, axis=0, ddof=1)", lambda x: torch.var(x, 0), draw(4, 3)),
        Case("var(x, ddof=2, keepdims=true)", lambda x: torch.var(x, (0, 1), correction=2, keepdim=True), draw(4, 3)),
        Case("var(x + 1e6)", lambda x: torch.var(x + 1e6, unbiased=False), draw(100))],
    "std": reduction("std", lambda x, a, k: torch.std(x, a, correction=0, keepdim=k)) + [
        Case("std(x, axis=0, ddof=1)", lambda x: torch.std(x, 0), draw(4, 3))],
    "norm": reduction("norm", lambda x, a, k: torch.linalg.vector_norm(x, 2, a, keepdim=k)) + [
        Case("norm(x)", torch.linalg.vector_norm, draw(3)), Case("norm(x)", torch.linalg.vector_norm, f64([0.0, 0.0])),
        Case("norm(x)", torch.abs, f64(-3.0)), Case("norm(x)", torch.linalg.vector_norm, draw(0))],
    "transpose": [Case("transpose(x)", lambda x: x.T, B), Case("transpose(x)", lambda x: x.permute(2, 1, 0), draw(2, 3, 4))],
    "stack": [Case("stack((x, y))", lambda x, y: torch.stack((x, y)), B, C),
              Case("stack((x, y, x), axis=1)", lambda x, y: torch.stack((x, y, x), 1), draw(2), draw(2))],
    "pad": [Case("pad(x, [[1, 2], [0, 1]])", lambda x: E.pad(x, (0, 1, 1, 2)), B),
            Case("pad(x, [[1, 0]], value=y)", lambda x, y: torch.cat((y.reshape(1), x)), draw(3), draw()),
            Case("pad(x, [[0, 2], [1, 1]], y)", lambda x, y: E.pad(x - y, (1, 1, 0, 2)) + y, draw(2, 3), draw()),
            Case("pad(transpose(x), [[0, 0], [2, 0]], 3.5)", lambda x: E.pad(x.T, (2, 0), value=3.5), B),
            Case("pad(x, [[2, 1]], value=7)", lambda x: E.pad(x, (2, 1), value=7), i32([1, 2])),
            Case("pad(x, [[1, 1], [0, 0]])", lambda x: E.pad(x, (0, 0, 1, 1)), draw(0, 2)), Case("pad(x, [])", lambda x: x * 1.0, draw())],
    "split": [Case("let (a, b) = split(x, 2) in a * b", lambda x: x[:2] * x[2:], draw(4, 3)),
              Case("let (a, b, c) = split(x, [1, 0, 2], axis=-1) in concat((c, a * a, b), axis=1)",
                   lambda x: torch.cat((x[:, 1:], x[:, :1] * x[:, :1]), 1), draw(2, 3)),
              Case("split(x, 3, axis=1).1", lambda x: x[:, 2:4], draw(2, 6)), Case("split(x, 1)", lambda x: x * 1.0, draw(3))],
    "flip": [Case("flip(x, 0)", lambda x: torch.flip(x, (0,)), draw(3, 2)), Case("flip(x, axis=[0, -1])", lambda x: torch.flip(x, (0, 2)), draw(2, 3, 2)),
             Case("flip(transpose(x), 1)", lambda x: torch.flip(x.T, (1,)), draw(3, 2)), Case("flip(x, 0)", lambda x: torch.flip(x, (0,)), draw(0, 2))],
    "roll": [Case(f"roll(x, {by}, axis=1)", lambda x, n=by: torch.roll(x, n, 1), draw(2, 5)) for by in (1, -2, 0, 5, 12, -7)] + [
        Case("roll(x, y, 0)", lambda x, y: torch.roll(x, int(y), 0), draw(4), i64(3)), Case("roll(x, 2, 0)", lambda x: torch.roll(x, 2, 0), draw(0, 3)),
        Case("roll(x, 1, -1)", lambda x: torch.roll(x, 1, -1), draw(3, 1))],
    "tile": [Case("tile(x, [2, 3])", lambda x: torch.tile(x, (2, 3)), B), Case("tile(x, [2])", lambda x: torch.tile(x, (2,)), B),
             Case("tile(x, [2, 1, 3])", lambda x: torch.tile(x, (2, 1, 3)), B), Case("tile(transpose(x), [2, 2])", lambda x: torch.tile(x.T, (2, 2)), B),
             Case("tile(x, [3])", lambda x: torch.tile(x, (3,)), draw()), Case("tile(x, [0, 2])", lambda x: torch.tile(x, (0, 2)), B),
             Case("tile(x, [2, 3])", lambda x: torch.tile(x, (2, 3)), draw(0, 2)), Case("tile(x, [3, 2])", lambda x: torch.tile(x, (3, 2)), draw(1, 4)),
             Case("tile(x, [1, 1, 1, 1, 1, 1, 2, 3])", lambda x: torch.tile(x, (1, 1, 1, 1, 1, 1, 2, 3)), draw(2, 1, 1, 1, 1, 2, 1, 2))],
    "sort": along("sort", lambda x, a: torch.sort(x, dim=a).values) + [
        Case("sort(x)", lambda x: torch.sort(x, stable=True).values, f64([3.0, 1.0, 2.0, 1.0, 3.0])), Case("sort(x)", lambda x: torch.sort(x).values, draw(100)),
        Case("sort(x)", lambda x: torch.sort(x).values, i64([5, -7, 9223372036854775807, 0]))],
    "top_k": [Case("top_k(x, 2).0", lambda x: torch.topk(x, 2).values, draw(3, 5)), Case("top_k(x, 3).1", lambda x: torch.topk(x, 3).indices, draw(3, 5)),
              Case("top_k(transpose(x), k=1).0", lambda x: torch.topk(x.T, 1).values, draw(3, 5)), Case("top_k(x, 4).0", lambda x: torch.topk(x, 4).values, draw(4)),
              Case("top_k(x, 0).0", lambda x: x[:0], draw(4)), Case("top_k(x, 3).1", lambda x: i64([1, 3, 0]), f64([1.0, math.nan, 1.0, math.inf]))],
    "cummax": along("cummax", lambda x, a: torch.cummax(x, a).values) + [
        Case("cummax(x)", lambda x: torch.cummax(x, -1).values, T4), Case("cummax(x)", lambda x: torch.cummax(x, -1).values, f64([1.0, math.nan, 2.0])),
        Case("cummax(x)", lambda x: torch.cummax(x, -1).values, i32([1, 3, 2]))],
    "embedding": [Case("embedding(x, y)", lambda x, y: E.embedding(x.long(), y), i32([[2, 0], [2, 1]]), draw(4, 3)),
                  Case("embedding(x, table=y)", lambda x, y: y[x], i64(1), draw(2, 3))],
    "einsum": [Case(f'einsum("{eq}", {", ".join("xyz"[:len(shapes)])})', lambda *o, eq=eq: torch.einsum(eq, *o), *(draw(*s) for s in shapes))
               for eq, *shapes in EQUATIONS] + [
        Case('einsum("ij,jk->ik", x, transpose(y))', lambda x, y: x @ y.T, draw(2, 3), draw(4, 3)),
        Case('einsum("ij, kj -> ki", x, x)', lambda x: torch.einsum("ij,kj->ki", x, x), draw(2, 3)),
        Case('einsum("ij,ij->j", x, y)', lambda x, y: torch.sum(x * y, 0), draw(2, 3), draw(1, 3)),
        Case('einsum("...ij,...j->...i", x, y)', lambda x, y: torch.einsum("...ij,...j->...i", x, y), draw(2, 1, 3, 4), draw(5, 4)),
        Case('einsum("ij,j->i", x, y)', lambda x, y: torch.sum(x * y, 1).to(I32), i32([[1, 2], [3, 4]]), i32([5, 6]))],
    "diag": [Case("diag(x)", torch.diag, draw(3)), Case("diag(x)", torch.diag, draw(3, 3)), Case("diag(x)", torch.diag, draw(2, 4)),
             Case("diag(transpose(x))", lambda x: torch.diag(x.T), draw(2, 4)), Case("diag(x)", torch.diag, draw(0)), Case("diag(x)", torch.diag, draw(1, 1)),
             Case("diag(diag(x) * diag(x))", lambda x: torch.diag(torch.diag(x) * torch.diag(x)), draw(3))],
    "trace": [Case("trace(x)", torch.trace, draw(3, 3)), Case("trace(x)", lambda x: torch.diagonal(x).sum(), draw(4, 2)), Case("trace(x @ x)", lambda x: torch.trace(x @ x), draw(3, 3)),
              Case("trace(x)", lambda x: torch.trace(x).to(I32), i32([[1, 2], [3, 4]]))],
    "tril": [Case("tril(x)", torch.tril, draw(3, 4)), Case("tril(x, k=-1)", lambda x: torch.tril(x, -1), draw(2, 3, 3)),
             Case("tril(x, 2)", lambda x: torch.tril(x, 2), draw(4, 3)), Case("tril(x, 99)", lambda x: torch.tril(x, 99), draw(4, 3)),
             Case("tril(x)", torch.tril, i64([[1, 2], [3, 4]]))],
    "triu": [Case("triu(x)", torch.triu, draw(3, 4)), Case("triu(x, k=1)", lambda x: torch.triu(x, 1), draw(1, 3, 3)),
             Case("triu(transpose(x), -1)", lambda x: torch.triu(x.T, -1), draw(4, 3)), Case("triu(x, -99)", lambda x: torch.triu(x, -99), draw(4, 3))],
    "dot": [Case("dot(x, y)", torch.dot, draw(4), draw(4))],
    "outer": [Case("outer(x, y)", torch.outer, draw(2), draw(3))],
    "zeros": [Case("zeros([2, 2], F64) + x", lambda x: x + torch.zeros(2, 2, dtype=F64), draw())],
    "ones": [Case("ones([2, 2], F64) * x", lambda x: x * torch.ones(2, 2, dtype=F64), draw())],
    "zeros_like": [Case("zeros_like(x) + y", lambda x, y: torch.zeros_like(x) + y, B, draw())],
    "ones_like": [Case("ones_like(x) * y", lambda x, y: torch.ones_like(x) * y, B, draw())],
    "to_F32": [Case("F32(x)", lambda x: x.to(F32), f64([0.1, 2.5])), Case("F32(x)", lambda x: x.to(F32), i32([1, -2]))],
    "to_F64": [Case("F64(x)", lambda x: x.to(F64), torch.tensor([0.1, 2.5], dtype=F32)),
               Case("F64(F32(x) * F32(x))", lambda x: (x.to(F32) * x.to(F32)).to(F64), f64([0.5, 1.25]))],
    "to_I32": [Case("I32(x)", lambda x: x.to(I32), f64([1.9, -1.9, 0.0]))],
    "to_I64": [Case("I64(x)", lambda x: x.to(I64), f64([1.9, -1.9, 0.0]))],
    "to_Bool": [Case("Bool(x)", lambda x: x.to(torch.bool), f64([0.0, -1.5]))],
    "shape": [Case("shape(x)", lambda x: i64([2, 3]), B)],
    "dim": [Case("dim(x, 1)", lambda x: i64(3), B)],
    "rank": [Case("rank(x)", lambda x: i64(2), B)],
    "copy": [Case("copy(x) * x", lambda x: x * x, B)],
    "stop_gradient": [Case("stop_gradient(x) * x", lambda x: x.detach() * x, B)],
})
# Indexing has no name of its own.
CASES["indexing"] = [
    Case("x[1]", lambda x: x[1], draw(3, 4)), Case("x[-1]", lambda x: x[-1], draw(3, 4)),
    Case("x[:, 2]", lambda x: x[:, 2], draw(3, 4)), Case("x[1:3]", lambda x: x[1:3], draw(4, 2)),
    Case("x[1:, 0:3:2]", lambda x: x[1:, 0:3:2], draw(3, 4)), Case("x[::-1]", lambda x: torch.flip(x, (0,)), draw(5)),
    Case("x[y, 1]", lambda x, y: x[int(y), 1], draw(3, 4), i32(2)), Case("x[1, 2] * x[0, 0]", lambda x: x[1, 2] * x[0, 0], draw(3, 4)),
    Case("x[-3:-1]", lambda x: x[-3:-1], draw(5)), Case("x[3:0:-2]", lambda x: torch.flip(x[1:4], (0,))[::2], draw(5)),
]


# ---- what gradients are made of ----

def adjoint(f, shape, d):
    """What f's gradient is at a tensor of this shape for the cotangent d, where f is linear."""
    x = torch.zeros(shape, dtype=d.dtype, requires_grad=True)
    return torch.autograd.grad(f(x), x, d, create_graph=True)[0]


def moved(x, by, axis):
    """The entries of x moved along an axis, zeros coming in."""
    n = x.shape[axis]
    count = min(abs(by), n)
    zeros = torch.zeros_like(x.narrow(axis, 0, count))
    if by >= 0:
        return torch.cat((zeros, x.narrow(axis, 0, n - count)), axis)
    return torch.cat((x.narrow(axis, count, n - count), zeros), axis)


def recurrence(a, b, axis, reversed_):
    places = range(a.shape[axis])
    rows, last = {}, torch.zeros_like(b.narrow(axis, 0, 1))
    for j in reversed(places) if reversed_ else places:
        last = rows[j] = a.narrow(axis, j, 1) * last + b.narrow(axis, j, 1)
    return torch.cat([rows[j] for j in places], axis)


def cofactors(a):
    return torch.linalg.det(a)[..., None, None] * torch.linalg.inv(a).transpose(-1, -2)


def cofactor_slope(a, h):
    y = torch.linalg.inv(a)
    trace = torch.diagonal(y @ h, dim1=-2, dim2=-1).sum(-1)[..., None, None]
    return torch.linalg.det(a)[..., None, None] * (trace * y - y @ h @ y).transpose(-1, -2)


def slice_added(x, y, places):
    out = x.clone()
    out[places] = out[places] + y
    return out


CASES.update({
    "polygamma": [Case(f"polygamma({n}, x)", lambda x, n=n: gamma.Derivative.apply(x, n + 1), draw(*s, lo=0.3, hi=6.0))
                  for n in (1, 3) for s in ((2, 3), (), (0,))],
    "full_like": [Case("full_like(x, y)", lambda x, y: y * torch.ones_like(x), draw(2, 3), draw()),
                  Case("full_like(x, 2.5)", lambda x: torch.full_like(x, 2.5), draw(0, 2)),
                  Case("full_like(x, y)", lambda x, y: y * torch.ones(2, dtype=F64), i64([1, 2]), draw())],
    "arg_top_k": [Case("arg_top_k(x, 3)", lambda x: torch.topk(x, 3).indices, draw(3, 5)),
                  Case("arg_top_k(x, k=0)", lambda x: i64([]), draw(2))],
    "arg_cummax": along("arg_cummax", lambda x, a: torch.cummax(x, a).indices),
    "shift": [Case(f"shift(x, {by}, {axis})", lambda x, n=by, a=axis: moved(x, n, a), draw(3, 4))
              for by in (0, 1, -2, 9, -9) for axis in (0, 1)] + [
        Case("shift(x, by=1, axis=-1)", lambda x: moved(x, 1, 0), i32([1, 2, 3])), Case("shift(x, 1, 0)", lambda x: moved(x, 1, 0), draw(0, 2))],
    "scan_linear": [Case(f"scan_linear(x, y, {axis}{word})", lambda x, y, a=axis, r=bool(word): recurrence(x, y, a, r), draw(3, 4), draw(3, 4))
                    for axis in (0, -1) for word in ("", ", reversed=true")],
    "slice": [Case("slice(x, [1, 0], [2, 3])", lambda x: x[1:3, 0:3], draw(3, 4)),
              Case("slice(x, [-1, 0], [3, 2], steps=[-1, 3])", lambda x: torch.flip(x, (0,))[:, ::3], draw(3, 4)),
              Case("slice(x, [y], [2])", lambda x, y: x[int(y):int(y) + 2], draw(5), i64(3)),
              Case("slice(x, starts=[1], sizes=[y])", lambda x, y: x[1:1 + int(y)], draw(5), i32(0)),
              Case("slice(x, [], [])", lambda x: x, draw()), Case("slice(x, [1], [2])", lambda x: x[1:3], i32([4, 5, 6]))],
    "slice_add": [Case("slice_add(x, y, [1, 0])", lambda x, y: slice_added(x, y, (slice(1, 3), slice(0, 3))), draw(3, 4), draw(2, 3)),
                  Case("slice_add(x, y, [0, 1], [2, 2])", lambda x, y: slice_added(x, y, (slice(0, 3, 2), slice(1, 4, 2))), draw(3, 4), draw(2, 2)),
                  Case("slice_add(x, y, [-1], steps=[-2])", lambda x, y: slice_added(x, torch.flip(y, (0,)), (slice(0, 5, 2),)), draw(5), draw(3)),
                  Case("slice_add(x, y, [z])", lambda x, y, z: slice_added(x, y, (slice(int(z), int(z) + 2),)), draw(5), draw(2), i32(3)),
                  Case("slice_add(x, y, [9])", lambda x, y: x + 0.0 * y.sum(), draw(3), draw(0))],
    "matmul_add": [Case("matmul_add(x, y, z)", lambda x, y, z: x + y @ z, draw(*s), draw(*t), draw(*u)) for s, t, u in [
        ((2, 4), (2, 3), (3, 4)), ((2, 3, 5), (2, 3, 4), (2, 4, 5)), ((2, 3, 5), (1, 3, 4), (2, 4, 5)), ((2, 2), (2, 0), (0, 2))]],
    "cofactor": [Case("cofactor(x)", cofactors, regular(*s)) for s in [(3, 3), (2, 2, 2), (1, 1)]],
    "cofactor_slope": [Case("cofactor_slope(x, y)", cofactor_slope, regular(*s), draw(*s)) for s in [(3, 3), (2, 2, 2)]],
    "conv_input_grad": [
        Case("conv_input_grad(x, y, [2, 3, 7])", lambda d, w: adjoint(lambda x: E.conv1d(x, w), (2, 3, 7), d), draw(2, 4, 5), draw(4, 3, 3)),
        Case("conv_input_grad(x, w=y, dims=[1, 4, 6, 5], stride=[2, 1], padding=[1, 0], groups=2)",
             lambda d, w: adjoint(lambda x: E.conv2d(x, w, None, (2, 1), (1, 0), 1, 2), (1, 4, 6, 5), d), draw(1, 2, 3, 4), draw(2, 2, 3, 2))],
    "conv_weight_grad": [
        Case("conv_weight_grad(x, y, [4, 3, 3])", lambda x, d: adjoint(lambda w: E.conv1d(x, w), (4, 3, 3), d), draw(2, 3, 7), draw(2, 4, 5)),
        Case("conv_weight_grad(x, d=y, dims=[2, 3, 2, 2], dilation=2, padding=1)",
             lambda x, d: adjoint(lambda w: E.conv2d(x, w, None, 1, 1, 2), (2, 3, 2, 2), d), draw(1, 3, 5, 4), draw(1, 2, 5, 4))],
    "max_pool_place": [
        Case("max_pool_place(x, 2)", lambda x: E.max_pool2d(x, 2, return_indices=True)[1], draw(2, 3, 6, 5)),
        Case("max_pool_place(x, [3, 2], stride=[2, 1], padding=1)", lambda x: E.max_pool2d(x, (3, 2), (2, 1), 1, return_indices=True)[1], draw(1, 2, 7, 6))],
    "avg_pool_grad": [
        Case("avg_pool_grad(x, [2, 3, 6, 5], 2)", lambda d: adjoint(lambda x: E.avg_pool2d(x, 2), (2, 3, 6, 5), d), draw(2, 3, 3, 2)),
        Case("avg_pool_grad(x, [1, 1, 5, 4], window=[3, 2], stride=2, padding=1)",
             lambda d: adjoint(lambda x: E.avg_pool2d(x, (3, 2), 2, 1), (1, 1, 5, 4), d), draw(1, 1, 3, 3))],
})
CASES["cumsum"] += [Case("cumsum(x, axis=0, reversed=true)", lambda x: torch.flip(torch.cumsum(torch.flip(x, (0,)), 0), (0,)), draw(3, 4)),
                    Case("cumsum(x, -1, true)", lambda x: i32([2, -1, -5]), i32([3, 4, -5]))]


# Functions of functions: the same of torch.func (functorch, as older versions call it), differentiated once more as every case is.
ENERGY = ("fn(v: tensor<F64, [3]>, k: F64) -> F64 {{ sum(v * v * sin(v)) * k + log(sum(exp(k * v))) }}",
          lambda v, k: (v * v * torch.sin(v)).sum() * k + torch.log(torch.exp(k * v).sum()))
FIELD = ("fn(v: tensor<F64, [3]>, k: F64) -> tensor<F64, [2, 3]> {{ stack((v * sum(v) * k, tanh(v) + y)) }}",
         lambda v, k, y: torch.stack((v * v.sum() * k, torch.tanh(v) + y)))


def of_functions(name, transform, *operands):
    """name(function)(operands…) for the number-valued function."""
    arguments = "xyz"[:len(operands)]
    return Case(f"{name.format('wrt = v')}({', '.join(arguments)})".replace("FN", ENERGY[0].format()), transform, *operands)


CASES.update({
    "grad": [of_functions("grad(FN, {})", func.grad(ENERGY[1]), draw(3), draw()),
             of_functions("grad(FN, wrt = k)", func.grad(ENERGY[1], 1), draw(3), draw()),
             Case(f"grad(fn(w: F64) -> F64 {{ sum(square(grad({ENERGY[0].format()}, wrt = v)(x, w))) }})(y)",
                  lambda x, y: func.grad(lambda w: torch.square(func.grad(ENERGY[1])(x, w)).sum())(y), draw(3), draw())],
    "vjp": [Case(f"vjp({FIELD[0].format()}, wrt = v)(x, y, z).1",
                 lambda x, y, z: func.vjp(lambda v: FIELD[1](v, y, y), x)[1](z)[0], draw(3), draw(), draw(2, 3))],
    "jvp": [Case(f"jvp({FIELD[0].format()})(x, y, z, 0.5).1",
                 lambda x, y, z: func.jvp(lambda v, k: FIELD[1](v, k, y), (x, y), (z, f64(0.5)))[1], draw(3), draw(), draw(3))],
    "hvp": [of_functions("hvp(FN, {})", lambda v, k, d: func.jvp(lambda v: func.grad(ENERGY[1])(v, k), (v,), (d,))[1],
                         draw(3), draw(), draw(3))],
    "jacobian": [Case(f"jacobian({FIELD[0].format()}, wrt = {n})(x, y)",
                      lambda x, y, i=i: func.jacrev(lambda v, k: FIELD[1](v, k, y), i)(x, y), draw(3), draw())
                 for i, n in enumerate(("v", "k"))] + [
        Case("jacobian(fn(v: tensor<F64, [2, 3]>) -> tensor<F64, [3]> { prod(v, axis=0) })(x)",
             func.jacrev(lambda v: torch.prod(v, 0)), draw(2, 3)),
        Case("jacobian(fn(v: tensor<F64, [2]>) -> tensor<F64, [2, 4]> { outer(v * v, y) })(x)",
             lambda x, y: func.jacfwd(lambda v: torch.outer(v * v, y))(x), draw(2), draw(4))],
    "hessian": [of_functions("hessian(FN, {})", func.hessian(ENERGY[1]), draw(3), draw()),
                of_functions("hessian(FN, wrt = k)", func.hessian(ENERGY[1], 1), draw(3), draw()),
                Case(f"hessian({ENERGY[0].format()})(x, y).0.1",
                     lambda x, y: func.hessian(ENERGY[1], (0, 1))(x, y)[0][1], draw(3), draw())],
})
