"""The cases of the campaign, by group. A group is a function of one of the modules below that yields (name, function of a
Trial, whether it is quick)."""

import batch_cases
import input_cases
import kill_cases
import option_cases
import output_cases
import resource_cases


def all_cases(quick, program, assets):
    """[(group, name, function, quick)]"""
    groups = (
        ("kills", kill_cases.kills(quick)),
        ("batches", batch_cases.batches(quick)),
        ("disks", resource_cases.disks(quick)),
        ("outputs", output_cases.outputs(quick)),
        ("options", option_cases.options(quick, program)),
        ("shapes", input_cases.odd_shapes(quick)),
        ("products", input_cases.products(quick)),
        ("materials", input_cases.materials(quick)),
        ("threads", output_cases.threads(quick)),
        ("memory", resource_cases.memory(quick)),
        ("bad", input_cases.bad_files(quick, assets)),
    )
    return [
        (name, case, function, fast) for name, cases in groups for case, function, fast in cases if fast or not quick
    ]
