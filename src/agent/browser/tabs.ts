/**
 * The tabs of one conversation, of which the newest is the current one, and what its pages have said: dialogs, console, errors.
 */
import type { BrowserContext, Dialog, Page } from 'playwright-core'
import { BrowserError, toBrowserError } from './browser-error.ts'
import type { BrowserRules, PageConsole, PageState } from './contract.ts'
import { createSharedContext } from './shared-context.ts'

const maxMessages = 200
const maxMessageChars = 1_000
/** For the start of a browser. */
const openMs = 60_000
const maxDialogs = 5

export interface Tabs {
  /** The page that calls work on; throws `BrowserError`. */
  current(): Page
  /** The same, opened if there is none. */
  open(signal: AbortSignal): Promise<Page>
  hasCrashed(page: Page): boolean
  /** Closes a page that does not answer. */
  drop(page: Page): Promise<void>
  stateOf(page: Page): Promise<PageState>
  /** Forgets the dialogs so far. */
  takeDialogs(): readonly ShownDialog[]
  console(clear: boolean): PageConsole
  targets(): Promise<unknown>
  byTarget(id: string): Promise<Page>
  close(): Promise<void>
}

interface ShownDialog {
  readonly type: string
  readonly message: string
}

/** @param openContext opens the context with the first page; rejects with `BrowserError` */
export function createTabs(openContext: () => Promise<BrowserContext>, settings: BrowserRules['settings']): Tabs {
  let pages: readonly Page[] = []
  let dialogs: readonly ShownDialog[] = []
  let messages: PageConsole['messages'] = []
  let errors: PageConsole['errors'] = []
  let refusedTabs = 0
  const crashed = new WeakSet<Page>()
  const targetIds = new WeakMap<Page, string>()

  function answerDialog(dialog: Dialog): void {
    dialogs = [...dialogs, { type: dialog.type(), message: dialog.message().slice(0, maxMessageChars) }].slice(
      -maxDialogs,
    )
    const accepts = settings().dialog_policy === 'auto_accept' || ['alert', 'beforeunload'].includes(dialog.type())
    void (accepts ? dialog.accept() : dialog.dismiss()).catch(ignore)
  }

  function watch(page: Page): void {
    if (pages.length >= settings().max_pages) {
      refusedTabs += 1
      void page.close().catch(ignore)
      return
    }
    pages = [...pages, page]
    page.on('close', () => {
      pages = pages.filter((other) => other !== page)
    })
    page.on('crash', () => {
      crashed.add(page)
      pages = pages.filter((other) => other !== page)
      void page.close().catch(ignore)
    })
    page.on('dialog', answerDialog)
    page.on('console', (line) => {
      const entry = { type: line.type(), text: line.text().slice(0, maxMessageChars) }
      messages = [...messages.slice(1 - maxMessages), entry]
    })
    page.on('pageerror', (error) => {
      errors = [...errors.slice(1 - maxMessages), error.message.slice(0, maxMessageChars)]
    })
  }

  const forgetPages = () => {
    pages = []
  }
  const context = createSharedContext(openContext, watch, forgetPages)

  async function idOf(page: Page): Promise<string> {
    const known = targetIds.get(page)
    if (known !== undefined) return known
    const session = await page.context().newCDPSession(page)
    try {
      const { targetInfo } = await session.send('Target.getTargetInfo')
      targetIds.set(page, targetInfo.targetId)
      return targetInfo.targetId
    } finally {
      await session.detach()
    }
  }

  return {
    current() {
      const page = pages.at(-1)
      if (page === undefined) throw new BrowserError('no_page', 'No page is open. Call browser_navigate first.')
      return page
    },
    async open(signal) {
      const page = pages.at(-1)
      if (page !== undefined) return page
      const newPage = () => context.use((opened) => opened.newPage(), settings().command_timeout * 1_000, signal)
      try {
        await context.use(() => Promise.resolve(), openMs, signal)
        const first = await newPage().catch((error: unknown) => {
          if (!(error instanceof BrowserError) || error.code !== 'page_hangs') throw error
          // A page whose process ends while it is opened never answers. In a new context it gets another process.
          return newPage()
        })
        // The event of the context may come later.
        if (!pages.includes(first)) watch(first)
        return first
      } catch (error) {
        signal.throwIfAborted()
        throw toBrowserError(error, 'browser_not_started')
      }
    },
    hasCrashed: (page) => crashed.has(page),
    async drop(page) {
      pages = pages.filter((other) => other !== page)
      await page.close().catch(ignore)
    },
    async stateOf(page) {
      const shown = dialogs
      dialogs = []
      const note =
        refusedTabs === 0 ? undefined : `${refusedTabs} tabs were closed at once: there are browser.max_pages already.`
      refusedTabs = 0
      return {
        url: page.url(),
        title: await page.title(),
        ...(pages.length > 1 && { tabs: pages.length }),
        ...(shown.length > 0 && { dialogs: shown }),
        note,
      }
    },
    takeDialogs() {
      const shown = dialogs
      dialogs = []
      return shown
    },
    console(clear) {
      const log = { messages, errors }
      if (clear) [messages, errors] = [[], []]
      return log
    },
    async targets() {
      const infos = pages.map(async (page) => ({ targetId: await idOf(page), type: 'page', url: page.url() }))
      return { targetInfos: await Promise.all(infos) }
    },
    async byTarget(id) {
      for (const page of pages) if ((await idOf(page)) === id) return page
      throw new BrowserError('command_refused', 'This conversation has no such page. Target.getTargets lists them.')
    },
    async close() {
      forgetPages()
      await context.close()
    },
  }
}

function ignore(): void {
  // What cannot be closed is closed already, and the caller has the error.
}
