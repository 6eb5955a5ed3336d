/**
 * The browser that all conversations share: a Chromium that the gateway starts, or one that runs already (`browser.cdp_url`).
 *
 * Chromium hears the gateway through a pipe, so that it ends with the gateway, also when that is killed. It resolves no name and
 * opens no connection itself: everything goes through a proxy of the gateway, which checks each address and connects to the address
 * that it has checked. A redirect, a part of a page, a WebSocket and a service worker take the same way.
 */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import type { Server } from 'node:http'
import { join } from 'node:path'
import type { Browser, BrowserContext } from 'playwright-core'
import { ensureDirectory } from '../../lib/files.ts'
import { BrowserError, toBrowserError } from './browser-error.ts'

export interface BrowserProcess {
  /** A context without cookies. Rejects with `BrowserError`. */
  newContext(): Promise<BrowserContext>
  isOpen(): boolean
  /** Calls `listener` when the browser has ended, also by itself. */
  onClosed(listener: () => void): void
  /** Never rejects. */
  close(): Promise<void>
}

export interface BrowserProcessOptions {
  /** A Chromium, or the DevTools address of one. */
  readonly browser: { readonly executablePath: string } | { readonly cdpUrl: string }
  /** The folder of profiles. What an earlier process left there is removed. */
  readonly directory: string
  /** The environment of Chromium. */
  readonly env: Readonly<Record<string, string>>
  /** Checks and forwards the connections of pages. */
  readonly proxy: Server
  /** Refuses a request of a browser that cannot use the proxy, because it runs elsewhere. */
  isUrlAllowed(url: string): Promise<boolean>
  readonly isRoot: boolean
  /** A page made the browser send a message that could fill the memory of the gateway. The browser was killed. */
  onFlood(): void
}

const startTimeoutMs = 30_000

