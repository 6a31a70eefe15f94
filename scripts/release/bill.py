"""The bill of materials as packages have it: bill.py <target/sbom/tradewind.cdx.json

Without what differs from run to run and between machines: the serial number, the time (it is
SOURCE_DATE_EPOCH) and the paths of our own crates."""

import json
import os
import re
import sys
from datetime import datetime, timezone


def portable(value):
    """`value` with `file:///…/crates/NAME` as `crates/NAME`."""
    if isinstance(value, dict):
        return {portable(key): portable(it) for key, it in value.items()}
    if isinstance(value, list):
        return [portable(it) for it in value]
    if isinstance(value, str):
        return re.sub(r"(path\+)?file:///\S*?(?=crates/|examples/)", "", value)
    return value


def main():
    bill = portable(json.load(sys.stdin))
    bill.pop("serialNumber", None)
    made = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), timezone.utc)
    bill["metadata"]["timestamp"] = made.strftime("%Y-%m-%dT%H:%M:%SZ")
    json.dump(bill, sys.stdout, indent=1, sort_keys=True)
    print()


main()
