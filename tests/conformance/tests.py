"""Test runs that take so many seconds, as a file for `mock-unity --tests`."""

for seconds in (1, 2, 4, 60):
    for number in range(seconds * 2):
        print(f"- {{ name: Sleep{seconds}s.{number}, takes: 500ms }}")
