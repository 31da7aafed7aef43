"""What tests of other things accept."""

# For ``protect(**ANY_LEAK)``: leaks of any column and of the order of the records, and
# columns that have no role.
ANY_LEAK = {"accept": {"*": "a test"}, "roles": {"*": "harmless:a test"}}
