"""``prism ptx`` as a user runs it. What is expected comes from NumPy, or is counted on paper."""

from __future__ import annotations

import json
import pickle
import re
import struct
from pathlib import Path

import numpy as np
import pytest

from prism_mlir.graph.errors import InputError
from prism_mlir.tools.prism import main
from prism_mlir.tools.ptx_arguments import DTYPES, ArrayArgument, ScalarArgument, parse_argument
from prism_mlir.tools.ptx_results import compare, figures

ROOT = Path(__file__).resolve().parents[3]
REVERSE = str(ROOT / "examples" / "reverse.ptx")
SIZES = ["--grid", "4", "--block", "64"]
IN_OUT = ["--arg", "f32[256]=arange", "--arg", "f32[256]=empty"]
HEAD = ".version 8.1\n.target sm_80\n.address_size 64\n"
BODY = ".reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .pred %p<9>;\n"


def kernel(params: str, code: str, name: str = "k") -> str:
    """A kernel; %r1 is the thread, %rd1 the parameter ``out``."""
    load = "mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [out];" if "out" in params else ""
    return f".visible .entry {name}({params}) {{\n{BODY}{load}\n{code}\nret;\n}}\n"


@pytest.fixture
def ptx(tmp_path: Path):
    def write(*kernels: str, name: str = "k.ptx") -> str:
        (tmp_path / name).write_text(HEAD + "".join(kernels))
        return str(tmp_path / name)

    return write


@pytest.fixture
def prism(capsys):
    def run(*arguments: object) -> tuple[int, str, str]:
        code = main(["ptx", *map(str, arguments)])
        out, err = capsys.readouterr()
        return code, out, err

    return run


# -- run ----------------------------------------------------------------------------------------------------------


def turned(x: np.ndarray) -> np.ndarray:
    return x.reshape(4, 64)[:, ::-1].reshape(-1)


def test_run_shows_and_writes_the_output(prism, tmp_path) -> None:
    file = tmp_path / "out.npy"
    code, out, err = prism(
        "run", REVERSE, *SIZES, "--arg", "f32[256]=random:5", "--arg", "f32[256]=empty", "--output", f"1={file}"
    )
    expected = turned(np.random.default_rng(5).standard_normal(256).astype(np.float32))
    assert (code, err) == (0, "")
    assert np.array_equal(np.load(file), expected)
    (row,) = [line.split() for line in out.splitlines() if line.startswith("1 out")]
    shown = [f"{v:.6g}" for v in (expected.min(), expected.max(), expected.mean(dtype=np.float64))]
    assert row[2:9] == ["f32", "256", *shown, "0", "0"]
    assert "grid 4, block 64; reference engine, all checks" in out and f"wrote    1 out to {file}" in out


def test_run_as_json(prism) -> None:
    code, out, _ = prism("run", REVERSE, *SIZES, *IN_OUT, "--json")
    data = json.loads(out)
    assert code == 0 and data["kernel"] == "reverse" and data["engine"] == "reference" and len(data["checks"]) == 8
    (output,) = data["outputs"]
    assert (output["argument"], output["min"], output["max"], output["mean"]) == (1, 0, 255, 127.5)


def test_the_fast_engine_is_taken_where_the_checks_allow_it(prism) -> None:
    for options, engine in [(["--checks", "none"], "fast"), (["--engine", "fast"], "fast"), ([], "reference")]:
        _, out, _ = prism("run", REVERSE, *SIZES, *IN_OUT, *options, "--json")
        assert json.loads(out)["engine"] == engine


def test_scalars_reach_the_kernel(prism, ptx, tmp_path) -> None:
    params = ".param .u64 out, .param .u32 a, .param .f32 b, .param .s64 c, .param .b16 d, .param .b16 e, .param .u8 g"
    code = """ld.param.u32 %r2, [a]; st.global.u32 [%rd1], %r2; ld.param.f32 %f1, [b]; st.global.f32 [%rd1+4], %f1;
      ld.param.s64 %rd2, [c]; st.global.u64 [%rd1+8], %rd2; ld.param.b16 %h1, [d]; st.global.b16 [%rd1+16], %h1;
      ld.param.b16 %h1, [e]; st.global.b16 [%rd1+18], %h1; ld.param.u8 %h1, [g]; st.global.u8 [%rd1+20], %h1;"""
    file = tmp_path / "out.npy"
    scalars = [f"--arg={a}" for a in ("u32=0xfffffffe", "f32=1.5", "i64=-3", "f16=0.25", "bf16=-2.5", "i1=1")]
    arguments = ["--grid", 1, "--block", 1, "--arg", "u8[21]=empty", *scalars, "--output", f"0={file}"]
    assert prism("run", ptx(kernel(params, code)), *arguments)[0] == 0
    # bf16 is the upper half of f32: -2.5 is 0xc0200000
    expected = struct.pack("<Ifq", 0xFFFFFFFE, 1.5, -3) + np.float16(0.25).tobytes() + struct.pack("<H", 0xC020) + b"\1"
    assert np.load(file).tobytes() == expected


