/**
 * The conversations that have pages in the browser. The browser starts with the first page and ends when no conversation
 * has any; the pages of a conversation are closed when it has not used them for a while.
 */
import type { BrowserContext } from 'playwright-core'
import type { Logger } from '../../lib/log.ts'
import { BrowserError } from './browser-error.ts'
import type { BrowserProcess } from './browser-process.ts'
import type { BrowserRules, ConversationPages } from './contract.ts'
import { createConversationPages, type OpenPages } from './conversation-pages.ts'

export interface BrowserPool {
  /** Opens nothing yet. */
  pagesOf(sessionId: string): ConversationPages
  /** The conversation goes on under another id. */
  rename(from: string, to: string): void
  /** Closes the pages of a conversation. */
  dispose(sessionId: string): Promise<void>
  /** Closes everything. May be called twice, and the pool may be used again. */
  close(): Promise<void>
}

interface Entry {
  readonly pages: OpenPages
  /** Calls that run. */
  running: number
  /** It has a context in the browser. */
  isOpen: boolean
  timer: NodeJS.Timeout | undefined
}

/** @param startBrowser rejects with `BrowserError` */
export function createBrowserPool(
  rules: BrowserRules,
  startBrowser: () => Promise<BrowserProcess>,
  log: Logger,
): BrowserPool {
  const { settings } = rules
  /** The least recently used first. */
  const entries = new Map<string, Entry>()
  let browser: Promise<BrowserProcess> | undefined

  function getBrowser(): Promise<BrowserProcess> {
    browser ??= start()
    return browser
  }

  async function start(): Promise<BrowserProcess> {
    try {
      const started = await startBrowser()
      log.info({ event: 'browser.started' }, 'the browser is open')
      started.onClosed(() => {
        browser = undefined
        for (const entry of entries.values()) entry.isOpen = false
        log.info({ event: 'browser.closed' }, 'the browser is closed')
      })
      return started
    } catch (error) {
      browser = undefined
      log.error({ event: 'browser.start_failed', err: error }, 'the browser could not be started')
      throw error
    }
  }

  /** Makes room for one more context. */
  async function makeRoom(): Promise<void> {
    const open = [...entries].filter(([, entry]) => entry.isOpen)
    const surplus = open.length + 1 - settings().max_contexts
    const idle = open.filter(([, entry]) => entry.running === 0)
    if (surplus > idle.length)
      throw new BrowserError('too_many_contexts', 'All browser contexts are in use (browser.max_contexts). Try later.')
    for (const [id] of idle.slice(0, Math.max(0, surplus))) await dispose(id)
  }

  function createEntry(): Entry {
    const entry: Entry = {
      running: 0,
      isOpen: false,
      timer: undefined,
      pages: createConversationPages(rules, () => openContext(entry)),
    }
    return entry
  }

  async function openContext(entry: Entry): Promise<BrowserContext> {
    await makeRoom()
    entry.isOpen = true
    try {
      const context = await (await getBrowser()).newContext()
      if (![...entries.values()].includes(entry)) {
        await context.close()
        throw new BrowserError('browser_gone', 'The pages of this conversation were closed meanwhile.')
      }
      context.on('close', () => {
        entry.isOpen = false
      })
      return context
    } catch (error) {
      entry.isOpen = false
      throw error
    }
  }

  async function dispose(sessionId: string): Promise<void> {
    const entry = entries.get(sessionId)
    if (entry === undefined) return
    entries.delete(sessionId)
    clearTimeout(entry.timer)
    await entry.pages.close()
    entry.isOpen = false
    if ([...entries.values()].some(({ isOpen, running }) => isOpen || running > 0)) return
    const last = browser
    browser = undefined
    await last?.then((open) => open.close()).catch(() => undefined)
  }

  /** Runs a call of a conversation, and waits for the next one. */
  async function use<T>(entry: Entry, work: (pages: OpenPages) => Promise<T>): Promise<T> {
    clearTimeout(entry.timer)
    entry.running += 1
    try {
      return await work(entry.pages)
    } finally {
      entry.running -= 1
      // The last of parallel calls waits for the next one.
      if (entry.running === 0) closeLater(entry)
    }
  }

  function closeLater(entry: Entry): void {
    clearTimeout(entry.timer)
    const idOf = () => [...entries].find(([, other]) => other === entry)?.[0]
    entry.timer = setTimeout(() => {
      const id = idOf()
      if (entry.running === 0 && id !== undefined) void dispose(id)
    }, settings().inactivity_timeout * 1_000)
    entry.timer.unref()
  }

  function entryOf(sessionId: string): Entry {
    const entry = entries.get(sessionId) ?? createEntry()
    entries.delete(sessionId)
    entries.set(sessionId, entry)
    return entry
  }

  return {
    pagesOf(sessionId) {
      const run = <T>(work: (pages: OpenPages) => Promise<T>) => use(entryOf(sessionId), work)
      return {
        navigate: (url, signal) => run((pages) => pages.navigate(url, signal)),
        snapshot: (options, signal) => run((pages) => pages.snapshot(options, signal)),
        click: (ref, signal) => run((pages) => pages.click(ref, signal)),
        type: (ref, text, signal) => run((pages) => pages.type(ref, text, signal)),
        scroll: (direction, signal) => run((pages) => pages.scroll(direction, signal)),
        press: (key, signal) => run((pages) => pages.press(key, signal)),
        back: (signal) => run((pages) => pages.back(signal)),
        images: (signal) => run((pages) => pages.images(signal)),
        screenshot: (signal) => run((pages) => pages.screenshot(signal)),
        console: (clear) => entryOf(sessionId).pages.console(clear),
        evaluate: (expression, signal) => run((pages) => pages.evaluate(expression, signal)),
        sendCommand: (command, signal) => run((pages) => pages.sendCommand(command, signal)),
      }
    },
    rename(from, to) {
      const entry = entries.get(from)
      if (entry === undefined) return
      entries.delete(from)
      entries.set(to, entry)
    },
    dispose,
    async close() {
      const last = browser
      browser = undefined
      await Promise.all([...entries.keys()].map(dispose))
      await last?.then((open) => open.close()).catch(() => undefined)
    },
  }
}
