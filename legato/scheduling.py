"""``legato.Schedule``: the schedule of schedule/ with output as a script."""
from legato.frontends.script import print_script
from legato.schedule import schedule


class Schedule(schedule.ModuleSchedule):
    __doc__ = schedule.ModuleSchedule.__doc__

    def script(self) -> str:
        """The scheduled module as the source of a script."""
        return print_script(self.module)

    def show(self) -> None:
        """Prints the scheduled module as the source of a script."""
        print(self.script())