def test_a_parameter_passed_by_value_takes_an_array_of_its_size(prism, ptx, tmp_path) -> None:
    code = "ld.param.u32 %r2, [s+4]; st.global.u32 [%rd1], %r2;"
    source = ptx(kernel(".param .u64 out, .param .align 4 .b8 s[12]", code))
    (tmp_path / "s.bin").write_bytes(struct.pack("<III", 7, 8, 9))
    run = ["run", source, "--grid", 1, "--block", 1, "--arg", "u32[1]=empty", "--json"]
    code, out, _ = prism(*run, "--arg", f"u8[12]={tmp_path / 's.bin'}")
    assert code == 0 and json.loads(out)["outputs"][0]["max"] == 8
    code, _, err = prism(*run, "--arg", "u8[13]=zeros")
    assert code == 1 and "'u8[13]=zeros' is an array of 13 bytes, parameter 's' takes 12 bytes, give u8[12]=FILE" in err
    code, _, err = prism(*run, "--arg", "u32=3")
    assert code == 1 and "argument 1 'u32=3': parameter 's' takes 12 bytes, give u8[12]=FILE" in err


def test_an_array_for_a_number_is_told_how_to_write_a_number(prism, ptx) -> None:
    code, _, err = prism("run", ptx(kernel(".param .f32 a", "")), "--grid", 1, "--block", 1, "--arg", "f32[1]=ones")
    assert code == 1 and "'f32[1]=ones' is an array, parameter 'a' is a f32, write f32=5\n" in err


def test_arrays_come_from_files(prism, tmp_path) -> None:
    x = np.random.default_rng(1).standard_normal(256).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    x.tofile(tmp_path / "x.bin")
    np.save(tmp_path / "y.npy", turned(x))
    expect = f"1={tmp_path / 'y.npy'}"
    npy, raw = tmp_path / "x.npy", tmp_path / "x.bin"
    for spec in (str(npy), f"f32[256]={npy}", f"f32[256]={raw}", f"f32[4,64]={raw}"):
        code, out, err = prism(*first(spec), "--expect", expect)
        assert (code, err) == (0, "") and "equal    1 out agrees with" in out, spec


def test_arguments_by_index(prism) -> None:
    code, out, _ = prism("run", REVERSE, *SIZES, "--arg", "1=f32[256]=nan", "--arg", "f32[256]=full:2.5", "--json")
    assert code == 0 and json.loads(out)["outputs"][0]["mean"] == 2.5


