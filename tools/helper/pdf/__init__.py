"""Draws Markdown as a PDF: `render.render_pdf` is the door.

The way of a document, one room after the other:

    characters  what a text may hold, and which script it is in
    parse       Markdown -> blocks (`blocks` has their types, `markdown_rules` our own rules, `html_blocks`
                reads raw HTML, `links` addresses, `wrapping` tells which line ends count)
    typeset     spans of text -> boxes: words in a font, at a size (`font` shapes, `font_search` chooses)
    bidi        text that runs from right to left (`bidi_levels` is the algorithm)
    lines       boxes -> lines of a given width
    layout      blocks -> pages (`flow` keeps the place; `code`, coloured by `highlight`, and `tables` draw
                the large blocks, `contents` the table of contents)
    pages       what stands on a page: operators of a content stream, links
    embed       pages and fonts -> the file, through fpdf2

`look` holds every size and colour, `notes` what a reader should know of a document. Lengths are points, and
y grows downwards from the top of the page.
"""
