"""What an event handler may know of who called it."""

import gradio as gr

from locales import Locale, load_locale
from tools.failure import Failure
from ui.identity import Person


def person_of(request: gr.Request) -> Person:
    """The person that the guard let in."""
    person: Person = request.state.person
    return person


def locale_of(request: gr.Request) -> Locale:
    return load_locale(person_of(request).language)


def require_owner(request: gr.Request) -> Person:
    """The person, if they may change settings and see private addresses; else raises Failure "not_owner"."""
    person = person_of(request)
    if not person.may_configure:
        raise Failure("not_owner")
    return person