def test_json_of_infinite_numbers_is_json(prism) -> None:
    """RFC 8259, section 6: there are no numbers NaN and Infinity."""

    def no_number(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    code, out, _ = prism("run", REVERSE, *SIZES, "--arg", "f32[256]=full:-inf", "--arg", "f32[256]=empty", "--json")
    (output,) = json.loads(out, parse_constant=no_number)["outputs"]
    assert (code, output["min"], output["max"], output["mean"]) == (0, "-inf", "-inf", None)


def test_random_arguments_without_a_seed_differ(prism, ptx) -> None:
    """The kernel stores in[0] of both arrays; their seeds are their indices."""
    code = """ld.param.u64 %rd2, [a]; ld.global.u64 %rd3, [%rd2]; st.global.u64 [%rd1], %rd3;
      ld.param.u64 %rd2, [b]; ld.global.u64 %rd3, [%rd2]; st.global.u64 [%rd1+8], %rd3;"""
    source = ptx(kernel(".param .u64 a, .param .u64 b, .param .u64 out", code))
    run = [
        "run",
        source,
        "--grid",
        1,
        "--block",
        1,
        "--arg",
        "f64[4]=random",
        "--arg",
        "f64[4]=random",
        "--arg",
        "f64[2]=empty",
    ]
    output = json.loads(prism(*run, "--json")[1])["outputs"][0]
    values = [np.random.default_rng(seed).standard_normal(4)[0] for seed in (0, 1)]
    assert (output["min"], output["max"]) == (min(values), max(values))


def test_what_differs_from_what_was_expected_is_told(prism, tmp_path) -> None:
    expected = turned(np.arange(256, dtype=np.float64))
    expected[[5, 100]] += [0.5, -3]
    np.save(tmp_path / "e.npy", expected)
    run = ["run", REVERSE, *SIZES, *IN_OUT, "--expect", f"1={tmp_path / 'e.npy'}"]
    code, out, _ = prism(*run)
    assert code == 1 and "differs  1 out 2 of 256 elements differ" in out
    assert "first at [5]: 58.0, expected 58.5" in out  # block 0: 63 - 5
    assert prism(*run, "--atol", "1")[0] == 1
    code, out, _ = prism(*run, "--atol", "1", "--rtol", "0.1", "--json")
    found = json.loads(out)["outputs"][0]["expected"]
    assert (code, found["wrong"], found["largest_error"]) == (0, 0, 3.0)  # 3 <= 1 + 0.1 * 88


def test_an_expectation_of_another_shape_is_found_before_the_run(prism, tmp_path) -> None:
    np.save(tmp_path / "e.npy", np.zeros((4, 64), np.float32))
    run = ["run", REVERSE, *SIZES, *IN_OUT, "--expect", f"1={tmp_path / 'e.npy'}"]
    code, out, err = prism(*run, "--max-steps", 3)  # which would end the run
    assert (code, out) == (1, "") and "e.npy:1:1: error: the file has shape [4, 64], the output [256], save it" in err


def test_a_run_says_how_it_forms_sums_of_mma(prism) -> None:
    run = ["run", REVERSE, *SIZES, *IN_OUT]
    for options, exact in ([], False), (["--exact-mma"], True):
        code, out, _ = prism(*run, *options)
        assert code == 0 and ("all checks, sums of mma as on Ampere" in out) == exact
        assert json.loads(prism(*run, *options, "--json")[1])["exact_mma"] is exact


def test_a_run_that_a_check_ends_prints_the_report(prism) -> None:
    code, out, err = prism("run", REVERSE, "--grid", 5, "--block", 64, *IN_OUT)
    assert code == 1 and out == ""
    assert err.startswith(f"{REVERSE}:28:3: error: [bounds]") and "thread: (0, 0, 0) of block (4, 0, 0)" in err
    assert "address: in+1024 of 1024 bytes" in err


def test_missing_dynamic_shared_memory_is_named(prism, ptx) -> None:
    source = ptx(
        ".extern .shared .align 4 .b8 dyn[];\n",
        kernel(".param .u64 out", "st.shared.u32 [dyn], %r1; st.global.u32 [%rd1], 1;"),
    )
    run = ["run", source, "--grid", 1, "--block", 1, "--arg", "u32[1]=empty"]
    code, _, err = prism(*run)
    assert code == 1 and "address: dyn+0 of 0 bytes" in err and "or the dynamic shared memory of the launch" in err
    assert prism(*run, "--shared", 4)[0] == 0


def test_checks_can_be_chosen(prism, ptx) -> None:
    source = ptx(kernel(".param .u64 out", "ld.global.u32 %r2, [%rd1]; st.global.u32 [%rd1], %r2;"))
    run = ["run", source, "--grid", 1, "--block", 1, "--arg", "u32[1]=empty"]
    code, _, err = prism(*run)
    assert code == 1 and "[uninitialised]" in err
    for checks in ("none", "race,bounds", "all,-uninitialised"):
        code, out, _ = prism(*run, "--checks", checks)
        assert code == 0, checks
    assert "all,-uninitialised" not in out and "checks: bounds, alignment, race" in out


def test_outputs_are_what_the_kernel_may_write_where_none_is_named(prism, ptx) -> None:
    source = ptx(kernel(".param .u64 a, .param .u64 out", "red.global.add.u32 [%rd1], 1;"))
    code, out, _ = prism(
        "run", source, "--grid", 3, "--block", 32, "--arg", "f32[8]=ones", "--arg", "u32[1]=zeros", "--json"
    )
    (output,) = json.loads(out)["outputs"]
    assert code == 0 and (output["argument"], output["max"]) == (1, 96)


def test_bytes_that_are_never_written_are_noted(prism) -> None:
    code, out, _ = prism("run", REVERSE, "--grid", 3, "--block", 64, *IN_OUT)
    assert code == 0 and "note     256 bytes of 1 out were never written" in out


# -- check --------------------------------------------------------------------------------------------------------


def test_check_says_what_was_checked(prism) -> None:
    code, out, err = prism("check", REVERSE, *SIZES, "--arg", "f32[256]=random", "--arg", "f32[256]=empty")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"checked  reverse of {REVERSE}: grid 4, block 64",
        "         3 runs, seeds 0 to 2; bounds, alignment, uninitialised, race, async_copy, barrier, convergence, cross_block",
        "         that every byte is written of 1 out",
        "clean    nothing found",
    ]


def test_check_runs_once_where_nothing_is_random(prism) -> None:
    assert "         1 run; bounds" in prism("check", REVERSE, *SIZES, *IN_OUT, "--seeds", 9)[1]


def test_a_missing_barrier_is_a_race_with_both_threads(prism, tmp_path) -> None:
    lines = Path(REVERSE).read_text().splitlines(keepends=True)
    broken = tmp_path / "broken.ptx"
    broken.write_text("".join(line for line in lines if "bar.sync" not in line))
    load = next(
        i for i, line in enumerate(lines) if "ld.shared" in line
    )  # one up, from 0: so its line from 1 in the broken file
    code, out, _ = prism("check", broken, *SIZES, "--arg", "f32[256]=random", "--arg", "f32[256]=empty")
    assert code == 1 and out.startswith(f"{broken}:{load}:3: error: [race]")
    for part in (
        "instruction: ld.shared.f32 %x, [%from]",
        "kernel: reverse, after 0 barriers",
        "thread: (0, 0, 0) of block (0, 0, 0)",
        "thread: (63, 0, 0) of block (0, 0, 0)",
        "address: tile+252 of 256 bytes",
        "hint: put a bar.sync",
        "seen with: every seed",
        "found    1 bug",
    ):
        assert part in out, part


def test_check_goes_on_behind_a_finding(prism, ptx) -> None:
    """Thread t of block b stores to word 31 b + t + 1 of 63: both blocks to word 32, one past the end, none to word 0."""
    code = """mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 31, %r1; add.u32 %r3, %r3, 1; mad.wide.u32 %rd1, %r3, 4, %rd1;
      st.global.u32 [%rd1], %r1;"""
    arguments = ["--grid", 2, "--block", 32, "--arg", "u32[63]=empty"]
    code, out, _ = prism("check", ptx(kernel(".param .u64 out", code)), *arguments, "--json")
    data = json.loads(out)
    assert code == 1 and {f["kind"] for f in data["findings"]} == {"bounds", "cross_block", "unwritten"}
    assert data["seeds"] == [0] and all(f["line"] and "error: [" in f["report"] for f in data["findings"])


