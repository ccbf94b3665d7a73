"""Batched generation with a KV cache: greedy, or sampled with temperature, top-k and top-p."""
from __future__ import annotations

import torch

from train.attention import attend, dense_masks
from train.model import (TEXT, Weights, embed, finish_layer, head_logits, layer_heads, layer_keys, layer_queries, of_layer, rms,
                         rope_tables, text_layer)


class Generator:
    """Texts of up to `length` tokens, `batch` at a time; the step runs as one CUDA graph where there is a GPU."""

    def __init__(self, config: dict, weights: Weights, batch: int, length: int, device: str, banned: list[int]):
        self.config, self.weights, self.batch, self.length, self.device = config, weights, batch, length, device
        self.layers = [of_layer(weights, TEXT, i) for i in range(config["num_hidden_layers"])]
        self.dtype = weights[TEXT + "norm.weight"].dtype
        self.banned = torch.tensor(banned, device=device)
        self.rope = rope_tables(config, torch.arange(length, device=device))
        self.cache = []
        for i in range(len(self.layers)):
            _, groups, width = layer_heads(config, i)
            self.cache.append([torch.zeros(batch, groups, length, width, dtype=self.dtype, device=device) for _ in range(2)])
        self.token = torch.zeros(batch, dtype=torch.int64, device=device)
        self.at = torch.zeros(batch, dtype=torch.int64, device=device)
        self.temperature = torch.zeros(batch, 1, device=device)
        self.graph = None

    def prefill(self, tokens: torch.Tensor, pic: torch.Tensor | None = None, inputs: torch.Tensor | None = None, piece: int = 128) -> None:
        """Fills the cache from prompts [batch, P], padded at the end; `inputs` are embeddings in place of the tokens'."""
        size = tokens.shape[1]
        rope = {kind: (cos[:size], sin[:size]) for kind, (cos, sin) in self.rope.items()}
        for first in range(0, self.batch, piece):
            part = slice(first, min(first + piece, self.batch))
            doc = torch.zeros_like(tokens[part])
            masks = dense_masks(doc, doc if pic is None else pic[part], self.config["sliding_window"])
            x = embed(self.weights, tokens[part]) if inputs is None else inputs[part]
            for i, kind in enumerate(self.config["layer_types"]):
                heads, groups, _ = layer_heads(self.config, i)
                x, key, value = text_layer(x, self.layers[i], heads, groups, *rope[kind], masks[kind])
                self.cache[i][0][part, :, :size] = key
                self.cache[i][1][part, :, :size] = value

    def step(self) -> None:
        """Feeds self.token at self.at, then puts the next token and place there."""
        rows = torch.arange(self.batch, device=self.device)
        keys = torch.arange(self.length, device=self.device)
        distance = self.at[:, None] - keys[None]
        masks = {"full_attention": (distance >= 0)[:, None, None],
                 "sliding_attention": ((distance >= 0) & (distance < self.config["sliding_window"]))[:, None, None]}
        rope = {kind: (cos[self.at][:, None, None], sin[self.at][:, None, None]) for kind, (cos, sin) in self.rope.items()}
        x = embed(self.weights, self.token)[:, None]
        for i, kind in enumerate(self.config["layer_types"]):
            heads, groups, _ = layer_heads(self.config, i)
            w = self.layers[i]
            z = rms(x, w["input_layernorm.weight"])
            key, value = layer_keys(z, w, groups, *rope[kind])
            self.cache[i][0][rows, :, self.at] = key[:, :, 0]
            self.cache[i][1][rows, :, self.at] = value[:, :, 0]
            q = layer_queries(z, w, heads, *rope[kind])
            x = finish_layer(x, attend(q, *self.cache[i], masks[kind]), w)
        hidden = rms(x[:, 0], self.weights[TEXT + "norm.weight"])
        logits = head_logits(hidden, self.weights[TEXT + "embed_tokens.weight"], self.config["final_logit_softcapping"])
        logits.index_fill_(1, self.banned, -1e9)
        self.token.copy_(self.choose(logits))
        self.at.copy_((self.at + 1).clamp_max(self.length - 1))

    def choose(self, logits: torch.Tensor) -> torch.Tensor:
        """The likeliest where the temperature is 0, else a sample from top 64, top 0.95."""
        best, tokens = logits.topk(64, -1)
        p = (best / self.temperature.clamp_min(1e-4)).softmax(-1)
        p = torch.where(p.cumsum(-1) - p < 0.95, p, torch.zeros_like(p))
        noise = -torch.log(-torch.log(torch.rand_like(p).clamp(1e-9, 1 - 1e-7)))
        sampled = tokens.gather(-1, (p.clamp_min(1e-30).log() + noise * (p > 0)).argmax(-1, keepdim=True))[:, 0]
        return torch.where(self.temperature[:, 0] > 0, sampled, tokens[:, 0])

    @torch.no_grad()
    def run(self, prompts: list[list[int]], new_tokens: int, stops: list[int], temperature: list[float], pic=None, inputs=None,
            left_open: float = 0.0) -> list[list[int]]:
        """The new tokens of each prompt, its stop token included; fewer prompts than the batch are fine. Done when no more than
        a share `left_open` has not ended."""
        count = len(prompts)
        prompts = prompts + [prompts[0]] * (self.batch - count)
        size = max(len(p) for p in prompts)
        tokens = torch.zeros(self.batch, size, dtype=torch.int64)
        for row, prompt in enumerate(prompts):
            tokens[row, :len(prompt)] = torch.tensor(prompt)
        lengths = torch.tensor([len(p) for p in prompts])
        self.prefill(tokens.to(self.device), pic, inputs)
        temperatures = torch.tensor(list(temperature) + [0.0] * (self.batch - count))[:, None].to(self.device)
        self.temperature.copy_(temperatures)
        self.token.copy_(tokens[torch.arange(self.batch), lengths - 1].to(self.device))
        self.at.copy_((lengths - 1).to(self.device))
        if self.graph is None and self.device.startswith("cuda"):
            token, at = self.token.clone(), self.at.clone()
            self.step()
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.step()
            self.token.copy_(token)
            self.at.copy_(at)
        stop = torch.tensor(stops, device=self.device)
        ended = torch.zeros(self.batch, dtype=torch.bool, device=self.device)
        out = []
        for number in range(min(new_tokens, self.length - size)):
            self.graph.replay() if self.graph is not None else self.step()
            out.append(self.token.clone())
            ended |= (self.token[:, None] == stop[None]).any(-1)
            if number % 16 == 15 and float((~ended).float().mean()) <= left_open:
                break
        texts = torch.stack(out, 1).cpu().tolist()[:count]
        return [cut(text, stops) for text in texts]


def cut(text: list[int], stops: list[int]) -> list[int]:
    """Up to the first stop token, which stays."""
    for i, token in enumerate(text):
        if token in stops:
            return text[:i + 1]
    return text
