/**
 * The pages of one conversation: one context of the browser with its tabs, of which the newest is the current one.
 */

import type { BrowserContext, Dialog, Locator, Page } from 'playwright-core'
import { sleep } from '../../lib/timers.ts'
import type { ConversationPages, DevToolsCommand, PageConsole, PageImage, PageSnapshot, PageState } from './contract.ts'
import { checkCommand, isPageAddress } from './devtools-commands.ts'
import { BrowserFailure, toBrowserFailure } from './failure.ts'
import { shortenSnapshot, toPlaywrightRef } from './snapshot.ts'

export interface ConversationPagesDeps {
  /** Opens the context with the first page. Rejects with `BrowserFailure`. */
  openContext(): Promise<BrowserContext>
  /** Rejects with `BrowserFailure` for an address that pages may not have. */
  checkUrl(url: string, signal: AbortSignal): Promise<void>
  /** Whether the proxy has refused this host since it was started. */
  wasRefused(url: string): boolean
  readonly settings: () => PageSettings
}

export interface PageSettings {
  readonly command_timeout: number
  readonly dialog_policy: 'auto_dismiss' | 'auto_accept' | 'must_respond'
  readonly max_pages: number
}

export interface OpenPages extends ConversationPages {
  /** Never rejects. */
  close(): Promise<void>
}

const maxMessages = 200
const maxMessageChars = 1_000
const maxDialogs = 5
/** A page that has shown its text is ready enough. */
const restOfLoadingMs = 5_000
const afterInputMs = 2_000
const eventDelayMs = 100

export function createConversationPages(deps: ConversationPagesDeps): OpenPages {
  const tabs = createTabs(deps)
  const { current, stateOf } = tabs
  /** Of the last snapshot that the model was shown. */
  let prefix = ''
  const timeoutMs = () => deps.settings().command_timeout * 1_000

  async function snapshotOf(page: Page, options: { full: boolean; offset: number }, signal: AbortSignal) {
    const tree = await page.ariaSnapshot({ mode: 'ai', timeout: timeoutMs(), signal })
    const { prefix: shown, ...snapshot } = shortenSnapshot(tree, options)
    prefix = shown
    return snapshot
  }

  /** Runs `work` on the current page, within the time limit. Describes its errors. */
  async function onPage<T>(signal: AbortSignal, work: (page: Page) => Promise<T>, limitMs = timeoutMs()): Promise<T> {
    signal.throwIfAborted()
    const page = current()
    try {
      return await within(work(page), limitMs + 2_000, signal)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof BrowserFailure && error.code === 'page_hangs') void tabs.drop(page)
      if (tabs.hasCrashed(page)) throw toBrowserFailure(new Error('crashed'), 'page_crashed')
      throw toBrowserFailure(error, 'not_possible')
    }
  }

  /** An input, and what the page does then. */
  async function act(signal: AbortSignal, work: (page: Page) => Promise<void>): Promise<PageState> {
    tabs.takeDialogs()
    await onPage(signal, async (page) => {
      await work(page)
      // A new tab and a new address are reported a moment later.
      await sleep(eventDelayMs)
      await page.waitForLoadState('domcontentloaded', { timeout: afterInputMs, signal }).catch(ignore)
    })
    return await onPage(signal, stateOf)
  }

  async function find(page: Page, ref: string): Promise<Locator> {
    const name = toPlaywrightRef(ref, prefix)
    const found = name === undefined ? undefined : page.locator(`aria-ref=${name}`)
    // Playwright throws for a ref of an earlier document.
    const count = await found?.count().catch((error: unknown) => {
      if (page.isClosed() || tabs.hasCrashed(page)) throw error
      return 0
    })
    if (found === undefined || count !== 1)
      throw new BrowserFailure(
        'unknown_element',
        `The page has no element ${ref.slice(0, 50)}. Refs are those of the last snapshot, such as @e5. Take a new browser_snapshot.`,
      )
    return found
  }

  return {
    async navigate(url, signal) {
      await deps.checkUrl(url, signal)
      const page = await tabs.open(signal)
      tabs.takeDialogs()
      await onPage(signal, (open) => load(deps, open, url, { timeoutMs: timeoutMs(), signal }))
      const note = await onPage(signal, (open) => settle(open, signal))
      const state = await onPage(signal, stateOf)
      const snapshot = await onPage(signal, () => snapshotOf(page, { full: false, offset: 0 }, signal))
      return { ...state, ...(note === undefined ? {} : { note }), ...snapshot }
    },
    snapshot: (options, signal): Promise<PageSnapshot> => onPage(signal, (page) => snapshotOf(page, options, signal)),
    click: (ref, signal) =>
      act(signal, async (page) => (await find(page, ref)).click({ timeout: timeoutMs(), signal })),
    type: (ref, text, signal) =>
      act(signal, async (page) => fill(await find(page, ref), text, { timeout: timeoutMs(), signal })),
    scroll: (direction, signal) =>
      act(signal, async (page) => {
        const { height } = page.viewportSize() ?? { height: 720 }
        await page.mouse.wheel(0, (direction === 'down' ? 1 : -1) * Math.round(height * 0.8))
      }),
    press: (key, signal) => act(signal, (page) => page.keyboard.press(key)),
    back: (signal) =>
      act(signal, async (page) => {
        await page.goBack({ timeout: timeoutMs(), waitUntil: 'domcontentloaded', signal })
        if (!isPageAddress(page.url())) await page.goto('about:blank')
      }),
    images: (signal) => onPage(signal, async (page) => toImages(await page.evaluate(listImages))),
    screenshot: (signal) => onPage(signal, (page) => screenshotOf(page, timeoutMs(), signal)),
    console: (clear) => tabs.console(clear),
    evaluate: (expression, signal) =>
      onPage(signal, async (page) => {
        try {
          return await page.evaluate(expression)
        } catch (error) {
          throw toBrowserFailure(error, 'script_failed')
        }
      }),
    sendCommand: (command, signal) =>
      command.method === 'Target.getTargets'
        ? onPage(signal, () => tabs.targets())
        : onPage(signal, (page) => send(tabs, page, command), command.timeoutMs),
    close: tabs.close,
  }
}