def test_check_finds_what_only_some_data_show(prism, ptx) -> None:
    """The kernel reads past the end where its first number is negative."""
    code = """ld.param.u64 %rd2, [in]; ld.global.f32 %f1, [%rd2]; setp.lt.f32 %p1, %f1, 0f00000000;
      selp.b32 %r2, 1024, 0, %p1; cvt.u64.u32 %rd3, %r2; add.s64 %rd2, %rd2, %rd3; ld.global.f32 %f1, [%rd2];
      st.global.f32 [%rd1], %f1;"""
    source = ptx(kernel(".param .u64 out, .param .u64 in", code))
    negative = [seed for seed in range(8) if np.random.default_rng(10 + seed).standard_normal(4)[0] < 0]
    assert 0 < len(negative) < 8
    arguments = [
        "--grid",
        1,
        "--block",
        1,
        "--arg",
        "f32[1]=empty",
        "--arg",
        "f32[4]=random:10",
        "--seeds",
        8,
        "--json",
    ]
    code, out, _ = prism("check", source, *arguments)
    (finding,) = json.loads(out)["findings"]
    assert code == 1 and (finding["kind"], finding["seeds"]) == ("bounds", negative)


def test_traps_and_endless_loops_are_findings(prism, ptx) -> None:
    one = ["--grid", 1, "--block", 1, "--arg", "u32[1]=zeros"]
    code, out, _ = prism("check", ptx(kernel(".param .u64 out", "trap;")), *one)
    assert code == 1 and "executed trap" in out and "found    1 bug" in out
    code, out, _ = prism("check", ptx(kernel(".param .u64 out", "L: bra L;")), *one, "--max-steps", 1000)
    assert code == 1 and "has not ended after 1000 instructions" in out


# -- stats --------------------------------------------------------------------------------------------------------


def test_stats_of_the_example(prism) -> None:
    """4 blocks of 2 warps; a warp loads and stores 128 bytes, that is 4 sectors each, and takes 2 wavefronts."""
    code, out, err = prism("stats", REVERSE, *SIZES, *IN_OUT, "--json")
    data = json.loads(out)
    counters, derived = data["counters"], data["derived"]
    assert (code, err) == (0, "") and data["launch"] == {"blocks": 4, "warps": 8, "threads": 256}
    assert counters["warp_instructions"]["ld.global"] == 8 and counters["barriers"] == 4
    assert (counters["global_requests"], counters["global_sectors"]) == (16, 64)
    assert (counters["shared_requests"], counters["shared_wavefronts"]) == (16, 16)
    assert derived == {
        "threads_per_instruction": 32.0,
        "sectors_per_request": 4.0,
        "bytes_per_sector": 32.0,
        "bank_conflicts": 0,
        "bank_conflict_share": 0.0,
        "divergent_share": 0.0,
        "flops_per_byte": 0.0,
    }
    _, out, _ = prism("stats", REVERSE, *SIZES, *IN_OUT)
    rows = [line.split() for line in out.splitlines()]
    assert ["global", "sectors", "64", "16", "8"] in rows and ["ld.shared", "8", "2", "1"] in rows


def test_stats_of_one_thread(prism, ptx) -> None:
    _, out, _ = prism("stats", ptx(kernel("", "")), "--grid", 1, "--block", 1)
    assert "1 block, 1 warp, 1 thread\n" in out


def test_stats_show_conflicts_and_uncoalesced_accesses(prism, ptx) -> None:
    """32 threads 128 bytes apart: all in one bank (32 wavefronts, not 1), and a sector each, of which 4 bytes are used."""
    code = """.shared .b8 s[4096]; shl.b32 %r2, %r1, 7; cvt.u64.u32 %rd3, %r2; add.s64 %rd1, %rd1, %rd3; mov.u32 %r3, s;
      add.u32 %r3, %r3, %r2; st.shared.u32 [%r3], %r1; st.global.u32 [%rd1], %r1;"""
    source = ptx(kernel(".param .u64 out", code))
    arguments = ["--grid", 1, "--block", 32, "--arg", "u8[4096]=zeros"]
    _, out, _ = prism("stats", source, *arguments, "--json")
    derived = json.loads(out)["derived"]
    assert (derived["sectors_per_request"], derived["bytes_per_sector"], derived["bank_conflicts"]) == (32, 4, 31)
    assert "31 of the shared wavefronts are replays" in prism("stats", source, *arguments)[1]


# -- launch.json --------------------------------------------------------------------------------------------------


def argument(role: str, index: int, name: str, shape: list[int], dtype: str = "f32") -> dict[str, object]:
    strides = [int(np.prod(shape[d + 1 :])) for d in range(len(shape))]
    return {
        "role": role,
        "index": index,
        "name": name,
        "dtype": dtype,
        "shape": shape,
        "strides": strides,
        "alignment": 16,
    }


