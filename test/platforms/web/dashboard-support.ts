/**
 * Opens a view of the dashboard in a real browser, with a real gateway.
 */
import type { TestContext } from 'node:test'
import type { Browser } from 'playwright-core'
import { startTestGateway, type TestGatewayOptions } from '../../kit/start-gateway.ts'

/** The sizes and the colours in which each view is checked. */
export const schemes = [390, 1440, 2560].flatMap((width) =>
  (['light', 'dark'] as const).map((colorScheme) => ({ width, colorScheme })),
)

export async function openDashboard(
  t: TestContext,
  browser: Browser,
  options: TestGatewayOptions,
  { width, colorScheme }: (typeof schemes)[number] = { width: 1440, colorScheme: 'light' },
) {
  const gateway = await startTestGateway(t, options)
  const viewport = { width, height: 900 }
  const context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce' })
  t.after(() => context.close())
  context.setDefaultTimeout(30_000)
  const page = await context.newPage()
  /** Exceptions of the page. */
  const problems: string[] = []
  page.on('pageerror', ({ message }) => problems.push(message))
  return {
    gateway,
    page,
    problems,
    /** @param view as in the address */
    async visit(view: string) {
      await page.goto(`${gateway.current().url}/?view=${view}#token=${gateway.current().token()}`)
      await page.waitForSelector('#dashboard .view-body > *', { state: 'attached' })
    },
  }
}
