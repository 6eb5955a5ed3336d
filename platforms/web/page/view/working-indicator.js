/**
 * Shows that the agent is working when nothing else on the page moves, with the elapsed time after a while.
 */
import { byId, setText } from '../dom.js'
import { duration } from '../time.js'

const showAfterMs = 5_000

/** @param {{ now: () => number }} options */
export function createWorkingIndicator({ now }) {
  const root = byId('working', HTMLElement)
  const text = byId('working-text', HTMLElement)
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let timer
  let since = 0

  return {
    /** @param {number | null} start since when; null hides it */
    show(start) {
      root.hidden = start === null
      if (start === null) {
        clearInterval(timer)
        timer = undefined
        return
      }
      since = start
      timer ??= setInterval(tell, 1_000)
      tell()
    },
  }

  function tell() {
    const ms = now() - since
    setText(text, ms < showAfterMs ? 'Working' : `Working · ${duration(ms)}`)
  }
}