interface Tabs {
  /** The page that calls work on; throws `BrowserFailure`. */
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

function createTabs({ openContext, settings }: ConversationPagesDeps): Tabs {
  let context: Promise<BrowserContext> | undefined
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

  async function openContextOnce(): Promise<BrowserContext> {
    const opened = await openContext()
    opened.on('page', watch)
    opened.on('close', () => {
      context = undefined
      pages = []
    })
    return opened
  }

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
      if (page === undefined) throw new BrowserFailure('no_page', 'No page is open. Call browser_navigate first.')
      return page
    },
    async open(signal) {
      const page = pages.at(-1)
      if (page !== undefined) return page
      context ??= openContextOnce()
      const opening = context
      try {
        const opened = await within(opening, 60_000, signal)
        const first = await opened.newPage()
        // The event of the context may come later.
        if (!pages.includes(first)) watch(first)
        return first
      } catch (error) {
        if (context === opening) context = undefined
        // It may open after all, and no one else would close it.
        void opening.then((opened) => opened.close()).catch(ignore)
        signal.throwIfAborted()
        throw toBrowserFailure(error, 'browser_not_started')
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
        ...(note !== undefined && { note }),
      }
    },
    takeDialogs() {
      const shown = dialogs
      dialogs = []
      return shown
    },
    console(clear) {
      const found = { messages, errors }
      if (clear) [messages, errors] = [[], []]
      return found
    },
    async targets() {
      const infos = pages.map(async (page) => ({ targetId: await idOf(page), type: 'page', url: page.url() }))
      return { targetInfos: await Promise.all(infos) }
    },
    async byTarget(id) {
      for (const page of pages) if ((await idOf(page)) === id) return page
      throw new BrowserFailure('command_refused', 'This conversation has no such page. Target.getTargets lists them.')
    },
    async close() {
      const open = context
      context = undefined
      pages = []
      await open?.then((opened) => opened.close()).catch(ignore)
    },
  }
}

/** Opens an address, as far as its text is there. */
async function load(
  { wasRefused }: Pick<ConversationPagesDeps, 'wasRefused'>,
  page: Page,
  url: string,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<void> {
  const visited: string[] = []
  const onRequest = (request: { isNavigationRequest(): boolean; frame(): unknown; url(): string }) => {
    if (request.isNavigationRequest() && request.frame() === page.mainFrame()) visited.push(request.url())
  }
  page.on('request', onRequest)
  try {
    const response = await goTo(page, url, { waitUntil: 'domcontentloaded', timeout: timeoutMs, signal })
    // With this status the proxy refuses what is not encrypted.
    if (response?.status() !== 403 || !isRefused(visited, wasRefused)) return
  } catch (error) {
    signal.throwIfAborted()
    const failure = toBrowserFailure(error, 'unreachable')
    if (failure.code === 'timeout') await leave(page)
    if (!isRefused(visited, wasRefused)) throw failure
  } finally {
    page.off('request', onRequest)
  }
  await leave(page)
  throw notAllowed()
}

/** Shows an empty page. The error page of the address that was left may come in between, and would end the next call. */
async function leave(page: Page): Promise<void> {
  for (let attempt = 1; attempt <= 5 && !page.isClosed(); attempt += 1) {
    try {
      await page.goto('about:blank')
      if ((await page.evaluate('location.href')) === 'about:blank') return
    } catch {
      await sleep(eventDelayMs)
    }
  }
}

/** The error page of an earlier navigation, or a script of the page, may still interrupt a new one. */
async function goTo(page: Page, url: string, options: Parameters<Page['goto']>[1] = {}): ReturnType<Page['goto']> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await page.goto(url, options)
    } catch (error) {
      if (attempt === 3 || !(error instanceof Error && error.message.includes('interrupted by another'))) throw error
    }
  }
}

