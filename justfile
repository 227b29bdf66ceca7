# Short names for the commands that CI and the documents use. `just` is optional.

# List the recipes
default:
    @just --list

# What CI runs before a change lands
check:
    .ci/run

# All tests
test:
    cargo test --workspace --locked

# Random plans against the server: just sim --level shell --seeds 1000
sim *flags:
    cargo run --profile sim -p sim --locked -- swarm {{flags}}

# Write generated documents and snapshots again; review the difference
bless:
    BLESS=1 INSTA_UPDATE=always cargo test --workspace --locked

# The documentation of the libraries
docs:
    cargo doc --workspace --no-deps --locked --open

# A server, a mock Unity and an agent, without Unity
demo *flags:
    cargo run --release -p mock-unity --locked -- demo {{flags}}

# Draw the pictures of the documents, and record the demo
pictures:
    cargo run -p sim --locked -- svg compile::a_call_waits_over_the_domain_reload --theme light -o docs/pictures/reload-light.svg
    cargo run -p sim --locked -- svg compile::a_call_waits_over_the_domain_reload --theme dark -o docs/pictures/reload-dark.svg
    cargo run --release -p mock-unity --locked -- demo > docs/pictures/demo.txt

# The attacks on the release build
security *flags:
    tests/security/run {{flags}}

# The Unity plugin on Mono: compile, NUnit tests, and the same behaviours as with the mock
plugin *flags:
    tests/plugin/run {{flags}}

# The release for five systems and all packages, into dist/
dist *flags:
    packaging/dist {{flags}}

# The packages of this machine: validate, install offline, talk MCP
packages:
    tests/packages/run

# The Windows programs and their tests under Wine
windows *flags:
    tests/windows/run {{flags}}

# Do the tests notice small changes of the core?
mutants *flags:
    tests/mutants/run {{flags}}

# Fuzz each target for so many seconds
fuzz seconds="60":
    tests/fuzz/run {{seconds}}

# Time, processor and memory beside the smallest possible bridge
bench *flags:
    tests/bench/run {{flags}}

# Two agents and an unruly Unity for some minutes
soak minutes="10":
    tests/soak/run {{minutes}}
