"""Models on Vulkan devices: the plan of their launches, and the device that runs them."""
