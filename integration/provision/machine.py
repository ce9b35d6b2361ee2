"""Prints ironic's own provision state machine as JSON: its states, and what
becomes of every state with every event and every target."""

import json
import sys

from ironic.common import exception
from ironic.common import state_machine
from ironic.common import states


def outcome(state, event, target):
    machine = state_machine.machine.copy()
    machine.initialize(start_state=state)
    try:
        machine.process_event(event, target_state=target)
    except exception.InvalidState:
        return None
    # As ironic.conductor.task_manager does without a callback.
    stable = machine.is_stable(machine.current_state)
    return {"state": machine.current_state, "target": None if stable else machine.target_state}


def main():
    machine = state_machine.machine
    names = list(machine.states)
    events = sorted({event for _, event, _ in machine})
    stable = [name for name in names if machine.is_stable(name)]
    answer = {
        "states": [{"name": name, "stable": machine.is_stable(name)} for name in names],
        "events": events,
        "verbs": states.VERBS,
        "outcomes": [
            {"from": state, "event": event, "target": target, "to": outcome(state, event, target)}
            for state in names for event in events for target in [None] + stable
        ],
    }
    json.dump(answer, sys.stdout)


main()
