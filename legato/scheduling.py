"""``legato.Schedule``: the schedule of schedule/ with output as a script."""
from legato.core.notebook import counted, html_folded, html_table
from legato.frontends.script import print_script
from legato.schedule import schedule


class Schedule(schedule.ModuleSchedule):
    __doc__ = schedule.ModuleSchedule.__doc__

    def __repr__(self) -> str:
        kernel = f"@{self._current}" if self._current else f"{', '.join('@' + name for name in self._names())} (work_on chooses one)"
        steps = self.trace.count("tir.sch_") if self._current else 0
        return f"<legato.Schedule of {kernel}: {counted(steps, 'step')}>"

    def _repr_html_(self) -> str:
        kernel = html_folded("the kernel as it is", str(self)) + html_folded("the steps so far", self.trace) if self._current else ""
        return html_table(("schedule",), [(repr(self),)]) + kernel

    def script(self) -> str:
        """The scheduled module as the source of a script."""
        return print_script(self.module)

    def show(self) -> None:
        """Prints the scheduled module as the source of a script."""
        print(self.script())
