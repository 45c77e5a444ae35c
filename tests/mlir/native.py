"""Calls of the functions of a shared library by MLIR's C interface, through ctypes.

A signature is a list of ports (dtype, shape, by value); the library is called in a process of its own, so that a
crash is a result like any other. Nothing here knows Kina.
"""
import ctypes
import math
import os
import pickle
import signal
import struct

CODES = {"F32": "f", "F64": "d", "I32": "i", "I64": "q", "Bool": "?"}
SCALARS = {"F32": ctypes.c_float, "F64": ctypes.c_double, "I32": ctypes.c_int32, "I64": ctypes.c_int64,
           "Bool": ctypes.c_bool}
LIMIT = 120  # seconds for all calls of a library
NOT_OWNED = 0xDEADBEEF


def descriptor(rank):
    fields = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p), ("offset", ctypes.c_int64)]
    if rank > 0:
        fields += [("sizes", ctypes.c_int64 * rank), ("strides", ctypes.c_int64 * rank)]
    return type(f"Descriptor{rank}", (ctypes.Structure,), {"_fields_": fields})


DESCRIPTORS = [descriptor(rank) for rank in range(9)]


def pack(dtype, data):
    return struct.pack(f"<{len(data)}{CODES[dtype]}", *data)


class Argument:
    """A tensor handed to the library: a fresh copy, and whether it was written to."""

    def __init__(self, dtype, shape, data):
        self.bytes = pack(dtype, data)
        self.buffer = ctypes.create_string_buffer(self.bytes, max(len(self.bytes), 1))
        at = ctypes.addressof(self.buffer)
        self.memref = DESCRIPTORS[len(shape)](at, at, 0)
        stride = 1
        for i in reversed(range(len(shape))):
            self.memref.sizes[i], self.memref.strides[i] = shape[i], stride
            stride *= shape[i]

    def overwritten(self):
        return self.buffer.raw[:len(self.bytes)] != self.bytes


def read(dtype, rank, memref):
    """(shape, flat data) of a result with any offset and strides."""
    shape = [memref.sizes[i] for i in range(rank)]
    strides = [memref.strides[i] for i in range(rank)]
    size, data = struct.calcsize(CODES[dtype]), []

    def walk(axis, at):
        if axis == rank:
            data.append(struct.unpack(f"<{CODES[dtype]}", ctypes.string_at(memref.aligned + at * size, size))[0])
            return
        for i in range(shape[axis]):
            walk(axis + 1, at + i * strides[axis])
    if all(shape):
        walk(0, memref.offset)
    return shape, data


def call(library, name, arguments, results):
    """arguments: (dtype, shape, flat data, by value); results: (dtype, rank, by value). A list of (shape, data)."""
    function = getattr(library, f"_mlir_ciface_{name}")
    given = [SCALARS[dtype](data[0]) if by_value else Argument(dtype, shape, data)
             for dtype, shape, data, by_value in arguments]
    passed = [ctypes.byref(a.memref) if isinstance(a, Argument) else a for a in given]
    kinds = [SCALARS[dtype] if by_value else DESCRIPTORS[rank] for dtype, rank, by_value in results]
    if len(results) == 1 and results[0][2]:
        function.restype = kinds[0]
        return [([], [function(*passed)])]
    function.restype = None
    out = type("Results", (ctypes.Structure,), {"_fields_": [(f"r{i}", kind) for i, kind in enumerate(kinds)]})()
    function(*([ctypes.byref(out)] if results else []), *passed)
    found, owned = [], set()
    for i, (dtype, rank, by_value) in enumerate(results):
        r = getattr(out, f"r{i}")
        found.append(([], [r]) if by_value else read(dtype, rank, r))
        if not by_value and r.allocated != NOT_OWNED:
            owned.add(r.allocated)
    free = ctypes.CDLL(None).free
    for at in owned:
        free(ctypes.c_void_p(at))
    if any(isinstance(a, Argument) and a.overwritten() for a in given):
        raise ValueError("an argument was overwritten")
    return found


def call_all(path, calls):
    """Calls (name, arguments, results) in another process. Yields a list of (shape, data), or words on what
    went wrong; after a crash the rest is called in a new process."""
    done = 0
    while done < len(calls):
        receiver, sender = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(receiver)
            signal.alarm(LIMIT)
            with os.fdopen(sender, "wb") as to:
                library = ctypes.CDLL(path, mode=os.RTLD_LOCAL | os.RTLD_NOW)
                for name, arguments, results in calls[done:]:
                    try:
                        found = call(library, name, arguments, results)
                    except (ValueError, AttributeError) as wrong:
                        found = str(wrong)
                    pickle.dump(found, to)
                    to.flush()
            os._exit(0)
        os.close(sender)
        with os.fdopen(receiver, "rb") as source:
            while done < len(calls):
                try:
                    found = pickle.load(source)
                except EOFError:
                    break
                done += 1
                yield found
        status = os.waitpid(child, 0)[1]
        if done < len(calls):
            done += 1
            yield f"the call ended the process with status {status}"


def special(dtype, rng):
    """A number that tests are fond of."""
    if dtype == "Bool":
        return rng.random() < 0.5
    if dtype in ("I32", "I64"):
        least = -(1 << (31 if dtype == "I32" else 63))
        return rng.choice([0, 1, -1, 2, -7, least, -least - 1])
    x = rng.choice([0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-40, 3e38, -2.5, 0.5])
    return struct.unpack("<f", struct.pack("<f", x))[0] if dtype == "F32" else x


def plain(dtype, rng):
    if dtype == "Bool":
        return rng.random() < 0.5
    if dtype in ("I32", "I64"):
        return rng.randint(-9, 9)
    x = rng.uniform(-2.0, 2.0)
    return struct.unpack("<f", struct.pack("<f", x))[0] if dtype == "F32" else x
