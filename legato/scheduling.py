"""``legato.Schedule``: the schedule of schedule/, which can also be seen as a script."""
from legato.frontends.script import print_script
from legato.schedule import schedule


class Schedule(schedule.Schedule):
    __doc__ = schedule.Schedule.__doc__

    def script(self) -> str:
        """The module, with what was done, as the source of a script."""
        return print_script(self.module)

    def show(self) -> None:
        """Prints the module, with what was done, as the source of a script."""
        print(self.script())
