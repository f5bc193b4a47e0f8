"""Two training jobs of common shape in plain PyTorch: a residual network and a transformer.

Their batches are random and stay where the model is: what is timed is training, not loading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

CLASSES = 1000
VOCABULARY = 8192
LAYERS, HEADS, WIDTH = 6, 12, 768


@dataclass(frozen=True)
class Job:
    """A model with its batches and its optimizer."""

    model: Callable[[], nn.Module]
    batch: Callable[[int, torch.device], tuple[Tensor, Tensor]]
    """Inputs and targets of so many samples."""
    optimizer: Callable[[Iterator[nn.Parameter]], torch.optim.Optimizer]


class Bottleneck(nn.Module):
    """1x1, 3x3, 1x1 convolutions beside a shortcut (He et al., 2016; stride in the 3x3)."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            *_convolution(channels, width, 1, 1),
            nn.ReLU(inplace=True),
            *_convolution(width, width, 3, stride),
            nn.ReLU(inplace=True),
            *_convolution(width, 4 * width, 1, 1),
        )
        same = stride == 1 and channels == 4 * width
        self.shortcut = (
            nn.Identity() if same else nn.Sequential(*_convolution(channels, 4 * width, 1, stride))
        )

    def forward(self, images: Tensor) -> Tensor:
        return functional.relu(self.body(images) + self.shortcut(images), inplace=True)


def resnet50() -> nn.Module:
    """The residual network of 50 layers, 25.6 million parameters, images in channels-last order."""
    layers: list[nn.Module] = [
        *_convolution(3, 64, 7, 2),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, padding=1),
    ]
    channels = 64
    for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            stride = 2 if block == 0 and width > 64 else 1
            layers.append(Bottleneck(channels, width, stride))
            channels = 4 * width
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, CLASSES)]
    return nn.Sequential(*layers).to(memory_format=torch.channels_last)


class Block(nn.Module):
    """Causal self-attention and a feed-forward layer, each behind a normalization."""

    def __init__(self) -> None:
        super().__init__()
        self.before_attention, self.before_feed = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.queries_keys_values = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.feed = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, tokens: Tensor) -> Tensor:
        samples, length, _ = tokens.shape
        parts = self.queries_keys_values(self.before_attention(tokens))
        query, key, value = parts.view(samples, length, 3, HEADS, WIDTH // HEADS).unbind(2)
        attended = functional.scaled_dot_product_attention(
            query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2), is_causal=True
        )
        tokens = tokens + self.out(attended.transpose(1, 2).reshape(samples, length, WIDTH))
        return tokens + self.feed(self.before_feed(tokens))


class Transformer(nn.Module):
    """A language model of the GPT-2 kind with six layers: 55 million parameters."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.places = nn.Parameter(torch.zeros(length, WIDTH))
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.last = nn.LayerNorm(WIDTH)
        self.logits = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, words: Tensor) -> Tensor:
        logits: Tensor = self.logits(self.last(self.blocks(self.words(words) + self.places)))
        return logits.flatten(0, 1)


def jobs(image: int, length: int) -> dict[str, Job]:
    """The jobs by name, for images of so many pixels a side and sequences of so many tokens."""

    def pictures(samples: int, device: torch.device) -> tuple[Tensor, Tensor]:
        images = torch.randn(samples, 3, image, image, device=device)
        targets = torch.randint(CLASSES, (samples,), device=device)
        return images.contiguous(memory_format=torch.channels_last), targets

    def texts(samples: int, device: torch.device) -> tuple[Tensor, Tensor]:
        words = torch.randint(VOCABULARY, (samples, length + 1), device=device)
        return words[:, :-1], words[:, 1:].flatten()

    return {
        "resnet50": Job(
            resnet50, pictures, lambda parameters: torch.optim.SGD(parameters, 0.01, momentum=0.9)
        ),
        "transformer": Job(
            lambda: Transformer(length),
            texts,
            lambda parameters: torch.optim.AdamW(parameters, 1e-4),
        ),
    }


def _convolution(channels: int, width: int, size: int, stride: int) -> tuple[nn.Module, nn.Module]:
    return (
        nn.Conv2d(channels, width, size, stride, padding=size // 2, bias=False),
        nn.BatchNorm2d(width),
    )
