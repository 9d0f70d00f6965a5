"""pytest puts the folder of a conftest on the path: so tests in every folder here can import `interpret`."""
import os

from kept_bytecode import keep_bytecode

os.environ["LEGATO_CACHE"] = "off"   # tests compile
keep_bytecode(os.environ)
