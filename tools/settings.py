"""The settings that the tools read. `agent.settings` adds those of the agent and the interface."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class ToolSettings(BaseModel):
    """Limits and addresses of the tools; every name is a key of config.yaml."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, coerce_numbers_to_str=True)

    searxng_url: str = "http://localhost:8888"
    search_backend: Literal["auto", "searxng", "duckduckgo"] = "auto"
    search_max_results: int = Field(default=5, ge=1, le=20)
    scrape_max_chars: int = Field(default=4000, ge=500, le=100_000)
    fetch_max_chars: int = Field(default=8000, ge=500, le=100_000)
    fetch_max_results: int = Field(default=3, ge=1, le=10)
    max_pdf_pages: int = Field(default=25, ge=1, le=500)
    keep_files: bool = False
    max_image_dimension: int = Field(default=1024, ge=64, le=8192)
    max_image_pixels: int = Field(default=16_000_000, ge=100_000, le=200_000_000)
    max_fetch_mb: int = Field(default=10, ge=1, le=200)
    pagination_token_ttl: int = Field(default=1800, ge=60, le=86_400)
    allow_hosts: tuple[str, ...] = ()
