"""Images made small enough for a model to see. To be run in a worker process: decoding strange files may
crash, or take all memory."""

import io
from typing import TYPE_CHECKING

from tools.failure import Failure

if TYPE_CHECKING:
    from PIL.Image import Image

_AS_THEY_ARE = frozenset({"PNG", "JPEG"})
"""What every model server takes."""

_JPEG_QUALITY = 88


def model_image(content: bytes, max_dimension: int, max_pixels: int) -> bytes:
    """The image as PNG or JPEG whose longer side has at most `max_dimension` pixels; transparency is kept.

    One of more than `max_pixels` is given untouched: decoding it would take too much. Raises Failure
    "image_broken".
    """
    import PIL.Image
    from PIL import ImageOps, UnidentifiedImageError

    PIL.Image.MAX_IMAGE_PIXELS = None  # the limit is ours
    try:
        with PIL.Image.open(io.BytesIO(content)) as opened:
            if opened.width * opened.height > max_pixels:
                return content
            turned = opened.getexif().get(0x0112, 1) != 1
            if max(opened.size) <= max_dimension and opened.format in _AS_THEY_ARE and not turned:
                opened.load()  # or a file that was cut would pass
                return content
            image = ImageOps.exif_transpose(opened)
            image.thumbnail((max_dimension, max_dimension), PIL.Image.Resampling.LANCZOS)
            return _encoded(image)
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError) as error:
        raise Failure("image_broken") from error


def _encoded(image: "Image") -> bytes:
    written = io.BytesIO()
    if image.has_transparency_data:
        image.convert("RGBA").save(written, "PNG")
    else:
        image.convert("RGB").save(written, "JPEG", quality=_JPEG_QUALITY)
    return written.getvalue()
