"""Attention masks of packed rows, dense or as block masks, and the attention that takes either."""
from __future__ import annotations

import torch
import torch.nn.functional as F

try:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
except ImportError:  # an old PyTorch without it: dense masks only
    create_block_mask = flex_attention = None


def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask) -> torch.Tensor:
    """Attention with scale 1 and grouped heads: q [B, H, Q, D], k and v [B, G, K, D]; mask None, bool [B, 1, Q, K] or a block mask."""
    if mask is not None and not isinstance(mask, torch.Tensor):
        return flex_attention(q, k, v, block_mask=mask, scale=1.0, enable_gqa=True)
    groups = q.shape[1] // k.shape[1]
    if mask is None and hasattr(F, "scaled_dot_product_attention") and groups == 1:
        return F.scaled_dot_product_attention(q, k, v, scale=1.0)
    batch, heads, queries, width = q.shape
    grouped = q.reshape(batch, k.shape[1], groups * queries, width)
    scores = (grouped @ k.transpose(-1, -2)).float().reshape(batch, heads, queries, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e30)
    weights = scores.softmax(-1).to(v.dtype).reshape(batch, k.shape[1], groups * queries, -1)
    return (weights @ v).reshape(batch, heads, queries, width)


def may_see(doc_q, doc_k, pic_q, pic_k, q, k, window: int, sliding: bool):
    """A target's rule: same document, not later (except inside one picture, in sliding layers), within the window."""
    if not sliding:
        return (doc_q == doc_k) & (k <= q)
    return (doc_q == doc_k) & (q - k < window) & ((k <= q) | ((pic_q == pic_k) & (pic_q > 0)))


def may_draft_from(doc_q, doc_k, q, k, first_q, window: int, sliding: bool):
    """A drafter's rule: keys before the newest token; a document's first token, which nothing precedes, sees itself."""
    sees = (doc_q == doc_k) & ((k < q) | ((k == q) & first_q))
    return sees & (q - k < window) if sliding else sees


def dense_masks(doc: torch.Tensor, pic: torch.Tensor, window: int, drafting: bool = False) -> dict[str, torch.Tensor]:
    """Bool masks [B, 1, T, T] by layer kind."""
    length = doc.shape[1]
    at = torch.arange(length, device=doc.device)
    q, k = at[:, None], at[None, :]
    doc_q, doc_k = doc[:, :, None], doc[:, None, :]
    masks = {}
    for kind in ("sliding_attention", "full_attention"):
        sliding = kind == "sliding_attention"
        if drafting:
            first = torch.ones_like(doc, dtype=torch.bool)
            first[:, 1:] = doc[:, 1:] != doc[:, :-1]
            seen = may_draft_from(doc_q, doc_k, q, k, first[:, :, None], window, sliding)
        else:
            seen = may_see(doc_q, doc_k, pic[:, :, None], pic[:, None, :], q, k, window, sliding)
        masks[kind] = seen[:, None]
    return masks


class PackedMasks:
    """Masks for packed rows of one fixed shape. The block masks read buffers that stay in place, so compiled code is reused."""

    def __init__(self, rows: int, length: int, window: int, device: str, drafting: bool = False):
        self.window, self.drafting, self.device = window, drafting, device
        self.doc = torch.zeros(rows, length, dtype=torch.int32, device=device)
        self.pic = torch.zeros_like(self.doc)
        self.first = torch.zeros(rows, length, dtype=torch.bool, device=device)
        self.blocks = flex_attention is not None and device.startswith("cuda")
        if not self.blocks:
            return
        doc, pic, first = self.doc, self.pic, self.first

        def rule(sliding: bool):
            if drafting:
                return lambda b, h, q, k: may_draft_from(doc[b, q], doc[b, k], q, k, first[b, q], window, sliding)
            return lambda b, h, q, k: may_see(doc[b, q], doc[b, k], pic[b, q], pic[b, k], q, k, window, sliding)

        self.rules = {"sliding_attention": rule(True), "full_attention": rule(False)}
        self.make = torch.compile(create_block_mask, dynamic=False)

    def update(self, doc: torch.Tensor, pic: torch.Tensor) -> dict[str, object]:
        """The masks by layer kind for these document and picture numbers [rows, length]."""
        if not self.blocks:
            return dense_masks(doc, pic, self.window, self.drafting)
        self.doc.copy_(doc)
        self.pic.copy_(pic)
        self.first[:, 0] = True
        self.first[:, 1:] = doc[:, 1:] != doc[:, :-1]
        rows, length = doc.shape
        return {kind: self.make(rule, rows, None, length, length, device=self.device) for kind, rule in self.rules.items()}
