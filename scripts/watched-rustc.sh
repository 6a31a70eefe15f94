#!/usr/bin/env bash
# The compiler with what libFuzzer watches, for the project's own crates (RUSTC_WORKSPACE_WRAPPER). The
# flags are of LLVM and work with the stable compiler. Programs that run while compiling have no
# libFuzzer.
case " $* " in
*" --crate-type proc-macro "* | *" --crate-name build_script_"*) exec "$@" ;;
esac
exec "$@" --cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares
