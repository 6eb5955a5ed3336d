/**
 * The browser context of one conversation, opened when it is first used, and again after it was closed.
 */
import type { BrowserContext, Page } from 'playwright-core'
import { within } from './within.ts'

export interface SharedContext {
  /** Closes the context when `work` fails or takes longer than `limitMs`. Rejects with its error, or with `BrowserError`. */
  use<T>(work: (context: BrowserContext) => Promise<T>, limitMs: number, signal: AbortSignal): Promise<T>
  close(): Promise<void>
}

/** @param openContext rejects with `BrowserError` */
export function createSharedContext(
  openContext: () => Promise<BrowserContext>,
  onPage: (page: Page) => void,
  onClose: () => void,
): SharedContext {
  let current: Promise<BrowserContext> | undefined

  async function open(): Promise<BrowserContext> {
    const opened = await openContext()
    opened.on('page', onPage)
    opened.on('close', () => {
      current = undefined
      onClose()
    })
    return opened
  }

  /** It may open after its caller has given up, and no one else would close it. */
  const closeOpened = (opening: Promise<BrowserContext> | undefined) =>
    opening?.then((opened) => opened.close()).catch(ignore)

  return {
    async use(work, limitMs, signal) {
      current ??= open()
      const opening = current
      try {
        return await within(opening.then(work), limitMs, signal)
      } catch (error) {
        if (current === opening) current = undefined
        void closeOpened(opening)
        throw error
      }
    },
    async close() {
      const opening = current
      current = undefined
      await closeOpened(opening)
    },
  }
}

function ignore(): void {
  // What cannot be closed is closed already, and the caller has the error.
}