def description(path: Path, *kernels: dict[str, object]) -> str:
    path.write_text(json.dumps({"kernels": list(kernels), "workspace": [1024]}))
    return str(path)


def launch_of(entry: str, *arguments: dict[str, object], file: str = "reverse.ptx", grid: int = 4, block: int = 64):
    """One entry of ``kernels``."""
    return {
        "entry": entry,
        "ptx": file,
        "grid": [grid, 1, 1],
        "block": [block, 1, 1],
        "shared_bytes": 0,
        "arguments": list(arguments),
    }


def test_a_launch_description_says_everything(prism, tmp_path) -> None:
    x, y = argument("input", 0, "X", [4, 64]), argument("output", 0, "Y", [4, 64])
    file = description(tmp_path / "launch.json", launch_of("reverse", x, y))
    code, out, _ = prism("check", REVERSE, "--launch", file)
    assert code == 0 and "grid 4x1x1, block 64x1x1" in out and "3 runs" in out and "written of 1 Y" in out
    code, out, _ = prism("run", REVERSE, "--launch", file, "--json")
    expected = np.random.default_rng(0).standard_normal((4, 64)).astype(np.float32)
    (output,) = json.loads(out)["outputs"]
    assert (output["name"], output["shape"], output["max"]) == ("Y", [4, 64], float(expected.max()))
    np.save(tmp_path / "x.npy", expected)
    expected.tofile(tmp_path / "x.bin")
    for spec in ("0=full:7", "0=f32[4,64]=full:7"):
        assert (
            json.loads(prism("run", REVERSE, "--launch", file, "--arg", spec, "--json")[1])["outputs"][0]["mean"] == 7
        )
    for spec in (f"0={tmp_path / 'x.npy'}", f"{tmp_path / 'x.npy'}", f"0={tmp_path / 'x.bin'}"):
        code, out, _ = prism("run", REVERSE, "--launch", file, "--arg", spec, "--json")
        assert json.loads(out)["outputs"][0]["max"] == float(expected.max()), spec
    assert prism("stats", REVERSE, "--launch", file)[0] == 0


def test_a_later_kernel_finds_data_in_what_an_earlier_one_made(prism, tmp_path) -> None:
    x, t, y = argument("input", 0, "X", [256]), argument("workspace", 0, "t", [256]), argument("output", 0, "Y", [256])
    first, second = launch_of("first", x, t, file="first.ptx"), launch_of("reverse", t, y)
    file = description(tmp_path / "launch.json", first, second)
    code, out, _ = prism("check", REVERSE, "--launch", file)
    assert code == 0 and "that every byte is written of 1 Y\n" in out


def test_options_win_over_the_launch_description(prism, tmp_path) -> None:
    x, y = argument("input", 0, "X", [256]), argument("output", 0, "Y", [256])
    file = description(tmp_path / "launch.json", launch_of("reverse", x, y))
    code, out, _ = prism("check", REVERSE, "--launch", file, "--grid", "3")
    assert code == 1 and "256 of 1024 bytes of argument 1 'Y', which starts undefined, are never written" in out


def test_bf16_from_a_description(prism, ptx, tmp_path) -> None:
    code = "ld.param.u64 %rd2, [in]; ld.global.b16 %h1, [%rd2]; st.global.b16 [%rd1], %h1;"
    source = ptx(kernel(".param .u64 in, .param .u64 out", code))
    x, y = argument("input", 0, "X", [1], "bf16"), argument("output", 0, "Y", [1], "bf16")
    file = description(tmp_path / "l.json", launch_of("k", x, y, file="k.ptx", grid=1, block=1))
    np.save(tmp_path / "x.npy", np.array([0xC020], np.uint16))  # -2.5
    np.save(tmp_path / "e.npy", np.array([-2.5]))
    run = ["run", source, "--launch", file, "--arg", tmp_path / "x.npy", "--json"]
    for expected in ("x.npy", "e.npy"):
        code, out, _ = prism(*run, "--expect", f"1={tmp_path / expected}")
        assert code == 0 and json.loads(out)["outputs"][0]["mean"] == -2.5


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"entry": "other"}, ":1:1: error: the file does not describe any of reverse, the kernels of "),
        ({"grid": [0, 1, 1]}, ":1:1: error: launch info: kernels[0].grid needs three positive sizes"),
        ({"arguments": []}, "error: the launch description has 0 arguments, kernel 'reverse' 2 parameters"),
    ],
)
def test_descriptions_that_do_not_fit(prism, tmp_path, change, what) -> None:
    x, y = argument("input", 0, "X", [256]), argument("output", 0, "Y", [256])
    file = description(tmp_path / "launch.json", launch_of("reverse", x, y) | change)
    code, out, err = prism("check", REVERSE, "--launch", file)
    assert (code, out) == (1, "") and what in err and err.count("\n") == 1


# -- errors -------------------------------------------------------------------------------------------------------

EMPTY = ["--arg", "f32[256]=empty"]
WHOLE = ["run", REVERSE, *SIZES, *IN_OUT]


def first(spec: str) -> list[str]:
    """A run with a first argument that is wrong, and a second one that is right."""
    return ["run", REVERSE, *SIZES, "--arg", spec, *EMPTY]


