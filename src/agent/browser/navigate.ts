/**
 * Opens an address in a tab, and leaves it again when it is refused.
 */
import type { Page } from 'playwright-core'
import { sleep } from '../../lib/timers.ts'
import { BrowserError, toBrowserError } from './browser-error.ts'
import type { BrowserRules } from './contract.ts'

/** A page that has shown its text is ready enough. */
const restOfLoadingMs = 5_000
const errorPageMs = 100
const maxAttempts = 5

/** Opens an address, as far as its text is there. */
export async function load(
  wasRefused: BrowserRules['wasRefused'],
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
    const failure = toBrowserError(error, 'unreachable')
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
  for (let attempt = 1; attempt <= maxAttempts && !page.isClosed(); attempt += 1) {
    try {
      await page.goto('about:blank')
      if ((await page.evaluate('location.href')) === 'about:blank') return
    } catch {
      await sleep(errorPageMs)
    }
  }
}

/**
 * The error page of an earlier navigation, or a script of the page, may still interrupt a new one. So may an attempt that follows at
 * once interrupt the one before it.
 */
async function goTo(page: Page, url: string, options: Parameters<Page['goto']>[1] = {}): ReturnType<Page['goto']> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await page.goto(url, options)
    } catch (error) {
      if (attempt === maxAttempts || !(error instanceof Error && error.message.includes('interrupted by another')))
        throw error
      await sleep(errorPageMs)
      options.signal?.throwIfAborted()
    }
  }
}

/** The proxy answered the last address of the redirects. */
function isRefused(visited: readonly string[], wasRefused: (url: string) => boolean): boolean {
  const last = visited.at(-1)
  return last !== undefined && wasRefused(last)
}

export function notAllowed(): BrowserError {
  return new BrowserError(
    'url_not_allowed',
    'The address is not allowed: it does not lead to a public host. An operator can permit private ones (browser.allow_private_urls).',
  )
}

/** Waits for the rest of a page. Resolves with a note if it goes on. */
export async function settle(page: Page, signal: AbortSignal): Promise<string | undefined> {
  try {
    await page.waitForLoadState('load', { timeout: restOfLoadingMs, signal })
    return undefined
  } catch {
    signal.throwIfAborted()
    return 'The page is still loading parts.'
  }
}
