"""What a CUDA driver (580.159, two whole GPUs) made of texts of CUDA_VISIBLE_DEVICES.

Each text was given to a fresh process that asked ``cuDeviceGetCount`` and ``cuDeviceGetUuid``; "A" and "B" are the GPUs in CUDA's order.
"""

A = "GPU-c429684c-e3ce-551c-0f64-c87cd36832d0"
B = "GPU-2e501609-0505-a1ba-b6f8-184face4ba0c"

MEASURED: tuple[tuple[str | None, str], ...] = (
    (None, "AB"),
    *((text, "") for text in ("", " ", "-1", "NoDevFiles", "none", "all", "void", "--1", "-1,0", "2", "7,0", ",0")),
    *(
        (text, "A")
        for text in (
            "0",
            "0,",
            "0,-1,1",
            "0,2,1",
            "0,2,0",
            "0,9,0",
            "0,x,1",
            "0,,1",
            "0;1",
            "0 1",
            "0x1",
            "0\n",
            "4294967296",
        )
    ),
    *((text, "B") for text in ("1", "+1", "01", "1gpu", "1.5", "1,-1,1", "\t1", "4294967297")),
    *((text, "AB") for text in ("0,1", "0,1,", "0 ,1", "0, 1", " 0,1", "0\t,1")),
    ("1,0", "BA"),
    *((text, "") for text in ("0,0", "1,1,0", "0,1,1", "0,0,1", "99999999999,0")),
    *(
        (text, "A")
        for text in (A, A[:10], A.upper(), A + "x", A[:-1], A + ",1", f"{A},GPU-zz,{B}", f"{A}, {B}", "MIG-" + A[4:])
    ),
    *((text, "B") for text in (B, B[:12])),
    (f"{B},{A}", "BA"),
    (f"{A} ,{B}", "AB"),
    (f"0,{B}", "A"),
    ("0,MIG-x", "A"),
    *(
        (text, "")
        for text in (
            f"{A},{A}",
            f"{A[:12]},{A}",
            "GPU-",
            "GPU-zz," + B,
            " " + A,
            A.lower(),
            A[4:],
            A.replace("-", ""),
            f"MIG-{A}/1/0",
        )
    ),
)