# About the kernel and its launch: exit code 1, as for errors with a place in a file. The others are of the command line.
OF_THE_LAUNCH = (
    r"error: (the grid|a grid|the block|no kernel|the fast|cannot|arguments 0|argument \d )"
    r"|needs \d+ bytes|:\d+: error: "
)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["run", "nope.ptx"], "nope.ptx:1:1: error: cannot read the file: No such file or directory"),
        (["run", REVERSE], "error: the number of blocks is missing, give --grid"),
        (["run", REVERSE, "--grid", "4"], "error: the number of threads of a block is missing, give --block"),
        (["run", REVERSE, *SIZES], "error: arguments 0, 1 are missing: kernel 'reverse' takes 0 in (u64 or pointer), 1 out"),
        (["run", REVERSE, *SIZES, "--arg", "f32[256]=arange"], "error: argument 1 is missing: kernel 'reverse' takes"),
        ([*WHOLE, "--arg", "u32=1"], "error: argument 2 'u32=1' is one too many: kernel 'reverse' takes"),
        ([*WHOLE, "--arg", "1=u64=1"], "error: argument 1 'u64=1' is given twice"),
        ([*WHOLE, "--arg", "9999999=u64=1"], "no kernel has that many arguments"),
        ([*WHOLE, "--grid", "ab"], "error: --grid: 'ab' is no extent, give one to three integers"),
        ([*WHOLE, "--grid", ""], "error: --grid: '' is no extent"),
        ([*WHOLE, "--grid", "1.5"], "error: --grid: '1.5' is no extent"),
        ([*WHOLE, "--grid", "1,1,1,1"], "error: --grid: '1,1,1,1' is no extent"),
        ([*WHOLE, "--grid", "0"], "error: the grid needs one to three positive extents"),
        ([*WHOLE, "--grid=-1"], "error: the grid needs one to three positive extents"),
        ([*WHOLE, "--grid", "99999999999999"], "error: the grid (99999999999999, 1, 1) exceeds the limits"),
        ([*WHOLE, "--grid", "2147483647,65535"], "error: a grid of (2147483647, 65535, 1) has more than the"),
        ([*WHOLE, "--block", "2048"], "error: the block (2048, 1, 1) exceeds the limits"),
        ([*WHOLE, "--entry", "other"], "error: no kernel 'other' in "),
        ([*WHOLE, "--shared", "9999999"], "bytes of shared memory, more than the 166912 of sm_80"),
        ([*WHOLE, "--shared=-1"], "error: --shared: Input should be greater than or equal to 0"),
        ([*WHOLE, "--engine", "quick"], "error: --engine: 'quick' is not one of 'auto', 'fast', 'reference'"),
        ([*WHOLE, "--engine", "fast", "--checks", "all"], "error: the fast engine does not have: uninitialised"),
        ([*WHOLE, "--checks", "wibble"], "error: --checks: no check is called 'wibble', known are all, none, bounds"),
        ([*WHOLE, "--checks", ""], "error: --checks: no check is called '', known are all, none, bounds"),
        (["check", *WHOLE[1:], "--checks", ""], "error: --checks: no check is called ''"),
        (["check", *WHOLE[1:], "--checks", "none"], "error: --checks none leaves nothing to check"),
        (["check", *WHOLE[1:], "--seeds", "0"], "error: --seeds: Input should be greater than or equal to 1"),
        ([*WHOLE, "--max-steps", "3"], "has not ended after 3 instructions"),
        ([*WHOLE, "--output", "5"], "error: argument 5 is no array that could be shown, arrays are: 0, 1"),
        ([*WHOLE, "--output", "x"], "error: --output: 'x' names no argument, give its index"),
        ([*WHOLE, "--output", "1=/nonexistent/x.npy"], "error: cannot write '/nonexistent/x.npy': No such directory"),
        ([*WHOLE, "--output", "1=.", "--max-steps", "3"], "error: cannot write '.': Is a directory, check"),
        ([*WHOLE, "--output", "1=no/x.npy", "--max-steps", "3"], "error: cannot write 'no/x.npy': No such directory"),
        ([*WHOLE, "--expect", "1=a.npy", "--expect", "1=b.npy"], "error: --expect: argument 1 is given twice, compare it"),
        ([*WHOLE, "--expect", "1"], "error: --expect needs a file"),
        ([*WHOLE, "--expect", "1=nope.npy"], "nope.npy:1:1: error: cannot read the file"),
        ([*WHOLE, "--launch", "nope.json"], "error: cannot read 'nope.json': No such file or directory"),
        ([*WHOLE, "--launch", REVERSE], "reverse.ptx:1:1: error: the file is not JSON"),
        (first("q9[256]=arange"), "error: argument 'q9[256]=arange': unknown dtype 'q9', known are i1, i8, u8"),
        (first("f32[1099511627776]=zeros"), "needs 4398046511104 bytes, more than the 1 GiB that fit"),
        (first("f32[1048576,1048576]=random"), "needs 4398046511104 bytes, more than the 1 GiB that fit"),
        (first("f32[99999999999999999999]=zeros"), "'[99999999999999999999]' is no shape"),
        (first("f32[a]=zeros"), "'[a]' is no shape"),
        (first("f32[-4]=zeros"), "'[-4]' is no shape"),
        (first("f32[256]"), "error: argument 'f32[256]' has no content"),
        (first("f32[256]=wibble"), "'wibble' is no content, known are random:SEED, zeros"),
        (first("f32[256]=zeros:3"), "'zeros:3' is no content"),
        (first("f32[256]=full"), "'full' is no content"),
        (first("f32[256]=full:x"), "'x' is no number"),
        (first("i32[256]=full:1.5"), "'1.5' is no integer"),
        (first("f16[256]=full:70000"), "70000 does not fit f16"),
        (first("bf16[256]=full:1e39"), "1e39 does not fit bf16"),
        (first("i8[256]=arange"), "255 does not fit i8"),
        (first("f32[256]=random:x"), "seed 'x', give an integer that is not negative"),
        (first("nope.npy"), "nope.npy:1:1: error: cannot read the file"),
        (first("f32[256]=nope.bin"), "nope.bin:1:1: error: cannot read the file"),
        (first("random"), "error: argument 0 'random' has no type and shape"),
        (first("wibble"), "error: argument 'wibble' is not understood"),
        (first("u32=5"), "error: argument 0 'u32=5': parameter 'in' is a u64 or pointer, write u64=5"),
        (first("f64=5"), "error: argument 0 'f64=5': parameter 'in' is a u64 or pointer"),
        (first("u64=5.5"), "'5.5' is no integer"),
        (first(f"u64={'9' * 5000}"), "does not fit u64"),
        (["bogus"], "error: No such command 'bogus'"),
    ],
)  # fmt: skip
def test_errors_are_one_line(prism, tmp_path, monkeypatch, arguments, what) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = prism(*arguments)
    usage = not re.search(OF_THE_LAUNCH, err) or "that could be shown" in err
    assert (code, out) == (2 if usage else 1, "") and what in err, err
    assert err.count("\n") == 1 and "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_a_module_of_several_kernels_needs_a_choice(prism, ptx) -> None:
    source = ptx(kernel("", "", "a"), kernel("", "", "b"))
    code, _, err = prism("run", source, "--grid", 1, "--block", 1)
    assert code == 1 and err == f"{source}:1:1: error: the module has 2 kernels, choose one with --entry: a, b\n"
    assert prism("run", source, "--grid", 1, "--block", 1, "--entry", "b")[0] == 0
    code, _, err = prism("run", ptx(name="none.ptx"), "--grid", 1, "--block", 1)
    assert code == 1 and "the module has no kernel" in err


