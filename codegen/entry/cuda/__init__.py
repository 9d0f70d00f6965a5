"""The entry of models for NVIDIA's GPUs: what runs on the host, and calls the CUDA driver itself.

- ``layouts.py``: the model's tables, the driver's functions, a device, a call. ``driver.py``: finds the driver, declares its functions.
- ``instance.py``: makes and deletes instances. ``device.py``: what an instance has on its device: kernels and weights.
- ``call.py``: a call of the model. ``arguments.py``: its inputs. ``lanes.py``: its memory and stream. ``outputs.py``: its results.
  ``memory.py``: memory of devices, which models share.
- ``launch.py``: what @main calls: launches, copies, reads. ``tensor_maps.py``: parameters of launches for the copy engine.
  ``frame.py``: what @main asks for once it knows sizes that depend on data. ``graphs.py``, ``nodes.py``: the launches of a call as one
  graph. ``profile.py``: what @main_profiled calls. ``refusals.py``: errors.
- ``tables.py``: the tables of a model, as text.
"""
