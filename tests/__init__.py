"""The tests mirror the package; ``cases`` holds the case files, ``interop`` meets real peers."""
