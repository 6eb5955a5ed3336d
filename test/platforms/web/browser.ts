/**
 * Opens the page in a real browser: finds one, starts it once, and watches every page for anything that went wrong.
 */
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { type Gateway, startGateway, startTestServer, type TestServer, token } from './support.ts'

/** Where a chromium is, or undefined. */
export function findChromium(env: NodeJS.ProcessEnv): string | undefined {
  const onPath = (env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'chromium'))
  return [env['CHROMIUM'], '/usr/bin/chromium', ...onPath].find((path) => path !== undefined && isExecutable(path))
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

export async function startBrowser(executablePath: string): Promise<Browser> {
  const { chromium } = await import('playwright-core')
  const quiet = ['--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run']
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-quic', ...quiet] })
}

export interface OpenPage extends AsyncDisposable {
  readonly page: Page
  readonly gateway: Gateway
  readonly served: TestServer
  /** Errors of the page: exceptions, console errors, violations of the content security policy. */
  readonly problems: string[]
}

export interface OpenOptions {
  readonly prepare?: (gateway: Gateway) => void
  /** What stands behind the address; by default the token. */
  readonly hash?: string
}

/** One browser tab and one address for all tests, because both take long to make; the gateway is new for each. */
export interface Tab extends AsyncDisposable {
  open(options?: OpenOptions): Promise<OpenPage>
}

export async function createTab(browser: Browser, options: BrowserContextOptions = {}): Promise<Tab> {
  const mediaFolder = mkdtempSync(join(tmpdir(), 'hermes-page-'))
  const served = await startTestServer(await startGateway())
  const context = await browser.newContext({ viewport: { width: 900, height: 700 }, ...options })
  // The limit of the test ends a wait that is in vain.
  context.setDefaultTimeout(30_000)
  const page = await context.newPage()
  let problems: string[] = []
  let visits = 0
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (line) => {
    // A lost connection is reported by the browser itself; that the page copes is for the tests to see.
    if (line.type() === 'error' && !line.text().startsWith('Failed to load resource')) problems.push(line.text())
  })

  return {
    async open({ prepare, hash = `#token=${token}` } = {}) {
      const gateway = await startGateway({ mediaFolder })
      prepare?.(gateway)
      served.use(gateway)
      problems = []
      visits += 1
      await page.goto(`${served.address}/?visit=${visits}${hash}`)
      return {
        page,
        gateway,
        served,
        problems,
        async [Symbol.asyncDispose]() {
          await page.unrouteAll()
          await page.evaluate('localStorage.clear()')
          await gateway.adapter.disconnect()
        },
      }
    },
    async [Symbol.asyncDispose]() {
      await context.close()
      await served.close()
      rmSync(mediaFolder, { recursive: true, force: true })
    },
  }
}

/**
 * What axe finds in the page, of the serious and the critical. The script is a text, because the tests are compiled without the types of a
 * browser.
 */
export async function findSeriousIssues(page: Page): Promise<string[]> {
  const { default: axe } = await import('axe-core')
  await page.evaluate(axe.source)
  return await page.evaluate<string[]>(`axe.run(document).then(({ violations }) => violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ target }) => id + ' ' + target)))`)
}
