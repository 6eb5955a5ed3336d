/**
 * What a conversation does with its pages, which are tabs of one context of the browser.
 */
import type { BrowserContext, Locator, Page } from 'playwright-core'
import { sleep } from '../../lib/timers.ts'
import { BrowserError, toBrowserError } from './browser-error.ts'
import type {
  BrowserRules,
  ConversationPages,
  DevToolsCommand,
  PageImage,
  PageSnapshot,
  PageState,
} from './contract.ts'
import { checkCommand, isPageAddress } from './devtools-commands.ts'
import { load, settle } from './navigate.ts'
import { shortenSnapshot, toPlaywrightRef } from './snapshot.ts'
import { createTabs, type Tabs } from './tabs.ts'
import { within } from './within.ts'

export interface OpenPages extends ConversationPages {
  /** Never rejects. */
  close(): Promise<void>
}

const afterInputMs = 2_000
const eventDelayMs = 100

export function createConversationPages(
  { settings, checkUrl, wasRefused }: BrowserRules,
  openContext: () => Promise<BrowserContext>,
): OpenPages {
  const tabs = createTabs(openContext, settings)
  const { current, stateOf } = tabs
  /** The prefix of the last snapshot that the model was shown. */
  let prefix = ''
  const timeoutMs = () => settings().command_timeout * 1_000

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
      if (error instanceof BrowserError && error.code === 'page_hangs') void tabs.drop(page)
      if (tabs.hasCrashed(page)) throw toBrowserError(new Error('crashed'), 'page_crashed')
      throw toBrowserError(error, 'not_possible')
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
    const locator = name === undefined ? undefined : page.locator(`aria-ref=${name}`)
    // Playwright throws for a ref of an earlier document.
    const count = await locator?.count().catch((error: unknown) => {
      if (page.isClosed() || tabs.hasCrashed(page)) throw error
      return 0
    })
    if (locator === undefined || count !== 1)
      throw new BrowserError(
        'unknown_element',
        `The page has no element ${ref.slice(0, 50)}. Refs are those of the last snapshot, such as @e5. Take a new browser_snapshot.`,
      )
    return locator
  }

  return {
    async navigate(url, signal) {
      await checkUrl(url, signal)
      const page = await tabs.open(signal)
      tabs.takeDialogs()
      await onPage(signal, (open) => load(wasRefused, open, url, { timeoutMs: timeoutMs(), signal }))
      const note = await onPage(signal, (open) => settle(open, signal))
      const state = await onPage(signal, stateOf)
      const snapshot = await onPage(signal, () => snapshotOf(page, { full: false, offset: 0 }, signal))
      return { ...state, note: note ?? state.note, ...snapshot }
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
          throw toBrowserError(error, 'script_failed')
        }
      }),
    sendCommand: (command, signal) =>
      command.method === 'Target.getTargets'
        ? onPage(signal, () => tabs.targets())
        : onPage(signal, (page) => send(tabs, page, command), command.timeoutMs),
    close: tabs.close,
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
    throw toBrowserError(error, 'command_failed')
  } finally {
    await session.detach().catch(ignore)
  }
}

/** A string, because it runs in the page. */
const listImages = `Array.from(document.images).slice(0, 100).map((image) => ({
  src: String(image.currentSrc || image.src), alt: String(image.alt), width: Number(image.naturalWidth), height: Number(image.naturalHeight)
}))`

/** What a page says may have any form. */
function toImages(value: unknown): readonly PageImage[] {
  if (!Array.isArray(value)) return []
  return value.flatMap((image: unknown) => {
    const { src, alt, width, height } = Object(image)
    if (typeof src !== 'string' || src === '') return []
    const short = src.startsWith('data:') ? `${src.slice(0, 60)}...` : src.slice(0, 2_000)
    return [
      { src: short, alt: String(alt ?? '').slice(0, 300), width: Number(width) || 0, height: Number(height) || 0 },
    ]
  })
}

function ignore(): void {
  // What cannot be closed is closed already, and the caller has the error.
}
