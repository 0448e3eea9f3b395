/** Frames to wait: the tab that contains the field may still have to load and render. */
const MOST_FRAMES = 120

/** Returns the field at this path, or the nearest enclosing one. */
function fieldOf(path: string): HTMLElement | null {
  const find = (selector: string) => document.querySelector<HTMLElement>(selector)
  for (let at = path; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('.')))) {
    const exact = JSON.stringify(at)
    const field = find(`[data-path=${exact}]`) ?? find(`[data-path^=${JSON.stringify(`${at}.`)}]`)
    if (field) return field
  }
  return null
}

export function focusField(path: string, frames = MOST_FRAMES): void {
  requestAnimationFrame(() => {
    const field = fieldOf(path)
    if (!field) return frames > 0 ? focusField(path, frames - 1) : undefined
    field.focus({ preventScroll: true })
    field.scrollIntoView({ block: 'center' })
  })
}
