"""Numbers of tvm-ffi's C ABI (``tvm/ffi/c_api.h``): the type index that says what a ``TVMFFIAny`` holds, and an object's references."""

NONE, INT, BOOL, FLOAT, POINTER = 0, 1, 2, 3, 4
DL_TENSOR = 7            # a bare DLTensor*, owned by somebody else
RAW_STR, SMALL_STR = 8, 11
OBJECT = 64              # this and all above: the address of an object that counts its references
STR, FUNCTION, SHAPE, TENSOR, ARRAY, MAP, LIST, DICT = 65, 68, 69, 70, 71, 72, 75, 76

SOLE_REFERENCE = 1 << 32 | 1     # an object's first word while one reference to it is left, and no weak one

STRIDED_TENSOR = 1070    # ours, in the tables of arguments of packed functions: a tensor with gaps between its elements
