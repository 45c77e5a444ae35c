"""Compiled functions against the interpreter, a pytest test for each line of a manifest.

    KINA=build/kina-interp pytest examples/oracle
"""
import json
import os
import subprocess

MANIFEST = os.path.join(os.path.dirname(__file__), "tests.json")


def compare():
    command = [os.environ.get("KINA", "kina-interp"), "oracle", "--manifest", MANIFEST, "--format", "json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    assert done.returncode in (0, 5), "the manifest cannot be used"
    return json.loads(done.stdout)["tests"]


def pytest_generate_tests(metafunc):
    tests = compare()
    metafunc.parametrize("test", tests, ids=[test["name"] for test in tests])


def test_agrees(test):
    assert test["passed"], json.dumps(test, indent=2)
