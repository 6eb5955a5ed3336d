/**
 * The browser of the tools `browser_*` (contract S9): which one, what its pages may reach, and where screenshots are stored. Loaded
 * with the first call.
 */
import { lookup } from 'node:dns/promises'
import { join } from 'node:path'
import { BrowserError } from '../../agent/browser/browser-error.ts'
import { startBrowser } from '../../agent/browser/browser-process.ts'
import type { BrowserAccess } from '../../agent/browser/contract.ts'
import { findBrowser } from '../../agent/browser/find-browser.ts'
import { notAllowed } from '../../agent/browser/navigate.ts'
import { type BrowserPool, createBrowserPool } from '../../agent/browser/pool.ts'
import type { AgentConfig } from '../../agent/config.ts'
import { createNetworkProxy } from '../../agent/sandbox/network-proxy.ts'
import { createLruCache } from '../../lib/cache.ts'
import type { HomeLayout } from '../../lib/home.ts'
import type { Logger } from '../../lib/log.ts'
import { DownloadError } from '../../media/download-error.ts'
import { PictureRefused, picturePath, storePicture } from '../../media/pictures.ts'
import { isReadableAddress } from '../../media/public-address.ts'
import { checkAddress } from '../../media/safe-fetch.ts'

export interface BrowserDeps {
  readonly home: HomeLayout
  readonly settings: () => Pick<AgentConfig, 'browser' | 'security'>
  readonly environment: () => {
    readonly values: Readonly<Record<string, string | undefined>>
    readonly process: Readonly<Record<string, string | undefined>>
  }
  /** Takes the gateway's own secrets out of a text. */
  redact(text: string): string
  readonly log: Logger
  /** For tests, with servers on this machine and without a network. */
  readonly isAllowed?: (address: string) => boolean
  readonly resolve?: (name: string) => Promise<readonly { readonly address: string; readonly family: number }[]>
}

export interface Browsers extends BrowserAccess, Pick<BrowserPool, 'rename' | 'dispose' | 'close'> {}

/** Hosts of which the gateway remembers that it has refused them. */
const maxRefusedHosts = 1_000
/** Chromium needs them; secrets are in none of them. */
const passedVariables = [
  'PATH',
  'LANG',
  'LC_ALL',
  'TZ',
  'TMPDIR',
  'FONTCONFIG_FILE',
  'FONTCONFIG_PATH',
  'LD_LIBRARY_PATH',
]

export function createBrowsers(deps: BrowserDeps): Browsers {
  const { home, settings, environment, log } = deps
  const resolve = deps.resolve ?? ((name: string) => lookup(name, { all: true }))
  const refused = createLruCache<true>(maxRefusedHosts)
  const allowsPrivate = () => settings().browser.allow_private_urls || settings().security.allow_private_urls
  const isAllowed = (address: string) =>
    isReadableAddress(address, allowsPrivate()) || deps.isAllowed?.(address) === true

  function checkText(text: string): void {
    if (deps.redact(text) !== text)
      throw new BrowserError('url_not_allowed', 'The text contains a secret, which must not reach a page.')
  }

  async function checkUrl(url: string, signal: AbortSignal): Promise<void> {
    // A text on the web can ask the model to send a key to another server.
    checkText(url)
    try {
      await checkAddress(url, signal, { resolve, isAllowed, allowsLocalNames: allowsPrivate() })
    } catch (error) {
      if (!(error instanceof DownloadError)) throw error
      if (error.code === 'unreachable' || error.code === 'no-address')
        throw new BrowserError('unreachable', 'The server cannot be reached: its name is not known.', {
          cause: error,
        })
      if (/^https?:/i.test(url)) throw notAllowed()
      throw new BrowserError('url_not_allowed', 'Only http and https addresses can be opened.', { cause: error })
    }
  }

  const openBrowser = () => {
    const { values, process: variables } = environment()
    const browser = findBrowser(settings().browser, values['PATH'] ?? '')
    if (browser === undefined) throw new BrowserError('browser_not_started', 'There is no browser on this machine.')
    return startBrowser({
      browser,
      directory: join(home.cache, 'browser'),
      env: passed(variables),
      proxy: createNetworkProxy({
        hosts: () => 'any',
        resolve,
        isAllowed,
        log,
        onRefused: (host) => refused.set(host, true),
      }),
      isUrlAllowed: async (url) => {
        if (/^(?:data|blob|about):/i.test(url)) return true
        try {
          await checkUrl(url, AbortSignal.timeout(10_000))
          return true
        } catch {
          return false
        }
      },
      isRoot: process.getuid?.() === 0,
      onFlood: () =>
        log.warn(
          { event: 'browser.message_too_long' },
          'a page made the browser send a message that is too long, so the browser was ended',
        ),
    })
  }
  const rules = {
    settings: () => settings().browser,
    checkUrl,
    wasRefused: (url: string) => refused.get(hostOf(url)) === true,
  }
  const pool = createBrowserPool(rules, openBrowser, log)

  const choice = () => JSON.stringify([settings().browser.executable_path, settings().browser.cdp_url])
  let used = choice()

  return {
    ...pool,
    pagesOf(sessionId) {
      // Another browser is configured now.
      if (used !== choice()) void pool.close()
      used = choice()
      return pool.pagesOf(sessionId)
    },
    checkText,
    async storePicture(bytes) {
      try {
        return { path: picturePath(home.pictures, await storePicture(home.pictures, bytes)) }
      } catch (error) {
        if (!(error instanceof PictureRefused)) throw error
        throw new BrowserError('not_possible', `The screenshot cannot be used: ${error.message}`, { cause: error })
      }
    },
  }
}

/** Returns the host in the form that the proxy names. */
function hostOf(url: string): string {
  const { hostname, port, protocol } = new URL(url)
  return `${hostname.replace(/\.$/, '').replace(/^\[|\]$/g, '')}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`
}

function passed(variables: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    passedVariables.flatMap((name) => {
      const value = variables[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )
}
