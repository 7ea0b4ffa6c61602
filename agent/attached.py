"""Files that come with a question, as the model gets them.

Every file is named in the question, so that a model with tools reads it as `attachment:NUMBER`. An image goes
to a model that sees; of any other file, a model without tools gets the text, as far as it fits.
"""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.events import Message, Notice
from tools.attachments import Attachment, Attachments
from tools.helper.image import model_image
from tools.helper.pagination import parse_paged_result
from tools.helper.worker import workers
from tools.registry import ToolRegistry
from tools.tool import ToolContext

_IMAGE_SECONDS = 15.0
_READER = "pdf_to_text"
"""The tool that reads any file."""


def question_message(question: str, attached: Sequence[Attachment]) -> Message:
    """What the user said, as the model is told it."""
    names = ", ".join(f"{file.id} ({file.name})" for file in attached)
    content = f"{question}\n\n[{names}]" if names else question
    return {"role": "user", "content": content.strip()}


@dataclass(frozen=True)
class AttachedFiles:
    """Completes a question by what is in its files, for a model that sees (`vision`) or does not, and has
    tools to read them or has not."""

    attached: Sequence[Attachment]
    kept: Attachments
    registry: ToolRegistry
    context: ToolContext
    vision: bool
    has_tools: bool

    def complete(self, message: Message) -> list[Notice]:
        """Add to the message what its files hold; returns what the person should know.

        Raises Failure: those of images; one of a file that can't be read is told to both instead.
        """
        return [*self._images(message), *self._texts(message)]

    def _images(self, message: Message) -> Iterator[Notice]:
        images = [file for file in self.attached if file.kind == "image"]
        if images and not self.vision:
            yield self._notice("images_unseen")
        elif images:
            message["images"] = [base64.b64encode(self._image(file)).decode() for file in images]

    def _image(self, file: Attachment) -> bytes:
        settings = self.context.settings
        limits = settings.max_image_dimension, settings.max_image_pixels
        return workers.run(_IMAGE_SECONDS, self.context.cancel, model_image, self.kept.read(file), *limits)

    def _texts(self, message: Message) -> Iterator[Notice]:
        if self.has_tools:
            return
        for file in self.attached:
            if file.kind == "image":
                continue
            given = {"url_or_path": file.id, "max_chars": self.context.max_result_chars}
            result = self.registry.execute(_READER, given, self.context)
            if result.error:
                yield self._notice("file_unread", name=file.name, cause=result.error.cause)
            part = parse_paged_result(result.text)
            message["content"] += f"\n\n[{file.name}]\n{part.text}"
            if part.has_more:
                yield self._notice("file_cut", name=file.name)
                message["content"] += "\n\n" + self.context.locale("results.file_cut")

    def _notice(self, kind: str, **values: object) -> Notice:
        locale = self.context.locale
        return Notice(kind, locale(f"notices.{kind}.text", **values), locale(f"notices.{kind}.remedy"))