def test_files_that_are_no_arrays(prism, tmp_path) -> None:
    np.savez(tmp_path / "archive.npy", a=np.zeros(3))
    (tmp_path / "archive.npy.npz").rename(tmp_path / "archive.npy")
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.save(tmp_path / "text.npy", np.array(["a"]))
    np.save(tmp_path / "complex.npy", np.zeros(2, complex))
    np.save(tmp_path / "good.npy", np.zeros(256, np.float32))
    good = (tmp_path / "good.npy").read_bytes()
    (tmp_path / "short.npy").write_bytes(good[:-8])
    (tmp_path / "huge.npy").write_bytes(good.replace(b"(256,), ", b"(9" + b"9" * 12 + b",), ")[: len(good)])
    (tmp_path / "pickle.npy").write_bytes(pickle.dumps([1, 2]))
    (tmp_path / "empty.npy").write_bytes(b"")
    for name in ("archive", "objects", "text", "complex", "short", "huge", "pickle", "empty"):
        file = tmp_path / f"{name}.npy"
        for spec in (str(file), f"f32[256]={file}"):
            code, out, err = prism("run", REVERSE, *SIZES, "--arg", spec, *EMPTY)
            assert (code, out) == (1, "") and err.startswith(f"{file}:1:1: error: ") and err.count("\n") == 1, err
    assert prism("run", REVERSE, *SIZES, "--arg", tmp_path / "good.npy", *EMPTY)[0] == 0


def test_files_of_another_type_or_size(prism, tmp_path) -> None:
    np.save(tmp_path / "x.npy", np.zeros(256))
    (tmp_path / "x.bin").write_bytes(bytes(10))
    _, _, err = prism("run", REVERSE, *SIZES, "--arg", f"f32[256]={tmp_path / 'x.npy'}", *EMPTY)
    assert "x.npy:1:1: error: the file holds f64[256], not f32[256]" in err
    _, _, err = prism("run", REVERSE, *SIZES, "--arg", f"f32[256]={tmp_path / 'x.bin'}", *EMPTY)
    assert "x.bin:1:1: error: the file has 10 bytes, f32[256] needs 1024" in err
    _, _, err = prism("run", REVERSE, *SIZES, *IN_OUT, "--expect", f"1={tmp_path / 'x.npy'}", "--output", "1")
    assert err == ""  # an expectation may have another type
    np.save(tmp_path / "y.npy", np.zeros(255))
    code, _, err = prism("run", REVERSE, *SIZES, *IN_OUT, "--expect", f"1={tmp_path / 'y.npy'}")
    assert code == 1 and "y.npy:1:1: error: the file has shape [255], the output [256]" in err


# -- the grammar of --arg -----------------------------------------------------------------------------------------