/** Chromium without a window, which asks its vendor for nothing and connects to the proxy alone. */
const chromiumArguments = [
  ...['--headless', '--no-startup-window', '--hide-scrollbars', '--mute-audio', '--disable-gpu'],
  ...['--no-first-run', '--no-default-browser-check', '--no-service-autorun', '--disable-search-engine-choice-screen'],
  ...['--disable-extensions', '--disable-default-apps', '--disable-component-extensions-with-background-pages'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-pings'],
  ...['--disable-domain-reliability', '--disable-breakpad', '--disable-field-trial-config', '--metrics-recording-only'],
  ...['--password-store=basic', '--use-mock-keychain', '--disable-dev-shm-usage', '--enable-unsafe-swiftshader'],
  // What Playwright needs: pages that work without being seen, and no page from a cache that it does not know.
  ...['--disable-background-timer-throttling', '--disable-backgrounding-occluded-windows'],
  ...['--disable-renderer-backgrounding', '--disable-back-forward-cache', '--disable-hang-monitor'],
  ...['--disable-ipc-flooding-protection', '--disable-prompt-on-repost', '--allow-pre-commit-input'],
  ...[
    '--force-color-profile=srgb',
    '--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4',
  ],
  '--disable-features=AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,MediaRouter,PaintHolding,ThirdPartyStoragePartitioning,OptimizationHints,NetworkTimeServiceQuerying,AimEnabled,PreconnectToSearch',
  '--enable-features=CDPScreenshotNewSurface,SkipListAccountsWithoutGaiaCookies',
  // The proxy gets requests for addresses of this machine as well.
  '--proxy-bypass-list=<-loopback>',
  // Both would go past the proxy.
  ...['--disable-quic', '--webrtc-ip-handling-policy=disable_non_proxied_udp'],
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  // Whatever else tries to connect finds no address.
  '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
]

/** Rejects with `BrowserError`. */
export async function startBrowser(options: BrowserProcessOptions): Promise<BrowserProcess> {
  const { proxy } = options
  await new Promise<void>((resolve, reject) => {
    proxy.once('error', reject)
    proxy.listen(0, '127.0.0.1', resolve)
  })
  try {
    return 'cdpUrl' in options.browser
      ? await connect(options, options.browser.cdpUrl)
      : await launch(options, options.browser.executablePath)
  } catch (error) {
    closeProxy(proxy)
    throw error
  }
}

async function launch(
  { directory, env, proxy, isRoot, onFlood }: BrowserProcessOptions,
  executablePath: string,
): Promise<BrowserProcess> {
  const [{ chromium }, { startChromium, unlessExited }] = await Promise.all([
    import('playwright-core'),
    import('./chromium-process.ts'),
  ])
  const profile = await createProfile(directory)
  const started = startChromium({
    executablePath,
    profile,
    args: [...chromiumArguments, `--proxy-server=${addressOf(proxy)}`, ...(isRoot ? ['--no-sandbox'] : [])],
    env: { ...env, HOME: profile },
    onFlood,
  })
  async function end(): Promise<void> {
    await started.stop()
    await rm(profile, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined)
  }
  try {
    // Playwright keeps files there, which are removed with the profile.
    const options = { artifactsDir: profile, timeout: startTimeoutMs }
    const browser = await unlessExited(chromium.connectOverCDP(started.transport, options), started)
    return toProcess(browser, {
      newContext: () => browser.newContext({ acceptDownloads: false, locale: 'en-US' }),
      async close() {
        await browser.close()
        closeProxy(proxy)
        await end()
      },
    })
  } catch (error) {
    await end()
    throw notStarted(error)
  }
}

/** The browser of `browser.cdp_url` has its own network. On this machine its new contexts can use the proxy. */
async function connect(
  { directory, proxy, isUrlAllowed }: BrowserProcessOptions,
  cdpUrl: string,
): Promise<BrowserProcess> {
  const { chromium } = await import('playwright-core')
  const { hostname } = new URL(cdpUrl)
  // Where a browser of this machine listens. Any other address may lead elsewhere, as a tunnel does.
  const isHere = ['127.0.0.1', 'localhost', '[::1]'].includes(hostname)
  const artifactsDir = await createProfile(directory)
  const removeFiles = () => rm(artifactsDir, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined)
  let browser: Browser
  try {
    browser = await chromium.connectOverCDP(cdpUrl, { artifactsDir, timeout: startTimeoutMs })
  } catch (error) {
    await removeFiles()
    // The message contains the address, which may contain a token.
    const reason = 'The browser of browser.cdp_url cannot be reached. Start it, or remove the setting.'
    throw new BrowserError('browser_not_started', reason, { cause: error })
  }
  return toProcess(browser, {
    async newContext() {
      const context = await browser.newContext({
        acceptDownloads: false,
        ...(isHere ? { proxy: { server: addressOf(proxy) } } : { serviceWorkers: 'block' as const }),
      })
      if (!isHere) await checkRequests(context, isUrlAllowed)
      return context
    },
    async close() {
      // Closes the contexts of the gateway. The browser goes on.
      await browser.close()
      closeProxy(proxy)
      await removeFiles()
    },
  })
}

/** Redirects are not asked about again. */
async function checkRequests(context: BrowserContext, isUrlAllowed: (url: string) => Promise<boolean>): Promise<void> {
  await context.route('**/*', async (route) => {
    const isAllowed = await isUrlAllowed(route.request().url())
    await (isAllowed ? route.continue() : route.abort('blockedbyclient')).catch(() => undefined)
  })
  await context.routeWebSocket(/.*/, async (socket) => {
    if (await isUrlAllowed(socket.url().replace(/^ws/, 'http'))) socket.connectToServer()
    else await socket.close()
  })
}

function toProcess(
  browser: Browser,
  { newContext, close }: { newContext(): Promise<BrowserContext>; close(): Promise<void> },
): BrowserProcess {
  let closing: Promise<void> | undefined
  const closeOnce = () => {
    closing ??= close().catch(() => undefined)
    return closing
  }
  // A killed browser emits this event too: its proxy and its profile are removed.
  browser.on('disconnected', () => void closeOnce())
  return {
    async newContext() {
      try {
        return await newContext()
      } catch (error) {
        throw toBrowserError(error, 'browser_gone')
      }
    },
    isOpen: () => closing === undefined && browser.isConnected(),
    onClosed: (listener) => void browser.on('disconnected', listener),
    close: closeOnce,
  }
}

/** Only one gateway works in a home, so that all other profiles are left over. */
async function createProfile(directory: string): Promise<string> {
  ensureDirectory(directory)
  const leftOver = await readdir(directory)
  await Promise.all(
    leftOver.map((name) => rm(join(directory, name), { recursive: true, force: true }).catch(() => undefined)),
  )
  return await mkdtemp(join(directory, 'profile-'))
}

function notStarted(error: unknown): BrowserError {
  const text = error instanceof Error ? error.message : String(error)
  const reason = /No usable sandbox|sandbox_host|setuid sandbox/i.test(text)
    ? 'The sandbox of Chromium does not work here. An operator can permit user namespaces on this machine (see the documentation of the browser), or set browser.cdp_url.'
    : 'The browser could not be started. An operator finds the reason in the log, and hermes doctor names the program.'
  return new BrowserError('browser_not_started', reason, { cause: error })
}

function addressOf(proxy: Server): string {
  const address = proxy.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy of the browser does not listen')
  return `http://127.0.0.1:${address.port}`
}

function closeProxy(proxy: Server): void {
  proxy.close()
  proxy.closeAllConnections()
}
