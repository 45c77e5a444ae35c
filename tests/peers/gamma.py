"""The gamma function's relatives in torch, each derivative to full precision.

torch.polygamma is a few digits short of F64, so the derivatives of lgamma and digamma, and theirs, are computed
here for positive arguments: upwards by the recurrence, then by the asymptotic series (Abramowitz and Stegun
6.4.6 and 6.4.11).
"""
import math

import torch

BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6]


def polygamma(n, x):
    """The n-th derivative of digamma, n >= 1, at x > 0."""
    total, sign = torch.zeros_like(x), (-1) ** (n + 1)
    for _ in range(20):
        total = total + math.factorial(n) / x ** (n + 1)
        x = x + 1.0
    total = total + math.factorial(n - 1) / x ** n + math.factorial(n) / (2 * x ** (n + 1))
    for k, b in enumerate(BERNOULLI, 1):
        total = total + b * math.factorial(2 * k + n - 1) / math.factorial(2 * k) / x ** (2 * k + n)
    return sign * total


class Derivative(torch.autograd.Function):
    """The order-th derivative of log gamma, which knows its own derivatives."""

    @staticmethod
    def forward(ctx, x, order):
        ctx.save_for_backward(x)
        ctx.order = order
        if order < 2:
            return (torch.lgamma, torch.digamma)[order](x)
        return polygamma(order - 1, x.double()).to(x.dtype)

    @staticmethod
    def backward(ctx, cotangent):
        x, = ctx.saved_tensors
        return cotangent * Derivative.apply(x, ctx.order + 1), None


def lgamma(x):
    return Derivative.apply(x, 0)


def digamma(x):
    return Derivative.apply(x, 1)