/** The proxy answered the last address of the redirects. */
function isRefused(visited: readonly string[], wasRefused: (url: string) => boolean): boolean {
  const last = visited.at(-1)
  return last !== undefined && wasRefused(last)
}

export function notAllowed(): BrowserFailure {
  return new BrowserFailure(
    'url_not_allowed',
    'The address is not allowed: it does not lead to a public host. An operator can permit private ones (browser.allow_private_urls).',
  )
}

/** Waits for the rest of a page. Resolves with a note if it goes on. */
async function settle(page: Page, signal: AbortSignal): Promise<string | undefined> {
  try {
    await page.waitForLoadState('load', { timeout: restOfLoadingMs, signal })
    return undefined
  } catch {
    signal.throwIfAborted()
    return 'The page is still loading parts.'
  }
}

async function fill(field: Locator, text: string, options: { timeout: number; signal: AbortSignal }): Promise<void> {
  const isChoice = await field.evaluate((element: unknown) => Object(element).tagName === 'SELECT')
  if (isChoice) await field.selectOption({ label: text }, options)
  else await field.fill(text, options)
}

async function screenshotOf(page: Page, timeout: number, signal: AbortSignal): Promise<Uint8Array> {
  const options = { timeout, signal, animations: 'disabled', caret: 'initial', scale: 'css' } as const
  const png = await page.screenshot({ ...options, type: 'png' })
  // Models accept 5 MB.
  return png.length < 4_000_000 ? png : await page.screenshot({ ...options, type: 'jpeg', quality: 70 })
}

async function send(tabs: Tabs, page: Page, { method, params, targetId }: DevToolsCommand): Promise<unknown> {
  checkCommand(method, params)
  const target = targetId === '' ? page : await tabs.byTarget(targetId)
  const session = await target.context().newCDPSession(target)
  try {
    // The protocol of this browser may have methods that the types do not know.
    const answer: unknown = await Reflect.apply(session.send, session, [method, params])
    return answer
  } catch (error) {
    throw toBrowserFailure(error, 'command_failed')
  } finally {
    await session.detach().catch(ignore)
  }
}

/** A string, because it runs in the page. */
const listImages = `Array.from(document.images).slice(0, 100).map((image) => ({
  src: String(image.currentSrc || image.src), alt: String(image.alt), width: Number(image.naturalWidth), height: Number(image.naturalHeight)
}))`

/** What a page says may have any form. */
function toImages(found: unknown): readonly PageImage[] {
  if (!Array.isArray(found)) return []
  return found.flatMap((image: unknown) => {
    const { src, alt, width, height } = Object(image)
    if (typeof src !== 'string' || src === '') return []
    const short = src.startsWith('data:') ? `${src.slice(0, 60)}...` : src.slice(0, 2_000)
    return [
      { src: short, alt: String(alt ?? '').slice(0, 300), width: Number(width) || 0, height: Number(height) || 0 },
    ]
  })
}

/** A page whose script never ends does not answer. */
async function within<T>(work: Promise<T>, limitMs: number, signal: AbortSignal): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  let onAbort: (() => void) | undefined
  const limit = new Promise<never>((_, reject) => {
    const hangs = () => new BrowserFailure('page_hangs', 'The page does not answer, so it was closed.')
    timer = setTimeout(() => reject(hangs()), limitMs)
    onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
  })
  work.catch(ignore)
  try {
    return await Promise.race([work, limit])
  } finally {
    clearTimeout(timer)
    if (onAbort !== undefined) signal.removeEventListener('abort', onAbort)
  }
}

function ignore(): void {
  // What cannot be closed is closed already, and the caller has the error.
}
