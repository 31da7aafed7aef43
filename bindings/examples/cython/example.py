"""Print the risk of five cells."""

from array import array

from cells import risks

f, p = array("d", [1, 2, 3, 2.5, 40]), array("d", [0.01, 0.02, 0.5, 0.03, 0.3])
print(*risks(f, p), sep="\n")
