// What is not in view is not made anew.
import { html, useEffect, useRef, useState } from "../base/view.js";

// of: makes what stands here; whatever it reads is followed while it is in view, or nearly.
export function WhenSeen({ of, on }) {
  const place = useRef(), kept = useRef(), [isSeen, see] = useState(true);
  useEffect(() => {
    const watch = new IntersectionObserver((looks) => {
      const { isIntersecting } = looks.at(-1);
      see(isIntersecting);
      on?.(isIntersecting);
    });
    watch.observe(place.current);
    return () => watch.disconnect();
  }, []);
  if (isSeen) kept.current = of();
  return html`<div class="seen" ref=${place}>${kept.current}</div>`;
}