def built(text: str) -> np.ndarray:
    _, parsed = parse_argument(text)
    assert isinstance(parsed, ArrayArgument)
    return parsed.build()


@pytest.mark.parametrize("dtype", DTYPES)
def test_fills_of_every_type(dtype: str) -> None:
    storage = DTYPES[dtype]
    values = {"zeros": 0, "ones": 1, "full:1": 1}
    for fill, value in values.items():
        array = built(f"{dtype}[2,3]={fill}")
        bits = 0x3F80 if dtype == "bf16" and value else value  # 1.0 in bfloat16
        assert array.dtype == storage and array.shape == (2, 3) and (array == bits).all()
    undefined = built(f"{dtype}[5]=empty")
    assert undefined.tobytes() == b"\xff" * undefined.nbytes
    random, again, other = (built(f"{dtype}[64]=random:{seed}") for seed in (3, 3, 4))
    assert np.array_equal(random, again) and not np.array_equal(random, other)


def test_random_numbers_are_those_of_numpy() -> None:
    expected = np.random.default_rng(7).standard_normal((3, 5))
    assert np.array_equal(built("f64[3,5]=random:7"), expected)
    assert np.array_equal(built("f16[3,5]=random:7"), expected.astype(np.float16))
    widened = (built("bf16[3,5]=random:7").astype(np.uint32) << 16).view(np.float32)
    assert (np.abs(widened - expected) <= np.abs(expected) * 2.0**-8).all()
    assert np.array_equal(
        built("i8[9]=random:7"), np.random.default_rng(7).integers(-128, 127, 9, np.int8, endpoint=True)
    )
    assert built("u64[1000]=random").max() > 2**63 and built("i1[64]=random").any()


def test_arange_counts_in_every_type() -> None:
    assert np.array_equal(built("i32[2,3]=arange"), np.arange(6, dtype=np.int32).reshape(2, 3))
    assert np.array_equal(built("f16[4]=arange"), np.arange(4, dtype=np.float16))
    assert built("bf16[3]=arange").tolist() == [0, 0x3F80, 0x4000]


def test_shapes_of_no_dims_and_of_none() -> None:
    assert (
        built("f32[]=random").shape == ()
        and built("f32[0]=empty").nbytes == 0
        and built("f32[2x3]=ones").shape == (2, 3)
    )


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        ("i8=-1", b"\xff"),
        ("u16=0x1234", b"\x34\x12"),
        ("u64=18446744073709551615", b"\xff" * 8),
        ("f16=nan", b"\x00\x7e"),
        ("f32=-inf", b"\x00\x00\x80\xff"),
        ("bf16=1", b"\x80\x3f"),
        ("3=f64=1.5", struct.pack("<d", 1.5)),
    ],
)
def test_scalars(text: str, raw: bytes) -> None:
    index, parsed = parse_argument(text)
    assert isinstance(parsed, ScalarArgument) and parsed.raw == raw and index == (3 if text[0] == "3" else None)


@pytest.mark.parametrize(
    "text",
    [
        "u8=256",
        "u8=-1",
        "f64=1e999",
        "f32=-1e400",
        "f32[2]=full:1e999",
        "i8=128",
        "i1=2",
        "f16=1e9",
        "u32=",
        "f32=abc",
        "i32=1.0",
        "u32=٣x",
        "=",
        "[]",
        "f32[2=1",
    ],
)
def test_texts_that_are_no_argument(text: str) -> None:
    with pytest.raises(InputError):
        parse_argument(text)


# -- figures and comparisons --------------------------------------------------------------------------------------


def test_figures_leave_nan_out_and_count_it() -> None:
    f = figures(np.array([1.0, np.nan, -3.0, np.inf], np.float16), "f16")
    assert (f.min, f.max, f.mean, f.nan, f.infinite) == (-3.0, np.inf, -1.0, 1, 1)
    f = figures(np.array([0x3F80, 0x7FC0], np.uint16), "bf16")  # 1 and NaN
    assert (f.min, f.max, f.mean, f.nan) == (1.0, 1.0, 1.0, 1)
    assert figures(np.zeros(0, np.float32), "f32").max is None and figures(np.full(3, np.nan), "f64").mean is None
    assert figures(np.array([2**63, 1], np.uint64), "u64").max == 2**63


def test_comparisons(tmp_path) -> None:
    def against(got: np.ndarray, expected: np.ndarray, dtype: str, **limits: float | None) -> int:
        np.save(tmp_path / "e.npy", expected)
        return compare(got, dtype, tmp_path / "e.npy", limits.get("rtol"), limits.get("atol")).wrong

    x = np.array([1.0, np.nan, np.inf, -np.inf], np.float32)
    assert against(x, x.astype(np.float64), "f32") == 0
    assert against(x, np.array([1.0, 0.0, -np.inf, -np.inf]), "f32") == 2
    assert against(np.array([1.001], np.float16), np.array([1.0]), "f16") == 0  # f16 allows 1e-3
    assert against(np.array([1.001], np.float32), np.array([1.0]), "f32") == 1
    large = np.array([2**63 + 1], np.uint64)
    assert against(large, large - 1, "u64") == 1 and against(large, large - 1, "u64", rtol=1e-6) == 0
    assert against(np.array([True, False]), np.array([1, 1]), "i1") == 1
