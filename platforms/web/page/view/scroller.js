/**
 * Scrolls with new text when the end is visible. Otherwise keeps the position and shows a button to jump to the end.
 */

/** A distance to the end below this counts as the end, px. */
const nearPx = 56

/**
 * @param {object} options
 * @param {HTMLElement} options.viewport scrolls
 * @param {HTMLElement} options.content grows
 * @param {HTMLButtonElement} options.jump
 * @param {HTMLElement} options.frame learns whether anything is above
 */
export function createScroller({ viewport, content, jump, frame }) {
  let following = true
  let lastTop = 0
  let lastHeight = 0

  viewport.addEventListener(
    'scroll',
    () => {
      const { scrollTop, scrollHeight } = viewport
      const below = distance()
      // Any step up means that the user wants to read there, even while text is added below.
      const upwards = scrollTop < lastTop - 1 && scrollHeight >= lastHeight
      following = below < (upwards ? 2 : nearPx)
      lastTop = scrollTop
      lastHeight = scrollHeight
      show()
    },
    { passive: true },
  )
  jump.addEventListener('click', () => toEnd())
  // What a person opens stays in its place, and grows below it.
  content.addEventListener(
    'click',
    ({ target }) => {
      const pressed = target instanceof Element ? target.closest('summary, .fold, .tool-more') : null
      if (pressed === null) return
      const closes = pressed.parentElement?.hasAttribute('open') || pressed.getAttribute('aria-expanded') === 'true'
      if (!closes) following = false
      else
        requestAnimationFrame(() => {
          following = distance() < nearPx
          show()
        })
    },
    { capture: true },
  )
  const watch = new ResizeObserver(() => {
    if (following) viewport.scrollTop = viewport.scrollHeight
    show()
  })
  watch.observe(content)
  watch.observe(viewport)

  return {
    toEnd,
    /** A page up (-1) or down (1). @param {number} pages */
    page: (pages) => viewport.scrollBy({ top: pages * viewport.clientHeight * 0.85 }),
    /** New content was added at the end. */
    noteNew() {
      if (!following) jump.dataset['new'] = ''
    },
    /** Runs a change above the reader without moving the text they read. @param {() => void} change */
    keepPlace(change) {
      const fromEnd = viewport.scrollHeight - viewport.scrollTop
      change()
      viewport.scrollTop = viewport.scrollHeight - fromEnd
    },
  }

  /** Returns the distance from the visible part to the end, in pixels. */
  function distance() {
    return viewport.scrollHeight - viewport.scrollTop - viewport.clientHeight
  }

  function toEnd() {
    following = true
    viewport.scrollTop = viewport.scrollHeight
    show()
  }

  function show() {
    jump.hidden = following || distance() < 2
    if (jump.hidden) delete jump.dataset['new']
    frame.toggleAttribute('data-scrolled', viewport.scrollTop > 4)
  }
}
