"""pytest puts the folder of a conftest on the path: so tests in every folder here can import `interpret`."""
import os

os.environ["LEGATO_CACHE"] = "off"   # tests compile
