"""What each thing that a GPU ran is, by its program, by its name, and by what CUDA says of it."""

from __future__ import annotations

import pytest

from jaxgpu_tune.measure.trace.hlo import Instruction
from jaxgpu_tune.measure.trace.kinds import Work, works_on
from tests.traces import MODULE, instruction, ran, trace

GPU = "/device:GPU:0"


def work(op: str, kernel: str = "", *programs: Instruction, **stats: object) -> Work:
    """The first thing that the GPU ran."""
    return works_on(trace(ran(op, 1.0, 2.0, name=kernel, **stats), instructions=programs), GPU)[0]


@pytest.mark.parametrize(
    ("one", "kind", "turns", "product"),
    [
        (instruction("f", "fusion", "add", "multiply"), "computing", False, False),
        (instruction("f", "fusion", "transpose", "parameter", "bitcast"), "copies", True, False),
        (instruction("f", "fusion", "copy", "add"), "computing", False, False),
        (instruction("f", "fusion", "transpose", "add"), "computing", True, False),
        (instruction("f", "fusion", "transpose", "dot"), "computing", False, True),
        (instruction("f", "fusion", "parameter", "bitcast"), "computing", False, False),
        (instruction("f", "custom-call", "__cublas$gemm"), "computing", False, True),
        (instruction("f", "convolution"), "computing", False, True),
        (instruction("f", "ragged-dot"), "computing", False, True),
        (instruction("f", "reduce-precision"), "copies", False, False),
        (instruction("f", "bitcast-convert"), "copies", False, False),
        *((instruction("f", one), "copies", False, False) for one in ("slice", "dynamic-slice", "concatenate", "pad")),
        *(
            (instruction("f", one), "copies", False, False)
            for one in ("reshape", "reverse", "copy-start", "slice-start")
        ),
        (instruction("f", "dynamic-update-slice"), "copies", False, False),
        (instruction("f", "convert"), "copies", False, False),
        (instruction("f", "all-reduce-start"), "communication", False, False),
    ],
)
def test_by_what_an_instruction_does(one: Instruction, kind: str, turns: bool, product: bool) -> None:
    """What only moves numbers is a copy; a product that reads transposed is no transpose."""
    found = work("f", "a_kernel", one)
    assert (found.kind, found.turns, found.product, found.op) == (kind, turns, product, "f")
    assert found.instruction == one and not found.whole and found.module == MODULE


@pytest.mark.parametrize(
    ("op", "kind"),
    [
        ("loop_transpose_fusion", "copies"),
        ("wrapped_copy", "copies"),
        ("input_concatenate_fusion.3", "copies"),
        ("copy_convert_fusion_1", "copies"),
        ("dynamic_update_slice.7", "copies"),
        ("pad", "copies"),
        ("loop_add_fusion", "computing"),
        ("transpose_add_fusion", "computing"),
        ("my_copy", "computing"),
    ],
)
def test_by_the_name_where_the_program_is_not_in_the_trace(op: str, kind: str) -> None:
    found = work(op)
    assert (found.kind, found.instruction, found.source) == (kind, None, "")


@pytest.mark.parametrize("name", ["Memcpy D2D", "Memset", "memcpy32_post", "memset32"])
def test_copies_of_cuda_are_copies_whatever_they_are_for(name: str) -> None:
    assert work("fusion.1", name, instruction("fusion.1", "fusion", "add")).kind == "copies"
    assert work("fusion.1", f"x{name}", instruction("fusion.1", "fusion", "add")).kind == "computing"


@pytest.mark.parametrize(
    ("kernel", "collective"),
    [
        ("ncclDevKernel_AllGather_RING_LL(ncclDevComm)", "all-gather"),
        ("ncclKernel_AllReduce_RING_LL_Sum_float", "all-reduce"),
        ("ncclDevKernel_ReduceScatter_Sum_bf16", "reduce-scatter"),
        ("ncclDevKernel_SendRecv", "send-recv"),
        ("ncclDevKernel_Broadcast_RING_LL", "collective"),
        ("nvshmem_something", "collective"),
        ("MemcpyP2P", "peer-copy"),
    ],
)
def test_collectives_by_their_kernels(kernel: str, collective: str) -> None:
    """Where no instruction tells."""
    found = work("custom-call.1", kernel)
    assert (found.kind, found.collective) == ("communication", collective)


@pytest.mark.parametrize(
    ("one", "collective"),
    [
        (instruction("a", "all-gather-start"), "all-gather"),
        (instruction("a", "fusion", "add", "reduce-scatter"), "reduce-scatter"),
        (instruction("all-to-all.3", "custom-call", "x"), "all-to-all"),
    ],
)
def test_collectives_by_their_instructions(one: Instruction, collective: str) -> None:
    """Its own opcode, what is inside, or its name; whatever the kernel is called."""
    found = work(one.name, "ncclDevKernel_SendRecv", one)
    assert (found.kind, found.collective) == ("communication", collective)


def test_a_cuda_graph_is_one_thing_or_spans_its_kernels() -> None:
    """Of those that are shown; each launch by itself."""
    whole = work("x", "graph", cuda_graph_exec_id=3, cuda_graph_id=9)
    assert (whole.kind, whole.whole) == ("graph", True)
    events = [
        ran("a", 1, 2, cuda_graph_id=9, correlation_id=1),
        ran("b", 4, 1, cuda_graph_id=9, correlation_id=1),
        ran("a", 7, 2, cuda_graph_id=9, correlation_id=2),
        ran("c", 2, 1),
        ran("nothing", 9, 0),
    ]
    found = works_on(trace(*events), GPU)
    graphs = [(one.start / 1e6, one.end / 1e6, one.op) for one in found if one.kind == "graph"]
    assert graphs == [(1, 5, "CUDA graph 9"), (7, 9, "CUDA graph 9")]
    assert [one.op for one in found] == ["CUDA graph 9", "a", "c", "b", "CUDA graph 9", "a"]
    assert not any(one.whole or one.turns or one.product for one in found)


def test_a_kernel_in_a_graph_goes_by_its_own_name() -> None:
    """XLA says the graph's name of it."""
    found = work("command_buffer_3", "loop_transpose_fusion")
    assert (found.op, found.kind) == ("loop_transpose_fusion", "copies")
