"""Functions that random programs may call, each in Kina (DT stands for the element type) and in torch.

They hold what grown expressions do not: dim names, recursion, functions as values, tuples, both surfaces of
the language, a gradient taken inside, a rule of one's own.
"""


class Helper:
    def __init__(self, kina, torch, fit, bound=lambda b: 1.0, extra=lambda count: [], needs=()):
        self.kina, self.torch = kina.strip(), torch.strip()
        self.fit = fit        # (shape, random) -> the arguments' shapes when the result can have this shape
        self.bound = bound    # of the result, for a bound of the arguments
        self.extra = extra    # further arguments, given an integer variable
        self.needs = needs    # helpers that it calls


def same(count):
    return lambda shape, random: [shape] * count


def of_rank(rank, arguments):
    return lambda shape, random: arguments(shape, random) if len(shape) == rank else None


HELPERS = {
    # Generic in both dims; the weights stretch over a missing axis.
    "h_dense": Helper(
        """fn h_dense(x: tensor<DT, [N, K]>, w: tensor<DT, [K, M]>, b: tensor<DT, [M]>) -> tensor<DT, [N, M]> {
  tanh(x @ w + b)
}""",
        """def h_dense(x, w, b):
  return torch.tanh(x @ w + b)""",
        of_rank(2, lambda s, r: (lambda k: [(s[0], k), (k, s[1]), (s[1],)])(r.randint(2, 4)))),
    "h_rows": Helper(
        """fn h_rows(x: tensor<DT, [N, M]>, s: DT) -> tensor<DT, [N]> {
  let scaled = x * s in
  let top = logsumexp(scaled, axis=-1) in
  top / (1.0 + square(top))
}""",
        """def h_rows(x, s):
  top = torch.logsumexp(x * s, -1)
  return top / (1.0 + torch.square(top))""",
        of_rank(1, lambda s, r: [(s[0], r.randint(2, 4)), ()])),
    "h_recursive": Helper(
        """fn h_recursive(x: DT, k: I32) -> DT {
  if (k <= 0) { sin(x) } else { h_recursive(0.5 * x * x + 0.25, k - 1) * 0.75 + x * 0.125 }
}""",
        """def h_recursive(x, k):
  return torch.sin(x) if k <= 0 else h_recursive(0.5 * x * x + 0.25, k - 1) * 0.75 + x * 0.125""",
        of_rank(0, lambda s, r: [()]), bound=lambda b: 1.0 + b / 4, extra=lambda count: [count]),
    "h_twice": Helper(
        """fn h_apply(g: fn(DT) -> DT, x: DT) -> DT { g(g(x)) }
fn h_twice(x: DT, y: DT) -> DT {
  h_apply(fn(u: DT) -> DT { sin(u * y) + 0.5 * u }, x)
}""",
        """def h_twice(x, y):
  g = lambda u: torch.sin(u * y) + 0.5 * u
  return g(g(x))""",
        of_rank(0, lambda s, r: [(), ()]), bound=lambda b: 1.5 + b / 4),
    "h_pair": Helper(
        """fn h_pair(x: tensor<DT, [N]>, y: tensor<DT, [N]>) -> tensor<DT, [N]> {
  let (p, q) = (x * y, x - y);
  let t = (sin(p), (cos(q), p));
  t.0 + t.1.0 * 0.5
}""",
        """def h_pair(x, y):
  p, q = x * y, x - y
  return torch.sin(p) + torch.cos(q) * 0.5""",
        of_rank(1, same(2)), bound=lambda b: 1.5),
    # A step down the slope: the gradient is taken inside and differentiated again outside.
    "h_step": Helper(
        """fn h_height(u: tensor<DT, [N]>, c: DT) -> DT { sum(sin(u) * u) * c }
fn h_step(u: tensor<DT, [N]>, c: DT) -> tensor<DT, [N]> {
  let (height, slope, by_c) = handle h_height(u, c) with reverseMode;
  0.5 * u - 0.125 * slope + 0.03125 * by_c * height
}""",
        """def h_step(u, c):
  by_c = torch.sum(torch.sin(u) * u)
  slope = (torch.sin(u) + u * torch.cos(u)) * c
  return 0.5 * u - 0.125 * slope + 0.03125 * by_c * (by_c * c)""",
        of_rank(1, lambda s, r: [s, ()]), bound=lambda b: 10 * b),
    "h_slope": Helper(
        """fn h_slope(x: DT) -> DT {
  let wave = fn(u: DT) -> DT { sin(u) * u };
  let (y, dy) = handle wave(x) with forwardMode(0.5);
  y * dy
}""",
        """def h_slope(x):
  return torch.sin(x) * x * (0.5 * (torch.sin(x) + x * torch.cos(x)))""",
        of_rank(0, lambda s, r: [()]), bound=lambda b: b * (1 + b)),
    "h_method": Helper(
        """fn h_gate(x: tensor<DT, [N, M]>, g: tensor<DT, [N, 1]>) -> tensor<DT, [N, M]> { x * sigmoid(g) }
fn h_method(x: tensor<DT, [N, M]>, g: tensor<DT, [N, 1]>) -> tensor<DT, [N, M]> {
  x.h_gate(g).tanh() + x.sum(axis=1, keepdims=true) * 0.125
}""",
        """def h_method(x, g):
  return torch.tanh(x * torch.sigmoid(g)) + torch.sum(x, 1, True) * 0.125""",
        of_rank(2, lambda s, r: [s, (s[0], 1)]), bound=lambda b: 1 + b),
}
